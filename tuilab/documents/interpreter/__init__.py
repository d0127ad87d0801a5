"""Symbolic reading of a document's code: what it would do, in order, without doing it."""

from tuilab.documents.interpreter.program import read_program
from tuilab.documents.interpreter.trace import Region, Trace, TraceEvent

__all__ = ["Region", "Trace", "TraceEvent", "read_program"]
