"""The page that measures a document's claims one after another and shows the verdicts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tuilab.lab.fact_check import Checker, write_page
from tuilab.model.errors import WorkerError
from tuilab.model.preset import Preset
from tuilab.presentation.pages import fact_check_page, fact_check_progress
from tuilab.report.fact_check import FactCheck
from tuilab.tui.keys import spoken
from tuilab.tui.messages import Hearing, LabChanged
from tuilab.tui.screens.modal import Page, dressed, framed

if TYPE_CHECKING:
    from tuilab.lab import Lab


class FactCheckScreen(Page[None], Hearing):
    """Starts measuring when the page opens. `space` stops and continues the measurement."""

    HELP = """\
## Fact-check

The claims of a document, in order. The lab measures one claim after another with the budget *quick* and marks
it: ✓ confirmed, ✗ refuted, ≈ undecided, ? untestable here, ⊘ impossible on any known GPU.
**{fact-check.turn}** stops and resumes. **{fact-check.page}** writes a page with the machine and the date.
The runs are saved in the history.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,r,x", "turn", "stop or resume", show=False, id="fact-check.turn"),
        Binding("e", "export('html')", "page", show=False, id="fact-check.page"),
        Binding("m", "export('md')", "Markdown", show=False, id="fact-check.markdown"),
        Binding("q", "close", "close", show=False, id="fact-check.close"),
    ]
    DEFAULT_CSS = """
    FactCheckScreen > .frame { width: 96%; height: 94%; }
    FactCheckScreen #statements { height: auto; }
    FactCheckScreen #going { height: auto; color: $text-muted; border-top: solid $border-blurred; }
    """

    def __init__(self, lab: "Lab", check: FactCheck, presets: Sequence[Preset]) -> None:
        super().__init__()
        self.check = check
        self.lab = lab
        self._checker = Checker(lab, check, presets, self._show)
        self._said, self._came_from = "", lab.state.place

    def compose(self) -> ComposeResult:
        keys = (
            "{fact-check.turn} pauses, {fact-check.page} page, {fact-check.markdown} Markdown, "
            "{page.close} closes"
        )
        with framed(Container(), self.check.title, keys):
            with VerticalScroll():
                yield Static(id="statements")
            yield Static(id="going")

    def on_mount(self) -> None:
        self._show()
        self._go()

    def _go(self) -> None:
        self._said = ""
        self.run_worker(self._run(), exclusive=True, exit_on_error=False)

    async def _run(self) -> None:
        try:
            await self._checker.run()
        except WorkerError as error:
            self._said = str(error)
        self._show()

    def action_turn(self) -> None:
        if self.check.going:
            self._checker.stop()
        elif self.check.left:
            self._go()

    def action_close(self) -> None:
        """Stop measuring, close the page, and restore the earlier settings. The history keeps finished
        measurements.
        """
        if self.check.going:
            self._checker.stop()
        self.lab.go_back(self._came_from)
        self.dismiss(None)

    def action_export(self, ending: str) -> None:
        folder = Path.cwd()
        try:
            self._said = f"written: {write_page(self.check, folder, ending)}"
        except OSError as error:
            self._said = f"cannot write to {folder}: {error.strerror}"
        self._show_going()

    def _show(self) -> None:
        # the page may have been closed before the end of the check
        for shown in self.query("#statements").results(Static):
            shown.update(dressed(self, fact_check_page(self.check)))
        self._show_going()

    @on(LabChanged)
    def _show_going(self) -> None:
        words = [fact_check_progress(self.check, self.lab.state), self._said]
        for shown in self.query("#going").results(Static):
            shown.update(Content(spoken(self, "\n".join(filter(None, words)))))
