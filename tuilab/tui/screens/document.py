"""A document with what was found in it, and the presets that measure what it meant. Nothing of it runs."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content

from tuilab.documents import DocumentReport, ExampleReport
from tuilab.documents.rules import RULES
from tuilab.model.preset import Preset
from tuilab.tui.screens.menu import Item, Items
from tuilab.tui.screens.modal import Page
from tuilab.tui.widgets.document_view import DocumentView, Finding

MOST_PRESETS = 6


class DocumentScreen(Page[Preset]):
    """The text with findings beside its lines; under it the presets. Returns the preset to open."""

    HELP = """\
## A document

Its text as it stands, and beneath the lines what is wrong with them as a measurement. **j k** go from finding
to finding. Under the text stand the presets that measure what the examples meant to: **tab** goes there,
**enter** opens one and measures it. Nothing in a document is ever run.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "turn", "text or presets", show=False, id="document.turn"),
        Binding("q,o", "close", "close", show=False, id="document.close"),
    ]
    DEFAULT_CSS = """
    DocumentScreen > .frame { width: 96%; height: 94%; }
    DocumentScreen Items { border-top: solid $border-blurred; }
    """

    def __init__(self, report: DocumentReport) -> None:
        super().__init__()
        self._report = report
        self._presets = {str(i): p for i, p in enumerate(report.presets)}

    def compose(self) -> ComposeResult:
        report = self._report
        found = sum(len(e.findings) for e in report.examples)
        with Container(classes="frame") as box:
            # As content, because a text would be taken for markup.
            box.border_title = Content(report.document.title or report.document.id)
            box.border_subtitle = (
                f"{number(len(report.examples), 'example')}, {number(found, 'finding')}; "
                "j k findings, tab presets, enter opens, esc closes"
            )
            yield DocumentView()
            items = Items(self._items(), "No preset could be made of it; the findings say why.")
            items.styles.height = 1 + max(1, min(MOST_PRESETS, len(self._presets)))
            yield items

    def _items(self) -> list[Item]:
        out = []
        for key, preset in self._presets.items():
            settings = " ".join(f"{k}={v}" for k, v in preset.parameters.items())
            out.append(Item(key, preset.title, f"{preset.workload} {settings}"))
        return out

    def on_mount(self) -> None:
        super().on_mount()
        view = self.query_one(DocumentView)
        view.show_document(self._report.lines, findings(self._report.examples))
        view.focus()

    def action_turn(self) -> None:
        """From the text to the presets and back."""
        view, items = self.query_one(DocumentView), self.query_one(Items)
        self.set_focus(items if view.has_focus else view)

    def on_items_chosen(self, event: Items.Chosen) -> None:
        """Open that preset."""
        self.dismiss(self._presets[event.item.key])


def findings(examples: Sequence[ExampleReport]) -> list[Finding]:
    """What the view marks: each finding at its line, and what could not be read."""
    titles = {rule.code: rule.title for rule in RULES}
    out = []
    for example in examples:
        for f in example.findings:
            title = f"{f.code} {titles.get(f.code, '')}".strip()
            out.append(Finding(f.line, f.line, title, f"{f.message.rstrip('.')}. {f.remedy}", "error"))
        out += [Finding(u.line, u.line, "not resolved", u.reason, "note") for u in example.unresolved]
    return out


def number(count: int, word: str) -> str:
    """`1 example`, `3 findings`."""
    return f"{count} {word}" + ("" if count == 1 else "s")
