"""Stores one page for each watched program. The page is updated as the program runs."""

import sqlite3

import msgspec

from tuilab.history.store import Store
from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.program import Page
from tuilab.model.sanitize import sanitize_line


def keep(store: Store, program: str, page: Page) -> None:
    with store.connection:
        store.connection.execute(
            "INSERT INTO programs (program, at, command, page) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (program) DO UPDATE SET page = excluded.page",
            (program, page.at, " ".join(page.command), msgspec.json.encode(page)),
        )


def listed(store: Store, limit: int) -> list[tuple[str, Page]]:
    """Return the latest watched programs with their ids. Skips unreadable pages."""
    found = store.connection.execute(
        "SELECT program, page FROM programs ORDER BY at DESC, program LIMIT ?", (limit,)
    )
    out = []
    for program, page in found:
        try:
            out.append((sanitize_line(str(program), 64), msgspec.json.decode(page, type=Page)))
        except (*UNDECODED, TypeError):
            continue
    return out


def find(store: Store, start: str) -> Page:
    """Return the page of the program whose id starts with `start`.

    Raises InputError unless exactly one id matches.
    """
    try:
        rows = store.connection.execute(
            "SELECT page FROM programs WHERE substr(program, 1, ?) = ?", (len(start), start)
        ).fetchall()
        if len(rows) == 1:
            return msgspec.json.decode(rows[0][0], type=Page)
    except (*UNDECODED, sqlite3.DataError, TypeError):
        pass
    raise InputError("program", start, "the beginning of exactly one id from `tuilab history programs`")
