"""Draws a sweep as curves over one axis or as a map over two axes, and describes its points."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from tuilab.analysis.answer import at_point
from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.reading import family_of, measured
from tuilab.analysis.words import on_axis, quotient
from tuilab.model.events import Node, copies_of, ops_of
from tuilab.model.quantity import median_of, prefixed, size, suffixed
from tuilab.model.result import ArmResult, PointArm, RunResult
from tuilab.model.run import RunState
from tuilab.report.axes import Kind, PlotAxis
from tuilab.report.chart import Chart, Series, Vertical
from tuilab.report.rows import ratio_between

DASHES = 24
"""Number of dashes in the line for a GPU's best case."""
BELOW = 0.8
"""A bound below this fraction of the shortest measured time is probably below the time axis."""
MOST_LANES = 3


def sweep_chart(result: RunResult) -> Chart:
    """Return the medians with error bars along a sweep's axis, and the crossovers."""
    curves = [_curve(result, arm) for arm in result.arms]
    sizes = sorted({x for curve in curves for x in curve.x})
    kind: Kind = "binary" if in_powers_of_two([*sizes[:1], *sizes[-1:]]) else "count"
    return Chart(
        key=result.run,
        series=[*curves, *at_best(result)],
        x=PlotAxis(result.axis[0].replace("_", " "), kind, log=not sizes or sizes[0] > 0),
        y=PlotAxis("time per call", "time", log=True),
        verticals=[
            Vertical(c.at, c.ci95, f"crossover {rounded(c.at)}")
            for c in result.crossovers
            if c.at is not None
        ],
    )


def in_powers_of_two(sizes: Iterable[float]) -> bool:
    return all(size >= 1 and int(size) & (int(size) - 1) == 0 for size in sizes)


def _curve(result: RunResult, arm: ArmResult) -> Series:
    rows = sorted(
        (float(at), cell.median_s, *(cell.ci95_s or (cell.median_s, cell.median_s)), point.finished)
        for point in result.points
        # a recording from another machine may lack the size
        if isinstance(at := point.values.get(result.axis[0]), int | float)
        for cell in point.arms
        if cell.id == arm.id and cell.median_s is not None
    )
    xs, ys, low, high, finished = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    note = "" if rows else arm.reason or arm.status
    hollow = frozenset(i for i, done in enumerate(finished) if not done)
    return Series(arm.id, arm.label, xs, ys, "curve", arm.id, low=low, high=high, note=note, hollow=hollow)


def at_best(result: RunResult) -> list[Series]:
    """Return the best case on a GPU that the user does not have: dashed and faint, because it is not a
    measurement.
    """
    bound = result.sweep_bound
    if bound is None or not result.roofs or len(result.axis) != 1:
        return []
    path = [(float(p.value), p.resident_s or p.copied_s or 0.0) for p in bound.points]
    path = [(x, y) for x, y in path if x > 0 and y > 0]
    if len(path) < 2:
        return []
    import numpy as np  # a run with a best case has already loaded NumPy

    xs, ys = np.log(np.array(path)).T
    dashes = np.linspace(xs[0], xs[-1], 2 * DASHES)[::2]
    ends = np.exp(dashes).tolist(), np.exp(np.interp(dashes, xs, ys)).tolist()
    least = min((arm.median_s for p in result.points for arm in p.arms if arm.median_s), default=0.0)
    # The bound never changes the axes. If it is below the time axis, a note in the legend replaces the line.
    note = "from its data sheet" if max(ends[1]) > least * BELOW else "below the plot"
    return [Series("at best", f"{bound.name} at best", *ends, "dashes", note=note, ghost=True)]


def rounded(value: float) -> str:
    """Round a size to two digits, such as `18k`."""
    return prefixed(value, 2).replace(" ", "")


def describe_point(state: RunState, arm: str, place: tuple[str, int]) -> tuple[list[str], str]:
    """Return sentences about one point of a sweep, and the kind of device that is faster there: `CPU`, `GPU`,
    or "" if nothing was measured.

    The sentences are the answer at this point, and the devices of the arm's ops. place: the swept parameter
    and its value.
    """
    name, value = place
    point = next((p.index for p in state.points if p.values.get(name) == value), None)
    if point is None:
        return [], ""
    nodes = state.arms[arm].placement.get(point, ()) if arm in state.arms else ()
    timed = measured(state, point)
    sentences = at_point(state, point) or [f"At {on_axis(name, f'{value:,}')}, nothing could be measured."]
    return [*sentences, *lanes(nodes)], family_of(timed[0], point) if timed else ""


def lanes(nodes: Iterable[Node]) -> list[str]:
    """Return a line such as `CPU:0 ━━━ 2 ops` per device, then a line for the copies between each pair of
    devices.
    """
    ops: Counter[str] = Counter()
    copies: Counter[tuple[str, str]] = Counter()
    moved: Counter[tuple[str, str]] = Counter()
    every = list(nodes)
    for node in ops_of(every):
        ops[node.device] += node.count
    for node in copies_of(every):
        copies[node.device, node.to] += node.count
        moved[node.device, node.to] += node.bytes
    out = [
        f"{device}  {'━' * min(12, 1 + number)} {number:,} op{'s' * (number != 1)}"
        for device, number in sorted(ops.items())
    ]
    for (begin, end), number in sorted(copies.items()):
        size_of = f", {size(moved[begin, end])}" if moved[begin, end] else ""
        out.append(f"{begin} ─▶ {end}  {number:,} cop{'y' if number == 1 else 'ies'}{size_of}")
    return out[:MOST_LANES]


@dataclass(frozen=True)
class HeatAxis:
    """An axis of a map over two parameters: the name of its parameter, and the measured values, ascending."""

    label: str
    values: tuple[int, ...]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        binary = in_powers_of_two(self.values)
        return tuple(suffixed(value, binary=binary) for value in self.values)


@dataclass(frozen=True)
class HeatCell:
    """The comparison of two arms at one point of a sweep over two axes."""

    ratio: float | None = None
    """The first arm's time divided by the second's; None if an arm has no time."""
    even: bool = False
    """True if the intervals overlap, so that neither arm is clearly faster."""
    times: str = ""
    """The longer time divided by the shorter one, as in sentences: `12.5×`."""
    words: str = ""


@dataclass(frozen=True)
class Heat:
    """The comparison of two arms in a sweep over two axes, as a map."""

    x: HeatAxis
    y: HeatAxis
    arms: tuple[tuple[str, str], tuple[str, str]]
    cells: tuple[tuple[HeatCell, ...], ...]
    """Rows of cells: cells[j][i] belongs to y.values[j] and x.values[i]."""


def pair(result: RunResult) -> tuple[str, str]:
    """Return the ids of the two arms to compare: those of the first crossover, or else the first two arms."""
    for crossover in result.crossovers:
        return crossover.a, crossover.b
    ids = [arm.id for arm in result.arms if arm.median_s is not None] or [arm.id for arm in result.arms]
    return ids[0], ids[min(1, len(ids) - 1)]


def heat_of(result: RunResult, a: str, b: str) -> Heat | None:
    """Return the comparison of the arms `a` and `b` in a sweep over two axes; None for any other run."""
    if len(result.axis) != 2:
        return None
    across, up = result.axis
    at = {(int(p.values[across]), int(p.values[up])): p for p in result.points}
    xs = HeatAxis(across.replace("_", " "), tuple(sorted({x for x, _ in at})))
    ys = HeatAxis(up.replace("_", " "), tuple(sorted({y for _, y in at})))
    names = {arm.id: arm.label for arm in result.arms}
    arms = (a, names.get(a, a)), (b, names.get(b, b))

    def cell(i: int, j: int) -> HeatCell:
        point = at.get((xs.values[i], ys.values[j]))
        timed = {arm.id: arm for arm in point.arms} if point else {}
        place = f"{xs.label} {xs.labels[i]}, {ys.label} {ys.labels[j]}"
        ratio = ratio_between(point.ratios if point else (), a, b)
        return _compared(timed.get(a), timed.get(b), arms[0][1], arms[1][1], place, ratio)

    columns, rows = range(len(xs.values)), range(len(ys.values))
    return Heat(xs, ys, arms, tuple(tuple(cell(i, j) for i in columns) for j in rows))


def _compared(
    a: PointArm | None,
    b: PointArm | None,
    first: str,
    second: str,
    place: str,
    by_rounds: RatioEstimate | None = None,
) -> HeatCell:
    """Return a cell with text such as `samples 16k, batch 8: GPU graph is 3.21× faster than CPU graph; 190 µs
    against 610 µs`.

    by_rounds: the ratio of the arms; by default, the quotient of their medians.
    """
    if a is None or b is None or not a.median_s or not b.median_s:
        why = next((arm.reason for arm in (a, b) if arm is not None and arm.reason), "not measured")
        return HeatCell(words=f"{place}: {why}")
    ratio = a.median_s / b.median_s
    even = bool(a.ci95_s and b.ci95_s and a.ci95_s[0] <= b.ci95_s[1] and b.ci95_s[0] <= a.ci95_s[1])
    known = [(a.median_s, a.half_width_s), (b.median_s, b.half_width_s)]
    one, other = (median_of(*figure) for figure in known)
    if by_rounds is not None:
        ratio, even = by_rounds.ratio, not by_rounds.differs or (by_rounds.ratio > 1) != (ratio > 1)
    if even:
        text = f"{first} and {second} cannot be told apart; {one} and {other}"
        return HeatCell(ratio, even, words=f"{place}: {text}")
    if ratio > 1:
        first, second, one, other, known = second, first, other, one, known[::-1]
    times = quotient(*known[1], *known[0])
    if by_rounds is not None:
        times = (by_rounds if ratio > 1 else by_rounds.turned).words
    text = f"{first} is {times} faster than {second}; {one} against {other}"
    return HeatCell(ratio, times=times, words=f"{place}: {text}")
