"""Measures a run from start to end."""

import math
import random
import time
from collections.abc import Sequence
from datetime import datetime, timezone

import msgspec

from tuilab.analysis.roofline import raised, with_starts
from tuilab.analysis.statistics import estimate
from tuilab.model.arms import Arm
from tuilab.model.events import Ending, Finished, ModelOpened, Point, RoofsKnown, RunStarted
from tuilab.model.found import Found
from tuilab.model.points import grid
from tuilab.model.requests import Measure, Request
from tuilab.model.roofline import BUSY, ROOFS_S, Roofs
from tuilab.model.run import RunState
from tuilab.model.scenario import BLOCK_S, Scenario
from tuilab.worker.build import load
from tuilab.worker.context import Cancelled, Context
from tuilab.worker.measure.bench import Bench, Reporter, is_short
from tuilab.worker.measure.caveats import kept_memory, of_clock, of_gpus, of_run
from tuilab.worker.measure.fitting import by_shapes, by_trying
from tuilab.worker.measure.interference import Canary
from tuilab.worker.measure.prepare import missing_device, unavailable
from tuilab.worker.measure.stopwatch import Stopwatch, sync_of
from tuilab.worker.measure.sweep import measure_points
from tuilab.worker.roofs import measure_roofs, roofed
from tuilab.worker.starts import Starts

QUIET = BUSY / 2
"""Roofs (hardware limits) that were measured on a busy machine are measured again when other processes use
less than this share of the processors.
"""


def measure(context: Context, request: Request) -> None:
    """Handle a Measure request and send its results as events. Raises InputError."""
    assert isinstance(request, Measure)
    bench = _bench(context, request)
    bench.reporter.holding = request.waits
    begun, begun_wall = time.monotonic(), time.time()
    points = request.points or grid(request.sweep)
    bench.reporter.say(_start_event(bench, points))
    if bench.workload.info is not None and request.worker == 0:
        bench.reporter.say(ModelOpened(run=request.id, model=by_shapes(bench, bench.workload.info)))
    known = [r for r in request.roofs or () if r.machine == context.machine.key]
    bench.reporter.say(*(RoofsKnown(run=request.id, roofs=each) for each in known))
    bench.flag(of_gpus(bench))
    status: Ending = "ok"
    due = False
    slowed: list[Found] = []
    try:
        try:
            measure_points(bench, points, _present(bench), limit_s(request))
        finally:
            # Collect the GPUs' caveats before measuring the roofs. That measurement may bring a GPU to its
            # power limit, which does not affect the arms' figures.
            slowed = bench.gpus.flags()
        if bench.state.model is not None and request.worker == 0:
            bench.reporter.say(ModelOpened(run=request.id, model=by_trying(bench, bench.state.model)))
        due = request.roofs is not None and request.worker == 0 and _wanting(bench, known)
        if due and not request.roofs_later:
            bench.progress("measuring this machine's limits (once)")
            roofs = measure_roofs(context, ROOFS_S, bench.check)
            bench.reporter.say(RoofsKnown(run=request.id, roofs=roofs))
    except Cancelled:
        status = "cancelled"
    if bench.starts is not None:
        context.starts = bench.starts.found
        own = bench.state.roofs.get(context.machine.key)
        if own is not None and (shorter := with_starts(own, context.starts)) != own:
            bench.reporter.say(RoofsKnown(run=request.id, roofs=shorter))
    bench.reporter.holding = False
    bench.flag(of_run(bench.pressures, bench.rounds, bench.disturbed))
    bench.flag(slowed)
    bench.flag(kept_memory(bench))
    bench.flag(of_clock(time.time() - begun_wall, time.monotonic() - begun))
    bench.reporter.say(
        Finished(
            run=request.id,
            status=status,
            message="stopped by request" if status == "cancelled" else "",
            elapsed_s=time.monotonic() - begun,
            reached=reached(bench.state),
            roofs_due=due and request.roofs_later,
        )
    )


def _wanting(bench: Bench, known: Sequence[Roofs]) -> bool:
    """Return True if roofs (hardware limits) must be measured: a device has none, or the machine was busy
    when its roofs were measured and is quiet now.

    If an arm was faster than a roof allows, the roofs of a slightly busy machine (load above `QUIET`) are
    measured again, too.
    """
    devices = set(roofed(bench.context))
    if not any(devices <= roofs.devices.keys() for roofs in known):
        return True
    wall_s = sum(seen.wall_s * seen.cores for seen in bench.pressures)
    others_s = sum(seen.others_s if seen.others_s is not None else math.inf for seen in bench.pressures)
    beaten = any((above := raised(bench.state, arm, 0)) and above.by for arm in bench.state.arms.values())
    least = QUIET if beaten else BUSY
    return all(roofs.others > least for roofs in known) and wall_s > 0 and others_s <= QUIET * wall_s


def limit_s(request: Measure) -> float:
    return request.budget.for_process(request.worker).limit_s


def reached(state: RunState) -> float | None:
    """Return the largest relative half-width of the arms' 95% intervals; None if no arm has an interval."""
    known = [estimate(cell.samples) for arm in state.arms.values() for cell in arm.cells.values()]
    halves = [e.relative_half_width for e in known if e and e.relative_half_width is not None]
    return max(halves, default=None)


def _start_event(bench: Bench, points: tuple[Point, ...]) -> RunStarted:
    request = bench.request
    return RunStarted(
        run=request.id,
        scenario=msgspec.structs.replace(request.scenario, parameters=bench.values),
        arms=request.arms,
        points=points,
        budget=request.budget,
        machine=bench.context.machine,
        at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        preset=request.preset,
        apart=request.apart,
        sweep=request.sweep,
        worker=request.worker,
        zygote=request.zygote,
        code=_code(request.scenario),
    )


def _code(scenario: Scenario) -> dict[str, str]:
    if not scenario.file:
        return {}
    from tuilab.worker.user import versions

    return versions(scenario)


def _bench(context: Context, request: Measure) -> Bench:
    workload, scenario = load(request.scenario, context.telling(request.id))
    declaration = workload.declaration
    tf, block_s = context.tf, BLOCK_S["quick" if is_short(request) else request.budget.name]
    stopwatch = Stopwatch(tf.test.experimental.sync_devices, block_s=block_s)
    here = {d.name for d in context.machine.devices} & {arm.device for arm in request.arms}
    alone = not declaration.replicas and len(context.machine.devices) > 1
    stopwatches = {d: Stopwatch(sync_of(tf, d), block_s=block_s) for d in sorted(here) if alone}
    modes = list(dict.fromkeys(arm.mode for arm in request.arms))
    return Bench(
        context=context,
        request=request,
        workload=workload,
        values=scenario.parameters,
        stopwatch=stopwatch,
        stopwatches=stopwatches,
        reporter=Reporter(context, pace=request.pace),
        random=random.Random(request.seed),
        canary=Canary(stopwatch.now),
        starts=Starts(tf, "CPU:0", modes) if request.roofs is not None and request.worker == 0 else None,
    )


def _present(bench: Bench) -> list[Arm]:
    present = []
    for arm in bench.request.arms:
        reason = missing_device(bench.context.machine, arm)
        if reason:
            bench.reporter.say(unavailable(bench.run, arm.id, reason))
        else:
            present.append(arm)
    return present
