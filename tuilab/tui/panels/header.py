"""The first line of the screen: the lab's name, the open preset, the machine, and the current activity."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tuilab.tui.keys import spoken
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import (
    ACCENT,
    BAD,
    FAINT,
    FILLED,
    GOOD,
    MUTED,
    SEPARATOR,
    STRONG,
    TEXT,
    TRACK,
    WARN,
    Line,
    Run,
    TextStyle,
)
from tuilab.tui.widgets.wording import fit, whole_words, width_of

if TYPE_CHECKING:
    from tuilab.lab.state import LabState

TONES: dict[str, tuple[str, TextStyle]] = {
    "quiet": ("○", MUTED),
    "busy": ("●", ACCENT),
    "good": ("●", GOOD),
    "doubtful": ("⚠", WARN),
    "bad": ("▲", BAD),
}
LEAST_TITLE = 24
"""Minimum cells for the lab's name and the preset's title."""
BAR = 10


class Header(LineWidget):
    """The first line of the screen. If space is short, the machine is omitted first."""

    DEFAULT_CSS = "Header { height: 1; dock: top; }"

    HELP = """\
## The first line

The open preset, the machine, and what the lab is doing: the activity, its duration, and the key that stops
it. It also shows runs that continue in the background; a click opens such a run.
"""

    def __init__(self) -> None:
        super().__init__(id="header")
        self._title, self._tone = "", "busy"
        self._states: Sequence[str] = ("starting",)
        self._machine: Sequence[str] = ()
        self._share: float | None = None
        self._alarm = ""
        self._runs_unseen = False
        self._opening = ""

    def opens(self, name: str, state: "LabState") -> None:
        """Show the name of the user's file while it is loaded. With "", show the preset's title again."""
        self._opening = name
        self.tell(state)

    def tell(self, state: "LabState") -> None:
        from tuilab.presentation.status import machine_words, status

        now = status(state)
        self._title = self._opening or state.title
        self._machine = machine_words(state.shown.machine if state.replay else state.machine)
        self._tone, self._share = now.tone, now.share
        stops = " · {stop} stops" if now.stop else ""
        self._alarm, self._runs_unseen = now.alarm, bool(state.background)
        self._states = tuple(spoken(self, said + stops) for said in (now.text, now.short) if said)
        if self._opening:
            self._tone, self._states = "busy", (f"opening {self._opening}", "opening")
        if now.badge:
            self._states = (*(f"{now.badge} {SEPARATOR} {state}" for state in self._states), *self._states)
        if now.alarm:
            self._tone = "bad"
            self._states = (*(f"{now.alarm} {SEPARATOR} {state}" for state in self._states), now.alarm)
        self.repaint()

    async def on_click(self) -> None:
        if self._runs_unseen:
            await self.screen.run_action("background")

    def paint(self, width: int, height: int) -> Sequence[Line]:
        glyph, style = TONES[self._tone]
        # The state gets its full width unless the title has too little room. The title gets the remaining
        # cells.
        states = self._states
        said = next((state for state in states if cell_len(state) <= width - LEAST_TITLE), states[-1])
        said = whole_words(said, max(12, width - 12))
        bar: list[Run] = []
        if self._share is not None and cell_len(said + self._title) + BAR + 16 <= width:
            done = round(self._share * BAR)
            bar = [(FILLED * done, ACCENT), (TRACK * (BAR - done), FAINT), (" ", TEXT)]
        quiet = MUTED if self._tone == "quiet" else TEXT
        red = len(self._alarm)
        right = [(glyph, style), (" ", TEXT), *bar, (said[:red], BAD), (said[red:], quiet), (" ", TEXT)]
        room = width - width_of(right) - 10
        title = fit(self._title, min(cell_len(self._title), max(0, room - 2)))
        left = [(" tuilab ", TextStyle("accent", bold=True)), ("  " * bool(title), TEXT), (title, STRONG)]
        room -= cell_len(title) + 7
        tried = (f" {SEPARATOR} ".join(self._machine[:many]) for many in range(len(self._machine), 0, -1))
        machine = next((words for words in tried if cell_len(words) <= room), "")
        gap = width - width_of(left) - width_of(right) - cell_len(machine)
        before, after = max(1, gap - 3), min(3, max(0, gap - 1))
        return [(*left, (" " * before, TEXT), (machine, MUTED), (" " * after, TEXT), *right)]
