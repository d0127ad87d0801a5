"""From a run's state and result to what the widgets draw. Pure."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tuilab.model.quantity import median_of, prefixed, seconds
from tuilab.model.result import ArmResult, Crossover, RunResult
from tuilab.model.run import ArmSamples, ArmState, RunState
from tuilab.report.axes import Axis
from tuilab.tui.widgets.bars import Bar
from tuilab.tui.widgets.chart import Chart, Series, Vertical, distribution
from tuilab.tui.widgets.compose import STRIP
from tuilab.tui.widgets.heatmap import AxisValues, Heat
from tuilab.tui.widgets.look import Mark

# From this ratio between the slowest and the fastest arm on, a linear axis would squash the fast ones.
LOG_FROM = 3.0
UNKNOWN = Mark("muted", "•")
"""Of an arm that the run has not named."""
EARLIER, WARMING = "faint: earlier runs", "warming up: not counted"


def live_chart(
    state: RunState,
    marks: Mapping[str, Mark],
    *,
    figures: Mapping[str, ArmResult] | None = None,
    shown: Callable[[str], bool] = lambda arm: True,
    ghosts: Sequence[RunState] = (),
    point: int = 0,
) -> Chart:
    """The samples of each arm at one point, in the order they came, over the earlier runs' ones.

    figures: the arms' results by id, for medians and their bands. shown: whether to draw an arm. Before the
    first round there are the blocks of the warm-up, which are not counted and go when the rounds come: each
    arm from the left, since they warm up one after another.
    """
    cells = [arm.cells[point] for arm in state.arms.values() if point in arm.cells]
    warming = state.running and bool(cells) and not any(cell.samples for cell in cells)
    series = _before(ghosts, marks, shown, point)
    title = " · ".join([WARMING] * warming + [EARLIER] * bool(series))
    levels: list[float] = []
    for arm, known in state.arms.items():
        if not shown(arm) or arm not in marks:
            continue
        cell, result = known.cells.get(point) or ArmSamples(), (figures or {}).get(arm)
        xs, ys = (range(len(cell.warming)), cell.warming) if warming else (cell.rounds, cell.samples)
        median, band = (result.median_s, result.ci95_s) if result and not warming else (None, None)
        note = ""
        if median is not None:
            note = median_of(median, _half(band))
        elif not cell.samples and known.status not in (None, "ok"):
            note = str(known.status)
        if ys:
            levels += [min(ys), max(ys)] if warming else [cell.fastest, cell.slowest]
        strip = distribution(ys, median, band, STRIP) if median is not None else None
        tell = None if warming else partial(about_sample, known, cell, median)
        series.append(
            Series(
                arm, known.label, marks[arm], xs, ys, style="trace", median=median, band=band, note=note,
                strip=strip, tell=tell,
            )
        )  # fmt: skip
    key = f"{state.run} warm-up" if warming else state.run
    x = Axis("block" if warming else "round", "count", low=0.0)
    return Chart(key, series, x, _time_axis(levels), title=title)


def _time_axis(levels: Sequence[float]) -> Axis:
    """Seconds per call, on a log scale where the fast ones would else be squashed."""
    log = bool(levels) and max(levels) > LOG_FROM * min(levels)
    return Axis("time per call", "time", log=log)


def _before(
    ghosts: Sequence[RunState], marks: Mapping[str, Mark], shown: Callable[[str], bool], point: int
) -> list[Series]:
    return [
        Series(
            f"before {ghost.run} {arm}", "", marks[arm], cell.rounds, cell.samples, style="trace", ghost=True
        )
        for ghost in ghosts
        for arm, known in ghost.arms.items()
        if arm in marks and shown(arm) and (cell := known.cells.get(point)) and cell.samples
    ]


def about_sample(known: ArmState, cell: ArmSamples, median: float | None, index: int) -> str:
    """`round 12: 343 µs, 2.1 % above the median`; and the arm's caveats."""
    value = cell.samples[index]
    said = f"round {cell.rounds[index]}: {seconds(value)}"
    if median:
        off = value / median - 1
        said += f", {abs(off):.1%} {'above' if off >= 0 else 'below'} the median".replace("%", " %")
    caveats = "; ".join(dict.fromkeys(flag.message for flag in known.flags))
    return said + (f". {caveats}" if caveats else "")


def _half(ci95: tuple[float, float] | None) -> float | None:
    return (ci95[1] - ci95[0]) / 2 if ci95 else None


def sweep_chart(result: RunResult, marks: Mapping[str, Mark], *, binary: bool = True) -> Chart:
    """Medians with error bars along the axis of a sweep, on log scales, with the crossovers found."""
    name = result.axis[0]
    series = []
    for arm in result.arms:
        if arm.id not in marks:
            continue
        rows = sorted(
            (float(point.values.get(name, 0)), cell.median_s, cell.ci95_s or (cell.median_s, cell.median_s))
            for point in result.points
            for cell in point.arms
            if cell.id == arm.id and cell.median_s is not None
        )
        xs, ys, bands = zip(*rows, strict=True) if rows else ((), (), ())
        low, high = ([band[end] for band in bands] for end in (0, 1))
        note = "" if rows else arm.reason or arm.status
        series.append(
            Series(arm.id, arm.label, marks[arm.id], xs, ys, "linepoints", low=low, high=high, note=note)
        )
    series += at_best(result)
    label = name.replace("_", " ")
    return Chart(
        key=result.run,
        series=series,
        x=Axis(label, "binary" if binary else "count", log=True),
        y=Axis("time per call", "time", log=True),
        verticals=[v for v in map(_vertical, crossovers(result)) if v],
    )


DASHES = 24
"""Of the line of a GPU at best, from end to end."""


def at_best(result: RunResult) -> list[Series]:
    """A GPU that is not here, at best: dashed and faint, so that nobody takes it for a measurement."""
    bound = result.sweep_bound
    if bound is None or not result.roofs or len(result.axis) != 1:
        return []
    path = [(float(p.value), p.resident_s or p.copied_s or 0.0) for p in bound.points]
    path = [(x, y) for x, y in path if x > 0 and y > 0]
    if len(path) < 2:
        return []
    xs, ys = _between(path)
    mark = Mark("muted", "╌")
    return [Series("at best", f"{bound.name} at best", mark, xs, ys, note="by its data sheet", ghost=True)]


def _between(path: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Points evenly along a path on log scales, every other one left out."""
    import numpy as np  # a run that has such a bound was summed up with it

    xs, ys = np.log(np.array(path)).T
    at = np.linspace(xs[0], xs[-1], 2 * DASHES)[::2]
    return np.exp(at).tolist(), np.exp(np.interp(at, xs, ys)).tolist()


def crossovers(result: RunResult) -> Sequence[Crossover]:
    """Every crossover of the result."""
    return result.crossovers or ((result.crossover,) if result.crossover else ())


def _vertical(crossover: Crossover) -> Vertical | None:
    if crossover.at is None:
        return None
    low, high = crossover.ci95 or (None, None)
    return Vertical(crossover.at, low, high, f"crossover {rounded(crossover.at)}")


def rounded(value: float) -> str:
    """A size to two digits: `18k`."""
    return prefixed(value, 2).replace(" ", "")


def bars_of(result: RunResult, marks: Mapping[str, Mark]) -> list[Bar]:
    """Arms from the fastest to the slowest, then those that did not run; ratios are to the fastest."""
    measured = sorted((a for a in result.arms if a.median_s is not None), key=lambda a: a.median_s or 0.0)
    fastest = measured[0].id if measured else ""
    ratios = {(ratio.a, ratio.b): (ratio.ratio, ratio.ci95) for ratio in result.ratios}
    out = []
    for arm in [*measured, *(a for a in result.arms if a.median_s is None)]:
        ratio, ci = ratios.get((arm.id, fastest), (None, None))
        if ratio is None and (fastest, arm.id) in ratios:
            turned, ends = ratios[fastest, arm.id]
            ratio, ci = 1 / turned, (1 / ends[1], 1 / ends[0])
        if ratio is None and arm.id != fastest and arm.median_s and measured[0].median_s:
            ratio = arm.median_s / measured[0].median_s
        out.append(Bar(arm, marks.get(arm.id, UNKNOWN), ratio, ci))
    return out


def heat_of(
    result: RunResult, a: str, b: str, marks: Mapping[str, Mark], *, binary: tuple[bool, bool] = (True, True)
) -> Heat | None:
    """How many times `b`'s time `a` takes over a sweep of two axes; None where there are not two."""
    if len(result.axis) != 2:
        return None
    names = {arm.id: arm.label for arm in result.arms}
    across, up = result.axis
    cells: dict[tuple[int, int], tuple[float | None, str]] = {}
    even: set[tuple[int, int]] = set()
    for point in result.points:
        times = {cell.id: cell for cell in point.arms if cell.id in (a, b)}
        first, second = times.get(a), times.get(b)
        ratio, words = None, ""
        if first and second and first.median_s and second.median_s:
            ratio = first.median_s / second.median_s
            words = f"{median_of(first.median_s)} to {median_of(second.median_s)}"
            if first.ci95_s and second.ci95_s and _overlap(first.ci95_s, second.ci95_s):
                even.add((int(point.values[across]), int(point.values[up])))
        else:
            words = next((cell.reason for cell in (first, second) if cell and cell.reason), "")
        cells[int(point.values[across]), int(point.values[up])] = ratio, words
    xs, ys = sorted({x for x, _ in cells}), sorted({y for _, y in cells})
    nothing = (None, "")
    low, high = marks.get(a, Mark("h0", "•")), marks.get(b, Mark("h1", "×"))
    if low.hue[:3] == high.hue[:3]:
        # Two shades of one family would look alike on a ground.
        low, high = Mark("h0", low.marker), Mark("h1", high.marker)
    return Heat(
        x=AxisValues(across.replace("_", " "), tuple(xs), binary[0]),
        y=AxisValues(up.replace("_", " "), tuple(ys), binary[1]),
        values=tuple(tuple(cells.get((x, y), nothing)[0] for x in xs) for y in ys),
        low=(names.get(a, a), low),
        high=(names.get(b, b), high),
        equal=frozenset((xs.index(x), ys.index(y)) for x, y in even),
        words=tuple(tuple(cells.get((x, y), nothing)[1] for x in xs) for y in ys),
    )


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
