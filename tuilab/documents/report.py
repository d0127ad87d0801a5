"""The result of reading a document: for the app, the text with findings by line; for scripts, the JSON object
that `check` prints.
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from tuilab.documents.reading.document import Document
from tuilab.documents.rules import Finding
from tuilab.model.arms import ArmSelection
from tuilab.model.claims import Claim
from tuilab.model.parameters import Value
from tuilab.model.preset import Preset


class Unresolved(msgspec.Struct, frozen=True):
    """A part of a document that could not be resolved, or for which no preset can be made."""

    line: int
    """Line number in the document, from 1."""
    reason: str
    """Why the part could not be resolved, or why it has no preset."""


class ExampleReport(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    """Number of the example, from 1."""
    heading: str
    line: int
    last_line: int
    findings: tuple[Finding, ...] = ()
    presets: tuple[Preset, ...] = ()
    parts: dict[str, str] = {}
    """Share of the timed ops that a preset measures, such as `1 of the 8 ops`, for each preset (by name) that
    measures only some of them.
    """
    unmeasured: tuple[Claim, ...] = ()
    """Claims near the example about ops or shapes that none of its presets measures."""
    unread: tuple[tuple[str, str], ...] = ()
    """Sentences near the example that compare devices or modes, but not plainly enough to be tested, each
    with the reason.
    """
    unresolved: tuple[Unresolved, ...] = ()


class DocumentLine(msgspec.Struct, frozen=True):
    """The document's identity, from its front matter or file name."""

    title: str
    date: str
    id: str


class ImportedPreset(msgspec.Struct, frozen=True):
    """A preset that `tuilab import` would write."""

    name: str
    workload: str
    parameters: dict[str, Value]
    arms: ArmSelection
    lines: tuple[int, int] | None


class ExampleLine(msgspec.Struct, frozen=True):
    """The result for one example in the JSON output."""

    number: int
    heading: str
    line: int
    findings: tuple[Finding, ...]
    presets: tuple[ImportedPreset, ...]
    unresolved: tuple[Unresolved, ...]


class CheckResult(msgspec.Struct, frozen=True):
    """The result of one document: `document` and `examples` of a file in `tuilab check --json`."""

    document: DocumentLine
    examples: tuple[ExampleLine, ...]


class DocumentReport(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The result for a document that has been read."""

    document: Document
    examples: tuple[ExampleReport, ...]
    version: str = ""
    """The TensorFlow version whose names were used for the check; "" if none."""
    notes: tuple[Unresolved, ...] = ()

    broken: tuple[Unresolved, ...] = ()
    """Code that this version of Python cannot parse."""
    unreadable: str = ""
    """The kind of document that was expected, if nothing could be read; else ""."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The text, cleaned for display; line n is `lines[n - 1]`."""
        return self.document.lines

    @property
    def presets(self) -> tuple[Preset, ...]:
        return tuple(preset for example in self.examples for preset in example.presets)

    @cached_property
    def findings(self) -> dict[int, tuple[Finding, ...]]:
        out: dict[int, list[Finding]] = {}
        for example in self.examples:
            for finding in example.findings:
                out.setdefault(finding.line, []).append(finding)
        return {line: tuple(found) for line, found in sorted(out.items())}

    def check(self) -> CheckResult:
        document = self.document
        return CheckResult(
            DocumentLine(document.title, document.date, document.id), tuple(_line(e) for e in self.examples)
        )


def _line(example: ExampleReport) -> ExampleLine:
    presets = tuple(
        ImportedPreset(p.name, p.workload, p.parameters, p.arms, p.source.lines if p.source else None)
        for p in example.presets
    )
    return ExampleLine(
        example.number, example.heading, example.line, example.findings, presets, example.unresolved
    )


def collapsed(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the document's findings sorted by line. For repeated findings, return only the first one, which
    lists the lines of the others.
    """
    found: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        key = (finding.code, finding.message, finding.severity)
        first = found.get(key)
        if first is None:
            found[key] = finding
        else:
            also = sorted({*first.also, *finding.also, finding.line} - {first.line})
            found[key] = msgspec.structs.replace(first, also=tuple(also))
    return tuple(sorted(found.values(), key=lambda f: (f.line, f.code)))
