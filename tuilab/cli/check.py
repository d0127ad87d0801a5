"""`tuilab check`: what is wrong with a document's benchmarks, and what would measure them."""

import re
import textwrap
from collections.abc import Iterator

import click
import msgspec

from tuilab.cli.lab import tell
from tuilab.documents import RULES, DocumentReport, ExampleReport
from tuilab.lab.opening import read_document
from tuilab.model.errors import InputError
from tuilab.model.preset import Preset

WIDTH = 100
# Documents number their examples too, not always as they stand.
_NUMBERED = re.compile(r"^example\s+\d+\s*[:.–-]\s*", re.IGNORECASE)


@click.command()
@click.argument("document", metavar="DOC", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--rules", is_flag=True, help="Print every rule: its code, why it matters, what to do instead.")
@click.option(
    "--no-worker", is_flag=True, help="Start no TensorFlow, even where its names are not known yet."
)
def check(document: str | None, as_json: bool, rules: bool, no_worker: bool) -> None:
    """Read DOC and say what its benchmarks measure. Nothing in it is run.

    DOC is Markdown, text, a Python file or a Jupyter notebook; `-` is standard input.
    """
    if rules:
        click.echo("\n".join(rule_lines(as_json)))
        return
    if not document:
        raise InputError("DOC", "", "a document to read, or - for standard input")
    report = read_document(document, tell, learn=not no_worker)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(report.check()), indent=2).decode())
    else:
        click.echo("\n".join(lines(report)))


def rule_lines(as_json: bool = False) -> Iterator[str]:
    """The rules as a reference."""
    if as_json:
        rows = [{"code": r.code, "title": r.title, "why": r.why, "remedy": r.remedy} for r in RULES]
        yield msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()
        return
    for rule in RULES:
        yield f"{rule.code}  {rule.title}"
        yield from _wrapped(rule.why, "       ")
        yield from _wrapped(rule.remedy, "       → ")


def lines(report: DocumentReport) -> Iterator[str]:
    """The report for a person."""
    document = report.document
    yield (document.title or "untitled") + (f" ({document.date})" if document.date else "")
    for note in report.notes:
        yield from _wrapped(note.reason, "  ? ")
    if not report.examples:
        yield "  no Python found"
    for example in report.examples:
        yield ""
        yield from _example(example)
    found = sum(len(e.findings) for e in report.examples)
    yield ""
    yield f"{_count(len(report.examples), 'example')}, {_count(found, 'finding')}, " + _count(
        len(report.presets), "preset"
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _example(example: ExampleReport) -> Iterator[str]:
    own = _NUMBERED.sub("", example.heading, count=1).strip()
    heading = f" · {own}" if own else ""
    yield f"Example {example.number}{heading} · lines {example.line}–{example.last_line}"
    for finding in example.findings:
        yield from _wrapped(finding.message, f"  {finding.line:>5}  {finding.code}  ")
        yield from _wrapped(finding.remedy, " " * 15 + "→ ")
    if not example.findings:
        yield "  no findings"
    for preset in example.presets:
        yield from _wrapped(_preset(preset), "  makes  ")
    for part in example.unresolved:
        yield from _wrapped(part.reason, f"  {part.line:>5}  ?      ")


def _preset(preset: Preset) -> str:
    settings = " ".join(f"{key}={_word(value)}" for key, value in preset.parameters.items())
    return f"{preset.name}: {preset.workload} {settings}"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrapped(text: str, first: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
    )
