"""Parses tables of names that are written as text."""


def words(*lines: str) -> tuple[str, ...]:
    return tuple(word for line in lines for word in line.split())
