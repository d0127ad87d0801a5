"""`tuilab check DOCUMENT --prove`: how far off the document's figures are on this machine."""

from collections.abc import Sequence

import click
import msgspec

from tuilab.cli.lab import emit, with_lab
from tuilab.cli.options import columns
from tuilab.documents import DocumentReport
from tuilab.documents.checker.files import FileResult
from tuilab.lab import Lab
from tuilab.lab.proof import Proven, proofs, prove
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import BudgetName
from tuilab.report.rows import wrapped


class Proofs(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `tuilab check --prove --json` prints."""

    path: str
    proofs: Sequence[Proven]


def prove_document(report: DocumentReport, found: FileResult, budget: BudgetName, as_json: bool) -> None:
    """Measure how far the findings in a document distort its figures. Raises WorkerError."""
    wanted = [proof for proof in proofs(report) if proof.finding in found.findings]
    path = sanitize_line(found.path, 300)

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
