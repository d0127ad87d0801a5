"""Several runs side by side, arm by arm and place by place, each against one of them."""

from collections.abc import Sequence

import msgspec

from tuilab.analysis.compare import ArmComparison, compare_arms, disturbed, note, unlike
from tuilab.analysis.places import ordered, places, swept, words
from tuilab.analysis.reading import estimate_at
from tuilab.model.run import RunState


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """An arm in one run: its median and 95 % interval in seconds per call.

    ratio: its median over that of the run it is held against; low, high: bounds on it; differs: whether the
    two intervals are apart. They are null in that run itself, and where it has no interval of this arm.
    """

    median_s: float
    low_s: float | None
    high_s: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    differs: bool = False


class ArmAcross(msgspec.Struct, frozen=True, kw_only=True):
    """One arm at one place in every run that has it; null for those that have not.

    at: the place in words, "" where none of the runs sweeps.
    """

    arm: str
    label: str
    figures: tuple[Figure | None, ...]
    at: str = ""


class Across(msgspec.Struct, frozen=True, kw_only=True):
    """warnings: for each run in what it is unlike the one it is held against, and what disturbed it.

    note: what the intervals do not hold, "" where there is nothing to say.
    """

    base: int
    warnings: tuple[tuple[str, ...], ...]
    arms: tuple[ArmAcross, ...]
    note: str = ""


def across(states: Sequence[RunState], base: int = 0) -> Across:
    """Every arm of any of the runs, in the order in which they come up; ratios are against run `base`.

    Sweeps have a row for each place that any of the runs measured. The runs were not interleaved, so a ratio
    differs from 1 only where the two 95 % intervals of the medians are apart (`analysis.compare`).
    """
    names = swept(states)
    indices = [places(state, names) for state in states]
    against = states[base]
    compared = [() if state is against else compare_arms(against, state, names) for state in states]
    found = [{(c.arm, tuple(c.at.items())): c for c in own} for own in compared]
    every = ordered([place for known in indices for place in known])
    labels = {arm: known.label for state in reversed(states) for arm, known in state.arms.items()}
    arms = []
    for arm in dict.fromkeys(arm for state in states for arm in state.arms):
        for place in every:
            figures = tuple(
                _figure(state, arm, index.get(place), own.get((arm, place)))
                for state, index, own in zip(states, indices, found, strict=True)
            )
            if any(figures) or not names:
                arms.append(ArmAcross(arm=arm, label=labels[arm], at=words(place), figures=figures))
    return Across(
        base=base,
        warnings=tuple(_warnings(against, state, names) for state in states),
        arms=tuple(arms),
        note=next(
            (said for s, own in zip(states, compared, strict=True) if (said := note(against, s, own))), ""
        ),
    )


def _warnings(base: RunState, state: RunState, names: Sequence[str]) -> tuple[str, ...]:
    """In what a run is unlike the base, and what disturbed it."""
    differing = [] if state is base else unlike(base, state, names)
    return (*differing, *(f"disturbed: {words}" for words in disturbed(state)))


def _figure(state: RunState, arm: str, point: int | None, own: ArmComparison | None) -> Figure | None:
    known = state.arms.get(arm)
    estimate = estimate_at(known, point) if known is not None and point is not None else None
    if estimate is None:
        return None
    return Figure(
        median_s=estimate.median,
        low_s=estimate.low,
        high_s=estimate.high,
        ratio=own.ratio if own else None,
        low=own.low if own else None,
        high=own.high if own else None,
        differs=own.differs if own else False,
    )
