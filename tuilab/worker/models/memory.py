"""Estimates the memory of a model's call from shapes alone."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Optional

from tuilab.model.ops import ALIASES, CALLS, JOINS_PRODUCT, LOOPS, MATRIX, PRODUCTS, names
from tuilab.worker.measure.functions import called
from tuilab.worker.models.inputs import BATCH, Spec

_IN_PLACE = JOINS_PRODUCT - {"LeakyRelu"}  # whose gradient needs its input
_OVERWRITTEN = PRODUCTS | MATRIX | names("BiasAdd Add AddV2")

EAGER_TRAINING = 1.5
"""Memory of the tensors of an eager training step, relative to a graph, which overwrites and fuses more of
them: 1.4 to 1.55 for a convolutional and a recurrent network on the CPU.
"""

Made = Sequence[tuple[tuple[Optional[int], ...], int]]
"""The tensors of a call: their shapes, and the bytes of one element."""

Needs = Callable[..., int]
"""Function that returns the bytes of a call. Takes the sizes by dimension name, `training=True` for a
training step, and `eager=True` for eager mode.
"""


def of_keras(tf: Any, model: Any, call: Callable[..., Any], specs: Sequence[Spec]) -> Needs:
    """Return a function that estimates the bytes of the model's weights and of the tensors in a call.

    Training needs all layer outputs twice, or all tensors of the call once if that is more. Inference needs
    at most twice the largest tensor, but in eager mode all layer outputs, because Keras keeps them until the
    call ends. The first estimate traces the call; if that fails, only layer outputs are known.
    """
    weights = of_weights(tf, model)
    outputs = [(tuple(tensor.shape), tf.as_dtype(tensor.dtype).size) for tensor in _computed(model)]

    @cache
    def inside() -> Made:
        given = [tf.TensorSpec(shape, dtype) for _, dtype, shape in specs]
        try:
            return _made(tf.function(call, autograph=False).get_concrete_function(*given).graph)
        except Exception:  # such as a layer that needs to know the size of its input
            return ()

    return _needs(weights, outputs, inside)


def _computed(model: Any) -> Iterator[Any]:
    """Yield the tensors from which the model's outputs are computed, and the outputs.

    A layer may also have nodes of other models: `Sequential.add` connects all layers again each time.
    """
    waiting, known = list(model.outputs), set[int]()
    while waiting:
        tensor = waiting.pop()
        if id(tensor) in known:
            continue
        known.add(id(tensor))
        yield tensor
        operation, node, _ = tensor._keras_history
        waiting += operation._inbound_nodes[node].input_tensors


def of_weights(tf: Any, model: Any) -> int:
    return sum(math.prod(w.shape) * int(tf.as_dtype(w.dtype).size) for w in model.weights)


def of_graph(graph: Any) -> Needs:
    return _needs(sum(_captured(t) for t, _ in graph.captures), _made(graph))


def _made(graph: Any) -> Made:
    return [
        (tuple(t.shape), t.dtype.size) for t in _tensors(graph) if t.shape.rank is not None and t.dtype.size
    ]


def _tensors(graph: Any) -> Iterator[Any]:
    for op in graph.get_operations():
        if op.type in CALLS | LOOPS:
            yield from _tensors(
                called(graph, op.get_attr("f" if op.type in CALLS else "body").name, op.inputs)
            )
        elif op.type not in ALIASES and not _is_in_place(op):
            yield from op.outputs


def _is_in_place(op: Any) -> bool:
    """Return True if TensorFlow writes the op's result over its input, also in training.

    No gradient may need the input: that of a product, a bias or a sum needs none of its results, and that of
    these activations needs only their results.
    """
    if op.type not in _IN_PLACE or op.inputs[0].op.type not in _OVERWRITTEN:
        return False
    return len(op.inputs[0].consumers()) == 1


def _captured(tensor: Any) -> int:
    data = getattr(tensor, "_handle_data", None)
    if data is None or not data.is_set or not data.shape_and_type:
        return 0
    return sum(4 * math.prod(max(1, d.size) for d in each.shape.dim) for each in data.shape_and_type)


def _needs(weights: int, outputs: Made, inside: Callable[[], Made] = lambda: ()) -> Needs:
    def needs(known: Mapping[str, int], *, training: bool = False, eager: bool = False) -> int:
        batch = known.get(BATCH, 1)
        other = max((n for name, n in known.items() if name != BATCH), default=1)

        def sizes(made: Made) -> list[int]:
            return [
                item
                * math.prod(n if n is not None else batch if i == 0 else other for i, n in enumerate(shape))
                for shape, item in made
            ]

        each, within = sizes(outputs), sizes(inside())
        if training:
            # Four numbers per weight: the weight, its gradient, and two numbers that Adam keeps.
            kept = max(2 * sum(each), sum(within))
            return 4 * weights + (int(EAGER_TRAINING * kept) if eager else kept)
        largest = max(each + within, default=0)
        return weights + largest + max(largest, sum(each) if eager else 0)

    return needs
