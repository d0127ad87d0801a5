"""How each verdict on a claim looks and what it is called, on every screen."""

from typing import NamedTuple


class Look(NamedTuple):
    """Of one verdict."""

    mark: str
    tone: str
    """A role of the theme: its colour in text is `$text-…`."""
    words: str


VERDICTS = {
    "confirmed": Look("✓", "success", "confirmed"),
    "refuted": Look("✗", "error", "refuted"),
    "undecided": Look("≈", "warning", "undecided"),
    "untestable": Look("?", "muted", "untestable here"),
    "impossible": Look("⊘", "error", "impossible by the bound"),
}
