"""The mark and the words for each verdict, on every screen and in every report."""

from typing import NamedTuple

EMULATED = "EMULATED"
"""Label for results from an emulated GPU."""


class Look(NamedTuple):
    mark: str
    tone: str
    """A color of the theme: the role in Textual's `$text-…` variables."""
    words: str


VERDICTS = {
    "confirmed": Look("✓", "success", "confirmed"),
    "refuted": Look("✗", "error", "refuted"),
    "undecided": Look("≈", "warning", "undecided"),
    "untestable": Look("?", "muted", "untestable here"),
    "impossible": Look("⊘", "error", "impossible on any known GPU"),
}


def verdict_words(word: str, emulated: bool, apart: str = "") -> str:
    """Return the words for a verdict, with `EMULATED` if it is based on an emulated GPU.

    apart: how the measured settings differ from the claim's.
    """
    return VERDICTS[word].words + f" {apart}" * bool(apart) + f", {EMULATED}" * emulated
