"""Rates how far a run's figures can be trusted, from the precision that the run reached and its caveats."""

from collections.abc import Iterator

from tuilab.analysis.processes import describe_coverage, doubt, within_first
from tuilab.analysis.reading import elsewhere, estimate_at, measured, summary_point
from tuilab.analysis.statistics import MIN_SAMPLES
from tuilab.analysis.words import percent
from tuilab.model.quantity import plural, seconds
from tuilab.model.result import Confidence
from tuilab.model.run import RunState

SHORT = {
    "emulated": "emulated GPU",
    "empty-result": "empty result",
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
"""Short names of caveats, most severe first.

Other caveats do not make a run doubtful: a median tolerates outliers, and the precision is reported as a
number.
"""
MOST_NAMED = 2


def confidence(state: RunState) -> Confidence:
    """Return the worst precision of the arms at the run's headline point, and the reasons to doubt the
    run.
    """
    point = summary_point(state)
    arms = measured(state, point)
    halves = [
        estimate.relative_half_width for arm in arms if (estimate := estimate_at(arm, point)) is not None
    ]
    known = [half for half in halves if half is not None]
    reached = max(known) if known and len(known) == len(halves) else None
    wanted = state.budget.precision if state.budget else None
    codes = dict.fromkeys(_codes(state, point))
    reasons = tuple(words for code, words in SHORT.items() if code in codes)
    within = [estimate.relative_half_width for arm in arms if (estimate := within_first(arm.cells[point]))]
    # An interval over processes shows how much the processes differ, but the budget's precision is defined
    # for a single process. So in a run of several processes, check the interval within the first one.
    firsts = [half for half in within if half is not None]
    first = max(firsts) if firsts and len(firsts) == len(arms) else reached
    if reached is not None and first is not None and state.workers >= MIN_SAMPLES:
        first = min(first, reached)
    # If a figure has the requested precision, missing rounds do not make it doubtful.
    precise = not arms or wanted is None or (first is not None and first <= wanted)
    return Confidence(
        half_width=reached,
        wanted=wanted,
        precise=precise,
        reasons=reasons,
        # The tables show the intervals over processes, so the badge of an imprecise run shows the widest of
        # these intervals.
        badge=_badge(
            reached if precise or first is None or reached is None else max(first, reached),
            wanted,
            precise,
            reasons,
            len(halves) - len(known),
        )
        if arms and not state.running
        else "",
        of=describe_coverage(state) if known else "",
        alike=_describe_similar_runs(state),
    )


FEWEST_ALIKE = 6
"""Minimum number of similar runs for which to report a range: the range of six runs contains the median of
all such runs with a probability of 97% (1 − 2 · 2⁻⁶), for any distribution.
"""


def _describe_similar_runs(state: RunState) -> str:
    """Describe the range of this run and of similar runs, because the interval of a single run omits
    variation over minutes.
    """
    alike = state.alike
    if alike is None or alike.arm not in state.arms or alike.runs < FEWEST_ALIKE:
        return ""
    # With two digits, because the figures of a run may have no more, and its own must be in the range.
    ends = " to ".join(seconds(end, end / 10) for end in (alike.low_s, alike.high_s))
    label = state.arms[alike.arm].label
    return (
        f"In {alike.runs} runs (this one included) with these settings on this machine, {label} took {ends}"
    )


def _codes(state: RunState, point: int) -> Iterator[str]:
    yield from (caveat.code for caveat in state.flags)
    for arm in measured(state, point):
        yield from (caveat.code for caveat in arm.flags if caveat.point in (None, point))
        doubted = doubt(arm.cells[point])
        if doubted is not None:
            yield doubted.code
        if elsewhere(arm, point):
            yield "other-device"


def _badge(
    reached: float | None, wanted: float | None, precise: bool, reasons: tuple[str, ...], lacking: int
) -> str:
    """Describe the caveats and the precision. lacking: number of arms without an interval."""
    parts = list(reasons[:MOST_NAMED])
    if not precise and wanted is not None:
        if reached is None:
            parts.append(f"too few samples ({plural(lacking, 'arm')})")
        elif percent(reached) == percent(wanted):
            parts.append(f"just over ± {percent(wanted)}")
        else:
            parts.append(f"± {percent(reached)} (wanted ± {percent(wanted)})")
    return ", ".join(parts)
