"""Summarizes the sums of a profile: times per op and per device, and the timeline. Pure functions."""

from collections.abc import Sequence

import msgspec

from tuilab.model.account import COPIES, Account
from tuilab.model.profile import DeviceTime, Lane, OpTime, Phase, Span
from tuilab.model.quantity import seconds as shown
from tuilab.profile.classify import CALL, Key
from tuilab.profile.sums import PICO, Sums
from tuilab.profile.threads import Activity
from tuilab.profile.xplane import XLine

MOST_OPS = 500


def ops(of: Sums, factor: float = 1.0) -> list[OpTime]:
    """Return one row per op, longest first. Ops of the input pipeline come last, because they run
    concurrently with the call.

    factor: scales the times of the ops to those of a call without the profiler.
    """
    calls = max(1, len(of.windows))

    def row(key: Key, phase: Phase, spent: float, busy: float) -> OpTime:
        return OpTime(
            op=key.op,
            name=key.name,
            device=key.device,
            phase=phase,
            count=of.counts.get(key, 0) / calls,
            seconds=factor * spent * PICO / calls,
            busy_s=factor * busy * PICO / calls,
        )

    spent = of.ops
    rows = [row(key, _phase(key, of), spent.get(key, 0.0), busy) for key, busy in of.busy.items()]
    rows += [row(key, "input", 0.0, busy) for key, busy in of.beside.items()]
    return sorted(rows, key=lambda r: (-r.seconds, -r.busy_s, r.op, r.name))


def shortened(rows: Sequence[OpTime]) -> list[OpTime]:
    """Return the first `MOST_OPS` rows, then the remaining rows merged by op type and device, so that the
    totals stay the same.
    """
    behind: dict[tuple[str, str, Phase], list[OpTime]] = {}
    for row in rows[MOST_OPS:]:
        behind.setdefault((row.op, row.device, row.phase), []).append(row)
    together = [
        msgspec.structs.replace(
            alike[0],
            name=alike[0].name if len(alike) == 1 else f"{len(alike):,} more",
            count=sum(row.count for row in alike),
            seconds=sum(row.seconds for row in alike),
            busy_s=sum(row.busy_s for row in alike),
        )
        for alike in behind.values()
    ]
    return [*rows[:MOST_OPS], *sorted(together, key=lambda row: -row.seconds)]


def _phase(key: Key, of: Sums) -> Phase:
    if key in of.copies:
        return "copy"
    return "compute" if key in of.computed else "input"


def devices(of: Sums) -> tuple[DeviceTime, ...]:
    calls, total = max(1, len(of.windows)), sum(of.phases.values()) or 1.0
    return tuple(
        DeviceTime(device=name, seconds=spent * PICO / calls, share=spent / total)
        for name, spent in sorted(of.devices.items())
    )


def rest(account: Account, step_s: float) -> str:
    """Return a phrase for the time of a call outside its ops: the other phases, and the profiler's
    overhead.
    """
    named = [part for part in account.parts if part.phase not in ("compute", *COPIES, "input_wait")]
    named.sort(key=lambda part: -part.seconds)
    words = [
        f"{part.phase.replace('_', ' ')} {shown(part.seconds)} ({account.share(part.phase):.0%})"
        for part in named
        if account.share(part.phase) >= 0.005
    ]
    plain = account.total_s
    if plain > 0 and step_s > 1.1 * plain:
        words.append(
            f"under the profiler, the call takes {step_s / plain:.1f}× as long as without it ({shown(plain)})"
        )
    elif plain > 1.1 * step_s > 0:
        words.append(f"the profiled calls were faster than the {shown(plain)} measured without the profiler")
    return "; ".join(words)


def timeline(
    lines: Sequence[XLine], found: Activity, of: Sums, most: int
) -> tuple[tuple[Lane, ...], tuple[Span, ...], int]:
    """Return the first `most` events inside the calls as spans in order of their start, the lanes of these
    events, and the number of omitted events.
    """
    if not of.windows:
        return (), (), 0
    begin, end = of.windows[0][0], of.windows[-1][1]
    within = [s for s in found.events if s.event.start < end and s.event.end > begin]
    within.sort(key=lambda s: (s.event.start, -s.event.end))
    kept = within[:most]
    used = sorted({s.lane for s in kept}, key=lambda lane: _rank(lines, lane, found))
    number = {lane: index for index, lane in enumerate(used)}
    spans = tuple(
        Span(
            lane=number[s.lane],
            start_s=(s.event.start - begin) * PICO,
            duration_s=(s.event.end - s.event.start) * PICO,
            name=s.event.name,
            phase="input" if s.pipeline else s.meaning.phase or "",
        )
        for s in kept
    )
    return tuple(Lane(lines[lane].name, lines[lane].device) for lane in used), spans, len(within) - len(kept)


def _rank(lines: Sequence[XLine], lane: int, found: Activity) -> tuple[bool, str, str]:
    main = next((s.lane for s in found.events if s.event.name == CALL), -1)
    return lane != main, lines[lane].device, lines[lane].name
