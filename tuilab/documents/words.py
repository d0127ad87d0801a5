"""Tables of names, written as text."""


def words(*lines: str) -> tuple[str, ...]:
    """Return each word of the lines."""
    return tuple(word for line in lines for word in line.split())
