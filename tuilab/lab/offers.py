"""What a person may choose from."""

from typing import NamedTuple


class Offer(NamedTuple):
    """One row of a list."""

    key: str
    """What choosing it returns."""
    label: str
    detail: str = ""
    """A few words more."""
