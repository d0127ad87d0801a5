"""`tuilab check DOCUMENT --measure`: measures the document's claims one after another and prints each
verdict.
"""

from pathlib import Path

import click

from tuilab.cli.exits import DONE, INTERRUPTED
from tuilab.cli.lab import with_lab
from tuilab.lab import Lab
from tuilab.lab.fact_check import Checker, open_fact_check
from tuilab.model.errors import InputError
from tuilab.model.files import write_text
from tuilab.model.quantity import plural
from tuilab.model.scenario import BudgetName
from tuilab.report.fact_check import WRITERS, Statement, stamp


def measure_document(document: str, target: Path | None, budget: BudgetName) -> int:
    """Measure the claims in a document and return the exit code.

    document: a path, or the number of a bundled document. target: the page to write; its suffix selects the
    format: .html, .md or .txt. Raises InputError.
    """
    write = WRITERS.get(target.suffix.lower()) if target is not None else None
    if target is not None and write is None:
        raise InputError("-o", str(target), "a file that ends in " + ", ".join(WRITERS))
    check, presets = open_fact_check(document)
    check.budget = budget
    printed: set[int] = set()

    def tell() -> None:
        for index, statement in enumerate(check.statements):
            if statement.verdict is not None and index not in printed:
                printed.add(index)
                _print(statement)

    async def measure(lab: Lab) -> None:
        await Checker(lab, check, presets, tell).run()

    click.echo(f"{check.title}: {plural(len(check.statements), 'claim')}")
    try:
        with_lab(measure)
    except KeyboardInterrupt:
        pass  # the results that are complete are still printed and written
    click.echo(f"{check.summary()}. {stamp(check)}")
    if target is not None and write is not None:
        write_text(target, [write(check)])
        click.echo(f"Wrote {target}.", err=True)
    return INTERRUPTED if check.left else DONE


def _print(statement: Statement) -> None:
    where = f" (line {statement.line})" if statement.line else ""
    click.echo(f"{statement.mark} {statement.verdict}: {statement.claim}{where}\n  {statement.evidence}")
    if statement.settings:
        click.echo(f"  measured: {statement.settings}; the document's own code was not run")
