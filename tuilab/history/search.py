"""What a user types to find runs, as a condition on the table of runs."""

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
"""`machine:gpu-07` looks in these alone."""
STATES = {"pinned": "pinned", "budget": "budget", "status": "status"}
"""`status:failed` looks in what a run is rather than in its texts."""
SHORTEST = 3
"""Characters of a word that the index of parts of words knows; else all texts are looked through."""
LONGEST = 10_000
NO_TITLES: Mapping[str, str] = MappingProxyType({})


def condition(
    search: str, indexed: bool = True, titles: Mapping[str, str] = NO_TITLES
) -> tuple[str, list[str]]:
    """Return SQL and its values for runs that are not deleted and that have every word of `search`.

    A word occurs in one of a run's texts or tags; `#word` or `tag:word` in a tag, `machine:word` and the
    others of `PLACES` in what they name; while nothing stands behind the colon they leave out no run.
    indexed: the texts are (`history.schema`). titles: of presets, by name; a run has the words of its
    preset's title too.
    """
    parts, values, terms = [], [], []
    for word in dict.fromkeys(sanitize_line(search, LONGEST).split()):
        name, colon, rest = word.partition(":")
        if colon and not rest and name.lower() in (*PLACES, *STATES):
            continue  # what it names is being typed
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
                some, said = "found MATCH ?", [term]
            else:
                some = " OR ".join(f"{field} LIKE ? ESCAPE '\\'" for field in fields)
                said = [containing(text)] * len(fields)
            part = f"+id IN (SELECT rowid FROM found WHERE {some})"
            if titled:
                part = f"({part} OR preset IN (SELECT value FROM json_each(?)))"
                said.append(json.dumps(titled))
            parts.append(part)
            values += said
    if terms:
        parts.append("+id IN (SELECT rowid FROM found WHERE found MATCH ?)")
        values.append(_all(terms))
    return "deleted_at IS NULL" + (f" AND {_all(parts)}" if parts else ""), values


def _place(word: str) -> tuple[Sequence[str], str]:
    """In which fields to look, and for what."""
    name, colon, rest = word.partition(":")
    if word[0] == "#" and len(word) > 1:
        return PLACES["tag"], word[1:]
    if colon and rest and name.lower() in PLACES:
        return PLACES[name.lower()], rest
    return TEXTS, word


def _all(parts: Sequence[str]) -> str:
    """All of them, halved and halved again: thousands in a row would be deeper than SQLite goes."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_all(parts[:half])} AND {_all(parts[half:])})"


def containing(text: str) -> str:
    """Return a LIKE pattern for texts that contain this one, `\\` being the escape."""
    return f"%{escaped(text)}%"


def escaped(text: str) -> str:
    """Return text without any special meaning in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
