"""The titles of the presets, kept from one start to the next, so that the first screen already has them.

They are shown only while no folder and no file that they were read from has changed; the presets themselves
are read and checked after the first paint, at every start.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tuilab.lab.files import at_once, state_folder, write_private

if TYPE_CHECKING:
    from tuilab.catalogue import Catalogue
    from tuilab.catalogue.load import Problem
    from tuilab.model.preset import Preset  # after the first paint, which needs no more than titles

MOST_BYTES = 2_000_000
PACKAGE = str(Path(__file__).resolve().parents[1])


class Title(NamedTuple):
    """One row of the list of presets."""

    text: str
    """What the row says: a document's name, a preset's title, a file's name."""
    name: str = ""
    """The preset's name, or that of the file that could not be read."""
    about: str = ""
    """The preset's first claim, or what is wrong with the file."""
    kind: str = "preset"
    """heading, preset or problem."""


def titles(presets: "Sequence[Preset]", problems: "Sequence[Problem]") -> tuple[Title, ...]:
    """List each document's presets under its heading, then the person's own, then files that are wrong."""
    out: list[Title] = []
    document: str | None = None
    for preset in presets:
        source = preset.source
        number = source.document if source else ""
        if number != document:
            document = number
            title = f"{number} {source.title}".strip() if source else "Others and yours"
            out.append(Title(title, kind="heading"))
        lead = f"{source.example} " if source and source.example else ""
        about = (preset.claims[0].text if preset.claims else preset.summary).strip()
        out.append(Title(f"{lead}{preset.title}", preset.name, about))
    if problems:
        out.append(Title("Not loaded", kind="heading"))
        out += [Title(p.name, p.name, str(p), "problem") for p in problems]
    return tuple(out)


def at_start(folders: Sequence[Path]) -> "tuple[tuple[Title, ...], Catalogue | None]":
    """Return the titles for the first screen, and the presets where these had to be read for that.

    They are at the first start, and where a file changed: what can be measured is there all the same.
    """
    rows, found = kept(folders), None
    if not rows:
        from tuilab import catalogue

        found = catalogue.load(*folders)
        rows = titles(found.presets, found.problems)
        # At once, so that the next start has them however soon this one ends.
        keep(folders, rows)
    return rows, found


def matching(rows: Sequence[Title], words: str) -> tuple[Title, ...]:
    """Find the rows that hold all the words in name, title, claim or document; headings that have some."""
    wanted = words.lower().split()
    if not wanted:
        return tuple(rows)
    out: list[Title] = []
    heading: Title | None = None
    listed = False
    for row in rows:
        if row.kind == "heading":
            heading, listed = row, False
            continue
        said = f"{heading.text if heading else ''} {row.name} {row.text} {row.about}".lower()
        if all(word in said for word in wanted):
            if heading is not None and not listed:
                out.append(heading)
                listed = True
            out.append(row)
    return tuple(out)


def kept(folders: Iterable[Path]) -> tuple[Title, ...]:
    """Read the titles of the last start with these folders (none: the usual ones); none after a change."""
    try:
        with at_once(_file()) as file:
            # The standard library's reader: msgspec takes longer to load than these few lines to read.
            package, of, times, rows = json.loads(file.read(MOST_BYTES))
        known = (package, of) == (PACKAGE, list(map(str, folders)))
        unchanged = known and all(_time(path) == time for path, time in times.items())
        return tuple(Title(*map(str, row)) for row in rows) if unchanged else ()
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):  # not there, or not ours
        return ()


def keep(folders: Sequence[Path], rows: tuple[Title, ...]) -> None:
    """Keep the titles of what is in these folders (none: the usual ones) for the next start."""
    from tuilab import catalogue

    places = [
        place for folder in folders or catalogue.folders() for place in (folder, *folder.glob("*.toml"))
    ]
    times = {str(place): _time(str(place)) for place in places}
    write_private(_file(), json.dumps([PACKAGE, list(map(str, folders)), times, rows]))


def _file() -> Path:
    return state_folder() / "titles.json"


def _time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1
