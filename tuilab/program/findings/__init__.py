"""Finds where a watched program loses time. Each kind of problem has its own function. Pure functions.

Findings are based only on observations. `share` is a share of the steps' time. By Amdahl's law, removing that
share makes the steps at most 1 / (1 - share) times as fast.
"""

from collections.abc import Callable, Collection, Iterator

from msgspec.structs import replace

from tuilab.model.program import Bottleneck, Code
from tuilab.model.quantity import seconds
from tuilab.program.case import Case
from tuilab.program.findings.common import prepared_s, waiting_share
from tuilab.program.findings.devices import devices, settings
from tuilab.program.findings.input import is_serial, validating, waiting, waiting_elsewhere
from tuilab.program.findings.loops import call_sites, model_calls, rebuilding, saving
from tuilab.program.findings.ops import doubles, on_host, precision, python_called, small_batches, small_ops
from tuilab.program.findings.python import between, eager, feeding, reading, sleeping, slowing
from tuilab.program.findings.tracing import tracing
from tuilab.program.gains import exceeds, limited_by_input


def findings(case: Case) -> tuple[Bottleneck, ...]:
    """Return all findings, largest saving first. The parts of a finding are also findings, and follow it."""
    found: dict[tuple[Code, str, int], Bottleneck] = {}
    for look in LOOKS:
        # If several checks report the same cause on a line, keep the first finding, because earlier checks
        # are more precise.
        for each in look(case):
            found.setdefault(each.key, each)
    for look_further in WAITS:
        found |= {each.key: each for each in look_further(case, found.values())}
    waited, prepared, usual = waiting_share(case)[0], prepared_s(case), case.of.mean_step_s
    pace = min(1.0, prepared / usual) if prepared and usual else prepared
    limited = [limited_by_input(each, waited, pace, is_serial(case)) for each in found.values()]
    if prepared and pace:
        meanwhile = f"; the input pipeline works for {seconds(prepared)} per batch on other threads"
        limited = [
            replace(each, message=each.message + meanwhile)
            if each.if_input_keeps_up and exceeds(before, pace)
            else each
            for each, before in zip(limited, found.values(), strict=True)
        ]
    if any(each.code == "input-bound" for each in limited):
        limited = [
            replace(each, remedy=f"make the input faster first (input-bound), then {each.remedy}")
            if each.if_input_keeps_up and each.remedy
            else each
            for each in limited
        ]
    order = sorted(limited, key=lambda f: (-(f.saves_s or 0.0), -(f.gain_at_most or 0.0)))
    return tuple(
        each
        for first in order
        if not first.part_of
        for each in (first, *(f for f in order if f.part_of == first.code))
    )


LOOKS: tuple[Callable[[Case], Iterator[Bottleneck]], ...] = (
    call_sites,
    rebuilding,
    saving,
    slowing,
    waiting,
    tracing,
    eager,
    model_calls,
    reading,
    feeding,
    between,
    doubles,
    precision,
    python_called,
    small_ops,
    small_batches,
    on_host,
    devices,
    settings,
)
WAITS: tuple[Callable[[Case, Collection[Bottleneck]], Iterator[Bottleneck]], ...] = (
    validating,
    waiting_elsewhere,
    sleeping,
)
"""These report the waits that the findings so far do not explain."""
