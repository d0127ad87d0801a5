"""Prepares an arm for timing: checks the memory, builds the arm, calls it twice, and finds its device."""

import re
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import psutil

from tuilab.model.arms import Arm, family
from tuilab.model.errors import InputError
from tuilab.model.events import ArmStatus, Fact, FirstCalls, Node, Placement, ops_of
from tuilab.model.found import Found
from tuilab.model.machine import Machine
from tuilab.model.parameters import Values
from tuilab.model.quantity import size
from tuilab.model.sanitize import sanitize_line
from tuilab.worker.build import ArmBuild
from tuilab.worker.measure.bench import Bench, TimedArm
from tuilab.worker.measure.layers import Layers
from tuilab.worker.measure.validity import OwnCode, Watch, empty, of_graph, refusal, watched
from tuilab.worker.measure.work import of_model
from tuilab.worker.placement.observe import observe
from tuilab.worker.placement.summary import Observation
from tuilab.worker.profile.record import executed
from tuilab.worker.tracebacks import cause, text_of, user_traceback
from tuilab.workloads.base import Case, Unavailable, Workload
from tuilab.workloads.parts.precision import TF32_FROM

MEMORY_SHARE = 0.9
"""Share of the free memory that arms may use. The rest is for the system and for underestimated workloads."""

_GROUP = Path("/sys/fs/cgroup")
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def free_memory() -> int:
    """Return the bytes that this process may still allocate, limited by the system and by its control
    group.
    """
    left = psutil.virtual_memory().available
    for limit, used in _LIMITS:
        try:
            left = min(left, int((_GROUP / limit).read_text()) - int((_GROUP / used).read_text()))
        except (OSError, ValueError):
            continue
    return max(0, left)


def refuse(workload: Workload, values: Values, arm: Arm) -> None:
    """Raise Unavailable if the arm needs more memory than is free, according to its workload."""
    needed = workload.needs(values, arm)
    available = free_memory()
    if needed > MEMORY_SHARE * available:
        raise Unavailable(f"needs about {size(needed)} of memory; {size(available)} is free")


def tight(workload: Workload, values: Values, arms: Sequence[Arm]) -> str:
    """Return a note if the arms together need more memory than is free; "" otherwise.

    All arms stay in memory while they take turns, so the last arm may not fit. The sum is an upper limit,
    because arms may share data.
    """
    needed = sum(workload.needs(values, arm) for arm in arms)
    available = free_memory()
    if len(arms) < 2 or needed <= MEMORY_SHARE * available:
        return ""
    return f"all {len(arms)} arms need up to {size(needed)} of memory together; {size(available)} is free"


def missing_device(machine: Machine, arm: Arm) -> str:
    names = [d.name for d in machine.devices]
    if arm.device in names:
        return ""
    kind = family(arm.device)
    if kind == "GPU" and not machine.gpus:
        return f"no GPU is visible to TensorFlow: {machine.no_gpu}" if machine.no_gpu else "no GPU is visible"
    same = [name for name in names if family(name) == kind]
    listed = ", ".join(same) if same else "none"
    return f"this machine has no {arm.device}; its {kind} devices: {listed}"


def mismatch(arm: Arm, observed: str, why: str = "") -> str:
    if observed == arm.device:
        return ""
    if not observed:
        return f"{arm.device} was requested, but no op ran there, so there is no figure"
    return f"{arm.device} was requested, but the work ran on {observed}" + (f": {why}" if why else "")


def computed(tf: Any, outputs: Any) -> str:
    """Return the device (`GPU:0`) of the largest output, which presumably computed; "" if unknown."""
    tensors = [t for t in tf.nest.flatten(outputs) if getattr(t, "backing_device", None)]
    if not tensors:
        return ""
    largest = max(tensors, key=lambda t: int(t.shape.num_elements() or 0) * int(t.dtype.size or 0))
    return str(largest.backing_device).rpartition("/device:")[2]


def decide_device(arm: Arm, seen: str, case: Case) -> str:
    """Return the device to report: the device on which ops ran, or else the device that the workload names.

    For copies, returns the workload's device, because a copy from the GPU to the host runs no op on the GPU.
    """
    if case.copies:
        return case.device
    return seen or case.device or ("CPU:0" if arm.device == "CPU:0" else "")


REASON = 500


def failed(run: str, arm: str, error: BaseException, point: int | None = None) -> ArmStatus:
    name = type(error).__name__
    said = cause(error)
    named = said if isinstance(error, InputError) else f"{name}: {said}" if said else name
    return ArmStatus(
        run=run,
        arm=arm,
        point=point,
        status="failed",
        reason=named,
        detail=user_traceback(error),
        error=tuple(c.__name__ for c in type(error).__mro__ if c is not object),
    )


_NO_KERNEL = re.compile(r"Detected unsupported operations .*? on XLA_\S+: (\w+) \(No registered", re.DOTALL)
OTHERS_RUN_IT = "eager and graph mode run it"
_NOT_CONSTANT = re.compile(r"with op (\w+) must be a compile-time constant")


def not_compilable(error: BaseException) -> str:
    """Return why XLA cannot compile the function, according to its error; "" for any other error."""
    if match := _NO_KERNEL.search(text_of(error)):
        return f"XLA cannot compile {match[1]}; {OTHERS_RUN_IT}"
    if match := _NOT_CONSTANT.search(text_of(error)):
        return f"XLA cannot compile {match[1]} with a size that depends on the data; {OTHERS_RUN_IT}"
    return ""


def unavailable(run: str, arm: str, reason: str, point: int | None = None) -> ArmStatus:
    return ArmStatus(
        run=run, arm=arm, point=point, status="unavailable", reason=sanitize_line(reason, REASON)
    )


HLO_FIRST_CALL_S = 2.0
"""Maximum seconds of an arm's first call for its XLA programs to be inspected, because XLA compiles each
inspected program again.
"""


def prepare(bench: Bench, arm: Arm, values: Values, point: int) -> TimedArm:
    """Build the arm at these values, time its first and second call, and observe which device computes.

    Raises Unavailable if a device other than the requested one computes; passes on any error of the workload.
    Closes the case before it raises.
    """
    bench.progress("building", arm=arm.id)
    request = bench.request
    build = ArmBuild(
        bench.context, bench.run, arm, values, point=point, cold=request.cold, observing=request.placement
    )
    case = bench.workload.build(build)
    cell = TimedArm(arm, point, case, calls=case.least_calls)
    try:
        _prepare(bench, cell)
    except BaseException:
        cell.case.close()
        raise
    return cell


def _prepare(bench: Bench, cell: TimedArm) -> None:
    own = OwnCode(Watch()) if bench.request.scenario.file else None
    first_s, second_s, found = _first_calls(bench, cell, own)
    placement = _observe(bench, cell, first_s)
    wrong = mismatch(cell.arm, cell.device, placement.reason)
    if wrong:
        raise Unavailable(wrong)
    _tell_tf32(bench, cell)
    where = [cell.point] if bench.request.sweep else []
    for point in where if bench.ran(cell.arm.id) else [None, *where]:
        bench.reporter.say(
            ArmStatus(run=bench.run, arm=cell.arm.id, point=point, status="ok", device=cell.device)
        )
    bench.reporter.say(
        FirstCalls(run=bench.run, arm=cell.arm.id, point=cell.point, first_s=first_s, second_s=second_s)
    )
    _scrutinise(bench, cell, placement, own, found)


def _scrutinise(
    bench: Bench, cell: TimedArm, placement: Observation, own: OwnCode | None, found: list[Found]
) -> None:
    """Report a caveat for calls that do not compute the requested work, or that differ from each other.

    found: further caveats to report.
    """
    try:
        if own is not None:
            bench.progress("checking the calls", arm=cell.arm.id)
            with cell.case.scope():
                own.call_again(bench.context.tf, cell.case)
            cell.counted = own.counted
            ops = cell.ops if bench.request.placement else None
            found += own.findings(bench.context.tf, ops, placement.nodes, cell.arm.mode)
        if bench.request.placement:
            sync = bench.stopwatch_of(cell).sync
            ran = partial(executed, bench.context.tf, cell.case, sync)
            found += of_graph(cell.case, placement.nodes, cell.arm.mode, placement.arithmetic, ran)
    except Exception as error:
        bench.log_error(cell.arm.id, "its calls could not be checked", error)
    bench.flag(found, cell.arm.id, cell.point if bench.request.sweep else None)


def _first_calls(bench: Bench, cell: TimedArm, own: OwnCode | None) -> tuple[float, float, list[Found]]:
    """Return the seconds of the first two calls, and the caveats about their result."""
    case, stopwatch, found = cell.case, bench.stopwatch_of(cell), list[Found]()

    def first() -> object:
        if own is not None and cell.arm.mode == "xla":
            _without_strings(case)
        result = case.call()
        found.extend(empty(bench.context.tf, result))
        return result

    bench.progress("first call", arm=cell.arm.id)
    bench.reporter.settle()
    with case.scope():
        with watched(bench.context.tf) if own is not None else nullcontext() as seen:
            try:
                first_s = stopwatch.time(first)
            except Exception:
                if seen is not None and seen.looped:
                    raise Unavailable(refusal(seen.looped)) from None
                raise
        if own is not None and seen is not None:
            own.first = seen
        bench.check()
        second_s = cell.call_s = stopwatch.time(case.call)
    return first_s, second_s, found


def _without_strings(case: Case) -> None:
    """Raise Unavailable if the function takes or holds strings, which XLA does not support.

    TensorFlow 2.21 keeps the rejected call and aborts the process when it compares a later call with the
    rejected call (`Check failed: DataTypeCanUseMemcpy`). Traces the function, as its first call would.
    """
    function = case.function
    if function is None or not hasattr(function, "get_concrete_function"):
        return
    if any(t.dtype.name == "string" for t in function.get_concrete_function(*case.arguments).inputs):
        raise Unavailable("XLA cannot compile strings; eager and graph mode run them")


def _tell_tf32(bench: Bench, cell: TimedArm) -> None:
    tf, device = bench.context.tf, cell.device
    capability = next((d.compute_capability for d in bench.context.machine.gpus if d.name == device), "")
    if not capability or float(capability.partition(".")[0]) < TF32_FROM[0]:
        return
    if cell.arm.dtype not in ("", "float32", "tf32"):
        return
    with cell.case.scope():
        on = bool(tf.config.experimental.tensor_float_32_execution_enabled())
    how = "as TF32, with 10 bits of mantissa" if on else "in full precision, without TF32"
    text = f"float32 products and convolutions were computed {how}"
    bench.reporter.say(
        Fact(run=bench.run, name="tf32", value=on, text=text, arm=cell.arm.id, point=cell.point)
    )


def _observe(bench: Bench, cell: TimedArm, first_s: float) -> Observation:
    """Record the observed device, and report where the ops ran. Without a placement, only the device of the
    results is known.
    """
    found = _watch(bench, cell, first_s) if bench.request.placement else None
    if found is None:
        with cell.case.scope():
            outputs = (cell.case.compute or cell.case.call)()
        found = Observation(nodes=(), device=computed(bench.context.tf, outputs))
    cell.device = decide_device(cell.arm, found.device or "", cell.case)
    return found


def _watch(bench: Bench, cell: TimedArm, first_s: float) -> Observation | None:
    bench.progress("recording the placement", arm=cell.arm.id)
    try:
        found = observe(
            bench.context, cell.case, cell.arm, hlo=first_s <= HLO_FIRST_CALL_S and not bench.rounds
        )
    except Exception as error:
        # The earlier calls succeeded, so time the arm even without its placement.
        bench.log_error(cell.arm.id, "its placement could not be observed", error)
        return None
    nodes = _by_layer(bench, cell, found.nodes)
    cell.ops = found.ops
    host = [node for node in ops_of(found.nodes) if node.on_host]
    cell.host_ops = sum(node.count for node in host) if family(cell.arm.device) != "CPU" else 0
    bench.reporter.say(Placement(run=bench.run, arm=cell.arm.id, nodes=nodes, point=cell.point))
    return found


def _by_layer(bench: Bench, cell: TimedArm, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    try:
        counted = of_model(bench, cell)
    except Exception:  # the error is reported when the arm's work is counted
        counted = None
    if counted is None:
        return nodes
    whose = Layers(bench.workload.layers, counted.parts)
    known = {whose.of(part.name, part.op)[0] for part in counted.parts}
    named = ((node, whose.ran(node.name, node.op)[0]) for node in nodes)
    return tuple(msgspec.structs.replace(n, layer=name) if name in known else n for n, name in named)
