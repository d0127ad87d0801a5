"""A document with what was found in it, and the presets that measure what it meant. Nothing of it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option
from textual.widgets.text_area import Selection

from tuilab.analysis.words import plural
from tuilab.documents import DocumentReport, ExampleReport
from tuilab.documents.rules import RULES
from tuilab.lab.offers import Offer
from tuilab.model.preset import Preset
from tuilab.tui.screens.menu import Items
from tuilab.tui.screens.modal import Page, framed

if TYPE_CHECKING:
    from tuilab.lab import Lab

STYLES = {"error": ("✗ ", "$text-error bold"), "note": ("· ", "$text-muted")}


@dataclass(frozen=True)
class Finding:
    """Something about a line (from 1): a short title, and what to know or do. level: `error` or `note`."""

    line: int
    title: str
    text: str
    level: str = "error"


class DocumentScreen(Page[Preset]):
    """The text, under it what was found, under that the presets. Returns the preset to open."""

    HELP = """\
## A document

The text as it is, and below it what is wrong with its code as a measurement. **j k** go from finding to
finding, and the text follows. Under the findings are the presets that measure what the examples meant to:
**tab** goes there, **enter** opens one and measures it, **F** measures the claims of all of them. Nothing in
a document is ever run.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,n", "finding(1)", "next finding", show=False, id="document.next"),
        Binding("k,N,shift+n", "finding(-1)", "previous finding", show=False, id="document.previous"),
        Binding("tab", "app.focus_next", "text, findings or presets", show=False, id="document.turn"),
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
        self._lab = lab
        self._report = report
        self._found = findings(report.examples)
        self._presets = {str(i): p for i, p in enumerate(report.presets)}

    def action_fact_check(self) -> None:
        """Measure every claim of the document, one after another."""
        from tuilab.lab.fact_check import of_presets
        from tuilab.tui.screens.fact_check import FactCheckScreen

        presets = [preset for preset in self._report.presets if preset.claims]
        if not presets:
            self.notify("No claim of this document can be measured.", markup=False)
            return
        document = self._report.document
        check = of_presets(document.title or document.id, presets)
        self.app.push_screen(FactCheckScreen(self._lab, check, presets))

    def compose(self) -> ComposeResult:
        report = self._report
        errors = sum(f.level == "error" for f in self._found)
        keys = (
            f"{plural(len(report.examples), 'example')}, {plural(errors, 'finding')}; "
            "j k findings, tab presets, enter opens, F fact-check, esc closes"
        )
        with framed(Container(), report.document.title or report.document.id, keys):
            text = TextArea("\n".join(report.lines), read_only=True, show_line_numbers=True)
            text.cursor_blink = False
            yield text
            yield OptionList(*map(about, self._found), id="findings", compact=True, markup=False)
            if self._presets:
                yield Items(self._items())
            else:
                yield Static("No preset could be made from it; the findings say why.")

    def _items(self) -> list[Offer]:
        out = []
        for key, preset in self._presets.items():
            settings = " ".join(f"{k}={v}" for k, v in preset.parameters.items())
            out.append(Offer(key, preset.title, f"{preset.workload} {settings}"))
        return out

    def on_mount(self) -> None:
        found = self.query_one("#findings", OptionList)
        found.display = bool(self._found)
        self.set_focus(found if self._found else self.query_one(TextArea))

    def action_finding(self, by: int) -> None:
        """To the next finding or the one before."""
        found = self.query_one("#findings", OptionList)
        if self._found:
            at = found.highlighted or 0
            found.highlighted = min(len(self._found) - 1, max(0, at + by))

    @on(OptionList.OptionHighlighted, "#findings")
    def _show_line(self, event: OptionList.OptionHighlighted) -> None:
        text = self.query_one(TextArea)
        row = min(text.document.line_count, max(1, self._found[event.option_index].line)) - 1
        text.selection = Selection((row, 0), (row, len(text.document.get_line(row))))
        text.scroll_cursor_visible(center=True)

    @on(OptionList.OptionSelected, "Items")
    def _open(self, event: OptionList.OptionSelected) -> None:
        if event.option_id is not None:
            self.dismiss(self._presets[event.option_id])


def about(finding: Finding) -> Option:
    """`✗ 12 TL003 wrong timing: the message. The remedy.`"""
    sign, style = STYLES[finding.level]
    title = f"{finding.line} {finding.title}  "
    return Option(Content.assemble((sign, style), (title, style), (finding.text, "$text-muted")))


def findings(examples: Sequence[ExampleReport]) -> list[Finding]:
    """What was found, by line, and what could not be read."""
    titles = {rule.code: rule.title for rule in RULES}
    out = []
    for example in examples:
        for f in example.findings:
            title = f"{f.code} {titles.get(f.code, '')}".strip()
            out.append(Finding(f.line, title, f"{f.message.rstrip('.')}. {f.remedy}"))
        out += [Finding(u.line, "not resolved", u.reason, "note") for u in example.unresolved]
    return sorted(out, key=lambda finding: finding.line)
