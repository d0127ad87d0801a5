"""`tuilab watch`: watches a user's program and shows its steps and what to change."""

import contextlib
import difflib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import click

from tuilab.cli.environment import chosen_environment, python_option
from tuilab.cli.exits import DONE, FINDINGS
from tuilab.cli.options import against_option, columns, not_over
from tuilab.cli.said import broken
from tuilab.lab.several import Several, follow, join_pages, lines_of, open_pages, serve, start_on_hosts
from tuilab.lab.watch import Watched, Watching, WatchOptions, attach, command_of, end_as, is_python
from tuilab.lab.watch import watch as watch_program
from tuilab.model.errors import InputError
from tuilab.model.files import write_text
from tuilab.model.program import Code, Together
from tuilab.report.program import programs_json, programs_text
from tuilab.report.rows import wrapped
from tuilab.tui.options import Options
from tuilab.tui.start import open_lab

LEAST_ATTACHED_S = 1.0
USUAL_SIZE = (80, 24)


class Watch(click.Command):
    """Passes all options after the program's name to the program. `--open` takes files instead of a program,
    so options may follow these files.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments like click, but with `--open`, accept options after the file names."""
        options, _, _ = self.make_parser(ctx).parse_args(list(args))
        if options.get("kept"):
            ctx.allow_interspersed_args, ctx.ignore_unknown_options = True, False
        rest = super().parse_args(ctx, args)
        first = next(iter(ctx.params.get("command") or ()), "")
        if first.startswith("-") and first != "-m":
            name = first.partition("=")[0]
            known = [option for param in self.params for option in param.opts]
            raise click.NoSuchOption(name, possibilities=difflib.get_close_matches(name, known), ctx=ctx)
        return rest


@click.command(cls=Watch, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--plain", is_flag=True, help="Show the program's output, and print the page of findings at the end."
)
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the page as JSON."
)
@click.option("--every", type=click.FloatRange(0.5), default=None, help="Seconds between profiler windows.")
@click.option(
    "--window",
    type=click.FloatRange(0.05, 5),
    default=0.4,
    show_default=True,
    help="Maximum length of a window in seconds.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the page to a file instead of standard error.",
)
@against_option
@click.option("--once", is_flag=True, help="Profile once, as early as possible; for short programs.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="CODE",
    help=f"Exit with 1 if the page has this finding: any, or {', '.join(get_args(Code))}.",
)
@click.option(
    "--attach", "address", metavar="HOST:PORT", default="", help="Profile a program that is already running."
)
@click.option(
    "--host",
    "hosts",
    metavar="HOST",
    multiple=True,
    help="Start the program on this host, over ssh: an alias or user@host; `local` is this machine.",
)
@click.option(
    "--open",
    "kept",
    is_flag=True,
    help="Open saved pages side by side; give their ids or --json files instead of COMMAND.",
)
@click.option("--far", hidden=True, default="", metavar="COLUMNSxROWS")
@click.option("--folder", hidden=True, default=".")
@python_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def watch(
    plain: bool,
    json_file: Path | None,
    output: Path | None,
    every: float | None,
    window: float,
    against: str,
    once: bool,
    fail_on: tuple[str, ...],
    address: str,
    hosts: tuple[str, ...],
    kept: bool,
    far: str,
    folder: str,
    command: tuple[str, ...],
) -> int:
    """Watch your own program: where its time goes, which lines to change, and the maximum gain of each
    change.

    COMMAND is a Python file with arguments or `-m module …`, run by the Python of --python or of the active
    environment; or any other command. The program runs unchanged, and `watch` returns its exit code. In a
    terminal, the lab opens and shows the program. With --plain or --json, or without a terminal, the
    program's output passes through, and the page follows at the end. --attach profiles a running program
    once, if it has called tf.profiler.experimental.server.start(PORT).

    With --host, the program runs on that machine, in the same folder if it exists. With several hosts, the
    page has a row for each process and names the slowest one.
    """
    check_options(fail_on, {"--json": json_file, "--output": output}, command)
    for late in misplaced(command):
        click.echo(f"note: {late} comes after the program, so the program received it, not tuilab", err=True)
    if (own := chosen_environment(tensorflow=False)) is not None:
        if not is_python(command):
            raise InputError("--python", own.python, "a Python file or `-m module`, to run with this Python")
        if not hosts:
            command_of(command)
        command = (own.python, *command)
    options = WatchOptions(every=every or 0.0, window=window, once=once, card=against)
    screen = not plain and json_file is None and all(os.isatty(stream) for stream in range(3))
    if far:
        size = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", far)
        if size is None:
            raise InputError("--far", far, "COLUMNSxROWS, as in 80x24")
        return serve(command, options, (int(size[1]), int(size[2])), folder)
    if kept or hosts:
        ended, pages = several(hosts, command, options, screen=screen)
    else:
        if address:
            program = attach(address, max(window, LEAST_ATTACHED_S))
        else:
            program = on_screen(command, options) if screen else watch_program(command, options)
        ended, pages = program.exit_code or DONE, join_pages([program.page()])
    sys.stdout.flush()
    with contextlib.ExitStack() as rest:  # write the JSON file even if the other file cannot be written
        if json_file is not None:
            rest.callback(lambda: write_text(json_file, [programs_json(pages)]))
        if output is None and not (kept and screen):
            tell(pages, err=not kept)
        elif output is not None:
            try:
                write_text(output, [programs_text(pages) + "\n"])
            except OSError:
                tell(pages)  # print the page if it cannot be written to a file
                raise
    return FINDINGS if ended == DONE and fails(pages, fail_on) else end_as(ended)


OWN = ("--against", "--fail-on", "--json", "--plain", "--once", "--every", "--attach")
"""Options of `watch` that users may put after the program by mistake, where the program would receive
them.
"""


def misplaced(command: Sequence[str]) -> list[str]:
    return [word for word in command[1:] if word.partition("=")[0] in OWN]


def check_options(
    fail_on: tuple[str, ...], files: Mapping[str, Path | None], command: tuple[str, ...]
) -> None:
    """Raise InputError if an option is invalid, so that `watch` rejects it before the program runs and not
    afterwards.

    files: the output file of each option.
    """
    for code in fail_on:
        if code != "any" and code not in get_args(Code):
            raise InputError("--fail-on", code, f"any, or one of {', '.join(get_args(Code))}")
    taken: list[Path] = []
    for name, file in files.items():
        if file is not None and not file.absolute().parent.is_dir():
            raise InputError(name, str(file), "a file in an existing folder")
        not_over(name, file, command)
        if file is not None and (place := file.resolve()) in taken:
            raise InputError(name, str(file), "a different file for each option")
        taken += [place] if file is not None else []
    if command and not command[0].strip():
        raise InputError("COMMAND", command[0], "a Python file, `-m module` or a program")


def fails(pages: Together, fail_on: tuple[str, ...]) -> bool:
    codes = {finding.code for page in pages.programs for finding in page.findings}
    return bool(codes if "any" in fail_on else codes.intersection(fail_on))


def tell(pages: Together, *, err: bool = True) -> None:
    with contextlib.suppress(OSError, ValueError):
        text = programs_text(pages)
        click.echo(broken(text) if err else "\n".join(wrapped(text.split("\n"), columns())), err=err)


def several(
    hosts: tuple[str, ...], command: tuple[str, ...], options: WatchOptions, *, screen: bool
) -> tuple[int, Together]:
    """Watch a program on several hosts, or open saved pages if `command` is empty. Return the exit code
    and the pages.
    """
    size = os.get_terminal_size() if screen else USUAL_SIZE
    lines = lines_of(hosts, lambda data: None if screen else write(data))
    live = start_on_hosts(hosts, command, options, size, lines)
    shown = Several(list(live.values())) if live else open_pages(command)
    if screen:
        open_lab(Options(watching=shown))
        screen = False  # the lab has closed, so further output goes to the terminal
    ended = follow(live, lines) if live else DONE
    return ended, shown.together


def write(data: bytes) -> None:
    with contextlib.suppress(OSError):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def on_screen(command: tuple[str, ...], options: WatchOptions) -> Watched:
    watching = Watching(command, options)
    watching.start(os.get_terminal_size())
    try:
        open_lab(Options(watching=watching))
    finally:
        program = watching.leave()
    return program
