"""Finds the ops of functions that are passed to tf.data, and where tf.data runs them."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuilab.model.arms import family
from tuilab.model.ops import CALLS, HIDDEN
from tuilab.worker.placement.graphs import flatten, types_of
from tuilab.worker.placement.kernels import HOST
from tuilab.worker.placement.names import short
from tuilab.worker.placement.reasons import Placed, Surroundings
from tuilab.worker.placement.registry import known

Body = Mapping[str, Any]


def functions(dataset: Any) -> Iterator[str]:
    for source in dataset._inputs():
        yield from functions(source)
    for wrapped in dataset._functions():
        name = wrapped.function.name
        yield name.decode() if isinstance(name, bytes) else str(name)


def body(name: str) -> Body:
    """Return the nodes of a registered function by name, with calls inlined; {} if it is unknown."""
    from tensorflow.python.eager import context as eager

    ctx = eager.context()

    def library(name: str) -> Any:
        return ctx.get_function_def(name) if ctx.has_function(name) else None

    definition = library(name)
    if definition is None:
        return {}
    return {path: written.node for path, written in flatten(definition.node_def, library).items()}


def placed(nodes: Body, around: Surroundings) -> Iterator[tuple[str, Placed]]:
    """Yield the name and placement of each op of a function that is passed to tf.data.

    tf.data exposes no graph, so the placement follows tf.data's rule: ops run on the host, regardless of any
    scope around the dataset. A scope inside the function takes effect if its device has a kernel.
    """
    for path, node in nodes.items():
        if node.op not in HIDDEN and node.op not in CALLS:
            yield path, _placed(node, around)


def _placed(node: Any, around: Surroundings) -> Placed:
    types, requested = types_of(node), short(node.device)
    obeyed = requested in around.gpus and known(node.op).on_gpu(types) is not None
    obeyed |= family(requested) == "CPU"
    return Placed(
        op=node.op,
        types=types,
        requested=requested,
        observed=requested if obeyed else HOST,
        pipeline=True,
    )
