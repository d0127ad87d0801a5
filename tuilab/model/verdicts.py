"""How each verdict on a claim is marked and called, on every screen and in every report."""

from typing import NamedTuple


class Look(NamedTuple):
    """Of one verdict."""

    mark: str
    tone: str
    """How it is to be taken: a role of a theme (in Textual `$text-…`)."""
    words: str


VERDICTS = {
    "confirmed": Look("✓", "success", "confirmed"),
    "refuted": Look("✗", "error", "refuted"),
    "undecided": Look("≈", "warning", "undecided"),
    "untestable": Look("?", "muted", "untestable here"),
    "impossible": Look("⊘", "error", "impossible on any known GPU"),
}
