"""Claims about time: faster, crosses, takes a share of a call."""

from collections.abc import Sequence

from tuilab.analysis.crossings import Crossing, Place, crossings, places, signs
from tuilab.analysis.matching import Finding, missing, timed
from tuilab.analysis.ratio import RatioEstimate
from tuilab.analysis.reading import axes, compare, estimate_at, summary_point
from tuilab.analysis.sweeps import Series, series_of
from tuilab.analysis.words import listed, on_axis, percent, size, times
from tuilab.model.arms import ArmPattern
from tuilab.model.claims import Crosses, Faster, VerdictWord
from tuilab.model.quantity import seconds
from tuilab.model.run import ArmState, RunState

PHASE_WORDS = {
    "dispatch": "dispatch",
    "copy_in": "copying in",
    "compute": "computing",
    "copy_out": "copying out",
    "input_wait": "waiting for input",
    "other": "other work",
}


def faster(when: Faster, state: RunState) -> Finding:
    """The fastest arm of `a` against that of `b`, by the interval of their paired ratio."""
    point = summary_point(state)
    ours, theirs = timed(state, when.a, point), timed(state, when.b, point)
    shared = {arm.arm.id for arm in ours} & {arm.arm.id for arm in theirs}
    if shared and len(theirs) >= len(ours):  # the wider pattern leaves the common arms to the other
        theirs = [arm for arm in theirs if arm.arm.id not in shared]
    elif shared:
        ours = [arm for arm in ours if arm.arm.id not in shared]
    if absent := _absent(state, (when.a, ours), (when.b, theirs)):
        return absent
    a, b = ours[0], theirs[0]
    speedup = compare(b, a, point)
    if speedup is None or speedup.interval is None:
        return "undecided", f"Too few rounds to compare {a.label} with {b.label}."
    low, high = speedup.interval
    word: VerdictWord = "undecided"
    if low > when.by or low == when.by > 1:
        word = "confirmed"
    elif high < when.by or high == when.by == 1:
        word = "refuted"
    claimed = f"; at least {times(when.by)} was claimed" if when.by != 1 else ""
    figures = f"{a.label} took {_figure(a, point)}, {b.label} {_figure(b, point)}"
    return word, f"{figures}: {_speed(speedup)}{claimed}."


def _absent(state: RunState, *sides: tuple[ArmPattern, Sequence[ArmState]]) -> Finding | None:
    """Why a side has no figure; of two reasons the one that no further measuring would mend."""
    reasons = [missing(state, pattern) for pattern, arms in sides if not arms]
    return next((found for found in reasons if found[0] == "untestable"), next(iter(reasons), None))


def _figure(arm: ArmState, point: int) -> str:
    found = estimate_at(arm, point)
    return seconds(found.median, found.half_width) if found else "–"


def _speed(found: RatioEstimate) -> str:
    """`1.27 × faster [1.25 1.29]`, from b's time over a's."""
    assert found.low is not None and found.high is not None
    if found.ratio >= 1:
        ratio, low, high, word = found.ratio, found.low, found.high, "faster"
    else:
        ratio, low, high, word = 1 / found.ratio, 1 / found.high, 1 / found.low, "slower"
    half = (high - low) / 2
    span = f"[{times(low, half).removesuffix(' ×')} {times(high, half).removesuffix(' ×')}]"
    return f"{times(ratio, half)} {word} {span}" + ("" if found.differs else ", which may be noise")


def phase_share(state: RunState, pattern: ArmPattern, phases: Sequence[str], share: float) -> Finding:
    """Whether the phases together take at least `share` of a call in every arm of the pattern.

    A phase has no interval of its own; what the phases leave unexplained (the residual) may belong to any of
    them, so a share is known to within the residual's.
    """
    point = summary_point(state)
    arms = [(arm, arm.cells[point].phases) for arm in timed(state, pattern, point)]
    known = [(arm, p) for arm, p in arms if p is not None and p.total_s > 0]
    what = listed([PHASE_WORDS.get(phase, phase) for phase in phases])
    if not known:
        return (
            ("undecided", f"The phases of {pattern} were not measured.") if arms else missing(state, pattern)
        )
    rows: list[tuple[VerdictWord, str]] = []
    for arm, measured in known:
        found = sum(measured.phases_s.get(phase, 0.0) for phase in phases) / measured.total_s
        doubt = abs(measured.residual_s) / measured.total_s
        word: VerdictWord = "undecided"
        if found - doubt >= share:
            word = "confirmed"
        elif found + doubt < share:
            word = "refuted"
        rows.append((word, f"{percent(found)} of a call of {arm.label} (± {percent(doubt)})"))
    order: tuple[VerdictWord, ...] = ("refuted", "undecided", "confirmed")
    worst = min((row[0] for row in rows), key=order.index)
    texts = [text for word, text in rows if word == worst][:3]
    return worst, f"{what.capitalize()} takes {listed(texts)}; at least {percent(share)} was claimed."


def crosses(when: Crosses, state: RunState) -> Finding:
    """Whether `a` overtakes `b` between two sizes, by the interval of the crossover."""
    if when.axis not in axes(state)[:1]:
        return "undecided", f"It takes a sweep along {when.axis.replace('_', ' ')}."
    findings = [_crosses(when, state, series) for series in series_of(state)]
    if len({word for word, _ in findings}) == 1:
        return findings[0]
    return "undecided", " ".join(evidence for _, evidence in findings) or "No point was measured."


def _crosses(when: Crosses, state: RunState, series: Series) -> Finding:
    sides = []
    for pattern in (when.a, when.b):
        ids = {arm.arm.id for point in series.points.values() for arm in timed(state, pattern, point)}
        sides.append([arm for arm in series.everyone() if arm.arm.id in ids])
    if absent := _absent(state, (when.a, sides[0]), (when.b, sides[1])):
        return absent
    a, b = (series.best(arms) or arms[0] for arms in sides)
    at = places(series.timings(a), series.timings(b), series.begun)
    found = crossings(at)
    evidence = series.crossover(a, b).sentence
    claimed = on_axis(when.axis, f"{size(when.low)} to {size(when.high)}")
    return _within(when, at, found), f"{evidence} Claimed: {claimed}."


def _within(when: Crosses, at: Sequence[Place], found: Sequence[Crossing]) -> VerdictWord:
    ours = [crossing for crossing in found if crossing.overtakes]
    if any(when.low <= c.low and c.high <= when.high for c in ours):
        return "confirmed"
    if any(c.low <= when.high and when.low <= c.high for c in ours):
        return "undecided"
    if found:
        return "refuted"
    known = [sign for sign in signs(at) if sign]
    if not known:
        return "undecided"
    # One arm is faster throughout: what was measured must reach past the claimed range to refute it.
    reached = at[0].size <= when.low if known[0] < 0 else at[-1].size >= when.high and signs(at)[-1] != 0
    return "refuted" if reached else "undecided"
