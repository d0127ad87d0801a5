"""The view of messages from TensorFlow, the worker and the lab."""

from textual.app import ComposeResult
from textual.widget import Widget

from tuilab.lab.changes import Change
from tuilab.model.events import Log
from tuilab.tui.views.base import View
from tuilab.tui.views.filtered import Filtered
from tuilab.tui.widgets.look import BAD, FAINT, MUTED, WARN
from tuilab.tui.widgets.table import Column, Table

LEVELS = {"error": BAD, "warning": WARN, "debug": FAINT}


class LogView(View):
    HELP = """\
## Log

Every line printed by TensorFlow, by your code, or by the lab itself; no output is drawn over the screen.
**{table.filter}** filters; on the last line, the view follows new output.
"""
    wants = Change.LOG

    def compose(self) -> ComposeResult:
        self.table = log_table()
        yield Filtered("log", self.table)

    def place(self) -> Widget:
        return self.table

    def draw(self) -> None:
        if self.table.rows is not self.lab.state.log:
            self.table.set_rows(self.lab.state.log)
        else:
            self.table.grew()


def log_table() -> Table[Log]:
    columns: list[Column[Log]] = [
        Column("from", lambda line: line.source, most=12, drop=1, style=lambda _: MUTED),
        Column("level", lambda line: line.level, width=7, drop=2),
        Column("line", lambda line: line.message, flex=True, most=200),
    ]
    return Table(
        columns,
        style=lambda line: LEVELS.get(line.level),
        text=lambda line: f"{line.text}\t{line.source}\t{line.level}",
        detail=lambda line: line.text,
        follow=True,
        noun="line",
        empty="No messages yet.",
    )
