"""Measures on a Dask cluster, and saves the results in the history like the lab's own runs."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from tuilab.fleet.grid import Grid
from tuilab.fleet.runs import FleetRuns, FleetSweep, FleetWork
from tuilab.fleet.scheduler import Progress
from tuilab.lab.recorder import RunRecorder
from tuilab.lab.settings import Settings
from tuilab.lab.state import LabState
from tuilab.model.arms import HERE, family
from tuilab.model.errors import InputError
from tuilab.model.machine import Machine
from tuilab.model.parameters import Integer, LogInteger, nearest
from tuilab.model.requests import Measure
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.model.scenario import BudgetName, Sweep


async def open_grid(on: str, jobs: int) -> Grid:
    """Open the fleet's nodes. Raises WorkerError on failure. Raises InputError if an argument is invalid or
    Dask is not installed.
    """
    try:
        from tuilab.fleet.dask_grid import DaskGrid
    except ModuleNotFoundError as error:
        expected = f"{error.name} to be installed: `pip install 'tuilab[fleet]'`"
        raise InputError("--on", on, expected) from None
    return await DaskGrid.open(on, jobs)


class Fleet:
    """Nodes of a Dask cluster, for use with `async with`. Saves results in the history as they arrive."""

    def __init__(
        self,
        grid: Grid,
        progress: Callable[[Progress], None],
        say: Callable[[str], None],
        patience_s: float,
    ) -> None:
        """progress: called with the state of each node. say: called with each message about the history.
        patience_s: maximum number of seconds to wait for a node that can measure.
        """
        self._grid, self._patience_s = grid, patience_s
        self._progress, self._say = progress, say
        self._recorder = RunRecorder(LabState(), say)
        self._stop = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._grid.close()
        words = self._recorder.close()
        if words:
            self._say(words)

    def stop(self) -> None:
        self._stop.set()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    async def sweep(
        self, settings: Settings, sweep: Sweep, budget: BudgetName, cold: bool
    ) -> tuple[RunState, RunResult]:
        """Measure the points of a sweep on the nodes. Raises WorkerError if no node can measure."""

        def plan(devices: Sequence[str]) -> Measure:
            return settings.request({HERE: devices}, budget, sweep, cold=cold)

        axis = settings.declaration.parameter(sweep.axes[0].parameter)
        assert isinstance(axis, Integer | LogInteger)
        work = FleetSweep(
            grid=self._grid,
            plan=plan,
            families=families(settings),
            nearest=partial(nearest, axis),
            on_event=self._recorder.record,
            say=self._progress,
            patience_s=self._patience_s,
        )
        await self._carry_out(work)
        return work.state, self._recorder.conclude(work.state, settings.preset.claims)

    async def runs(
        self, choices: Sequence[Settings], budget: BudgetName, told: Callable[[Settings, RunResult], None]
    ) -> dict[int, str]:
        """Measure each choice on one node. told: called with each choice and its result.

        Returns the reason for each failure, by index in `choices`. Raises WorkerError if no node can measure.
        """

        def measured(key: int, state: RunState) -> None:
            if state.run:
                told(choices[key], self._recorder.conclude(state, choices[key].preset.claims))

        work = FleetRuns(
            grid=self._grid,
            plans=[(choice.preset.name, partial(_request, choice, budget)) for choice in choices],
            families=list(dict.fromkeys(kind for choice in choices for kind in families(choice))),
            on_event=self._recorder.record,
            measured=measured,
            say=self._progress,
            patience_s=self._patience_s,
        )
        await self._carry_out(work)
        return work.failed

    async def _carry_out(self, work: FleetWork) -> None:
        running = asyncio.ensure_future(work.run())
        asked = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait([running, asked], return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            await work.stop()
        asked.cancel()
        await running


def _request(settings: Settings, budget: BudgetName, machine: Machine) -> Measure:
    devices = [device.name for device in machine.devices]
    return settings.request({HERE: devices}, budget, settings.preset.sweep)


def families(settings: Settings) -> list[str]:
    """Return the device families (`CPU`, `GPU`) that the arms need."""
    return list(dict.fromkeys(family(device) for device in settings.arms.devices))
