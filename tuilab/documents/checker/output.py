"""Formats results as text, JSON, SARIF 2.1.0 and GitHub annotations."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import PurePath
from urllib.parse import quote

import msgspec

from tuilab.documents.checker.files import FileResult
from tuilab.documents.report import DocumentLine, ExampleLine
from tuilab.documents.rules import RULES
from tuilab.documents.rules.rule import Finding
from tuilab.model.files import indented
from tuilab.model.found import Severity, at_least
from tuilab.model.sanitize import sanitize_line

SCHEMA = 1
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# The documentation of the rules, with a heading for each code.
HELP = "https://github.com/tuilab/tuilab/blob/main/docs/checker.md"
_MOST_ALSO = 4


def place(result: FileResult, finding: Finding) -> str:
    """Return `path:line:column`; for a notebook `path:cell 3:line:column`, where line and column count within
    the cell.
    """
    path = shown_path(result)
    if finding.cell:
        return f"{path}:cell {finding.cell}:{finding.cell_line}:{finding.column}"
    return f"{path}:{finding.line}:{finding.column}"


def shown_path(result: FileResult) -> str:
    """Return the file's path without terminal escapes, because the name may come from a stranger."""
    return sanitize_line(result.path, 4_000)


def text(results: Sequence[FileResult], level: Severity) -> Iterator[str]:
    """Yield a line for each error and note, and two lines for each finding: its message and its remedy."""
    for result in results:
        if result.error:
            yield f"{shown_path(result)}: {result.error}"
        for line, why in result.notes:
            yield f"{shown_path(result)}:{line}: not checked from here on: {why}"
        for finding in select_findings(result, level):
            words = f"{finding.severity}: {finding.message}{_also(finding)}"
            yield f"{place(result, finding)}: {finding.code} {words}"
            yield f"    → {finding.remedy}"


def select_findings(result: FileResult, level: Severity) -> list[Finding]:
    return [f for f in result.collapsed if at_least(f.severity, level)]


def _also(finding: Finding) -> str:
    if not finding.also:
        return ""
    if finding.cell:
        return f" (also in {counted(len(finding.also), 'other place')})"
    lines = ", ".join(map(str, finding.also[:_MOST_ALSO]))
    more = len(finding.also) - _MOST_ALSO
    word = "line" if len(finding.also) == 1 else "lines"
    return f" (also {word} {lines}{f' and {more} more' if more > 0 else ''})"


def summary(results: Sequence[FileResult], level: Severity) -> str:
    counts = Counter(f.severity for r in results for f in r.collapsed)
    files = counted(len(results), "file")
    parts = [counted(counts[kind], kind) for kind in ("error", "warning", "note") if counts[kind]]
    unread = sum(bool(r.error) for r in results)
    out = f"{files} checked: " + (", ".join(parts) if parts else "no findings")
    out += f"; {counted(unread, 'file')} could not be read" if unread else ""
    unparsed = sum(r.unparsed for r in results)
    they = "it is" if unparsed == 1 else "they are"
    out += f"; {counted(unparsed, 'place')} not checked, because {they} not Python" if unparsed else ""
    hidden = sum(n for kind, n in counts.items() if not at_least(kind, level))
    return out + (" (--level note shows all)" if hidden else "")


def counted(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")


class _Fix(msgspec.Struct, frozen=True):
    old: str
    new: str


class FindingLine(msgspec.Struct, frozen=True):
    """One finding in the JSON output."""

    code: str
    severity: Severity
    line: int
    """Line in the document; for a notebook, in the text of its cells."""
    column: int
    also: tuple[int, ...]
    cell: int | None
    """Number of the notebook cell, from 1; None for other documents."""
    cell_line: int | None
    """Line within that cell, from 1."""
    message: str
    remedy: str
    fix: _Fix | None
    """The replacement that `--fix` makes; None if the user must fix it."""


class FileLine(msgspec.Struct, frozen=True):
    """The results of one file in the JSON output."""

    path: str
    title: str
    error: str | None
    findings: tuple[FindingLine, ...]
    document: DocumentLine | None
    examples: tuple[ExampleLine, ...]


class CheckOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The object printed by `tuilab check --format json`."""

    schema: int = SCHEMA
    tensorflow: str | None
    target: str
    files: tuple[FileLine, ...]
    summary: dict[str, int]


def as_json(results: Sequence[FileResult], tensorflow: str, target: str, level: Severity) -> str:
    """Return a JSON object with the findings of at least the severity `level`. Its summary counts all
    findings.
    """
    counts = Counter(f.severity for r in results for f in r.collapsed)
    out = CheckOutput(
        tensorflow=tensorflow or None,
        target=target,
        files=tuple(_file(result, level) for result in results),
        summary={"files": len(results), **{kind: counts[kind] for kind in ("error", "warning", "note")}},
    )
    return indented(out)


def _leveled(example: ExampleLine, level: Severity) -> ExampleLine:
    kept = tuple(f for f in example.findings if at_least(f.severity, level))
    return msgspec.structs.replace(example, findings=kept)


def _file(result: FileResult, level: Severity) -> FileLine:
    check = result.check
    return FileLine(
        result.path,
        result.title,
        result.error or None,
        tuple(_line(f) for f in select_findings(result, level)),
        check.document if check else None,
        tuple(_leveled(e, level) for e in check.examples) if check else (),
    )


def _line(f: Finding) -> FindingLine:
    fix = _Fix(*f.replace) if f.replace[0] else None
    return FindingLine(
        f.code,
        f.severity,
        f.line,
        f.column,
        f.also,
        f.cell or None,
        f.cell_line or None,
        f.message,
        f.remedy,
        fix,
    )


_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


def github(results: Sequence[FileResult], level: Severity) -> Iterator[str]:
    """Yield GitHub workflow commands, which GitHub shows as annotations next to the lines."""
    for result in results:
        if result.error:
            yield f"::error file={_property(shown_path(result))},title=tuilab::{_data(result.error)}"
        for finding in select_findings(result, level):
            line = finding.cell_line or finding.line
            where = (
                f"file={_property(shown_path(result))},line={line},col={finding.column},title={finding.code}"
            )
            cell = f"cell {finding.cell}: " if finding.cell else ""
            words = f"{cell}{finding.words}"
            yield f"::{_GITHUB[finding.severity]} {where}::{_data(words)}"


def _data(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _data(words).replace(":", "%3A").replace(",", "%2C")


def sarif(results: Sequence[FileResult], level: Severity) -> str:
    """Return a SARIF 2.1.0 log with one run, which contains the findings of at least the severity `level`."""
    index = {rule.code: number for number, rule in enumerate(RULES)}
    rules = [
        {
            "id": rule.code,
            "name": rule.title,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.what},
            "help": {"text": f"{rule.why} {rule.remedy}"},
            "helpUri": f"{HELP}#{_anchor(f'{rule.code} · {rule.title}')}",
            "defaultConfiguration": {"level": rule.severity},
        }
        for rule in RULES
    ]
    found = [
        _sarif_result(result, finding, index[finding.code], mark)
        for result in results
        for finding, mark in zip(result.findings, _fingerprints(result), strict=True)
        if at_least(finding.severity, level)
    ]
    failed = [{"level": "error", "message": {"text": f"{r.path}: {r.error}"}} for r in results if r.error]
    log = {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tuilab",
                        "version": version("tuilab"),
                        "rules": rules,
                    }
                },
                "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
                "columnKind": "unicodeCodePoints",
                "results": found,
            }
        ],
    }
    return indented(log)


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub generates for a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _fingerprints(result: FileResult) -> list[str]:
    """Return a hash for each finding: of its file, code and line text, and of a counter for findings with the
    same three. The hash stays the same if the line moves.
    """
    seen: Counter[tuple[str, str]] = Counter()
    out = []
    for finding, line in zip(result.findings, result.texts, strict=True):
        seen[finding.code, line] += 1
        words = "\0".join((result.path, finding.code, line, str(seen[finding.code, line])))
        out.append(hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:32])
    return out


def _sarif_result(result: FileResult, finding: Finding, index: int, mark: str) -> dict[str, object]:
    artifact = {"uri": quote(PurePath(result.path).as_posix())}

    def location(line: int, column: int) -> dict[str, object]:
        region = {"startLine": line, "startColumn": column}
        return {"physicalLocation": {"artifactLocation": artifact, "region": region}}

    first = location(finding.line, finding.column)
    where = ""
    if finding.cell:
        # A notebook file is JSON, so line numbers in cells are not line numbers in the file.
        first = {"physicalLocation": {"artifactLocation": artifact}}
        first["logicalLocations"] = [{"name": f"cell {finding.cell}", "kind": "member"}]
        where = f"Cell {finding.cell}, line {finding.cell_line}: "
    out: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": f"{where}{finding.words}"},
        "partialFingerprints": {"tuilabLine/v1": mark},
        "locations": [first],
    }
    if finding.also and not finding.cell:
        out["relatedLocations"] = [location(line, 1) for line in finding.also]
    return out
