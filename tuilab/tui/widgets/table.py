"""A table that draws only the rows that show, so that a hundred thousand cost no more than a hundred."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Generic

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import FAINT, FOCUS, MUTED, SEPARATOR, TEXT, VERTICAL, Line, Run, TextStyle
from tuilab.tui.widgets.tabular import Column, Index, Row, natural_width, share_out
from tuilab.tui.widgets.wording import fit

WHEEL = 3


class Table(LineWidget, Generic[Row], can_focus=True):
    """Rows of any kind in columns, with a filter, an order and a row under the cursor.

    columns: see `Column`. detail: a sentence on the row under the cursor, shown in the last line.
    style: how a whole row is drawn. text: what the filter looks in; all cells if not given.
    follow: while the cursor is on the last row, stay there as rows are added.
    """

    DEFAULT_CSS = "Table { height: 1fr; width: 1fr; }"

    HELP = """\
## A table

**↑ ↓**, page up and down, home and end move the cursor; **enter** opens a row; **o** sorts by the next
column, **O** reverses the order, and a click on a column's head does the same. The last line says more
about the row under the cursor, and how many rows there are.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, id="table.up"),
        Binding("down", "move(1)", "down", show=False, id="table.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="table.page-up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="table.page-down"),
        Binding("home", "move(-1000000000)", "first row", show=False, id="table.first"),
        Binding("end", "move(1000000000)", "last row", show=False, id="table.last"),
        Binding("enter", "select", "open", show=False, id="table.select"),
        Binding("o", "order", "order by", id="table.order"),
        Binding("O,shift+o", "turn", "turn order", show=False, id="table.turn"),
    ]

    class Selected(Message):
        """The row under the cursor was opened with enter or a second click."""

    class Moved(Message):
        """The cursor is on another row."""

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        rows: Sequence[Row] = (),
        *,
        detail: Callable[[Row], str] | None = None,
        style: Callable[[Row], TextStyle | None] | None = None,
        text: Callable[[Row], str] | None = None,
        follow: bool = False,
        noun: str = "row",
        empty: str = "There are no rows.",
    ) -> None:
        super().__init__(empty=empty)
        self.columns = tuple(columns)
        self._detail, self._row_style, self._follow, self._noun = detail, style, follow, noun
        self._text = text or (lambda row: "\t".join(column.cell(row) for column in self.columns))
        self._index: Index[Row] = Index(rows, self._text)
        self._natural: list[int] = []
        self._measured = 0
        self._cursor = self._top = 0
        self._sorted: tuple[int, bool] | None = None
        self._heads: list[tuple[int, int, int]] = []

    # Rows

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, shown or not."""
        return self._index.rows

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows. The list is not copied: append to it and call `grew`."""
        query, order = self._index.query, self._sorted
        self._index, self._natural, self._measured = Index(rows, self._text), [], 0
        if order:
            self._sort(*order)
        self._index.filter(query, afresh=True)
        self._cursor = max(0, len(self._index) - 1) if self._follow else 0
        self._top = 0
        self.repaint()

    def grew(self) -> None:
        """Rows were added at the end of the list."""
        at_end = self._cursor >= len(self._index) - 1
        self._index.grew()
        if self._follow and at_end:
            self._cursor = max(0, len(self._index) - 1)
        self.repaint()

    @property
    def filter(self) -> str:
        """Words that a row must contain to be shown."""
        return self._index.query

    @filter.setter
    def filter(self, query: str) -> None:
        self._index.filter(query)
        self._cursor = max(0, len(self._index) - 1) if self._follow else 0
        self._top = 0
        self.repaint()

    @property
    def cursor(self) -> int:
        """The place of the row under the cursor, among those that show."""
        return self._cursor

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self._index[self._cursor] if self._cursor < len(self._index) else None

    @property
    def shown(self) -> int:
        """How many rows pass the filter."""
        return len(self._index)

    # Drawing

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not len(self._index):
            sentence = f"No row contains “{self._index.query}”." if self._index.query else self.empty
            return self.empty_lines(width, height, sentence)
        body = self._body_height(height)
        self._top = min(
            max(self._top, self._cursor - body + 1), self._cursor, max(0, len(self._index) - body)
        )
        bar = len(self._index) > body
        layout = share_out(self.columns, self._widths(), width - 1 - 2 * bar)
        lines = [self._header(layout)]
        for place in range(self._top, min(self._top + body, len(self._index))):
            lines.append(self._row_line(place, layout, width - 2 * bar))
        if bar:
            thumb = self._thumb(body)
            lines = [
                lines[0],
                *((*line, (" ", TEXT), self._bar(i in thumb)) for i, line in enumerate(lines[1:])),
            ]
        if height > body + 1:
            lines += [()] * (height - 1 - len(lines))
            lines.append(((fit(self._footer(), width), MUTED),))
        return lines

    def _body_height(self, height: int) -> int:
        return max(1, height - (2 if height >= 5 else 1))

    def _bar(self, thumb: bool) -> Run:
        return ("█", MUTED) if thumb else (VERTICAL, FAINT)

    def _thumb(self, body: int) -> range:
        total = len(self._index)
        size = max(1, body * body // total)
        start = round(self._top / max(1, total - body) * (body - size))
        return range(start, start + size)

    def _widths(self) -> list[int]:
        # Measured again when the list has doubled: often enough for a log that grows, and no jumping.
        if not self._natural or len(self.rows) > 2 * self._measured:
            self._natural = [natural_width(column, self.rows) for column in self.columns]
            self._measured = len(self.rows)
        return self._natural

    def _header(self, layout: Sequence[tuple[int, int]]) -> Line:
        line: list[Run] = [(" ", TEXT)]
        self._heads, at = [], 1
        for index, width in layout:
            column, label = self.columns[index], self.columns[index].label
            if self._sorted and self._sorted[0] == index:
                label = f"{label} {'▾▴'[not self._sorted[1]]}"
            gap = " " if at > 1 else ""
            text = gap + fit(label, width, column.align)
            line.append((text, TextStyle("muted", bold=True)))
            self._heads.append((at, at + width, index))
            at += width + 1
        return tuple(line)

    def _row_line(self, place: int, layout: Sequence[tuple[int, int]], width: int) -> Line:
        row, here = self._index[place], place == self._cursor
        ground = ("accent/22" if self.has_focus else "muted/15") if here else ""
        own = self._row_style(row) if self._row_style else None
        line: list[Run] = [(FOCUS if here and self.has_focus else " ", TextStyle("accent", on=ground))]
        used = 1
        for index, cells in layout:
            column = self.columns[index]
            style = (column.style(row) if column.style else None) or own or TEXT
            if ground:
                style = replace(style, on=ground)
            text = fit(column.cell(row), cells, column.align)
            gap = " " if used > 1 else ""
            used += cells + len(gap)
            line.append((gap + text, style))
        line.append((" " * max(0, width - used), TextStyle(on=ground)))
        return tuple(line)

    def _footer(self) -> str:
        total, shown = len(self.rows), len(self._index)
        counted = placed(self._cursor, shown, self._noun)
        if shown != total:
            counted += f" with “{self._index.query}” (of {total:,})"
        row = self.row
        said = self._detail(row) if self._detail and row is not None else ""
        return f" {counted}{'  ' + SEPARATOR + '  ' + said if said else ''}"

    # Moving and ordering

    def _go(self, place: int) -> None:
        place = min(len(self._index) - 1, max(0, place))
        if place != self._cursor and place >= 0:
            self._cursor = place
            self.repaint()
            self.post_message(self.Moved())

    def action_move(self, rows: int) -> None:
        """Move the cursor by so many rows."""
        self._go(self._cursor + rows)

    def action_page(self, pages: int) -> None:
        """Move the cursor by so many screenfuls."""
        self._go(self._cursor + pages * self._body_height(self.size.height))

    def action_select(self) -> None:
        """Open the row under the cursor."""
        if self.row is not None:
            self.post_message(self.Selected())

    def action_order(self) -> None:
        """Order by the next column, after the last one as the rows came."""
        following = 0 if self._sorted is None else self._sorted[0] + 1
        self._sort(following, False) if following < len(self.columns) else self._sort(None, False)

    def action_turn(self) -> None:
        """Turn the order round."""
        if self._sorted:
            self._sort(self._sorted[0], not self._sorted[1])

    def _sort(self, column: int | None, reverse: bool) -> None:
        self._sorted = None if column is None else (column, reverse)
        key = None if column is None else self.columns[column].key or self.columns[column].cell
        self._index.sort(key, reverse)
        self._cursor = self._top = 0
        self.repaint()

    # Mouse

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(WHEEL)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(-WHEEL)
        event.stop()

    def _scroll(self, rows: int) -> None:
        body = self._body_height(self.size.height)
        top = min(max(0, len(self._index) - body), max(0, self._top + rows))
        if top != self._top:
            self._top = top
            self._cursor = min(max(self._cursor, top), top + body - 1)
            self.repaint()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or not len(self._index):
            return
        body = self._body_height(self.size.height)
        if at.y == 0:
            head = next((index for first, end, index in self._heads if first <= at.x < end), None)
            if head is not None:
                again = self._sorted is not None and self._sorted[0] == head
                self._sort(head, again and not (self._sorted or (0, True))[1])
        elif at.y <= body and at.x >= self.size.width - 1 and len(self._index) > body:
            self._scroll(round((at.y - 1) / max(1, body - 1) * (len(self._index) - body)) - self._top)
        elif at.y <= body and self._top + at.y - 1 < len(self._index):
            place = self._top + at.y - 1
            if place == self._cursor and event.chain > 1:
                self.action_select()
            self._go(place)


def placed(place: int, rows: int, noun: str) -> str:
    """`3 of 20 runs`; `1 run` where it is the only one."""
    return f"1 {noun}" if rows == 1 else f"{place + 1:,} of {rows:,} {noun}s"
