"""A run that was broken off: what it is missing, and whether it can be gone on with here."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from tuilab.analysis.reading import can_run, missing
from tuilab.model.errors import InputError
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.model.run import RunState

SAME = ("host", "cpu", "gpu_models", "tensorflow", "tuilab")
"""What must not have changed: figures of different machines are not one sample."""


def request(state: RunState) -> Measure:
    """What is to be measured to complete a run. Raises InputError where nothing is missing."""
    lacking = missing(state)
    if state.where:
        raise InputError(
            "run", state.run[:8], "a run on hosts; sweep again with --on to repeat one on a fleet"
        )
    if not lacking or state.scenario is None or state.budget is None:
        raise InputError("run", state.run[:8], "an interrupted run; every arm of this one is complete")
    points = {point for some in lacking.values() for point in some}
    hosts = {state.arms[name].arm.host for name in lacking}
    # With the others of their host, so that the rounds of all are paired.
    arms = [arm.arm for arm in state.arms.values() if arm.arm.host in hosts and can_run(arm)]
    return Measure(
        id=state.run,
        scenario=state.scenario,
        arms=tuple(arms),
        budget=msgspec.structs.replace(state.budget, workers=1),
        sweep=msgspec.structs.replace(state.sweep, refine=False) if state.sweep else None,
        preset=state.preset,
        # A fresh worker of the same run: its rounds are added to those that are there.
        worker=max(1, state.workers),
        points=tuple(p for p in state.points if p.index in points) if state.sweep else (),
    )


def check_code(state: RunState) -> None:
    """Raise InputError where a person's own file is gone, or is no longer what the run began with."""
    file = state.scenario.file if state.scenario else ""
    if not file:
        return
    path = Path(file.rpartition(":")[0])
    try:
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise InputError("run's file", str(path), f"a file that can be read ({error.strerror})") from None
    # The beginning is kept to the second.
    if changed >= datetime.fromisoformat(state.at) + timedelta(seconds=1):
        expected = "the code as it was when the run began; start a new run instead"
        raise InputError("run's file", str(path), expected)


def check_same(before: Mapping[str, Machine], now: Mapping[str, Machine]) -> None:
    """Raise InputError where a host is not what it was when the run began."""
    for host, machine in now.items():
        for name in SAME if host in before else ():
            then, there = getattr(before[host], name), getattr(machine, name)
            if then != there:
                where = f"run on {host or 'this machine'}, {name.replace('_', ' ')}"
                raise InputError(where, there, f"{then!r} as when it began; start a new run instead")
