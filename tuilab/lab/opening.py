"""Classifies typed paths, and checks documents against the names in the installed TensorFlow."""

import asyncio
import sys
from collections.abc import Callable, Sequence

import msgspec

from tuilab.catalogue.validate import validate
from tuilab.documents import DocumentReport, read
from tuilab.documents.api import tables
from tuilab.lab.files import INPUT, WATCH
from tuilab.lab.lab import Lab
from tuilab.lab.naming import CHECK, does_something, functions
from tuilab.lab.offers import Offer
from tuilab.model.api import ApiTable
from tuilab.model.errors import InputError, WorkerError
from tuilab.model.files import expanded, open_regular
from tuilab.model.quantity import plural
from tuilab.model.scenario import Opening
from tuilab.model.shapes import checked, parse

STDIN = "-"
FIRST = 65_536
"""Number of bytes that are read from the start of a file to find out whether the file is text."""


def with_shapes(words: str) -> tuple[str, Opening]:
    """Split `mine.py:step --input a=float32[32,64]` into the name and its input shapes. Raises InputError."""
    name, *shapes = words.split(INPUT)
    return name, Opening(inputs=checked([parse(shape) for shape in shapes]))


def of_shapes(name: str, shapes: Sequence[str]) -> str:
    """Join a name and shapes. The inverse of `with_shapes`."""
    return INPUT.join([name, *shapes])


def document(words: str) -> DocumentReport:
    """Read and check a document. Raises InputError, for example for a binary file."""
    path = expanded(words)
    with open_regular(path) as file:
        start = file.read(FIRST)
    # The bytes may end within a UTF-8 character, which has up to four bytes.
    if b"\0" in start or len(start.decode(errors="ignore").encode()) < len(start) - 3:
        raise InputError(words, "binary data", "a document, a preset, code, a model or a recording")
    return read(path, tables.for_installed(), validate=validate)


def offered(words: str, report: DocumentReport) -> list[Offer]:
    """Return the uses of a Python file, the most likely first; [] if checking the file is the only use.

    The uses: watch it as a program, if running it has an effect; measure one of its functions; check its
    benchmarks, if there are any benchmarks or findings.
    """
    out = [Offer(WATCH + words, "run and watch it", "shows where its steps spend time")] * does_something(
        words
    )
    out += [Offer(f"{words}:{name}", name, about) for name, about in functions(words).items()]
    findings = sum(len(example.findings) for example in report.examples)
    if findings or report.presets:
        about = f"{plural(findings, 'finding')}, {plural(len(report.presets), 'benchmark')} to measure"
        out.append(Offer(CHECK + words, "check its benchmarks for mistakes", about))
    return out if len(out) > 1 or not (findings or report.presets) else []


class _Nothing(msgspec.Struct):
    """The empty body of a question without parameters."""


def read_document(path: str, say: Callable[[str], None], preview: bool = True) -> DocumentReport:
    """Check a document; `-` means standard input. Raises InputError.

    say: called with progress. preview: include claims from the document's prose.
    """
    api = names_of_tensorflow(say)
    source: bytes | str = read_stdin() if path == STDIN else path
    return read(source, api, validate=validate, preview=preview)


def read_stdin() -> bytes:
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise InputError("standard input", "", "a document: Markdown, text, Python or a notebook")
    return data


def names_of_tensorflow(say: Callable[[str], None], learn: bool = True) -> ApiTable | None:
    """Return the names in the installed TensorFlow; None if unknown.

    learn: start a worker to list the names if they are unknown.
    """
    api = tables.for_installed()
    return _learn(say) if api is None and learn else api


def _learn(say: Callable[[str], None]) -> ApiTable | None:
    """Start a worker that lists the names in its TensorFlow, and save the list. Returns None if no worker is
    available.
    """
    version = tables.installed_version()
    if not version:
        say("TensorFlow is not installed, so its names are not checked")
        return None
    say(f"listing the names of TensorFlow {version} (only once)")
    try:
        table = asyncio.run(_ask())
        tables.save(table)
        return table
    except (WorkerError, OSError) as error:
        say(f"names are not checked: {error}")
        return None


async def _ask() -> ApiTable:
    async with Lab() as lab:
        return await asked_names(lab)


async def asked_names(lab: Lab) -> ApiTable:
    """Ask the lab's worker for the names in its TensorFlow. Raises WorkerError."""
    return await lab.questions.ask("api-table", _Nothing(), ApiTable)
