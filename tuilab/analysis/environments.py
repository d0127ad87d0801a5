"""Compares environments that took turns in one run: the ratio of each arm's times, and other differences."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from tuilab.analysis.processes import log_ratio
from tuilab.analysis.ratios import RatioEstimate, from_location
from tuilab.analysis.reading import measured, nodes_at
from tuilab.analysis.statistics import Location
from tuilab.analysis.words import capitalized, first_few, listed, percent, times
from tuilab.model.arms import LOCAL, Arm, labels
from tuilab.model.quantity import interval, seconds
from tuilab.model.result import EnvironmentPair, EnvironmentRatio
from tuilab.model.run import ArmState, RunState

MOST_OPS = 4
FIRST_CALLS = 1.5
"""Two first calls are reported if their ratio is at least this. The limit is large because each process has
only one first call.
"""
ALIKE = 1.1
"""Two arms are reported as equal if the interval of their ratio is within this factor of 1."""
DOUBT = 0.05
"""Maximum probability of reporting a false difference for a pair of environments."""


def environments(state: RunState) -> list[str]:
    """Return the environments that took turns, in the run's order.

    Only such environments share rounds; workers on several hosts do not.
    """
    hosts = list(dict.fromkeys(arm.arm.host for arm in state.arms.values()))
    named = [h for h in hosts if h in state.machines and (state.machines[h].environment or not h)]
    here = [h for h in named if state.machines[h].host == state.machines[named[0]].host]
    return here if len(here) > 1 else []


def pairs(state: RunState, point: int) -> tuple[EnvironmentPair, ...]:
    """Compare the first environment with each of the other environments."""
    names = environments(state)
    return tuple(_pair(state, point, names[0], other) for other in names[1:])


def sentences(state: RunState, point: int) -> list[str]:
    lines = [sentence for pair in pairs(state, point) for sentence in pair.sentences]
    if lines and state.workers < 2:
        # Processes differ in speed, so if each environment had a single process, the environment may not be
        # the cause.
        lines[0] = f"{'So far, with' if state.running else 'With'} one process each: {lines[0]}"
    return lines


def _pair(state: RunState, point: int, a: str, b: str) -> EnvironmentPair:
    ok = {id(arm) for arm in measured(state, point)}
    both = [(one, other) for one, other in _pair_arms(state, a, b) if id(one) in ok and id(other) in ok]
    compared = [(one, other, log_ratio(one.cell(point), other.cell(point))) for one, other in both]
    known = [(one, other, middle) for one, other, middle in compared if middle is not None]
    names = labels([_bare(one) for one, _, _ in known])
    rows = [
        _row(name, from_location(middle), middle, len(known))
        for name, (_, _, middle) in zip(names, known, strict=True)
    ]
    a, b = a or LOCAL, b or LOCAL
    moved = [line for one, other in both for line in _describe_moved_ops(one, other, point, a, b)]
    moved = list(dict.fromkeys(moved))
    parts = [_faster(rows, a, b), *moved, _first_calls(both, point, a, b), _imports(state, a, b)]
    return EnvironmentPair(a=a, b=b, arms=tuple(rows), sentences=tuple(part for part in parts if part))


def _pair_arms(state: RunState, a: str, b: str) -> Iterator[tuple[ArmState, ArmState]]:
    others = {_bare(arm): arm for arm in state.arms.values() if arm.arm.host == b}
    for arm in state.arms.values():
        other = others.get(_bare(arm))
        if arm.arm.host == a and other is not None:
            yield arm, other


def _bare(arm: ArmState) -> Arm:
    return msgspec.structs.replace(arm.arm, host="")


def _row(name: str, found: RatioEstimate, middle: Location, among: int) -> EnvironmentRatio:
    """Compare one arm in both environments. The test is adjusted for the number of arms (`among`), so that
    the probability of any false difference is at most `DOUBT`.
    """
    half = middle.half_width(1 - DOUBT / among)
    differs = half is not None and abs(middle.mean) > half and found.differs
    low, high = found.interval or (None, None)
    return EnvironmentRatio(
        arm=name,
        ratio=found.ratio,
        ci95=(low, high) if low is not None and high is not None else None,
        differs=differs,
    )


def _faster(rows: Sequence[EnvironmentRatio], a: str, b: str) -> str:
    """Return `CPU graph: new is 1.30× faster than old [1.25 1.36]; CPU eager: equal within 3%.`"""
    if not rows:
        return f"No arm was measured in both {a} and {b}."
    differing = [row for row in rows if row.differs]
    parts = [f"{row.arm}: {_difference(row, a, b)}" for row in differing]
    same = [row for row in rows if not row.differs]
    if same:
        spans = [max(row.ci95[1], 1 / row.ci95[0]) for row in same if row.ci95 and row.ci95[0] > 0]
        widest = max(spans) if len(spans) == len(same) else None
        which = (
            listed([row.arm for row in same]) if differing else "every arm" if len(rows) > 1 else rows[0].arm
        )
        if widest is not None and widest <= ALIKE:
            parts.append(f"{which}: {a} and {b} are equal within {percent(widest - 1)}")
        else:
            shows = (
                f"; a difference below {times(widest)} would have gone undetected"
                if widest is not None
                else ""
            )
            parts.append(f"{which}: no difference between {a} and {b} beyond the noise{shows}")
    return capitalized("; ".join(parts)) + "."


def _difference(row: EnvironmentRatio, a: str, b: str) -> str:
    swap = row.ratio < 1
    fast, slow = (a, b) if swap else (b, a)
    ratio = 1 / row.ratio if swap else row.ratio
    if row.ci95 is None:
        return f"{fast} is {times(ratio)} faster than {slow}"
    low, high = (1 / row.ci95[1], 1 / row.ci95[0]) if swap else row.ci95
    return f"{fast} is {times(ratio, (high - low) / 2)} faster than {slow} {interval(low, high, ratio)}"


def _describe_moved_ops(one: ArmState, other: ArmState, point: int, a: str, b: str) -> Iterator[str]:
    """Describe ops that the environments run on different devices, and ops that only one environment has."""
    here, there = _ops(one, point), _ops(other, point)
    if not here or not there:
        return
    label = labels([_bare(one)])[0]
    moved = [op for op in here if op in there and set(here[op]) != set(there[op])]
    for op in moved[:MOST_OPS]:
        devices = [f"on {listed(sorted(ops[op]))} in {name}" for name, ops in ((a, here), (b, there))]
        yield f"{label}: {op} runs {', '.join(devices)}."
    only_here = [op for op in here if op not in there]
    only_there = [op for op in there if op not in here]
    parts = [
        f"{name} runs {first_few(ops, MOST_OPS)}" for name, ops in ((a, only_here), (b, only_there)) if ops
    ]
    if parts:
        yield f"{label}: only {', only '.join(parts)}."


def _ops(arm: ArmState, point: int) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for node in nodes_at(arm, point):
        if node.kind == "op" and node.device:
            found.setdefault(node.op, Counter())[node.device] += node.count
    return found


ONCE = " (measured once, so this may be noise)"


def _first_calls(both: Sequence[tuple[ArmState, ArmState]], point: int, a: str, b: str) -> str:
    """Describe the arm whose first calls in the two environments differ most."""
    found = []
    for one, other in both:
        here, there = one.cell(point).first_s, other.cell(point).first_s
        if here and there and max(here, there) > FIRST_CALLS * min(here, there):
            label = labels([_bare(one)])[0]
            text = f"the first call of {label} took {seconds(here)} in {a}, {seconds(there)} in {b}{ONCE}"
            found.append((abs(math.log(here / there)), text))
    return capitalized(max(found)[1]) + "." if found else ""


def _imports(state: RunState, a: str, b: str) -> str:
    known = {fact.name: fact.value for fact in state.facts}
    here, there = known.get(f"{a}/import_s"), known.get(f"{b}/import_s")
    if here is None or there is None:
        return ""
    took = f"{seconds(float(here))} in {a}, {seconds(float(there))} in {b}"
    return f"Importing TensorFlow took {took}{ONCE}."
