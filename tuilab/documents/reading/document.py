"""A document: its lines, its code, and the prose around each piece of code."""

import msgspec

# Limits per document: pieces of code, and characters of code.
MOST_EXAMPLES, MOST_CODE = 1_000, 400_000


class Passage(msgspec.Struct, frozen=True):
    """A line of prose."""

    line: int
    """Line number in the document, from 1."""
    text: str
    """As found."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of Python in a document: an example."""

    number: int
    """From 1."""
    heading: str
    """The heading above it; "" if none."""
    line: int
    """Line number of its first line of code, from 1."""
    code: str
    """As found, dedented."""
    before: tuple[Passage, ...] = ()
    """The prose that introduces it."""
    after: tuple[Passage, ...] = ()
    """The prose that comments on it."""
    notebook: bool = False
    """It is a notebook cell, where IPython magics are valid."""
    cell: int = 0
    """Cell number in the notebook's file, from 1; 0 for other documents."""
    script: bool = False
    """A whole Python file."""

    @property
    def last_line(self) -> int:
        """Line number of the last line of code."""
        return self.line + max(0, self.code.rstrip("\n").count("\n"))


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document's cleaned text, with its examples in order."""

    title: str = ""
    """From the front matter, the first heading, or the file's name."""
    date: str = ""
    """As written in the front matter."""
    id: str = ""
    """From the front matter, else the file's name."""
    number: str = ""
    """From a file name such as `000_….txt`, else ""."""
    lines: tuple[str, ...] = ()
    """The displayed text; for a notebook, its cells as text."""
    blocks: tuple[Block, ...] = ()
    """The code examples."""
    notes: tuple[Passage, ...] = ()
    """What could not be read, and where."""
    unreadable: str = ""
    """What it should be, if nothing could be read."""
