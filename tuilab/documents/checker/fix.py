"""Implements `--fix`: safe changes that leave the rest of the file untouched."""

import ast
import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuilab.documents.checker.settings import CheckSettings
from tuilab.documents.reading.decode import LARGEST
from tuilab.documents.reading.dialect import plain
from tuilab.documents.reading.parse import parse
from tuilab.documents.reading.source import from_bytes
from tuilab.documents.report import DocumentReport
from tuilab.documents.rules.rule import Finding
from tuilab.model.files import read_regular, write_bytes
from tuilab.model.sanitize import sanitize_line


@dataclass(frozen=True)
class Edit:
    """Replaces a line's text from column `start` to column `end` (exclusive; columns count from 0) with
    `new`.
    """

    line: int
    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Fixed:
    path: Path
    before: str
    after: str
    count: int

    def diff(self) -> str:
        name = self.path.as_posix()
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        lines = (line.rstrip("\n") for line in difflib.unified_diff(before, after, name, name))
        return "".join(f"{_printable(line)}\n" for line in lines)

    def write(self) -> None:
        """Write the file. Raises OSError if the file has changed since it was read or cannot be written, and
        InputError if the file cannot be read.
        """
        if read_regular(self.path, LARGEST) != self.before.encode("utf-8"):
            raise OSError(0, "the file changed during the fix, so it was not overwritten", str(self.path))
        write_bytes(self.path, self.after.encode("utf-8"))


def _printable(line: str) -> str:
    return line if line.replace("\t", "").isprintable() else sanitize_line(line, 100_000)


def fix(path: Path, report: DocumentReport, settings: CheckSettings) -> Fixed | None:
    """Return the file with fixes for the report's findings; None if there is nothing to fix or the file is
    not UTF-8. Raises InputError and OSError for an unreadable file.
    """
    wanted = [f for e in report.examples for f in e.findings if f.replace[0] and settings.selects(f.code)]
    if not wanted:
        return None
    try:
        data = b"" if path.stat().st_size > LARGEST else read_regular(path, LARGEST)
        before = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if from_bytes(data, path.name).lines != report.lines:
        return None  # the file has changed since it was checked, so the positions are wrong
    edits = [edit for block in report.document.blocks for edit in _edits(block.code, block.line, wanted)]
    cells = {block.cell: block.line for block in report.document.blocks if block.cell}
    after, count = _in_notebook(before, edits, cells) if cells else _in_text(before, edits, report.lines)
    return Fixed(path, before, after, count) if count else None


def _edits(code: str, first_line: int, findings: Iterable[Finding]) -> Iterator[Edit]:
    """Yield the edits that fix the findings in a block of code, with positions from its syntax tree."""
    lines = code.split("\n")
    last_line = first_line + len(lines) - 1
    by_line: dict[int, list[Finding]] = {}
    for finding in findings:
        for line in (finding.line, *finding.also):
            if first_line <= line <= last_line:
                by_line.setdefault(line - first_line + 1, []).append(finding)
    if not by_line:
        return
    for code_, old, line, start in _names(plain(code).lines):
        for finding in by_line.get(line, ()):
            kind = "TL002" if finding.code == "TL002" else "name"
            # Rewriting a magic shifts the columns on its line, so check the text at that position.
            if code_ == kind and finding.replace[0] == old and lines[line - 1][start:].startswith(old):
                yield Edit(line + first_line - 1, start, start + len(old), finding.replace[1])
                break


def _names(lines: Sequence[str]) -> Iterator[tuple[str, str, int, int]]:
    """Yield dotted names and call keywords as (kind, text, line, column from 0).

    A keyword is listed on the line of the called function's name.
    """
    for node in (node for statement in parse(lines, 1).statements for node in ast.walk(statement)):
        places: list[tuple[str, ast.Attribute | ast.keyword, int | None]] = []
        if isinstance(node, ast.Attribute):
            places = [("name", node, node.end_col_offset)]
        elif isinstance(node, ast.Call):
            own = [(k, k.arg) for k in node.keywords if k.arg and k.lineno == node.func.end_lineno]
            places = [("TL002", k, k.col_offset + len(word.encode())) for k, word in own]
        for kind, place, end in places:
            # Python's parser counts columns in bytes.
            line, start = lines[place.lineno - 1].encode(), place.col_offset
            yield kind, _text(line[start:end]), place.lineno, len(_text(line[:start]))


def _text(part: bytes) -> str:
    return part.decode(errors="replace")


def _in_text(before: str, edits: list[Edit], shown: tuple[str, ...]) -> tuple[str, int]:
    """Apply the edits to the file's text. Return the new text and the number of applied edits.

    The columns of an edit refer to a block of code, which the file may indent further.
    """
    lines = before.split("\n")
    count = 0
    for edit in sorted(set(edits), key=lambda e: (e.line, -e.start)):
        line = lines[edit.line - 1]
        # The block lacks the common indentation of its lines in the file, so try larger columns too.
        margin = len(line) - len(line.lstrip()) if edit.line <= len(shown) else 0
        for offset in range(margin + 1):
            at = edit.start + offset
            if line[at : at + edit.end - edit.start] and _fits(line, at, edit):
                lines[edit.line - 1] = line[:at] + edit.new + line[at + edit.end - edit.start :]
                count += 1
                break
    return "\n".join(lines), count


def _fits(line: str, at: int, edit: Edit) -> bool:
    end = at + edit.end - edit.start
    around = (line[at - 1] if at else " ") + (line[end] if end < len(line) else " ")
    return line[at:end].strip() == line[at:end] and not any(c.isalnum() or c in "_." for c in around)


def _in_notebook(before: str, edits: list[Edit], cells: dict[int, int]) -> tuple[str, int]:
    notebook: Any = json.loads(before)
    count = 0
    for number, cell in enumerate(notebook.get("cells", ()), start=1):
        first = cells.get(number)
        source = cell.get("source", "")
        text = source if isinstance(source, str) else "".join(source)
        height = text.count("\n") + 1
        own = [e for e in edits if first is not None and first <= e.line < first + height]
        if first is None or not own:
            continue
        moved = [Edit(e.line - first + 1, e.start, e.end, e.new) for e in own]
        text, changed = _in_text(text, moved, ())
        cell["source"] = text if isinstance(source, str) else text.splitlines(keepends=True)
        count += changed
    return _as_it_was(before, notebook), count


def _as_it_was(before: str, notebook: Any) -> str:
    """Serialize the notebook with the indentation, escapes and final newline of the original text."""
    end = "\n" if before.endswith("\n") else ""
    original = json.loads(before)
    layouts = [(indent, ascii_) for indent in (1, 2, 4, None) for ascii_ in (False, True)]
    for indent, ascii_ in layouts:
        if json.dumps(original, indent=indent, ensure_ascii=ascii_) + end == before:
            return json.dumps(notebook, indent=indent, ensure_ascii=ascii_) + end
    return json.dumps(notebook, indent=1, ensure_ascii=False) + end
