"""`tuilab check DOCUMENT --prove`: how far off the document's figures are on this machine."""

from collections.abc import Sequence

import click
import msgspec

from tuilab.cli.exits import DONE
from tuilab.cli.lab import emit, with_lab
from tuilab.cli.options import columns
from tuilab.cli.said import tell
from tuilab.lab import Lab
from tuilab.lab.opening import read_document
from tuilab.lab.proof import Proven, proofs, prove
from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import BudgetName
from tuilab.report.rows import wrapped


class Proofs(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `tuilab check --prove --json` prints."""

    path: str
    proofs: Sequence[Proven]


def prove_document(document: str, budget: BudgetName, as_json: bool) -> int:
    """Measure how far the mistakes in a document distort its figures; return the exit code.

    Raises InputError, WorkerError.
    """
    report = read_document(document, tell, preview=False)
    if report.unreadable:
        raise InputError(sanitize_line(document, 300), "", report.unreadable)
    wanted = list(proofs(report))
    path = sanitize_line(document, 300)

    def print_proof(shown: Proven) -> None:
        if not as_json:
            for line in wrapped([f"{path}:{shown.line}: {shown.code} {shown.sentence}"], columns()):
                click.echo(line)

    async def measure(lab: Lab) -> list[Proven]:
        return await prove(lab, wanted, budget, print_proof)

    made = with_lab(measure) if wanted else []
    if as_json:
        emit(Proofs(path=path, proofs=made))
    elif not wanted:
        click.echo(f"{path}: no finding can be proved by a measurement", err=True)
    return DONE
