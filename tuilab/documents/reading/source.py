"""Turns a path or bytes into a document: determines its kind and name."""

import re
from pathlib import Path

import msgspec

from tuilab.documents.reading.decode import LARGEST, MARKS, decode
from tuilab.documents.reading.document import MOST_CODE, MOST_EXAMPLES, Block, Document, Passage
from tuilab.documents.reading.markdown import read_markdown
from tuilab.documents.reading.notebook import read_notebook
from tuilab.documents.reading.parse import is_python
from tuilab.model.errors import InputError
from tuilab.model.files import open_regular
from tuilab.model.sanitize import sanitize_line

MOST_LINES = 100_000
# Number of bytes that are searched for a zero byte, the sign of a binary file.
_LOOKED_AT = 8_192

_NUMBER = re.compile(r"^(\d{3})[_-]")
_IMPORT = re.compile(r"^(?:import|from)\s+[A-Za-z_]", re.MULTILINE)
_MARKDOWN = re.compile(r"^(?:#{1,6} \S|```|~~~|---\s*$)", re.MULTILINE)
_CELL = re.compile(r"^# ?(?:%%|In ?\[)", re.MULTILINE)
_DOCSTRING = re.compile(r'^\s*[rR]?"""\s*(\S[^\n"]{0,120})')


def open_document(source: Path | str | bytes, name: str = "") -> Document:
    """Read a file, or bytes whose kind `name` implies. Raises InputError if the document cannot be read."""
    if isinstance(source, bytes):
        return from_bytes(source, name)
    path = Path(source)
    with open_regular(path) as file:
        data = file.read(LARGEST + 1)
    return from_bytes(data, path.name)


def from_bytes(data: bytes, name: str = "") -> Document:
    """Read a document from its bytes. name: name of the file, "" for standard input."""
    text, whole = _first_lines(decode(data))
    document = _limit_code(_by_kind(text, Path(name).suffix.lower()))
    if not data.strip():
        document = msgspec.structs.replace(document, unreadable="a non-empty file")
    elif b"\0" in data[:_LOOKED_AT] and not data.startswith(MARKS):
        document = msgspec.structs.replace(document, unreadable="text, not binary data")
    stem = sanitize_line(Path(name).stem, 120)
    number = _NUMBER.match(stem)
    notes = document.notes
    if len(data) > LARGEST:
        notes += (Passage(1, f"only the first {LARGEST:,} bytes were read"),)
    if not whole:
        notes += (Passage(1, f"only the first {MOST_LINES:,} lines were read"),)
    return msgspec.structs.replace(
        document,
        id=document.id or stem,
        title=document.title or stem,
        number=number[1] if number else "",
        notes=notes,
    )


def _unreadable(text: str, expected: str) -> Document:
    lines = tuple(sanitize_line(line) for line in text.split("\n"))
    note = Passage(1, f"this file is named like a notebook, but is not a readable one: expected {expected}")
    return Document(lines=lines, notes=(note,), unreadable=expected)


def _first_lines(text: str) -> tuple[str, bool]:
    """Return the first MOST_LINES lines of the text, and whether the text has no more lines."""
    if text.count("\n") < MOST_LINES:
        return text, True
    return "\n".join(text.split("\n", MOST_LINES)[:MOST_LINES]), False


def _limit_code(document: Document) -> Document:
    """Return the document with at most a fixed amount of code, and with a note that lists the omitted
    code.
    """
    blocks: list[Block] = []
    room = MOST_CODE
    for block in document.blocks:
        if len(blocks) == MOST_EXAMPLES or room <= 0:
            note = Passage(
                block.line,
                f"the document has too much code: it was not checked from line {block.line} on",
            )
            return msgspec.structs.replace(document, blocks=tuple(blocks), notes=(*document.notes, note))
        if len(block.code) > room:
            block = msgspec.structs.replace(block, code=_cut(block.code, room))
            note = Passage(block.last_line, "this piece of code is too long: the rest of it was not checked")
            document = msgspec.structs.replace(document, notes=(*document.notes, note))
            room = 0
        room -= len(block.code)
        blocks.append(block)
    return msgspec.structs.replace(document, blocks=tuple(blocks))


def _cut(code: str, room: int) -> str:
    """Return as many whole statements from the start of the code as fit into `room` characters."""
    lines = code[:room].split("\n")[:-1]
    while lines and (not lines[-1] or lines[-1][0] in " \t)]}#@"):
        lines.pop()
    return "\n".join(lines[:-1])


def _by_kind(text: str, suffix: str) -> Document:
    if suffix == ".ipynb" or (not suffix and text.lstrip()[:1] == "{"):
        try:
            return read_notebook(text)
        except InputError as error:
            if suffix == ".ipynb":
                return _unreadable(text, error.expected)
    if suffix in (".py", ".pyw", ".ipy"):
        return read_script(text, interactive=suffix == ".ipy")
    if not suffix and _IMPORT.search(text) and not _MARKDOWN.search(text) and is_python(text.split("\n")):
        return read_script(text)
    return read_markdown(text)


def read_script(text: str, interactive: bool = False) -> Document:
    """Read a Python file as one example.

    interactive: the file is for IPython, so it may contain magics.
    """
    lines = text.split("\n")
    doc = _DOCSTRING.match(text)
    # Editors treat the code below a `# %%` line as a notebook cell, in which magics work.
    notebook = interactive or bool(_CELL.search(text))
    block = Block(number=1, heading="", line=1, code=text, notebook=notebook, script=True)
    return Document(
        title=sanitize_line(doc[1], 200) if doc else "",
        lines=tuple(sanitize_line(line) for line in lines),
        blocks=(block,) if text.strip() else (),
    )
