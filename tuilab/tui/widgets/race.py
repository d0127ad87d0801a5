"""A race: each arm runs the same number of calls at its measured pace, the fastest in three seconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from rich.cells import cell_len

from tuilab.model.quantity import significant
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import MUTED, STRONG, TEXT, Line, Mark, TextStyle, gauge
from tuilab.tui.widgets.wording import fit

CALLS = 1_000
FIRST_S, LAST_S = 3.0, 9.0
"""When the fastest arrives, and when the race ends for those that are still on their way."""
FRAME_S = 0.1


@dataclass(frozen=True)
class Racer:
    """One arm in the race."""

    label: str
    mark: Mark
    seconds: float
    """The median time of a call."""
    recorded: str = ""
    """Of an opponent that does not run here: the machine and the date of its recording."""

    @property
    def name(self) -> str:
        """The label, and that it is a recording where it is one."""
        return f"{self.label} (recorded: {self.recorded})" if self.recorded else self.label


class Race(LineWidget):
    """A lane an arm. `start` sets them off; at the end everything stands still."""

    DEFAULT_CSS = "Race { height: auto; width: 1fr; display: none; }"

    def __init__(self) -> None:
        super().__init__(empty="No arm has a time yet.")
        self._racers: tuple[Racer, ...] = ()
        self._begun = 0.0

    def start(self, racers: Sequence[Racer]) -> None:
        """Set these off, in lanes from the fastest on."""
        self._racers = tuple(sorted(racers, key=lambda racer: racer.seconds))
        self._begun = monotonic()
        self.display = True
        self.styles.height = max(2, len(self._racers) + 1)
        self.auto_refresh = FRAME_S
        self.repaint()

    def end(self) -> None:
        """Take the lanes away."""
        self.auto_refresh = None
        self.display = False

    def automatic_refresh(self) -> None:
        if monotonic() - self._begun >= LAST_S or not self._racers:
            self.auto_refresh = None
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self._racers:
            return self.empty_lines(width, height)
        return lanes(self._racers, min(LAST_S, monotonic() - self._begun), width)


def lanes(racers: Sequence[Racer], elapsed_s: float, width: int) -> list[Line]:
    """A head that says what is raced, and the lanes so many seconds into the race. racers: fastest first."""
    best = racers[0].seconds
    pace = FIRST_S / (CALLS * best)
    speed = f"slowed {significant(pace, 2)} ×" if pace >= 1 else f"sped up {significant(1 / pace, 2)} ×"
    out: list[Line] = [((fit(f" {CALLS:,} calls each at the measured median, {speed}", width), MUTED),)]
    label = min(max(cell_len(racer.name) for racer in racers) + 3, width * 3 // 5)
    for racer in racers:
        share = min(1.0, elapsed_s / FIRST_S * best / racer.seconds)
        done = share >= 1.0
        said = f"{racer.seconds / best:.2f} ×" if done and racer.seconds > best else "first" if done else ""
        name = fit(racer.name, label - 3)
        style = TextStyle(racer.mark.hue + "/60") if racer.recorded else racer.mark.style
        out.append(
            (
                (f"{racer.mark.marker} ", racer.mark.style),
                (name + " ", MUTED if racer.recorded else TEXT),
                *gauge(share, max(4, width - label - 9), style),
                (fit(said, 8, "right"), STRONG),
            )
        )
    return out
