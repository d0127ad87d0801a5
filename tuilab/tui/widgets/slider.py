"""A slider for a parameter, in one row: drag, keys, typed values, marks, and limits with reasons."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var

from tuilab.lab.slider import Control, cell_of, fine_step, next_mark, next_stop, stops, value_at
from tuilab.model.errors import InputError
from tuilab.model.parameters import Integer, LogInteger, Value, is_numeric, parse_value, shown
from tuilab.model.quantity import prefixed, suffixed
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import (
    ACCENT,
    BAD,
    CROSSOVER,
    FAINT,
    FILLED,
    FOCUS,
    MUTED,
    SEPARATOR,
    STRONG,
    TEXT,
    THUMB,
    TRACK,
    WARN,
    Line,
    Run,
    TextStyle,
)
from tuilab.tui.widgets.wording import fit

PAGE = 4
MESSAGE_S = 6.0
TYPED = frozenset("0123456789.,_ kKmMgGiI")
MOST_TYPED = 16
NUMBER_LABEL, WORD_LABEL = 14, 10
"""Width of the label in cells, for numbers and for choices. (Two sliders for choices share a row.)"""
VALUE_WIDTH, WORD_WIDTH = 10, 9
"""Width of the value in cells, for numbers and for choices."""
HIGH_WIDTH = 5
MIN_TRACK = 8


class Slider(LineWidget, can_focus=True):
    DEFAULT_CSS = "Slider { height: 1; width: 1fr; }"

    HELP = """\
## A slider

One parameter of the scenario, with its value on the left and its upper end on the right.

- **Drag** the thumb or click on the track; **{slider.less} {slider.more}** go to the next stop,
**{slider.less-fine} {slider.more-fine}** move in fine steps, **{slider.less-page} {slider.more-page}** in
large steps, **{slider.least} {slider.most}** go as far as the other parameters allow.
- **{slider.type}** lets you type a value: `65536`, `64k`, `1M`.
- `•` on the track is a value from the document: **{slider.next-mark}** and **{slider.previous-mark}** jump to
the next and previous one.
- `┊` is the measured crossover, `═` its 95% interval. `╌` is a range that other parameters exclude; moving
there shows the reason.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "less", show=False, id="slider.less"),
        Binding("right", "step(1)", "more", show=False, id="slider.more"),
        Binding("shift+left,ctrl+left", "fine(-1)", "a little less", show=False, id="slider.less-fine"),
        Binding("shift+right,ctrl+right", "fine(1)", "a little more", show=False, id="slider.more-fine"),
        Binding("pagedown", f"step(-1, {PAGE})", "much less", show=False, id="slider.less-page"),
        Binding("pageup", f"step(1, {PAGE})", "much more", show=False, id="slider.more-page"),
        Binding("home", "end(-1)", "least", show=False, id="slider.least"),
        Binding("end", "end(1)", "most", show=False, id="slider.most"),
        # With priority, so that enter is handled before any text typed right after it.
        Binding("enter", "edit", "type a value", id="slider.type", priority=True),
        Binding("n", "mark(1)", "next mark", id="slider.next-mark"),
        Binding("N,shift+n", "mark(-1)", "previous mark", show=False, id="slider.previous-mark"),
        Binding("space", "cycle", "next choice", show=False, id="slider.cycle"),
    ]

    control: var[Control] = var(None, init=False)  # type: ignore[arg-type]
    message: var[str] = var("", init=False)
    """Why the last value was rejected; "" if it was accepted."""
    typed: var[str | None] = var(None, init=False)
    """The text that the user is typing; None if the user is not typing a value."""

    class Changed(Message):
        """The user moved the slider. final: False during a drag."""

        def __init__(self, name: str, value: Value, final: bool) -> None:
            super().__init__()
            self.name, self.value, self.final = name, value, final

    def __init__(self, control: Control, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.set_reactive(Slider.control, control)
        self.parameter = control.parameter
        self._numeric = is_numeric(control.parameter)
        # columns of the track and of the value
        self._track = self._value = range(0)
        self._names: dict[range, Value] = {}

    watch_typed = LineWidget.repaint

    def watch_control(self, before: Control, control: Control) -> None:
        self.repaint()
        if control.value != before.value:
            self.message = ""  # the message was about the previous value

    def watch_message(self, _: str, message: str) -> None:
        self.repaint()
        if message:
            self.set_timer(MESSAGE_S, lambda: self._forget(message))

    def _forget(self, message: str) -> None:
        if self.message == message and self.typed is None:
            self.message = ""

    @property
    def value(self) -> Value:
        return self.control.value

    # Drawing

    def paint(self, width: int, height: int) -> Sequence[Line]:
        label = min(NUMBER_LABEL if self._numeric else WORD_LABEL, max(6, width // 4))
        self._value = range(label + 1, label + 1 + (VALUE_WIDTH if self._numeric else WORD_WIDTH))
        start = self._value.stop + 1
        room = max(0, width - start)
        name = fit(self.parameter.label, label - 1)
        cells, behind = self._cells_and_end(start, room)
        self._track = range(start + 1, start + 1 + cells)
        body: list[Run] = [("┣", MUTED), *self._drawn_track(cells), ("┫", MUTED)] if cells else []
        if text := self.message or self._hint():
            # a note that does not fit after the track covers the track
            style, used = BAD if self.message else MUTED, cells + 2 if cells else 0
            fits = used + 1 + cell_len(text) <= room
            body, behind = (body, [(" " + text, style)]) if fits else ([(fit(text, room), style)], [])
            self._names.clear()
        return [
            (
                (FOCUS if self.has_focus else " ", ACCENT),
                (name, STRONG if self.has_focus else TEXT),
                (" ", TEXT),
                self._value_field(),
                (" ", TEXT),
                *body,
                *behind,
            )
        ]

    def _value_field(self) -> Run:
        if self.typed is not None:
            return fit((self.typed + "▏")[-VALUE_WIDTH:], VALUE_WIDTH, "right"), TextStyle(reverse=True)
        text = f"{shown(self.value)} {self.parameter.unit}".strip()
        return fit(text, len(self._value), "right"), STRONG

    def _hint(self) -> str:
        if self.typed is None:
            return ""
        reach = self.control.reach
        binary = isinstance(self.parameter, LogInteger) and self.parameter.binary and reach.high >= 4_096
        example = ", 4k = 4,096" if binary else ""
        of = f", multiples of {reach.multiple:,}" if reach.multiple > 1 else ""
        return f"{reach.low:,} to {reach.high:,}{of}{example}; Enter sets it"

    def _cells_and_end(self, start: int, room: int) -> tuple[int, list[Run]]:
        """Return the number of cells of the track, and the text after the track: upper end and note, or the
        names of the choices.
        """
        self._names.clear()
        if isinstance(self.parameter, Integer | LogInteger):
            # the width depends only on the room, so that the rows are aligned
            note = 0 if room < 44 else 1 + min(26, room // 3)
            right = 0 if room < 24 else 1 + HIGH_WIDTH + note
            cells = room - right - 2
            if cells < MIN_TRACK:
                return 0, [(fit(self.control.note, room), MUTED)]
            high = suffixed(self.parameter.high, binary=getattr(self.parameter, "binary", False))
            if len(high) > HIGH_WIDTH:
                high = prefixed(self.parameter.high, 2)
            end = " " + fit(high, HIGH_WIDTH) + fit(" " + self.control.note, note)
            return cells, [(end, MUTED)] if right else []
        there = stops(self.parameter)
        # A long name is shortened to fit between two "…", which stand for the other names.
        names = [fit(name, min(cell_len(name), max(1, room - 5))) for name in map(shown, there)]
        widths = [3 + cell_len(name) for name in names]
        cells = min(6 * (len(there) - 1) + 1, room - sum(widths))
        if cells < len(there):
            cells = 0
        return cells, self._listed(names, widths, start + (cells + 2 if cells else 0), room)

    def _listed(self, names: Sequence[str], widths: Sequence[int], column: int, room: int) -> list[Run]:
        """Return the names of the choices. If not all fit, return the chosen name and as many neighbors as
        fit.
        """
        there = stops(self.parameter)
        at, first, behind = there.index(self.value), 0, len(names)
        while behind - first > 1:
            cuts = (first > 0) + (behind < len(names))
            if sum(widths[first:behind]) - 2 + 2 * cuts <= room:
                break
            first, behind = (first + 1, behind) if at - first >= behind - 1 - at else (first, behind - 1)
        out: list[Run] = [(" …", FAINT)] if first else []
        column += 2 * len(out)
        for index in range(first, behind):
            gap = f" {SEPARATOR} " if index > first else " "
            out += [(gap, FAINT), (names[index], STRONG if index == at else MUTED)]
            column += len(gap)
            self._names[range(column, column + cell_len(names[index]))] = there[index]
            column += cell_len(names[index])
        return [*out, (" …", FAINT)] if behind < len(names) else out

    def _drawn_track(self, cells: int) -> Iterator[Run]:
        control, parameter = self.control, self.parameter
        at = cell_of(parameter, self.value, cells)
        drawn: list[Run] = [(TRACK, MUTED)] * cells
        if self._numeric:
            low, high = (cell_of(parameter, end, cells) for end in (control.reach.low, control.reach.high))
            drawn[low:at] = [(FILLED, ACCENT)] * (at - low)
            for cell in (*range(low), *range(high + 1, cells)):
                drawn[cell] = "╌", FAINT
        else:
            for stop in stops(parameter):
                drawn[cell_of(parameter, stop, cells)] = "┴", MUTED
        if control.band:
            first, last = (cell_of(parameter, end, cells) for end in control.band)
            drawn[first : last + 1] = [("═", WARN)] * (last + 1 - first)
        for mark in control.marks:
            drawn[cell_of(parameter, mark, cells)] = "•", TEXT
        if control.crossover is not None:
            drawn[cell_of(parameter, control.crossover, cells)] = CROSSOVER, TextStyle("warn", bold=True)
        thumb = "◉" if self.value in control.marks else THUMB
        drawn[at] = thumb, TextStyle("accent", bold=True) if self.has_focus else STRONG
        for style, group in groupby(drawn, key=lambda cell: cell[1]):
            yield "".join(text for text, _ in group), style

    # Accepting and rejecting values

    def _take(self, value: Value) -> None:
        self.message = self.control.reach.why_not(value)
        if not self.message:
            self._set(value)

    def _go(self, wanted: Value, direction: int, *, final: bool = True) -> None:
        """Move towards `wanted` as far as the limits allow. Shows the reason if the limits stop the
        slider.
        """
        reach, before = self.control.reach, self.value
        held = reach.held(wanted, direction)
        self._set(held, final)
        self.message = reach.why_not(wanted) if held == before or not reach.spans(wanted) else ""

    def _set(self, value: Value, final: bool = True) -> None:
        if value != self.value:
            self.control = replace(self.control, value=value)
            self.post_message(self.Changed(self.parameter.name, value, final))

    # Keys

    def action_step(self, direction: int, times: int = 1) -> None:
        self._go(next_stop(self.parameter, self.value, direction, times), direction)

    def action_fine(self, direction: int) -> None:
        self._go(fine_step(self.parameter, self.value, direction), direction)

    def action_end(self, direction: int) -> None:
        """Move to the end of the track in this direction, as far as the limits allow."""
        self._go(stops(self.parameter)[0 if direction < 0 else -1], direction)

    def action_mark(self, direction: int) -> None:
        """Move to the next value from the document, or to the crossover if that is nearer."""
        crossover = self.control.crossover
        marks = (*self.control.marks, *([] if crossover is None else [round(crossover)]))
        mark = next_mark(self.parameter, marks, self.value, direction)
        if mark is None:
            self.message = "the document gives no value for this parameter"
        else:
            self._take(mark)

    def action_edit(self) -> None:
        """Start typing a value; for choices, select the next choice."""
        if self._numeric:
            self._type("")
        else:
            self.action_cycle()

    def action_cycle(self) -> None:
        if not self._numeric:
            there = stops(self.parameter)
            self._take(there[(there.index(self.value) + 1) % len(there)])

    # Typing

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Return True if a key types a character of the value, so that no binding uses this key."""
        return self.typed is not None and character is not None and character.isprintable()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the user types a value, disable actions whose keys are part of typing."""
        return self.typed is None or action not in ("edit", "mark")

    def on_key(self, event: events.Key) -> None:
        self.message = ""
        if self.typed is None:
            return
        if event.key == "escape":
            self._type(None)
        elif event.key in ("enter", "tab"):
            self._accept(self.typed.strip())
        elif event.key in ("backspace", "ctrl+h"):
            self._type(self.typed[:-1])
        elif event.key == "ctrl+u":
            self._type("")
        elif event.character and event.character in TYPED:
            self._type((self.typed + event.character)[:MOST_TYPED])
        event.stop()
        event.prevent_default()

    def _type(self, text: str | None) -> None:
        begun = (self.typed is None) is not (text is None)
        self.typed, self.message = text, ""
        if begun:
            self.refresh_bindings()

    def _accept(self, text: str) -> None:
        try:
            value = parse_value(self.parameter, text) if text else self.value
        except InputError as error:
            self.message = f"{error.expected} is expected"  # shown after the typed text
            return
        if reason := self.control.reach.why_not(value):
            self.message = f"{shown(value)}: {reason}"
        else:
            self._type(None)
            self._take(value)

    def on_blur(self) -> None:
        self.typed, self.message = None, ""

    # Mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        column = int(event.x)
        name = next((name for columns, name in self._names.items() if column in columns), None)
        if name is not None:
            self._take(name)
        elif self._track and self._track.start - 1 <= column <= self._track.stop:
            self.typed = None
            self.capture_mouse()
            self._drag_to(column)
        elif column in self._value:
            self.action_edit()
        event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self:
            self._drag_to(int(event.x))
            event.stop()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self.app.mouse_captured is self:
            self.release_mouse()
            event.stop()

    def on_mouse_release(self) -> None:
        self.post_message(self.Changed(self.parameter.name, self.value, True))

    def _drag_to(self, column: int) -> None:
        wanted = value_at(self.parameter, column - self._track.start, len(self._track), self.control.marks)
        self._go(wanted, -1, final=False)
