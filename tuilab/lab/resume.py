"""Resumes a run: finds the missing measurements, and checks that this machine can make them."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from tuilab.analysis.confidence import confidence
from tuilab.analysis.environments import environments
from tuilab.analysis.forecast import forecast, obstacle
from tuilab.analysis.reading import can_run, missing
from tuilab.analysis.statistics import MIN_SAMPLES
from tuilab.analysis.words import percent
from tuilab.history.imports import BROKEN_OFF
from tuilab.interpreter import environment_at
from tuilab.model.environment import Environment
from tuilab.model.errors import InputError
from tuilab.model.events import Finished
from tuilab.model.machine import Machine
from tuilab.model.quantity import rough
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, FORK_S, IMPORT_S, Budget
from tuilab.model.subject import subject_of
from tuilab.runner.turns import LEAST_PROCESSES

SAME = ("host", "cpu", "gpu_models", "tensorflow", "tuilab")
"""Properties of a machine that must not have changed, because figures from different machines cannot be
combined.
"""
MOST_FURTHER = 20
"""Maximum number of processes that a continued run adds."""


def request(state: RunState) -> Measure:
    """Return the request that completes a stopped run, or adds processes to an imprecise run. Raises
    InputError if the run is complete and precise, or if a fleet measured it.
    """
    sure = confidence(state)
    if state.budget is not None and (more := further(state, sure.half_width, state.budget)) is not None:
        return more
    lacking, by_turns = missing(state), environments(state)
    if not lacking and by_turns and state.sweep is None and state.workers < LEAST_PROCESSES:
        lacking = {name: [0] for name, arm in state.arms.items() if can_run(arm)}
    if state.where:
        raise InputError(
            "run",
            state.run[:8],
            "a run that was not measured by a fleet; to repeat this one, sweep again with --on",
        )
    if not lacking or state.scenario is None or state.budget is None:
        raise InputError("run", state.run[:8], "an interrupted or imprecise run; this one is complete")
    points = {point for some in lacking.values() for point in some}
    hosts = {state.arms[name].arm.host for name in lacking}
    if hosts.intersection(by_turns):
        hosts.update(by_turns)
    # Measure all arms of these hosts, even complete arms, because rounds of different arms are paired.
    arms = [arm.arm for arm in state.arms.values() if arm.arm.host in hosts and can_run(arm)]
    return Measure(
        id=state.run,
        scenario=state.scenario,
        arms=tuple(arms),
        budget=msgspec.structs.replace(state.budget, workers=1),
        sweep=msgspec.structs.replace(state.sweep, refine=False) if state.sweep else None,
        preset=state.preset,
        # a fresh worker adds its rounds to the existing run
        worker=max(1, state.workers),
        points=tuple(p for p in state.points if p.index in points) if state.sweep else (),
    )


def is_interrupted(end: RunState | Finished) -> bool:
    """Return True if a user stopped the run, or if the lab and the worker ended before it."""
    return end.status == "cancelled" or (end.status == "failed" and end.message == BROKEN_OFF)


def stopped(state: RunState) -> Measure | None:
    """Return the request that completes a stopped run on this machine. Returns None if the run is complete,
    has no data, or used other hosts.
    """
    if not state.rounds or any(arm.arm.host or arm.arm.together for arm in state.arms.values()):
        return None
    try:
        return request(state)
    except InputError:
        return None


def further(state: RunState, half_width: float | None, budget: Budget) -> Measure | None:
    """Return the request that adds processes to a finished run, to reach the precision of `budget`.

    half_width: half of the run's widest interval, relative to its median. An interval needs at least six
    processes, and its width falls with the square root of their number. Returns None if the run is precise
    enough or has no interval, or is a sweep, a fleet run or a run on another host.
    """
    arms = tuple(arm.arm for arm in state.arms.values() if can_run(arm))
    if state.status != "ok" or state.scenario is None or state.sweep is not None or state.where or not arms:
        return None
    if half_width is None or half_width <= budget.precision or any(arm.host or arm.together for arm in arms):
        return None
    number = max(1, state.workers)
    wanted = math.ceil(number * (half_width / budget.precision) ** 2)
    whole = min(max(wanted, MIN_SAMPLES, number + 1), number + MOST_FURTHER)
    short = budget.further_s or (BUDGET["standard"].further_s if budget.workers == 1 else 0.0)
    return Measure(
        id=state.run,
        scenario=state.scenario,
        arms=arms,
        budget=msgspec.structs.replace(
            budget,
            workers=whole,
            forks=whole,
            further_s=short,
            limit_s=budget.limit_s / budget.workers * whole,
        ),
        preset=state.preset,
        phases=False,
        placement=False,
        worker=number,
    )


def further_s(request: Measure, machine: Machine, import_s: float = IMPORT_S) -> float:
    """Estimate the seconds that a request takes. import_s: seconds that a fresh process needs to import
    TensorFlow.
    """
    budget, arms, more = request.budget, len(request.arms), request.budget.workers - request.worker
    if budget.further_s and not machine.gpus:
        return import_s + more * (FORK_S + budget.further_each_s(arms, forked=True))
    limit_s = budget.limit_s / budget.workers * (more + 1)
    whole = msgspec.structs.replace(budget, workers=more + 1, limit_s=limit_s).expected_s(arms, import_s)
    one = msgspec.structs.replace(budget, workers=1, limit_s=limit_s / (more + 1)).expected_s(arms, import_s)
    return whole - one


def environments_of(state: RunState) -> tuple[Environment, ...]:
    """Return the run's Python environments. Raises InputError if an environment no longer exists."""
    return tuple(
        environment_at(host, machine.environment, machine.settings, f"run's environment {host}".rstrip())
        for host, machine in state.machines.items()
        if machine.environment
    )


def describe_rest(
    state: RunState,
    request: Measure,
    machine: Machine,
    act: str,
    import_s: float = IMPORT_S,
    brief: bool = False,
) -> str:
    """Describe the precision that continuing a finished run would achieve, and its cost, such as `{run}
    continues: about ± 10% in about 18 s`. If more rounds would not narrow the intervals, describe the reason
    and the remedy instead.

    act: beginning of the sentence, such as `{run} continues`. brief: describe only the remedy, without the
    reason.
    """
    reached, wanted = forecast(state, request.budget.workers), request.budget.precision
    if reached is None:
        now = confidence(state).half_width
        present = f"± {percent(now)}" if now is not None else "the interval"
        cause, remedy = obstacle(state)
        return remedy if brief else f"more rounds will not narrow {present} {cause}; {remedy}"
    precision = (
        f"about ± {percent(reached)}"
        if percent(reached) != percent(wanted) and reached > wanted
        else f"± {percent(wanted)}"
    )
    return f"{act}: {precision} in about {rough(further_s(request, machine, import_s))}"


def check_code(state: RunState) -> None:
    """Raise InputError if the user's file is missing or has changed since the run started."""
    file = state.scenario.file if state.scenario else ""
    if not file:
        return
    path = Path(subject_of(file).path)
    try:
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise InputError("run's file", str(path), f"a readable file ({error.strerror})") from None
    # the start time is stored with a resolution of one second
    if changed >= datetime.fromisoformat(state.at) + timedelta(seconds=1):
        expected = "the same code as when the run began; start a new run instead"
        raise InputError("run's file", str(path), expected)


def check_same(before: Mapping[str, Machine], now: Mapping[str, Machine]) -> None:
    """Raise InputError if a host has changed since the run started."""
    for host, machine in now.items():
        for name in SAME if host in before else ():
            then, there = getattr(before[host], name), getattr(machine, name)
            if then != there:
                where = f"run on {host or 'this machine'}, {name.replace('_', ' ')}"
                raise InputError(where, there, f"{then!r}, as when the run began; start a new run instead")
