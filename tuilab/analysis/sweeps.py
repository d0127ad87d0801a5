"""Finds the crossovers of a sweep: the arms to compare, and the sizes at which they cross."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import msgspec

from tuilab.analysis.crossover import SizeRatio, Timings, next_size, places, signs
from tuilab.analysis.crossover_words import Pair, crossover_of
from tuilab.analysis.processes import begun
from tuilab.analysis.reading import (
    axes,
    by_round,
    by_rounds,
    compare,
    does,
    estimate_at,
    family_of,
    measured,
    retraced,
    unfinished,
    value_at,
)
from tuilab.analysis.words import listed, on_axis
from tuilab.model.parameters import Value
from tuilab.model.result import Crossover
from tuilab.model.run import ArmState, RunState


@dataclass
class Series:
    """The points of a sweep along its first axis. points: size → index of the point, ascending.

    fixed: the second axis's value, if any. arms: size → arms measured at that size, fastest first. begun: the
    first round of each process after the first.
    """

    axis: str
    fixed: dict[str, Value]
    points: dict[int, int]
    arms: dict[int, list[ArmState]]
    begun: tuple[int, ...] = ()
    _timings: dict[str, Timings] = field(default_factory=dict)

    def timings(self, arm: ArmState) -> Timings:
        """Return an arm's seconds per call by size and round, for the sizes at which it was measured."""
        if arm.arm.id not in self._timings:
            self._timings[arm.arm.id] = {
                size: by_round(arm, point)
                for size, point in self.points.items()
                if arm.arm.id in self._ids(size)
            }
        return self._timings[arm.arm.id]

    def _ids(self, size: int) -> set[str]:
        return {arm.arm.id for arm in self.arms[size]}

    def everyone(self) -> list[ArmState]:
        return list({arm.arm.id: arm for arms in self.arms.values() for arm in arms}.values())

    def best(self, arms: Sequence[ArmState]) -> ArmState | None:
        """Return the arm measured at the most sizes; if there are several, the arm with the lowest geometric
        mean time.
        """
        wanted = {arm.arm.id for arm in arms}
        behind: dict[str, list[float]] = {}
        for size, here in self.arms.items():
            ours = [arm for arm in here if arm.arm.id in wanted]
            medians = [_median(arm, self.points[size]) for arm in ours]
            for arm, median in zip(ours, medians, strict=True):
                behind.setdefault(arm.arm.id, []).append(math.log(median / medians[0]))
        ranked = sorted(behind, key=lambda name: (-len(behind[name]), sum(behind[name])))
        return next((arm for arm in arms if ranked and arm.arm.id == ranked[0]), None)

    def places(self, a: ArmState, b: ArmState) -> list[SizeRatio]:
        """Return the ratio of a's time to b's at each size, with the figures that a run's answer prints."""
        shown = {
            size: (ratio, by_rounds(ratio, a, b, point))
            for size, point in self.points.items()
            if (ratio := compare(a, b, point)) is not None
        }
        return places(self.timings(a), self.timings(b), self.begun, shown)

    def crossover(self, a: ArmState, b: ArmState) -> Crossover:
        pair = Pair(a.arm.id, b.arm.id, a.label, b.label, self.axis)
        crossing = crossover_of(self.places(a, b), pair)
        if not self.fixed:
            return crossing
        where = listed([on_axis(name, str(value)) for name, value in self.fixed.items()])
        sentence = f"{crossing.sentence.removesuffix('.')} ({where})."
        return msgspec.structs.replace(crossing, where=self.fixed, sentence=sentence)


def _median(arm: ArmState, point: int) -> float:
    estimate = estimate_at(arm, point)
    assert estimate is not None  # every arm in a series was measured
    return estimate.median


def series_of(state: RunState, *, begun_too: bool = False) -> list[Series]:
    """Return one series for each value of the second axis, or a single series for one axis.

    Excludes arms that are retraced in each call. Also excludes unfinished points unless `begun_too` is True.
    """
    names, processes = axes(state), begun(state)
    cut = set() if begun_too else unfinished(state)
    rows: dict[tuple[Value, ...], dict[int, int]] = {}
    for point in state.points if names else ():
        size = value_at(state, point, names[0])
        if isinstance(size, int) and not isinstance(size, bool) and point.index not in cut:
            rows.setdefault(tuple(value_at(state, point, name) for name in names[1:]), {})[size] = point.index
    out = []
    for key, row in rows.items():
        points = dict(sorted(row.items()))
        arms = {
            size: [arm for arm in measured(state, point) if not retraced(arm, point)]
            for size, point in points.items()
        }
        out.append(Series(names[0], dict(zip(names[1:], key, strict=True)), points, arms, processes))
    return out


def crossovers(state: RunState, *, begun_too: bool = False) -> tuple[Crossover, ...]:
    """Return the sweep's crossovers. The first one compares the fastest arms: CPU with GPU if both were
    measured.

    Then each GPU arm is compared with the CPU arm of the same mode, dtype and variant. If the run has only
    one kind of device, the arm that wins at the smallest size is compared with the arm that wins at the
    largest size; if both are the same arm, it is compared with the arms that win at a size in between, or
    else with an arm that may win at some size, or else with the runner-up. Compares only arms that do the
    same work. begun_too: as for `series_of`.
    """
    out = []
    for series in series_of(state, begun_too=begun_too):
        pairs = {(a.arm.id, b.arm.id): (a, b) for kind in _kinds(series) for a, b in _pairs(kind)}
        out += [series.crossover(a, b) for a, b in pairs.values()]
    return tuple(out)


MOST_ADDED = 8
"""Maximum number of sizes that a sweep adds to narrow its crossovers."""


def size_to_add(state: RunState, allowed: Callable[[float], int]) -> int | None:
    """Return the next size to measure to narrow a reported crossover; None if no further size is needed.

    allowed: returns the nearest size that the parameter may take.
    """
    for series in series_of(state, begun_too=True):
        for crossing in crossovers(state, begun_too=True):
            a, b = (series.timings(state.arms[arm]) for arm in (crossing.a, crossing.b))
            size = next_size(a, b, allowed=allowed).size
            if size is not None and size not in series.points:
                return size
    return None


def _kinds(series: Series) -> list[Series]:
    """Return the series, split by kind of work so that each contains only arms that do the same work."""
    first = next(iter(series.points.values()), 0)
    kinds = dict.fromkeys(does(arm, first) for arm in series.everyone())
    return [
        replace(
            series,
            arms={s: [a for a in arms if does(a, first) == kind] for s, arms in series.arms.items()},
            _timings={},
        )
        for kind in kinds
    ]


def _pairs(series: Series) -> list[tuple[ArmState, ArmState]]:
    everyone = series.everyone()
    point = next(iter(series.points.values()), 0)
    cpus = [arm for arm in everyone if family_of(arm, point) == "CPU"]
    gpus = [arm for arm in everyone if family_of(arm, point) == "GPU"]
    if not gpus or not cpus:
        return _winners(series)
    pairs = [(a, b) for a, b in [(series.best(gpus), series.best(cpus))] if a is not None and b is not None]
    for a, b in product(gpus, cpus):
        if are_comparable(a, b):
            pairs.append((a, b))
    return pairs


def are_comparable(a: ArmState, b: ArmState) -> bool:
    return (a.arm.mode, a.arm.dtype, a.arm.variant) == (b.arm.mode, b.arm.dtype, b.arm.variant)


def _winners(series: Series) -> list[tuple[ArmState, ArmState]]:
    contested = [size for size, arms in series.arms.items() if len(arms) > 1]
    lead = series.best(series.everyone())
    if not contested or lead is None:
        return []
    first, last = (_first(series, size, lead) for size in (contested[0], contested[-1]))
    if first is not last:
        return [(last, first)]
    fastest = {series.arms[size][0].arm.id: series.arms[size][0] for size in contested}
    others = [arm for arm in fastest.values() if arm is not last]
    between = [arm for arm in others if 1 in signs(series.places(last, arm))]
    perhaps = [arm for arm in others if any(_may_win(place) for place in series.places(last, arm))]
    runner_up = next(arm for arm in series.arms[contested[-1]] if arm is not last)
    return [(last, arm) for arm in between or perhaps[:1] or [runner_up]]


def _may_win(place: SizeRatio) -> bool:
    """Return True if b has the lower mean, and the two are not equal within the noise."""
    return place.ratio.mean > 0 and not place.estimate.alike


def _first(series: Series, size: int, lead: ArmState) -> ArmState:
    """Return the arm that wins at a size: the overall fastest arm, unless another arm is significantly faster
    at that size.
    """
    here = series.arms[size]
    ratio = compare(lead, here[0], series.points[size]) if lead in here else None
    return here[0] if ratio is None or ratio.is_slower else lead
