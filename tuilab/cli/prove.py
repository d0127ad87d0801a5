"""`tuilab check DOCUMENT --prove`: how far off the document's figures are on this machine."""

from collections.abc import Iterator, Sequence

import click
import msgspec

from tuilab.cli.lab import with_lab
from tuilab.cli.options import columns, emit
from tuilab.documents import DocumentReport
from tuilab.documents.checker.files import FileResult
from tuilab.lab import Lab
from tuilab.lab.proof import ALIKE, PATTERNS, Proven, proofs, prove
from tuilab.model.quantity import significant, time_unit
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import BudgetName
from tuilab.report.rows import wrapped


class Proofs(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `tuilab check --prove --json` prints."""

    path: str
    proofs: Sequence[Proven]


def prove_document(report: DocumentReport, found: FileResult, budget: BudgetName, as_json: bool) -> None:
    """Measure how far the mistakes in a document distort its figures. Raises WorkerError."""
    wanted = [proof for proof in proofs(report) if proof.finding in found.findings]
    path = sanitize_line(found.path, 300)

    async def measure(lab: Lab) -> list[Proven]:
        return await prove(lab, wanted, budget, made.append)

    made: list[Proven] = []
    try:
        if wanted:
            with_lab(measure)
    finally:  # an interrupt keeps the results that are complete
        for line in wrapped([path, *table(made)], columns()) if made and not as_json else ():
            click.echo(line)
    if as_json:
        emit(Proofs(path=path, proofs=made))
    elif not wanted:
        click.echo(f"{path}: no finding can be proved by a measurement", err=True)


def table(made: Sequence[Proven]) -> Iterator[str]:
    """Yield the lines of a table of the proofs. All times have the unit of the shortest time.

    If a proof measured smaller work than the document does, its times are not in the columns but in the line
    below.
    """
    times = [time for each in made for time in (each.said_s, each.true_s) if time]
    scale, unit = time_unit(min(times, default=1.0))
    heads = f"{f'figure, {unit}':>12}  {f'actual, {unit}':>12}"
    yield f"{'line':>6}  {'code':5}  {heads}  figure / actual per call [95% interval]"
    for each in made:
        figure, actual = (significant(t / scale, 3) if t else "–" for t in (each.said_s, each.true_s))
        compared = each.compared
        if each.reduced:
            compared += f": figure {figure}, actual {actual} {unit}"
            figure = actual = "–"
        yield f"{each.line:>6}  {each.code:5}  {figure:>12}  {actual:>12}  {_ratio(each)}"
        yield f"{'':>6}  {compared}"


def _ratio(shown: Proven) -> str:
    """Return text such as `1.73× too large [1.60 1.85]`, with a reason if there is no interval."""
    if shown.factor is None or not shown.said_s or not shown.true_s:
        return "–"
    if shown.said_s == shown.true_s:
        return "the same"
    word = "large" if shown.said_s > shown.true_s else "small"
    ends = shown.factor_ci95
    why = "one call, no interval" if PATTERNS.get(shown.code) in ("first call", "start") else "no interval"
    span = f"[{ends[0]:.3g} {ends[1]:.3g}]" if ends else f"({why})"
    return f"{shown.factor:.3g}× too {word} {span}" if shown.factor > ALIKE else f"correct here {span}"
