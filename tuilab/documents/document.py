"""What was read from outside: its lines, its code, and the prose around each piece of code."""

import msgspec

# What is read of one document: pieces of code, and characters of code in all.
MOST_EXAMPLES, MOST_CODE = 1_000, 400_000


class Passage(msgspec.Struct, frozen=True):
    """A line of prose. line: its number in the document, from 1."""

    line: int
    text: str


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of Python in a document, an example.

    number: from 1. line: of its first line of code. code: as found, dedented. before, after: the prose that
    leads to it and the prose that comments on it. notebook: a cell of one, where IPython's magics belong.
    cell: its number in the notebook's file, from 1; 0 for other documents. script: a whole Python file.
    """

    number: int
    heading: str
    line: int
    code: str
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()
    notebook: bool = False
    cell: int = 0
    script: bool = False

    @property
    def last_line(self) -> int:
        """The number of the last line of code."""
        return self.line + max(0, self.code.rstrip("\n").count("\n"))


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document's text, cleaned, with its examples in order.

    number: from a file name such as `000_….txt`, else "". id: the front matter's, else the file's name.
    lines: what a screen shows; for a notebook, its cells as text. notes: what could not be read, and where.
    """

    title: str = ""
    date: str = ""
    id: str = ""
    number: str = ""
    lines: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    notes: tuple[Passage, ...] = ()
