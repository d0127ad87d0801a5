"""Reads Markdown or plain text as a document: front matter, prose and examples."""

import html
import re
import textwrap
from collections.abc import Sequence
from itertools import islice

from tuilab.documents.reading.dialect import is_notebook, plain
from tuilab.documents.reading.document import MOST_EXAMPLES, Block, Document, Passage
from tuilab.documents.reading.fences import CodePiece, pieces
from tuilab.documents.reading.frontmatter import front_matter
from tuilab.documents.reading.parse import is_python
from tuilab.documents.reading.prose import heading_of, split_between
from tuilab.documents.words import words
from tuilab.model.sanitize import sanitize_line

PYTHON = words("python py python2 python3 py3 ipython ipython3 pycon python-repl jupyter")
# Fence labels that name no language.
UNSAID = ("", "code", "text", "txt", "plaintext", "pre")
# Fence labels for notebooks in Markdown.
_CELLS = re.compile(r"\.input\b|code-cell|\{code\}")
_TELLING = re.compile(r"^\s*(?:>>>\s*)?(?:import|from)\s+[A-Za-z_]|\btf\.|\bkeras\.|\bnp\.", re.MULTILINE)


def read_markdown(text: str) -> Document:
    """Find the examples in the text. A passage of prose belongs to the example that it introduces or comments
    on.
    """
    lines = text.split("\n")
    values, start = front_matter(lines)
    code = list(islice((p for p in pieces(lines, start) if _holds_python(p)), MOST_EXAMPLES + 1))
    notebook = any(_CELLS.search(p.info) or is_notebook("\n".join(p.lines)) for p in code)
    notebook = notebook or any("jupytext:" in line or "kernelspec:" in line for line in lines[:start])
    blocks: list[Block] = []
    before, heading = _passages(lines, start, code[0].start if code else len(lines)), ""
    title = values.get("title") or _first_heading(before)
    _, leading, heading = split_between(before, first=True)
    for index, piece in enumerate(code):
        stop = code[index + 1].start if index + 1 < len(code) else len(lines)
        between = _passages(lines, piece.end + 1, stop)
        if index + 1 < len(code):
            commenting, following, next_heading = split_between(between, first=False)
        else:
            commenting, following, next_heading = between, [], ""
        blocks.append(_block(piece, index + 1, heading, leading, commenting, notebook))
        leading, heading = following, next_heading
    return Document(
        title=sanitize_line(title, 200),
        date=sanitize_line(values.get("date", ""), 40),
        id=sanitize_line(values.get("id", ""), 120),
        lines=tuple(sanitize_line(line) for line in lines),
        blocks=tuple(blocks),
    )


def _holds_python(piece: CodePiece) -> bool:
    """Return True if the fence names Python; or if it names no language and the code looks like Python."""
    if not any(line.strip() for line in piece.lines):
        return False
    if piece.language in PYTHON:
        return True
    if piece.language in UNSAID:
        text = _code(piece)
        if is_python(plain(text).lines):
            return True
        return piece.language != "text" and len(_TELLING.findall(text)) >= 2
    return piece.language == "indented" and is_python(plain(_code(piece)).lines)


def _code(piece: CodePiece) -> str:
    lines = piece.lines
    if piece.language == "pre":
        lines = [html.unescape(line) for line in lines]
    return _dedent(lines)


def _dedent(lines: Sequence[str]) -> str:
    """Remove the common indentation. If the first line is still indented, remove its indentation from all
    lines.
    """
    text = "\n".join(line.expandtabs(4) if "\t" in line[:40] else line for line in lines)
    dedented = textwrap.dedent(text)
    first = next((line for line in dedented.split("\n") if line.strip()), "")
    margin = len(first) - len(first.lstrip())
    if not margin:
        return dedented
    out = []
    for line in dedented.split("\n"):
        taken = min(margin, len(line) - len(line.lstrip()))
        out.append(line[taken:])
    return "\n".join(out)


def _block(
    piece: CodePiece,
    number: int,
    heading: str,
    before: Sequence[Passage],
    after: Sequence[Passage],
    notebook: bool,
) -> Block:
    return Block(
        number=number,
        heading=sanitize_line(heading, 200),
        line=piece.first + 1,
        code=_code(piece),
        before=tuple(before),
        after=tuple(after),
        notebook=notebook or piece.language in ("ipython", "ipython3", "jupyter"),
    )


def _passages(lines: Sequence[str], start: int, stop: int) -> list[Passage]:
    return [Passage(number + 1, lines[number]) for number in range(start, stop)]


def _first_heading(passages: Sequence[Passage]) -> str:
    for passage in passages[:200]:
        if passage.text.lstrip().startswith("#"):
            found = heading_of(passage.text)
            if found:
                return found
    return ""
