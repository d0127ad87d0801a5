"""Turns a typed search into an SQL condition on the table of runs."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tuilab.model.sanitize import sanitize_line

TEXTS = ("preset", "workload", "host", "answer", "note", "run", "tags")
PLACES = {
    "preset": ("preset", "workload"),
    "machine": ("host",),
    "host": ("host",),
    "note": ("note",),
    "run": ("run",),
    "tag": ("tags",),
}
"""The fields to search, by the prefix of a word: `machine:gpu-07` searches only the host."""
STATES = {"pinned": "pinned", "budget": "budget", "status": "status"}
"""The column to search, by the prefix of a word: `status:failed` searches the run's status, not its text."""
SHORTEST = 3
"""Minimum number of characters of a word for the substring index. For a shorter word, every run is
scanned.
"""
LONGEST = 10_000
NO_TITLES: Mapping[str, str] = MappingProxyType({})


def condition(
    search: str, indexed: bool = True, titles: Mapping[str, str] = NO_TITLES
) -> tuple[str, list[str]]:
    """Return SQL and values for runs that are not deleted and match every word of `search`.

    A word matches a run's text fields or tags; `#word` and `tag:word` match a tag; `machine:word` and the
    other `PLACES` match the given fields, or every run while nothing follows the colon. indexed: use the
    index (`history.schema`). titles: preset titles by preset name; the search includes these titles.
    """
    parts, values, terms = [], [], []
    for word in dict.fromkeys(sanitize_line(search, LONGEST).split()):
        name, colon, rest = word.partition(":")
        if colon and not rest and name.lower() in (*PLACES, *STATES):
            continue  # the user is still typing the value
        fields, text = _place(word)
        if rest and name.lower() in STATES:
            parts.append(f"{STATES[name.lower()]} LIKE ? ESCAPE '\\'")
            values.append(containing(rest))
            continue
        titled = [p for p, title in titles.items() if "preset" in fields and text.lower() in title.lower()]
        quoted = '"' + text.replace('"', '""') + '"'
        term = f"{{{' '.join(fields)}}} : {quoted}"
        if indexed and len(text) >= SHORTEST and not titled:
            terms.append(term)
        else:
            if indexed and len(text) >= SHORTEST:
                some, lines = "found MATCH ?", [term]
            else:
                some = " OR ".join(f"{field} LIKE ? ESCAPE '\\'" for field in fields)
                lines = [containing(text)] * len(fields)
            part = f"+id IN (SELECT rowid FROM found WHERE {some})"
            if titled:
                part = f"({part} OR preset IN (SELECT value FROM json_each(?)))"
                lines.append(json.dumps(titled))
            parts.append(part)
            values += lines
    if terms:
        parts.append("+id IN (SELECT rowid FROM found WHERE found MATCH ?)")
        values.append(_all(terms))
    return "deleted_at IS NULL" + (f" AND {_all(parts)}" if parts else ""), values


def _place(word: str) -> tuple[Sequence[str], str]:
    """Return the fields to search, and the text to search for."""
    name, colon, rest = word.partition(":")
    if word[0] == "#" and len(word) > 1:
        return PLACES["tag"], word[1:]
    if colon and rest and name.lower() in PLACES:
        return PLACES[name.lower()], rest
    return TEXTS, word


def _all(parts: Sequence[str]) -> str:
    """Join conditions in a balanced tree: a chain of thousands would exceed SQLite's maximum depth."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_all(parts[:half])} AND {_all(parts[half:])})"


def containing(text: str) -> str:
    r"""Return a LIKE pattern for strings that contain this text, with `\` as the escape character."""
    return f"%{escaped(text)}%"


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
