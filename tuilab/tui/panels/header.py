"""The first line: the lab's name, what is open, the machine, and what goes on."""

from collections.abc import Sequence

from rich.cells import cell_len

from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, BAD, GOOD, MUTED, STRONG, TEXT, WARN, Line, Run, TextStyle
from tuilab.tui.widgets.wording import fit

TONES: dict[str, tuple[str, TextStyle]] = {
    "quiet": ("○", MUTED),
    "busy": ("●", ACCENT),
    "good": ("●", GOOD),
    "doubtful": ("⚠", WARN),
    "bad": ("▲", BAD),
}
ASCII_TONES = {"○": "o", "●": "*", "⚠": "?", "▲": "!"}


class Header(LineWidget):
    """One line. `show` what to say; the machine gives way first where there is no room."""

    DEFAULT_CSS = "Header { height: 1; dock: top; }"

    HELP = """\
## The first line

What is open, on which machine, and what the lab does at this moment. While something goes on it says what,
for how long, and the key that stops it.
"""

    def __init__(self) -> None:
        super().__init__(id="header")
        self._title, self._tone, self._state = "", "busy", "starting"
        self._machine: tuple[str, ...] = ()

    def show(self, title: str, machine: Sequence[str], tone: str, state: str) -> None:
        """title: of the preset. machine: parts, the dearest first. tone: of the state's glyph."""
        self._title, self._machine = title, tuple(machine)
        self._tone, self._state = tone, state
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        glyph, style = TONES[self._tone]
        glyph = ASCII_TONES[glyph] if self.glyphs.ascii else glyph
        # The state always has room; the title gets what it needs of the rest.
        state = fit(
            self._state, min(cell_len(self._state), max(12, width - 24)), ellipsis=self.glyphs.ellipsis
        )
        right: list[Run] = [
            (glyph, style),
            (" ", TEXT),
            (state, TEXT if self._tone != "quiet" else MUTED),
            (" ", TEXT),
        ]
        left: list[Run] = [(" tuilab ", TextStyle("accent", bold=True))]
        room = width - 8 - cell_len(state) - 5
        title = fit(self._title, min(cell_len(self._title), max(0, room - 2)), ellipsis=self.glyphs.ellipsis)
        if title:
            left += [("  ", TEXT), (title, STRONG)]
        room -= cell_len(title) + 4
        machine = self._machine_in(room)
        gap = width - sum(cell_len(text) for text, _ in [*left, *right]) - cell_len(machine)
        return [
            (
                *left,
                (" " * max(1, gap - 3), TEXT),
                (machine, MUTED),
                (" " * min(3, max(0, gap - 1)), TEXT),
                *right,
            )
        ]

    def _machine_in(self, room: int) -> str:
        parts = list(self._machine)
        joint = f" {self.glyphs.separator} "
        while parts and cell_len(joint.join(parts)) > room - 3:
            parts.pop()
        return joint.join(parts)
