"""The titles of presets for the first screen, which appears before the presets are read.

A first start uses the index of the bundled presets, which `docs/make.py` builds. Later starts use the
titles that the last start saved. If a preset file has changed, neither is used. After the first paint,
every start reads and checks the presets themselves.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tuilab.lab.files import at_once, state_folder, write_private
from tuilab.model.search import contains
from tuilab.paths import own_folder, preset_folders, shipped_folder

if TYPE_CHECKING:
    from tuilab.catalogue import Catalogue
    from tuilab.catalogue.load import Problem
    from tuilab.model.preset import Preset  # imported only after the first paint, which needs just the titles

MOST_BYTES = 2_000_000
INDEX = "titles.json"
"""Name of the index file, in the folder of the bundled presets."""
PACKAGE = str(Path(__file__).resolve().parents[1])


class Title(NamedTuple):
    text: str
    """The document's name, the preset's title or the file's name."""
    name: str = ""
    """The name of the preset, or of the invalid file."""
    about: str = ""
    """The preset's first claim, or what is wrong with the file."""
    kind: str = "preset"
    """`heading`, `preset` or `problem`."""


def titles(presets: "Sequence[Preset]", problems: "Sequence[Problem]") -> tuple[Title, ...]:
    """Return the presets of each document below its heading, then the user's own presets, then invalid
    files.
    """
    out: list[Title] = []
    document: str | None = None
    for preset in presets:
        source = preset.source
        number = source.document if source else ""
        if number != document:
            document = number
            title = f"{number} {source.title}".strip() if source else "Other presets and yours"
            out.append(Title(title, kind="heading"))
        lead = f"{source.example} " if source and source.example else ""
        about = (preset.claims[0].text if preset.claims else preset.summary).strip()
        out.append(Title(f"{lead}{preset.title}", preset.name, about))
    if problems:
        out.append(Title("Not loaded", kind="heading"))
        out += [Title(p.name, p.name, str(p), "problem") for p in problems]
    return tuple(out)


def at_start(folders: Sequence[Path]) -> "tuple[tuple[Title, ...], Catalogue | None]":
    """Return the titles for the first screen, and the presets if they had to be read.

    They had to be read if neither the saved titles nor the index is valid.
    """
    rows, presets = read_saved_titles(folders), None
    if not rows and not folders:
        rows = indexed()
    if not rows:
        from tuilab import catalogue

        presets = catalogue.load(*folders)
        rows = titles(presets.presets, presets.problems)
        # Save at once, in case this start ends before the presets are read again.
        keep(folders, rows)
    return rows, presets


def make_index(rows: Iterable[Title]) -> str:
    return json.dumps([_sizes(shipped_folder()), list(rows)], indent=1, ensure_ascii=False)


def indexed() -> tuple[Title, ...]:
    """Return the titles from the index; empty if a bundled preset has changed, or if the user has presets."""
    try:
        with at_once(shipped_folder() / INDEX) as file:
            sizes, rows = json.loads(file.read(MOST_BYTES))
        unchanged = sizes == _sizes(shipped_folder()) and not _sizes(own_folder())
        return tuple(Title(*map(str, row)) for row in rows) if unchanged else ()
    except (OSError, ValueError, TypeError, RecursionError):  # the index is missing or damaged
        return ()


def matching(rows: Sequence[Title], words: str) -> tuple[Title, ...]:
    """Return the rows that contain all the words in their name, title, claim or document, with their
    headings.
    """
    if not words.strip():
        return tuple(rows)
    out: list[Title] = []
    heading: Title | None = None
    listed = False
    for row in rows:
        if row.kind == "heading":
            heading, listed = row, False
            continue
        if contains(f"{heading.text if heading else ''} {row.name} {row.text} {row.about}", words):
            if heading is not None and not listed:
                out.append(heading)
                listed = True
            out.append(row)
    return tuple(out)


def read_saved_titles(folders: Iterable[Path]) -> tuple[Title, ...]:
    """Return the saved titles for these folders (default folders if empty); () if a folder has changed since
    the titles were saved.
    """
    try:
        with at_once(_file()) as file:
            # Use the standard library, because importing msgspec takes longer than reading these few lines.
            package, of, times, rows = json.loads(file.read(MOST_BYTES))
        known = (package, of) == (PACKAGE, list(map(str, folders)))
        unchanged = known and all(_time(path) == time for path, time in times.items())
        return tuple(Title(*map(str, row)) for row in rows) if unchanged else ()
    # The file is missing, damaged, or belongs to another user.
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return ()


def keep(folders: Sequence[Path], rows: tuple[Title, ...]) -> None:
    """Save the titles for these folders (default folders if empty) for the next start."""
    places = [place for folder in folders or preset_folders() for place in (folder, *folder.glob("*.toml"))]
    times = {str(place): _time(str(place)) for place in places}
    write_private(_file(), json.dumps([PACKAGE, list(map(str, folders)), times, rows]))


def _file() -> Path:
    return state_folder() / "titles.json"


def _sizes(folder: Path) -> dict[str, int]:
    """Return the size in bytes of each preset file in a folder; empty if there is no such folder."""
    return {file.name: file.stat().st_size for file in sorted(folder.glob("*.toml"))}


def _time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1
