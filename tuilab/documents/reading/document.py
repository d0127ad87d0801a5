"""What was read from outside: its lines, its code, and the prose around each piece of code."""

import msgspec

# What is read of one document: pieces of code, and characters of code in all.
MOST_EXAMPLES, MOST_CODE = 1_000, 400_000


class Passage(msgspec.Struct, frozen=True):
    """A line of prose."""

    line: int
    """Its number in the document, from 1."""
    text: str
    """As found."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of Python in a document, an example."""

    number: int
    """From 1."""
    heading: str
    """What leads to it, "" for nothing."""
    line: int
    """Of its first line of code in the document, from 1."""
    code: str
    """As found, dedented."""
    before: tuple[Passage, ...] = ()
    """The prose that leads to it."""
    after: tuple[Passage, ...] = ()
    """The prose that comments on it."""
    notebook: bool = False
    """A cell of one, where IPython's magics belong."""
    cell: int = 0
    """Its number in the notebook's file, from 1; 0 for other documents."""
    script: bool = False
    """A whole Python file."""

    @property
    def last_line(self) -> int:
        """The number of the last line of code."""
        return self.line + max(0, self.code.rstrip("\n").count("\n"))


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document's text, cleaned, with its examples in order."""

    title: str = ""
    """Of the front matter, the first heading, or the file's name."""
    date: str = ""
    """As the front matter writes it."""
    id: str = ""
    """The front matter's, else the file's name."""
    number: str = ""
    """From a file name such as `000_….txt`, else ""."""
    lines: tuple[str, ...] = ()
    """What a screen shows; for a notebook, its cells as text."""
    blocks: tuple[Block, ...] = ()
    """Its code."""
    notes: tuple[Passage, ...] = ()
    """What could not be read, and where."""
    unreadable: str = ""
    """What it would have to be, where nothing of it could be read."""
