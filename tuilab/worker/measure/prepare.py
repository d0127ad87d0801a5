"""From an arm to a cell: built, called twice, and known to compute where it should."""

from tuilab.model.arms import Arm, family
from tuilab.model.events import ArmStatus, FirstCalls, Placement
from tuilab.model.parameters import Values
from tuilab.worker.build import ArmBuild
from tuilab.worker.measure import devices
from tuilab.worker.measure.bench import Bench
from tuilab.worker.measure.timed_arm import TimedArm
from tuilab.worker.placement import observe
from tuilab.workloads.base import Unavailable

HLO_FIRST_CALL_S = 2.0
"""Looking into an XLA program compiles it once more: not done where the first call took longer."""


def prepare(bench: Bench, arm: Arm, values: Values, point: int) -> TimedArm:
    """Build the arm at these values, time its first and second call, and see which device computes.

    Raises Unavailable with the reason where it computes elsewhere than asked, and whatever the workload
    raises. The case is closed then.
    """
    bench.progress("building", arm=arm.id)
    build = ArmBuild(bench.context, bench.run, arm, values, point=point, cold=bench.request.cold)
    cell = TimedArm(arm, point, bench.workload.build(build))
    try:
        _prepare(bench, cell)
    except BaseException:
        cell.case.close()
        raise
    return cell


def _prepare(bench: Bench, cell: TimedArm) -> None:
    first_s, second_s = _first_calls(bench, cell)
    reason = _observe(bench, cell, first_s)
    wrong = devices.mismatch(cell.arm, cell.device, reason)
    if wrong:
        raise Unavailable(wrong)
    where = [cell.point] if bench.request.sweep else []
    for point in where if bench.ran(cell.arm.id) else [None, *where]:
        bench.reporter.say(
            ArmStatus(run=bench.run, arm=cell.arm.id, point=point, status="ok", device=cell.device)
        )
    bench.reporter.say(
        FirstCalls(run=bench.run, arm=cell.arm.id, point=cell.point, first_s=first_s, second_s=second_s)
    )


def _first_calls(bench: Bench, cell: TimedArm) -> tuple[float, float]:
    case = cell.case
    bench.progress("first call", arm=cell.arm.id)
    bench.reporter.settle()
    with case.scope():
        first_s = bench.stopwatch.time(case.call)
        bench.check()
        second_s = cell.call_s = bench.stopwatch.time(case.call)
    return first_s, second_s


def _observe(bench: Bench, cell: TimedArm, first_s: float) -> str:
    """Set the cell's observed device, and say where its ops ran. Returns why it is not the requested one."""
    seen = reason = None
    if bench.request.placement:
        seen, reason = _watch(bench, cell, first_s)
    if seen is None:
        with cell.case.scope():
            outputs = (cell.case.compute or cell.case.call)()
        seen = devices.computed(bench.context.tf, outputs)
    cell.device = devices.decide(cell.arm, seen, cell.case)
    return reason or ""


def _watch(bench: Bench, cell: TimedArm, first_s: float) -> tuple[str | None, str]:
    """The device seen to compute ("" for none) with the reason; null where watching itself went wrong."""
    bench.progress("looking where it runs", arm=cell.arm.id)
    try:
        found = observe(
            bench.context, cell.case, cell.arm, hlo=first_s <= HLO_FIRST_CALL_S and not bench.rounds
        )
    except Exception as error:
        # The calls before went well, so the figures can be had without the log.
        bench.context.log(f"{cell.arm.id}: no placement: {type(error).__name__}: {error}", bench.run)
        return None, ""
    cell.ops = found.ops
    elsewhere = [n for n in found.nodes if n.kind == "op" and family(n.device) == "CPU"]
    cell.host_ops = sum(n.count for n in elsewhere) if family(cell.arm.device) != "CPU" else 0
    bench.reporter.say(Placement(run=bench.run, arm=cell.arm.id, nodes=found.nodes, point=cell.point))
    return found.device or "", found.reason
