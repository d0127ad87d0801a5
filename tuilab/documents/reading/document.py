"""A document: its lines, its code, and the prose around each piece of code."""

import msgspec

# Limits per document: number of pieces of code, and characters of code.
MOST_EXAMPLES, MOST_CODE = 1_000, 400_000


class Passage(msgspec.Struct, frozen=True):
    """A line of prose in a document."""

    line: int
    """Line number in the document, from 1."""
    text: str


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """An example: a piece of Python code in a document."""

    number: int
    """Number of the example, from 1."""
    heading: str
    line: int
    code: str
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()
    notebook: bool = False
    cell: int = 0
    """Number of the cell in the notebook, from 1; 0 for other documents."""
    script: bool = False

    @property
    def excerpt(self) -> bool:
        """True for code between paragraphs of an article, which omits obvious parts."""
        return not self.script and not self.notebook

    @property
    def last_line(self) -> int:
        return self.line + max(0, self.code.rstrip("\n").count("\n"))


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document's cleaned text, with its examples in order."""

    title: str = ""
    """Title from the front matter, the first heading, or the file's name."""
    date: str = ""
    id: str = ""
    """Id from the front matter, else the file's name."""
    number: str = ""
    """The number in a file name such as `000_….txt`; "" if there is none."""
    lines: tuple[str, ...] = ()
    """The lines of the displayed text; for a notebook, its cells as text."""
    blocks: tuple[Block, ...] = ()
    notes: tuple[Passage, ...] = ()
    """Parts that could not be read, each with its line."""
    unreadable: str = ""
    """The kind of file that was expected, if nothing could be read; else ""."""
