"""Provides the work of a call: declared by its workload, or counted from the ops that TensorFlow runs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from tuilab.analysis.operations import computes
from tuilab.model.arms import MODES, Arm
from tuilab.model.events import WorkKnown
from tuilab.model.ops import MATRIX
from tuilab.model.parameters import Values
from tuilab.model.roofline import Kernels, Work
from tuilab.profile.sums import PICO, Sums
from tuilab.worker.measure.bench import Bench, TimedArm
from tuilab.worker.measure.counting import BY_DATA, LESS_WORK, OPEN, Counted, Part, of_graph, uncounted
from tuilab.worker.measure.functions import own_arguments, own_results

UNKNOWN = "its work is unknown"


def declared(bench: Bench, point: int, values: Values) -> Iterator[WorkKnown]:
    """Yield the declared work of every requested arm, even if its device is missing."""
    if bench.workload.work is None:
        return
    for arm in bench.request.arms:
        try:
            work = bench.workload.work(values, arm)
        # an installed workload's own code may fail; measure its arms anyway
        except Exception as error:
            bench.log_error(arm.id, UNKNOWN, error)
            continue
        yield known(bench, arm, point, work)


def counted(bench: Bench, timed: TimedArm) -> Iterator[WorkKnown]:
    """Yield the counted work of user code, from its graph or from the ops observed in a call."""
    if bench.workload.work is not None:
        return
    trace = getattr(timed.case.function, "get_concrete_function", None)
    try:
        if trace is not None:
            found = timed.counted = of_model(bench, timed) or _traced(bench, timed)
        elif timed.counted is not None:
            found = timed.counted
        else:
            return
        work = timed.work = work_of(found, compiled=timed.arm.mode == "xla")
    except Exception as error:
        bench.log_error(timed.arm.id, UNKNOWN, error)
        # Report unknown work too; otherwise no reason could be given for a missing bound.
        yield known(bench, timed.arm, timed.point, Work(uncounted=("its graph",)))
        return
    yield known(bench, timed.arm, timed.point, work)
    yield from _with_eager_counts(bench, timed.arm, timed.point, work)


def _with_eager_counts(bench: Bench, arm: Arm, point: int, work: Work) -> Iterator[WorkKnown]:
    """Report the operation count of the eager arm for arms with data-dependent loops or branches, because
    only the eager arm counts every op that runs. If the run has no eager arm, suggest adding one.
    """
    modes = [msgspec.structs.replace(arm, mode=mode) for mode in MODES]
    told = bench.state.arms
    reported = {each.mode: told[each.id].work.get(point) for each in modes if each.id in told}
    reported[arm.mode] = work  # this arm's work has not been reported yet
    seen = reported.pop("eager", None)
    for each in modes:
        other = reported.get(each.mode)
        if other is None:
            continue
        loops = any(name.endswith(f"({BY_DATA})") for name in other.uncounted)
        branches = LESS_WORK in other.note
        if not loops and not branches:
            continue
        if seen is not None and seen.flop is not None:
            kinds = ["the loops' iterations"] * loops + ["the branches taken"] * branches
            note = (
                other.note.replace(f"; {LESS_WORK}", "")
                + f"; {' and '.join(kinds)} are counted in eager mode"
            )
            yield known(
                bench,
                each,
                point,
                msgspec.structs.replace(
                    other,
                    flop=seen.flop,
                    by_dtype=seen.by_dtype,
                    dtype=seen.dtype,
                    uncounted=seen.uncounted,
                    kernels=seen.kernels,
                    each=seen.each,
                    serial=seen.serial,
                    stays=() if each.mode == "xla" else seen.stays,
                    gpu=None if each.mode == "xla" else seen.gpu,
                    note=note,
                ),
            )
        elif loops and "eager" in set(bench.workload.declaration.modes) - {
            a.mode for a in bench.request.arms
        }:
            names = tuple(name.replace(BY_DATA, f"{BY_DATA}; {_EAGER}") for name in other.uncounted)
            yield known(bench, each, point, msgspec.structs.replace(other, uncounted=names))


LONGEST_S = 2.0
_EAGER = "also measure eager mode to count it"


def of_model(bench: Bench, timed: TimedArm) -> Counted | None:
    """Return the work of a model's graph; None for other arms. Raises the errors of counting.

    Only graph mode has layers: XLA's kernels span several layers, and eager ops carry no layer names.
    """
    if bench.workload.info is not None and timed.arm.mode == "graph" and timed.of_graph is None:
        timed.of_graph = _traced(bench, timed)
    return timed.of_graph


def _traced(bench: Bench, timed: TimedArm) -> Counted:
    """Return the work of the arm's graph, with one more call to count the work that depends on the data.

    If the run has an eager arm, that arm counts the loops (`_with_eager_counts`).
    """
    case, eager = timed.case, msgspec.structs.replace(timed.arm, mode="eager")
    concrete = case.function.get_concrete_function(*case.arguments)  # type: ignore[union-attr]
    found = of_function(concrete, case.arguments)
    unseen = {OPEN} if eager in bench.request.arms else {OPEN, BY_DATA}
    if timed.call_s > LONGEST_S or unseen.isdisjoint(part.why for part in found.parts):
        return found
    try:
        with case.scope():
            from tuilab.worker.measure.observed import of_call  # imports TensorFlow

            return of_call(concrete, case.arguments)
    except Exception:  # return the graph's count, which lists the uncounted ops
        return found


def known(bench: Bench, arm: Arm, point: int, work: Work) -> WorkKnown:
    does = next((v.does for v in bench.workload.declaration.variants if v.name == arm.variant), "")
    return WorkKnown(
        run=bench.run, arm=arm.id, point=point, work=msgspec.structs.replace(work, does=does or work.does)
    )


def of_function(concrete: Any, arguments: Iterable[Any]) -> Counted:
    """Return the work of a call of a concrete function on these tensors."""
    shapes = [tuple(t.shape) for t in own_arguments(concrete, arguments)]
    return of_graph(concrete.graph, own_results(concrete), shapes, arguments=len(shapes))


def work_of(found: Counted, *, compiled: bool = False) -> Work:
    """Return the count as a call's work. If some ops stay on the CPU, `gpu` holds the work of all other ops.

    compiled: True if XLA compiled the call, so that no TensorFlow kernel is needed.
    """
    stays = () if compiled else found.stays()
    work = msgspec.structs.replace(_work_of(found, found.parts), stays=stays)
    if not stays:
        return work
    moving = [part for part in found.parts if not part.stays]
    return msgspec.structs.replace(work, gpu=_work_of(found, moving))


def _work_of(found: Counted, parts: Sequence[Part]) -> Work:
    read, wrote = found.touched(parts)
    handed = set(found.results) - set(found.arguments) - found.state
    whole = sum(found.sizes[key] for key in found.arguments)
    needed = sum(read.get(key, 0.0) for key in set(found.arguments))
    return msgspec.structs.replace(
        arithmetic_of(parts),
        inputs=whole,
        read=needed if needed < whole else None,
        outputs=sum(wrote.get(key, 0.0) for key in handed),
        state=sum(read.get(k, 0.0) + wrote.get(k, 0.0) for k in found.state - set(found.arguments)),
        kernels=sum(part.runs for part in parts if part.kernel),
        each=_each(parts),
        serial=max(found.loops.values(), default=0.0),
        uncounted=uncounted(parts),
        note="; ".join(["counted by op and shape", *found.notes]),
    )


def arithmetic_of(parts: Sequence[Part]) -> Work:
    """Return the operations of these parts by dtype. `flop` is None if no part could be counted."""
    by_dtype: dict[str, float] = defaultdict(float)
    for part in parts:
        if part.flop:
            by_dtype[computed_as(part)] += part.flop
    return Work(
        flop=sum(by_dtype.values()) if by_dtype or all(part.flop is not None for part in parts) else None,
        by_dtype=dict(by_dtype) if len(by_dtype) > 1 else {},
        dtype=max(by_dtype, key=by_dtype.__getitem__, default="float32"),
    )


MOST_ROWS = 500
"""Maximum number of rows in `Work.each`. For a call with more kinds of kernels, the rows are omitted."""


def _each(parts: Sequence[Part]) -> tuple[Kernels, ...]:
    found: dict[tuple[str, float, float], float] = defaultdict(float)
    for part in parts:
        if part.kernel and part.runs:
            moved = sum(part.reads.values()) + sum(part.writes.values())
            found[computed_as(part), (part.flop or 0.0) / part.runs, moved / part.runs] += part.runs
    if len(found) > MOST_ROWS:
        return ()
    return tuple(Kernels(*kind, runs) for kind, runs in found.items())


def with_stays_timed(work: Work, found: Sums) -> Work:
    """Return the work with the seconds that its ops without a GPU kernel took in the profiled calls.

    Ops of a few µs do not appear in a profile, so they count as zero.
    """
    calls = max(1, len(found.windows))
    spent: dict[str, float] = defaultdict(float)
    for key, picoseconds in found.ops.items():
        spent[computes(key.op)] += picoseconds * PICO / calls
    stays = tuple(msgspec.structs.replace(stay, seconds=spent.get(stay.op, 0.0)) for stay in work.stays)
    return msgspec.structs.replace(work, stays=stays)


def computed_as(part: Part) -> str:
    """Return the dtype in which the fastest hardware units can compute the op: TF32 for float32 products and
    convolutions, else the op's own dtype.
    """
    if part.dtype in ("float32", "complex64") and (part.op in MATRIX or "Conv" in part.op):
        return "tf32"
    return part.dtype
