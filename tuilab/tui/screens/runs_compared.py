"""Two or more runs of the history side by side: arms × runs."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tuilab.analysis.words import times
from tuilab.lab.history import Across, ArmAcross, Entry, Figure
from tuilab.model.quantity import interval, median_of
from tuilab.tui.screens.modal import Page, framed
from tuilab.tui.widgets.look import BAD, GOOD, MUTED, TextStyle
from tuilab.tui.widgets.table import Table
from tuilab.tui.widgets.tabular import Column

LETTERS = "ABCDEFGH"
MOST = len(LETTERS)
SAME = "no difference"


class RunsCompared(Page[None]):
    """Above, which runs these are and in what they are unlike; below, the table."""

    HELP = """\
## Runs compared

Each arm's median time per call in each run, with its 95 % interval, and its ratio to the first run, or to
the one pinned as baseline; for sweeps, at each size that was measured. Runs are not interleaved, so a
difference counts only if the two intervals do not overlap; otherwise it says *no difference*. Machines,
software, work and parameters that differ are listed above the table: they may be the cause.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,c", "close", "close", show=False, id="compared.close"),
    ]
    DEFAULT_CSS = """
    RunsCompared > .frame { width: 100%; max-width: 150; }
    RunsCompared VerticalScroll { height: auto; max-height: 45%; scrollbar-size-vertical: 1; }
    RunsCompared Static { height: auto; }
    RunsCompared Table { margin-top: 1; }
    """

    def __init__(self, entries: Sequence[Entry], found: Across) -> None:
        super().__init__()
        self._entries, self._found = tuple(entries), found
        self.table = arms_table(found)

    def compose(self) -> ComposeResult:
        base = LETTERS[self._found.base]
        said = f"ratios are against {base}; o orders, esc closes"
        with framed(Container(), f"{len(self._entries)} runs compared", said):
            with VerticalScroll(can_focus=False):
                yield Static(legend(self._entries, self._found), markup=False)
            yield self.table

    def on_mount(self) -> None:
        around = 7 + len(self._entries) + sum(map(len, self._found.warnings)) + 2 * bool(self._found.note)
        room = max(6, self.app.size.height - around)
        self.table.styles.height = min(room, len(self._found.arms) + 3)
        self.table.set_rows(self._found.arms)
        self.table.focus()


def legend(entries: Sequence[Entry], found: Across) -> Content:
    """A line for each run, and under it in what it is unlike the one it is held against."""
    lines = []
    for index, (letter, entry, warnings) in enumerate(zip(LETTERS, entries, found.warnings, strict=False)):
        line = entry.line
        base = "  the base" if index == found.base else ""
        about = f"  {line.at[:16].replace('T', ' ')} on {line.host}, {line.budget}, {line.rounds:,} rounds"
        lines.append(
            Content.assemble(
                (f"{letter} ", "$accent bold"),
                (entry.name, "bold"),
                (about, "$text-muted"),
                (base, "$accent"),
            )
        )
        lines += [Content.styled(f"  ≠ {warning}", "$warning") for warning in warnings]
    lines += [Content.styled(found.note, "$text-muted")] if found.note else []
    return Content("\n").join(lines)


def arms_table(found: Across) -> Table[ArmAcross]:
    """An arm a row, two columns a run: its figure, and how it stands against the base.

    Where there is no room, the figures of the others go before their ratios do.
    """
    columns: list[Column[ArmAcross]] = [Column("arm", lambda row: row.label, most=30, flex=True)]
    if any(row.at for row in found.arms):
        columns.append(Column("at", lambda row: row.at, most=30))
    runs = len(found.warnings)
    for index in range(runs):
        columns.append(
            Column(LETTERS[index], partial(_shown, index=index), most=24, align="right",
                   key=partial(_median, index=index),
                   drop=0 if runs == 2 or index == found.base else MOST + index)
        )  # fmt: skip
        if index != found.base:
            letters = f"{LETTERS[index]} / {LETTERS[found.base]}"
            columns.append(
                Column(letters, partial(_words, index=index), most=16, style=partial(_style, index=index),
                       drop=0 if index < 2 else index, key=partial(_ratio, index=index))
            )  # fmt: skip
    return Table(
        columns,
        detail=lambda row: detail(row, found),
        noun="arm",
        empty="These runs have no arm with a figure, so there is nothing to compare.",
    )


def shown(figure: Figure) -> str:
    """`0.481 ms [0.47 0.49]`."""
    if figure.low_s is None or figure.high_s is None:
        return median_of(figure.median_s)
    half = (figure.high_s - figure.low_s) / 2
    return f"{median_of(figure.median_s, half)} {interval(figure.low_s, figure.high_s, figure.median_s)}"


def figure_text(figure: Figure | None) -> str:
    """`1.27 × slower`, `no difference`; "" where there is nothing to hold it against."""
    if figure is None or figure.ratio is None:
        return ""
    if not figure.differs:
        return SAME
    ratio = max(figure.ratio, 1 / figure.ratio)
    return f"{times(ratio)} {'slower' if figure.ratio > 1 else 'faster'}"


def detail(row: ArmAcross, found: Across) -> str:
    """The bounds of each ratio of an arm."""
    parts = []
    for letter, figure in zip(LETTERS, row.figures, strict=False):
        if figure is not None and figure.low is not None and figure.high is not None:
            low, high = times(figure.low), times(figure.high)
            parts.append(f"{letter}/{LETTERS[found.base]} between {low} and {high}")
    return "; ".join(parts)


def _shown(row: ArmAcross, index: int) -> str:
    figure = row.figures[index]
    return shown(figure) if figure else "–"


def _median(row: ArmAcross, index: int) -> float:
    figure = row.figures[index]
    return figure.median_s if figure else float("inf")


def _ratio(row: ArmAcross, index: int) -> float:
    figure = row.figures[index]
    return figure.ratio if figure and figure.ratio is not None else float("inf")


def _words(row: ArmAcross, index: int) -> str:
    return figure_text(row.figures[index])


def _style(row: ArmAcross, index: int) -> TextStyle | None:
    figure = row.figures[index]
    if figure is None or figure.ratio is None or not figure.differs:
        return MUTED
    return BAD if figure.ratio > 1 else GOOD
