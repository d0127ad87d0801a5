"""Computes the bytes on each edge of a graph from the shapes of the call's arguments."""

import math
from collections.abc import Sequence
from typing import Any, Optional

from tuilab.model.ops import ARGUMENTS, RESULTS

Shapes = Sequence[Optional[tuple[int, ...]]]


class Sizes:
    def __init__(self, graph: Any, shapes: Shapes) -> None:
        self._source, self._shapes = graph, shapes
        self._graph: Any = None

    def of(self, node: str, output: int = 0) -> int | None:
        """Return the bytes of one output; None if its shape depends on the data or the node is unknown."""
        if self._graph is None:
            self._graph = _imported(self._source, self._shapes)
        try:
            tensor = self._graph.get_tensor_by_name(f"{node}:{output}")
        except (KeyError, ValueError):
            return None
        elements = tensor.shape.num_elements()
        size = tensor.dtype.size if tensor.dtype.is_numpy_compatible else None
        return None if elements is None or not size else int(elements) * int(size)


def _imported(source: Any, shapes: Shapes) -> Any:
    """Return the graph, with its arguments and variable reads replaced by placeholders of the same shapes.

    Returns an empty graph if it cannot be imported.
    """
    import tensorflow as tf

    definition = tf.compat.v1.GraphDef()
    definition.versions.CopyFrom(source.versions)
    definition.library.CopyFrom(source.library)
    arguments = {n.name: _shape(n.attr["index"].i, shapes) for n in source.node if n.op in ARGUMENTS}
    for node in source.node:
        if node.op in RESULTS:
            continue
        copied = definition.node.add()
        copied.CopyFrom(node)
        copied.device = ""
        copied.attr.pop("_class", None)
        if node.op in ARGUMENTS:
            _as_placeholder(copied, node.attr["T"].type, arguments[node.name])
        elif node.op == "ReadVariableOp" and node.input and arguments.get(node.input[0]) is not None:
            _as_placeholder(copied, node.attr["dtype"].type, arguments[node.input[0]])
    graph = tf.Graph()
    try:
        with graph.as_default():
            tf.graph_util.import_graph_def(definition, name="")
    except (ValueError, tf.errors.OpError):
        # Some op of this graph can be created only by the runtime, so report unknown sizes rather than wrong
        # ones.
        return tf.Graph()
    return graph


def _shape(index: int, shapes: Shapes) -> tuple[int, ...] | None:
    return shapes[index] if index < len(shapes) else None


def _as_placeholder(node: Any, dtype: int, shape: tuple[int, ...] | None) -> None:
    import tensorflow as tf

    node.op = "Placeholder"
    node.ClearField("attr")
    node.ClearField("input")
    node.attr["dtype"].type = dtype
    node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())


def constant_bytes(node: Any) -> int:
    from tensorflow.python.framework import dtypes

    tensor = node.attr["value"].tensor
    elements: int = math.prod(dim.size for dim in tensor.tensor_shape.dim)
    return elements * int(dtypes.as_dtype(tensor.dtype).size)
