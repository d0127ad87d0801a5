"""Estimates the memory of a model's call from shapes alone."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Optional

from tuilab.model.ops import (
    ALIASES,
    CALLS,
    CONSTANTS,
    FORWARDS,
    JOINS_PRODUCT,
    LOOPS,
    MATRIX,
    PLACEHOLDERS,
    PRODUCTS,
    names,
)
from tuilab.worker.measure.functions import called
from tuilab.worker.models.inputs import BATCH, Spec

_IN_PLACE = JOINS_PRODUCT - {"LeakyRelu"}  # whose gradient needs its input
_OVERWRITTEN = PRODUCTS | MATRIX | names("BiasAdd Add AddV2")

EAGER_TRAINING = 1.5
"""Memory of the tensors of an eager training step, relative to a graph, which overwrites and fuses more of
them: 1.4 to 1.55 for a convolutional and a recurrent network on the CPU.
"""

ANY_ORDER = 1.2
"""Memory of the tensors of a graph's call, relative to the ops in the order of their creation: the runtime
starts independent ops in another order, and kernels need temporary memory. 0.9 to 1.2 for a transformer and
convolutional networks on the CPU.
"""

Made = Sequence[tuple[tuple[Optional[int], ...], int]]
"""The tensors of a call: their shapes, and the bytes of one element."""


@dataclass(frozen=True)
class _Step:
    """An op of a graph. made: its results. freed: the tensors that no later op uses. inside: the steps of a
    function that it calls.
    """

    made: Made = ()
    freed: Made = ()
    inside: "Sequence[_Step]" = ()


@dataclass(frozen=True)
class _Traced:
    """A traced call: all its tensors, and its ops in order."""

    tensors: Made = ()
    steps: Sequence[_Step] = ()


Needs = Callable[..., int]
"""Function that returns the bytes of a call. Takes the sizes by dimension name, `training=True` for a
training step, and `eager=True` for eager mode.
"""


def of_keras(tf: Any, model: Any, call: Callable[..., Any], specs: Sequence[Spec]) -> Needs:
    """Return a function that estimates the bytes of the model's weights and of the tensors in a call.

    Training needs all layer outputs twice, or all tensors of the call once if that is more. Inference needs
    the tensors that later ops still use; in eager mode also all layer outputs, because Keras keeps them until
    the call ends. The first estimate traces the call; if that fails, only layer outputs are known, and
    inference is assumed to need twice the largest tensor.
    """
    weights = of_weights(tf, model)
    outputs = [(tuple(tensor.shape), tf.as_dtype(tensor.dtype).size) for tensor in _computed(model)]

    @cache
    def inside() -> _Traced:
        given = [tf.TensorSpec(shape, dtype) for _, dtype, shape in specs]
        try:
            return _traced(tf.function(call, autograph=False).get_concrete_function(*given).graph)
        except Exception:  # such as a layer that needs to know the size of its input
            return _Traced()

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
    traced = _traced(graph)
    return _needs(sum(_captured(t) for t, _ in graph.captures), traced.tensors, lambda: traced)


def _traced(graph: Any) -> _Traced:
    return _Traced(_made(_tensors(graph)), _steps(graph, outermost=True))


def _made(tensors: Iterable[Any]) -> Made:
    return [(tuple(t.shape), t.dtype.size) for t in tensors if t.shape.rank is not None and t.dtype.size]


def _steps(graph: Any, *, outermost: bool = False) -> Sequence[_Step]:
    """Return the graph's ops in the order of their creation. The arguments and results of an inner graph
    belong to its caller.
    """
    ops = graph.get_operations()
    last = {tensor.name: number for number, op in enumerate(ops) for tensor in op.inputs}
    if outermost:
        last |= {tensor.name: len(ops) for tensor in (*graph.inputs, *graph.outputs)}
    tensors: dict[str, Any] = {}
    shares: dict[str, str] = {}
    until: dict[str, int] = {}
    made: list[list[Any]] = []
    for number, op in enumerate(ops):
        used = [shares.get(tensor.name, tensor.name) for tensor in op.inputs]
        own = outermost or op.type not in PLACEHOLDERS
        if op.type in ALIASES or _overwrites(op):
            over = dict(zip((tensor.name for tensor in op.outputs), used, strict=False))
        else:
            over = {}
        made.append([tensor for tensor in op.outputs if own and tensor.name not in over])
        for tensor in op.outputs if own else ():
            name = over.get(tensor.name, tensor.name)
            shares[tensor.name] = name
            until[name] = max(until.get(name, number), last.get(tensor.name, number))
        tensors |= {tensor.name: tensor for tensor in made[-1]}
    ends: dict[int, list[Any]] = defaultdict(list)
    for name, number in until.items():
        if name in tensors:
            ends[number].append(tensors[name])
    return [
        _Step(_made(own), _made(ends[number]), _inside(graph, op))
        for number, (op, own) in enumerate(zip(ops, made, strict=True))
    ]


def _inside(graph: Any, op: Any) -> Sequence[_Step]:
    if op.type in CALLS | LOOPS:
        return _steps(called(graph, op.get_attr("f" if op.type in CALLS else "body").name, op.inputs))
    return ()


def _overwrites(op: Any) -> bool:
    """Return True if TensorFlow surely writes the op's result over its first input. If other ops use the
    input too, that depends on the order in which they run.
    """
    if op.type not in FORWARDS or op.inputs[0].op.type in ALIASES | PLACEHOLDERS | CONSTANTS:
        return False
    given, made = op.inputs[0], op.outputs[0]
    alike = (
        given.dtype == made.dtype and given.shape.rank is not None and list(given.shape) == list(made.shape)
    )
    return alike and len(given.consumers()) == 1


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


def _needs(weights: int, outputs: Made, inside: Callable[[], _Traced] = _Traced) -> Needs:
    def needs(known: Mapping[str, int], *, training: bool = False, eager: bool = False) -> int:
        batch = known.get(BATCH, 1)
        other = max((n for name, n in known.items() if name != BATCH), default=1)

        def sizes(made: Made) -> list[int]:
            return [
                item
                * math.prod(n if n is not None else batch if i == 0 else other for i, n in enumerate(shape))
                for shape, item in made
            ]

        def peak(steps: Sequence[_Step]) -> int:
            alive = most = 0
            for step in steps:
                alive += sum(sizes(step.made))
                most = max(most, alive + peak(step.inside))
                alive -= sum(sizes(step.freed))
            return most

        each, traced = sizes(outputs), inside()
        within = sizes(traced.tensors)
        if training:
            # Four numbers per weight: the weight, its gradient, and two numbers that Adam keeps.
            kept = max(2 * sum(each), sum(within))
            return 4 * weights + (int(EAGER_TRAINING * kept) if eager else kept)
        largest = max(each + within, default=0)
        call = int(ANY_ORDER * peak(traced.steps)) or 2 * largest
        return weights + max(call, largest + sum(each) if eager else 0)

    return needs
