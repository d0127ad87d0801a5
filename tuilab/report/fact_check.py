"""A document's claims with their verdicts, stamped with machine and date: text, Markdown, one HTML page."""

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Protocol

from tuilab.model.claims import VerdictWord
from tuilab.model.machine import Machine
from tuilab.report.markdown import escape as plain


class Stated(Protocol):
    """A claim and what became of it."""

    text: str
    line: int
    verdict: VerdictWord | None
    evidence: str

    @property
    def mark(self) -> str:
        """The verdict's sign."""


class Checked(Protocol):
    """A document that was checked."""

    title: str
    machine: Machine | None
    at: str

    @property
    def budget(self) -> str:
        """With what patience."""

    @property
    def statements(self) -> Sequence[Stated]:
        """In the document's order."""

    def summary(self) -> str:
        """How many of them came to what."""


def stamp(check: Checked) -> str:
    """`Measured on h (AMD EPYC, no GPU visible) with TensorFlow 2.21.0 on 2026-11-22; budget quick.`"""
    machine = check.machine
    if machine is None:
        return "Not measured yet."
    gpus = ", ".join(gpu.description or gpu.name for gpu in machine.gpus) or "no GPU visible"
    where = f"{machine.host} ({machine.cpu}, {gpus})"
    when = f"on {check.at[:10]}; budget {check.budget}"
    return f"Measured on {where} with TensorFlow {machine.tensorflow} {when}."


def text(check: Checked) -> str:
    """For a terminal or a mail."""
    return "\n".join([check.title, "", *_lines(check), "", check.summary(), stamp(check)])


def _lines(check: Checked) -> Iterator[str]:
    for statement in check.statements:
        where = f" (line {statement.line})" if statement.line else ""
        yield f"{statement.mark} {statement.verdict or 'not measured'}: {statement.text}{where}"
        if statement.evidence:
            yield f"  {statement.evidence}"


def markdown(check: Checked) -> str:
    """A page to put beside the document."""
    rows = ["| | claim | line | verdict | evidence |", "|---|---|---|---|---|"]
    for s in check.statements:
        cells = [s.mark, plain(s.text), str(s.line or ""), s.verdict or "not measured", plain(s.evidence)]
        rows.append("| " + " | ".join(cells) + " |")
    head = [f"# {plain(check.title)}", "", f"{check.summary()}.", ""]
    return "\n".join([*head, *rows, "", plain(stamp(check)), ""])


def html(check: Checked) -> str:
    """One page that carries everything with it."""
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
