"""Parses tables of names that are written as text."""


def words(*lines: str) -> tuple[str, ...]:
    """Return the words in the lines."""
    return tuple(word for line in lines for word in line.split())
