"""Several runs side by side, arm by arm, each against one of them."""

from collections.abc import Sequence

import msgspec

from tuilab.analysis.compare import ArmComparison, compare, unlike
from tuilab.analysis.reading import axes, estimate_at, value_at
from tuilab.model.run import RunState

POINT = 0
"""Where sweeps are compared: the point that `analysis.compare` looks at."""


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
    """One arm in every run that has it; null for those that have not."""

    arm: str
    label: str
    figures: tuple[Figure | None, ...]


class Across(msgspec.Struct, frozen=True, kw_only=True):
    """warnings: for each run in what it is unlike the one it is held against (none for that one itself)."""

    base: int
    warnings: tuple[tuple[str, ...], ...]
    arms: tuple[ArmAcross, ...]


def across(states: Sequence[RunState], base: int = 0) -> Across:
    """Every arm of any of the runs, in the order in which they come up; ratios are against run `base`.

    The runs were not interleaved, so a ratio differs from 1 only where the two 95 % intervals of the medians
    are apart (`analysis.compare`).
    """
    against = states[base]
    found: list[dict[str, ArmComparison]] = [
        {} if s is against else {c.arm: c for c in compare(against, s).arms} for s in states
    ]
    labels = {arm: known.label for state in reversed(states) for arm, known in state.arms.items()}
    order = list(dict.fromkeys(arm for state in states for arm in state.arms))
    arms = []
    for arm in order:
        figures: list[Figure | None] = []
        for state, compared in zip(states, found, strict=True):
            known = state.arms.get(arm)
            estimate = estimate_at(known, POINT) if known is not None else None
            if estimate is None:
                figures.append(None)
                continue
            own = compared.get(arm)
            figures.append(
                Figure(
                    median_s=estimate.median,
                    low_s=estimate.low,
                    high_s=estimate.high,
                    ratio=own.ratio if own else None,
                    low=own.low if own else None,
                    high=own.high if own else None,
                    differs=own.differs if own else False,
                )
            )
        arms.append(ArmAcross(arm=arm, label=labels[arm], figures=tuple(figures)))
    warnings = tuple(() if s is against else tuple(_unlike(against, s)) for s in states)
    return Across(base=base, warnings=warnings, arms=tuple(arms))


def _unlike(first: RunState, second: RunState) -> list[str]:
    """In what two runs differ beside their figures, and where sweeps are compared."""
    out = unlike(first, second)
    names = tuple(dict.fromkeys((*axes(first), *axes(second))))
    for name in names:
        here, there = (_at(state, name) for state in (first, second))
        words = f"{name} = {here}" if here == there else f"{name} = {here} against {name} = {there}"
        out.append(f"a sweep: compared at its first size, {words}")
    return out


def _at(state: RunState, name: str) -> object:
    place = next((p for p in state.points if p.index == POINT), None)
    return value_at(state, place, name) if place is not None else "none"
