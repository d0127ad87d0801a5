"""Reads a document's code symbolically: records what the code would do, in order, without running it."""

from tuilab.documents.interpreter.program import read_program
from tuilab.documents.interpreter.trace import Region, Trace, TraceEvent

__all__ = ["Region", "Trace", "TraceEvent", "read_program"]
