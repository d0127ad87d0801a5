"""The view that divides the time of a call into phases, and the time of a model into layers."""

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult

from tuilab.model.models import Layer
from tuilab.model.result import RunResult
from tuilab.presentation.status import why_no_phases
from tuilab.report.rows import LAYER_HEAD, layer_row, layers_for, layers_in, layers_note
from tuilab.tui.views.base import View, fitting, folded_result, marks
from tuilab.tui.views.sentences import Sentences
from tuilab.tui.widgets.look import MUTED
from tuilab.tui.widgets.phases import Phases
from tuilab.tui.widgets.table import Column, Table

ROOM = 10
"""Rows reserved for the bars and their legend."""


class PhasesView(View):
    HELP = (
        Phases.HELP
        + """
For a model, the table below shows the layers in a call of that arm: share of the call, arithmetic, bytes,
and how close the layer comes to its roof. XLA merges layers, so an XLA arm shows the layers of the fastest
graph arm. Other name scopes, such as the optimizer's, also have rows; the last row is the remainder.
"""
    )

    def compose(self) -> ComposeResult:
        yield Phases()
        yield LayerTable()
        yield Sentences()

    def draw(self) -> None:
        state, phases = self.lab.state, self.query_one(Phases)
        result = folded_result(state, self.viewing, going=state.shown.running)
        arms = result.arms if result else ()
        phases.empty = why_no_phases(state, self.viewing)
        phases.show_arms(arms, marks(state.shown))
        self._show_layers(result)
        note = layers_note(result) if result is not None else []
        roofs = [arm.roof.sentence for arm in arms if arm.roof is not None] if result and result.roofs else []
        beneath = self.query_one(LayerTable).display
        room = 0 if beneath else max(0, min(4, self.size.height - len(arms) - ROOM) - len(note))
        self.query_one(Sentences).show([*note, *roofs[:room]])

    def _show_layers(self, result: RunResult | None) -> None:
        """Show the layers of the arm under the cursor. If this arm has no layers, show those of the fastest
        arm that has layers.
        """
        state, table, phases = self.lab.state.shown, self.query_one(LayerTable), self.query_one(Phases)
        layers: tuple[Layer, ...] = ()
        if result is not None and layers_in(result):
            table.of, layers = layers_for(result, state, phases.picked.id)
        table.show(layers)
        table.display = bool(layers)
        height, arms = self.size.height, len(result.arms) if result is not None else 0
        # Reserve rows for the arms, their legend and two lines of figures. The table gets at least a third of
        # all rows.
        least = max(height // 3, min(height // 2, height - arms - 3))
        fitting(table, len(layers), max(least, height - arms - ROOM))

    @on(Phases.Moved)
    def _picked(self, event: Phases.Moved) -> None:
        event.stop()
        self.draw()


class LayerTable(Table[Layer]):
    def __init__(self) -> None:
        self.of = ""
        """Label of the arm whose layers are shown."""
        keys: list[Callable[[Layer], float] | None] = [
            *(None, None, lambda layer: layer.share, lambda layer: layer.flop or 0.0),
            *(lambda layer: layer.bytes, lambda layer: layer.of_roof or 0.0, None),
        ]
        columns = [
            Column(
                label,
                lambda layer, place=place: layer_row(layer)[place],  # type: ignore[misc]
                most=48 if place == 0 else 22,
                align="right" if key else "left",
                flex=place == 0,
                drop=(0, 3, 0, 0, 4, 2, 1)[place],
                style=(lambda _: MUTED) if place in (1, 4) else None,
                key=key,
            )
            for place, (label, key) in enumerate(zip(LAYER_HEAD, keys, strict=True))
        ]
        super().__init__(
            columns,
            detail=lambda layer: f"{layer.name} in a call of {self.of}",
            noun="row",
            empty="No layers.",
        )

    def show(self, layers: tuple[Layer, ...]) -> None:
        if layers != self.rows:
            self.set_rows(layers)
