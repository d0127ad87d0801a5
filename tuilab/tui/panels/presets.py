"""Lists the presets by document, followed by the user's own presets and the preset files with errors."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, getters, on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tuilab.model.verdicts import EMULATED, VERDICTS
from tuilab.presentation.titles import Title, matching

if TYPE_CHECKING:
    from textual.widgets import Input


class Presets(OptionList):
    HELP = """\
## Presets

Each preset measures an example, or a claim, from a document. The arrows move the cursor, **{presets.open}**
opens the preset and measures it; a click selects a preset, a second click opens it. **{presets.filter}**
filters the list. `*` marks the open preset if its values were changed; **{original}** restores the document's
values. The mark before a title is this machine's verdict on the claim: ✓ confirmed, ✗ refuted, ≈ undecided, ?
untestable here, ⊘ impossible on any known GPU. `!` marks a preset file that could not be read, with the
reason.

Your own presets are `*.toml` files in the folder that `tuilab presets --help` names.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "open and measure", id="presets.open"),
    ]

    class Chosen(Message):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    words = var("", init=False)
    """Search words. Only rows with all of these words are listed."""

    def __init__(self, rows: Sequence[Title] = ()) -> None:
        super().__init__(id="preset-list", compact=True, markup=False)
        self.titles = tuple(rows)
        """All rows, including those that the search hides."""
        self.listed: Sequence[Title] = ()
        self._prompts: list[Content] = []
        self._opened, self._modified = "", False
        self._clicked: int | None = None
        """The row to which a click moved the cursor; None if the cursor moved there in another way."""
        self._verdicts: Mapping[str, str] = {}
        self._emulated: Collection[str] = ()

    def on_mount(self) -> None:
        self.watch_words()

    def load(self, rows: Sequence[Title]) -> None:
        """Show these rows, unless they are already shown."""
        if tuple(rows) != self.titles:
            self.titles = tuple(rows)
            self.watch_words()

    def watch_words(self) -> None:
        self.listed = matching(self.titles, self.words)
        self._prompts = [self._prompt(row) for row in self.listed]
        rows = zip(self._prompts, self.listed, strict=True)
        self.set_options(Option(prompt, disabled=row.kind == "heading") for prompt, row in rows)
        self.highlighted = self._index(self._opened)
        if self.highlighted is None:
            super().action_first()

    def show(
        self,
        opened: str,
        verdicts: Mapping[str, str],
        modified: bool = False,
        here: bool = False,
        emulated: Collection[str] = (),
    ) -> None:
        """Mark the open preset, and show the verdict of each preset.

        modified: the open preset's settings were changed. here: move the cursor to the open preset. emulated:
        names of the presets whose verdicts rely on an emulated GPU.
        """
        if (here or opened != self._opened) and (index := self._index(opened)) is not None:
            self.highlighted = index
        self._opened, self._verdicts, self._modified = opened, dict(verdicts), modified
        self._emulated = emulated
        for index, row in enumerate(self.listed):
            prompt = self._prompt(row)
            if not prompt.is_same(self._prompts[index]):
                self._prompts[index] = prompt
                self.replace_option_prompt_at_index(index, prompt)

    @property
    def marked(self) -> str:
        """Title of the preset under the cursor; "" if this preset is open or the list does not have the
        focus.
        """
        row = self.listed[self.highlighted] if self.highlighted is not None else None
        if not self.has_focus or row is None or row.kind != "preset" or row.name == self._opened:
            return ""
        return row.text.strip()

    def _index(self, name: str) -> int | None:
        rows = enumerate(self.listed)
        return next((i for i, r in rows if r.kind == "preset" and r.name == name), None)

    def _prompt(self, row: Title) -> Content:
        if row.kind == "heading":
            return Content(row.text)
        if row.kind == "problem":
            return Content.assemble(" ", ("! ", "$text-error"), row.text)
        opened = row.name == self._opened
        look = VERDICTS.get(self._verdicts.get(row.name, ""))
        if not opened and look is None:
            return Content("   " + row.text)
        return Content.assemble(
            ("▸" if opened else " ", "$accent"),
            (f"{look.mark} ", f"$text-{look.tone}") if look else "  ",
            f"{EMULATED} " * (look is not None and row.name in self._emulated),
            ("* " if opened and self._modified else "", "$warning"),
            (row.text, "bold" * opened),
        )

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row. A second click opens and measures the row's preset."""
        event.prevent_default()  # otherwise a single click would open the preset
        row: int | None = event.style.meta.get("option")
        if row is None or self.listed[row].kind == "heading":
            return
        if row == self._clicked == self.highlighted:
            self.action_select()
        self.highlighted = self._clicked = row

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Forget the last click if the cursor has moved to another row, so that the next click only selects a
        row.
        """
        if highlighted != self._clicked:
            self._clicked = None
        super().watch_highlighted(highlighted)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        row = self.listed[event.option_index]
        if row.kind == "preset":
            self.post_message(self.Chosen(row.name))

    def reveal(self) -> None:
        """Open the drawer on a narrow screen. Otherwise the focused list would be invisible."""
        if self.screen.has_class("-narrow"):
            self.screen.add_class("-drawer")

    def action_cursor_up(self) -> None:
        self.reveal()
        super().action_cursor_up()

    def action_cursor_down(self) -> None:
        self.reveal()
        super().action_cursor_down()

    def action_first(self) -> None:
        self.reveal()
        super().action_first()

    def action_last(self) -> None:
        self.reveal()
        super().action_last()

    def action_page_up(self) -> None:
        self.reveal()
        if self.scrollable_content_region.height:
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        self.reveal()
        if self.scrollable_content_region.height:
            super().action_page_down()  # type: ignore[no-untyped-call]


class PresetsPanel(Vertical):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", id="presets.filter"),
        Binding("escape", "unfilter", "list all", show=False, id="presets.all"),
        Binding("down", "rows", "first match", show=False, id="presets.rows"),
    ]

    presets = getters.query_one(Presets)

    def __init__(self, rows: Sequence[Title] = ()) -> None:
        super().__init__(id="presets", classes="frame")
        self.border_title = "Presets"
        self._titles = rows

    def compose(self) -> ComposeResult:
        yield Presets(self._titles)
        about = Static("" if self._titles else "loading the presets", id="about", markup=False)
        about.border_title = "About"
        yield about

    async def action_filter(self) -> None:
        """Focus the text field that filters the list. The text field is created on first use."""
        from tuilab.tui.widgets.line_input import LineInput

        self.presets.reveal()
        if not self.query(LineInput):
            line = LineInput(placeholder="words from a preset", id="preset-filter")
            await self.mount(line, before=0)
        self.query_one(LineInput).focus()

    def action_rows(self) -> None:
        """Move the focus from the text field to the list."""
        if self.presets.has_focus:
            raise SkipAction()
        self.presets.focus()

    def action_unfilter(self) -> None:
        line = self.query("#preset-filter")
        if not line:
            raise SkipAction()
        line.remove()
        self.presets.words = ""
        self.presets.focus()

    def on_input_changed(self, event: "Input.Changed") -> None:
        """List the presets that contain the typed words. Textual finds this handler by its name; the
        decorator `on` would have to import Input at startup.
        """
        event.stop()
        self.presets.words = event.value

    def on_input_submitted(self, event: "Input.Submitted") -> None:
        """Focus the list. If the list contains only one preset, open it."""
        event.stop()
        self.presets.focus()
        if sum(row.kind == "preset" for row in self.presets.listed) == 1:
            self.presets.action_select()

    def load(self, rows: Sequence[Title]) -> None:
        self.presets.load(rows)
        if not rows:
            self.query_one("#about", Static).update("No presets were found.")

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        presets = self.presets
        if presets.highlighted is not None:
            self.query_one("#about", Static).update(presets.listed[presets.highlighted].about)
