"""A document's claims, measured one after another: each sentence gets its verdict as it comes."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tuilab.lab.fact_check import Checker
from tuilab.model.errors import WorkerError
from tuilab.model.files import write_text
from tuilab.model.preset import Preset
from tuilab.model.verdicts import VERDICTS
from tuilab.report.fact_check import FactCheck, Statement, html, markdown, stamp
from tuilab.tui.messages import Hearing, LabChanged
from tuilab.tui.screens.modal import Page, framed

if TYPE_CHECKING:
    from tuilab.lab import Lab


class FactCheckScreen(Page[None], Hearing):
    """Starts by itself. `space` stops and goes on; what was measured stays."""

    HELP = """\
## Fact-check

The claims of a document, in order. Each is measured with the budget *quick*, one after another, and
gets its mark: ✓ confirmed, ✗ refuted, ≈ undecided, ? untestable here, ⊘ impossible by the bound. **space**
stops and resumes. **e** writes a page stamped with machine and date. The runs are kept in the history too.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,r,x", "turn", "stop, resume", show=False, id="fact-check.turn"),
        Binding("e", "export('html')", "page", show=False, id="fact-check.page"),
        Binding("m", "export('md')", "Markdown", show=False, id="fact-check.markdown"),
        Binding("j,down", "scroll(1)", "down", show=False, id="fact-check.down"),
        Binding("k,up", "scroll(-1)", "up", show=False, id="fact-check.up"),
        Binding("q", "close", "close", show=False, id="fact-check.close"),
    ]
    DEFAULT_CSS = """
    FactCheckScreen > .frame { width: 96%; height: 94%; }
    FactCheckScreen .statement { height: auto; margin-bottom: 1; }
    FactCheckScreen #going { height: auto; color: $text-muted; border-top: solid $border-blurred; }
    """

    def __init__(self, lab: "Lab", check: FactCheck, presets: Sequence[Preset]) -> None:
        super().__init__()
        self.check = check
        self.lab = lab
        self._checker = Checker(lab, check, presets, self._show)
        self._said = ""

    def compose(self) -> ComposeResult:
        keys = "space stops and resumes, e page, m Markdown, esc closes"
        with framed(Container(), self.check.title, keys):
            with VerticalScroll():
                for index in range(len(self.check.statements)):
                    yield Static(id=f"s{index}", classes="statement")
            yield Static(id="going")

    def on_mount(self) -> None:
        self._show()
        self._go()

    def on_lab_changed(self, event: LabChanged) -> None:
        """How far the run is."""
        self._show_going()

    @property
    def going(self) -> bool:
        """Whether a claim is measured now."""
        return any(not worker.is_finished for worker in self.workers if worker.name == "check")

    def _go(self) -> None:
        self._said = ""
        self.run_worker(self._run(), name="check", exit_on_error=False)

    async def _run(self) -> None:
        try:
            await self._checker.run()
        except WorkerError as error:
            self._said = str(error)
        self._show()

    def action_turn(self) -> None:
        """Stop what is measured, or go on."""
        if self.going:
            self._checker.stop()
        elif self.check.left:
            self._go()

    def action_scroll(self, by: int) -> None:
        """Towards the next claims, or back."""
        box = self.query_one(VerticalScroll)
        (box.scroll_down if by > 0 else box.scroll_up)(animate=False)

    def action_close(self) -> None:
        """Close; what was measured is in the history."""
        if self.going:
            self._checker.stop()
        self.dismiss(None)

    def action_export(self, ending: str) -> None:
        """Write the stamped page into the current folder."""
        path = Path.cwd() / f"fact-check-{time.strftime('%Y%m%d-%H%M%S')}.{ending}"
        try:
            write_text(path, [html(self.check) if ending == "html" else markdown(self.check)])
        except OSError as error:
            self._said = f"nothing could be written to {path.parent}: {error.strerror}"
        else:
            self._said = f"written: {path}"
        self._show_going()

    def _show(self) -> None:
        if not self.is_mounted:
            return
        for index, statement in enumerate(self.check.statements):
            self.query_one(f"#s{index}", Static).update(self._row(statement))
        self._show_going()

    def _row(self, statement: Statement) -> Content:
        going = statement.preset == self.check.going and statement.verdict is None
        tone = VERDICTS[statement.verdict].tone if statement.verdict else "accent" if going else "muted"
        style = f"$text-{tone}" + " bold" * (statement.verdict not in (None, "untestable"))
        word = statement.verdict or ("measuring…" if going else "not measured yet")
        where = f"   line {statement.line}" if statement.line else ""
        parts: list[Content | tuple[str, str] | str] = [
            (f"{'▸' if going else statement.mark} ", style),
            statement.text,
            (where, "$text-muted"),
            "\n  ",
            (word, style),
        ]
        if statement.evidence:
            parts.append((f": {statement.evidence}", "$text-muted"))
        return Content.assemble(*parts)

    def _show_going(self) -> None:
        from tuilab.lab.status import status

        if not self.is_mounted:
            return
        check = self.check
        words = [check.summary()]
        if self.going and check.going:
            words.append(f"{check.going}: {status(self.lab.state).text}")
        elif check.left:
            words.append("stopped; space continues")
        else:
            words.append(stamp(check))
        said = "\n".join(filter(None, [". ".join(words), self._said]))
        self.query_one("#going", Static).update(Content(said))
