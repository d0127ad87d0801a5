"""Reads a Jupyter notebook as a document: its cells become text, and each code cell becomes an example."""

import msgspec

from tuilab.documents.reading.document import Block, Document, Passage
from tuilab.documents.reading.prose import heading_of
from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.sanitize import sanitize_line


class _Cell(msgspec.Struct):
    """A cell. Version 4 of the notebook format stores code in `source`, version 3 in `input`."""

    cell_type: str = ""
    source: str | list[str] = ""
    input: str | list[str] = ""

    @property
    def text(self) -> str:
        found = self.source or self.input
        return found if isinstance(found, str) else "".join(found)


class _Sheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    """A notebook. Version 4 of the format stores cells at the top level, version 3 in worksheets."""

    cells: list[_Cell] | None = None
    worksheets: list[_Sheet] | None = None
    metadata: dict[str, object] = {}


def read_notebook(text: str) -> Document:
    """Read a notebook. Raises InputError if its JSON is invalid.

    Line numbers refer to the displayed text, in which a line such as `# %% cell 3` precedes each cell.
    """
    try:
        notebook = msgspec.json.decode(text.encode("utf-8", "replace"), type=_Notebook)
    except UNDECODED as error:
        raise InputError("notebook", "", f"a Jupyter notebook's JSON ({_why(error)})") from None
    cells = notebook.cells
    if cells is None:
        if notebook.worksheets is None:
            raise InputError("notebook", "", "a Jupyter notebook with cells")
        cells = [cell for sheet in notebook.worksheets for cell in sheet.cells]
    return _document(cells, str(notebook.metadata.get("title", "")))


def _why(error: Exception) -> str:
    return sanitize_line(str(error), 120) if isinstance(error, msgspec.MsgspecError) else "nested too deeply"


def _document(cells: list[_Cell], title: str) -> Document:
    lines: list[str] = []
    blocks: list[Block] = []
    before: list[Passage] = []
    heading = ""
    for number, cell in enumerate(cells, start=1):
        source = cell.text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd").rstrip("\n")
        code = cell.cell_type == "code"
        lines.append(f"# %% cell {number}" + ("" if code else f" [{sanitize_line(cell.cell_type, 20)}]"))
        first = len(lines) + 1
        lines += source.split("\n")
        if not code:
            found = [Passage(first + n, text) for n, text in enumerate(source.split("\n"))]
            before += found
            heading = next((h for h in map(heading_of, (p.text for p in found)) if h), heading)
            title = title or heading
        elif source.strip():
            blocks.append(
                Block(
                    number=len(blocks) + 1,
                    heading=sanitize_line(f"{heading} (cell {number})" if heading else f"cell {number}", 200),
                    line=first,
                    code=source,
                    before=tuple(before),
                    notebook=True,
                    cell=number,
                )
            )
            before = []
    return Document(
        title=sanitize_line(title, 200), lines=tuple(sanitize_line(x) for x in lines), blocks=tuple(blocks)
    )
