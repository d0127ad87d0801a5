"""What a call has to do: as its workload declares it, or as TensorFlow counts it in the graph it traced."""

from collections.abc import Iterator
from typing import Any

from tuilab.model.events import WorkKnown
from tuilab.model.parameters import Values
from tuilab.model.roofline import Work
from tuilab.worker.measure.bench import Bench, TimedArm
from tuilab.workloads.base import Case

# Name, move or shape values; no operation of arithmetic in them.
NO_ARITHMETIC = frozenset(
    ("Placeholder", "Const", "Identity", "IdentityN", "NoOp", "ReadVariableOp", "Reshape", "Shape", "Cast")
) | frozenset(("StridedSlice", "Slice", "Pack", "ConcatV2", "ExpandDims", "Squeeze", "Transpose", "Fill"))


def declared(bench: Bench, point: int, values: Values) -> Iterator[WorkKnown]:
    """Of every arm that was asked for, whether or not its device is here; nothing for a person's own code."""
    if bench.workload.work is None:
        return
    for arm in bench.request.arms:
        try:
            work = bench.workload.work(values, arm)
        except Exception as error:  # an installed workload's own code; its arms are measured all the same
            bench.context.log(f"{arm.id}: its work is not known: {type(error).__name__}: {error}", bench.run)
            continue
        yield WorkKnown(run=bench.run, arm=arm.id, point=point, work=work)


def counted(bench: Bench, timed: TimedArm) -> Iterator[WorkKnown]:
    """Of an arm of a person's own code that is a graph: what TensorFlow's statistics of its ops add up to."""
    trace = getattr(timed.case.function, "get_concrete_function", None)
    if bench.workload.work is not None or trace is None:
        return
    try:
        work = of_graph(timed.case, trace(*timed.case.arguments))
    except Exception as error:
        bench.context.log(f"{timed.arm.id}: its work is not known: {error}", bench.run)
        return
    yield WorkKnown(run=bench.run, arm=timed.arm.id, point=timed.point, work=work)


def of_graph(case: Case, traced: Any) -> Work:
    """The registered float operations of each op, and the bytes of arguments, results and variables.

    At least: ops without statistics and the bodies of loops and branches count as nothing, and are named.
    """
    from tensorflow.python.framework import ops  # the statistics have no public way to them

    flop, silent, known = 0.0, set(), False
    for node in traced.graph.get_operations():
        found = ops.get_stats_for_node_def(traced.graph, node.node_def, "flops").value
        if found is not None:
            flop, known = flop + float(found), True
        elif node.type not in NO_ARITHMETIC and not node.type.startswith("_"):
            silent.add(node.type)
    inputs = [t for t in case.arguments if hasattr(t, "dtype")]
    floats = [t.dtype.name for t in inputs if t.dtype.is_floating or t.dtype.is_complex]
    dtype = floats[0] if floats else "float32"
    outputs = [t for t in traced.outputs if t.dtype.size and t.shape.is_fully_defined()]
    return Work(
        flop=flop if known else None,
        inputs=float(sum(_bytes(t) for t in inputs)),
        outputs=float(sum(_bytes(t) for t in outputs)),
        state=float(sum(_bytes(v) for v in traced.variables if v.shape.is_fully_defined())),
        # Nothing keeps a person's float32 from being multiplied as TF32.
        dtype="tf32" if dtype == "float32" else dtype,
        note="as TensorFlow counts its ops"
        + (f"; not counted: {', '.join(sorted(silent)[:4])}" if silent else ""),
    )


def _bytes(tensor: Any) -> int:
    return int(tensor.shape.num_elements() or 0) * int(tensor.dtype.size or 0)
