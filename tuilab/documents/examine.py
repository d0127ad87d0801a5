"""Runs the whole pipeline: finds the code, reads it, checks it and builds presets."""

import ast
import gc
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tuilab.documents.api.tables import installed_version, shipped
from tuilab.documents.api.versions import installed_by, minor, table_of
from tuilab.documents.example import Example, examples
from tuilab.documents.interpreter.program import Code, read_program
from tuilab.documents.interpreter.trace import Trace
from tuilab.documents.judge import decide
from tuilab.documents.presets import build
from tuilab.documents.presets.claims import claims, divided, unread
from tuilab.documents.reading.dialect import Plain, plain
from tuilab.documents.reading.document import Document
from tuilab.documents.reading.parse import Parsed, parse
from tuilab.documents.reading.source import open_document
from tuilab.documents.reading.undefined import IPYTHON, undefined
from tuilab.documents.recognise import Gap, recognise
from tuilab.documents.report import DocumentReport, ExampleReport, Unresolved
from tuilab.documents.rules import check
from tuilab.documents.rules.suppress import ignored, ignored_everywhere
from tuilab.documents.words import words
from tuilab.model.api import ApiTable
from tuilab.model.errors import InputError
from tuilab.model.preset import Preset
from tuilab.model.sanitize import sanitize_line

Validate = Callable[[Preset], Preset]
MOST_UNRESOLVED = 40


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which would take half of the time for a large document and free
    nothing.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


# Number of parent folders whose names may show a file's subject.
_FOLDERS = 2


@_collector_paused()
def read(
    source: Path | str | bytes,
    api: ApiTable | None,
    *,
    name: str = "",
    validate: Validate | None = None,
    preview: bool = True,
    target: str = "auto",
    tensorflow: str = "",
) -> DocumentReport:
    """Read a file, or bytes from a file called `name`. Runs and imports nothing. For a file, also reads the
    modules next to it that its code calls.

    api: the names of the installed TensorFlow (`api.tables.for_installed()`); if None, names and arguments
    are not checked, and a note says so. validate: the function of `catalogue` that checks a preset; a
    rejected preset is reported instead of returned. preview: include preview rules and claims from prose.
    target: the major TensorFlow version for which the code was written: `1`, `2`, or `auto` to infer it.
    tensorflow: a version known to `api_versions`, which overrides `api`; without it, the version that the
    document installs overrides `api`. Raises InputError if there is nothing to read.
    """
    document = open_document(source, name)
    version, installs = (tensorflow, 0) if tensorflow else installed_by(document.lines) or ("", 0)
    if version and (api is None or minor(api.version) != minor(version)):
        api = table_of(version)
    folder = None if isinstance(source, bytes) else Path(source).absolute().parent
    stem = "" if isinstance(source, bytes) else Path(source).stem
    trace, plains, parsed = traced(document, api or shipped(), folder)
    found = examples(document.blocks, trace, api, target)
    reports = []
    everywhere = ignored_everywhere(document.lines)
    missing = _undefined_names(document, plains, parsed)
    within = " ".join(folder.parts[-_FOLDERS:]) if folder is not None else ""
    for example, text in zip(found, plains, strict=True):
        example.undefined = [(line, name) for line, name in missing if example.holds(line)]
        if not text.session:
            example.magics = [(example.block.line + number, name_) for number, name_ in text.magics]
        example.ignored = everywhere | ignored(document.lines, example.block)
        example.installs = installs
        example.document_title = f"{document.title} {document.id} {within} {stem}"
    decide(found)
    recognised = [recognise(example) for example in found]
    said = divided(found, [workloads for workloads, _ in recognised])
    for example, part, (known, gaps), (own, others) in zip(found, parsed, recognised, said, strict=True):
        findings = check(example, preview)
        made = build.presets(document, example, known, findings, own if preview else ())
        shares = {one.name: work.part for one, work in zip(made, known, strict=True) if work.part}
        unmeasured = claims(others if made else [*own, *others]) if preview else ()
        untested = unread([*own, *others]) if preview else ()
        refused = {preset.name: why for preset in made if (why := _refused(preset, validate))}
        reports.append(
            ExampleReport(
                number=example.block.number,
                heading=example.block.heading,
                line=example.block.line,
                last_line=example.block.last_line,
                findings=findings,
                presets=tuple(preset for preset in made if preset.name not in refused),
                parts=shares,
                unmeasured=unmeasured,
                unread=untested,
                unresolved=_unresolved_parts(example, part, [*gaps, *refused.values()]),
            )
        )
    notes = tuple(Unresolved(note.line, note.text) for note in document.notes)
    broken = tuple(
        Unresolved(
            line,
            f"{reason}, according to the grammar of Python {sys.version_info[0]}.{sys.version_info[1]}",
        )
        for part, block in zip(parsed, document.blocks, strict=True)
        for line, reason in part.broken[:1]
        if not block.excerpt
    )
    return DocumentReport(
        document=document,
        examples=tuple(reports),
        version=api.version if api else "",
        notes=notes,
        broken=broken,
        unreadable=document.unreadable or _why_unparsed(document, parsed),
    )


# Code without any of these calls does not use sessions, so no further check is needed.
_DEFERS = re.compile(r"\b(?:placeholder|Session|\w+Session)\(")
_SESSIONS = ("Session", "InteractiveSession", "MonitoredSession", "MonitoredTrainingSession")


def is_deferred(statements: Iterable[ast.stmt]) -> bool:
    """Return True if the calls build a graph for a session, as in TensorFlow 1."""
    for statement in statements:
        inner = [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.stmt)]
        inner += [
            s for part in ast.iter_child_nodes(statement) if isinstance(part, _HOLDS) for s in part.body
        ]
        if inner and is_deferred(inner):
            return True
        for part in _direct_calls(statement):
            name = ast.unparse(part.func) if isinstance(part.func, ast.Attribute | ast.Name) else ""
            root, _, word = name.rpartition(".")
            if word == "placeholder" and root.rpartition(".")[2] in ("tf", "v1", "tensorflow", "tf1"):
                return True
            if word in _SESSIONS and not root.endswith("compat.v1"):
                return True
    return False


_HOLDS = (ast.ExceptHandler, ast.match_case)


def _direct_calls(statement: ast.stmt) -> Iterator[ast.Call]:
    waiting: list[ast.AST] = [statement]
    while waiting:
        for part in ast.iter_child_nodes(waiting.pop()):
            if isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case):
                continue
            if isinstance(part, ast.Call):
                yield part
            waiting.append(part)


def traced(document: Document, api: ApiTable, folder: Path | None) -> tuple[Trace, list[Plain], list[Parsed]]:
    """Return the trace of the document's code, the plain Python code of each block, and the syntax tree of
    each block.
    """
    plains = [plain(block.code) for block in document.blocks]
    parsed = [parse(p.lines, b.line) for p, b in zip(plains, document.blocks, strict=True)]
    code = [
        Code(
            block.number,
            part.statements,
            text.cell,
            block.line,
            part.size,
            (block.notebook and not block.script) or text.session,
            part.yields,
            # Code between paragraphs of prose is a separate program if it imports TensorFlow.
            is_deferred(part.statements) if block.excerpt and _TENSORFLOW.search(block.code) else None,
            block.excerpt,
        )
        for block, part, text in zip(document.blocks, parsed, plains, strict=True)
    ]
    deferred = any(
        _DEFERS.search(block.code) and is_deferred(part.statements)
        for block, part in zip(document.blocks, parsed, strict=True)
    )
    return read_program(code, api, deferred, folder), plains, parsed


_TENSORFLOW = re.compile(r"^\s*(?:import|from)\s+(?:tensorflow|keras)\b", re.MULTILINE)
# Magics that bind no names, and lines that assign the result of a magic or a shell command.
_HARMLESS = words(
    "%matplotlib %load_ext %reload_ext %config %autoreload %tensorflow_version %tensorboard %cd %env %pip"
    " %conda %time %timeit %%time %%timeit"
)
_GIVES = re.compile(r"^[ \t]*\w+[ \t]*=[ \t]*[%!]", re.MULTILINE)


def _undefined_names(document: Document, plains: list[Plain], parsed: list[Parsed]) -> list[tuple[int, str]]:
    """Return (line, name) of the names in a script or notebook that nothing defines.

    An excerpt is only checked for missing imports, because it omits other definitions on purpose.
    """
    whole = all(block.script or block.cell for block in document.blocks)
    if not whole:
        return _unimported_names(document, plains, parsed)
    code = "\n".join(line for part in plains for line in part.lines)
    if any(part.broken for part in parsed) or not _TENSORFLOW.search(code):
        return []
    if any(_GIVES.search(block.code) for block in document.blocks):
        return []
    if any(name not in _HARMLESS for part in plains if not part.session for _, name in part.magics):
        return []
    lines = [
        block.line + number
        for block, part in zip(document.blocks, plains, strict=True)
        for number in range(len(part.lines))
    ]
    kernel = () if document.blocks[0].script and not any(part.magics for part in plains) else (IPYTHON,)
    return [(lines[line - 1], name) for line, name in undefined(code) if name not in kernel]


_MODULES = words("time timeit os sys random math datetime np plt pd")


def _unimported_names(document: Document, plains: list[Plain], parsed: list[Parsed]) -> list[tuple[int, str]]:
    """Return (line, name) of the names that an article's example uses without importing them."""
    known: set[str] = set()
    found = []
    for block, part, text in zip(document.blocks, parsed, plains, strict=True):
        known |= {
            name
            for name in _MODULES
            if re.search(rf"^\s*(?:import|from)\b.*\b{name}\b", block.code, re.MULTILINE)
        }
        if part.broken or not _TENSORFLOW.search(block.code) or text.magics:
            continue
        missing = undefined("\n".join(text.lines))
        others = {name for other in parsed if other is not part for name in _imported_names(other)}
        whole = {name for _, name in missing} <= others and sum(map(_imports, part.statements)) >= _OWN
        found += [
            (block.line + n - 1, name)
            for n, name in missing
            if whole or (name in _MODULES and name not in known)
        ]
    return found


# Minimum number of imports for an example to count as a separate program.
_OWN = 3


def _imports(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _imported_names(part: Parsed) -> Iterator[str]:
    for statement in part.statements:
        if isinstance(statement, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in statement.names)


def _why_unparsed(document: Document, parsed: list[Parsed]) -> str:
    """Return a phrase with the first syntax error of a script in which no statement can be parsed; "" for
    other documents.
    """
    if not document.blocks or not document.blocks[0].script or parsed[0].statements:
        return ""
    return f"Python (line {parsed[0].broken[0][0]}: {parsed[0].broken[0][1]})" if parsed[0].broken else ""


def _refused(preset: Preset, validate: Validate | None) -> Gap | None:
    try:
        if validate is not None:
            validate(preset)
    except InputError as error:
        line = preset.source.lines[0] if preset.source and preset.source.lines else 1
        return Gap(
            line,
            f"the {preset.workload} workload rejects {error.where}={error.value!r}: it accepts "
            f"{error.expected}",
        )
    return None


def _unresolved_parts(example: Example, parsed: Parsed, gaps: list[Gap]) -> tuple[Unresolved, ...]:
    found = [(line, reason) for line, reason in parsed.broken]
    found += [(line, reason) for line, reason in example.notes]
    found += [(gap.line, gap.reason) for gap in gaps]
    if example.api is None and any(e.name.startswith("tensorflow") for e in example.own("import")):
        version = installed_version() or "this TensorFlow"
        why = f"names and arguments are not checked: there is no API table for {version} yet"
        found.append((example.block.line, why))
    unique = dict.fromkeys(sorted((line, sanitize_line(reason, 300)) for line, reason in found))
    return tuple(Unresolved(line, reason) for line, reason in unique)[:MOST_UNRESOLVED]
