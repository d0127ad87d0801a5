"""A row of switches: which modes and inputs are measured, and the workload's own flags."""

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tuilab.lab.settings import Switch
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, MUTED, TEXT, Line, Run, TextStyle
from tuilab.tui.widgets.wording import fit

BOXES, ASCII_BOXES = ("☑", "☐"), ("[x]", "[ ]")
"""On and off."""


class Switches(LineWidget, can_focus=True):
    """Switches side by side, in as many rows as they need. `Flipped` when one is turned over."""

    DEFAULT_CSS = "Switches { height: auto; width: 1fr; }"

    HELP = """\
## Switches

What is measured side by side: each mode (eager, one graph, XLA) and, for a GPU, with its input already on the
device or copied there in each call; then the workload's own flags.
**← →** go from one to the next, **space** turns it over; a click does both.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "previous", show=False, id="switches.previous"),
        Binding("right", "move(1)", "next", show=False, id="switches.next"),
        Binding("space,enter", "flip", "turn over", show=False, id="switches.flip"),
    ]

    class Flipped(Message):
        """The person turned this switch over."""

        def __init__(self, switch: Switch) -> None:
            super().__init__()
            self.switch = switch

    def __init__(self) -> None:
        super().__init__(id="switches")
        self._switches: tuple[Switch, ...] = ()
        self._cursor = 0
        self._places: list[tuple[int, int, int, int]] = []

    def show(self, switches: Sequence[Switch]) -> None:
        """The switches as they stand."""
        shape = [(s.group, s.key) for s in switches] != [(s.group, s.key) for s in self._switches]
        self._switches = tuple(switches)
        self._cursor = min(self._cursor, max(0, len(switches) - 1))
        if shape:
            self.refresh(layout=True)
        self.repaint()

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Rows that the switches need in `width` cells."""
        return max(1, len(self._rows(width)))

    def paint(self, width: int, height: int) -> Sequence[Line]:
        self._places = []
        lines = []
        for y, row in enumerate(self._rows(width)[:height]):
            line: list[Run] = [(" ", TEXT)]
            x = 1
            for text, style, index in row:
                if index is not None:
                    self._places.append((y, x, x + cell_len(text), index))
                line.append((text, style))
                x += cell_len(text)
            lines.append(tuple(line))
        return lines

    def _rows(self, width: int) -> list[list[tuple[str, TextStyle, int | None]]]:
        boxes = ASCII_BOXES if self.glyphs.ascii else BOXES
        rows: list[list[tuple[str, TextStyle, int | None]]] = [[]]
        room = width - 1
        index = 0
        for group, members in groupby(self._switches, key=lambda s: s.group):
            cells: list[tuple[str, TextStyle, int | None]] = []
            if group:
                cells.append((f"{group} ", MUTED, None))
            for switch in members:
                here = index == self._cursor and self.has_focus
                text = f"{boxes[0] if switch.on else boxes[1]} {switch.label}"
                style = ACCENT if here else (TEXT if switch.on else MUTED)
                cells += [(text, TextStyle(style.name, reverse=here), index), ("  ", TEXT, None)]
                index += 1
            cells.append(("  ", TEXT, None))
            size = sum(cell_len(text) for text, _, _ in cells)
            if size > room and rows[-1]:
                rows.append([])
                room = width - 1
            rows[-1] += [(fit(text, min(cell_len(text), width)), style, i) for text, style, i in cells]
            room -= size
        return rows

    def action_move(self, by: int) -> None:
        """Go to the next switch or the one before."""
        self._cursor = min(len(self._switches) - 1, max(0, self._cursor + by))
        self.repaint()

    def action_flip(self) -> None:
        """Turn the switch under the cursor over."""
        if self._switches:
            self.post_message(self.Flipped(self._switches[self._cursor]))

    def on_click(self, event: events.Click) -> None:
        """Turn over what was clicked on."""
        at = event.get_content_offset(self)
        for y, first, behind, index in self._places:
            if at is not None and at.y == y and first <= at.x < behind:
                self._cursor = index
                self.action_flip()
                return
