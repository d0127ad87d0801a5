"""Selects the arms of a race: arms of the run on the screen, and arms of recordings from other machines."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from tuilab.analysis.reading import does
from tuilab.lab.state import LabState
from tuilab.model.arms import Arm, family
from tuilab.model.run import RunState
from tuilab.presentation.view_options import ViewOptions

CALLS = 1_000
"""Number of calls per arm."""


@dataclass(frozen=True)
class Racer:
    arm: Arm
    label: str
    seconds: float
    """Median seconds of a call."""
    recorded: str = ""
    """For an arm from another machine, the machine and the date of the recording; else ""."""

    @property
    def name(self) -> str:
        return f"{self.label} (recorded: {self.recorded})" if self.recorded else self.label


def racers(state: LabState, viewing: ViewOptions) -> list[Racer]:
    """Return the drawn arms with a median, and the arms of recordings with the same work, fastest first."""
    result, shown = state.result(), state.shown
    drawn = [
        (arm.does, Racer(shown.arms[arm.id].arm, arm.label, arm.median_s))
        for arm in (result.arms if result else ())
        if arm.median_s is not None and arm.id in viewing.drawn_arms(shown)
    ]
    work = drawn[0][0] if drawn else ""
    own = [racer for kind, racer in drawn if kind == work]
    here = shown.machine.host if shown.machine else ""
    others = [other for other in state.ghosts.under(shown) if other.machine and other.machine.host != here]
    against = [racer for other in others for racer in _fastest(other, work)]
    return sorted([*own, *against], key=lambda racer: racer.seconds)


def _fastest(run: RunState, work: str) -> Iterator[Racer]:
    """Yield the fastest arm of each device family in another machine's run, among the arms that do `work`."""
    where = f"{run.machine.host if run.machine else ''}, {run.at[:10]}"
    best: dict[str, Racer] = {}
    for arm in run.arms.values():
        point, samples = next(((i, c.samples) for i, c in arm.cells.items() if c.samples), (0, None))
        if samples and does(arm, point) == work:
            racer = Racer(arm.arm, arm.label, median(samples), where)
            kind = family(arm.device or arm.arm.device)
            best[kind] = min(best.get(kind, racer), racer, key=lambda racer: racer.seconds)
    yield from best.values()
