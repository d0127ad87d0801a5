"""`tuilab doctor`: why TensorFlow sees no GPU on this machine, and the command that fixes it."""

import shutil
import sys

import click

from tuilab.cli.environment import chosen_environment, python_option
from tuilab.cli.options import emit
from tuilab.doctor.examine import LIMIT_S, examine
from tuilab.doctor.place import Place
from tuilab.report.doctor import doctor_text


@click.command()
@python_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(as_json: bool) -> None:
    """Find out why TensorFlow sees no GPU on this machine, and print the command that fixes it.

    Also prints the result of each probe. Takes at most 30 seconds, even if a probe hangs, plus up to two
    minutes if the driver is still compiling TensorFlow's kernels for this GPU.
    """
    environment = chosen_environment(tensorflow=False)
    place = Place.of(environment) if environment is not None else None
    if sys.stderr.isatty():
        click.echo(f"examining this machine, at most {LIMIT_S:.0f} s …", err=True)
    report = examine(place, wait=_compiling if sys.stderr.isatty() else lambda seconds: None)
    if as_json:
        emit(report)
    else:
        if environment is not None:
            click.echo(f"Of {environment.python}:")
        click.echo(doctor_text(report, shutil.get_terminal_size((100, 24)).columns))


def _compiling(seconds: float) -> None:
    click.echo(
        f"the driver is compiling TensorFlow's kernels for this GPU: at most {seconds:.0f} s more …", err=True
    )
