"""The table of runs: it knows only the rows that were looked at, and asks for the others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, overload

from textual import events
from textual.binding import Binding, BindingType

from tuilab.analysis.words import times
from tuilab.lab.command_line import typed
from tuilab.lab.history import PAGE, Entry, RunLine
from tuilab.model.parameters import Value
from tuilab.model.quantity import median_of, size
from tuilab.tui.widgets.look import ACCENT, BAD, FAINT, MUTED, SEPARATOR, WARN, Line, TextStyle
from tuilab.tui.widgets.table import Table, placed
from tuilab.tui.widgets.tabular import Column

MOST_PAGES = 30
"""Pages that are remembered; those that were looked at longest ago go first."""
WAITING = Entry(
    line=RunLine(
        run="", at="", preset="", workload="", host="", budget="", status=None, rounds=0, answer="", note="",
        pinned="", source="", tags=(), size=0,
    )
)  # fmt: skip
ORDERS = {
    "when (UTC)": "at", "run": "name", "machine": "machine", "budget": "budget", "fastest": "fastest",
    "ratio": "ratio", "pinned": "pinned", "status": "status", "rounds": "rounds", "size": "size",
}  # fmt: skip
"""Label of a column → what the history orders by. The others cannot be ordered by."""
LATEST = ("at", False)


class Rows(Sequence[Entry]):
    """All runs that a search finds, of which only some pages are here. want: called for one that is not."""

    def __init__(self, total: int, want: Callable[[int], None]) -> None:
        self._total, self._want = total, want
        self._pages: dict[int, list[Entry]] = {}

    def __len__(self) -> int:
        return self._total

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...

    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        if isinstance(place, slice):  # those that are here, as for the widths of columns
            return [entry for page in self._pages.values() for entry in page]
        number, row = divmod(place, PAGE)
        page = self._pages.get(number)
        if page is None:
            self._want(number)
            return WAITING
        return page[row] if row < len(page) else WAITING

    def put(self, number: int, entries: list[Entry]) -> None:
        """A page has come."""
        self._pages[number] = entries
        while len(self._pages) > MOST_PAGES:
            del self._pages[next(n for n in self._pages if n != number)]

    def known(self, first: int, behind: int) -> list[Entry]:
        """The runs at these places that are here."""
        pages = self._pages
        here = ((pages.get(place // PAGE), place % PAGE) for place in range(first, min(behind, self._total)))
        return [page[row] for page, row in here if page is not None and row < len(page)]

    def replace(self, entry: Entry) -> None:
        """Another row of the same run."""
        for page in self._pages.values():
            for row, known in enumerate(page):
                if known.run == entry.run:
                    page[row] = entry

    @property
    def read(self) -> int:
        """How many rows are here."""
        return sum(map(len, self._pages.values()))


class RunsTable(Table[Entry]):
    """One row a run. marked: the ids and rows of those that are marked, in the order in which they were.

    usual: the parameters that a run of that preset and workload has unless someone changed them; null where
    that is not known. ordered: called with what to order by and whether it rises. painted: called when other
    rows may show.
    """

    HELP = """\
## The runs

**↑ ↓**, page up and down, home and end move; **space** marks a run, **a** clears all marks. **o** sorts
by the next column and **O** reverses the order, as does a click on a column's head.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "mark", show=False, id="history.mark"),
        Binding("a", "unmark", "clear all marks", show=False, id="history.unmark"),
    ]

    def __init__(
        self,
        usual: Callable[[str, str], Mapping[str, Value] | None],
        ordered: Callable[[str, bool], None],
        painted: Callable[[], None],
    ) -> None:
        self.marked: dict[str, Entry] = {}
        self._usual, self._ordered, self._painted_rows = usual, ordered, painted
        super().__init__(self._columns(), noun="run", empty="Searching the history…")

    def _columns(self) -> list[Column[Entry]]:
        muted: Callable[[Entry], TextStyle | None] = lambda _: MUTED  # noqa: E731
        return [
            Column("", self._mark, width=1, style=lambda _: ACCENT),
            Column("when (UTC)", lambda e: e.line.at[:16].replace("T", " ") if e.run else "…", width=16),
            Column("run", lambda e: e.name, most=26, flex=True),
            Column("machine", lambda e: e.line.host, most=18, drop=1),
            Column("fastest", fastest, most=28),
            Column("ratio", lead, width=7, align="right", style=_lead_style),
            Column("parameters", lambda e: short(e, self._usual(e.line.preset, e.line.workload)), most=40,
                   flex=True, drop=4, style=muted),
            Column("budget", lambda e: e.line.budget, most=10, drop=6, style=muted),
            Column("pinned", lambda e: e.line.pinned, width=8, drop=2, style=lambda _: ACCENT),
            Column("tags", tags, most=28, flex=True, drop=3, style=lambda _: ACCENT),
            Column("status", status, most=12, drop=5, style=_status_style),
            Column("rounds", lambda e: f"{e.line.rounds:,}" if e.run else "", align="right", drop=8,
                   style=muted),
            Column("size", lambda e: size(e.line.size) if e.run else "", align="right", drop=7, style=muted),
        ]  # fmt: skip

    def _mark(self, entry: Entry) -> str:
        return "●" if entry.run in self.marked else ""

    # Rows

    def show(self, rows: Rows, search: str, place: int = 0) -> None:
        """Show these rows, the cursor on one of them."""
        self.search = search
        ordered = self._sorted
        self._sorted = None  # the rows come in their order
        self.set_rows(rows)
        self._sorted = ordered
        self._cursor = max(0, min(place, len(rows) - 1))
        self.repaint()

    search = ""

    def go_first(self) -> None:
        """The cursor on the first row."""
        self._cursor = self._top = 0

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = super().paint(width, height)
        self._painted_rows()
        return lines

    def on_click(self, event: events.Click) -> None:
        """A click in front of a row marks it."""
        at = event.get_content_offset(self)
        if at is None or not 0 < at.y <= self._body_height(self.size.height) or at.x > 1:
            return
        event.prevent_default()
        if self._top + at.y - 1 < len(self.rows):
            self._go(self._top + at.y - 1)
            self.action_mark()

    def came(self) -> None:
        """Rows that were waited for are here: the columns' widths may be others."""
        self._natural = []
        self.repaint()

    @property
    def window(self) -> tuple[int, int]:
        """The places that show: the first, and the one behind the last."""
        return self._top, self._top + self._body_height(max(1, self.size.height))

    @property
    def chosen(self) -> list[Entry]:
        """The marked runs, else the one under the cursor."""
        if self.marked:
            return list(self.marked.values())
        return [self.row] if self.row is not None and self.row.run else []

    def action_mark(self) -> None:
        """Mark the run under the cursor, or not any more; on to the next."""
        row = self.row
        if row is None or not row.run:
            return
        if self.marked.pop(row.run, None) is None:
            self.marked[row.run] = row
        self.repaint()
        self.post_message(self.Moved())
        self.action_move(1)

    def action_unmark(self) -> None:
        """No run is marked."""
        self.marked.clear()
        self.repaint()
        self.post_message(self.Moved())

    # Order

    def action_order(self) -> None:
        """Order by the next column that can be ordered by, after the last one as the runs came."""
        following = 0 if self._sorted is None else self._sorted[0] + 1
        able = [i for i, column in enumerate(self.columns) if column.label in ORDERS and i >= following]
        self._sort(able[0] if able else None, False)

    def _sort(self, column: int | None, reverse: bool) -> None:
        label = None if column is None else self.columns[column].label
        if label is not None and label not in ORDERS:
            return
        self._sorted = None if column is None else (column, reverse)
        if label is None:
            self._ordered(*LATEST)
        else:
            self._ordered(ORDERS[label], not reverse)

    def _footer(self) -> str:
        if not len(self.rows):
            return ""
        counted = placed(self.cursor, len(self.rows), self._noun)
        found = f" with “{self.search}”" if self.search else ""
        marks = f"  {SEPARATOR}  {len(self.marked):,} marked" if self.marked else ""
        return f" {counted}{found}{marks}"


def tags(entry: Entry) -> str:
    """`#nightly #driver-570`."""
    return " ".join(f"#{tag}" for tag in entry.line.tags)


def fastest(entry: Entry) -> str:
    """`CPU graph 0.48 ms`."""
    found = entry.brief
    if found is None or found.median_s is None:
        return "" if found is None else "nothing measured"
    return f"{found.fastest} {median_of(found.median_s)}"


def lead(entry: Entry) -> str:
    """How many times as long the next arm takes; `≈` where that is no difference beyond the noise."""
    found = entry.brief
    if found is None or found.ratio is None:
        return ""
    if not found.leads:
        return "≈ 1 ×"
    assert found.low is not None and found.high is not None
    return times(found.ratio, (found.high - found.low) / 2)


def _lead_style(entry: Entry) -> TextStyle | None:
    return None if entry.brief is not None and entry.brief.leads else MUTED


def status(entry: Entry) -> str:
    """How it ended, in a word."""
    return (entry.line.status or "not finished") if entry.run else ""


def _status_style(entry: Entry) -> TextStyle | None:
    return {"ok": MUTED, "failed": BAD, "cancelled": WARN}.get(entry.line.status or "", FAINT)


def short(entry: Entry, usual: Mapping[str, Value] | None) -> str:
    """The parameters that are not as usual, all where nobody knows what is usual."""
    known: Mapping[str, Any] = usual or {}
    return " ".join(f"{n}={typed(v)}" for n, v in entry.parameters.items() if known.get(n) != v)
