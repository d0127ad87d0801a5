"""A table with a text field that filters its rows."""

from typing import Any, ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input

from tuilab.tui.keys import spoken
from tuilab.tui.widgets.line_input import LineInput
from tuilab.tui.widgets.table import Table


class Filter(LineInput):
    """A text field that filters a table by words. Enter or the down arrow moves the focus to the rows."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,down", "rows", "rows", show=False)]
    DEFAULT_CSS = "Filter { padding: 0 1; }"

    def __init__(self, what: str, table: Widget, key: str = "table.filter") -> None:
        """key: id of the action that focuses this text field."""
        super().__init__(placeholder=spoken(self, f"{{{key}}} filters the {what}"), select_on_focus=False)
        self._table = table

    def action_rows(self) -> None:
        self._table.focus()


class Filtered(Vertical):
    """A table with a text field above it that filters the rows. what: plural noun for the rows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", show=False, id="table.filter"),
        Binding("escape", "rows", "rows", show=False, id="table.rows"),
    ]
    DEFAULT_CSS = "Filtered { height: 1fr; }"

    def __init__(self, what: str, table: Table[Any]) -> None:
        super().__init__()
        self._what, self._table = what, table

    def compose(self) -> ComposeResult:
        yield Filter(self._what, self._table)
        yield self._table

    def action_filter(self) -> None:
        self.screen.set_focus(self.query_one(Filter))

    def action_rows(self) -> None:
        """If the rows have the focus, clear the filter. Otherwise move the focus to the rows."""
        line = self.query_one(Filter)
        if self._table.has_focus:
            if not line.value:
                raise SkipAction()
            line.value = ""
        self._table.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._table.filter = event.value
