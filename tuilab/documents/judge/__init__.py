"""Decides, once per document, which work each timed region measures."""

from tuilab.documents.judge.decide import decide

__all__ = ["decide"]
