"""The mark and word for each verdict, on every screen and in every report."""

from typing import NamedTuple

EMULATED = "EMULATED"
"""The name of the software device in the tests, and the label for results from it."""


class Look(NamedTuple):
    mark: str
    tone: str
    """Color role of the theme, as in Textual's `$text-…` variables."""
    words: str


VERDICTS = {
    "confirmed": Look("✓", "success", "confirmed"),
    "refuted": Look("✗", "error", "refuted"),
    "undecided": Look("≈", "warning", "undecided"),
    "untestable": Look("?", "muted", "untestable here"),
    "impossible": Look("⊘", "error", "impossible on any known GPU"),
}


def verdict_words(word: str, emulated: bool) -> str:
    """Return the word for a verdict, with `EMULATED` if the verdict is based on an emulated GPU."""
    return VERDICTS[word].words + f", {EMULATED}" * emulated
