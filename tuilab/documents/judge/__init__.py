"""Decides once per document what each timed region measures."""

from tuilab.documents.judge.decide import decide

__all__ = ["decide"]
