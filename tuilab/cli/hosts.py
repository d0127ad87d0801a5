"""`tuilab hosts`: compares presets across the machines in the history."""

import sys

import click
import msgspec

from tuilab.cli.lab import open_history
from tuilab.cli.options import columns, emit
from tuilab.lab.machines import PresetRows, Row, compared, search, text_of
from tuilab.model.parameters import Value
from tuilab.model.result import CrossoverStatus
from tuilab.report.machines import machines_text

SCHEMA = 1


class CrossoverLine(msgspec.Struct, frozen=True, kw_only=True):
    """The size on the axis at which `a` overtakes `b`."""

    axis: str
    a: str
    b: str
    status: CrossoverStatus
    at: float | None
    ci95: tuple[float, float] | None


class MachineRow(msgspec.Struct, frozen=True, kw_only=True):
    """One machine in the comparison of a preset, for scripts. unlike: its software versions that differ from
    those of most other machines. disturbed: why its figures are doubtful (`busy host`), or "".
    """

    machine: str
    origin: str
    cpu: str
    gpus: tuple[str, ...]
    tensorflow: str
    python: str
    driver: str
    unlike: tuple[str, ...]
    run: str
    at: str
    budget: str
    cpu_s: float | None
    gpu_s: float | None
    fastest: str
    crossover: CrossoverLine | None
    verdicts: tuple[str, ...]
    disturbed: str = ""


class ComparedPreset(msgspec.Struct, frozen=True, kw_only=True):
    """One preset on every machine that measured it with the same parameters."""

    preset: str
    differing: dict[str, Value]
    machines: tuple[MachineRow, ...]
    disagreements: tuple[str, ...]


class Hosts(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `tuilab hosts --json` prints."""

    schema: int
    presets: tuple[ComparedPreset, ...]


@click.command()
@click.option("--search", "words", default="", help="Print only lines that contain all of these words.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def hosts(words: str, as_json: bool) -> None:
    """Compare the machines in the history, preset by preset.

    Runs on other machines come from --host, --on, or `tuilab history import`. Uses the latest run of each
    preset on each machine; the last column shows whether the machine was busy.
    """
    with open_history() as kept:
        machine_summaries, problem = kept.machines(_at)
    if problem:
        click.echo(f"tuilab: {problem}", err=True)
    if words:
        machine_summaries = search(machine_summaries, [text_of(s) for s in machine_summaries], words)
    presets = compared(machine_summaries)
    if as_json:
        emit(Hosts(schema=SCHEMA, presets=tuple(map(line, presets))))
    elif presets:
        click.echo(machines_text(presets, columns()))
    else:
        click.echo(f"no run contains {words!r}" if words else "no runs yet", err=True)


def _at(done: int, total: int) -> None:
    if sys.stderr.isatty() and total > 1:
        click.echo(f"\r\x1b[Ksummarizing run {done + 1} of {total}", err=True, nl=done + 1 == total)


def line(preset: PresetRows) -> ComparedPreset:
    return ComparedPreset(
        preset=preset.preset,
        differing=preset.differing,
        machines=tuple(map(_row, preset.rows)),
        disagreements=preset.disagreements,
    )


def _row(row: Row) -> MachineRow:
    s, best = row.summary, row.summary.best
    return MachineRow(
        machine=s.machine,
        origin=s.origin,
        cpu=s.cpu,
        gpus=s.gpus,
        tensorflow=s.tensorflow,
        python=s.python,
        driver=s.driver,
        unlike=row.unlike,
        run=s.run,
        at=s.at,
        budget=s.budget,
        cpu_s=s.on_cpu.median_s if s.on_cpu else None,
        gpu_s=s.on_gpu.median_s if s.on_gpu else None,
        fastest=best.label if best else "",
        crossover=_crossover(row),
        verdicts=s.verdicts,
        disturbed=s.disturbed,
    )


def _crossover(row: Row) -> CrossoverLine | None:
    c = row.summary.crossed
    if c is None:
        return None
    ci95 = (c.low, c.high) if c.low is not None and c.high is not None else None
    return CrossoverLine(axis=c.axis, a=c.a, b=c.b, status=c.status, at=c.at, ci95=ci95)
