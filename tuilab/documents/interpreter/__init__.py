"""Interprets a document's code symbolically: records, in order, the actions that the code would perform,
without running it.
"""

from tuilab.documents.interpreter.program import read_program
from tuilab.documents.interpreter.trace import Region, Trace, TraceEvent

__all__ = ["Region", "Trace", "TraceEvent", "read_program"]
