"""Symbolic reading of a document's code: what it would do, in order, without doing any of it."""

from tuilab.documents.reading.program import read_program
from tuilab.documents.reading.trace import Event, Region, Trace

__all__ = ["Event", "Region", "Trace", "read_program"]
