"""A table that draws only visible rows, so that 100,000 rows are as fast as 100."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Literal, TypeVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tuilab.model.quantity import plural
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import FAINT, FOCUS, MUTED, SEPARATOR, TEXT, VERTICAL, Line, Run, TextStyle
from tuilab.tui.widgets.wording import fit

Row = TypeVar("Row")

HEAD = TextStyle("muted", bold=True)
SAMPLED = 200
"""Number of rows, evenly spaced, whose texts determine the widths of the columns."""
WHEEL = 3
LITTLE = 8
"""Width in cells to which the other columns shrink before the columns with a fixed width start to shrink."""


@dataclass(frozen=True)
class Column(Generic[Row]):
    label: str
    cell: Callable[[Row], str]
    width: int = 0
    """Width in cells; 0 to fit the texts, up to `most` cells."""
    most: int = 32
    least: int = 12
    """Minimum width in cells if `flex` is true."""
    align: Literal["left", "right"] = "left"
    flex: bool = False
    """True if the column may shrink, and takes the remaining width."""
    drop: int = 0
    """Order in which columns are dropped on a narrow screen, the highest number first; 0 for never."""
    sparse: bool = False
    """Omit the column if it is empty in every row."""
    style: Callable[[Row], TextStyle | None] | None = None
    key: Callable[[Row], Any] | None = None
    """Sort key of a row; None to sort by the column's text."""


class Table(LineWidget, Generic[Row], can_focus=True):
    """Rows of any type in columns, with a filter, a sort order and a cursor.

    detail: returns a sentence about the row under the cursor, for the last line. style: returns the style of
    a whole row. text: returns the text that the filter searches; by default, all cells. follow: keep the
    cursor on the last row when rows are added.
    """

    DEFAULT_CSS = "Table { height: 1fr; width: 1fr; }"

    HELP = """\
## A table

**{table.up} {table.down}**, **{table.page-up}** and **{table.page-down}**, **{table.first}** and
**{table.last}** move the cursor; **{table.select}** opens a row; **{table.order}** sorts by the next column,
**{table.turn}** reverses the order, and a click on a column header does the same. The last line has details
of the row under the cursor, and the number of rows.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, id="table.up"),
        Binding("down", "move(1)", "down", show=False, id="table.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="table.page-up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="table.page-down"),
        Binding("home", "move(-1000000000)", "first row", show=False, id="table.first"),
        Binding("end", "move(1000000000)", "last row", show=False, id="table.last"),
        Binding("enter", "select", "open", show=False, id="table.select"),
        Binding("O,shift+o", "order", "sort", id="table.order"),
        Binding("I,shift+i", "turn", "reverse the order", show=False, id="table.turn"),
    ]

    class Selected(Message):
        """The user opened the row under the cursor."""

    class Moved(Message):
        """The cursor has moved to another row."""

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        rows: Sequence[Row] = (),
        *,
        detail: Callable[[Row], str] = lambda row: "",
        style: Callable[[Row], TextStyle | None] = lambda row: None,
        text: Callable[[Row], str] | None = None,
        follow: bool = False,
        noun: str = "row",
        empty: str = "There are no rows.",
    ) -> None:
        super().__init__(empty=empty)
        self.columns, self._noun, self._follow = tuple(columns), noun, follow
        self._detail, self._row_style = detail, style
        self._text = text or (lambda row: "\t".join(column.cell(row) for column in self.columns))
        self._filter = ""
        self._sorted: tuple[int, bool] | None = None
        self._layout: list[tuple[int, int]] = []
        self.cursor = self._top = 0
        self._places: Sequence[int] = ()
        self.set_rows(rows)

    # Rows

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows. The list is not copied: to add rows, append to the list and call `grew`."""
        self.rows, self._texts = rows, list[str]()
        self._widths: list[int] = []
        self._measured = 0
        self.rearrange()

    def grew(self) -> None:
        """Update the table after the list of rows has grown or shrunk at its end."""
        at_end = self.cursor >= self.shown - 1
        self._places = self._rearranged()
        last = max(0, self.shown - 1)
        self.cursor = last if self._follow and at_end else min(self.cursor, last)
        self.repaint()

    def rearrange(self) -> None:
        """Apply the filter and the sort order, and move the cursor to the first row. In an unsorted table
        with `follow`, move the cursor to the last row.
        """
        self._places = self._rearranged()
        self.cursor = max(0, self.shown - 1) if self._follow and not self._sorted else 0
        self._top = 0
        self.repaint()

    def _rearranged(self) -> Sequence[int]:
        """Return the indices of the rows whose text contains all words of the filter, in sort order."""
        places: Sequence[int] = range(len(self.rows))
        if self._filter:
            if len(self._texts) > len(self.rows):
                self._texts.clear()
            self._texts += [self._text(row).lower() for row in self.rows[len(self._texts) :]]
        for word in self._filter.lower().split():
            places = [place for place in places if word in self._texts[place]]
        if self._sorted:
            column, reverse = self.columns[self._sorted[0]], self._sorted[1]
            key = column.key or column.cell
            places = sorted(places, key=lambda place: key(self.rows[place]), reverse=reverse)
        return places

    @property
    def filter(self) -> str:
        """Words that a visible row must contain; upper and lower case do not matter."""
        return self._filter

    @filter.setter
    def filter(self, words: str) -> None:
        self._filter = " ".join(words.split())
        self.rearrange()

    @property
    def found_by(self) -> str:
        """The words of the search that found the visible rows."""
        return self._filter

    def order_by(self, column: int | None, reverse: bool = False) -> None:
        """Sort by the column with this index; None restores the original order."""
        self._sorted = None if column is None else (column, reverse)
        self.rearrange()

    def sortable(self, column: int) -> bool:
        return self._natural_widths()[column] > 0

    @property
    def shown(self) -> int:
        return len(self._places)

    @property
    def row(self) -> Row | None:
        return self.rows[self._places[self.cursor]] if 0 <= self.cursor < self.shown else None

    # Drawing

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self.shown:
            text = f"No {self._noun} contains “{self.found_by}”. Escape clears the search."
            return self.empty_lines(width, height, text if self.found_by else self.empty)
        body = self.body(height)
        self._top = max(0, min(max(self._top, self.cursor - body + 1), self.cursor, self.shown - body))
        scrolls = self.shown > body
        room = width - 2 * scrolls
        self._layout = share_out(self.columns, self._natural_widths(), room - 1)
        places = range(self._top, min(self._top + body, self.shown))
        head: Line = ((" ", TEXT), *self._cells(self._heading))
        lines = [head, *(self._row_line(place, room) for place in places)]
        if scrolls:
            size = max(1, body * body // self.shown)
            start = 1 + round(self._top / (self.shown - body) * (body - size))
            for y, line in enumerate(lines[1:], 1):
                bar = ("█", MUTED) if start <= y < start + size else (VERTICAL, FAINT)
                lines[y] = (*line, (" ", TEXT), bar)
        if height > body + 1:
            lines += [()] * (height - 1 - len(lines))
            lines.append(((fit(self._foot(), width), MUTED),))
        return lines

    def body(self, height: int) -> int:
        return max(1, height - (2 if height >= 5 else 1))

    def _natural_widths(self) -> list[int]:
        # Measure the columns again when the number of rows has doubled: often enough for a growing log, and
        # rarely enough for steady columns.
        if not self._widths or len(self.rows) > 2 * self._measured:
            self._measured = len(self.rows)
            some = self.rows[:: max(1, self._measured // SAMPLED)]
            self._widths = [
                0 if column.sparse and not any(map(column.cell, self.rows)) else natural_width(column, some)
                for column in self.columns
            ]
        return self._widths

    def _cells(self, cell: Callable[[Column[Row]], Run]) -> list[Run]:
        """Return the text of each visible column, padded to the column's width."""
        line: list[Run] = []
        for index, width in self._layout:
            column = self.columns[index]
            text, style = cell(column)
            line.append((" " * bool(line) + fit(text, width, column.align), style))
        return line

    def _heading(self, column: Column[Row]) -> Run:
        if self._sorted is None or self.columns[self._sorted[0]] is not column:
            return column.label, HEAD
        return column.label + (" ▾" if self._sorted[1] else " ▴"), HEAD

    def _row_line(self, place: int, width: int) -> Line:
        row, here = self.rows[self._places[place]], place == self.cursor
        ground = ("accent/22" if self.has_focus else "muted/15") if here else ""
        own = self._row_style(row) or TEXT

        def cell(column: Column[Row]) -> Run:
            style = (column.style(row) if column.style else None) or own
            return column.cell(row), replace(style, on=ground) if ground else style

        mark = FOCUS if here and self.has_focus else " "
        rest = " " * (width - sum(width + 1 for _, width in self._layout))
        return ((mark, TextStyle("accent", on=ground)), *self._cells(cell), (rest, TextStyle(on=ground)))

    def _foot(self) -> str:
        """Return the last line, such as `3 of 20 runs with “stft” (of 50)`, with the detail of the row under
        the cursor.
        """
        total = len(self.rows)
        counted = ("" if self.shown == 1 else f"{self.cursor + 1:,} of ") + plural(self.shown, self._noun)
        found = f" with “{self.found_by}”" if self.found_by else ""
        every = f" (of {total:,})" if self.shown != total else ""
        text = self._detail(self.row) if self.row is not None else ""
        return f" {counted}{found}{every}" + (f"  {SEPARATOR}  {text}" if text else "")

    # Moving and sorting

    def _go(self, place: int) -> None:
        place = max(0, min(self.shown - 1, place))
        if place != self.cursor and self.shown:
            self.cursor = place
            self.repaint()
            self.post_message(self.Moved())

    def action_move(self, rows: int) -> None:
        self._go(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        self._go(self.cursor + pages * self.body(self.size.height))

    def action_select(self) -> None:
        if self.row is not None:
            self.post_message(self.Selected())

    def action_order(self) -> None:
        """Sort by the next column; after the last column, restore the original order."""
        following = range(self._sorted[0] + 1 if self._sorted else 0, len(self.columns))
        self.order_by(next(filter(self.sortable, following), None))

    def action_turn(self) -> None:
        if self._sorted:
            self.order_by(self._sorted[0], not self._sorted[1])

    # Mouse

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(WHEEL)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(-WHEEL)
        event.stop()

    def _scroll(self, rows: int) -> None:
        body = self.body(self.size.height)
        top = max(0, min(self.shown - body, self._top + rows))
        if top != self._top:
            self._top = top
            self.cursor = min(max(self.cursor, top), top + body - 1)
            self.repaint()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or not self.shown:
            return
        body = self.body(self.size.height)
        place = self._top + at.y - 1
        if at.y == 0:
            self._click_head(at.x)
        elif at.y <= body and at.x >= self.size.width - 1 and self.shown > body:
            self._scroll(round((at.y - 1) / max(1, body - 1) * (self.shown - body)) - self._top)
        elif at.y <= body and place < self.shown:
            if place == self.cursor and event.chain > 1:
                self.action_select()
            self._go(place)

    def _click_head(self, x: int) -> None:
        end = 1
        for index, width in self._layout:
            if end <= x < end + width and self.sortable(index):
                self.order_by(index, self._sorted == (index, False))
            end += width + 1


def natural_width(column: Column[Row], rows: Sequence[Row]) -> int:
    """Return the width in cells that the column needs for its label and for its texts in these rows."""
    if column.width:
        return column.width
    widest = max((cell_len(column.cell(row)) for row in rows), default=0)
    # two more cells for the arrow of the sorted column
    return max(cell_len(column.label) + 2, min(column.most, widest))


def share_out(columns: Sequence[Column[Row]], natural: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Return (index, width) of the columns that fit in `room` cells, with one cell between columns.

    natural: the width that each column needs; 0 omits the column.
    """
    shown = [index for index, width in enumerate(natural) if width]

    def least(index: int) -> int:
        return min(natural[index], columns[index].least) if columns[index].flex else natural[index]

    while len(shown) > 1 and sum(map(least, shown)) + len(shown) - 1 > room:
        gone = max(shown, key=lambda index: columns[index].drop)
        if not columns[gone].drop:
            break
        shown.remove(gone)
    widths = {index: least(index) for index in shown}
    while sum(widths.values()) + len(shown) - 1 > room and max(widths.values()) > 1:
        # Shrink the widest column. Columns with a fixed width, such as dates, shrink only after all others
        # are narrow.
        can = [index for index in shown if not columns[index].width and widths[index] > LITTLE] or shown
        widths[max(can, key=lambda index: widths[index])] -= 1
    left = max(0, room - sum(widths.values()) - (len(shown) - 1))
    flexible = [index for index in shown if columns[index].flex]
    for place, index in enumerate(flexible):
        # flexible columns share the remaining width equally
        widths[index] += left // len(flexible) + (place < left % len(flexible))
    return [(index, widths[index]) for index in shown]
