"""What a person types to find runs, as a condition on the table of runs."""

TEXTS = ("preset", "workload", "host", "answer", "note", "run")
PLACES = {
    "preset": ("preset", "workload"),
    "machine": ("host",),
    "host": ("host",),
    "note": ("note",),
    "pinned": ("pinned",),
    "budget": ("budget",),
    "status": ("status",),
    "run": ("run",),
}
"""`machine:gpu-07` looks in these alone."""
TAG = "tag"
_TAGGED = "EXISTS (SELECT 1 FROM tags t WHERE t.run = runs.run AND tag LIKE ? ESCAPE '\\')"


def condition(search: str) -> tuple[str, list[str]]:
    """SQL and its values for runs that are not deleted and that have every word of `search`.

    A word occurs in one of a run's texts or tags; `#word` or `tag:word` in a tag, `machine:word` and the
    others of `PLACES` in what they name.
    """
    where, values = ["deleted_at IS NULL"], []
    for word in search.split():
        fields, text, tags = _place(word)
        parts = [f"{field} LIKE ? ESCAPE '\\'" for field in fields] + [_TAGGED] * tags
        where.append("(" + " OR ".join(parts) + ")")
        values += [containing(text)] * len(parts)
    return " AND ".join(where), values


def _place(word: str) -> tuple[tuple[str, ...], str, bool]:
    """In which fields to look, for what, and whether in tags."""
    name, colon, rest = word.partition(":")
    if word[0] == "#" and len(word) > 1:
        return (), word[1:], True
    if colon and rest and name.lower() == TAG:
        return (), rest, True
    if colon and rest and name.lower() in PLACES:
        return PLACES[name.lower()], rest, False
    return TEXTS, word, True


def containing(text: str) -> str:
    """A LIKE pattern for texts that contain this one, `\\` being the escape."""
    return f"%{escaped(text)}%"


def escaped(text: str) -> str:
    """Text without any special meaning in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
