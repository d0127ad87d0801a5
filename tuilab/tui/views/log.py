"""Log: what TensorFlow, the worker and the lab said."""

from textual.app import ComposeResult
from textual.widget import Widget

from tuilab.lab import Lab
from tuilab.lab.changes import Change
from tuilab.tui.views.base import View
from tuilab.tui.views.filtered import Filtered
from tuilab.tui.widgets.lists import log_table


class LogView(View):
    """The log with a filter; it follows the newest line."""

    HELP = """\
## Log

Every line printed by TensorFlow, by your code, or by the lab itself; nothing is printed over the screen.
**/** filters; on the last line the view follows new output.
"""
    wants = Change.LOG

    def __init__(self, lab: Lab, id: str | None = None) -> None:
        super().__init__(lab, id)
        self.table, self._drawn = log_table(), object()

    def compose(self) -> ComposeResult:
        yield Filtered("log", self.table)

    def place(self) -> Widget:
        return self.table

    def draw(self) -> None:
        lab_state = self.lab.state
        if self._drawn is not lab_state.log or len(self.table.rows) > len(lab_state.log):
            self._drawn = lab_state.log
            self.table.set_rows(lab_state.log)
        else:
            self.table.grew()
