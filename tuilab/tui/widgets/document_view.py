"""A document's lines with what was found in them: each finding stands below the lines that it is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, BAD, FAINT, MUTED, TEXT, WARN, Glyphs, Line, TextStyle
from tuilab.tui.widgets.wording import fit, width_of, wrap

Level = Literal["error", "warning", "note"]
_STYLES: dict[Level, TextStyle] = {"error": BAD, "warning": WARN, "note": ACCENT}
_SIGNS: dict[Level, str] = {"error": "✗", "warning": "!", "note": "·"}


@dataclass(frozen=True)
class Finding:
    """Something about the lines `first` to `last` (from 1): a short title, and what to know or do."""

    first: int
    last: int
    title: str
    text: str = ""
    level: Level = "warning"


@dataclass(frozen=True)
class Laid:
    """One line on the screen: of which line of the document (0: none), of which finding (-1: none)."""

    line: Line
    number: int
    finding: int = -1


class DocumentView(LineWidget, can_focus=True):
    """Numbered lines; `n` and `N` go from finding to finding."""

    DEFAULT_CSS = "DocumentView { height: 1fr; width: 1fr; }"

    HELP = """\
## Document

The document's own text with line numbers; a bar at the left marks lines that something was found about, and
the finding stands below them. **j k** (or **n N**) go to the next and the previous finding, **↑ ↓**, page up
and down, home and end move through the text.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,n", "finding(1)", "next finding", show=False, id="document.next"),
        Binding("k,N,shift+n", "finding(-1)", "previous finding", show=False, id="document.previous"),
        Binding("up", "scroll_by(-1)", "up", show=False, id="document.up"),
        Binding("down", "scroll_by(1)", "down", show=False, id="document.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="document.page-up"),
        Binding("pagedown,space", "page(1)", "page down", show=False, id="document.page-down"),
        Binding("home", "scroll_by(-1000000)", "begin", show=False, id="document.begin"),
        Binding("end", "scroll_by(1000000)", "end", show=False, id="document.end"),
    ]

    class Moved(Message):
        """Another finding is under the cursor."""

        def __init__(self, view: "DocumentView", index: int) -> None:
            super().__init__()
            self.view, self.index = view, index

        @property
        def control(self) -> "DocumentView":
            """The view."""
            return self.view

    def __init__(
        self,
        *,
        empty: str = "No document is open.",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, id=id, classes=classes)
        self._text: Sequence[str] = ()
        self._findings: tuple[Finding, ...] = ()
        self._finding = -1
        self._top = 0
        self._laid: tuple[int, bool, list[Laid]] | None = None

    def show_document(
        self, lines: Sequence[str], findings: Sequence[Finding] = (), *, first: int = 1
    ) -> None:
        """Show these lines (text, cleaned at the door) from line `first` on, with the findings."""
        self._text, self._findings = lines, tuple(sorted(findings, key=lambda f: (f.last, f.first)))
        self._finding = 0 if self._findings else -1
        self._top, self._laid = 0, None
        self.repaint()

    @property
    def finding(self) -> int:
        """The index of the finding under the cursor, in the order of their lines; -1 for none."""
        return self._finding

    def go_to(self, index: int) -> None:
        """Put the cursor on a finding and bring it into view."""
        if 0 <= index < len(self._findings):
            self._finding = index
            self._reveal()
            self.repaint()
            self.post_message(self.Moved(self, index))

    def go_to_line(self, number: int) -> None:
        """Bring a line of the document to the top."""
        laid = self._lay()
        self._top = next((i for i, one in enumerate(laid) if one.number == number), self._top)
        self.repaint()

    # Drawing

    def _lay(self) -> list[Laid]:
        key = (self.size.width, self.glyphs.ascii)
        if self._laid is None or self._laid[:2] != key:
            self._laid = (*key, lay_out(self._text, self._findings, self.size.width, self.glyphs))
        return self._laid[2]

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self._text:
            return self.empty_lines(width, height)
        laid = self._lay()
        self._top = min(self._top, max(0, len(laid) - height))
        out = []
        for one in laid[self._top : self._top + height]:
            line = one.line
            if one.finding >= 0 and one.finding == self._finding:
                ground = "accent/18" if self.has_focus else "muted/12"
                line = (*line, (" " * max(0, width - width_of(line)), TEXT))
                line = tuple((text, TextStyle(style.name, style.bold, on=ground)) for text, style in line)
            out.append(line)
        return out

    # Moving

    def _reveal(self) -> None:
        laid, height = self._lay(), max(1, self.size.height)
        finding = self._findings[self._finding]
        rows = [i for i, one in enumerate(laid) if one.finding == self._finding]
        begin = next((i for i, one in enumerate(laid) if one.number == finding.first), rows[0])
        # The lines in question and the finding itself, if both fit; else the finding.
        if rows[-1] - begin >= height:
            begin = max(0, rows[-1] - height + 1)
        if not (self._top <= begin and rows[-1] < self._top + height):
            self._top = max(0, min(begin - 1, rows[-1] + 1))

    def action_finding(self, direction: int) -> None:
        """To the next or the previous finding."""
        if self._findings:
            self.go_to(min(len(self._findings) - 1, max(0, self._finding + direction)))

    def action_scroll_by(self, lines: int) -> None:
        """Down or up by so many lines."""
        most = max(0, len(self._lay()) - max(1, self.size.height))
        self._top = min(most, max(0, self._top + lines))
        self.repaint()

    def action_page(self, direction: int) -> None:
        """Down or up by a screenful less one line."""
        self.action_scroll_by(direction * max(1, self.size.height - 1))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.action_scroll_by(3)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.action_scroll_by(-3)
        event.stop()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        laid = self._lay()
        if at is not None and self._top + at.y < len(laid) and laid[self._top + at.y].finding >= 0:
            self.go_to(laid[self._top + at.y].finding)


def lay_out(text: Sequence[str], findings: Sequence[Finding], width: int, glyphs: Glyphs) -> list[Laid]:
    """The lines as they stand on the screen, wrapped, each finding below its last line."""
    digits = len(str(max(1, len(text))))
    room = max(8, width - digits - 3)
    below: dict[int, list[int]] = {}
    marked: dict[int, Level] = {}
    for index, finding in enumerate(findings):
        below.setdefault(min(len(text), max(1, finding.last)), []).append(index)
        for number in range(finding.first, finding.last + 1):
            if marked.get(number) != "error":
                marked[number] = finding.level
    bar = "|" if glyphs.ascii else "┃"
    out: list[Laid] = []
    for number, line in enumerate(text, 1):
        level = marked.get(number)
        side = (bar if level else " ", _STYLES[level] if level else TEXT)
        for i, part in enumerate(broken(line, room)):
            label = fit(str(number) if i == 0 else "", digits, "right")
            out.append(Laid(((label + " ", FAINT), side, (" " + part, TEXT)), number))
        for index in below.get(number, ()):
            out += _finding_lines(findings[index], index, digits, room, glyphs)
    return out


def _finding_lines(finding: Finding, index: int, digits: int, room: int, glyphs: Glyphs) -> list[Laid]:
    style = _STYLES[finding.level]
    sign = _SIGNS[finding.level] if not glyphs.ascii else "*"
    pad = " " * (digits + 2)
    out = [
        Laid(
            ((pad + " ", TEXT), (f"{sign if i == 0 else ' '} {line}", TextStyle(style.name, bold=True))),
            0,
            index,
        )
        for i, line in enumerate(wrap(finding.title, room - 2))
    ]
    out += [Laid(((pad + "   " + line, MUTED),), 0, index) for line in wrap(finding.text, room - 2)]
    return out


def broken(line: str, width: int) -> list[str]:
    """A line in parts of at most `width` cells, broken after a blank where one is near the end.

    Blanks are kept: the line may be code. What follows the first part is indented like it.
    """
    indent = " " * min(len(line) - len(line.lstrip()), width // 2)
    parts: list[str] = []
    while cell_len(line) > width:
        head = set_cell_size(line, width).rstrip() or line[:1]
        blank = head.rfind(" ", len(head) * 2 // 3)
        # A cut inside the indent would never end.
        cut = blank + 1 if blank > len(indent) else max(len(head), len(indent) + 1)
        parts.append(line[:cut].rstrip())
        line = indent + line[cut:].lstrip()
    return [*parts, line.rstrip()] if line.strip() or not parts else parts
