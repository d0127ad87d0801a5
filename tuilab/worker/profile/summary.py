"""From a profile's account to what is sent. Pure functions."""

from collections.abc import Sequence

from tuilab.model.profile import (
    PHASES,
    DeviceTime,
    Lane,
    OpTime,
    Phase,
    PhaseTime,
    Span,
)
from tuilab.model.quantity import seconds as shown
from tuilab.worker.profile.account import Account
from tuilab.worker.profile.classify import Key
from tuilab.worker.profile.threads import Activity
from tuilab.worker.profile.xplane import Line

PICO = 1e-12
MOST_OPS = 500


def ops(account: Account) -> list[OpTime]:
    """A row an op, the longest first; ops of the pipeline, which run beside the call, come last."""
    calls = max(1, len(account.windows))

    def row(key: Key, phase: Phase, spent: float, busy: float) -> OpTime:
        return OpTime(
            op=key.op,
            name=key.name,
            device=key.device,
            phase=phase,
            count=account.counts.get(key, 0) / calls,
            seconds=spent * PICO / calls,
            busy_s=busy * PICO / calls,
        )

    rows = [
        row(key, _phase(key, account), account.ops.get(key, 0.0), busy) for key, busy in account.busy.items()
    ]
    rows += [row(key, "input", 0.0, busy) for key, busy in account.beside.items()]
    return sorted(rows, key=lambda r: (-r.seconds, -r.busy_s, r.op, r.name))


def _phase(key: Key, account: Account) -> Phase:
    if key in account.copies:
        return "copy"
    return "compute" if key in account.computed else "input"


def phases(account: Account) -> tuple[PhaseTime, ...]:
    """Every phase that took any time, in the fixed order."""
    calls, total = max(1, len(account.windows)), sum(account.phases.values()) or 1.0
    return tuple(
        PhaseTime(phase=p, seconds=account.phases[p] * PICO / calls, share=account.phases[p] / total)
        for p in PHASES
        if account.phases.get(p)
    )


def devices(account: Account) -> tuple[DeviceTime, ...]:
    """How long each device was at work."""
    calls, total = max(1, len(account.windows)), sum(account.phases.values()) or 1.0
    return tuple(
        DeviceTime(device=name, seconds=spent * PICO / calls, share=spent / total)
        for name, spent in sorted(account.devices.items())
    )


def rest(parts: Sequence[PhaseTime], ops_s: float, measured_s: float) -> str:
    """What fills the call beside its ops: the other phases by name, and what the profiler itself adds."""
    named = [p for p in parts if p.phase not in ("compute", "copy", "input")]
    named.sort(key=lambda p: -p.seconds)
    words = [f"{p.phase} {shown(p.seconds)} ({p.share:.0%})" for p in named if p.share >= 0.005]
    step = sum(p.seconds for p in parts)
    if measured_s > 0 and step > 1.1 * measured_s:
        longer = f"{step / measured_s:.1f} × as long as the {shown(measured_s)} without it"
        words.append(f"the profiler makes the call {longer}")
    elif measured_s > 1.1 * step > 0:
        words.append(f"the profiled calls were quicker than the {shown(measured_s)} measured before")
    return "; ".join(words)


def timeline(
    lines: Sequence[Line], found: Activity, account: Account, most: int
) -> tuple[tuple[Lane, ...], tuple[Span, ...], int]:
    """The lanes that have events within the calls, their events by start, and how many were cut off."""
    if not account.windows:
        return (), (), 0
    begin, end = account.windows[0][0], account.windows[-1][1]
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


def _rank(lines: Sequence[Line], lane: int, found: Activity) -> tuple[bool, str, str]:
    main = next((s.lane for s in found.events if s.event.name == "tuilab call"), -1)
    return lane != main, lines[lane].device, lines[lane].name
