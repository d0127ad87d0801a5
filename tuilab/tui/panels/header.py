"""The first line: the lab's name, what is open, the machine, and what goes on."""

from collections.abc import Sequence

from rich.cells import cell_len

from tuilab.tui.widgets.look import ACCENT, BAD, GOOD, MUTED, STRONG, TEXT, Ink, Line, Run
from tuilab.tui.widgets.painted import Painted
from tuilab.tui.widgets.wording import fit

TONES: dict[str, tuple[str, Ink]] = {
    "quiet": ("○", MUTED),
    "busy": ("●", ACCENT),
    "good": ("●", GOOD),
    "bad": ("▲", BAD),
}
ASCII_TONES = {"○": "o", "●": "*", "▲": "!"}


class Header(Painted):
    """One line. `show` what to say; the machine gives way first where there is no room."""

    DEFAULT_CSS = "Header { height: 1; dock: top; }"

    HELP = """\
## The first line

What is open, on which machine, and what the lab does at this moment. While something goes on it says what,
for how long, and the key that stops it. *slow line*: the terminal takes less than
8 kB a second, so that fewer paints are sent. *mute terminal*: it does not tell what has arrived, so that a
run is painted as if its line were slow; what you ask for is painted at once.
"""

    def __init__(self) -> None:
        super().__init__(id="header")
        self._title, self._tone, self._state = "", "busy", "starting"
        self._machine: tuple[str, ...] = ()
        self._line = ""

    @property
    def line(self) -> str:
        """What is to be said of the line to the terminal, such as that it is slow."""
        return self._line

    @line.setter
    def line(self, word: str) -> None:
        if word != self._line:
            self._line = word
            self.repaint()

    def show(self, title: str, machine: Sequence[str], tone: str, state: str) -> None:
        """title: of the preset. machine: parts, the dearest first. tone: of the state's glyph."""
        self._title, self._machine = title, tuple(machine)
        self._tone, self._state = tone, state
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        glyph, ink = TONES[self._tone]
        glyph = ASCII_TONES[glyph] if self.glyphs.ascii else glyph
        said = f"{self._line} {self.glyphs.separator} {self._state}" if self._line else self._state
        # The state always has room; the title gets what it needs of the rest.
        state = fit(said, min(cell_len(said), max(12, width - 24)), ellipsis=self.glyphs.ellipsis)
        right: list[Run] = [
            (glyph, ink),
            (" ", TEXT),
            (state, TEXT if self._tone != "quiet" else MUTED),
            (" ", TEXT),
        ]
        left: list[Run] = [(" tuilab ", Ink("accent", bold=True))]
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
