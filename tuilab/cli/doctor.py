"""`tuilab doctor`: why TensorFlow sees no GPU here, and the command that fixes it."""

import shutil
import sys
import textwrap

import click
import msgspec

from tuilab.model.doctor import DoctorReport, Probe

LABEL = 8


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(as_json: bool) -> None:
    """Say why TensorFlow sees no GPU on this machine, probe by probe, and the command that fixes it.

    Ends within 30 seconds, whatever hangs; two minutes later if the driver is still compiling TensorFlow's
    kernels for this GPU.
    """
    from tuilab.doctor.examine import LIMIT_S, examine

    if sys.stderr.isatty():
        click.echo(f"examining this machine, at most {LIMIT_S:.0f} s …", err=True)
    report = examine(wait=_compiling if sys.stderr.isatty() else lambda seconds: None)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        click.echo(text(report, shutil.get_terminal_size((100, 24)).columns))


def _compiling(seconds: float) -> None:
    click.echo(
        f"the driver is compiling TensorFlow's kernels for this GPU: at most {seconds:.0f} s more …", err=True
    )


def text(report: DoctorReport, width: int) -> str:
    """The report for a person: answer, cause and fix on top, the probes below as an aligned table.

    The commands stay on one line each, so that they can be copied.
    """
    width = max(width, 50)
    out = [_row("GPU", "visible to TensorFlow" if report.gpu_visible else "not visible to TensorFlow", width)]
    out.append(_row("cause", report.cause, width))
    if report.mend:
        out.append(f"{'fix':<{LABEL}}{report.mend}")
    for further in report.further:
        out += ["", _row("then", further.cause, width)]
        if further.mend:
            out.append(f"{'fix':<{LABEL}}{further.mend}")
    return "\n".join([*out, "", *_table(report.probes, width)])


def _row(label: str, words: str, width: int) -> str:
    lines = textwrap.wrap(words, width - LABEL, break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(f"{label if i == 0 else '':<{LABEL}}{line}" for i, line in enumerate(lines))


def _table(probes: tuple[Probe, ...], width: int) -> list[str]:
    name = max(len(probe.name) for probe in probes) + 2
    out = []
    for probe in probes:
        room = max(width - LABEL - name, 30)
        lines = textwrap.wrap(probe.detail, room, break_long_words=False, break_on_hyphens=False) or [""]
        out.append(f"{probe.status:<{LABEL}}{probe.name:<{name}}{lines[0]}")
        out += [" " * (LABEL + name) + line for line in lines[1:]]
    return out
