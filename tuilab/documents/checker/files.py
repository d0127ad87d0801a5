"""Finds the files to check, checks them in parallel, and omits the findings that a baseline lists."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from glob import escape, glob
from multiprocessing import get_context
from pathlib import Path

import msgspec

from tuilab.documents.checker.settings import CheckSettings
from tuilab.documents.examine import Validate, read
from tuilab.documents.reading.parse import NOT_PYTHON
from tuilab.documents.report import CheckResult, DocumentReport, collapsed
from tuilab.documents.rules.rule import Finding
from tuilab.model.api import ApiTable
from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.files import SHARED, indented, kind_of, open_regular, read_regular, write_bytes
from tuilab.model.sanitize import sanitize_line

# Suffixes of the files that are checked in a folder. Other files are checked only if the user names them.
SUFFIXES = (".py", ".ipynb", ".md", ".markdown", ".ipy")
_NOT_ENTERED = ("__pycache__", "node_modules", "site-packages", "build", "dist", "venv")
# A file in a folder is about TensorFlow only if it contains one of these words.
_ABOUT = (b"tensorflow", b"keras", b"tf.")
# With fewer files than this, starting more processes costs more time than it saves.
_FEW = 4
_LARGEST = 32_000_000
BASELINE_SCHEMA = 1


class FileResult(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    """Path as given by the user or as found in a folder, with forward slashes."""
    title: str = ""
    error: str = ""
    """Reason why the file cannot be read, with the expected kind of file; "" if it was read."""
    findings: tuple[Finding, ...] = ()
    """The selected findings. A repeated mistake counts once for each place."""
    texts: tuple[str, ...] = ()
    """The text of each finding's line, stripped. A baseline uses it to recognize the finding."""
    notes: tuple[tuple[int, str], ...] = ()
    """(line, reason) for each skipped part: code that this Python cannot parse, or that is too long."""
    unparsed: int = 0
    """Number of passages in examples that are not checked because they are not Python."""
    check: CheckResult | None = None
    """The full result; None unless the job requests it."""

    @property
    def collapsed(self) -> tuple[Finding, ...]:
        return collapsed(self.findings)


class CheckJob(msgspec.Struct, frozen=True):
    api: ApiTable | None
    settings: CheckSettings
    validate: Validate | None = None
    whole: bool = False
    """Whether each result includes the examples, the presets, and the calls that the checker did not
    understand.
    """


def gather(words: Sequence[str], exclude: Sequence[str] = ()) -> list[tuple[Path, bool]]:
    """Return the files that match the given paths, folders and patterns, each with True if the user named the
    file itself. Raises InputError for missing files.
    """
    found: dict[Path, bool] = {}
    entered: set[Path] = set()
    for word in words:
        path = Path(word)
        if path.is_dir():
            for file in _inside(path, exclude, entered):
                found.setdefault(file, False)
        elif path.exists() or path.is_symlink():
            found[path] = True
        else:
            matches = sorted(_matching(word)) if any(c in word for c in "*?[") else []
            if not matches:
                expected = "a file, a folder or a matching pattern"
                if len(word) == 3 and word.isdecimal():
                    expected += "; --measure measures the claims of a bundled document"
                raise InputError("PATH", sanitize_line(word, 300), expected)
            for match in map(Path, matches):
                files = _inside(match, exclude, entered) if match.is_dir() else [match]
                for file in files:
                    found.setdefault(file, False)
    return list(found.items())


def _matching(pattern: str) -> Iterator[str]:
    """Yield the paths that match a pattern; `**` does not follow links to folders."""
    parts = Path(pattern).parts
    if "**" not in parts:
        yield from glob(pattern)
        return
    at = parts.index("**")
    for top in glob(os.path.join(*parts[:at])) if at else ["."]:
        for folder, _ in _walk(Path(top)) if os.path.isdir(top) else ():
            yield from _matching(os.path.join(escape(str(folder)), *parts[at + 1 :]))


def _walk(top: Path, left_out: Sequence[str] = ()) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folder and all folders below it, sorted, each with its file names. Skips hidden folders and
    links. Does not recurse, so the depth of folders is unlimited.

    left_out: names of further folders to skip.
    """
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        yield folder, [entry.name for entry in entries if not _is_folder(entry)]
        waiting += [
            folder / entry.name
            for entry in reversed(entries)
            if _is_folder(entry) and not entry.is_symlink()
            if not entry.name.startswith(".") and entry.name not in left_out
        ]


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a symlink that points to itself
        return False


def _inside(folder: Path, exclude: Sequence[str], entered: set[Path]) -> Iterator[Path]:
    if folder in entered:  # already searched
        return
    for root, files in _walk(folder, _NOT_ENTERED):
        entered.add(root)
        for name in files:
            path = root / name
            text = path.as_posix()
            if not name.endswith(SUFFIXES) or any(fnmatch(text, p) or fnmatch(name, p) for p in exclude):
                continue
            if not kind_of(path):  # skip a pipe or a device, unless the user named it
                yield path


def check_file(path: Path, job: CheckJob, named: bool = True) -> FileResult:
    try:
        if not named and not _is_about(path):
            return FileResult(path=_name(path))
        return check_one(path, _name(path), job)
    except InputError as error:
        given = f", got {error.value!r}" if error.value else ""
        return FileResult(path=_name(path), error=sanitize_line(f"expected {error.expected}{given}", 300))
    except OSError as error:
        why = f"expected a readable file ({error.strerror})"
        return FileResult(path=_name(path), error=sanitize_line(why, 300))


def _name(path: Path) -> str:
    return path.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _is_about(path: Path) -> bool:
    with open_regular(path) as file:
        data = file.read(_LARGEST)
    return any(word in data for word in _ABOUT)


def check_one(source: Path | bytes, path: str, job: CheckJob) -> FileResult:
    return result_of(read_one(source, path, job), path, job)


def read_one(source: Path | bytes, path: str, job: CheckJob) -> DocumentReport:
    settings = job.settings
    report = read(
        source,
        job.api,
        name="" if isinstance(source, bytes) else source.name,
        validate=job.validate,
        preview=settings.preview,
        target=settings.target,
        tensorflow=settings.tensorflow,
    )
    if report.unreadable:
        raise InputError(path, "", sanitize_line(report.unreadable, 200))
    return report


def result_of(report: DocumentReport, path: str, job: CheckJob) -> FileResult:
    every = (finding for example in report.examples for finding in example.findings)
    found = tuple(f for f in every if job.settings.selects(f.code))
    texts = tuple(report.lines[f.line - 1].strip() if f.line <= len(report.lines) else "" for f in found)
    return FileResult(
        path=path,
        title=report.document.title,
        findings=found,
        texts=texts,
        notes=tuple((note.line, note.reason) for note in (*report.notes, *report.broken)),
        unparsed=sum(
            part.reason.startswith(NOT_PYTHON) for example in report.examples for part in example.unresolved
        ),
        check=report.check() if job.whole else None,
    )


_job: list[CheckJob] = []


def _begin(job: CheckJob) -> None:
    _job[:] = [job]


def _next(item: tuple[Path, bool]) -> FileResult:
    return check_file(item[0], _job[0], item[1])


def check_files(
    files: Sequence[tuple[Path, bool]],
    job: CheckJob,
    processes: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[FileResult]:
    """Check files in parallel; return the results in the order of the files.

    progress: called with the number of finished files and the total.
    """
    out: list[FileResult] = []
    total = len(files)

    def take(results: Iterable[FileResult]) -> None:
        for result in results:
            out.append(result)
            if progress is not None:
                progress(len(out), total)

    if processes <= 1 or total <= _FEW:
        take(check_file(path, job, named) for path, named in files)
        return out
    # A forked process inherits the loaded table of names; a spawned one must receive it.
    method = "fork" if hasattr(os, "fork") and os.uname().sysname == "Linux" else "spawn"
    chunk = max(1, min(16, total // (processes * 4)))
    with ProcessPoolExecutor(min(processes, total), get_context(method), _begin, (job,)) as pool:
        take(pool.map(_next, files, chunksize=chunk))
    return out


def usable_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Known(msgspec.Struct, frozen=True):
    path: str
    code: str
    text: str
    count: int = 1


class _Baseline(msgspec.Struct, frozen=True):
    schema: int
    findings: list[_Known]


def write_baseline(file: Path, results: Sequence[FileResult]) -> int:
    """Save the findings as a baseline; return their number.

    Raises OSError. A finding is recognized by file, code and line text, so it may move to another line.
    """
    counts = Counter(
        (r.path, f.code, text) for r in results for f, text in zip(r.findings, r.texts, strict=True)
    )
    known = [_Known(*key, count) for key, count in sorted(counts.items())]
    data = indented(_Baseline(BASELINE_SCHEMA, known), 1) + "\n"
    write_bytes(file, data.encode(), SHARED)
    return counts.total()


def without_baseline(file: Path, results: Sequence[FileResult]) -> list[FileResult]:
    """Return the results without the findings that the baseline file lists. Raises InputError."""
    try:
        known = msgspec.json.decode(read_regular(file, _LARGEST), type=_Baseline)
    except (InputError, *UNDECODED) as error:
        raise InputError("--baseline", str(file), f"a file written by --write-baseline ({error})") from None
    if known.schema != BASELINE_SCHEMA:
        raise InputError(f"{file} schema", known.schema, f"schema {BASELINE_SCHEMA}")
    left = Counter({(k.path, k.code, k.text): k.count for k in known.findings})
    out = []
    for result in results:
        kept = []
        for finding, text in zip(result.findings, result.texts, strict=True):
            key = (result.path, finding.code, text)
            if left[key] > 0:
                left[key] -= 1
            else:
                kept.append((finding, text))
        findings, texts = tuple(f for f, _ in kept), tuple(t for _, t in kept)
        out.append(msgspec.structs.replace(result, findings=findings, texts=texts))
    return out
