"""The page of a document: its text, its findings, and presets for its examples. Never runs the document's
code.
"""

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.text_area import Selection

from tuilab.analysis.words import listed
from tuilab.documents import RULES, DocumentReport, Finding, Unresolved
from tuilab.documents.report import collapsed
from tuilab.lab.offers import of_presets
from tuilab.lab.proof import PATTERNS, Proof, Proven, proofs, prove
from tuilab.model.errors import InputError, WorkerError
from tuilab.model.preset import Preset
from tuilab.model.quantity import plural
from tuilab.tui.screens.menu import Items
from tuilab.tui.screens.modal import Page, framed

if TYPE_CHECKING:
    from tuilab.lab import Lab

TITLES = {rule.code: rule.title for rule in RULES}
SIGNS = {
    "error": ("✗ ", "$text-error bold"),
    "warning": ("! ", "$text-warning bold"),
    "note": ("· ", "$text bold"),
}


class DocumentScreen(Page[Preset]):
    """Shows a document. Returns the preset that the user opens."""

    HELP = """\
## A document

At the top is the text, below it the measurement mistakes in its code. **{document.next} {document.previous}**
go to the next or previous finding, and the text scrolls to it. Under the findings are presets that measure
what the examples intended: **{document.turn}** moves to the presets, opening a preset measures it,
**{document.fact-check}** checks the claims of all presets. **{document.prove}**, or opening a finding, proves
the finding: the lab measures the recognized op and shape, and shows the factor by which the document's figure
is wrong on this machine. Press it again to stop. The document's own code never runs.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,n", "finding(1)", "next finding", show=False, id="document.next"),
        Binding("k,N,shift+n", "finding(-1)", "previous finding", show=False, id="document.previous"),
        Binding("tab", "app.focus_next", "text, findings or presets", show=False, id="document.turn"),
        Binding("p", "prove", "prove the finding, or stop", show=False, id="document.prove"),
        Binding("F", "fact_check", "fact-check", show=False, id="document.fact-check"),
        Binding("q,o", "close", "close", show=False, id="document.close"),
    ]
    DEFAULT_CSS = """
    DocumentScreen > .frame { width: 96%; height: 94%; }
    DocumentScreen TextArea { border: none; height: 1fr; background: transparent; padding: 0; }
    DocumentScreen OptionList { border-top: solid $border-blurred; background: transparent; }
    DocumentScreen #findings { height: auto; max-height: 40%; }
    DocumentScreen Items { max-height: 7; }
    """

    def __init__(self, report: DocumentReport, lab: "Lab") -> None:
        super().__init__()
        self._report, self._lab = report, lab
        self._heading = report.document.title or report.document.id
        found: list[Finding | Unresolved] = []
        for example in report.examples:
            # several examples may contain the same unresolved call
            found += [*example.findings, *(each for each in example.unresolved if each not in found)]
        self._found = sorted(found, key=lambda each: each.line)
        self._proofs = {id(proof.finding): proof for proof in proofs(report)}
        self._proving: Finding | None = None
        self._came_from = lab.state.place

    def action_prove(self) -> None:
        """Measure the finding under the cursor. If a measurement is active, stop it."""
        if self._proving is not None:
            self._lab.stop()
            return
        at = next((found.highlighted for found in self.query("#findings").results(OptionList)), None)
        found = self._found[at] if at is not None else None
        proof = self._proofs.get(id(found))
        if isinstance(found, Finding) and proof is not None:
            self._proving = found
            self._tell(found, "measuring …")
            self.run_worker(self._prove(found, proof), exit_on_error=False)
        else:
            code = found.code if isinstance(found, Finding) else "an unresolved call"
            text = f"A measurement cannot prove {code}; it can prove {listed(list(PATTERNS))}."
            self.notify(text, markup=False)

    async def _prove(self, found: Finding, proof: Proof) -> None:
        words = "stopped before the first figure"

        def told(shown: Proven) -> None:
            nonlocal words
            words = shown.sentence

        try:
            await prove(self._lab, [proof], "quick", told)
        except (InputError, WorkerError) as error:
            words = str(error)
        finally:
            self._proving = None
        self._tell(found, words)

    def _tell(self, found: Finding, words: str) -> None:
        for findings in self.query("#findings").results(OptionList):
            at = next(number for number, each in enumerate(self._found) if each is found)
            findings.replace_option_prompt_at_index(at, about(found, words))

    def action_close(self) -> None:
        if self._proving is not None:
            self._lab.stop()
        self._lab.go_back(self._came_from)
        self.dismiss(None)

    def action_fact_check(self) -> None:
        from tuilab.lab import fact_check
        from tuilab.tui.screens.fact_check import FactCheckScreen

        check, presets = fact_check.of_report(self._report)
        if presets:
            self.app.push_screen(FactCheckScreen(self._lab, check, presets))
        else:
            text = "No claim in this document belongs to one of its benchmarks."
            if self._report.presets:
                text += " Open one of the presets to measure its benchmark."
            self.notify(text, markup=False)

    def compose(self) -> ComposeResult:
        report = self._report
        found = [each for each in self._found if isinstance(each, Finding)]
        # as in `tuilab check`, the same finding on several lines counts once
        kinds = collapsed(found)
        places = sum(1 + len(each.also) for each in kinds)
        counted = f"{plural(len(report.examples), 'example')}, {plural(len(kinds), 'finding')}"
        counted += f" in {places} places" if places > len(kinds) else ""
        keys = (
            "{document.next} {document.previous} findings, {document.turn} presets, {document.prove} proves, "
            "{document.fact-check} fact-checks, {page.close} closes"
        )
        with framed(Container(), f"{self._heading} · {counted}", keys):
            text = TextArea("\n".join(report.lines), read_only=True, show_line_numbers=True)
            text.cursor_blink = False
            yield text
            if self._found:
                yield OptionList(*map(about, self._found), id="findings", compact=True, markup=False)
            if report.presets:
                yield Items(of_presets(report.presets))
            else:
                why = "the findings give the reasons" if self._found else "no timed op was recognized"
                yield Static(f"No preset could be made from this document: {why}.")

    def on_mount(self) -> None:
        # exiting the lab may already have removed the widgets
        for last in [*self.query("#findings, TextArea")][-1:]:
            last.focus()

    def action_finding(self, by: int) -> None:
        for found in self.query("#findings").results(OptionList):
            found.highlighted = min(len(self._found) - 1, max(0, (found.highlighted or 0) + by))

    @on(OptionList.OptionHighlighted, "#findings")
    def _show_line(self, event: OptionList.OptionHighlighted) -> None:
        text = self.query_one(TextArea)
        row = min(text.document.line_count, max(1, self._found[event.option_index].line)) - 1
        text.selection = Selection((row, 0), (row, len(text.document.get_line(row))))
        text.scroll_cursor_visible(center=True)

    @on(OptionList.OptionSelected, "#findings")
    def _prove_selected(self) -> None:
        self.action_prove()

    @on(OptionList.OptionSelected, "Items")
    def _open(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._report.presets[event.option_index])


def about(found: Finding | Unresolved, shown: str = "") -> Content:
    """Return the row of a finding, such as `✗ 12 TL003 wrong timing: message. Remedy.`, or of unresolved
    code, with the reason.

    shown: result of measuring the finding, placed before the message.
    """
    if isinstance(found, Finding):
        sign, style = SIGNS[found.severity]
        title = f"{found.code} {found.kind}{TITLES.get(found.code, '')}".strip()
        words = found.words
        words = f"{words[0].upper()}{words[1:]}" if shown else words
    else:
        sign, style, title, words = "· ", "$foreground-muted", "not resolved", found.reason
    end = " " if shown.endswith("…") else ". "
    measured = (f"{shown[0].upper()}{shown[1:].rstrip('.')}{end}", "$accent bold") if shown else ""
    return Content.assemble((f"{sign}{found.line} {title}  ", style), measured, (words, "$foreground-muted"))
