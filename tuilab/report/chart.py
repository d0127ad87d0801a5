"""Converts a run to series over two axes, for the plots on the screen and in reports."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tuilab.model.arms import family
from tuilab.model.quantity import median_of, plural, seconds
from tuilab.model.result import ArmResult
from tuilab.model.run import ArmSamples, ArmState, RunState
from tuilab.report.axes import Limits, PlotAxis

Points = tuple[Sequence[float], Sequence[float]]
Style = Literal["trace", "curve", "line", "dashes"]

LOG_FROM = 3.0
"""The time axis is logarithmic if the slowest arm takes more than this many times as long as the fastest
one.
"""
EARLIER, WARMING = "faint: earlier runs", "warming up: not counted"
RESIDENT = "resident: input already on the GPU"
ROUND, BLOCK = "round: arms in random order", "block: a few calls timed together"
"""The labels of the x axis. Each names the unit and, after the colon, explains it."""
PLAIN = PlotAxis()


@dataclass(frozen=True)
class Series:
    """A curve or a cloud of points. New points may be appended to `x` and `y` while the run continues."""

    key: str
    label: str
    """The label in the legend; "" for a series that the legend leaves out."""
    x: Sequence[float] = ()
    y: Sequence[float] = ()
    style: Style = "trace"
    """`trace`: samples in order. `curve`: points with markers, joined by a line. `line`: a line without
    markers. `dashes`: a bound, drawn so that it does not look like a measurement.
    """
    arm: str = ""
    """Id of the arm that determines color and marker; "" for a series without an arm, such as a roof."""
    ghost: bool = False
    """True for a faint series, which cannot be selected and does not affect the axes."""
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    hollow: frozenset[int] = frozenset()
    """Indices of unfinished points, which are drawn hollow."""
    median: float | None = None
    band: Limits | None = None
    """The 95% interval of `median`."""
    note: str = ""
    tell: Callable[[int], str] | None = None
    """Returns a description of the point with the given index."""


@dataclass(frozen=True)
class Vertical:
    """A vertical line at a value such as a crossover.

    band: the 95% interval of the value.
    """

    at: float
    band: Limits | None = None
    label: str = ""


@dataclass(frozen=True)
class Chart:
    """A complete plot. Its axes only grow until `key` changes."""

    key: str = ""
    series: Sequence[Series] = ()
    x: PlotAxis = PLAIN
    y: PlotAxis = PLAIN
    verticals: Sequence[Vertical] = ()
    title: str = ""


def live_chart(
    state: RunState,
    *,
    figures: Mapping[str, ArmResult] | None = None,
    shown: Callable[[str], bool] = lambda arm: True,
    ghosts: Sequence[RunState] = (),
    point: int = 0,
) -> Chart:
    """Return each arm's samples at one point, drawn over the samples of earlier runs.

    Before the first round, the chart shows warm-up blocks, which no figure includes. Each arm's warm-up
    starts at the left, because arms warm up one after another. figures: the arms' results by id, for
    medians and bands. shown: returns whether to draw an arm.
    """
    cells = [arm.cells[point] for arm in state.arms.values() if point in arm.cells]
    warming = state.running and bool(cells) and not any(cell.samples for cell in cells)
    drawn = {arm: known for arm, known in state.arms.items() if shown(arm)}
    series = [
        Series(f"before {ghost.run} {arm}", "", cell.rounds, cell.samples, arm=arm, ghost=True)
        for ghost in ghosts
        for arm, known in ghost.arms.items()
        if arm in drawn and (cell := known.cells.get(point)) and cell.samples
    ]
    resident = any(
        "resident" in known.label.split() and family(known.arm.device) == "GPU" for known in drawn.values()
    )
    title = " · ".join([WARMING] * warming + [EARLIER] * bool(series) + [RESIDENT] * resident)
    levels: list[float] = []
    following = 0
    for arm, known in drawn.items():
        cell = known.cells.get(point) or ArmSamples()
        if state.running and not (cell.samples or cell.warming) and not _is_in_legend(state, arm, known):
            following += 1
        elif warming:
            warm = cell.warming
            series.append(
                Series(arm, known.label, range(len(warm)), warm, arm=arm, note=_missing(known, cell))
            )
            levels += [min(warm), max(warm)] if warm else []
        else:
            series.append(_sample_series(arm, known, cell, (figures or {}).get(arm)))
            levels += [cell.fastest, cell.slowest] if cell.samples else []
    if following:
        series.append(Series("following", f"{plural(following, 'arm')} to follow"))
    return Chart(
        key=f"{state.run} warm-up" if warming else state.run,
        series=series,
        x=PlotAxis(BLOCK if warming else ROUND, "count", low=0.0),
        y=PlotAxis("time per call", "time", log=bool(levels) and max(levels) > LOG_FROM * min(levels)),
        title=title,
    )


def _is_in_legend(state: RunState, arm: str, known: ArmState) -> bool:
    """Return True if the legend lists an arm that has no samples, because the arm is starting or cannot
    run.
    """
    beginning = state.progress.arm if state.progress else ""
    return arm == beginning or known.status in ("failed", "unavailable")


def _sample_series(arm: str, known: ArmState, cell: ArmSamples, result: ArmResult | None) -> Series:
    median, band = (result.median_s, result.ci95_s) if result else (None, None)
    note = _missing(known, cell)
    if result is not None and median is not None:
        note = median_of(median, result.half_width_s)
    tell = partial(about_sample, known, cell, median)
    return Series(
        arm, known.label, cell.rounds, cell.samples, arm=arm, median=median, band=band, note=note, tell=tell
    )


def _missing(known: ArmState, cell: ArmSamples) -> str:
    return str(known.status) if not cell.samples and known.status not in (None, "ok") else ""


def about_sample(known: ArmState, cell: ArmSamples, median: float | None, index: int) -> str:
    """Return `round 12: 343 µs, 2.1% above the median`, followed by the arm's caveats."""
    value = cell.samples[index]
    text = f"round {cell.rounds[index]}: {seconds(value)}"
    if median:
        off = value / median - 1
        text += f", {100 * abs(off):.1f}% {'above' if off >= 0 else 'below'} the median"
    caveats = "; ".join(dict.fromkeys(flag.message for flag in known.flags))
    return text + (f". {caveats}" if caveats else "")


class Thinned:
    """A growing series, divided into buckets of the same number of points, at most two per column of the
    plot.

    The figures of a full bucket are cached, so a million points take no more time than a thousand. If the
    bucket size doubles, all buckets are computed again.
    """

    def __init__(self, x: Sequence[float], y: Sequence[float]) -> None:
        self.x, self.y = x, y
        self._size = 1
        self._buckets: list[tuple[list[int], float]] = []

    def follows(self, x: Sequence[float], y: Sequence[float]) -> bool:
        """Return True if x and y are the lists that were thinned, perhaps with more points by now."""
        return x is self.x and y is self.y and len(y) >= len(self._buckets) * self._size

    def points(self, columns: int) -> tuple[Points, Points]:
        """Return the lowest and highest points of the buckets, and the medians of the buckets, for a plot of
        `columns` columns.

        A short series is returned unchanged.
        """
        n, size = min(len(self.x), len(self.y)), 1
        while n // size > 2 * columns:
            size *= 2
        if size == 1:
            every = self.x[:n], self.y[:n]
            return every, every
        if size != self._size:
            self._size, self._buckets = size, []
        known = len(self._buckets) * size
        self._buckets += [self._bucket(start, start + size) for start in range(known, n - size + 1, size)]
        rest = len(self._buckets) * size
        buckets = [*self._buckets, self._bucket(rest, n)] if rest < n else self._buckets
        indices = [index for ends, _ in buckets for index in ends]
        middles = [min(n - 1, start + size // 2) for start in range(0, n, size)]
        return (
            ([self.x[i] for i in indices], [self.y[i] for i in indices]),
            ([self.x[i] for i in middles], [median for _, median in buckets]),
        )

    def _bucket(self, start: int, stop: int) -> tuple[list[int], float]:
        part = self.y[start:stop]
        ordered = sorted(part)
        ends = {start + part.index(ordered[0]), start + part.index(ordered[-1])}
        return sorted(ends), ordered[len(ordered) // 2]
