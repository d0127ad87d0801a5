"""Checks that the machine is idle, that competing load is detected, and that no figure exceeds the hardware
limit.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tuilab import nvml
from tuilab.analysis.caveats import Pressure, contention
from tuilab.analysis.roofline_words import against_roof
from tuilab.analysis.words import percent
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.machine import Machine
from tuilab.model.quantity import plural, size
from tuilab.model.roofline import Roofs, Work
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Scenario
from tuilab.model.selftest import Check
from tuilab.model.telemetry import Link
from tuilab.worker.context import Context
from tuilab.worker.machine import buses
from tuilab.worker.measure.link import format_cost, measure_link
from tuilab.worker.measure.stopwatch import Stopwatch, sync_of
from tuilab.worker.roofs import measure_roofs
from tuilab.worker.selftest.bench import bench, by_round, cell, spin

LISTEN_S = 2.0
QUIET = "other processes use ≤ 25% of the processors; few waits or interruptions"
SIDE = 1_024
FASTEST_CLOCK = 6e9
"""In Hz. No processor on the market runs all of its cores at a higher clock rate."""

FLOPS_PER_CYCLE = 64
"""float32 operations of a core per cycle: two 512-bit fused multiply-adds, the widest outside matrix
units.
"""

LANE_BYTES_PER_S = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}
"""Bytes per second of one PCIe lane by generation, net of line encoding (PCI-SIG)."""


def listen(context: Context, seconds: float = LISTEN_S) -> Pressure | None:
    own = bench(context, rounds=10**9, limit_s=seconds)
    by_round(own, [cell("spin", lambda: spin(1e-3), 5, 1e-3)])
    return own.pressures[-1] if own.pressures else None


def idle(seen: Pressure | None) -> Check:
    doubt = contention(seen) if seen else None
    message = (
        f"NOT IDLE: {doubt.message}"
        if doubt
        else (f"other processes used {_describe_load(seen)} of the processors")
    )
    return Check(name="idle", figure=_others(seen), limit=QUIET, passed=doubt is None, message=message)


def still_idle(during: Mapping[str, Pressure]) -> Check:
    doubts = {name: doubt for name, seen in during.items() if (doubt := contention(seen))}
    worst = max(during.values(), key=lambda seen: _others(seen) or 0.0, default=None)
    message = f"other processes used at most {_describe_load(worst)} of the processors during any check"
    if doubts:
        name = next(iter(doubts))
        message = f"NOT IDLE during {', '.join(doubts)}: {doubts[name].message}"
    return Check(name="still-idle", figure=_others(worst), limit=QUIET, passed=not doubts, message=message)


def _others(seen: Pressure | None) -> float | None:
    return None if seen is None or seen.others_s is None else seen.others_s / (seen.wall_s * seen.cores)


def _describe_load(seen: Pressure | None) -> str:
    share = _others(seen)
    return "an unknown share" if share is None else percent(share)


def hog(context: Context) -> Check:
    with _hogs(len(os.sched_getaffinity(0))):
        seen = listen(context)
    doubt = contention(seen) if seen else None
    waited = seen.waited_s / seen.wall_s if seen and seen.waited_s is not None else None
    return Check(
        name="hog",
        figure=waited,
        limit="the flag cpu-contention is raised",
        passed=doubt is not None,
        message=doubt.message
        if doubt
        else f"the test's CPU hogs were not detected: other processes appeared to use {_describe_load(seen)}",
    )


@contextmanager
def _hogs(count: int) -> Iterator[None]:
    # Each hog also ends by itself, so that a killed self-test leaves no process behind.
    code = f"import time\nend = time.monotonic() + {LISTEN_S + 30}\nwhile time.monotonic() < end: pass"
    hogs = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=subprocess.DEVNULL)
        for _ in range(count)
    ]
    try:
        time.sleep(0.2)
        yield
    finally:
        for process in hogs:
            process.kill()
        for process in hogs:
            process.wait()


def roofline(context: Context) -> Check:
    """Check that a matrix product's rate stays below the theoretical maximum of the processor's cores."""
    tf, own = context.tf, bench(context, rounds=20, limit_s=10.0)
    with tf.device("/CPU:0"):
        matrix = tf.random.normal((SIDE, SIDE), seed=1)
        product = tf.function(lambda m: tf.matmul(m, m), autograph=False)
    product(matrix)
    (rounds,) = by_round(own, [cell("matmul", lambda: product(matrix), 2, 0.05)])
    rate = 2 * SIDE**3 / min(rounds.values())
    bound = (os.cpu_count() or 1) * _clock() * FLOPS_PER_CYCLE
    return Check(
        name="roofline",
        figure=rate / bound,
        limit="≤ 1",
        passed=rate <= bound,
        message=(
            f"a matrix product reached at most {size(rate).removesuffix('B')}FLOP/s; "
            f"the processor's maximum is {size(bound).removesuffix('B')}FLOP/s"
        ),
    )


ELEMENTS = (2**12, 2**16, 2**20, 2**24)
"""Numbers of float32 elements, from a set that fits the fastest cache to a set that needs main memory."""
ROOFS_S = 1.0


def shares(context: Context) -> Check:
    tf, own = context.tf, bench(context, rounds=10, limit_s=10.0)
    works, cells = {}, []
    with tf.device("/CPU:0"):
        for count in ELEMENTS:
            side = int(count**0.5) // 4
            x, square = tf.ones((count,)), tf.ones((side, side))
            for name, call, work in (
                ("sum", partial(tf.reduce_sum, x), Work(flop=count, inputs=4.0 * count, outputs=4.0)),
                ("product", partial(tf.matmul, square, square),
                 Work(flop=2.0 * side**3, inputs=8.0 * side**2, outputs=4.0 * side**2)),
            ):  # fmt: skip
                call()
                works[f"{name} {count}"] = work
                cells.append(cell(f"{name} {count}", call, 2, 0.01))
        timed = by_round(own, cells)
    state = under(measure_roofs(context, ROOFS_S, context.check_question), context.machine, works, timed)
    found = [roof for arm in state.arms.values() if (roof := against_roof(state, arm, 0)) is not None]
    highest = max((roof.share for roof in found if roof.share is not None), default=None)
    raised = sum("reached" in roof.roof for roof in found)
    words = "no call has a known roof" if highest is None else f"at most {percent(highest)} of a roof"
    return Check(
        name="shares",
        figure=highest,
        limit="≤ 1",
        passed=bool(found) and (highest is None or highest <= 1),
        message=f"{plural(len(found), 'call')} of known work: {words}; {raised} above the limit",
    )


def under(
    roofs: Roofs, machine: Machine, works: Mapping[str, Work], timed: Sequence[Mapping[int, float]]
) -> RunState:
    """Return the state of a run that measured these calls on a machine with these roofs. works: the work of
    each call, by name. timed: each call's seconds by round, as `by_round` returns them.
    """
    state, arms = RunState(), tuple(Arm("CPU:0", "eager", variant=name) for name in works)
    scenario, point = Scenario("selftest", {}), e.Point(0)
    state.apply(
        e.RunStarted(run="selftest", scenario=scenario, arms=arms, points=(point,), budget=BUDGET["quick"],
                     machine=machine, at=roofs.at)
    )  # fmt: skip
    for arm, work in zip(arms, works.values(), strict=True):
        state.apply(e.ArmStatus(run="selftest", arm=arm.id, status="ok", device="CPU:0"))
        state.apply(e.WorkKnown(run="selftest", arm=arm.id, point=0, work=work))
    for index in range(max(map(len, timed))):
        blocks = tuple(
            e.Block(arm.id, 0, 1, rounds[index])
            for arm, rounds in zip(arms, timed, strict=True)
            if index in rounds
        )
        state.apply(e.Round(run="selftest", index=index, blocks=blocks, elapsed_s=float(index)))
    state.apply(e.RoofsKnown(run="selftest", roofs=roofs))
    return state


def _clock() -> float:
    try:
        khz = int(Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").read_text())
    except (OSError, ValueError):
        return FASTEST_CLOCK
    return max(FASTEST_CLOCK, khz * 1e3)


def link(context: Context) -> Check | None:
    """Check that copies to the first GPU do not exceed its PCIe link. Returns None without a GPU or a known
    link.
    """
    if not context.gpus.opened:
        return None
    name = "GPU:0"
    found = measure_link(context.tf, Stopwatch(sync_of(context.tf, name)), "/CPU:0", f"/{name}")
    bound = _carries(nvml.link(buses(context.gpus).get(name, "")))
    if bound is None or found.bytes_per_s is None:
        return None
    return Check(
        name="link",
        figure=found.bytes_per_s / bound,
        limit="≤ 1",
        passed=found.bytes_per_s <= bound,
        message=f"copies to {name} take {format_cost(found)}; its link carries at most {size(bound)}/s",
    )


def _carries(trained: Link | None) -> float | None:
    """Return the maximum bytes per second that both the card and the slot support.

    The current speed is not used, because an idle link lowers it.
    """
    if trained is None or trained.max_generation is None or trained.max_width is None:
        return None
    lane = LANE_BYTES_PER_S.get(trained.max_generation)
    return lane and lane * trained.max_width
