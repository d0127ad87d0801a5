"""How far a run's figures can be trusted: the precision that was reached, and what speaks against them."""

from collections.abc import Iterator

from tuilab.analysis.processes import doubt, said, within_first
from tuilab.analysis.reading import elsewhere, estimate_at, measured, summary_point
from tuilab.analysis.statistics import MIN_SAMPLES
from tuilab.analysis.words import percent
from tuilab.model.quantity import seconds
from tuilab.model.result import Confidence
from tuilab.model.run import RunState

SHORT = {
    "emulated": "emulated GPU",
    "cpu-contention": "busy host",
    "canary": "unsteady host",
    "throttled": "GPU throttled",
    "gpu-shared": "shared GPU",
    "host-lost": "host lost",
    "drift": "drifting",
    "retraced": "retraced",
    "grows": "calls differ",
    "not-warm": "not warmed up",
    "two-levels": "two speeds",
    "processes-differ": "processes differ",
    "other-device": "ran elsewhere",
    "clock-stepped": "clock set",
    "unlike-machines": "different machines",
    "unlike-software": "different software",
}
"""What a caveat comes to, in two words, the most severe first. A code that is missing here (outliers, which a
median has; the precision, which is said as a figure) does not make a run doubtful."""
MOST_NAMED = 2


def confidence(state: RunState) -> Confidence:
    """Return what the run reached at the point that its figures are given for, over all of its measured
    arms."""
    point = summary_point(state)
    arms = measured(state, point)
    halves = [found.relative_half_width for arm in arms if (found := estimate_at(arm, point)) is not None]
    known = [half for half in halves if half is not None]
    reached = max(known) if known and len(known) == len(halves) else None
    wanted = state.budget.precision if state.budget else None
    codes = dict.fromkeys(_codes(state, point))
    reasons = tuple(words for code, words in SHORT.items() if code in codes)
    within = [found.relative_half_width for arm in arms if (found := within_first(arm.cells[point]))]
    # An interval of processes is as wide as these are unlike; the budget's aim is one for the first of them,
    # which one of many processes reaches too.
    firsts = [half for half in within if half is not None]
    first = max(firsts) if firsts and len(firsts) == len(arms) else reached
    if reached is not None and first is not None and state.workers >= MIN_SAMPLES:
        first = min(first, reached)
    # A figure that is as narrow as was asked for is not made doubtful by rounds that the budget still wanted.
    precise = not arms or wanted is None or (first is not None and first <= wanted)
    return Confidence(
        half_width=reached,
        wanted=wanted,
        precise=precise,
        reasons=reasons,
        badge=_badge(first, wanted, precise, reasons) if arms and not state.running else "",
        of=said(state) if known else "",
        alike=_alike(state),
    )


FEWEST_ALIKE = 6
"""Runs of which the whole range holds the median of such runs with 97% (1 − 2 · 2⁻⁶), however they lie."""


def _alike(state: RunState) -> str:
    """Describe if this run and earlier ones like it lie: how minutes differ is in no interval of one run."""
    alike = state.alike
    if alike is None or alike.arm not in state.arms or alike.runs < FEWEST_ALIKE:
        return ""
    ends = f"{seconds(alike.low_s)} to {seconds(alike.high_s)}"
    label = state.arms[alike.arm].label
    return f"In {alike.runs} runs of these settings here, this one among them, {label} took {ends}"


def _codes(state: RunState, point: int) -> Iterator[str]:
    yield from (caveat.code for caveat in state.flags)
    for arm in measured(state, point):
        yield from (caveat.code for caveat in arm.flags if caveat.point in (None, point))
        found = doubt(arm.cells[point])
        if found is not None:
            yield found.code
        if elsewhere(arm, point):
            yield "other-device"


def _badge(reached: float | None, wanted: float | None, precise: bool, reasons: tuple[str, ...]) -> str:
    parts = list(reasons[:MOST_NAMED])
    if not precise and wanted is not None:
        figure = "no interval" if reached is None else f"± {percent(reached)}"
        parts.append(f"{figure} (wanted ± {percent(wanted)})")
    return ", ".join(parts)
