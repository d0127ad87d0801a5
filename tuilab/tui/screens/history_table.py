"""The table of runs, with details of the run under the cursor."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from tuilab.lab.history import Entry
from tuilab.model.moments import when, zone
from tuilab.model.parameters import Value
from tuilab.model.quantity import size
from tuilab.presentation.run_list import (
    LATEST,
    RunList,
    against,
    changed,
    fastest,
    lead,
    machine,
    name,
    sentence,
    status,
    tags,
)
from tuilab.tui.keys import spoken
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, BAD, FAINT, MUTED, SEPARATOR, STRONG, TEXT, WARN, Line, TextStyle
from tuilab.tui.widgets.table import Column, Table
from tuilab.tui.widgets.wording import clip, fit, width_of, wrap

ORDERS = {
    "when": "at", "when (UTC)": "at", "run": "name", "machine": "machine", "budget": "budget",
    "fastest": "fastest", "vs next": "ratio", "pinned": "pinned", "status": "status", "rounds": "rounds",
    "size": "size",
}  # fmt: skip
"""The history's sort key for each column that can be sorted."""
STATUSES = {"ok": MUTED, "failed": BAD, "cancelled": WARN}


class RunsTable(Table[Entry]):
    """The table of runs. marked: the marked runs by id, in the order of marking."""

    HELP = """\
## The runs

**{table.up} {table.down}**, **{table.page-up}** and **{table.page-down}**, **{table.first}** and
**{table.last}** move; **{history.mark}** marks a run, **{history.unmark}** clears all marks.
**{table.order}** sorts by the next column and **{table.turn}** reverses the order, as does a click on a
column header.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "replay", id="table.select"),
        Binding("space", "mark", "mark", id="history.mark"),
        Binding("a", "unmark", "clear all marks", show=False, id="history.unmark"),
    ]

    def __init__(
        self,
        runs: RunList,
        usual: Callable[[str, str], Mapping[str, Value] | None],
        wanted: Callable[[], None],
    ) -> None:
        """usual: returns the default parameters of a preset and workload, or None. wanted: called if the
        table may need more rows.
        """
        self.runs, self._wanted, self.marked = runs, wanted, dict[str, Entry]()
        usual = cache(usual)
        muted: Callable[[Entry], TextStyle | None] = lambda _: MUTED  # noqa: E731
        columns: list[Column[Entry]] = [
            Column("", lambda e: "●" if e.run in self.marked else "", width=1, style=lambda _: ACCENT),
            Column("when (UTC)" if zone() else "when", lambda e: when(e.line.at) or "…", width=16),
            Column("run", name, most=26, flex=True),
            Column("machine", machine, most=18, drop=1),
            Column("fastest", fastest, most=28),
            Column("against", against, most=24, drop=2),
            Column("vs next", lead, width=7, align="right",
                   style=lambda e: None if e.brief is not None and e.brief.leads else MUTED),
            Column("parameters", lambda e: changed(e, usual(e.line.preset, e.line.workload)), most=40,
                   flex=True, drop=4, style=muted),
            Column("budget", lambda e: e.line.budget, most=10, drop=6, style=muted),
            Column("pinned", lambda e: e.line.pinned, width=8, drop=2, style=lambda _: ACCENT),
            Column("tags", tags, most=28, flex=True, drop=3, style=lambda _: ACCENT),
            Column("status", status, most=12, drop=5,
                   style=lambda e: STATUSES.get(e.line.status or "", FAINT)),
            Column("rounds", lambda e: f"{e.line.rounds:,}" if e.run else "", align="right", drop=8,
                   style=muted),
            Column("size", lambda e: size(e.line.size) if e.run else "", align="right", drop=7, style=muted),
        ]  # fmt: skip
        super().__init__(
            columns,
            runs,
            detail=lambda _: f"{len(self.marked):,} marked" if self.marked else "",
            noun="run",
            empty="Searching the history…",
        )

    # the history itself searches and sorts

    def rearrange(self) -> None:
        if self.is_attached:
            self.reload(0)

    def reload(self, place: int | None = None) -> None:
        """Search again. place: new row of the cursor; None to keep the cursor's row."""
        column, falling = self._sorted or (0, True)
        by = ORDERS.get(self.columns[column].label)
        order = (by, not falling) if by else LATEST
        self.runs.find(self._filter, order, self.cursor if place is None else place)
        self._wanted()

    def came(self, place: int | None) -> None:
        """Show the loaded rows. place: new row of the cursor; None to keep the cursor's row."""
        self._places = range(len(self.runs))
        self.cursor = max(0, min(self.cursor if place is None else place, self.shown - 1))
        self._widths = []
        self.repaint()

    def sortable(self, column: int) -> bool:
        return self.columns[column].label in ORDERS

    @property
    def found_by(self) -> str:
        return self.runs.search

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = super().paint(width, height)
        self.runs.look(self._top, self._top + self.body(height))
        self._wanted()
        return lines

    # Marks

    @property
    def chosen(self) -> list[Entry]:
        if self.marked:
            return list(self.marked.values())
        return [self.row] if self.row is not None and self.row.run else []

    def action_mark(self) -> None:
        row = self.row
        if row is None or not row.run:
            return
        if self.marked.pop(row.run, None) is None:
            self.marked[row.run] = row
        self.repaint()
        self.action_move(1)

    def action_unmark(self) -> None:
        self.marked.clear()
        self.repaint()

    def on_click(self, event: events.Click) -> None:
        """Mark or unmark a run by a click to the left of its row."""
        at = event.get_content_offset(self)
        if at is None or not 0 < at.y <= self.body(self.size.height) or at.x > 1:
            return
        event.prevent_default()
        if self._top + at.y - 1 < self.shown:
            self._go(self._top + at.y - 1)
            self.action_mark()


class About(LineWidget):
    def __init__(self) -> None:
        super().__init__(empty="Nothing chosen.")
        self._entry: Entry | None = None

    def show(self, entry: Entry | None) -> None:
        if entry != self._entry:
            self._entry = entry
            self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        entry = self._entry
        if entry is None or not entry.run:
            return self.empty_lines(width, height)
        room = max(1, height - 3)
        lines = [
            head(entry, width),
            *(((text, TEXT),) for text in clip(spoken(self, sentence(entry)), width, room)),
        ]
        note = [line for part in entry.line.note.splitlines() for line in wrap(part, width - 6)]
        if height - len(lines) > 1 or not note:
            values = changed(entry, None)
            if values:
                lines.append((("with ", MUTED), (fit(values, width - 5), MUTED)))
        room = max(0, height - len(lines))
        if len(note) > room > 0:
            note[room - 1] += "…"
        for index, text in enumerate(note[:room]):
            lines.append((("      " if index else "note  ", MUTED), (fit(text, width - 6), TEXT)))
        return lines


def head(entry: Entry, width: int) -> Line:
    """Return the first line about a run: identity, marks and outcome, as far as they fit."""
    line = entry.line
    parts = [
        f"{when(line.at, seconds=True)}{zone()} on {line.host}",
        line.budget,
        f"{status(entry)}, {line.rounds:,} rounds",
        size(line.size),
        f"from {line.source}" if line.source else "",
        f"id {line.run[:8]}",
    ]
    marks = " ".join(filter(None, (line.pinned, tags(entry))))
    message = f" {SEPARATOR} ".join(["", *filter(None, parts)])
    runs = [(name(entry), STRONG), (f"  {marks}" if marks else "", ACCENT), (message, MUTED)]
    while width_of(runs) > width:
        text, style = runs.pop()
        if (room := width - width_of(runs)) > 0:
            runs.append((fit(text, room), style))
    return tuple(runs)
