"""Rejects TOML from outside that takes too much time to parse: deep nesting and long numbers."""

import re

from tuilab.model.errors import InputError

DEEPEST = 24
"""Maximum nesting of tables; the lab's own files nest at most five levels."""
LONGEST_NUMBER = 40
"""Maximum number of characters of a number."""

# An unclosed string matches to the end of the text, so that no character is read twice.
_QUOTED = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|\#[^\n]*""",
    re.DOTALL,
)
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}")
_NUMBER = re.compile(rf"[0-9_]{{{LONGEST_NUMBER + 1}}}")


def toml_text(data: bytes, name: str) -> str:
    """Return the text of a TOML file if it is safe to parse. Raises InputError, which names the file
    `name`.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(name, f"byte {error.start} is not UTF-8", "TOML") from None
    bare = _QUOTED.sub("q", text)
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", bare):
        depth += 1 if bracket in "[{" else -1
        if depth > DEEPEST:
            raise InputError(name, f"tables more than {DEEPEST} deep", "fewer levels of nesting")
    if _DOTTED.search(bare):
        raise InputError(name, f"tables more than {DEEPEST} deep", "fewer levels of nesting")
    if _NUMBER.search(bare):
        raise InputError(name, f"a number of more than {LONGEST_NUMBER} digits", "a shorter one")
    return text
