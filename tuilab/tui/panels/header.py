"""The first line: the lab's name, what is open, the machine, and what goes on."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

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
from tuilab.tui.widgets.wording import fit

if TYPE_CHECKING:
    from tuilab.lab.state import LabState
    from tuilab.model.machine import Machine

TONES: dict[str, tuple[str, TextStyle]] = {
    "quiet": ("○", MUTED),
    "busy": ("●", ACCENT),
    "good": ("●", GOOD),
    "doubtful": ("⚠", WARN),
    "bad": ("▲", BAD),
}
BAR = 10
"""Cells of the bar that says how much is done, where there is room for it."""


class Header(LineWidget):
    """One line; the machine gives way first where there is no room."""

    DEFAULT_CSS = "Header { height: 1; dock: top; }"

    HELP = """\
## The first line

What is open, on which machine, and what the lab is doing. While something runs, it says what, for how long,
and the key that stops it.
"""

    def __init__(self) -> None:
        super().__init__(id="header")
        self._title, self._tone, self._state = "", "busy", "starting"
        self._machine: Sequence[str] = ()
        self._share: float | None = None

    def tell(self, state: "LabState") -> None:
        """What is open, on which machine, and what goes on."""
        from tuilab.lab.status import status

        now = status(state)
        self._title = state.settings.title if state.settings else ""
        self._machine = machine_words(state.shown.machine if state.replay else state.machine)
        self._tone, self._share = now.tone, now.share
        self._state = now.text + (f" · {now.stop} stops" if now.stop else "")
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        glyph, style = TONES[self._tone]
        # The state always has room; the title gets what it needs of the rest.
        state = fit(self._state, min(cell_len(self._state), max(12, width - 24)))
        right: list[Run] = [
            (glyph, style),
            (" ", TEXT),
            (state, TEXT if self._tone != "quiet" else MUTED),
            (" ", TEXT),
        ]
        if self._share is not None and cell_len(state) + cell_len(self._title) + BAR + 16 <= width:
            done = round(self._share * BAR)
            bar = [
                (FILLED * done, ACCENT),
                (TRACK * (BAR - done), FAINT),
                (" ", TEXT),
            ]
            right[2:2] = bar
        left: list[Run] = [(" tuilab ", TextStyle("accent", bold=True))]
        room = width - 8 - sum(cell_len(text) for text, _ in right) - 2
        title = fit(self._title, min(cell_len(self._title), max(0, room - 2)))
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
        joint = f" {SEPARATOR} "
        while parts and cell_len(joint.join(parts)) > room - 3:
            parts.pop()
        return joint.join(parts)


def machine_words(machine: "Machine | None") -> Sequence[str]:
    """GPUs, host, processor and TensorFlow, each in a few words; what has no room goes from the end."""
    if machine is None:
        return ()
    gpus = [short_gpu(d.description or d.name) for d in machine.gpus]
    gpu = f"{len(gpus)} × {gpus[0]}" if len(gpus) > 1 and len(set(gpus)) == 1 else ", ".join(gpus)
    return (
        gpu or "no GPU",
        f"host {machine.host}",
        f"{short_cpu(machine.cpu)} {machine.cores} core{'' if machine.cores == 1 else 's'}",
        "TF " + ".".join(machine.tensorflow.split(".")[:2]),
    )


def short_cpu(name: str) -> str:
    """`Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz` → `Intel Xeon Platinum 8481C`."""
    name = re.sub(r"\((R|TM|tm|r)\)|\bCPU\b|\bProcessor\b|\b\d+-Core\b|@.*$", " ", name)
    return " ".join(name.split())[:28].strip()


def short_gpu(description: str) -> str:
    """`NVIDIA H200 141GB HBM3e` → `NVIDIA H200`."""
    match = re.search(r"name: ([^,]+)", description)
    words = (match[1] if match else description).split()
    return " ".join(words[:3])
