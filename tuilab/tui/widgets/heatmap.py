"""Draws a sweep over two axes as a map. Each cell shows which of two arms is faster, and by how much."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType

from tuilab.model.quantity import significant
from tuilab.report.axes import laid
from tuilab.report.sweep import Heat, HeatCell
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import FAINT, FOCUS, MUTED, STRONG, TEXT, UNKNOWN, Line, Mark, Run, TextStyle
from tuilab.tui.widgets.wording import clip, fit

# Lead at which the hue has full intensity, as a base-2 logarithm: 4.0 is 16×.
FULL = 4.0
LEAST, MOST = 12, 78
HEAD = 2
Marks = tuple[Mark, Mark]


class HeatMap(LineWidget, can_focus=True):
    """A map of a sweep over two axes. Each cell has the hue and the marker of the faster of two arms; a
    stronger hue shows a larger lead.
    """

    DEFAULT_CSS = "HeatMap { height: 1fr; width: 1fr; }"

    HELP = """\
## Heat map

A sweep over two parameters. Each cell shows the color and marker of the faster arm, and the speedup; a
stronger color means a larger ratio. `≈` on a neutral background means equal within the noise. The bottom line
describes the cell under the cursor. **{map.left} {map.down} {map.up} {map.right}** or a click moves the
cursor.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1, 0)", "left", show=False, id="map.left"),
        Binding("right", "move(1, 0)", "right", show=False, id="map.right"),
        Binding("up", "move(0, 1)", "up", show=False, id="map.up"),
        Binding("down", "move(0, -1)", "down", show=False, id="map.down"),
    ]

    def __init__(self, *, empty: str = "A map needs a sweep over two parameters.") -> None:
        super().__init__(empty=empty)
        self._heat: Heat | None = None
        self._marks: Marks = (UNKNOWN, UNKNOWN)
        self._at = (0, 0)
        # The map's first column, the columns and rows of a cell, and the indices of the visible y values.
        self._layout = (0, 1, 1, range(0))

    def show_heat(self, heat: Heat | None, marks: Mapping[str, Mark]) -> None:
        """Show a map; None clears the widget. marks: hue and marker of each arm, by arm id."""
        if heat != self._heat:
            self._heat = heat
            self._marks = marks_of(heat, marks) if heat else self._marks
            self.repaint()

    @property
    def cursor(self) -> tuple[int, int]:
        return self._at

    def paint(self, width: int, height: int) -> Sequence[Line]:
        heat = self._heat
        if heat is None or not heat.x.values or not heat.y.values:
            return self.empty_lines(width, height)
        columns, count = len(heat.x.values), len(heat.y.values)
        at = self._at = min(self._at[0], columns - 1), min(self._at[1], count - 1)
        left = max(map(cell_len, heat.y.labels)) + 1
        cell = max(1, min(14, (width - left) // columns))
        room = max(1, height - 5)
        rows, fitting = max(1, min(4, room // count)), min(count, room)
        first = min(max(0, at[1] - fitting // 2), count - fitting)
        shown = range(first, first + fitting)
        self._layout = left, cell, rows, shown
        lines: list[Line] = [
            _head(heat, self._marks, width),
            ((fit(f"{heat.x.label} to the right, {heat.y.label} up", width), MUTED),),
        ]
        for j in reversed(shown):
            for row in range(rows):
                middle = row == (rows - 1) // 2
                label = fit(heat.y.labels[j] if middle else "", left - 1, "right") + " "
                lines.append(((label, MUTED), *self._row(heat, j, cell, middle)))
        starts = [
            (left + i * cell + max(0, (cell - cell_len(label)) // 2), label)
            for i, label in enumerate(heat.x.labels)
        ]
        lines.append(((laid(starts, width).rstrip(), MUTED),))
        words = clip(heat.cells[at[1]][at[0]].words, width - 1, 2 if fitting > 2 else 1)
        return [*lines, *(((" " + text, STRONG if self.has_focus else MUTED),) for text in words)]

    def _row(self, heat: Heat, j: int, width: int, middle: bool) -> list[Run]:
        """Return one screen line of a row of cells. middle: True for the line that contains the text of the
        cells.
        """
        out: list[Run] = []
        for i, cell in enumerate(heat.cells[j]):
            text = cell_text(cell, self._marks, width) if middle else " " * width
            style = cell_style(cell, self._marks)
            if (i, j) == self._at:
                # the cursor is visible without color: its text is bold, and reversed if the map has the focus
                style = TextStyle(bold=True, on=style.on, reverse=self.has_focus)
                text = FOCUS + text[1:] if middle and width >= 3 else text
            out.append((text, style))
        return out

    def action_move(self, right: int, up: int) -> None:
        self._go(self._at[0] + right, self._at[1] + up)

    def _go(self, i: int, j: int) -> None:
        heat = self._heat
        if heat and 0 <= i < len(heat.x.values) and 0 <= j < len(heat.y.values) and (i, j) != self._at:
            self._at = (i, j)
            self.repaint()

    def on_click(self, event: events.Click) -> None:
        if (at := event.get_content_offset(self)) is not None:
            left, cell, rows, shown = self._layout
            j = shown.stop - 1 - (at.y - HEAD) // rows
            if j in shown:
                self._go((at.x - left) // cell, j)


def marks_of(heat: Heat, marks: Mapping[str, Mark]) -> Marks:
    """Return the marks (hue and marker) of the map's two arms. Two hues of the same device family are
    replaced, because their shades look alike as backgrounds.
    """
    low, high = (marks.get(arm, UNKNOWN) for arm, _ in heat.arms)
    if low.hue[:3] == high.hue[:3]:
        return Mark("h0", low.marker), Mark("h1", high.marker)
    return low, high


def cell_text(cell: HeatCell, marks: Marks, width: int) -> str:
    if cell.even or cell.ratio is None:
        return fit((" " if width > 1 else "") + ("≈" if cell.even else "-"), width)
    marker = marks[cell.ratio >= 1].marker
    figure = cell.times.removesuffix("×") if width >= 9 else significant(max(cell.ratio, 1 / cell.ratio), 2)
    text = f"{marker} {figure}×"
    return fit(" " + text if cell_len(text) < width else text if cell_len(text) == width else marker, width)


def cell_style(cell: HeatCell, marks: Marks) -> TextStyle:
    """Return a background in the faster arm's hue, stronger for a larger lead; neutral for equal arms."""
    if cell.even:
        return TextStyle("text", on="text/12")
    if cell.ratio is None:
        return FAINT
    strength = min(1.0, abs(math.log2(cell.ratio)) / FULL)
    return TextStyle(on=f"{marks[cell.ratio >= 1].hue}/{LEAST + round((MOST - LEAST) * strength)}")


def _head(heat: Heat, marks: Marks, width: int) -> Line:
    names = [label for _, label in heat.arms]
    tail = " is faster" if sum(map(cell_len, names)) + 30 <= width else ""
    room = max(4, (width - 7) // 2)
    first, second = (fit(name, min(room, cell_len(name))) + tail for name in names)
    return (
        (f"{marks[0].marker} ", marks[0].style),
        (first + "   ", TEXT),
        (f"{marks[1].marker} ", marks[1].style),
        (second, TEXT),
    )
