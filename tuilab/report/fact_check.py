"""A document's claims and their verdicts, stamped with machine and date: text, Markdown, one HTML page."""

from collections.abc import Iterator
from html import escape
from importlib.resources import files

import msgspec

from tuilab.model.claims import VerdictWord
from tuilab.model.machine import Machine
from tuilab.model.scenario import BudgetName
from tuilab.model.verdicts import VERDICTS
from tuilab.report.markdown import escape as plain

WAITING = "·"
"""The mark of a claim that is not measured yet."""


class Statement(msgspec.Struct, kw_only=True):
    """A claim of the document, and what became of it."""

    preset: str
    """The name of the preset that measures it."""
    text: str
    """The claim, in the lab's words or as the document's reader found it."""
    line: int = 0
    """Where the document says it, from 1; 0 if that is not known."""
    verdict: VerdictWord | None = None
    """Null until it was measured."""
    evidence: str = ""
    """One sentence with numbers."""
    run: str = ""
    """The run that measured it, "" before."""

    @property
    def mark(self) -> str:
        """`✓`, `✗`, `≈`, `?`, `⊘`; `·` before it was measured."""
        return VERDICTS[self.verdict].mark if self.verdict else WAITING


class FactCheck(msgspec.Struct, kw_only=True):
    """What is stamped: a document, its statements in order, where and when they were measured."""

    title: str
    statements: list[Statement]
    machine: Machine | None = None
    at: str = ""
    """UTC, ISO 8601; "" before anything was measured."""
    budget: BudgetName = "quick"
    going: str = ""
    """The preset that is measured now, "" where nothing is."""

    @property
    def left(self) -> int:
        """How many statements have no verdict yet."""
        return sum(statement.verdict is None for statement in self.statements)

    def summary(self) -> str:
        """Return `4 of 6 measured: 1 confirmed, 2 refuted, 1 untestable here`."""
        words = [s.verdict for s in self.statements if s.verdict]
        counts = [f"{words.count(word)} {word}" for word in VERDICTS if word in words]
        said = f"{len(words)} of {len(self.statements)} measured"
        return f"{said}: {', '.join(counts)}" if counts else said


def stamp(check: FactCheck) -> str:
    """Return `Measured on h (AMD EPYC, no GPU visible) with TensorFlow 2.21.0 on 2026-11-22; budget
    quick.`"""
    machine = check.machine
    if machine is None:
        return "Not measured yet."
    gpus = ", ".join(gpu.description or gpu.name for gpu in machine.gpus) or "no GPU visible"
    where = f"{machine.host} ({machine.cpu}, {gpus})"
    when = f"on {check.at[:10]}; budget {check.budget}"
    return f"Measured on {where} with TensorFlow {machine.tensorflow} {when}."


def text(check: FactCheck) -> str:
    """Write it for a terminal or a mail."""
    return "\n".join([check.title, "", *_lines(check), "", check.summary(), stamp(check)])


def _lines(check: FactCheck) -> Iterator[str]:
    for statement in check.statements:
        where = f" (line {statement.line})" if statement.line else ""
        yield f"{statement.mark} {statement.verdict or 'not measured'}: {statement.text}{where}"
        if statement.evidence:
            yield f"  {statement.evidence}"


def markdown(check: FactCheck) -> str:
    """Return a page to put next to the document."""
    rows = ["| | claim | line | verdict | evidence |", "|---|---|---|---|---|"]
    for s in check.statements:
        cells = [s.mark, plain(s.text), str(s.line or ""), s.verdict or "not measured", plain(s.evidence)]
        rows.append("| " + " | ".join(cells) + " |")
    head = [f"# {plain(check.title)}", "", f"{check.summary()}.", ""]
    return "\n".join([*head, *rows, "", plain(stamp(check)), ""])


def html(check: FactCheck) -> str:
    """Return one page that carries everything with it."""
    rows = "".join(
        f'<tr><td>{s.mark}</td><td>{escape(s.text)}</td><td class="n">{s.line or ""}</td>'
        f"<td>{s.verdict or 'not measured'}</td><td>{escape(s.evidence)}</td></tr>"
        for s in check.statements
    )
    style = (files("tuilab.report") / "page.css").read_text()
    title = escape(check.title)
    head = "".join(f"<th>{name}</th>" for name in ("", "claim", "line", "verdict", "evidence"))
    return (
        f'<!doctype html><html lang=en><head><meta charset="utf-8"><title>{title} – tuilab</title>'
        f'<style>{style}</style></head><body><h1>{title}</h1><p class="answer">{escape(check.summary())}.</p>'
        f"<table><tr>{head}</tr>{rows}</table>"
        f'<p class="dim">{escape(stamp(check))}</p></body></html>\n'
    )


WRITERS = {".html": html, ".htm": html, ".md": markdown, ".txt": text}
"""By the ending of the file's name."""
