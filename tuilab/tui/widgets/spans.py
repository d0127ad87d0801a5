"""Events in time, laid out in rows so that any window of them can be drawn at once. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

DEPTH = 4


@dataclass(frozen=True, slots=True)
class Span:
    """An event: on which lane (a device or a thread), when and for how long, in seconds."""

    lane: str
    name: str
    start: float
    duration: float
    detail: str = ""
    hue: str = ""

    @property
    def end(self) -> float:
        """When it ends."""
        return self.start + self.duration


@dataclass(frozen=True)
class Track:
    """Spans of a lane that do not overlap, by start. depth: 0 for the outermost."""

    lane: str
    depth: int
    spans: Sequence[Span]
    starts: Sequence[float]

    def index_at(self, time: float) -> int:
        """The first span that ends after `time`; as many as there are if none does."""
        index = max(0, bisect_right(self.starts, time) - 1)
        while index < len(self.spans) and self.spans[index].end <= time:
            index += 1
        return index


def tracks(spans: Sequence[Span]) -> list[Track]:
    """The lanes in the order they come up, each in as many tracks as its spans overlap (at most four).

    What overlaps even four deep is left out.
    """
    lanes: dict[str, list[list[Span]]] = {}
    for span in sorted(spans, key=lambda s: (s.start, -s.duration)):
        levels = lanes.setdefault(span.lane, [])
        for level in levels:
            if level[-1].end <= span.start:
                level.append(span)
                break
        else:
            if len(levels) < DEPTH:
                levels.append([span])
    order = dict.fromkeys(span.lane for span in spans)
    return [
        Track(lane, depth, level, [span.start for span in level])
        for lane in order
        for depth, level in enumerate(lanes[lane])
    ]


@dataclass(frozen=True, slots=True)
class Piece:
    """Columns of a track, `first` up to `end`: one span, or (span null) several too short to tell apart."""

    first: int
    end: int
    span: Span | None
    index: int = -1


def pieces(track: Track, begin: float, finish: float, columns: int) -> list[Piece]:
    """What a track shows between `begin` and `finish` on so many columns.

    Takes time in proportion to the columns, however many spans there are.
    """
    per_column = (finish - begin) / columns
    out: list[Piece] = []
    index = track.index_at(begin)
    while index < len(track.spans):
        span = track.spans[index]
        if span.start >= finish:
            break
        first = max(0, int((span.start - begin) / per_column))
        end = min(columns, max(first + 1, round((span.end - begin) / per_column)))
        following = bisect_left(track.starts, begin + (first + 1) * per_column, index + 1)
        if out and first < out[-1].end:
            # Rounded into a column that is taken: leave it to what is there.
            first = out[-1].end
        if following - index > 1 and round((track.spans[following - 1].end - begin) / per_column) > first + 1:
            following -= 1  # the last that begins in this column reaches beyond it and is drawn by itself
        if following - index > 1 and end - first <= 1:
            if first < columns:
                out.append(Piece(first, first + 1, None, index))
            index = following
        else:
            if first < end:
                out.append(Piece(first, end, span, index))
            index += 1
    return out
