"""A doubt about a figure."""

from typing import NamedTuple


class Caveat(NamedTuple):
    """A stable code for scripts, and a sentence with the numbers behind it."""

    code: str
    message: str
