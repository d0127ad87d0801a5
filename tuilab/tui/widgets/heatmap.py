"""A sweep over two axes as a map of cells: which arm wins where, and by how much."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType

from tuilab.model.quantity import significant, suffixed
from tuilab.report.axes import laid
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import FAINT, FOCUS, MUTED, STRONG, TEXT, Line, Mark, Run, TextStyle
from tuilab.tui.widgets.wording import clip, fit

# A ratio of this many powers of two is shown in the full hue.
FULL = 4.0
LEAST, MOST = 12, 78


@dataclass(frozen=True)
class AxisValues:
    """An axis of the map: its parameter, and the values measured, ascending."""

    label: str
    values: tuple[int, ...]
    binary: bool = True


@dataclass(frozen=True)
class Heat:
    """The time of `low` over that of `high`, so that below 1 `low` is the faster.

    values[j][i] is at y.values[j] and x.values[i]; null where nothing was measured. words: [j][i], more about
    a cell.
    """

    x: AxisValues
    y: AxisValues
    values: tuple[tuple[float | None, ...], ...]
    low: tuple[str, Mark] = ("a", Mark("h0", "•"))
    high: tuple[str, Mark] = ("b", Mark("h1", "×"))
    words: tuple[tuple[str, ...], ...] = ()
    equal: frozenset[tuple[int, int]] = frozenset()
    """(i, j) of the cells whose two intervals overlap: neither arm is told to be faster there."""


class HeatMap(LineWidget, can_focus=True):
    """Cells in the hue and with the marker of the arm that wins there; the stronger, the more it wins by."""

    DEFAULT_CSS = "HeatMap { height: 1fr; width: 1fr; }"

    HELP = """\
## Heat map

A sweep over two parameters. Each cell has the hue and the marker of the arm that is faster there, and says
how many times faster; the stronger the hue, the larger the ratio. `≈` on a neutral ground: equal within the
noise. The bottom line describes the cell under the cursor, which the **arrows** or a click move.
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
        self._at = (0, 0)
        self._layout = Layout(0, 0, 1, 1, range(0))

    def show_heat(self, heat: Heat | None) -> None:
        """Show this map; None for none."""
        if heat != self._heat:
            self._heat = heat
            self.repaint()

    @property
    def cursor(self) -> tuple[int, int]:
        """Indices of x and y of the cell under the cursor."""
        return self._at

    def paint(self, width: int, height: int) -> Sequence[Line]:
        heat = self._heat
        if heat is None or not heat.x.values or not heat.y.values:
            return self.empty_lines(width, height)
        self._at = (min(self._at[0], len(heat.x.values) - 1), min(self._at[1], len(heat.y.values) - 1))
        self._layout = arrange(heat, width, height, self._at[1])
        return draw(heat, self._layout, self._at, width, self.has_focus)

    def action_move(self, right: int, up: int) -> None:
        """Move the cursor."""
        if self._heat:
            self._go(self._at[0] + right, self._at[1] + up)

    def _go(self, i: int, j: int) -> None:
        heat = self._heat
        if heat and 0 <= i < len(heat.x.values) and 0 <= j < len(heat.y.values) and (i, j) != self._at:
            self._at = (i, j)
            self.repaint()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or self._heat is None:
            return
        i = (at.x - self._layout.left) // self._layout.cell
        j = self._layout.shown.stop - 1 - (at.y - self._layout.top) // self._layout.rows
        if j in self._layout.shown:
            self._go(i, j)


@dataclass(frozen=True)
class Layout:
    """Cells left of and above the map, the size of one of its cells, and which values of y show."""

    left: int
    top: int
    cell: int
    rows: int
    shown: range


def arrange(heat: Heat, width: int, height: int, at: int) -> Layout:
    """Share out the space; map cells are as large as fits, within reason. at: a value of y that must show."""
    labels = [suffixed(v, binary=heat.y.binary) for v in heat.y.values]
    left = max(map(cell_len, [*labels, ""])) + 1
    cell = max(1, min(14, (width - left) // len(heat.x.values)))
    count, room = len(heat.y.values), max(1, height - 5)
    rows = max(1, min(4, room // count))
    fitting = min(count, room)
    first = min(max(0, at - fitting // 2), count - fitting)
    return Layout(left, 2, cell, rows, range(first, first + fitting))


def cell_text(value: float | None, heat: Heat, width: int, equal: bool = False) -> str:
    """What stands in a cell: the winner's marker and by how much it wins, as far as there is room."""
    if equal:
        return fit(" ≈" if width > 1 else "≈", width)
    if value is None or not math.isfinite(value) or value <= 0:
        return fit(" -" if width > 1 else "-", width)
    mark = (heat.low if value < 1 else heat.high)[1]
    marker = mark.marker
    factor = max(value, 1 / value)
    text = f"{marker} {significant(factor, 3 if width >= 9 else 2)}×"
    return fit(" " + text if cell_len(text) < width else text if cell_len(text) == width else marker, width)


def cell_style(value: float | None, heat: Heat, equal: bool = False) -> TextStyle:
    """The hue of the winner, the stronger the more it wins by; a neutral ground where none wins."""
    if equal:
        return TextStyle("text", on="text/12")
    if value is None or not math.isfinite(value) or value <= 0:
        return FAINT
    mark = (heat.low if value < 1 else heat.high)[1]
    strength = min(1.0, abs(math.log2(value)) / FULL)
    return TextStyle(on=f"{mark.hue}/{LEAST + round((MOST - LEAST) * strength)}")


def draw(heat: Heat, layout: Layout, at: tuple[int, int], width: int, focused: bool) -> list[Line]:
    """Head, map, the labels of x, and a line on the cell under the cursor."""
    lines: list[Line] = [
        _head(heat, width),
        ((fit(f"{heat.x.label} to the right, {heat.y.label} up", width), MUTED),),
    ]
    for j in reversed(layout.shown):
        label = fit(suffixed(heat.y.values[j], binary=heat.y.binary), layout.left - 1, "right")
        for row in range(layout.rows):
            middle = row == (layout.rows - 1) // 2
            line: list[Run] = [((label if middle else " " * (layout.left - 1)) + " ", MUTED)]
            for i, value in enumerate(heat.values[j]):
                even = (i, j) in heat.equal
                text = cell_text(value, heat, layout.cell, even) if middle else " " * layout.cell
                style = cell_style(value, heat, even)
                if (i, j) == at:
                    # The cursor is a frame of strong characters, so that it shows without colour too.
                    style = TextStyle(bold=True, on=style.on, reverse=focused)
                    if middle and layout.cell >= 3:
                        text = FOCUS + text[1:]
                line.append((text, style))
            lines.append(tuple(line))
    lines.append(_labels(heat, layout, width))
    words = clip(in_words(heat, *at), width - 1, 2 if len(layout.shown) > 2 else 1)
    return [*lines, *(((" " + text, STRONG if focused else MUTED),) for text in words)]


def _head(heat: Heat, width: int) -> Line:
    name, mark = heat.low
    other, second = heat.high
    tail = " is faster" if cell_len(name + other) + 30 <= width else ""
    room = max(4, (width - 7) // 2)
    return (
        (f"{mark.marker} ", mark.style),
        (fit(name, min(room, cell_len(name))) + tail + "   ", TEXT),
        (f"{second.marker} ", second.style),
        (fit(other, min(room, cell_len(other))) + tail, TEXT),
    )


def _labels(heat: Heat, layout: Layout, width: int) -> Line:
    labels = []
    for i, value in enumerate(heat.x.values):
        label = suffixed(value, binary=heat.x.binary)
        labels.append((layout.left + i * layout.cell + max(0, (layout.cell - cell_len(label)) // 2), label))
    return ((laid(labels, width).rstrip(), MUTED),)


def in_words(heat: Heat, i: int, j: int) -> str:
    """`samples 16k, batch 8: GPU graph takes 0.31 × the time of CPU graph; …`."""
    value = heat.values[j][i]
    place = f"{heat.x.label} {suffixed(heat.x.values[i], binary=heat.x.binary)}, "
    place += f"{heat.y.label} {suffixed(heat.y.values[j], binary=heat.y.binary)}"
    more = heat.words[j][i] if heat.words else ""
    if value is None:
        said = more or "not measured"
    elif (i, j) in heat.equal:
        said = f"{heat.low[0]} and {heat.high[0]} are equal within the noise" + (f"; {more}" if more else "")
    else:
        fast, slow = (heat.low[0], heat.high[0]) if value < 1 else (heat.high[0], heat.low[0])
        factor = significant(max(value, 1 / value), 3)
        said = f"{fast} is {factor} × faster than {slow}" + (f"; {more}" if more else "")
    return f"{place}: {said}"
