"""Splits the measured time of a call into phases (an `Account`).

A profile shows what happens at each moment of a call, but profiling stretches the time between kernels. Calls
without the profiler give the true duration. `of_profile` combines the two, for calls of an arm or steps of a
program; `scaled` scales an account to the arm's median.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from tuilab.analysis.statistics import t_quantile
from tuilab.model.account import NOT_KNOWN, STALL, Account, Part, Source, in_order

EVENT_S = 2.5e-6
"""Maximum seconds that a thread spends on recording one profiler event."""
STRETCHED = 2.0
"""A profiled call longer than this multiple of the median may have been interrupted."""

NAMES = {"input": "input_wait", "scheduling": "dispatch", "sync": "dispatch"}
"""Profile phases that are renamed in an account: profile name → account name."""


@dataclass(frozen=True, slots=True)
class Known:
    """A phase's seconds per call, the half-width of their 95% interval (None if unknown), and how they were
    measured.
    """

    seconds: float
    half: float | None
    source: Source


def of_profile(
    calls: Sequence[Mapping[str, float]],
    plain_s: float | None = None,
    *,
    events: float = 0.0,
    on_device: Mapping[str, float] | None = None,
    own_python_s: Sequence[float] = (),
    opaque: bool = False,
    drained: bool = False,
) -> Account:
    """Split the time of consecutive profiled calls or steps into phases.

    calls: seconds by the profile's phase (`profile.sums.Sums.calls`), one mapping per call. plain_s: seconds
    of a call without the profiler; if None, the account keeps the profiled duration. events: number of
    recorded events per call on the calling thread. The time for recording these events, at most `EVENT_S`
    each, is subtracted from the time that TensorFlow and Python take between kernels. on_device: seconds per
    call and phase from another device's own clock, which neither the profiler nor a busy host stretches.
    Parts with such a time are not scaled; all other parts are scaled so that the total is `plain_s`. If the
    unprofiled call is longer than the profiled one, the device's share of the excess counts as unknown.
    own_python_s: seconds that Python spent outside TensorFlow in some calls, timed separately; the rest of
    the profile's Python time is TensorFlow's own. opaque: True if the profiler recorded nothing on the
    device, so its activity during a wait is unknown. drained: True if the input buffers were empty when the
    calls began. Raises ValueError if no call took time.
    """
    kept = _drop_interrupted(calls, plain_s) if plain_s else calls
    on_device = {name: spent * _part(kept, calls, name) for name, spent in (on_device or {}).items()}
    calls = kept
    steps = [math.fsum(call.values()) for call in calls]
    step_s = math.fsum(steps) / max(1, len(steps))
    if step_s <= 0:
        raise ValueError("the profile contains no call")
    total_s = plain_s if plain_s is not None and plain_s > 0 else step_s
    known_parts: dict[str, Known] = {}
    for phase in dict.fromkeys(name for call in calls for name in call):
        each = [call.get(phase, 0.0) for call in calls]
        name = NOT_KNOWN if opaque and phase == "sync" else NAMES.get(phase, phase)
        half = _half(each, steps)
        source: Source = "drained input" if drained and name == "input_wait" else "profiled"
        before = known_parts.get(name, Known(0.0, 0.0, source))
        known_parts[name] = Known(
            before.seconds + math.fsum(each) / len(each), _both(before.half, half), source
        )
    known_parts = _python_apart(known_parts, own_python_s)
    overhead = min(max(0.0, step_s - total_s), EVENT_S * events)
    for name in ("dispatch", "python"):
        if name in known_parts and known_parts[name].source == "profiled":
            off = min(known_parts[name].seconds, overhead)
            overhead -= off
            known_parts[name] = replace(known_parts[name], seconds=known_parts[name].seconds - off)
    return _scale_parts(known_parts, total_s, len(calls), on_device)


def _drop_interrupted(calls: Sequence[Mapping[str, float]], plain_s: float) -> list[Mapping[str, float]]:
    """Return the calls that no other program interrupted.

    Drops calls that took more than twice the median, unless the mean of the remaining calls would be below
    the duration of an unprofiled call.
    """
    lengths = [math.fsum(call.values()) for call in calls]
    longest = STRETCHED * statistics.median(lengths or [0.0])
    kept = [call for call, length in zip(calls, lengths, strict=True) if length <= longest]
    whole = math.fsum(length for length in lengths if length <= longest)
    return kept if whole >= plain_s * len(kept) > 0 else list(calls)


def _part(kept: Sequence[Mapping[str, float]], calls: Sequence[Mapping[str, float]], phase: str) -> float:
    """Return the ratio of a phase's mean time in the kept calls to its mean time in all calls."""
    if not (whole := math.fsum(call.get(phase, 0.0) for call in calls)):
        return 1.0
    return math.fsum(call.get(phase, 0.0) for call in kept) / whole * len(calls) / len(kept)


def _half(each: Sequence[float], steps: Sequence[float]) -> float | None:
    """Return the half-width of the 95% interval of a phase's seconds per call (ratio estimator; Cochran 1977,
    6.4).
    """
    n, whole = len(each), math.fsum(steps)
    if n < 2 or whole <= 0:
        return None
    ratio = math.fsum(each) / whole
    squares = math.fsum((one - ratio * step) ** 2 for one, step in zip(each, steps, strict=True))
    return t_quantile(0.975, n - 1) * math.sqrt(squares / (n * (n - 1)))


def _both(a: float | None, b: float | None) -> float | None:
    return math.hypot(a, b) if a is not None and b is not None else None


def _python_apart(known_parts: dict[str, Known], own_s: Sequence[float]) -> dict[str, Known]:
    """Count Python time as dispatch, except the user's own part, which was timed separately."""
    if not own_s or "python" not in known_parts:
        return known_parts
    python, beside = known_parts["python"], known_parts.get("dispatch", Known(0.0, 0.0, "profiled"))
    # Dispatch already includes Python code that TensorFlow calls back.
    own = min(statistics.median(own_s), python.seconds + beside.seconds)
    half = _both(beside.half, python.half)
    return {
        **known_parts,
        "dispatch": Known(beside.seconds + python.seconds - own, half, "profiled"),
        "python": Known(own, _half(own_s, [1.0] * len(own_s)), "timed apart"),
    }


def _scale_parts(
    known_parts: Mapping[str, Known], total_s: float, calls: int, on_device: Mapping[str, float]
) -> Account:
    """Return an account scaled to the length of unprofiled calls. Larger corrections widen the intervals."""
    whole = math.fsum(known.seconds for known in known_parts.values())
    if whole <= 0:
        return unknown(total_s, "the profiler recorded no events of the call")
    held = {name: min(known.seconds, on_device.get(name, 0.0)) for name, known in known_parts.items()}
    if math.fsum(held.values()) > total_s or math.fsum(held.values()) >= whole:
        held = {}  # scale all parts if the device's parts exceed the call or are the only ones
    device_s = math.fsum(held.values())
    factor = min(total_s / whole, (total_s - device_s) / (whole - device_s))
    left = total_s - device_s - factor * (whole - device_s) if device_s else 0.0
    parts = {}
    for name, known in known_parts.items():
        fitted = known.seconds - held.get(name, 0.0)
        half = None if known.half is None else known.half * factor + abs(factor - 1) * fitted
        parts[name] = Known(held.get(name, 0.0) + fitted * factor, half, known.source)
    if left > 0:
        before = parts.get(NOT_KNOWN, Known(0.0, 0.0, "remainder"))
        parts[NOT_KNOWN] = replace(before, seconds=before.seconds + left)
    return _build_account(parts, total_s, calls)


def of_parts(known_parts: Mapping[str, Known], total_s: float, note: str = "") -> Account:
    """Return the account of an unprofiled call from parts that were timed separately.

    The rest of the call is unknown. Parts that add up to more than a call are all reduced by the same factor.
    """
    whole = math.fsum(known.seconds for known in known_parts.values())
    if whole > total_s:
        factor = total_s / whole
        known_parts = {
            name: replace(known, seconds=known.seconds * factor, half=(known.half or 0.0) * factor)
            for name, known in known_parts.items()
        }
    rest = max(0.0, total_s - whole)
    halves = [known.half for known in known_parts.values() if known.half is not None]
    left = Known(rest, math.hypot(*halves) if halves else None, "remainder")
    return msgspec.structs.replace(_build_account({**known_parts, NOT_KNOWN: left}, total_s, 0), note=note)


def unknown(total_s: float, note: str) -> Account:
    return Account(
        total_s=total_s, parts=(Part(phase=NOT_KNOWN, seconds=total_s, source="remainder"),), note=note
    )


def _build_account(parts: Mapping[str, Known], total_s: float, calls: int) -> Account:
    order = in_order({name: known.seconds for name, known in parts.items() if known.seconds > 0})
    return Account(
        total_s=total_s,
        calls=calls,
        parts=tuple(
            Part(
                phase=name,
                seconds=parts[name].seconds,
                source="remainder" if name == NOT_KNOWN else parts[name].source,
                ci95_s=_interval(parts[name], total_s),
            )
            for name in order
        ),
    )


def _interval(known: Known, total_s: float) -> tuple[float, float] | None:
    if known.half is None:
        return None
    return max(0.0, known.seconds - known.half), min(total_s, known.seconds + known.half)


def scaled(account: Account, median_s: float) -> Account:
    """Return the account with every part scaled by the same factor, so that the total is `median_s`."""
    if account.total_s <= 0:
        return unknown(median_s, account.note)
    factor = median_s / account.total_s
    parts = tuple(
        msgspec.structs.replace(
            part,
            seconds=part.seconds * factor,
            ci95_s=(part.ci95_s[0] * factor, part.ci95_s[1] * factor) if part.ci95_s else None,
        )
        for part in account.parts
    )
    return msgspec.structs.replace(account, total_s=median_s, parts=parts)


Group = Literal["compute", "launches", "copies", "stalls", "input", "python", "not known"]
GROUPS: dict[str, Group] = {
    "copy_in": "copies",
    "copy_out": "copies",
    "copy": "copies",
    STALL: "stalls",
    "input_wait": "input",
    "dispatch": "launches",
    "compute": "compute",
    NOT_KNOWN: "not known",
}
"""The group of phases to report as the limit of an arm, by the name of the arm's largest phase. Phases that a
workload defines count as Python.
"""


def largest(account: Account) -> Group:
    sums: dict[Group, float] = {}
    for part in account.parts:
        group = GROUPS.get(part.phase, "python")
        sums[group] = sums.get(group, 0.0) + part.seconds
    return max(sums, key=lambda group: sums[group], default="not known")
