"""The base class of widgets with one row per arm and a cursor."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tuilab.model.result import ArmResult
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, FOCUS, TEXT, Line, Mark
from tuilab.tui.widgets.wording import width_of


class Picking(LineWidget, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, id="arms.up"),
        Binding("down", "move(1)", "down", show=False, id="arms.down"),
        Binding("percent_sign", "turn", "change the scale", show=False, id="arms.scale"),
    ]

    class Moved(Message):
        """The cursor has moved to another arm."""

    def __init__(self, *, turned: bool = False, empty: str = "") -> None:
        """turned: start with the widget's alternative scale (logarithmic, or one scale per bar)."""
        super().__init__(empty=empty)
        self._arms: tuple[ArmResult, ...] = ()
        self._marks: Mapping[str, Mark] = {}
        self._turned = turned
        self._cursor = self._top = 0
        self._pitch, self._above = 1, 0

    def show_arms(self, arms: Sequence[ArmResult], marks: Mapping[str, Mark]) -> None:
        """Show these arms in this order. marks: hue and marker of each arm, by arm id."""
        self._marks = marks
        if tuple(arms) != self._arms:
            self._arms = tuple(arms)
            self.repaint()

    @property
    def picked(self) -> ArmResult:
        """The arm under the cursor. Requires at least one arm."""
        return self._arms[min(self._cursor, len(self._arms) - 1)]

    def arranged(self, rows: Sequence[Line], width: int, height: int, above: int = 0) -> list[Line]:
        """Return the rows that fit, including the row under the cursor, which is marked. The rows are spaced
        out if there is room.

        above: number of lines above the rows.
        """
        self._above = above
        self._cursor = min(self._cursor, max(0, len(rows) - 1))
        self._pitch = 2 if 2 * len(rows) - 1 <= height else 1
        fitting = max(1, height)
        self._top = max(0, min(max(self._top, self._cursor - fitting + 1), self._cursor, len(rows) - fitting))
        out: list[Line] = []
        for place, row in enumerate(rows[self._top : self._top + fitting], self._top):
            here = self.has_focus and place == self._cursor
            line: Line = ((FOCUS if here else " ", ACCENT), *row)
            if here:
                line += ((" " * max(0, width - width_of(line)), TEXT),)
                line = tuple((text, replace(style, on=style.on or "accent/22")) for text, style in line)
            out += [line, *([()] if self._pitch == 2 else [])]
        return (out + [()] * height)[:height]

    def part_shown(self, rows: int, height: int) -> str:
        """Describe which rows `arranged` shows, such as `rows 1–6 of 12`; "" if all rows fit."""
        last = self._top + max(1, height)
        return f"rows {self._top + 1}–{last} of {rows}" if rows > height else ""

    def action_move(self, rows: int) -> None:
        place = min(len(self._arms) - 1, max(0, self._cursor + rows))
        if self._arms and place != self._cursor:
            self._pick(place)

    def action_turn(self) -> None:
        self._turned = not self._turned
        self.repaint()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:
            return
        place, rest = divmod(at.y - self._above, self._pitch)
        place += self._top
        if rest == 0 and at.y >= self._above and place < len(self._arms):
            self._pick(place)

    def _pick(self, place: int) -> None:
        self._cursor = place
        self.repaint()
        self.post_message(self.Moved())
