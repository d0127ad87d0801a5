"""A document's front matter with title, date and id: YAML between `---`, TOML between `+++`."""

import re

_LONGEST = 200
_LINE = re.compile(r"^(title|date|id|slug)\s*[:=]\s*(.*)$", re.IGNORECASE)


def front_matter(lines: list[str]) -> tuple[dict[str, str], int]:
    """Return the values in the front matter, and its number of lines (0 if there is none)."""
    fence = lines[0].strip() if lines else ""
    if fence not in ("---", "+++"):
        return {}, 0
    for end, line in enumerate(lines[1:_LONGEST], start=1):
        if line.strip() == fence or (fence == "---" and line.strip() == "..."):
            return _values(lines[1:end]), end + 1
    return {}, 0


def _values(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        match = _LINE.match(line)
        if match:
            key = match[1].lower()
            found.setdefault("id" if key == "slug" else key, _unquote(match[2].strip()))
    return found


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].replace('\\"', '"').replace("''", "'")
    return value
