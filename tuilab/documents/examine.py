"""All of it in order: find the code, read it, check it, build presets of it."""

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tuilab.documents import build
from tuilab.documents.api_tables import for_installed, installed_version, shipped
from tuilab.documents.dialect import plain
from tuilab.documents.document import Document
from tuilab.documents.example import Example, examples
from tuilab.documents.interpreter.program import Code, read_program
from tuilab.documents.parse import Parsed, parse
from tuilab.documents.recognise import Gap, recognise
from tuilab.documents.report import DocumentReport, ExampleReport, Unresolved
from tuilab.documents.rules import check
from tuilab.documents.source import open_document
from tuilab.documents.suppress import ignored
from tuilab.model.api import ApiTable
from tuilab.model.errors import InputError
from tuilab.model.preset import Preset
from tuilab.model.sanitize import sanitize_line

Validate = Callable[[Preset], Preset]
MOST_UNRESOLVED = 40


def read(
    source: Path | str | bytes,
    api: ApiTable | None,
    *,
    name: str = "",
    validate: Validate | None = None,
    preview: bool = True,
    target: str = "auto",
) -> DocumentReport:
    """Read a file, or bytes whose file's name is `name`. Nothing in it is run or imported.

    api: the names of the installed TensorFlow (`api_tables.for_installed()`); with None, names and arguments
    are not checked, and that is said. validate: `catalogue`'s check of a preset; one that it refuses is
    reported instead. preview: with the preview rules, and with claims read from the prose. target: which
    TensorFlow the names are of, `1`, `2`, or `auto` to tell by the names. Raises InputError where there is
    nothing to read.
    """
    document = open_document(source, name)
    with _collector_paused():
        return _read(document, api, validate, preview, target)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Without the cycle collector, which takes half of the time among so many nodes and finds nothing."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


# Code of TensorFlow 1, whose calls build a graph that a session runs.
_DEFERRED = re.compile(
    r"\b(?:placeholder|(?:Interactive)?Session|disable_v2_behavior|disable_eager_execution)\("
)


def _read(
    document: Document, api: ApiTable | None, validate: Validate | None, preview: bool, target: str
) -> DocumentReport:
    plains = [plain(block.code) for block in document.blocks]
    parsed = [parse(p.lines, b.line) for p, b in zip(plains, document.blocks, strict=True)]
    code = [
        Code(
            block.number,
            part.statements,
            text.cell,
            block.line,
            part.nodes,
            (block.notebook and not block.script) or text.session,
        )
        for block, part, text in zip(document.blocks, parsed, plains, strict=True)
    ]
    deferred = any(_DEFERRED.search(block.code) for block in document.blocks)
    trace = read_program(code, api or shipped(), deferred)
    found = examples(document.blocks, trace, api, target)
    reports = []
    for example, part, text in zip(found, parsed, plains, strict=True):
        if not text.session:
            example.magics = [(example.block.line + number, name_) for number, name_ in text.magics]
        example.ignored = ignored(document.lines, example.block)
        example.document_title = f"{document.title} {document.id}"
        reports.append(_examine(document, example, part, validate, preview))
    notes = tuple(Unresolved(note.line, note.text) for note in document.notes)
    return DocumentReport(
        document=document, examples=tuple(reports), version=api.version if api else "", notes=notes
    )


def _examine(
    document: Document, example: Example, parsed: Parsed, validate: Validate | None, preview: bool
) -> ExampleReport:
    block = example.block
    findings = check(example, preview)
    found, gaps = recognise(example)
    made = build.presets(document, example, found, findings, preview)
    good: list[Preset] = []
    for preset in made:
        refused = _refused(preset, validate)
        if refused:
            gaps.append(refused)
        else:
            good.append(preset)
    return ExampleReport(
        number=block.number,
        heading=block.heading,
        line=block.line,
        last_line=block.last_line,
        findings=findings,
        presets=tuple(good),
        unresolved=_unresolved(example, parsed, gaps),
    )


def _refused(preset: Preset, validate: Validate | None) -> Gap | None:
    try:
        if validate is not None:
            validate(preset)
    except InputError as error:
        line = preset.source.lines[0] if preset.source and preset.source.lines else 1
        return Gap(
            line,
            f"the {preset.workload} workload does not take {error.where}={error.value!r}: it takes "
            f"{error.expected}",
        )
    return None


def _unresolved(example: Example, parsed: Parsed, gaps: list[Gap]) -> tuple[Unresolved, ...]:
    """Everything that was not understood, by line, each once."""
    found = [(line, reason) for line, reason in parsed.broken]
    found += [(line, reason) for line, reason in example.notes]
    found += [(gap.line, gap.reason) for gap in gaps]
    if example.api is None and any(e.name.startswith("tensorflow") for e in example.own("import")):
        version = installed_version() or "this TensorFlow"
        why = f"names and arguments are not checked: there is no API table for {version} yet"
        found.append((example.block.line, why))
    unique = dict.fromkeys(sorted((line, sanitize_line(reason, 300)) for line, reason in found))
    return tuple(Unresolved(line, reason) for line, reason in unique)[:MOST_UNRESOLVED]


def read_installed(
    source: Path | str | bytes, *, name: str = "", validate: Validate | None = None
) -> DocumentReport:
    """As `read`, against the names of the installed TensorFlow, so far as they are known."""
    return read(source, for_installed(), name=name, validate=validate)
