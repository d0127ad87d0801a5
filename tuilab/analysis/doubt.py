"""A doubt about a figure."""

from typing import NamedTuple


class Doubt(NamedTuple):
    """A stable code for scripts, and a sentence with the numbers behind it."""

    code: str
    message: str
