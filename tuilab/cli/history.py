"""`tuilab history`: earlier runs, listed, compared, tagged, pruned, taken along."""

import sqlite3
from pathlib import Path

import click

from tuilab import catalogue
from tuilab.cli import completion
from tuilab.cli.exits import NOT_CONFIRMED
from tuilab.cli.lab import emit, store
from tuilab.lab.history import compare, find, import_runs, spool, write_recording
from tuilab.model.errors import InputError

SHORTEST_ID = 4
"""Characters of an id that a deletion asks for."""
MOST = 1e9
"""Days, or megabytes."""


@click.group(invoke_without_command=True)
@click.option("--search", default="", help="Only runs that contain each of these words.")
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(1, 1_000_000),
    help="How many to list, latest first.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def history(ctx: click.Context, /, search: str, limit: int, as_json: bool) -> None:
    """List the latest runs. RUN in other commands is the start of an id, or `last`."""
    if ctx.invoked_subcommand is not None:
        return
    with store() as kept:
        titles = {p.name: p.title for p in catalogue.load().presets} if search else {}
        lines = kept.runs(search, limit, titles=titles)
    if as_json:
        emit(lines)
        return
    if not lines:
        click.echo("no runs yet" if not search else f"no run has {search!r}", err=True)
    for line in lines:
        marks = " ".join([*(f"#{tag}" for tag in line.tags), *([line.pinned] if line.pinned else [])])
        status = line.status or "not finished"
        name = line.preset or line.workload
        click.echo(f"{line.run[:8]}  {line.at[:16]}  {name:<20}  {status:<9}  {line.answer} {marks}")


@history.command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("tag")
@click.option("--off", is_flag=True, help="Remove the tag.")
def tag(run: str, tag: str, off: bool) -> None:
    """Put TAG on RUN."""
    with store() as kept:
        kept.tag(find(kept, run).run, tag, on=not off)


@history.command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("text")
def note(run: str, text: str) -> None:
    """Replace the note of RUN."""
    with store() as kept:
        kept.note(find(kept, run).run, text)


@history.command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--as", "as_", type=click.Choice(["ghost", "baseline", "none"]), default="ghost", show_default=True
)
def pin(run: str, as_: str) -> None:
    """Pin RUN: a ghost is drawn under new runs, a baseline is what others are compared with; neither is
    pruned."""
    with store() as kept:
        kept.pin(find(kept, run).run, "" if as_ == "none" else as_)


@history.command("compare")
@click.argument("a", shell_complete=completion.runs)
@click.argument("b", shell_complete=completion.runs)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare_(a: str, b: str, as_json: bool) -> None:
    """Compare run A with run B, arm by arm, and at each place that both measured if they are sweeps."""
    with store() as kept:
        first, second = (kept.state(find(kept, run).run) for run in (a, b))
    comparison = compare(first, second)
    if as_json:
        emit(comparison)
        return
    for warning in comparison.warnings:
        click.echo(f"! {warning}")
    for arm in comparison.arms:
        click.echo(arm.sentence)
    if comparison.note:
        click.echo(comparison.note)


@history.command()
@click.argument("run", shell_complete=completion.runs)
def delete(run: str) -> None:
    """Delete RUN; `tuilab history undelete` with its whole id brings it back for a week."""
    if len(run) < SHORTEST_ID:
        raise InputError("run", run, f"at least {SHORTEST_ID} characters of an id, or last")
    with store() as kept:
        line = find(kept, run)
        kept.delete(line.run)
    click.echo(f"deleted; to undo: tuilab history undelete {line.run}", err=True)


@history.command()
@click.argument("run", shell_complete=completion.runs)
def undelete(run: str) -> None:
    """Bring a deleted RUN back; needs its whole id. `last` undoes the last deletion, a prune as a whole."""
    with store() as kept:
        runs = kept.bring_back() if run == "last" else [run] * kept.undelete(run)
    if not runs:
        raise InputError("run", run, "the whole id of a deleted run, or last")
    for name in runs:
        click.echo(name)


def number(text: str) -> float:
    """A number from 0 on, neither infinite nor none at all. Raises click.BadParameter."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= MOST:
        raise click.BadParameter(f"{text!r} is not a number from 0 to {MOST:,.0f}")
    return found


@history.command()
@click.option("--days", type=number, help="Delete runs older than this.")
@click.option("--megabytes", type=number, help="Then the oldest until this much is left.")
def prune(days: float | None, megabytes: float | None) -> None:
    """Delete old runs that are not pinned, and print their ids."""
    if days is None and megabytes is None:
        raise InputError("tuilab history prune", "nothing", "--days, --megabytes or both")
    with store() as kept:
        runs = kept.prune(days, None if megabytes is None else int(megabytes * 1e6))
        kept.purge()
        kept.pack_older()
        kept.compact()
    for run in runs:
        click.echo(run)
    undo = "; to undo: tuilab history undelete last" if runs else ""
    click.echo(f"{len(runs)} runs deleted{undo}", err=True)


@history.command("check")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--repair", is_flag=True, help="Recover what can be read into a new history; the old one is kept."
)
@click.pass_context
def check_(ctx: click.Context, /, file: Path | None, repair: bool) -> None:
    """Verify the history, every event of it, or a damaged FILE that was kept aside.

    With --repair, what can be read of a FILE is added to the history. Exits with 4 if something is damaged
    and not repaired.
    """
    from tuilab.lab.history import check

    with store() as kept:
        if kept.file is None:
            raise InputError("tuilab history check", "in memory", "a history that is kept in a file")
        own = kept.file
    which = file or own
    try:
        report = check.check(which)
        done = check.repair(which, None if file is None else own) if repair and report.findings else None
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(str(which), why, "a history that can be read") from None
    for finding in report.findings if done is None else done.lost:
        click.echo(f"{finding.run or '-'}  {finding.what}")
    if done is not None:
        click.echo(f"{done.runs} runs with {done.rounds} rounds are saved", err=True)
        if done.aside is not None:
            click.echo(f"the damaged history is kept as {done.aside}", err=True)
    elif report.findings:
        click.echo(
            f"{report.runs} runs, {report.rounds} rounds, {len(report.findings)} problems; "
            "`tuilab history check --repair` recovers what can be read",
            err=True,
        )
        ctx.exit(NOT_CONFIRMED)
    else:
        click.echo(f"{report.runs} runs, {report.rounds} rounds, no problems", err=True)


@history.command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def save(run: str, file: Path) -> None:
    """Write RUN's events to FILE, to import elsewhere or to replay."""
    with store() as kept:
        write_recording(file, kept.events(find(kept, run).run))


@history.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def import_(file: Path) -> None:
    """Import the runs in a FILE written by `save`, here or on another machine."""
    with store() as kept:
        runs = import_runs(kept, file)
    click.echo(f"{len(runs)} runs imported", err=True)


@history.command()
@click.option("--stop", is_flag=True, help="Stop those still running; their finished rounds are kept.")
def unattended(stop: bool) -> None:
    """Import runs that continued after their lab closed, and list those still running."""
    with store() as kept:
        if kept.file is None:
            return
        found = spool.collect_all(kept, kept.file.parent)
        if stop and found.going_on:
            for pid in found.going_on.values():
                spool.stop(pid)
            found = spool.settle(kept, kept.file.parent, found)
    for run in found.finished:
        click.echo(f"{run}  imported")
    for run, pid in found.going_on.items():
        click.echo(f"{run}  is still running, in process {pid}")
    for run, host in found.elsewhere.items():
        click.echo(f"{run}  is running on {host}")
    for problem in found.problems:
        click.echo(f"tuilab: {problem}", err=True)
