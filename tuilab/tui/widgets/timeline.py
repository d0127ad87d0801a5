"""Events in time, a lane a device or thread: pan, zoom, and read the one under the cursor."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType

from tuilab.model.quantity import seconds
from tuilab.report.axes import Axis, laid, ticks
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import CATEGORICAL, FAINT, FOCUS, MUTED, TEXT, Line, Run, TextStyle
from tuilab.tui.widgets.spans import Piece, Span, Track, pieces, tracks
from tuilab.tui.widgets.wording import fit

PAN, ZOOM = 0.25, 1.6


class Timeline(LineWidget, can_focus=True):
    """Spans on lanes between two moments."""

    DEFAULT_CSS = "Timeline { height: 1fr; width: 1fr; }"

    HELP = """\
## Timeline

What ran when, one lane per device or thread; nested events are drawn one row below. `▒` stands for
several events too short to tell apart: zoom in. **← →** pan, **+ -** or the wheel zoom, **z** shows all,
**enter** zooms to the event under the cursor, **n N** go to the next and previous one, **↑ ↓** to another
lane. The last line gives the event's name, length and start.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "pan(-1)", "earlier", show=False, id="timeline.earlier"),
        Binding("right", "pan(1)", "later", show=False, id="timeline.later"),
        Binding("plus,equals_sign", "zoom(1)", "closer", show=False, id="timeline.closer"),
        Binding("minus", "zoom(-1)", "wider", show=False, id="timeline.wider"),
        Binding("z", "all", "all", show=False, id="timeline.all"),
        Binding("enter", "closeup", "zoom to event", show=False, id="timeline.closeup"),
        Binding("n", "step(1)", "next event", show=False, id="timeline.next"),
        Binding("N,shift+n", "step(-1)", "previous event", show=False, id="timeline.previous"),
        Binding("up", "lane(-1)", "lane above", show=False, id="timeline.up"),
        Binding("down", "lane(1)", "lane below", show=False, id="timeline.down"),
    ]

    def __init__(self, *, empty: str = "Nothing has been recorded in time yet.") -> None:
        super().__init__(empty=empty)
        self._tracks: list[Track] = []
        self._hues: dict[str, str] = {}
        self._whole = self._window = (0.0, 1.0)
        self._at = (0, 0)
        self._top = self._lost = 0

    def show_spans(self, spans: Sequence[Span]) -> None:
        """Show these events, all of them."""
        self._tracks = tracks(spans)
        self._lost = len(spans) - sum(len(track.spans) for track in self._tracks)
        lanes = dict.fromkeys(track.lane for track in self._tracks)
        self._hues = {lane: CATEGORICAL[i % len(CATEGORICAL)] for i, lane in enumerate(lanes)}
        begin = min((span.start for span in spans), default=0.0)
        finish = max((span.end for span in spans), default=1.0)
        self._whole = self._window = (begin, finish if finish > begin else begin + 1e-6)
        self._at, self._top = (0, 0), 0
        self.repaint()

    @property
    def span(self) -> Span | None:
        """The event under the cursor."""
        track, index = self._at
        return self._tracks[track].spans[index] if self._tracks else None

    @property
    def window(self) -> tuple[float, float]:
        """The moments between which the events show, in seconds."""
        return self._window

    # Drawing

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self._tracks:
            return self.empty_lines(width, height)
        label = min(max(cell_len(track.lane) for track in self._tracks) + 2, width // 3)
        body = max(1, height - 3)
        self._top = min(max(self._top, self._at[0] - body + 1), self._at[0])
        columns = max(1, width - label)
        lines = self._ruler(label, columns)
        for row, track in enumerate(self._tracks[self._top : self._top + body], self._top):
            name = track.lane if track.depth == 0 else ""
            here = row == self._at[0]
            head: list[Run] = [
                (FOCUS if here and self.has_focus else " ", TextStyle("accent")),
                (fit(name, label - 1), TEXT if here else MUTED),
            ]
            drawn = pieces(track, *self._window, columns)
            hue = self._hues[track.lane]
            chosen = self._at[1] if here else -1
            lines.append((*head, *draw_track(drawn, columns, hue, chosen)))
        lines += [()] * (height - 1 - len(lines))
        return [*lines, ((fit(" " + self._in_words(), width), MUTED),)]

    def _ruler(self, label: int, columns: int) -> list[Line]:
        begin, finish = self._window
        zero = self._whole[0]
        marks = ticks(Axis("", "time"), (begin - zero, finish - zero), max(2, columns // 12))
        line, labels = ["─"] * columns, []
        for value, name in zip(marks.values, marks.labels, strict=True):
            column = min(columns - 1, round((value + zero - begin) / (finish - begin) * columns))
            line[column] = "┬"
            labels.append((min(column, columns - cell_len(name)), name))
        return [
            ((fit(marks.unit, label - 1, "right") + " ", MUTED), (laid(labels, columns), MUTED)),
            ((" " * label, TEXT), ("".join(line), FAINT)),
        ]

    def _in_words(self) -> str:
        span = self.span
        if span is None:
            return ""
        when = seconds(span.start - self._whole[0]) if span.start > self._whole[0] else "the start"
        said = f"{span.name}: {seconds(span.duration)} from {when}, on {span.lane}"
        said += f"; {span.detail}" if span.detail else ""
        return said + (f"; {self._lost:,} deeper events are not drawn" if self._lost else "")

    # Moving

    def _look(self, begin: float, finish: float) -> None:
        """Show the moments from `begin` to `finish`, as near as the recording allows."""
        first, last = self._whole
        length = min(last - first, max((last - first) * 1e-7, finish - begin))
        begin = min(max(begin, first), last - length)
        self._window = (begin, begin + length)
        self.repaint()

    def action_pan(self, direction: int) -> None:
        """A quarter of the window earlier or later."""
        begin, finish = self._window
        step = (finish - begin) * PAN * direction
        self._look(begin + step, finish + step)

    def action_zoom(self, direction: int) -> None:
        """Closer or wider, around the event under the cursor if it shows, else around the middle."""
        begin, finish = self._window
        span = self.span
        middle = (begin + finish) / 2
        if span and begin <= span.start + span.duration / 2 <= finish:
            middle = span.start + span.duration / 2
        self._zoom(direction, middle)

    def _zoom(self, direction: int, around: float) -> None:
        begin, finish = self._window
        factor = ZOOM**-direction
        self._look(around - (around - begin) * factor, around + (finish - around) * factor)

    def action_all(self) -> None:
        """Show everything."""
        self._look(*self._whole)

    def action_closeup(self) -> None:
        """Zoom to the event under the cursor."""
        span = self.span
        if span:
            margin = max(span.duration, 1e-9)
            self._look(span.start - margin, span.end + margin)

    def action_step(self, direction: int) -> None:
        """To the next or the previous event of the lane."""
        if self._tracks:
            track, index = self._at
            self._go(track, min(len(self._tracks[track].spans) - 1, max(0, index + direction)))

    def action_lane(self, direction: int) -> None:
        """To the event at the same moment a row above or below."""
        span = self.span
        if span is None:
            return
        row = min(len(self._tracks) - 1, max(0, self._at[0] + direction))
        track = self._tracks[row]
        self._go(row, min(len(track.spans) - 1, track.index_at(span.start)))

    def _go(self, row: int, index: int) -> None:
        if (row, index) == self._at:
            return
        self._at = (row, index)
        span = self._tracks[row].spans[index]
        begin, finish = self._window
        if span.end <= begin or span.start >= finish:
            half = (finish - begin) / 2
            self._look(span.start - half, span.start + half)
        self.repaint()

    # Mouse

    def _moment(self, column: int) -> float:
        label = min(max(cell_len(track.lane) for track in self._tracks) + 2, self.size.width // 3)
        begin, finish = self._window
        return begin + (column - label + 0.5) / max(1, self.size.width - label) * (finish - begin)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or not self._tracks:
            return
        row = at.y - 2 + self._top
        if at.y >= 2 and row < len(self._tracks):
            track = self._tracks[row]
            self._go(row, min(len(track.spans) - 1, track.index_at(self._moment(at.x))))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, -1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, 1)

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        at = event.get_content_offset(self)
        if self._tracks and at is not None:
            if event.shift:
                self.action_pan(-direction)
            else:
                self._zoom(direction, self._moment(at.x))
        event.stop()


def draw_track(drawn: Sequence[Piece], columns: int, hue: str, chosen: int) -> list[Run]:
    """The pieces of a track in `columns` cells; the chosen span stands out."""
    out: list[Run] = []
    at = 0
    for piece in drawn:
        if piece.first > at:
            out.append((" " * (piece.first - at), TEXT))
        width = piece.end - piece.first
        own = piece.span.hue if piece.span and piece.span.hue else hue
        if piece.span is None:
            out.append(("▒", TextStyle(own)))
        else:
            picked = piece.index == chosen
            style = (
                TextStyle("text" if picked else own, bold=picked, reverse=picked)
                if width == 1
                else TextStyle(bold=picked, reverse=picked, on=f"{own}/40")
            )
            out.append((_block(piece.span.name, width), style))
        at = piece.end
    if at < columns:
        out.append((" " * (columns - at), TEXT))
    return out


def _block(name: str, width: int) -> str:
    """A span of that width with as much of its name as fits; its left edge tells it from its neighbour."""
    if width == 1:
        return "▌"
    return "▏" + (fit(name, width - 1) if width > 3 else " " * (width - 1))
