"""Reads comments that suppress findings: `# noqa: TL103`, `<!-- tuilab: ignore TL103 -->`."""

import re
from collections.abc import Iterator, Sequence

from tuilab.documents.example import Example
from tuilab.documents.reading.document import Block

_NOQA = re.compile(r"#\s*noqa(?:\s*:\s*(?P<codes>[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*))?", re.IGNORECASE)
_IGNORE = re.compile(
    r"tuilab:\s*ignore(?P<file>-file)?\b[:\s]*(?P<codes>[^>]*?)\s*(?:-->|\*/|$)", re.IGNORECASE
)
_CODE = re.compile(r"TL\d+", re.IGNORECASE)
ALL = "*"
# Maximum number of lines between the comment and the code fence below it.
_ABOVE = 6


def suppressed(example: Example, code: str, line: int) -> bool:
    """Return True if a comment suppresses the rule `code` on the line, in the example, or in the whole
    document.
    """
    if any(wanted in (code, ALL) for wanted in example.ignored):
        return True
    match = _NOQA.search(example.text(line))
    if match is None:
        return False
    return match["codes"] is None or code in match["codes"].upper()


def ignored(lines: Sequence[str], block: Block) -> frozenset[str]:
    """Return the codes that the comments above a block suppress; `*` for all."""
    return frozenset(_above(lines, block))


def ignored_everywhere(lines: Sequence[str]) -> frozenset[str]:
    """Return the codes that comments suppress in the whole document; `*` for all."""
    messages = [_IGNORE.search(line) for line in lines if "tuilab:" in line]
    return frozenset(code for found in messages if found and found["file"] for code in _codes(found["codes"]))


def _above(lines: Sequence[str], block: Block) -> Iterator[str]:
    first = block.line - 1
    for number in range(first - 1, max(-1, first - 1 - _ABOVE), -1):
        text = lines[number].strip() if number < len(lines) else ""
        found = _IGNORE.search(text) if "tuilab:" in text else None
        if found and not found["file"]:
            yield from _codes(found["codes"])
        elif text and not text.startswith(("```", "~~~", "<pre", "<!--", "# %%")):
            return


def _codes(text: str) -> list[str]:
    return [code.upper() for code in _CODE.findall(text)] or [ALL]
