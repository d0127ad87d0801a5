"""The engine's self-test: busy-waits (spins) of known length, equal calls, known differences, competing
load.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Optional

import msgspec

from tuilab.analysis.caveats import Pressure
from tuilab.analysis.words import percent
from tuilab.model.quantity import plural
from tuilab.model.selftest import NAMES, Check, Selftest, SelftestSummary
from tuilab.worker.context import Context
from tuilab.worker.measure import interference
from tuilab.worker.selftest import clock, decisions, forks, simulation, surroundings
from tuilab.worker.selftest.simulation import Coverage

Checks = dict[str, Callable[[], Optional[Check]]]


def selftest(context: Context, body: bytes) -> Iterator[msgspec.Struct]:
    """Yield one Check after another, and a SelftestSummary at the end.

    A check that raises an error counts as failed; the other checks continue.
    """
    asked = msgspec.json.decode(body, type=Selftest)
    begun = time.monotonic()
    done: list[Check] = []
    during: dict[str, Pressure] = {}
    for name, check in _checks(context, asked, during).items():
        before = interference.read_counters()
        found = _run(name, check)
        seen = interference.pressure_since(before)
        if seen is not None:
            during[name] = seen
        if found is not None:
            done.append(found)
            yield found
    yield summary(done, time.monotonic() - begun)


def summary(done: list[Check], seconds: float) -> SelftestSummary:
    """Return the summary of the checks, with a warning if the machine was not idle."""
    failed = [check.name for check in done if not check.passed]
    idle = not {"idle", "still-idle"} & set(failed)
    message = f"all {len(done)} checks passed" if len(done) > 1 else "the check passed"
    if failed:
        message = f"{plural(len(failed), 'check')} of {len(done)} failed: {', '.join(failed)}"
    if not idle:
        message = f"the machine was not idle, so this test is not reliable; {message}"
    return SelftestSummary(
        passed=not failed, idle=idle, checks=len(done), failed=len(failed), seconds=seconds, message=message
    )


def _run(name: str, check: Callable[[], Optional[Check]]) -> Check | None:
    begun = time.monotonic()
    try:
        found = check()
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        found = Check(name=name, figure=None, limit="it runs", passed=False, message=message)
    return found and msgspec.structs.replace(found, seconds=time.monotonic() - begun)


def _checks(context: Context, asked: Selftest, during: Mapping[str, Pressure]) -> Checks:
    """Return the checks by name. during: load by other processes in each finished check, filled while the
    checks run.
    """
    noise = decisions.Noise()
    long, times, seed = asked.long, 5 if asked.long else 1, asked.seed
    made: Checks = {
        "idle": lambda: surroundings.idle(surroundings.listen(context)),
        "clock-resolution": clock.resolution,
        "clock-rate": clock.rate,
        "spin-slope": lambda: clock.slope(context, long=long),
        "a-a": lambda: decisions.same_against_same(context, noise, long=long),
        "slowdown": lambda: decisions.slowdown(context, noise, long=long),
        "least-difference": lambda: decisions.resolution(noise),
        "drift": lambda: decisions.drifting(context, long=long),
        "coverage-median": lambda: _coverage(
            "coverage-median", "the median", simulation.median_coverage(1_000 * times, seed=seed)
        ),
        "coverage-ratio": lambda: _coverage(
            "coverage-ratio", "the ratio of two arms", simulation.ratio_coverage(1_000 * times, seed=seed + 1)
        ),
        "coverage-crossover": lambda: _coverage(
            "coverage-crossover", "the crossover", simulation.crossover_coverage(300 * times, seed=seed + 3)
        ),
        "roofline": lambda: surroundings.roofline(context),
        "shares": lambda: surroundings.shares(context),
        "link": lambda: surroundings.link(context),
        "still-idle": lambda: surroundings.still_idle(during),
        "forked": lambda: forks.forked(context),
        "hog": lambda: surroundings.hog(context),
    }
    wanted = set(asked.only or NAMES)
    if wanted & {"slowdown", "least-difference"}:
        wanted.add("a-a")  # the other checks need the noise that the check `a-a` measures
    return {name: made[name] for name in NAMES if name in wanted}


def _coverage(name: str, what: str, found: Coverage) -> Check:
    return Check(
        name=name,
        figure=found.share,
        limit="93–97%",
        passed=found.within_limits,
        message=(
            f"simulated: {percent(found.share)} of {found.trials} intervals of {what} contain the true value"
        ),
    )
