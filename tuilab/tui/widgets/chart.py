"""What a plot shows, as data; and the arithmetic of its axes and of thinning long series. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tuilab.report.axes import Axis, Limits
from tuilab.tui.widgets.look import Mark, TextStyle

MOST_SAMPLES = 2_000
"""Of a longer run every so many'th sample makes the strip."""


@dataclass(frozen=True)
class Series:
    """One curve or cloud. `low`, `high`: ends of error bars. `median`, `band`: a level with its interval.

    x and y may be lists that grow between paints; they are only read. A ghost is an earlier run, drawn
    faintly, and never moves the axes. Without points the label and note stand in the legend alone, so that a
    note can say why. A `trace` is a line through the medians of what falls together, with the extremes as
    faint dots. strip: the distribution, shown beside the curve. tell: more about the point of that index.
    """

    key: str
    label: str
    mark: Mark
    x: Sequence[float] = ()
    y: Sequence[float] = ()
    style: Literal["points", "line", "linepoints", "trace"] = "points"
    ghost: bool = False
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    median: float | None = None
    band: Limits | None = None
    note: str = ""
    strip: "Strip | None" = None
    tell: Callable[[int], str] | None = None

    @property
    def drawn_style(self) -> TextStyle:
        """The mark's, fainter for a ghost."""
        return TextStyle(f"{self.mark.hue}/45") if self.ghost else self.mark.style


@dataclass(frozen=True)
class Strip:
    """A distribution in a few cells: how many samples fall into each, from 0 to 8, and which cell is what."""

    cells: tuple[int, ...]
    """Heights, the fullest cell 8; a cell with any sample has at least 1."""
    median: int
    """The median's cell."""
    inside: range
    """The cells of the median's 95 % interval."""


def distribution(samples: Sequence[float], median: float, band: Limits | None, cells: int) -> Strip | None:
    """The samples about their 5 % to 95 % quantiles, those beyond in the end cells; None below four."""
    some = sorted(samples[:: len(samples) // MOST_SAMPLES + 1])
    if len(some) < 4:
        return None
    low, high = some[len(some) // 20], some[-1 - len(some) // 20]
    low, high = min(low, median) - (high - low) / 8, max(high, median) + (high - low) / 8
    if high <= low:
        low, high = 0.99 * low, 1.01 * high

    def cell(value: float) -> int:
        return min(cells - 1, max(0, int((value - low) / (high - low) * cells)))

    counts = [0] * cells
    for value in some:
        counts[cell(value)] += 1
    most = max(counts)
    first, last = (cell(v) for v in band or (median, median))
    return Strip(tuple(-(-8 * n // most) for n in counts), cell(median), range(first, last + 1))


@dataclass(frozen=True)
class Vertical:
    """A vertical line, such as the crossover, with its interval."""

    at: float
    low: float | None = None
    high: float | None = None
    label: str = ""


PLAIN = Axis()


@dataclass(frozen=True)
class Chart:
    """All of a plot. While `key` stays the same its axes only grow."""

    key: str = ""
    series: Sequence[Series] = ()
    x: Axis = PLAIN
    y: Axis = PLAIN
    verticals: Sequence[Vertical] = ()
    title: str = ""


class Thinned:
    """The extremes of a series that only grows, at most four points a column, in the order they came.

    Full buckets are kept and merged in pairs when there are too many, so that a million points cost no more
    to follow than a thousand.
    """

    def __init__(self, x: Sequence[float], y: Sequence[float]) -> None:
        self.x, self.y = x, y
        self._size = 1
        self._extremes: list[tuple[int, int]] = []
        self._middles: list[float] = []

    def follows(self, x: Sequence[float], y: Sequence[float]) -> bool:
        """Whether this is the same series, perhaps grown."""
        return x is self.x and y is self.y and len(y) >= len(self._extremes) * self._size

    def points(self, columns: int) -> tuple[list[float], list[float]]:
        """x and y of the points to draw on `columns` columns."""
        n = self._follow(columns)
        if self._size == 1:
            return list(self.x[:n]), list(self.y[:n])
        rest = len(self._extremes) * self._size
        ends = [*self._extremes, self._bucket(rest, n)] if rest < n else self._extremes
        indices = [i for pair in ends for i in (pair if pair[0] != pair[1] else pair[:1])]
        return [self.x[i] for i in indices], [self.y[i] for i in indices]

    def middles(self, columns: int) -> tuple[list[float], list[float]]:
        """x and y of the medians of what falls together on `columns` columns."""
        n = self._follow(columns)
        if self._size == 1:
            return list(self.x[:n]), list(self.y[:n])
        starts = range(0, n, self._size)
        known = len(self._extremes)
        while len(self._middles) < known:
            self._middles.append(self._middle(starts[len(self._middles)]))
        ys = [*self._middles, *(self._middle(start) for start in starts[known:])]
        return [self.x[min(n - 1, start + self._size // 2)] for start in starts], ys

    def _middle(self, start: int) -> float:
        part = sorted(self.y[start : start + self._size])
        return part[len(part) // 2]

    def _follow(self, columns: int) -> int:
        """Take in what is new; how many points there are."""
        n = min(len(self.x), len(self.y))
        while n // self._size > 2 * columns:
            if self._extremes:
                self._merge()
            self._size *= 2
            self._middles.clear()
        if self._size > 1:
            for start in range(len(self._extremes) * self._size, n - self._size + 1, self._size):
                self._extremes.append(self._bucket(start, start + self._size))
        return n

    def _bucket(self, start: int, stop: int) -> tuple[int, int]:
        part = self.y[start:stop]
        low, high = part.index(min(part)), part.index(max(part))
        return start + min(low, high), start + max(low, high)

    def _merge(self) -> None:
        merged = []
        for a, b in zip(self._extremes[::2], self._extremes[1::2], strict=False):
            four = (*a, *b)
            low, high = min(four, key=self.y.__getitem__), max(four, key=self.y.__getitem__)
            merged.append((min(low, high), max(low, high)))
        self._extremes = merged


def spread(wanted: Sequence[float], rows: int) -> list[int]:
    """Rows as near to the wanted ones as they can be, no two the same, in the order of what is wanted.

    There must be at least as many rows as wanted ones.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    out = [0] * len(wanted)
    last = -1
    for i in order:
        last = out[i] = max(last + 1, round(wanted[i]))
    ceiling = rows
    for i in reversed(order):
        ceiling = out[i] = min(ceiling - 1, out[i])
    return out
