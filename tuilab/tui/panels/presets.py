"""The presets by document, the person's own, and the preset files that are wrong."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tuilab.lab.titles import Title
from tuilab.tui.widgets.look import ASCII, UNICODE

VERDICTS = {
    "confirmed": (0, "$text-success"),
    "refuted": (1, "$text-error"),
    "undecided": (2, "$text-warning"),
    "untestable": (3, "$text-muted"),
    "impossible": (4, "$text-error"),
}
"""Which of the verdict glyphs stands before a preset, and its colour."""


class Presets(OptionList):
    """The list of presets. `Chosen` when one is picked."""

    HELP = """\
## Presets

Each is an example of a document, or a claim of its text, as a measurement. **↑ ↓** move, **enter** opens the
preset and measures it. Before each stands its claim's verdict on this machine:
✓ confirmed, ✗ refuted, ≈ undecided, ? untestable here, ⊘ impossible on any known GPU. `!` is a preset file
that could not be read, and why.

Your own presets are `*.toml` files in the folder that `tuilab presets --help` names.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "down", show=False, id="presets.down"),
        Binding("space", "select", "open", show=False, id="presets.open"),
    ]

    class Chosen(Message):
        """The preset of that name was picked."""

        def __init__(self, preset: str) -> None:
            super().__init__()
            self.preset = preset

    def __init__(self, rows: Sequence[Title] = ()) -> None:
        super().__init__(id="preset-list", compact=True, markup=False)
        self._rows: tuple[Title, ...] = ()
        self._opened = ""
        self._verdicts: Mapping[str, str] = {}
        self._start = tuple(rows)

    def on_mount(self) -> None:
        self.load(self._start)

    def load(self, rows: Sequence[Title]) -> None:
        """Show these rows; nothing is drawn again where they are those that show."""
        if tuple(rows) == self._rows:
            return
        self._rows = tuple(rows)
        self.set_options(Option(self._prompt(row), disabled=row.kind == "heading") for row in self._rows)
        self.highlighted = self._index(self._opened) or self._first()

    def show(self, opened: str, verdicts: Mapping[str, str]) -> None:
        """Which preset is open, and what is known of each claim."""
        if opened != self._opened and (index := self._index(opened)) is not None:
            self.highlighted = index
        known, before = dict(verdicts), self._opened
        changed = {n for n in {*known, *self._verdicts} if known.get(n) != self._verdicts.get(n)}
        self._opened, self._verdicts = opened, known
        for name in changed | ({opened, before} if opened != before else set()):
            index = self._index(name)
            if index is not None:
                self.replace_option_prompt_at_index(index, self._prompt(self._rows[index]))

    @property
    def title(self) -> Title | None:
        """The row under the cursor."""
        return self._rows[self.highlighted] if self.highlighted is not None and self._rows else None

    def _index(self, name: str) -> int | None:
        rows = enumerate(self._rows)
        return next((i for i, r in rows if r.kind == "preset" and r.name == name), None)

    def _first(self) -> int | None:
        return next((i for i, r in enumerate(self._rows) if r.kind != "heading"), None)

    def _prompt(self, row: Title) -> Content:
        glyphs = ASCII if getattr(self.app, "ascii_only", False) else UNICODE
        if row.kind == "heading":
            return Content(row.text)
        if row.kind == "problem":
            return Content.assemble(" ", ("! ", "$text-error"), row.text)
        opened = row.name == self._opened
        place, color = VERDICTS.get(self._verdicts.get(row.name, ""), (-1, ""))
        mark = glyphs.verdicts[place] if place >= 0 else " "
        return Content.assemble(
            (glyphs.focus if opened else " ", "$accent"), (mark + " ", color), (row.text, "bold" * opened)
        )

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        row = self._rows[event.option_index]
        if row.kind == "preset":
            self.post_message(self.Chosen(row.name))


class PresetsPanel(Vertical):
    """The list in its frame, and under it what the preset under the cursor is about."""

    def __init__(self, rows: Sequence[Title] = ()) -> None:
        super().__init__(id="presets", classes="frame")
        self.border_title = "Presets"
        self._titles = rows

    def compose(self) -> ComposeResult:
        yield Presets(self._titles)
        yield Static("" if self._titles else "reading the presets", id="about", markup=False)

    def load(self, rows: Sequence[Title]) -> None:
        """Show what the catalogue found."""
        self.query_one(Presets).load(rows)
        if not rows:
            self.query_one("#about", Static).update("No presets were found.")

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        row = self.query_one(Presets).title
        if row is not None:
            self.query_one("#about", Static).update(Content(row.about))
