"""Commands with `--on`: what they measure goes to the nodes of a Dask cluster."""

import asyncio
import math
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import click

from tuilab.analysis.answer import brief
from tuilab.analysis.summary import summarise
from tuilab.cli.choose import Choice
from tuilab.cli.session import Outcome
from tuilab.fleet.grid import Grid
from tuilab.fleet.runs import FleetRuns, FleetSweep
from tuilab.fleet.scheduler import Progress
from tuilab.history.recorder import Recorder
from tuilab.history.store import Store
from tuilab.model.arms import family
from tuilab.model.errors import InputError
from tuilab.model.machine import Machine
from tuilab.model.parameters import Integer, LogInteger, nearest
from tuilab.model.requests import Measure
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.model.scenario import BudgetName, Sweep

T = TypeVar("T")

SLURM = "slurm"
PATIENCE_S = 60.0
JOBS = 4


def fleet_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--on` and `--jobs`, for a command's decorator."""
    on = click.option("--on", metavar="tcp://HOST:8786|slurm", help="Measure on a fleet's nodes, by Dask.")
    jobs = click.option(
        "--jobs", type=click.IntRange(1), default=JOBS, show_default=True, help="With --on slurm: how many."
    )
    return on(jobs(command))


class Stoppable(Protocol):
    """What is carried out on a fleet, and stopped there."""

    async def run(self) -> object:
        """To the end."""

    async def stop(self) -> None:
        """Soon."""


async def open_grid(on: str, jobs: int) -> Grid:
    """The fleet's nodes. Raises InputError, also where Dask is not installed, or WorkerError."""
    try:
        from tuilab.fleet.dask_grid import DaskGrid
    except ModuleNotFoundError as error:
        expected = f"{error.name} to be installed: `pip install 'tuilab[fleet]'`"
        raise InputError("--on", on, expected) from None
    return await DaskGrid.open(on, jobs)


class Fleet:
    """A fleet for the length of one command; `async with`. Its runs go to the history as they come in."""

    def __init__(self, grid: Grid, patience_s: float = PATIENCE_S) -> None:
        self._grid, self._patience_s = grid, patience_s
        self._recorder = Recorder(Store.open())
        self._narrator = FleetNarrator()
        self._interrupted = asyncio.Event()

    async def __aenter__(self) -> "Fleet":
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupted.set)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._narrator.end()
        await self._grid.close()
        if not self._recorder.flush():
            click.echo(f"tuilab: {self._recorder.problem}", err=True)
        self._recorder.store.close()

    async def sweep(
        self, choice: Choice, budget: BudgetName, sweep: Sweep, cold: bool
    ) -> tuple[Outcome, RunResult]:
        """Measure a sweep's points on the nodes. Raises WorkerError where no node can measure."""

        def plan(devices: Sequence[str]) -> Measure:
            return choice.measure(devices, budget, sweep, cold)

        axis = choice.declaration.parameter(sweep.axes[0].parameter)
        assert isinstance(axis, Integer | LogInteger)
        work = FleetSweep(
            grid=self._grid,
            plan=plan,
            families=families(choice),
            nearest=partial(nearest, axis),
            on_event=self._recorder.record,
            say=self._narrator,
            patience_s=self._patience_s,
        )
        await self._carry_out(work)
        result = summarise(work.state, choice.preset.claims)
        self._recorder.conclude(work.state.run, result.answer, brief(work.state))
        return Outcome(work.state, self._interrupted.is_set()), result

    async def runs(
        self, choices: Sequence[Choice], budget: BudgetName, told: Callable[[Choice, RunResult], None]
    ) -> dict[int, str]:
        """Measure each choice on one node. told: of each as it comes in.

        Returns the places in `choices` of those that could not be measured, with the reason. Raises
        WorkerError where no node can measure, KeyboardInterrupt on Ctrl-C, after what was measured is told.
        """

        def measured(key: int, state: RunState) -> None:
            if state.run:
                result = summarise(state, choices[key].preset.claims)
                self._recorder.conclude(state.run, result.answer, brief(state))
                told(choices[key], result)

        work = FleetRuns(
            grid=self._grid,
            plans=[(choice.preset.name, partial(_request, choice, budget)) for choice in choices],
            families=list(dict.fromkeys(kind for choice in choices for kind in families(choice))),
            on_event=self._recorder.record,
            measured=measured,
            say=self._narrator,
            patience_s=self._patience_s,
        )
        await self._carry_out(work)
        if self._interrupted.is_set():
            raise KeyboardInterrupt
        return work.failed

    async def _carry_out(self, work: Stoppable) -> None:
        """To the end, or until Ctrl-C has stopped it."""
        running = asyncio.ensure_future(work.run())
        asked = asyncio.ensure_future(self._interrupted.wait())
        await asyncio.wait([running, asked], return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            await work.stop()
        asked.cancel()
        await running


def _request(choice: Choice, budget: BudgetName, machine: Machine) -> Measure:
    devices = [device.name for device in machine.devices]
    return choice.measure(devices, budget, choice.preset.sweep)


def families(choice: Choice) -> list[str]:
    """The kinds of device that a choice's arms ask for."""
    return list(dict.fromkeys(family(device) for device in choice.preset.arms.devices))


def on_fleet(on: str, jobs: int, act: Callable[[Fleet], Coroutine[Any, Any, T]]) -> T:
    """Open the fleet, act, close it."""

    async def main() -> T:
        # A queue may keep a job waiting for hours; Ctrl-C ends the wait.
        patience_s = math.inf if on == SLURM else PATIENCE_S
        async with Fleet(await open_grid(on, jobs), patience_s) as fleet:
            return await act(fleet)

    return asyncio.run(main())


class FleetNarrator:
    """Says what every node does on standard error: one line on a terminal, elsewhere a line for each step."""

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
        """Clear the line that is being overwritten."""
        if self._terminal and self._doing:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
