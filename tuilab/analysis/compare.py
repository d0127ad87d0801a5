"""Two runs against each other, arm by arm."""

import msgspec

from tuilab.analysis.median import estimate
from tuilab.model.quantity import interval, seconds
from tuilab.model.run import RunState


class ArmComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One arm in both runs. ratio: median of the second over the first; low, high: bounds on it.

    differs: whether the two intervals of the medians are apart, so that the runs differ beyond their noise.
    """

    arm: str
    label: str
    ratio: float
    low: float
    high: float
    differs: bool
    sentence: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """warnings: in what the runs are unlike, so that a difference may not be the software's."""

    warnings: tuple[str, ...]
    arms: tuple[ArmComparison, ...]


def compare(first: RunState, second: RunState) -> Comparison:
    """Compare the arms that both runs measured.

    The runs were not interleaved, so nothing pairs their rounds: the ratio's bounds are those of the two
    95 % intervals, low2/high1 … high2/low1, which are wider than a 95 % interval of the ratio.
    """
    return Comparison(warnings=tuple(unlike(first, second)), arms=tuple(_arms(first, second)))


def _arms(first: RunState, second: RunState) -> list[ArmComparison]:
    out = []
    for identity, arm in first.arms.items():
        other = second.arms.get(identity)
        if other is None or 0 not in arm.cells or 0 not in other.cells:
            continue
        a, b = estimate(arm.cells[0].samples), estimate(other.cells[0].samples)
        if a is None or b is None or a.low is None or a.high is None or b.low is None or b.high is None:
            continue
        if min(a.low, b.low) <= 0:
            continue
        differs = a.high < b.low or b.high < a.low
        ratio = b.median / a.median
        times = f"{max(ratio, 1 / ratio):.3g} × {'slower' if ratio > 1 else 'faster'}"
        said = times if differs else "no difference beyond the noise"
        shown = [f"{seconds(e.median)} {interval(e.low or 0, e.high or 0, e.median)}" for e in (a, b)]
        out.append(
            ArmComparison(
                arm=identity,
                label=arm.label,
                ratio=ratio,
                low=b.low / a.high,
                high=b.high / a.low,
                differs=differs,
                sentence=f"{arm.label}: {shown[0]} → {shown[1]}: {said}",
            )
        )
    return out


def unlike(first: RunState, second: RunState) -> list[str]:
    """In what two runs differ beside their figures, each in a sentence."""
    out = []
    a, b = first.machine, second.machine
    if a is not None and b is not None:
        for name in ("host", "cpu", "tensorflow", "python", "driver", "tuilab"):
            if getattr(a, name) != getattr(b, name):
                out.append(f"unlike machines: {name} is {getattr(a, name)} against {getattr(b, name)}")
        if a.gpus != b.gpus:
            names = [", ".join(g.description for g in m.gpus) or "no GPU" for m in (a, b)]
            out.append(f"unlike machines: {names[0]} against {names[1]}")
    if first.scenario is not None and second.scenario is not None:
        if first.scenario.workload != second.scenario.workload:
            out.append(f"unlike work: {first.scenario.workload} against {second.scenario.workload}")
        for name, value in first.scenario.parameters.items():
            there = second.scenario.parameters.get(name)
            if value != there:
                out.append(f"unlike parameters: {name} is {value} against {there}")
    return out
