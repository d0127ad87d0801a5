"""The `tuilab` command. A subcommand's module is loaded only when the subcommand is called."""

import contextlib
import difflib
import errno
import importlib
import io
import os
import re
import sqlite3
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, cast

import click

from tuilab.cli.environment import chosen_environment, python_option
from tuilab.cli.exits import BAD_INPUT, DONE, FAULT, INTERRUPTED, WORKER_FAILED, final
from tuilab.cli.said import say
from tuilab.model.errors import InputError, WorkerError, sqlite_code
from tuilab.model.sanitize import sanitize_block, sanitize_line
from tuilab.processes import die_with_parent
from tuilab.version import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("tuilab.cli.run:run", "Measure a preset, your own model or function, and print the answer."),
    "watch": (
        "tuilab.cli.watch:watch",
        "Watch your own program: show where its time goes and what to change.",
    ),
    "sweep": ("tuilab.cli.sweep:sweep", "Measure over a range of sizes, and find the crossover."),
    "resume": ("tuilab.cli.resume:resume", "Continue an interrupted run."),
    "verdicts": ("tuilab.cli.verdicts:verdicts", "Measure every preset and print the verdict on each claim."),
    "new": ("tuilab.cli.new:new", "Write a starter file to measure your own code."),
    "presets": ("tuilab.cli.presets:presets", "List the presets."),
    "history": ("tuilab.cli.history:history", "List, compare, tag and prune earlier runs."),
    "hosts": ("tuilab.cli.hosts:hosts", "Compare machines, preset by preset, from the history."),
    "export": ("tuilab.cli.export:export", "Write a run as Markdown, HTML, CSV or JSON."),
    "explain": (
        "tuilab.cli.explain:explain",
        "Show where each op of a preset or your own code would run, and why.",
    ),
    "profile": ("tuilab.cli.profile:profile", "Show where a call's time goes, op by op."),
    "selftest": ("tuilab.cli.selftest:selftest", "Test tuilab's own measurements, in under two minutes."),
    "machine": ("tuilab.cli.machine:machine", "Measure this machine's hardware limits (once, then saved)."),
    "doctor": ("tuilab.cli.doctor:doctor", "Find out why TensorFlow sees no GPU here, and how to fix it."),
    "check": (
        "tuilab.cli.check:check",
        "Find the mistakes in an article's benchmarks.",
    ),
    "import": ("tuilab.cli.import_:import_", "Write presets from an article's examples."),
    "serve": ("tuilab.cli.serve:serve", "Serve the lab to a browser on this machine."),
    "schema": ("tuilab.cli.schema:schema", "Print the JSON Schema of a command's input or output."),
    "completion": ("tuilab.cli.completion:completion", "Print shell completion for bash, zsh or fish."),
    "worker": ("tuilab.cli.worker:worker", "Run a worker on standard input and output (ssh starts it)."),
}


class Unread(Exception):
    """Raised if the program that reads standard output has closed the pipe, which is not an error."""


class Lazy(click.Group):
    """A group that imports a command's module only when the command is called, so that help and the app
    start quickly.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise Unread from None  # click would exit with 1, the code for findings

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if meant := with_command(args[0]):
                raise click.UsageError(meant, ctx) from error
            if near := difflib.get_close_matches(args[0], COMMANDS, 1):
                raise click.UsageError(f"{error.message} Did you mean {near[0]}?", ctx) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def with_command(words: str) -> str:
    """Return advice for a user who typed a file or model without a command: the commands that accept it as
    their argument.

    Returns "" if `words` name neither a file nor a model.
    """
    from tuilab.lab.naming import resolve
    from tuilab.model.files import expanded
    from tuilab.model.subject import Article, Recording, Script

    path = expanded(words)
    file = path if path.exists() else path.with_name(path.name.rpartition(":")[0] or path.name)
    if not file.exists():
        return ""
    name = sanitize_line(words, 200)
    # Put each command on its own line, because a terminal would break a longer line inside a word.
    match resolve(words):
        case Recording():
            means = f"`tuilab --replay {name}` plays it"
        case Script():
            watches = f"`tuilab watch {name}` runs it and shows where its time goes"
            means = f"{watches},\n`tuilab run {name}` measures its functions"
        case Article():
            means = f"`tuilab check {name}` finds the mistakes in its benchmarks"
        case _:
            means = f"`tuilab run {name}` measures it,\n`tuilab --preset {name}` opens it in the lab"
    return f"{name} needs a command:\n{means}"


@click.group(cls=Lazy, invoke_without_command=True)
@click.version_option(__version__, prog_name="tuilab")
@click.option(
    "--preset",
    default="",
    help="Open this in the lab: a preset or its file, model.py:forward, model.keras.",
)
@click.option("--demo", is_flag=True, help="Open with the demo: guess first, then see the measurement.")
@click.option(
    "--replay",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    default=None,
    help="Show a recorded run.",
)
@click.option("--theme", default=None, help="Theme of the lab: dark, light, or any theme that the lab lists.")
@click.option(
    "--hangup",
    type=click.Choice(["finish", "end"], case_sensitive=False),
    default="finish",
    show_default=True,
    help="If the connection drops: finish the run without a screen, or end it.",
)
@click.option("--utc", is_flag=True, help="Show times in UTC instead of this machine's time zone.")
@python_option
@click.option("--served", is_flag=True, hidden=True)
@click.pass_context
def cli(ctx: click.Context, /, served: bool, utc: bool, **options: Any) -> None:
    """Why isn't this using my GPU, and would it be faster if it did?

    Without a command, opens the lab.
    """
    from tuilab.model import moments

    moments.in_utc = utc
    if ctx.invoked_subcommand is None:
        if served:  # end this lab together with the server that owns its browser page
            # Ctrl-C in the server's terminal must reach only the server, which closes its pages properly.
            os.setsid() if hasattr(os, "setsid") else None
            die_with_parent()
        from tuilab.tui.options import Options
        from tuilab.tui.start import open_lab

        own = chosen_environment()
        ctx.exit(open_lab(Options(**options, environments=(own,) if own else ())))


def main() -> None:
    try:
        code = final(cli.main(prog_name="tuilab", standalone_mode=False) or DONE)
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _leave(code)
        sys.exit(code)
    except click.ClickException as error:
        _fail_usage(error)
    except InputError as error:
        _fail(error, BAD_INPUT)
    except WorkerError as error:
        _fail(error, WORKER_FAILED)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except (BrokenPipeError, Unread):
        _leave(DONE)
    except sqlite3.Error as error:
        _fail(about_history(error), BAD_INPUT)
    except OSError as error:
        named = error.filename or _UNNAMED.get(error.errno or 0, "")
        file = sanitize_line(str(named)) + ": " if named else ""
        _fail(f"{file}{sanitize_line(str(error.strerror or error))}", BAD_INPUT)
    except Exception as error:
        from tuilab.lab.files import keep_fault

        _fail(keep_fault(error), FAULT)


_UNNAMED = {
    **dict.fromkeys((errno.ENOSPC, errno.EBADF, errno.EFBIG), "standard output"),
    errno.ENOENT: "the current folder",
}
"""The file to name in the message for an OSError that has no file name, by errno."""


def about_history(error: sqlite3.Error) -> str:
    """Return a message about a database error of the history, with a remedy."""
    if "locked" in str(error) or "busy" in str(error):
        return f"another program is using the history ({error}); try again in a moment"
    code = sqlite_code(error)
    if code == sqlite3.SQLITE_READONLY:
        return "the history is read-only; nothing was changed"
    if code == sqlite3.SQLITE_FULL:
        return "the history's disk is full; nothing was changed. `tuilab history prune` frees space"
    repair = "`tuilab history check --repair` recovers all readable data"
    return sanitize_line(f"the history cannot be read ({error}); {repair}")


def _leave(code: int) -> NoReturn:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())
    sys.exit(code)


EXTRA = re.compile(r"unexpected extra arguments? \(([a-z_]+=\S+)\)")


def _option_value(option: str) -> str:
    """Return the option's value from the command line; `VALUE` if the option has none."""
    given = (pair for pair in pairwise([*sys.argv, ""]) if pair[0].partition("=")[0] == option)
    word, after = next(given, ("", ""))
    value = word.partition("=")[2] or after
    return value if value and not value.startswith("-") else "VALUE"


def _fail_usage(error: click.ClickException) -> NoReturn:
    """Print click's usage error without control characters, and exit."""
    text = io.StringIO()
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        name, context = error.option_name.lstrip("-"), error.ctx
        options = [option for param in context.command.params for option in param.opts]
        groups = (c for c in (context, context.parent) if c and isinstance(c.command, click.Group))
        owner = next((c for c in groups if name in cast(click.Group, c.command).list_commands(c)), None)
        if owner is not None:
            message = f"{error.message} Use the command: {owner.command_path} {name}."
            error = click.NoSuchOption(error.option_name, message, ctx=context)
        elif "--set" in options and not difflib.get_close_matches(error.option_name, options, 1, 0.8):
            # Users often try to set a model's parameter with an option of the same name, such as `--batch 4`.
            value = _option_value(error.option_name)
            message = f"{error.message} Set a parameter with --set {name}={value}."
            error = click.NoSuchOption(error.option_name, message, ctx=error.ctx)
    elif isinstance(error, click.UsageError) and error.ctx and (extra := EXTRA.search(error.message)):
        known = [option for param in error.ctx.command.params for option in param.opts]
        if option := next((name for name in ("--axis", "--set") if name in known), ""):
            message = f"{error.message}. Set a parameter with {option} {extra[1]}."
            error = click.UsageError(message, ctx=error.ctx)
    error.show(text)
    with contextlib.suppress(OSError, ValueError):
        click.echo(sanitize_block(text.getvalue(), 20_000), nl=False, err=True)
    sys.exit(BAD_INPUT)


def _fail(error: Exception | str, code: int) -> None:
    try:
        # For an error in user code, the whole traceback is more helpful than its last line.
        say(str(getattr(error, "detail", "") or error))
        sys.stdout.flush()
    except (OSError, ValueError):
        _leave(code)
    sys.exit(code)
