"""Decide what each timed region is, once per document."""

from tuilab.documents.judge.decide import decide

__all__ = ["decide"]
