"""`tuilab history`: lists, compares, tags, prunes and exports earlier runs."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tuilab import catalogue
from tuilab.cli import completion
from tuilab.cli.exits import NOT_CONFIRMED
from tuilab.cli.lab import open_history
from tuilab.cli.options import columns, emit, one_of
from tuilab.cli.said import tell
from tuilab.lab.history import History, imported, is_full
from tuilab.model import moments
from tuilab.model.errors import InputError
from tuilab.model.moments import when
from tuilab.model.program import PREFIX
from tuilab.model.quantity import plural, seconds
from tuilab.report.rows import cut, wrapped

SHORTEST_ID = 4
"""Minimum number of characters of an id that `delete` and `undelete` accept."""
MOST = 1e9
"""Maximum number of days or megabytes that `prune` accepts."""


def _in_utc(ctx: click.Context, parameter: click.Parameter, utc: bool) -> None:
    moments.in_utc |= utc


utc_option = click.option(
    "--utc",
    is_flag=True,
    expose_value=False,
    callback=_in_utc,
    help="Show times in UTC instead of this machine's time zone.",
)


def limit_option(what: str) -> Callable[..., Any]:
    about = f"Number of {what} to list, latest first."
    return click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10**6), help=about)


@click.group(invoke_without_command=True)
@click.option("--search", default="", help="List only runs that contain all of these words.")
@limit_option("runs")
@utc_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def history(ctx: click.Context, /, search: str, limit: int, as_json: bool) -> None:
    """List the latest runs. Commands that take RUN accept the start of an id, or `last`."""
    if ctx.invoked_subcommand is not None:
        return
    with open_history() as kept:
        titles = {p.name: p.title for p in catalogue.load().presets} if search else {}
        entries = kept.entries(search, limit, titles)
    if as_json:
        emit([entry.line for entry in entries])
        return
    if not entries:
        click.echo("no runs yet" if not search else f"no run contains {search!r}", err=True)
    for entry in entries:
        line = entry.line
        marks = " ".join([*(f"#{tag}" for tag in line.tags), *([line.pinned] if line.pinned else [])])
        status = line.status or "not finished"
        name = line.preset or line.workload
        text = f"{line.run[:8]}  {when(line.at)}  {name:<20}  {status:<9}"
        sizes = f"{entry.brief.sizes}: " if entry.brief is not None and entry.brief.sizes else ""
        echo_line(text, f"{sizes}{line.answer} {marks}".strip())


ROOM = 120


def echo_line(head: str, answer: str) -> None:
    """Print the line of a run or program. On a narrow terminal, print the answer on a second line."""
    most = columns()
    if most >= ROOM or not most:
        click.echo(cut(f"{head}  {answer}", most or len(head) + len(answer) + 2).rstrip())
        return
    click.echo(cut(head.rstrip(), most))
    if answer:
        click.echo(cut(f"  {answer}", most))


@history.command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("tag")
@click.option("--off", is_flag=True, help="Remove the tag.")
def tag(run: str, tag: str, off: bool) -> None:
    """Add TAG to RUN, or remove it with --off."""
    with open_history() as kept:
        kept.tag([kept.find(run).run], put=[] if off else [tag], take=[tag] if off else [])


@history.command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("text")
def note(run: str, text: str) -> None:
    """Replace the note of RUN."""
    with open_history() as kept:
        kept.note(kept.find(run).run, text)


@history.command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--as",
    "as_",
    type=one_of(["ghost", "baseline", "none"]),
    default="ghost",
    show_default=True,
)
def pin(run: str, as_: str) -> None:
    """Pin RUN, as a ghost or as the baseline.

    The lab draws a ghost under new runs, and compares other runs with the baseline. Pinned runs are never
    pruned.
    """
    with open_history() as kept:
        kept.pin([kept.find(run).run], "" if as_ == "none" else as_)


@history.command("programs")
@limit_option("programs")
@utc_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def programs_(limit: int, as_json: bool) -> None:
    """List the watched programs, latest first."""
    from tuilab.lab.watch import earlier
    from tuilab.report.program import headline, short_command

    programs = earlier(limit)
    if as_json:
        emit([{"program": program, "page": page} for program, page in programs])
        return
    for program, page in programs:
        step, command = page.steps.median_s, cut(short_command(page), 40)
        took = seconds(step) if step else ""
        echo_line(f"{program[:8]}  {when(page.at)}  {command:<40}  {took:>8}", headline(page))
    if not programs:
        click.echo("no program has been watched yet", err=True)


@history.command("compare")
@click.argument("a", shell_complete=completion.runs)
@click.argument("b", shell_complete=completion.runs)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare_(a: str, b: str, as_json: bool) -> None:
    """Compare run A with run B, arm by arm.

    Sweeps are compared at each size that both runs measured.

    Given two ids from `tuilab history programs`, compares the steps of these watched programs.
    """
    if a.startswith(PREFIX) and b.startswith(PREFIX):
        from tuilab.lab.watch import load_page as program
        from tuilab.report.program import compared

        pages = program(a), program(b)
        if as_json:
            emit({"a": pages[0], "b": pages[1], "compared": compared(*pages)})
        for line in () if as_json else compared(*pages):
            click.echo(line)
        return
    with open_history() as kept:
        comparison = kept.compare(a, b)
    if as_json:
        emit(comparison)
        return
    lines = [f"! {warning}" for warning in comparison.warnings]
    lines += [*(arm.sentence for arm in comparison.arms), *([comparison.note] if comparison.note else [])]
    for line in wrapped(lines, columns()):
        click.echo(line)


@history.command()
@click.argument("run", shell_complete=completion.runs)
def delete(run: str) -> None:
    """Delete RUN. For a week, `tuilab history undelete` can restore it."""
    check_length(run)
    with open_history() as kept:
        line = kept.find(run)
        kept.delete([line.run])
    click.echo(f"deleted; to undo: tuilab history undelete {line.run}", err=True)


def check_length(run: str) -> None:
    """Raise InputError if the start of an id is so short that it could match the wrong run."""
    if len(run) < SHORTEST_ID:
        raise InputError("run", run, f"at least {SHORTEST_ID} characters of an id, or last")


@history.command()
@click.argument("run", shell_complete=completion.runs)
def undelete(run: str) -> None:
    """Restore the deleted RUN. `last` undoes the last deletion, or a whole prune."""
    check_length(run)
    with open_history() as kept:
        runs = kept.undelete(run)
    if not runs:
        raise InputError("run", run, "a deleted run; none is left to restore")
    for name in runs:
        click.echo(name)


def number(text: str) -> float:
    """Parse a number from 0 to MOST. Raises click.BadParameter for other text."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= MOST:
        raise click.BadParameter(f"{text!r} is not a number from 0 to {MOST:,.0f}")
    return value


@history.command()
@click.option("--days", type=number, help="Delete runs older than this many days.")
@click.option(
    "--megabytes", type=number, help="Delete the oldest runs until at most this many megabytes are left."
)
@click.option(
    "--for-good", is_flag=True, help="Remove these and all previously deleted runs immediately, without undo."
)
def prune(days: float | None, megabytes: float | None, for_good: bool) -> None:
    """Delete old runs that are not pinned, and print their ids.

    Works even if the history's disk is full. Also removes runs that were deleted over a week ago, which frees
    space.
    """
    if days is None and megabytes is None:
        raise InputError("tuilab history prune", "nothing", "--days, --megabytes or both")

    runs: list[str] = []

    def act(kept: History) -> None:
        runs.extend(kept.prune(kept.prunable(days, None if megabytes is None else int(megabytes * 1e6))))
        kept.clean_up(for_good=for_good)

    with open_history() as kept:
        try:
            act(kept)
        except sqlite3.OperationalError as error:
            if not kept.takes_nothing and not is_full(error):
                raise
            with kept.in_place(tell) as there:
                act(there)
    for run in runs:
        click.echo(run)
    undo = "; to undo: tuilab history undelete last" if runs and not for_good else ""
    click.echo(f"{plural(len(runs), 'run')} deleted{undo}", err=True)


@history.command("check")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--repair", is_flag=True, help="Copy readable runs into a new history; keep the damaged one.")
@click.pass_context
def check_(ctx: click.Context, /, file: Path | None, repair: bool) -> None:
    """Verify the history, or a damaged FILE.

    Reads every event. FILE is a damaged history that was set aside.

    With --repair, adds the readable part of FILE to the history. Exits with 4 if damage remains.
    """
    with open_history(collect=False) as kept:
        report, done = kept.check(file, repair=repair)
    for finding in report.findings if done is None else done.lost:
        click.echo(f"{finding.run or '-'}  {finding.what}")
    if done is not None:
        click.echo(f"{plural(done.runs, 'run')} with {plural(done.rounds, 'round')} saved", err=True)
        if done.aside is not None:
            click.echo(f"the damaged file is kept as {done.aside}", err=True)
    elif report.findings:
        click.echo(
            f"{plural(report.runs, 'run')}, {plural(report.rounds, 'round')}, "
            f"{plural(len(report.findings), 'problem')}; "
            "`tuilab history check --repair` recovers all readable data",
            err=True,
        )
        ctx.exit(NOT_CONFIRMED)
    else:
        click.echo(f"{plural(report.runs, 'run')}, {plural(report.rounds, 'round')}, no problems", err=True)


@history.command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def save(run: str, file: Path) -> None:
    """Write RUN's events to FILE, to import elsewhere or to replay."""
    with open_history() as kept:
        kept.save(run, file)


@history.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def import_(file: Path) -> None:
    """Import runs from FILE, written by `save` on any machine.

    Exits with 0 even if the history contains all of them already.
    """
    with open_history() as kept:
        runs = kept.import_file(file)
    click.echo(imported(runs).removesuffix("."), err=True)


@history.command()
@click.option("--stop", is_flag=True, help="Stop background runs; keep their finished rounds.")
def unattended(stop: bool) -> None:
    """Import runs that continued after their lab was closed. Also lists runs that are still in progress."""
    with open_history(collect=False) as kept:
        collected = kept.unattended(stop)
    if collected is None:
        return
    for run in collected.finished:
        click.echo(f"{run}  {'stopped; its rounds are imported' if run in collected.stopped else 'imported'}")
    for run, pid in collected.going_on.items():
        click.echo(f"{run}  is still running, in process {pid}")
    for run, host in collected.elsewhere.items():
        click.echo(f"{run}  is running on {host}")
    for problem in collected.problems:
        click.echo(f"tuilab: {problem}", err=True)
