"""Describes a profile in sentences with numbers, and sums its times by op type.

A part is reported if it takes at least 15% of a call, the same threshold as for advice.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuilab.analysis.words import listed, percent, times
from tuilab.model.account import COPIES, STALL
from tuilab.model.profile import OpTime, Phase, Profile
from tuilab.model.quantity import seconds as shown

MATTERS = 0.15
"""Advice is given on parts that take at least this share of a call."""
INPUT_HIGH, LAUNCH_HIGH = 0.20, 0.30
MOSTLY = 0.9
"""The overhead of copies is mentioned only if the transfer over the link takes less than this share of the
copy time.
"""


@dataclass(frozen=True)
class TypeTime:
    """All ops of one type, device and phase; count, seconds and busy_s are totals per call."""

    op: str
    device: str
    phase: Phase
    count: float
    seconds: float
    busy_s: float


def by_type(ops: Sequence[OpTime]) -> list[TypeTime]:
    """Return the ops summed by type, device and phase, longest first."""
    sums: dict[tuple[str, str, Phase], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for row in ops:
        total = sums[row.op, row.device, row.phase]
        for index, part in enumerate((row.count, row.seconds, row.busy_s)):
            total[index] += part
    rows = [TypeTime(*key, *total) for key, total in sums.items()]
    return sorted(rows, key=lambda r: (-r.seconds, -r.busy_s, r.op))


def share(profile: Profile, *phases: str) -> float:
    return sum(p.share for p in profile.phases if p.phase in phases)


def time_in(profile: Profile, *phases: str) -> float:
    """Return the seconds per call that these phases take together."""
    return sum(p.seconds for p in profile.phases if p.phase in phases)


def diagnose(profile: Profile) -> tuple[str, ...]:
    """Return sentences about the profile, most informative first; at least one."""
    sentences = [*_input(profile), *_overhead(profile), *_stalls(profile), *_copies(profile), *_top(profile)]
    return tuple(sentences) or (f"No TensorFlow op ran in the call, which took {shown(profile.measured_s)}.",)


def input_bound(share: float) -> str:
    """Describe how strongly waiting for input limits a call. share: the share of the call, as printed."""
    return f"{'highly' if round(share, 2) >= INPUT_HIGH else 'moderately'} input-bound"


def copying(profile: Profile) -> str:
    """Explain the copy time beyond the link's transfer time; "" if transfers take most of the copy time.

    A phase lasts from the start of a copy on the host to its end; the link's op lasts only while data moves.
    """
    whole = time_in(profile, *COPIES)
    moves = [row for row in by_type(profile.ops) if row.phase == "copy" and row.device.startswith("GPU")]
    linked = sum(row.seconds for row in moves)
    if not moves or linked >= MOSTLY * whole:
        return ""
    named = listed(list(dict.fromkeys(row.op for row in moves)))
    return (
        f"Copying takes {shown(whole)}. The link transfers data for {shown(linked)} of it ({named}); "
        "the rest is the host starting copies and waiting for them."
    )


def _input(profile: Profile) -> Iterator[str]:
    waits = share(profile, "input_wait")
    if waits < MATTERS:
        return
    text = (
        f"{shown(time_in(profile, 'input_wait'))} of {shown(profile.measured_s)} is spent waiting for input "
        f"({percent(waits)}): "
    )
    text += f"the call is {input_bound(waits)}"
    beside = [row for row in by_type(profile.ops) if row.phase == "input" and not row.seconds]
    busy = sum(row.busy_s for row in beside)
    if busy > 0:
        at_once = busy / profile.measured_s
        text += f"; the pipeline's ops keep {at_once:.1f} processors busy, mostly with {beside[0].op}"
        if at_once < 1.2:
            text += ", so it handles one element at a time: parallel calls and prefetching would help"
    yield text + "."


def _overhead(profile: Profile) -> Iterator[str]:
    around = share(profile, "dispatch", "python")
    runs = sum(row.count for row in profile.ops if row.phase == "compute")
    if around < MATTERS or not runs:
        return
    eager = ".eager." in profile.arm
    what = "Python and dispatch" if eager else "launching the call and its ops"
    ops, compute = ("1 op", "computes") if round(runs) == 1 else (f"{runs:,.0f} ops", "compute")
    text = f"{percent(around)} of the {'eager ' if eager else ''}time goes to {what}, for {ops}"
    computing = time_in(profile, "compute")
    if computing > 0:
        text += f" that {compute} for {shown(computing)}"
    if around >= LAUNCH_HIGH:
        text += "; one graph would remove most of it" if eager else "; more work per call would hide it"
    yield text + "."


def _stalls(profile: Profile) -> Iterator[str]:
    waits = share(profile, STALL)
    if waits < MATTERS:
        return
    computing = [row for row in by_type(profile.ops) if row.phase == "compute"]
    host = [row for row in computing if not row.device.startswith("GPU")]
    text = f"during {percent(waits)} of a call"
    if host:
        yield f"The device waits for the host {text}; the longest op on the host is {host[0].op}."
    else:
        yield f"The device waits for the host and for copies {text}."


def _copies(profile: Profile) -> Iterator[str]:
    copying, computing = time_in(profile, *COPIES), time_in(profile, "compute")
    if share(profile, *COPIES) < MATTERS:
        return
    text = f"Copies take {shown(copying)} of {shown(profile.measured_s)}"
    if computing > 0:
        text += f", {times(copying / computing)} the compute time; keep the data on the device"
    yield text + "."


def _top(profile: Profile) -> Iterator[str]:
    rows = [row for row in by_type(profile.ops) if row.phase == "compute"]
    if rows and profile.measured_s > 0:
        first = rows[0]
        of_call = percent(first.seconds / profile.measured_s)
        yield f"{first.op} on {first.device} computes for {shown(first.seconds)} of each call ({of_call})."
