"""A slider of one row for a declared parameter: drag, keys, typed values, marks, bounds with reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message

from tuilab.model.errors import InputError
from tuilab.model.parameters import Constraint, Integer, LogInteger, Parameter, Value, parse_value
from tuilab.tui.widgets import track
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import Line
from tuilab.tui.widgets.reach import declared, reach
from tuilab.tui.widgets.snap_points import fine_step, full, next_mark, next_stop, options, value_at

PAGE = 4
MESSAGE_S = 6.0
TYPED = frozenset("0123456789.,_ kKmMgGiI")


class Slider(LineWidget, can_focus=True):
    """One parameter: label, value, track, upper end and a note."""

    DEFAULT_CSS = "Slider { height: 1; width: 1fr; }"

    HELP = """\
## A slider

One parameter of the scenario, with its value on the left and its upper end on the right.

- **Drag** the thumb or click on the track; **← →** go to the next stop, **shift** with an arrow in
  fine steps, **page up/down** in large ones, **home/end** as far as the other parameters allow.
- **Enter** to type a value: `65536`, `64k`, `1M`. Enter sets it, Esc cancels.
- `•` on the track is a value from the document: **m** and **M** jump from one to the next.
- `┊` is the measured crossover, `═` its 95 % interval. `╌` is out of reach now; moving there says why.
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
        Binding("m", "mark(1)", "next mark", show=False, id="slider.next-mark"),
        Binding("M,shift+m", "mark(-1)", "previous mark", show=False, id="slider.previous-mark"),
        Binding("enter", "edit", "type a value", id="slider.type"),
        Binding("space", "cycle", "next choice", show=False, id="slider.cycle"),
    ]

    class Changed(Message):
        """The person moved the slider. `final` is False while the thumb is being dragged."""

        def __init__(self, slider: "Slider", value: Value, final: bool) -> None:
            super().__init__()
            self.slider, self.name, self.value, self.final = slider, slider.parameter.name, value, final

    def __init__(
        self,
        parameter: Parameter,
        value: Value | None = None,
        *,
        marks: Sequence[Value] = (),
        note: str = "",
        label_width: int = 14,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.parameter = parameter
        value = parameter.default if value is None else value
        self._row = track.Row(
            parameter, value, declared(parameter), tuple(marks), note=note, label_width=label_width
        )
        self._dragging = False
        self._clock = 0
        self._places = track.Places(0, 0, (0, 0))

    def _show(self, **changes: Any) -> None:
        """Show the row with these changes."""
        self._row = replace(self._row, **changes)
        self.repaint()

    # What the owner sets

    @property
    def value(self) -> Value:
        """The present value."""
        return self._row.value

    def set_value(self, value: Value) -> None:
        """Show `value`, which the owner has checked."""
        self._show(value=value)

    def set_note(self, note: str) -> None:
        """What stands at the right, such as the memory that the value needs."""
        self._show(note=note)

    def set_crossover(self, at: float | None, ci95: tuple[float, float] | None = None) -> None:
        """Where two arms cross along this parameter, once that is known; None takes it away."""
        self._show(crossover=at, band=ci95 if at is not None else None)

    def limit_by(self, constraints: Sequence[Constraint], values: Mapping[str, Value]) -> None:
        """Take range, reasons and step from the constraints with the other parameters' present values."""
        self._show(reach=reach(self.parameter, constraints, values))

    # Drawing

    def paint(self, width: int, height: int) -> Sequence[Line]:
        line, self._places = track.draw(replace(self._row, focused=self.has_focus), width)
        return [line]

    # Taking and refusing values

    def _take(self, value: Value, *, final: bool) -> None:
        """Set `value` if it is allowed; else say why not."""
        reason = self._row.reach.why_not(value)
        if reason:
            self._say(reason)
            return
        self._say("")
        if value != self._row.value or (final and self._dragging):
            self._show(value=value)
            self.post_message(self.Changed(self, value, final))

    def _move_to(self, wanted: int, direction: int) -> None:
        """Go towards `wanted`, as far as the bounds allow; at a bound, say why it goes no further."""
        value = self._row.reach.held(wanted, direction)
        if value != self._row.value and (value - int(self._row.value)) * direction > 0:
            self._take(value, final=True)
        elif wanted != self._row.value:
            self._say(self._row.reach.why_not(wanted) or self._row.reach.multiple_reason)

    def _say(self, message: str) -> None:
        if message == self._row.message:
            return
        self._show(message=message)
        self._clock += 1
        if message and self._row.typed is None:
            self.set_timer(MESSAGE_S, lambda said=self._clock: self._unsay(said))

    def _unsay(self, said: int) -> None:
        if said == self._clock and self._row.typed is None:
            self._say("")

    # Keys

    def _choose(self, direction: int, times: int = 1, around: bool = False) -> None:
        stops = options(self.parameter)
        index = stops.index(self._row.value) + direction * times
        index = index % len(stops) if around else min(len(stops) - 1, max(0, index))
        if stops[index] != self._row.value:
            self._take(stops[index], final=True)

    def action_step(self, direction: int, times: int = 1) -> None:
        """To the next stop (or the `times`-th) in that direction."""
        if isinstance(self.parameter, Integer | LogInteger):
            self._move_to(next_stop(self.parameter, int(self._row.value), direction, times), direction)
        else:
            self._choose(direction, times)

    def action_fine(self, direction: int) -> None:
        """A little in that direction."""
        if isinstance(self.parameter, Integer | LogInteger):
            self._move_to(fine_step(self.parameter, int(self._row.value), direction), direction)
        else:
            self._choose(direction)

    def action_end(self, direction: int) -> None:
        """As far as is allowed."""
        if isinstance(self.parameter, Integer | LogInteger):
            end = self._row.reach.low if direction < 0 else self._row.reach.high
            value = self._row.reach.held(end, -direction)
            self._take(value, final=True)
        else:
            self._choose(direction, len(options(self.parameter)))

    def action_mark(self, direction: int) -> None:
        """To the document's next value, or the crossover."""
        if not isinstance(self.parameter, Integer | LogInteger):
            stops = [options(self.parameter).index(mark) for mark in self._row.marks]
            place = next_mark(stops, options(self.parameter).index(self._row.value), direction)
            if place is not None:
                self._take(options(self.parameter)[int(place)], final=True)
            return
        marks = [float(int(mark)) for mark in self._row.marks]
        marks += [] if self._row.crossover is None else [float(round(self._row.crossover))]
        mark = next_mark(marks, int(self._row.value), direction)
        if mark is None:
            self._say("the document gives no value for this parameter")
        else:
            self._take(int(mark), final=True)

    def action_edit(self) -> None:
        """Begin to type a value; on a choice, take the next one."""
        if isinstance(self.parameter, Integer | LogInteger):
            self._type("")
        else:
            self.action_cycle()

    def action_cycle(self) -> None:
        """The next choice, round and round."""
        if not isinstance(self.parameter, Integer | LogInteger):
            self._choose(1, around=True)

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a key goes into the value being typed, so that no binding is offered for it."""
        return self._row.typed is not None and character is not None and character.isprintable()

    def on_key(self, event: events.Key) -> None:
        if self._row.typed is None:
            # A key goes up to the app before it is obeyed. This one is obeyed here, so that what is typed in
            # one breath with it comes after it.
            bound = self.screen.active_bindings.get(event.key)
            if bound is None or bound.node is not self or bound.binding.action != "edit":
                return
            event.stop()
            event.prevent_default()
            self.action_edit()
            return
        event.stop()
        event.prevent_default()
        if event.key == "escape":
            self._type(None)
        elif event.key in ("enter", "tab"):
            self._accept()
        elif event.key in ("backspace", "ctrl+h"):
            self._type(self._row.typed[:-1])
        elif event.key == "ctrl+u":
            self._type("")
        elif event.character and event.character in TYPED:
            self._type(self._row.typed + event.character)

    def _type(self, text: str | None) -> None:
        """What is being typed, null to end that."""
        self._show(typed=None if text is None else text[:16], message="")

    def _accept(self) -> None:
        text = self._row.typed or ""
        if not text.strip():
            self._type(None)
            return
        try:
            value = parse_value(self.parameter, text)
        except InputError as error:
            self._say(f"{text.strip()}: {error.expected} is expected")
            return
        reason = self._row.reach.why_not(value)
        if reason:
            self._say(f"{full(value)}: {reason}")
            return
        self._type(None)
        self._take(value, final=True)

    def on_blur(self) -> None:
        self._show(typed=None)

    # Mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        places, at = self._places, self._offset(event)
        name = next((value for first, last, value in places.names if first <= at.x < last), None)
        if name is not None:
            self._take(name, final=True)
        elif places.cells and places.track - 1 <= at.x <= places.track + places.cells:
            self._show(typed=None)
            self.capture_mouse()
            self._dragging = True
            self._drag_to(at.x)
        elif places.value[0] <= at.x < places.value[1]:
            self.action_edit()
        event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            self._drag_to(self._offset(event).x)
            event.stop()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragging:
            self._drop()
            event.stop()

    def on_mouse_release(self) -> None:
        if self._dragging:
            self._drop()

    def _offset(self, event: events.MouseEvent) -> Offset:
        return Offset(int(event.x), int(event.y)) - self.content_region.offset + self.region.offset

    def _drag_to(self, column: int) -> None:
        places = self._places
        value = value_at(self.parameter, column - places.track, places.cells, self._row.marks)
        reason = self._row.reach.why_not(value)
        if reason and not isinstance(value, bool | str):
            held = self._row.reach.held(value, -1)
            if not self._row.reach.why_not(held):
                self._take(held, final=False)
        if reason:
            self._say(reason)
        else:
            self._take(value, final=False)

    def _drop(self) -> None:
        message = self._row.message
        self.release_mouse()
        self._take(self._row.value, final=True)
        self._dragging = False
        if message:
            self._say(message)
