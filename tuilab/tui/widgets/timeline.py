"""Draws events over time, with a lane for each device or thread."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.binding import Binding, BindingType
from textual.reactive import var

from tuilab.model.profile import Profile, Span
from tuilab.model.quantity import seconds
from tuilab.presentation.timeline import Track, stretches, tracks
from tuilab.report.axes import PlotAxis, laid, ticks
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import FAINT, FOCUS, MUTED, PHASES, TEXT, Line, Run, TextStyle
from tuilab.tui.widgets.wording import fit, width_of

PAN, ZOOM = 0.25, 1.6
HUES = {
    **{
        phase: PHASES[phase]
        for phase in ("compute", "copy", "input", "scheduling", "dispatch", "sync", "python")
    },
    "": "h0",
}
"""Hues by phase; "" stands for events without a phase."""
OTHER = "other"
FILL = 70
"""Percentage of a phase's color in the background of its events.

A lower percentage would make two phases look the same on a terminal with 256 colors.
"""
LEAST_WITH_LEGEND = 6
"""Minimum rows for a separate legend. With fewer rows, the legend is at the end of the last line."""
LEAST_WORDS = 16
"""Minimum cells for an event's description next to the legend. With fewer, the legend is hidden."""


class Timeline(LineWidget, can_focus=True):
    DEFAULT_CSS = "Timeline { height: 1fr; width: 1fr; }"

    HELP = """\
## Timeline

Events over time, one lane per device or thread; nested events are drawn one row below. `▒` stands for several
events too short to tell apart: zoom in. **{timeline.earlier} {timeline.later}** pan, **{timeline.closer}
{timeline.wider}** or the wheel zoom, **{timeline.all}** shows all, **{timeline.closeup}** zooms to the event
under the cursor, **{timeline.next} {timeline.previous}** go to the next and previous event, **{timeline.up}
{timeline.down}** to another lane. The last line shows the event's name, duration and start.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "pan(-1)", "earlier", show=False, id="timeline.earlier"),
        Binding("right", "pan(1)", "later", show=False, id="timeline.later"),
        Binding("equals_sign", "zoom(1)", "closer", id="timeline.closer"),
        Binding("minus", "zoom(-1)", "wider", id="timeline.wider"),
        Binding("home", "all", "all", show=False, id="timeline.all"),
        Binding("enter", "closeup", "zoom to event", show=False, id="timeline.closeup"),
        Binding("n", "step(1)", "next event", id="timeline.next"),
        Binding("N,shift+n", "step(-1)", "previous event", show=False, id="timeline.previous"),
        Binding("up", "lane(-1)", "lane above", show=False, id="timeline.up"),
        Binding("down", "lane(1)", "lane below", show=False, id="timeline.down"),
    ]

    window: var[tuple[float, float]] = var((0.0, 1.0))
    """First and last visible time, in seconds."""
    cursor: var[tuple[int, int]] = var((0, 0))
    """The event under the cursor: index of the track, and index of the event in the track."""

    def __init__(self, *, empty: str = "The timeline is still empty.") -> None:
        super().__init__(empty=empty)
        self._profile: Profile | None = None
        self._lanes: list[str] = []
        self._tracks: list[Track] = []
        self._whole = (0.0, 1.0)
        self._top = self._lost = 0

    def show_profile(self, profile: Profile | None) -> None:
        """Show all events of a profile. A profile that is already shown keeps its position."""
        if profile is self._profile:
            return
        self._profile = profile
        spans = profile.spans if profile else ()
        self._lanes = [f"{lane.device} {lane.name}" for lane in profile.lanes] if profile else []
        # lanes of GPUs come first, because on a short screen the host's threads would leave no room for them
        self._tracks = sorted(tracks(spans), key=lambda track: not self._lanes[track.lane].startswith("GPU"))
        self._lost = len(spans) - sum(len(track.spans) for track in self._tracks)
        begin = min((span.start_s for span in spans), default=0.0)
        finish = max((span.end_s for span in spans), default=1.0)
        self._whole = begin, max(finish, begin + 1e-6)
        self.window, self.cursor = self._whole, (0, 0)
        self.repaint()

    @property
    def span(self) -> Span | None:
        track, index = self.cursor
        return self._tracks[track].spans[index] if self._tracks else None

    def validate_window(self, window: tuple[float, float]) -> tuple[float, float]:
        """Clip the window to the profile."""
        (begin, finish), (first, last) = window, self._whole
        length = min(last - first, max((last - first) * 1e-7, finish - begin))
        begin = min(max(begin, first), last - length)
        return begin, begin + length

    def watch_window(self) -> None:
        self.repaint()

    def watch_cursor(self) -> None:
        span, (begin, finish) = self.span, self.window
        if span and (span.end_s <= begin or span.start_s >= finish):
            half = (finish - begin) / 2
            self.window = span.start_s - half, span.start_s + half
        self.repaint()

    # Drawing

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self._tracks:
            return self.empty_lines(width, height)
        label, chosen = self._label, self.cursor[0]
        words, legend = self._in_words(), self._legend(width)
        own = bool(legend) and height > LEAST_WITH_LEGEND
        body = max(1, height - 3 - own)
        self._top = min(max(self._top, chosen - body + 1), chosen)
        lines = self._ruler(label, max(1, width - label))
        for row, track in enumerate(self._tracks[self._top : self._top + body], self._top):
            here = row == chosen
            lines.append(
                (
                    (FOCUS if here and self.has_focus else " ", TextStyle("accent")),
                    (fit("" if track.depth else self._lanes[track.lane], label - 1), TEXT if here else MUTED),
                    *self._row(track, max(1, width - label), self.cursor[1] if here else -1),
                )
            )
        lines += [()] * (height - 1 - own - len(lines))
        room = width - (0 if own else width_of(legend))
        if room < LEAST_WORDS:
            room, legend = width, ()
        told: Line = ((fit(" " + words, room), MUTED),)
        return [*lines, legend, told] if own else [*lines, (*told, *legend)]

    @property
    def _label(self) -> int:
        longest = max(cell_len(self._lanes[track.lane]) for track in self._tracks)
        return min(longest + 2, self.size.width // 3)

    def _ruler(self, label: int, columns: int) -> list[Line]:
        begin, finish = self.window
        zero = self._whole[0]
        marks = ticks(PlotAxis("", "time"), (begin - zero, finish - zero), max(2, columns // 12))
        line, labels = ["─"] * columns, []
        for value, name in zip(marks.values, marks.labels, strict=True):
            column = min(columns - 1, round((value + zero - begin) / (finish - begin) * columns))
            line[column] = "┬"
            labels.append((min(column, columns - cell_len(name)), name))
        return [
            ((fit(marks.unit, label - 1, "right") + " ", MUTED), (laid(labels, columns), MUTED)),
            ((" " * label, TEXT), ("".join(line), FAINT)),
        ]

    def _legend(self, width: int) -> Line:
        """Return the names of the profile's phases in their colors; empty if the terminal has no colors."""
        if self.app.no_color:
            return ()
        there = {span.phase if span.phase in HUES else "" for track in self._tracks for span in track.spans}
        out: list[Run] = []
        for phase, hue in HUES.items():
            word = phase or OTHER
            if phase in there and sum(cell_len(text) for text, _ in out) + cell_len(word) + 3 <= width:
                out += [(" ", TEXT), ("█", TextStyle(hue)), (f" {word}", MUTED)]
        return tuple(out)

    def _row(self, track: Track, columns: int, chosen: int) -> list[Run]:
        """Return the events of a track in `columns` cells, with the event `chosen` highlighted."""
        out: list[Run] = []
        at = 0
        for piece in stretches(track, *self.window, columns):
            if piece.first > at:
                out.append((" " * (piece.first - at), TEXT))
            at, width = piece.end, piece.end - piece.first
            if piece.span is None:
                out.append(("▒", MUTED))
                continue
            hue, picked = HUES.get(piece.span.phase, HUES[""]), piece.index == chosen
            if width == 1:
                style = TextStyle("text" if picked else hue, bold=picked, reverse=picked)
                out.append(("▌", style))
            else:
                # the free left edge separates the event from its neighbor
                name = fit(piece.span.name if width > 3 else "", width - 1)
                out.append(("▏" + name, TextStyle(bold=picked, reverse=picked, on=f"{hue}/{FILL}")))
        return out

    def _in_words(self) -> str:
        span = self.span
        assert span is not None
        zero = self._whole[0]
        when = seconds(span.start_s - zero) if span.start_s > zero else "the start"
        text = f"{span.name}: {seconds(span.duration_s)} from {when}, on {self._lanes[span.lane]}"
        text += f"; {span.phase}" if span.phase else ""
        return text + (f"; {self._lost:,} deeper events are not drawn" if self._lost else "")

    # Moving

    def action_pan(self, direction: int) -> None:
        begin, finish = self.window
        step = (finish - begin) * PAN * direction
        self.window = begin + step, finish + step

    def action_zoom(self, direction: int) -> None:
        """Zoom around the event under the cursor if it is visible, else around the middle of the window."""
        begin, finish = self.window
        span = self.span
        middle = span.start_s + span.duration_s / 2 if span else begin
        self._zoom(direction, middle if begin <= middle <= finish else (begin + finish) / 2)

    def _zoom(self, direction: int, around: float) -> None:
        begin, finish = self.window
        factor = ZOOM**-direction
        self.window = around - (around - begin) * factor, around + (finish - around) * factor

    def action_all(self) -> None:
        self.window = self._whole

    def action_closeup(self) -> None:
        if span := self.span:
            margin = max(span.duration_s, 1e-9)
            self.window = span.start_s - margin, span.end_s + margin

    def action_step(self, direction: int) -> None:
        track, index = self.cursor
        self._go(track, index + direction)

    def action_lane(self, direction: int) -> None:
        """Move to the event at the same time in another row."""
        if span := self.span:
            self._go_to(self.cursor[0] + direction, span.start_s)

    def _go_to(self, row: int, moment: float) -> None:
        row = min(len(self._tracks) - 1, max(0, row))
        self._go(row, self._tracks[row].index_at(moment))

    def _go(self, row: int, index: int) -> None:
        if self._tracks:
            self.cursor = row, min(len(self._tracks[row].spans) - 1, max(0, index))

    # Mouse

    def _moment(self, column: int) -> float:
        begin, finish = self.window
        label = self._label
        return begin + (column - label + 0.5) / max(1, self.size.width - label) * (finish - begin)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is not None and self._tracks and 0 <= (row := at.y - 2) < len(self._tracks) - self._top:
            self._go_to(row + self._top, self._moment(at.x))

    @on(events.MouseScrollDown)
    @on(events.MouseScrollUp)
    def _wheel(self, event: events.MouseEvent) -> None:
        event.stop()
        at = event.get_content_offset(self)
        if self._tracks and at is not None:
            self._zoom(1 if isinstance(event, events.MouseScrollUp) else -1, self._moment(at.x))
