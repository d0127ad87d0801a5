"""The view of the document's claims, the measurements, the mistakes in the document's code, and advice."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from tuilab.presentation.pages import verdict_page
from tuilab.tui.screens.modal import dressed
from tuilab.tui.views.base import View


class VerdictView(View):
    HELP = """\
## Verdict

Each claim of the document, in tuilab's words, with this machine's verdict and its evidence: ✓ confirmed, ✗
refuted, ≈ undecided (the intervals do not decide it), ? untestable here, ⊘ impossible on any known GPU. Below
are other observations of the run, the measurement mistakes in the document's code, and advice, which starts
with the largest limit of each arm in this run.
"""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(markup=False)

    def draw(self) -> None:
        self.query_one(Static).update(dressed(self, verdict_page(self.lab.state)))
