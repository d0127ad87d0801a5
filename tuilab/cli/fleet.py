"""Measures on the nodes of a Dask cluster, for commands with `--on`."""

import asyncio
import math
import shutil
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from tuilab.cli.choose import combine
from tuilab.cli.lab import act_stoppably
from tuilab.cli.said import tell
from tuilab.fleet.scheduler import PATIENCE_S, Progress
from tuilab.lab.fleet import Fleet, open_grid

T = TypeVar("T")

SLURM = "slurm"
JOBS = 4


fleet_options = combine(
    click.option(
        "--on", metavar="tcp://HOST:8786|slurm", help="Measure on the nodes of a fleet, through Dask."
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1),
        default=JOBS,
        show_default=True,
        help="Number of nodes, with --on slurm.",
    ),
)


def on_fleet(on: str, jobs: int, act: Callable[[Fleet], Awaitable[T]]) -> T:
    async def main() -> T:
        # A queued job may wait for hours, so there is no time limit; Ctrl-C ends the wait.
        patience_s = math.inf if on == SLURM else PATIENCE_S
        narrator = FleetNarrator()
        async with Fleet(await open_grid(on, jobs), narrator, tell, patience_s) as fleet:
            try:
                return await act_stoppably(fleet, act(fleet))
            finally:
                narrator.end()

    return asyncio.run(main())


class FleetNarrator:
    """Prints the activities of the nodes to standard error: on a terminal in one line that is overwritten,
    elsewhere in one line per activity.
    """

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._doing: dict[str, str] = {}

    def __call__(self, news: Progress) -> None:
        count = f"[{news.done} of {news.total}] " if news.total else ""
        if news.grave or not self._terminal:
            self.end()
            if news.step:
                click.echo(count + f"{news.node} {news.text}".strip(), err=True)
            return
        if news.node:
            self._doing.pop("", None)
        self._doing[news.node] = news.text
        line = count + "  ".join(f"{node} {text};".strip() for node, text in self._doing.items())
        sys.stderr.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()

    def end(self) -> None:
        if self._terminal and self._doing:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
