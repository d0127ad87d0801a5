"""Counts the work of a call whose shapes or loops depend on its data, by making one more call.

That call returns the shapes that the graph leaves open and the initial values of the loops. The loops then
run once more, step by step, to count their iterations.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import handle_data_util

from tuilab.model.ops import LOOPS
from tuilab.worker.measure.counting import Counted, of_graph
from tuilab.worker.measure.functions import HANDLES, called, own_arguments, own_results
from tuilab.worker.measure.optimised import ops_needed

MOST_S, MOST_TRIPS = 2.0, 20_000
"""Limits for running a call's loops step by step, in seconds and iterations. The iterations of a loop that
exceeds a limit are not counted.
"""
NOTE = "shapes and iterations as in one call"


def of_call(concrete: Any, arguments: Sequence[Any]) -> Counted:
    """Run the concrete function on these tensors and return the work of the call.

    Raises the errors of the call. Does not count the iterations of a loop inside another loop or function.
    """
    given = own_arguments(concrete, arguments)
    inputs, names = [*given, *concrete.captured_inputs], [t.name for t in own_results(concrete)]
    seen: list[tuple[str, list[str]]] = []
    shown: list[str] = []

    def also(outputs: Sequence[Any]) -> list[Any]:
        graph = tf.compat.v1.get_default_graph()
        needed = ops_needed(graph, outputs)
        ran = [op for op in graph.get_operations() if op.name in needed]
        loops = [op for op in ran if op.type in LOOPS]
        seen.extend((op.name, [t.name for t in op.inputs]) for op in loops)
        shown.extend(t.name for op in ran for t in op.outputs if _open(t))
        sizes = [tf.shape(graph.get_tensor_by_name(name), out_type=tf.int64) for name in shown]
        return [*sizes, *(tf.identity(t) if t.dtype != tf.resource else t for op in loops for t in op.inputs)]

    run, outputs = _imported(concrete.graph, names, inputs, also)
    found = run(*inputs)
    graph = run.graph
    for name, sizes in zip(shown, found, strict=False):
        graph.get_tensor_by_name(name).set_shape(sizes.numpy())
    at, ends = len(shown), time.monotonic() + MOST_S
    trips = {}
    for name, operands in seen:
        values, at = found[at : at + len(operands)], at + len(operands)
        many = _trips(graph, graph.get_operation_by_name(name), values, ends)
        if many is not None:
            trips[name] = many
    counted = of_graph(graph, outputs, arguments=len(given), trips=trips)
    counted.notes.append(NOTE)
    return counted


def _open(tensor: Any) -> bool:
    return tensor.dtype.name not in HANDLES and not tensor.shape.is_fully_defined()


def _imported(
    graph: Any, names: Sequence[str], inputs: Sequence[Any], also: Callable[[Sequence[Any]], list[Any]]
) -> tuple[Any, list[Any]]:
    """Return a concrete function that runs a copy of the graph on inputs like `inputs`, and the copies of the
    tensors in `names`.

    also: receives these copies in the new graph, and returns the tensors that the concrete function must
    return.
    """
    definition, kept = graph.as_graph_def(), list[Any]()

    def copied(*given: Any) -> list[Any]:
        for old, new in zip(graph.inputs, given, strict=True):
            if old.dtype.name in HANDLES:
                handle_data_util.copy_handle_data(old, new)
        sources = {old.name: new for old, new in zip(graph.inputs, given, strict=True)}
        kept[:] = tf.graph_util.import_graph_def(
            definition, input_map=sources, return_elements=list(names), name=""
        )
        return also(kept)

    specs = [tf.TensorSpec(t.shape, t.dtype, name=f"given_to_copy_{index}") for index, t in enumerate(inputs)]
    run = tf.function(copied, autograph=False).get_concrete_function(*specs)
    return run, kept


def _trips(graph: Any, loop: Any, values: Sequence[Any], ends: float) -> int | None:
    """Run a loop from its initial values and return its number of iterations; None beyond a limit, or if the
    loop cannot run by itself.
    """

    def part(name: str) -> Any:
        inner = called(graph, loop.get_attr(name).name, loop.inputs)
        return _imported(inner, [t.name for t in inner.outputs], inner.inputs, list)[0]

    try:
        condition, body = part("cond"), part("body")
        for trips in range(MOST_TRIPS):
            if not bool(condition(*values)[0]):
                return trips
            if time.monotonic() > ends:
                return None
            values = body(*values)
    except Exception:  # an unknown number of iterations is reported as such
        return None
    return None
