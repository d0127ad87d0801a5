"""The page with the full answer."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from tuilab.presentation.pages import answer_page
from tuilab.tui.screens.modal import Page, dressed, framed

if TYPE_CHECKING:
    from tuilab.lab import Lab


class AnswerScreen(Page[None]):
    HELP = """\
## The answer in full

This page shows the complete answer: the sentence, its certainty and the scope of its intervals, each arm,
each claim of the document with verdict and evidence, every caveat, advice, and how it was measured.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("A,q,enter", "close", "close", show=False, id="answer.close")
    ]

    def __init__(self, lab: "Lab") -> None:
        super().__init__()
        self._lab = lab

    def compose(self) -> ComposeResult:
        with framed(VerticalScroll(), "Answer", "arrows and wheel scroll, {page.close} closes"):
            yield Static(dressed(self, answer_page(self._lab.state)))

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        said = self.query_one(Static)
        said.update(dressed(self, answer_page(self._lab.state, said.size.width)))
