"""The page that compares two or more saved runs, in a table of arms and runs."""

import math
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tuilab.lab.history import Across, ArmAcross, Entry, Figure
from tuilab.model.moments import when, zone
from tuilab.model.quantity import plural
from tuilab.tui.screens.modal import Page, framed
from tuilab.tui.widgets.look import BAD, GOOD, MUTED, TextStyle
from tuilab.tui.widgets.table import Column, Table

LETTERS = "ABCDEFGH"
MOST = len(LETTERS)
ABSENT = Figure(median_s=math.inf, low_s=None, high_s=None)
"""Placeholder for an arm that a run did not measure."""


class RunsCompared(Page[None]):
    HELP = """\
## Runs compared

Each arm's median time per call in each run, with its 95% interval, and its ratio to the first run, or to the
pinned baseline; for sweeps, at each measured size. Runs are not interleaved, so a difference counts only if
the two intervals do not overlap; otherwise the table shows *within the noise*. *May be chance* marks a small
difference between runs of a single process. Differences in machine, software, work and parameters are
listed above the table: they may be the cause.
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
        text = f"ratios to {base}; {{table.order}} sorts, {{page.close}} closes"
        with framed(Container(), f"{len(self._entries)} runs compared", text):
            with VerticalScroll(can_focus=False):
                yield Static(legend(self._entries, self._found), markup=False)
            yield self.table

    def on_mount(self) -> None:
        around = (
            7
            + len(self._entries)
            + sum(map(len, self._found.warnings))
            + 2 * bool(self._found.note)
            + bool(self._found.left_out)
        )
        room = max(6, self.app.size.height - around)
        self.table.styles.height = min(room, len(self._found.arms) + 3)
        self.table.set_rows(self._found.arms)
        self.table.focus()


def legend(entries: Sequence[Entry], found: Across) -> Content:
    """Return a line for each run, and below each line the run's differences from the base run."""
    lines = []
    for index, (letter, entry, warnings) in enumerate(zip(LETTERS, entries, found.warnings, strict=False)):
        line = entry.line
        base = "  the base" if index == found.base else ""
        about = f"  {when(line.at)}{zone()} on {line.host}, {line.budget}, {line.rounds:,} rounds"
        lines.append(
            Content.assemble(
                (f"{letter} ", "$accent bold"),
                (entry.name, "bold"),
                (about, "$foreground-muted"),
                (base, "$accent"),
            )
        )
        lines += [Content.styled(f"  ≠ {warning}", "$warning") for warning in warnings]
    left_out = f"Left out: {plural(found.left_out, 'size')} that only one run measured."
    messages = [found.note, left_out if found.left_out else ""]
    lines += [Content.styled(each, "$foreground-muted") for each in messages if each]
    return Content("\n").join(lines)


def arms_table(found: Across) -> Table[ArmAcross]:
    """Return a table with a row per arm, and for each run two columns: the arm's figure, and its ratio to the
    base run's figure.

    If space is short, the figures of other runs are omitted first, then their ratios.
    """
    columns: list[Column[ArmAcross]] = [Column("arm", lambda row: row.label, most=30, flex=True)]
    if any(row.at for row in found.arms):
        columns.append(Column("at", lambda row: row.at, most=30))
    for index in range(len(found.warnings)):
        columns += columns_of(index, found.base, len(found.warnings))
    return Table(
        columns,
        detail=lambda row: "; ".join(
            f"{letter}/{LETTERS[found.base]} {figure.bounds}"
            for letter, figure in zip(LETTERS, row.figures, strict=False)
            if figure is not None and figure.bounds
        ),
        noun="arm",
        empty="No arm was measured at the same size in two of these runs, so there is nothing to compare.",
    )


def columns_of(index: int, base: int, runs: int) -> list[Column[ArmAcross]]:
    """Return a run's columns: the figures, and their ratios to the base run's figures."""

    def figure(row: ArmAcross) -> Figure:
        return row.figures[index] or ABSENT

    letter, drop = LETTERS[index], 0 if runs == 2 or index == base else MOST + index
    figures = Column[ArmAcross](letter, lambda row: str(row.figures[index] or "–"), most=24, align="right",
                     key=lambda row: figure(row).median_s, drop=drop)  # fmt: skip
    ratios = Column[ArmAcross](f"{letter} / {LETTERS[base]}", lambda row: figure(row).words, most=16,
                    style=lambda row: style(figure(row)), drop=0 if index < 2 else index,
                    key=lambda row: figure(row).ratio or math.inf)  # fmt: skip
    return [figures] if index == base else [figures, ratios]


def style(figure: Figure) -> TextStyle:
    """Return the style of a ratio: one style for a faster run, one for a slower run, and muted if the ratio
    does not clearly differ from 1.
    """
    if figure.ratio is None or not figure.differs:
        return MUTED
    return BAD if figure.ratio > 1 else GOOD
