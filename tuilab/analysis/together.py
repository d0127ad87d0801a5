"""What devices cost each other: each arm alone, and while the others measured too."""

import msgspec

from tuilab.analysis.ratio import RatioEstimate
from tuilab.analysis.reading import compare, estimate_at
from tuilab.analysis.words import times
from tuilab.model.quantity import seconds
from tuilab.model.result import Contention
from tuilab.model.run import ArmState, RunState


def contention(state: RunState, point: int = 0) -> tuple[Contention, ...]:
    """For each arm that was measured both ways. The two passes share no rounds, so nothing pairs them."""
    out = []
    for arm in state.arms.values():
        alone = state.arms.get(msgspec.structs.replace(arm.arm, together=False).id)
        if not arm.arm.together or alone is None:
            continue
        found = compare(arm, alone, point)
        if found is not None and found.interval is not None:
            out.append(_contention(arm, alone, found, found.interval, point))
    return tuple(out)


def _contention(
    arm: ArmState, alone: ArmState, found: RatioEstimate, interval: tuple[float, float], point: int
) -> Contention:
    with_others, by_itself = estimate_at(arm, point), estimate_at(alone, point)
    assert with_others is not None and by_itself is not None  # a ratio has both
    figures = f"{seconds(with_others.median)} against {seconds(by_itself.median)} alone"
    return Contention(
        arm=alone.arm.id,
        device=arm.arm.device,
        alone_s=by_itself.median,
        together_s=with_others.median,
        ratio=found.ratio,
        ci95=interval,
        sentence=f"{alone.label} beside the other devices: {_words(found)} ({figures}).",
    )


def _words(found: RatioEstimate) -> str:
    if not found.differs:
        return "no difference beyond the noise"
    half = (found.high - found.low) / 2 if found.high is not None and found.low is not None else None
    if found.ratio > 1:
        return f"{times(found.ratio, half)} slower"
    return f"{times(1 / found.ratio)} faster"
