"""Formats the claims of a document, with verdicts, machine and date, as text, Markdown or HTML."""

from collections.abc import Iterable, Iterator
from html import escape

import msgspec

from tuilab.model.claims import Claim, Verdict, VerdictWord
from tuilab.model.machine import Machine
from tuilab.model.result import RunResult
from tuilab.model.scenario import BudgetName
from tuilab.model.verdicts import VERDICTS, verdict_words
from tuilab.report.markdown import escape as plain
from tuilab.report.rows import doubtful_line
from tuilab.report.web_page import web_page, wide

WAITING = "·"
"""The mark of a claim without a verdict."""


class Statement(msgspec.Struct, kw_only=True):
    preset: str
    """Name of the preset that tests this claim."""
    text: str
    """The claim in the lab's words, or as quoted from the document."""
    quoted: str = ""
    """The document's sentence, if the program extracted the claim from it."""
    title: str = ""
    """Title of the preset that tests the claim."""
    settings: str = ""
    """What the preset measures instead of running the document's code; "" if a person wrote the preset."""
    line: int = 0
    """Line in the document, from 1; 0 if unknown."""
    verdict: VerdictWord | None = None
    evidence: str = ""
    run: str = ""
    """Id of the run that decided the claim; "" before the verdict."""
    emulated: bool = False

    @property
    def measured(self) -> str:
        name = f"{self.title} ({self.preset})" if self.title else self.preset
        return f"{name}: {self.settings}" if self.settings else name

    @property
    def claim(self) -> str:
        """The claim, after the document's sentence, so that a reader can compare the two."""
        return f"“{self.quoted}” {self.text}" if self.quoted else self.text

    @property
    def words(self) -> str:
        """The verdict in words; "" before the claim is measured."""
        return verdict_words(self.verdict, self.emulated) if self.verdict else ""

    @property
    def mark(self) -> str:
        """The verdict's mark; `·` before the claim is measured."""
        return VERDICTS[self.verdict].mark if self.verdict else WAITING


class FactCheck(msgspec.Struct, kw_only=True):
    """A document with its statements in order, and the machine and time of the measurement."""

    title: str
    statements: list[Statement]
    machine: Machine | None = None
    at: str = ""
    """Date and time in UTC, ISO 8601; "" before the first measurement."""
    budget: BudgetName = "quick"
    going: str = ""
    """The preset that is being measured; "" if none is."""

    @property
    def left(self) -> int:
        return sum(statement.verdict is None for statement in self.statements)

    def summary(self) -> str:
        """Return text such as `3 of 6 measured: 1 confirmed, 2 refuted; 1 untestable here`."""
        words = [s.verdict for s in self.statements if s.verdict]
        untestable = words.count("untestable")
        counts = [f"{words.count(w)} {w}" for w in VERDICTS if w in words and w != "untestable"]
        sentence = f"{len(words) - untestable} of {len(self.statements)} measured"
        sentence += f": {', '.join(counts)}" * bool(counts)
        return f"{sentence}; {untestable} untestable here" if untestable else sentence


def with_doubts(verdict: Verdict, result: RunResult, claims: Iterable[Claim]) -> str:
    """Return the verdict's evidence, followed by the run's doubts, such as a busy host. A shared page must
    show both.

    For a claim that is untestable or about a kernel, return only the evidence, because no measured time
    decides it. claims: the preset's claims.
    """
    timed = any(claim.about_times for claim in claims if claim.text == verdict.text)
    doubts = doubtful_line(result) if timed and verdict.verdict != "untestable" else ""
    return " ".join(filter(None, [verdict.evidence, doubts]))


def stamp(check: FactCheck) -> str:
    """Return `Measured on h (AMD EPYC, no GPU visible) with TensorFlow 2.21.0 on 2026-11-22; budget
    quick.`
    """
    machine = check.machine
    if machine is None:
        return "Not measured yet."
    gpus = ", ".join(machine.gpu_names) or "no GPU visible"
    where = f"{machine.host} ({machine.cpu}, {gpus})"
    when = f"on {check.at[:10]}; budget {check.budget}"
    return f"Measured on {where} with TensorFlow {machine.tensorflow} {when}."


def text(check: FactCheck) -> str:
    return "\n".join([check.title, "", *_lines(check), "", check.summary(), stamp(check)])


def _lines(check: FactCheck) -> Iterator[str]:
    for statement in check.statements:
        where = f" (line {statement.line})" if statement.line else ""
        yield f"{statement.mark} {statement.verdict or 'not measured'}: {statement.claim}{where}"
        if statement.evidence:
            yield f"  {statement.evidence}"
        if statement.verdict and statement.measured:
            yield f"  measured with {statement.measured}"


HEAD = ("", "claim", "line", "verdict", "evidence", "measured with")


def _table(check: FactCheck) -> list[tuple[str, ...]]:
    """Return the head and a row for each claim; without the column `line` if no claim has a line."""
    rows = [
        (s.mark, s.claim, str(s.line or ""), s.verdict or "not measured", s.evidence, s.measured)
        for s in check.statements
    ]
    lines = any(s.line for s in check.statements)
    kept = [at for at, name in enumerate(HEAD) if lines or name != "line"]
    return [tuple(row[at] for at in kept) for row in (HEAD, *rows)]


def markdown(check: FactCheck) -> str:
    """Return the page as Markdown, to publish with the document."""
    names, *cells = _table(check)
    rows = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    rows += [f"| {' | '.join(map(plain, row))} |" for row in cells]
    head = [f"# {plain(check.title)}", "", f"{check.summary()}.", ""]
    return "\n".join([*head, *rows, "", plain(stamp(check)), ""])


def html(check: FactCheck) -> str:
    names, *cells = _table(check)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
    head = "".join(f"<th>{name}</th>" for name in names)
    body = f'<h1>{escape(check.title)}</h1><p class="answer">{escape(check.summary())}.</p>'
    body += wide(f"<table><tr>{head}</tr>{rows}</table>") + f'<p class="dim">{escape(stamp(check))}</p>'
    return web_page(check.title, body)


WRITERS = {".html": html, ".htm": html, ".md": markdown, ".txt": text}
"""The functions that format the page, by file suffix."""
