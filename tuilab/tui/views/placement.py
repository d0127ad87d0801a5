"""The view that lists where each op ran and why, and the summary below the controls."""

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static

from tuilab.lab import Lab
from tuilab.model.quantity import size
from tuilab.model.result import PlacementRow
from tuilab.model.run import RunState
from tuilab.presentation.placement import (
    Group,
    LayerGroup,
    PlacementRows,
    about,
    device_of,
    groups,
    has_moved,
    layers,
)
from tuilab.presentation.status import why_empty
from tuilab.tui.views.base import View
from tuilab.tui.views.filtered import Filtered
from tuilab.tui.widgets.look import ACCENT, MUTED, WARN, TextStyle
from tuilab.tui.widgets.table import Column, Table

MOST_LINES = 12


def version(state: RunState) -> tuple[str, int]:
    """Return the run's id and its number of placement rows. If either changes, the placement must be drawn
    again.
    """
    return state.run, sum(len(nodes) for arm in state.arms.values() for nodes in arm.placement.values())


NOTHING = "Placement: no op has been placed yet."


class PlacementLog(Static):
    HELP = """\
## Placement

The number of ops on each device, and why they ran there. The Placement view (**{view-placement}**, or a
click) lists every op, with a filter.
"""

    def __init__(self, lab: Lab) -> None:
        super().__init__(NOTHING, markup=False)
        self._lab = lab
        self._drawn: object = version(RunState())

    def on_show(self) -> None:
        self.draw()

    def draw(self) -> None:
        lab_state = self._lab.state
        if version(lab_state.shown) == self._drawn:
            return
        self._drawn = version(lab_state.shown)
        found = [str(group) for group in groups(lab_state.shown)]
        lines = ["; ".join(found[:2]), *found[2:MOST_LINES]]
        head = str(PlacementRows(lab_state.shown))
        self.update(Content.assemble((head, "bold"), ". ", "\n".join(lines)) if found else NOTHING)

    async def on_click(self) -> None:
        await self.screen.run_action("view('placement')")


class PlacementView(View):
    HELP = """\
## Placement

At the top: how many ops ran on each device and why, starting with ops that did not run where requested. For a
model, its layers follow. **{table.select}** shows the rows of a group; *every op* shows all rows. Below, each
op as observed: the device that computed it, the memory that holds its output if that is on another device,
and the reason if the op did not run where requested. A copy between devices has its own row, with its bytes;
ops that the optimizer removed are counted. **{table.filter}** filters, **{table.order}** sorts by the next
column.
"""
    DEFAULT_CSS = """
    PlacementView OptionList { height: auto; max-height: 40%; background: transparent; }
    PlacementView OptionList:focus { background-tint: transparent; }
    """

    _drawn: object = None

    def compose(self) -> ComposeResult:
        yield OptionList(compact=True, markup=False)
        self.table = PlacementTable()
        yield Filtered("ops", self.table)

    def draw(self) -> None:
        lab_state = self.lab.state
        state = lab_state.shown
        self.table.empty = why_empty(lab_state)
        if state.run and state.running:
            self.table.empty = "The placement is recorded after the warm-up."
        elif state.status == "ok":
            self.table.empty = "No op was observed in this run."
        if version(state) != self._drawn:
            self._drawn = version(state)
            self.table.labels = {arm: known.label for arm, known in state.arms.items()}
            self._rows = PlacementRows(state)
            self._groups: list[Group | LayerGroup] = [*groups(state), *layers(state)]
            self.table.set_rows(self._rows)
            listed = self.query_one(OptionList)
            listed.display = bool(self._groups)
            listed.set_options([Content("every op"), *map(_row, self._groups)])
            listed.highlighted = 0

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        chosen = self._groups[event.option_index - 1] if event.option_index else None
        self.table.set_rows([row for row in self._rows if chosen.has(row)] if chosen else self._rows)

    def place(self) -> Widget:
        listed = self.query_one(OptionList)
        return listed if listed.display else self.table


def _row(group: Group | LayerGroup) -> Content:
    more = ", ".join(group.ops[:4]) + (" …" if len(group.ops) > 4 else "")
    elsewhere = isinstance(group, Group) and group.elsewhere
    return Content.assemble((str(group), "$warning" if elsewhere else ""), (f"  {more}", "$foreground-muted"))


class PlacementTable(Table[PlacementRow]):
    """A table with a row for each op, copy or folded group. Highlights ops that did not run on the requested
    device.
    """

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        columns: list[Column[PlacementRow]] = [
            Column("op", lambda row: row.op if row.kind == "op" else row.kind, most=22),
            Column("device", device_of, width=16,
                   style=lambda row: TextStyle("warn", bold=True) if has_moved(row) else None),
            Column("node", lambda row: row.node, flex=True, most=60),
            Column("type", lambda row: row.dtype, most=12, drop=2, style=lambda _: MUTED),
            Column("bytes", lambda row: size(row.bytes) if row.bytes else "", align="right", drop=3,
                   key=lambda row: row.bytes, style=lambda _: MUTED, sparse=True),
            Column("count", lambda row: f"{row.count:,}", align="right", drop=4, key=lambda row: row.count,
                   style=lambda _: MUTED),
            Column("arm", lambda row: self.labels.get(row.arm, row.arm), most=28, drop=5,
                   style=lambda _: MUTED),
        ]  # fmt: skip
        super().__init__(
            columns,
            detail=about,
            style=_style,
            text=lambda row: "\t".join(
                (row.op, row.node, device_of(row), row.dtype, row.arm, row.kind, row.reason, row.layer)
            ),
            noun="row",
            empty="No op has been placed yet.",
        )


def _style(row: PlacementRow) -> TextStyle | None:
    return WARN if has_moved(row) else {"folded": MUTED, "copy": ACCENT}.get(row.kind)
