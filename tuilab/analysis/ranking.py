"""Ranks the arms of a run: fastest, tied or too noisy to compare. The words are in `analysis.answer`."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tuilab.analysis.reading import (
    account_at,
    arm_status,
    comparable,
    compare,
    estimate_at,
    family_of,
    has_gpu,
    machine_of,
    name_of,
    summary_point,
    value_at,
)
from tuilab.analysis.statistics import MIN_SAMPLES
from tuilab.analysis.words import listed, on_axis, size
from tuilab.model.account import COPIES, NOT_KNOWN, Part
from tuilab.model.brief import Brief
from tuilab.model.run import ArmState, RunState
from tuilab.model.scenario import Axis
from tuilab.model.verdicts import EMULATED

LOOK = 3
"""Minimum number of warm-up calls before a provisional time is shown."""


@dataclass(frozen=True)
class Ranking:
    """Arms that do the same work, fastest first.

    tied: the arms that may be the fastest. wild: the arms that are too noisy to compare with the fastest.
    few: the arms with too few rounds to compare.
    """

    arms: list[ArmState]
    tied: list[ArmState]
    wild: list[ArmState]
    few: list[ArmState]
    apart: bool
    """True if some arms are too noisy to compare with the fastest."""

    def runner_up(self, point: int) -> ArmState:
        """Return the fastest arm on a kind of device (CPU or GPU) that no tied arm used, or else the next
        arm.
        """
        behind = [arm for arm in self.arms if arm not in self.tied]
        here = {family_of(arm, point) for arm in self.tied}
        return next((arm for arm in behind if family_of(arm, point) not in here), behind[0])


def ranked(arms: list[ArmState], point: int) -> Ranking:
    """Rank the arms, which must be sorted by median."""
    known = [arm for arm in arms[1:] if (ratio := compare(arm, arms[0], point)) and ratio.interval]
    # Once one arm can be compared with the fastest, list the arms that cannot be compared yet in a separate
    # group.
    short_of = [arm for arm in arms[1:] if arm not in known] if known else []
    arms = [arm for arm in arms if arm not in short_of]
    tied, wild = _split_tied(arms, point)
    few = [arm for arm in wild if (ratio := compare(arm, arms[0], point)) and ratio.n < MIN_SAMPLES]
    return Ranking(
        arms=[arm for arm in arms if arm not in wild],
        tied=tied,
        wild=[arm for arm in wild if arm not in few],
        few=[*few, *short_of],
        apart=bool(wild),
    )


def _split_tied(arms: list[ArmState], point: int) -> tuple[list[ArmState], list[ArmState]]:
    """Return the arms that may be the fastest, by median, and the slower arms that are too noisy to rule out
    as fastest.

    An arm ranked between two nearly equal arms counts as equal to them, even if its own interval excludes a
    tie.
    """
    level = [arm for arm in arms if not _slower(arm, arms[0], point)]
    first = next((i for i, arm in enumerate(arms) if arm not in level), len(arms))
    late = [arm for arm in arms[first:] if arm in level]
    near = [arm for arm in late if close(arm, arms[0], point)]
    last = max((arms.index(arm) for arm in near), default=first - 1)
    wild = [arm for arm in late if arm not in near]
    return [arm for arm in arms[: last + 1] if arm not in wild], wild


def _slower(arm: ArmState, first: ArmState, point: int) -> bool:
    ratio = compare(arm, first, point)
    return ratio is not None and ratio.sign > 0


def close(arm: ArmState, other: ArmState, point: int) -> bool:
    ratio = compare(arm, other, point)
    return ratio is not None and ratio.alike


def copying(arm: ArmState, point: int) -> float:
    """Return the share (0 to 1) of a call that its copies take; 0 if unknown."""
    account = account_at(arm, point)
    return account.share(*COPIES) if account is not None else 0.0


def failed_arms(state: RunState, point: int) -> list[tuple[ArmState, str, str]]:
    """Return the failed and unavailable arms, with status and reason.

    Omits unavailable GPU arms if no machine of the run has a GPU.
    """
    statuses = [(arm, *arm_status(state, arm, point)) for arm in state.arms.values()]
    may = has_gpu(state)
    return [
        (arm, status, reason)
        for arm, status, reason in statuses
        if status == "failed" or (status == "unavailable" and (may or arm.arm.device[:3] == "CPU"))
    ]


def most_saved(before: ArmState, after: ArmState, point: int) -> tuple[Part, Part] | None:
    """Find the part of a call in which `after` saves the most time. Return that part of `before` and of
    `after`.

    Returns None if that part accounts for less than half of the saving.
    """
    one, other = account_at(before, point), account_at(after, point)
    if one is None or other is None:
        return None
    left = {part.phase: part for part in other.parts}
    both = [(part, left[part.phase]) for part in one.parts if part.phase in left]
    if not both:
        return None
    was, now = max(both, key=lambda pair: pair[0].seconds - pair[1].seconds)
    if was.phase == NOT_KNOWN or was.seconds - now.seconds < (one.total_s - other.total_s) / 2:
        return None
    return was, now


def first_looks(state: RunState, point: int) -> Sequence[tuple[ArmState, float]]:
    """Return one arm for each device, preferably in graph mode, with the seconds of its fastest warm-up call.

    Omits arms with fewer than `LOOK` warm-up calls.
    """
    fastest: dict[str, tuple[ArmState, float]] = {}
    for arm in sorted(state.arms.values(), key=lambda arm: arm.arm.mode != "graph"):
        warming = arm.cells[point].warming if point in arm.cells else ()
        if len(warming) >= LOOK and arm_status(state, arm, point)[0] not in ("unavailable", "failed"):
            # Use the minimum, because other work during start-up slows most of these calls down.
            fastest.setdefault(arm.arm.device, (arm, min(warming)))
    return list(fastest.values())


def brief(state: RunState) -> Brief:
    """Return the fastest arm, and its lead over the fastest arm on the other kind of device, or else over the
    runner-up.

    Compares only arms that do the same work: the first kind of work that several arms did.
    """
    point = summary_point(state)
    swept = ", ".join(axis.parameter.replace("_", " ") for axis in state.sweep.axes) if state.sweep else ""
    sizes = measured_range(state)
    works = list(comparable(state, point))
    arms = next((arms for arms in works if len(arms) > 1), works[0] if works else [])
    if not arms:
        return Brief(state.rounds, swept=swept, sizes=sizes)
    estimate = estimate_at(arms[0], point)
    assert estimate is not None
    other = [arm for arm in arms if family_of(arm, point) != family_of(arms[0], point)]
    second = next(iter(other or arms[1:]), None)
    ratio = compare(second, arms[0], point) if second is not None else None
    return Brief(
        rounds=state.rounds,
        fastest=marked_name(state, arms[0], point),
        median_s=estimate.median,
        next=marked_name(state, second, point) if second is not None else "",
        ratio=ratio.ratio if ratio else None,
        low=ratio.low if ratio else None,
        high=ratio.high if ratio else None,
        swept=swept,
        sizes=sizes,
    )


def marked_name(state: RunState, arm: ArmState, point: int) -> str:
    """Return the arm's name, with `EMULATED` if it ran on an emulated GPU."""
    machine, name = machine_of(state, arm), name_of(arm, point)
    emulated = machine is not None and machine.emulated and family_of(arm, point) == "GPU"
    return f"{EMULATED} {name}" if emulated else name


def measured_range(state: RunState) -> str:
    """Return the measured sizes of a sweep, such as `256 to 1M samples`; "" without a sweep.

    If a sweep was cut short: `256 to 4,096 samples of up to 1M`, or `none of 256 to 1M samples`.
    """
    begun = state.sampled_points
    return listed([_range(state, axis, begun) for axis in state.sweep.axes]) if state.sweep else ""


def _range(state: RunState, axis: Axis, begun: AbstractSet[int]) -> str:
    name = axis.parameter
    done = [v for p in state.points if p.index in begun and type(v := value_at(state, p, name)) is int]
    if not done:
        return f"none of {on_axis(name, _ends(axis.values))}"
    more = f" of up to {size(max(axis.values))}" if max(done) < max(axis.values) else ""
    return f"{on_axis(name, _ends(done))}{more}"


def _ends(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return size(low) if low == high else f"{size(low)} to {size(high)}"
