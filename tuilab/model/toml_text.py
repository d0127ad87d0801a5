"""TOML from outside, looked through before it is parsed: nesting and numbers cost time beyond any use."""

import re

from tuilab.model.errors import InputError

DEEPEST = 24
"""Tables in tables; no file of the lab's has more than five."""
LONGEST_NUMBER = 40
"""Digits."""

# One that is never closed reaches as far as it can, so that each character is looked at once.
_QUOTED = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|\#[^\n]*""",
    re.DOTALL,
)
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}")
_NUMBER = re.compile(rf"[0-9_]{{{LONGEST_NUMBER + 1}}}")


def toml_text(data: bytes, name: str) -> str:
    """Return the text of a TOML file that can be parsed at once. name: the file's. Raises InputError."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(name, f"byte {error.start} is no UTF-8", "TOML") from None
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
