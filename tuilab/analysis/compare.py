"""Compares two runs arm by arm, or any number of runs in one table."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from tuilab.analysis.ratios import ALIKE, RatioEstimate
from tuilab.analysis.reading import (
    AxisValues,
    emulated_sentence,
    estimate_at,
    ordered,
    place_words,
    places,
    swept,
)
from tuilab.analysis.statistics import Estimate
from tuilab.analysis.words import listed, times
from tuilab.model.arms import labels
from tuilab.model.parameters import Value
from tuilab.model.run import ArmState, RunState

ONE_PROCESS = (
    "{} measured in one process. Another process may differ by a few percent, which this interval does "
    "not cover. Use --budget standard to measure in several processes."
)

ONLY_DEVICE = "no arm was measured in both runs: the compared arms ran on different devices"
NO_MATCH = "nothing to compare: the runs have no arm in common, even if the device is ignored"

SAME = "within the noise"
BY_CHANCE = "may be chance"
"""Label of a difference that may be chance, because two processes of the same code can differ as much."""
DISTURBED = ("cpu-contention", "canary", "throttled", "gpu-shared")
"""Codes of caveats about the machine rather than the measured code."""


class ArmComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One arm in both runs, at one size of a sweep.

    If the runs have no arm in common, this compares two arms that differ only in their device, `A → B`.

    ratio: median of the second run over that of the first; low, high: its bounds. at: the value of each
    parameter that either run sweeps. differs: True if the intervals of the two medians do not overlap. If a
    run had a single process, the medians must also differ by more than two processes of the same code can
    (`ALIKE`).
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
    """A comparison of two runs. warnings: differences between the runs, other than software versions, that
    may explain different figures.

    note: a warning about variation that the intervals do not include; "" if nothing differs or each run had
    several processes.
    """

    warnings: tuple[str, ...]
    arms: tuple[ArmComparison, ...]
    note: str = ""


def compare(first: RunState, second: RunState) -> Comparison:
    """Compare the arms that both runs measured, at each common size.

    The runs were not interleaved, so their rounds cannot be paired. The ratio's bounds, low2/high1 and
    high2/low1, come from the 95% intervals of the two medians and are wider than a 95% interval of the ratio.
    """
    names = swept((first, second))
    arms = compare_arms(first, second, names)
    warnings = unlike(first, second, names)
    if not first.arms.keys() & second.arms.keys():
        arms = _by_device(first, second, names)
        warnings.append(ONLY_DEVICE if arms else NO_MATCH)
    for which, state in (("first", first), ("second", second)) if arms else ():
        warnings += [f"the {which} run was disturbed: {reason}" for reason in disturbed(state)]
    warnings += _nowhere(first, second, names)
    warnings += _left_out(first, second, names, arms)
    warnings += _emulated(first, second)
    return Comparison(warnings=tuple(warnings), arms=arms, note=note(first, second, arms))


def _emulated(*states: RunState) -> list[str]:
    return list(dict.fromkeys(filter(None, map(emulated_sentence, states))))


def _nowhere(first: RunState, second: RunState, names: Sequence[str]) -> list[str]:
    if not names or places(first, names).keys() & places(second, names).keys():
        return []
    return [f"nothing to compare: the runs were not measured at the same {listed(names)}"]


def _left_out(
    first: RunState, second: RunState, names: Sequence[str], arms: Sequence[ArmComparison]
) -> list[str]:
    """Return a warning about arms that both runs measured, but that have no interval to compare."""
    here, there = places(first, names), places(second, names)
    common = [place for place in here if place in there]
    compared = {each.arm for each in arms}
    left = [
        arm.label
        for identity, arm in first.arms.items()
        if identity not in compared
        and (other := second.arms.get(identity)) is not None
        and any(estimate_at(arm, here[each]) and estimate_at(other, there[each]) for each in common)
    ]
    if not left:
        return []
    are = "is" if len(left) == 1 else "are"
    return [f"{listed(left)} {are} not compared: at least one run has no 95% interval for the median"]


def compare_arms(first: RunState, second: RunState, names: Sequence[str]) -> tuple[ArmComparison, ...]:
    pairs = ((arm, second.arms[identity]) for identity, arm in first.arms.items() if identity in second.arms)
    return _compare_pairs(first, second, names, pairs)


def _by_device(first: RunState, second: RunState, names: Sequence[str]) -> tuple[ArmComparison, ...]:
    pairs = (
        (arm, other)
        for arm in first.arms.values()
        for other in second.arms.values()
        if msgspec.structs.replace(arm.arm, device=other.arm.device) == other.arm
    )
    return _compare_pairs(first, second, names, pairs)


def _compare_pairs(
    first: RunState, second: RunState, names: Sequence[str], pairs: Iterable[tuple[ArmState, ArmState]]
) -> tuple[ArmComparison, ...]:
    alone = min(first.workers, second.workers) < 2
    here, there = places(first, names), places(second, names)
    common = ordered([place for place in here if place in there])
    return tuple(
        found
        for arm, other in pairs
        for place in common
        if (found := _at(place, arm, here[place], other, there[place], alone)) is not None
    )


def note(first: RunState, second: RunState, arms: Sequence[ArmComparison]) -> str:
    """Return a note that the intervals do not cover the variation between processes; "" if all intervals
    overlap, or if both runs measured several processes.
    """
    alone = [which for which, state in (("first", first), ("second", second)) if state.workers < 2]
    if not alone or all(arm.low <= 1 <= arm.high for arm in arms):
        return ""
    return ONE_PROCESS.format("Each run was" if len(alone) > 1 else f"The {alone[0]} run was")


def _at(
    place: AxisValues, arm: ArmState, here: int, other: ArmState, there: int, alone: bool
) -> ArmComparison | None:
    """Compare two arms at one size each; None if an arm has no interval. alone: True if a run had a single
    process.
    """
    a, b = estimate_at(arm, here), estimate_at(other, there)
    if a is None or b is None or a.interval is None or b.interval is None:
        return None
    if min(a.interval[0], b.interval[0]) <= 0:
        return None
    ratio = b.median / a.median
    low, high = b.interval[0] / a.interval[1], b.interval[1] / a.interval[0]
    nearest = max(low, 1 / high)
    differs = nearest > (ALIKE if alone else 1)
    estimate = RatioEstimate(ratio, low, high, n=0, paired=False)
    shown, word = (estimate, "slower") if ratio > 1 else (estimate.turned, "faster")
    text = f"{shown.words} {word} {shown.span}" if differs else "no difference beyond the noise"
    if nearest > 1 and not differs:
        text = "cannot be told apart, because two processes of the same code may differ by as much"
    ids, named = arm.arm.id, arm.label
    if arm.arm != other.arm:
        ids, named = f"{ids} → {other.arm.id}", " → ".join(labels([arm.arm, other.arm]))
    name = f"{named} at {place_words(place)}" if place else named
    return ArmComparison(
        arm=ids,
        label=named,
        at=dict(place),
        ratio=ratio,
        low=low,
        high=high,
        differs=differs,
        sentence=f"{name}: {a.with_interval} → {b.with_interval}: {text}",
    )


def unlike(first: RunState, second: RunState, swept: Collection[str] = ()) -> list[str]:
    """Return a phrase for each difference between two runs other than figures and swept parameters."""
    out = []
    a, b = first.machine, second.machine
    if a is not None and b is not None:
        for name in ("host", "cpu", "tensorflow", "python", "driver", "tuilab"):
            one, other = (getattr(machine, name) or "none" for machine in (a, b))
            if one != other:
                out.append(f"different machines: {name} is {one} versus {other}")
        if a.gpu_models != b.gpu_models:
            names = [", ".join(g.description for g in m.gpus) or "no GPU" for m in (a, b)]
            out.append(f"different machines: {names[0]} versus {names[1]}")
    if first.scenario is not None and second.scenario is not None:
        if first.scenario.workload != second.scenario.workload:
            # If the work differs, the other differences are irrelevant.
            return [*out, f"different work: {first.scenario.workload} versus {second.scenario.workload}"]
        for name, value in first.scenario.parameters.items():
            there = second.scenario.parameters.get(name)
            if value != there and name not in swept:
                out.append(f"different parameters: {name} is {value} versus {there}")
    return out


def disturbed(state: RunState) -> list[str]:
    messages = {flag.code: flag.message for flag in reversed(state.flags) if flag.code in DISTURBED}
    return [messages[code] for code in DISTURBED if code in messages]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """An arm in one run: its median and 95% interval in seconds per call.

    ratio: its median over that of the base run; low, high: the ratio's bounds. All three are None for the
    base run, and without an interval. differs: as in `ArmComparison`.
    """

    median_s: float
    low_s: float | None
    high_s: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    differs: bool = False

    def __str__(self) -> str:
        return Estimate(self.median_s, self.low_s, self.high_s, n=0, rho=0.0).with_interval

    @property
    def words(self) -> str:
        """Return `1.27× slower` or `within the noise`; "" if there is no ratio."""
        if self.ratio is None:
            return ""
        ratio = RatioEstimate(self.ratio, self.low, self.high, 0)
        if not self.differs:
            return BY_CHANCE if ratio.differs else SAME
        return f"{ratio.words} slower" if self.ratio > 1 else f"{ratio.turned.words} faster"

    @property
    def bounds(self) -> str:
        """Return `between 1.2× and 1.3×`; "" if the ratio has no bounds."""
        return (
            ""
            if self.low is None or self.high is None
            else f"between {times(self.low)} and {times(self.high)}"
        )


class ArmAcross(msgspec.Struct, frozen=True, kw_only=True):
    """One arm at one size, with its figure in each run; None for runs that did not measure it. at: the size
    in words.
    """

    arm: str
    label: str
    figures: tuple[Figure | None, ...]
    at: str = ""


class Across(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of several runs. warnings: for each run, its differences from the base run and its
    disturbances.

    note: a warning about variation that the intervals do not include; "" if there is none. left_out: number
    of sizes that only one run measured; they have no row.
    """

    base: int
    warnings: tuple[tuple[str, ...], ...]
    arms: tuple[ArmAcross, ...]
    note: str = ""
    left_out: int = 0


def across(states: Sequence[RunState], base: int = 0) -> Across:
    """Return every arm that any of the runs measured, with its ratios to run `base`.

    Sweeps have a row for each size that at least two runs measured. The runs were not interleaved, so a ratio
    counts as different from 1 only if the 95% intervals of the two medians do not overlap.
    """
    names = swept(states)
    indices = [places(state, names) for state in states]
    against = states[base]
    compared = [() if state is against else compare_arms(against, state, names) for state in states]
    by_arm_and_place = [{(c.arm, tuple(c.at.items())): c for c in own} for own in compared]
    every = ordered([place for known in indices for place in known])
    common = [place for place in every if sum(place in known for known in indices) > 1]
    labels = {arm: known.label for state in reversed(states) for arm, known in state.arms.items()}
    arms = []
    for arm in dict.fromkeys(arm for state in states for arm in state.arms):
        for place in common:
            figures = tuple(
                _figure(state, arm, index.get(place), own.get((arm, place)))
                for state, index, own in zip(states, indices, by_arm_and_place, strict=True)
            )
            if any(figures):
                arms.append(ArmAcross(arm=arm, label=labels[arm], at=place_words(place), figures=figures))
    return Across(
        base=base,
        warnings=tuple(_warnings(against, state, names) for state in states),
        arms=tuple(arms),
        note=next(
            (
                sentence
                for s, own in zip(states, compared, strict=True)
                if (sentence := note(against, s, own))
            ),
            "",
        ),
        left_out=len(every) - len(common),
    )


def _warnings(base: RunState, state: RunState, names: Sequence[str]) -> tuple[str, ...]:
    differing = [] if state is base else [*_nowhere(base, state, names), *unlike(base, state, names)]
    return (*differing, *(f"disturbed: {reason}" for reason in disturbed(state)), *_emulated(state))


def _figure(state: RunState, arm: str, point: int | None, own: ArmComparison | None) -> Figure | None:
    known = state.arms.get(arm)
    estimate = estimate_at(known, point) if known is not None and point is not None else None
    if estimate is None:
        return None
    return Figure(
        median_s=estimate.median,
        low_s=estimate.low,
        high_s=estimate.high,
        ratio=own.ratio if own else None,
        low=own.low if own else None,
        high=own.high if own else None,
        differs=own.differs if own else False,
    )
