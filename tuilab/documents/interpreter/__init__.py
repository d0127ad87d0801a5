"""Interprets a document's code symbolically: records the actions that the code would perform, in order,
without running it.
"""

from tuilab.documents.interpreter.program import read_program
from tuilab.documents.interpreter.trace import Region, Trace, TraceEvent

__all__ = ["Region", "Trace", "TraceEvent", "read_program"]
