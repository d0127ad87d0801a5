"""Draws a race: all arms run the same number of calls at their measured pace."""

from collections.abc import Mapping, Sequence
from time import monotonic

from rich.cells import cell_len

from tuilab.model.quantity import seconds, significant
from tuilab.presentation.race import CALLS, Racer
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import MUTED, STRONG, TEXT, Line, Mark, TextStyle, gauge, marks_for
from tuilab.tui.widgets.wording import fit

FIRST_S, LAST_S = 3.0, 9.0
"""Seconds until the fastest arm arrives, and until the race ends for all arms."""
FRAME_S = 0.1


class Race(LineWidget):
    DEFAULT_CSS = "Race { height: auto; width: 1fr; display: none; }"

    def __init__(self) -> None:
        super().__init__(empty="No arm has been timed yet.")
        self._racers: Sequence[Racer] = ()
        self._marks: Mapping[str, Mark] = {}
        self._begun = 0.0

    def start(self, racers: Sequence[Racer], marks: Mapping[str, Mark]) -> None:
        """Start a race between these arms, given fastest first. marks: hue and marker of the arms, by arm
        id.
        """
        self._racers, self._marks = racers, marks
        self._begun = monotonic()
        self.display = True
        self.styles.height = max(2, len(self._racers) + 1)
        self.auto_refresh = FRAME_S
        self.repaint()

    def end(self) -> None:
        self.auto_refresh = None
        self.display = False

    def automatic_refresh(self) -> None:
        if monotonic() - self._begun >= LAST_S or not self._racers:
            self.auto_refresh = None
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self._racers:
            return self.empty_lines(width, height)
        return lanes(self._racers, self._marks, min(LAST_S, monotonic() - self._begun), width)


def lanes(racers: Sequence[Racer], marks: Mapping[str, Mark], elapsed_s: float, width: int) -> list[Line]:
    """Return a heading and the lanes at `elapsed_s` seconds after the start. racers: fastest first."""
    best = racers[0].seconds
    pace = FIRST_S / (CALLS * best)
    speed = f"slowed {significant(pace, 2)}×" if pace >= 1 else f"sped up {significant(1 / pace, 2)}×"
    out: list[Line] = [((fit(f" {CALLS:,} calls each at the measured median, {speed}", width), MUTED),)]
    label = min(max(cell_len(racer.name) for racer in racers) + 3, width * 3 // 5)
    for racer in racers:
        share = min(1.0, elapsed_s / FIRST_S * best / racer.seconds)
        # Show a time, not a ratio: a ratio of medians would differ from the ratios below the race, which are
        # computed round by round.
        text = seconds(CALLS * racer.seconds) if share >= 1.0 else ""
        name = fit(racer.name, label - 3)
        mark = marks.get(racer.arm.id) or marks_for([racer.arm])[racer.arm.id]
        style = TextStyle(mark.hue + "/60") if racer.recorded else mark.style
        out.append(
            (
                (f"{mark.marker} ", mark.style),
                (name + " ", MUTED if racer.recorded else TEXT),
                *gauge(share, max(4, width - label - 9), style),
                (fit(text, 8, "right"), STRONG),
            )
        )
    return out
