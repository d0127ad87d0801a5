"""A run in a list: a row of the store, cleaned for display."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tuilab.model.sanitize import sanitize_block, sanitize_line

UNATTENDED = "background"
"""Tag for a run that finished after its lab had exited."""


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run in a list. status: None while the run continues, or if its program was killed."""

    run: str
    at: str
    preset: str
    workload: str
    host: str
    budget: str
    status: str | None
    rounds: int
    answer: str
    note: str
    pinned: str
    source: str
    tags: tuple[str, ...]
    size: int


COLUMNS = "run, at, preset, workload, host, budget, status, rounds, answer, note, pinned, source, size"
_NAMES = [name.strip() for name in COLUMNS.split(",")]
_NUMBERS = {"rounds", "size"}


def line_of(row: Sequence[object], tags: tuple[str, ...]) -> RunLine:
    """Convert a row of `COLUMNS` to a `RunLine` with clean strings.

    Checks all strings of a row together first, because most need no cleaning.
    """
    known: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    texts = [value for name, value in known.items() if name not in _NUMBERS and value is not None]
    try:
        numbers = all(type(known[name]) is int for name in _NUMBERS)
        fine = numbers and "".join([*texts, *tags]).isprintable()
    except TypeError:
        fine = False
    if not fine:
        known, tags = _clean_row(known), tuple(sanitize_line(str(tag), 64) for tag in tags)
    return RunLine(**known, tags=tags)


def _clean_row(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with valid, clean strings. Only the note may have several lines."""
    out = dict(known)
    for name, value in known.items():
        if name in _NUMBERS:
            out[name] = value if isinstance(value, int) else 0
        elif value is not None or name != "status":
            out[name] = (sanitize_block if name == "note" else sanitize_line)(str(value or ""), 10_000)
    return out
