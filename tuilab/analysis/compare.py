"""Two runs against each other, arm by arm and place by place."""

from collections.abc import Collection, Sequence

import msgspec

from tuilab.analysis.places import Place, ordered, places, swept, words
from tuilab.analysis.reading import estimate_at
from tuilab.analysis.words import listed
from tuilab.model.parameters import Value
from tuilab.model.quantity import interval, seconds
from tuilab.model.run import ArmState, RunState

ONE_PROCESS = (
    "Measured in one process each. In another process the same code can settle at a pace some per cent away, "
    "which these intervals do not hold; --budget publish measures in three."
)

DISTURBED = ("cpu-contention", "canary", "throttled", "gpu-shared")
"""Flags of a run that tell of the machine, not of what was measured."""


class ArmComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One arm in both runs, at one place.

    ratio: median of the second over the first; low, high: bounds on it. at: the value of each parameter that
    either run sweeps; empty where none does. differs: whether the two intervals of the medians are apart, so
    that the runs differ beyond their noise.
    """

    arm: str
    label: str
    ratio: float
    low: float
    high: float
    differs: bool
    sentence: str
    at: dict[str, Value] = {}


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """warnings: in what the runs are unlike, so that a difference may not be the software's.

    note: what the intervals do not hold; "" where nothing differs or each run had several processes.
    """

    warnings: tuple[str, ...]
    arms: tuple[ArmComparison, ...]
    note: str = ""


def compare(first: RunState, second: RunState) -> Comparison:
    """Compare the arms that both runs measured, at each place where both did.

    The runs were not interleaved, so nothing pairs their rounds: the ratio's bounds are those of the two
    95 % intervals, low2/high1 … high2/low1, which are wider than a 95 % interval of the ratio.
    """
    names = swept((first, second))
    arms = compare_arms(first, second, names)
    warnings = unlike(first, second, names)
    for which, state in (("first", first), ("second", second)):
        warnings += [f"the {which} run was disturbed: {words}" for words in disturbed(state)]
    if names and not places(first, names).keys() & places(second, names).keys():
        warnings.append(f"nothing to compare: the runs were not measured at the same {listed(names)}")
    return Comparison(warnings=tuple(warnings), arms=arms, note=note(first, second, arms))


def compare_arms(first: RunState, second: RunState, names: Sequence[str]) -> tuple[ArmComparison, ...]:
    """The arms that both runs measured, at each place where both did; names: what tells places apart."""
    here, there = places(first, names), places(second, names)
    common = ordered([place for place in here if place in there])
    return tuple(
        found
        for identity, arm in first.arms.items()
        for place in common
        if (other := second.arms.get(identity)) is not None
        and (found := _at(place, arm, here[place], other, there[place])) is not None
    )


def note(first: RunState, second: RunState, arms: Sequence[ArmComparison]) -> str:
    """What the intervals of differing arms do not hold; "" where they hold it, or nothing differs."""
    alone = min(first.workers, second.workers) < 2 and any(arm.differs for arm in arms)
    return ONE_PROCESS if alone else ""


def _at(place: Place, arm: ArmState, here: int, other: ArmState, there: int) -> ArmComparison | None:
    a, b = estimate_at(arm, here), estimate_at(other, there)
    if a is None or b is None or a.low is None or a.high is None or b.low is None or b.high is None:
        return None
    if min(a.low, b.low) <= 0:
        return None
    differs = a.high < b.low or b.high < a.low
    ratio = b.median / a.median
    times = f"{max(ratio, 1 / ratio):.3g} × {'slower' if ratio > 1 else 'faster'}"
    said = times if differs else "no difference beyond the noise"
    shown = [f"{seconds(e.median)} {interval(e.low or 0, e.high or 0, e.median)}" for e in (a, b)]
    name = f"{arm.label} at {words(place)}" if place else arm.label
    return ArmComparison(
        arm=arm.arm.id,
        label=arm.label,
        at=dict(place),
        ratio=ratio,
        low=b.low / a.high,
        high=b.high / a.low,
        differs=differs,
        sentence=f"{name}: {shown[0]} → {shown[1]}: {said}",
    )


def unlike(first: RunState, second: RunState, swept: Collection[str] = ()) -> list[str]:
    """In what two runs differ beside their figures and the parameters that are swept, each in a sentence."""
    out = []
    a, b = first.machine, second.machine
    if a is not None and b is not None:
        for name in ("host", "cpu", "tensorflow", "python", "driver", "tuilab"):
            if getattr(a, name) != getattr(b, name):
                out.append(f"unlike machines: {name} is {getattr(a, name)} against {getattr(b, name)}")
        if a.gpus != b.gpus:
            names = [", ".join(g.description for g in m.gpus) or "no GPU" for m in (a, b)]
            out.append(f"unlike machines: {names[0]} against {names[1]}")
    if first.scenario is not None and second.scenario is not None:
        if first.scenario.workload != second.scenario.workload:
            out.append(f"unlike work: {first.scenario.workload} against {second.scenario.workload}")
        for name, value in first.scenario.parameters.items():
            there = second.scenario.parameters.get(name)
            if value != there and name not in swept:
                out.append(f"unlike parameters: {name} is {value} against {there}")
    return out


def disturbed(state: RunState) -> list[str]:
    """What else went on while a run was measured, so that a difference may be of that; one of a kind."""
    found = {flag.code: flag.message for flag in reversed(state.flags) if flag.code in DISTURBED}
    return [found[code] for code in DISTURBED if code in found]
