"""The presets by document, the person's own, and the preset files that are wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, BAD, FAINT, GOOD, MUTED, TEXT, WARN, Line, TextStyle
from tuilab.tui.widgets.wording import fit, wrap

if TYPE_CHECKING:
    from tuilab.catalogue.load import Problem
    from tuilab.model.preset import Preset

VERDICTS: dict[str, tuple[int, TextStyle]] = {
    "confirmed": (0, GOOD), "refuted": (1, BAD), "undecided": (2, WARN), "untestable": (3, MUTED),
}  # fmt: skip
ABOUT_ROWS = 8


@dataclass(frozen=True)
class Entry:
    """One row. about: what stands under the list while the cursor is on it."""

    text: str
    name: str = ""
    about: str = ""
    kind: str = "preset"


class Presets(LineWidget, can_focus=True):
    """A list with a cursor. `Chosen` when one is picked."""

    HELP = """\
## Presets

Each is an example of a document, or a claim of its text, as a measurement. **↑ ↓** move, **enter** opens the
preset and measures it. Behind each stands its claim's verdict on this machine:
✓ confirmed, ✗ refuted, ≈ undecided, ? untestable here. `!` is a preset file that could not be read, and why.

Your own presets are `*.toml` files in the folder that `tuilab presets --help` names.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, id="presets.up"),
        Binding("down", "move(1)", "down", show=False, id="presets.down"),
        Binding("pageup", "move(-8)", "page up", show=False, id="presets.page-up"),
        Binding("pagedown", "move(8)", "page down", show=False, id="presets.page-down"),
        Binding("home", "move(-10000)", "first", show=False, id="presets.first"),
        Binding("end", "move(10000)", "last", show=False, id="presets.last"),
        Binding("enter,space", "choose", "open", show=False, id="presets.open"),
    ]

    class Chosen(Message):
        """The preset of that name was picked."""

        def __init__(self, preset: str) -> None:
            super().__init__()
            self.preset = preset

    def __init__(self) -> None:
        super().__init__(id="presets", classes="frame", empty="reading the presets")
        self.border_title = "Presets"
        self._entries: tuple[Entry, ...] = ()
        self._cursor = 0
        self._top = 0
        self._open = ""
        self._verdicts: Mapping[str, str] = {}

    def load(self, presets: Sequence["Preset"], problems: Sequence["Problem"]) -> None:
        """Show what the catalogue found."""
        self._entries = tuple(entries(presets, problems))
        self._cursor = self._first()
        self.empty = "" if self._entries else "No presets were found."
        self.repaint()

    def show(self, opened: str, verdicts: Mapping[str, str]) -> None:
        """Which preset is open, and what is known of each claim."""
        if opened != self._open:
            self._open = opened
            self._cursor = next((i for i, e in enumerate(self._entries) if e.name == opened), self._cursor)
        self._verdicts = dict(verdicts)
        self.repaint()

    def _first(self) -> int:
        return next((i for i, e in enumerate(self._entries) if e.kind != "heading"), 0)

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self._entries:
            return self.empty_lines(width, height)
        about = self._about(width, height)
        rows = height - len(about)
        self._scroll(rows)
        shown = self._entries[self._top : self._top + rows]
        lines = [self._line(self._top + i, entry, width) for i, entry in enumerate(shown)]
        hidden = len(self._entries) - self._top - rows
        if hidden > 0 and lines:
            lines[-1] = ((fit(f"   {self.glyphs.ellipsis} {hidden + 1} more", width), MUTED),)
        return [*lines, *([()] * (rows - len(lines))), *about]

    def _scroll(self, rows: int) -> None:
        cursor = self._cursor
        # The heading above the first preset stays in sight; the last row may say how many follow.
        self._top = min(self._top, max(0, cursor - 1))
        self._top = max(self._top, cursor - max(1, rows - 2))
        self._top = max(0, min(self._top, len(self._entries) - rows))

    def _about(self, width: int, height: int) -> list[Line]:
        if height < 20 or not self._entries[self._cursor].about:
            return []
        text = wrap(self._entries[self._cursor].about, width)[:ABOUT_ROWS]
        rule: Line = ((self.glyphs.horizontal * width, FAINT),)
        return [rule, *(((line, MUTED),) for line in text)]

    def _line(self, index: int, entry: Entry, width: int) -> Line:
        glyphs = self.glyphs
        if entry.kind == "heading":
            return ((fit(entry.text, width, ellipsis=glyphs.ellipsis), MUTED),)
        here = index == self._cursor and self.has_focus
        opened = entry.name == self._open and entry.kind == "preset"
        head = glyphs.focus if opened else " "
        style = TextStyle("text", bold=opened, on="accent/22" if here else "")
        text = fit(entry.text, width - 5, ellipsis=glyphs.ellipsis)
        if entry.kind == "problem":
            mark, mark_style = "!", BAD
        else:
            place = VERDICTS.get(self._verdicts.get(entry.name, ""))
            mark, mark_style = (glyphs.verdicts[place[0]], place[1]) if place else (" ", TEXT)
        return (
            (" ", TEXT),
            (head, ACCENT),
            (" ", TEXT),
            (text, style),
            (" ", TEXT),
            (mark, mark_style if not opened else TextStyle(mark_style.name, bold=True)),
        )

    def action_move(self, by: int) -> None:
        """Move the cursor, over headings."""
        places = [i for i, e in enumerate(self._entries) if e.kind != "heading"]
        if not places:
            return
        at = places.index(self._cursor) if self._cursor in places else 0
        self._cursor = places[min(len(places) - 1, max(0, at + by))]
        if by < 0 and self._cursor == places[0]:
            self._top = 0
        self.repaint()

    def action_choose(self) -> None:
        """Open the preset under the cursor."""
        entry = self._entries[self._cursor] if self._entries else None
        if entry is not None and entry.kind == "preset":
            self.post_message(self.Chosen(entry.name))

    def on_click(self, event: events.Click) -> None:
        """Open what was clicked on."""
        at = event.get_content_offset(self)
        if at is None:
            return
        index = self._top + at.y
        if index < len(self._entries) and self._entries[index].kind != "heading":
            self._cursor = index
            self.repaint()
            self.action_choose()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)


def entries(presets: Sequence["Preset"], problems: Sequence["Problem"]) -> list[Entry]:
    """A heading a document, its presets, then the person's own, then the files that are wrong."""
    out: list[Entry] = []
    document: str | None = None
    for preset in presets:
        source = preset.source
        number = source.document if source else ""
        if number != document:
            document = number
            title = f"{number} {source.title}" if source else "Yours"
            out.append(Entry(title.strip(), kind="heading"))
        lead = f"{source.example} " if source and source.example else ""
        about = (preset.claims[0].text if preset.claims else preset.summary).strip()
        out.append(Entry(f"{lead}{preset.title}", preset.name, about))
    if problems:
        out.append(Entry("Not loaded", kind="heading"))
        out += [Entry(problem.name, problem.name, str(problem), kind="problem") for problem in problems]
    return out
