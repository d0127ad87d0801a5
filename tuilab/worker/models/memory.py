"""Estimates the memory of a model's call from shapes alone."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from typing import Any, Optional

from tuilab.model.ops import (
    ALIASES,
    CALLS,
    CONSTANTS,
    FORWARDS,
    LINEAR,
    LOOPS,
    OF_RESULT,
    PLACEHOLDERS,
    SHAPES,
    names,
)
from tuilab.worker.measure.functions import behind, called, functions_of
from tuilab.worker.models.inputs import BATCH, Spec

_GROWS = names("TensorListSetItem TensorListPushBack")
_NEEDS_NO_INPUT = LINEAR | SHAPES | OF_RESULT
_WITHOUT_RESULT = ALIASES | PLACEHOLDERS | CONSTANTS | CALLS | LOOPS

ANY_ORDER = 1.2
"""Memory of the tensors of a graph's call, relative to the ops in the order of their creation: the runtime
starts independent ops in another order, and kernels need temporary memory. 0.9 to 1.2 for a transformer and
convolutional networks on the CPU.
"""

Sized = tuple[tuple[Optional[int], ...], int]
"""A tensor's shape, and the bytes of one element."""
Made = Sequence[Sized]


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
    """A traced call: for training, all its tensors and those that gradients need; its ops in order."""

    tensors: Made = ()
    trained: Made = ()
    steps: Sequence[_Step] = ()


Needs = Callable[..., int]
"""Function that returns the bytes of a call. Takes the sizes by dimension name, `training=True` for a
training step, and `eager=True` for eager mode.
"""


def of_keras(tf: Any, model: Any, call: Callable[..., Any], specs: Sequence[Spec]) -> Needs:
    """Return a function that estimates the bytes of the model's weights and of the tensors in a call.

    Training needs the tensors that gradients need, or in eager mode all tensors, and the gradients of the
    largest ones; those of a loop over a sequence count for each element. Inference needs the tensors that
    later ops still use; in eager mode also all layer outputs, because Keras keeps them until the call ends.
    The first estimate traces the call; if that fails, only layer outputs are known: training is assumed to
    need them twice, and inference twice the largest tensor.
    """
    weights = of_weights(tf, model)
    outputs = [(tuple(tensor.shape), tf.as_dtype(tensor.dtype).size) for tensor in _computed(model)]

    @cache
    def inside(training: bool) -> _Traced:
        given = [tf.TensorSpec(shape, dtype) for _, dtype, shape in specs]
        function = tf.function(partial(call, training=True) if training else call, autograph=False)
        try:
            return _traced(function.get_concrete_function(*given).graph, training)
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
    return _needs(sum(_captured(t) for t, _ in graph.captures), (), cache(partial(_traced, graph)))


def _traced(graph: Any, training: bool) -> _Traced:
    steps = _steps(graph, outermost=True)
    if not training:
        return _Traced(steps=steps)
    return _Traced([*_tensors(graph, _all)], [*_tensors(graph, _for_gradients)], steps)


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
    tensors: dict[str, Made] = {}
    shares: dict[str, str] = {}
    until: dict[str, int] = {}
    made: list[Made] = []
    for number, op in enumerate(ops):
        used = [shares.get(tensor.name, tensor.name) for tensor in op.inputs]
        own = outermost or op.type not in PLACEHOLDERS
        if op.type in ALIASES or _overwrites(op):
            over = dict(zip((tensor.name for tensor in op.outputs), used, strict=False))
        else:
            over = {}
        held = _lists(graph, op)
        new = {
            t.name: held.get(i) or _made([t]) for i, t in enumerate(op.outputs) if own and t.name not in over
        }
        made.append([*chain.from_iterable(new.values())])
        for tensor in op.outputs if own else ():
            name = over.get(tensor.name, tensor.name)
            shares[tensor.name] = name
            until[name] = max(until.get(name, number), last.get(tensor.name, number))
        tensors |= new
    ends: dict[int, list[Sized]] = defaultdict(list)
    for name, number in until.items():
        ends[number] += tensors.get(name, ())
    return [
        _Step(own, ends[number], _inside(graph, op))
        for number, (op, own) in enumerate(zip(ops, made, strict=True))
    ]


def _inside(graph: Any, op: Any) -> Sequence[_Step]:
    return _steps(_body(graph, op)) if op.type in CALLS | LOOPS else ()


def _body(graph: Any, op: Any) -> Any:
    """Return the graph that a call or the iterations of a loop run."""
    return called(graph, functions_of(op)[0], op.inputs)


def _lists(graph: Any, op: Any) -> Mapping[int, Made]:
    """Return the elements of each list that an op makes, by the number of the list among its results."""
    if op.type == "TensorListFromTensor":
        return {0: _made(op.inputs[:1])}
    if op.type not in LOOPS:
        return {}
    ends = enumerate(_original(tensor).op for tensor in _body(graph, op).outputs)
    return {i: _repeated(_made(made.inputs[-1:]), op) for i, made in ends if made.type in _GROWS}


def _repeated(made: Iterable[Sized], loop: Any) -> Made:
    return [((*shape, _length(loop)), item) for shape, item in made]


def _original(tensor: Any) -> Any:
    while tensor.op.type in ALIASES and tensor.op.inputs:
        tensor = tensor.op.inputs[0]
    return tensor


def _length(loop: Any) -> Optional[int]:
    """Return the number of elements of the sequence over which an op loops; None if it differs between calls,
    and 1 if the op loops over no sequence.
    """
    makers = [tensor.op for tensor in loop.inputs if tensor.op.type == "TensorListFromTensor"]
    lengths = [maker.inputs[0].shape[0] for maker in makers if maker.inputs[0].shape.rank]
    return lengths[0] if lengths else 1


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


Kept = Callable[[Any], Iterable[Any]]
"""Function that returns the tensors of a graph, without its inner graphs, that are in memory."""


def _tensors(graph: Any, kept: Kept) -> Iterator[Sized]:
    yield from _made(kept(graph))
    for op in graph.get_operations():
        if op.type in CALLS | LOOPS:
            inner = _tensors(_body(graph, op), kept)
            yield from _repeated(inner, op) if op.type in LOOPS else inner


def _all(graph: Any) -> Iterator[Any]:
    for op in graph.get_operations():
        if op.type not in _WITHOUT_RESULT:
            yield from op.outputs


def _for_gradients(graph: Any) -> Iterator[Any]:
    """Yield the tensors whose values gradients need: the results of activations, and the inputs of other ops
    that are not linear. The next iteration of a loop, or the caller, uses the results of the graph.
    """
    returned = {_original(tensor).name for tensor in graph.outputs}
    for tensor in _all(graph):
        needed = tensor.op.type in OF_RESULT or tensor.name in returned
        if needed or any(op.type not in _NEEDS_NO_INPUT for op in _users(tensor)):
            yield tensor


def _users(tensor: Any) -> Iterator[Any]:
    for op in tensor.consumers():
        if op.type in ALIASES:
            yield from _users(op.outputs[0])
        else:
            yield op


def _captured(tensor: Any) -> int:
    from tensorflow.python.framework import dtypes

    return sum(
        int(dtypes.as_dtype(each.dtype).size) * math.prod(max(1, d.size) for d in each.shape.dim)
        for each in behind(tensor)
    )


def _needs(weights: int, outputs: Made, inside: Callable[[bool], _Traced]) -> Needs:
    def needs(known: Mapping[str, int], *, training: bool = False, eager: bool = False) -> int:
        batch = known.get(BATCH, 1)
        others = [n for name, n in known.items() if name != BATCH]
        other = max(others, default=1)

        def elements(shape: Sequence[Optional[int]]) -> int:
            unknown, rest = shape.count(None), math.prod(n for n in shape if n is not None)
            # In a recurrent layer, the batch is the second dimension.
            first = batch if shape[:1] == (None,) or not others else other
            return rest * first * other ** (unknown - 1) if unknown else rest

        def sizes(made: Made) -> list[int]:
            return [item * elements(shape) for shape, item in made]

        def peak(steps: Sequence[_Step]) -> int:
            alive = most = 0
            for step in steps:
                alive += sum(sizes(step.made))
                most = max(most, alive + peak(step.inside))
                alive -= sum(sizes(step.freed))
            return most

        def at_once(steps: Sequence[_Step]) -> Iterator[int]:
            for step in steps:
                yield from sizes(step.made)
                yield from at_once(step.inside)

        traced = inside(training)
        each = sizes(outputs or traced.tensors)
        largest = max([*each, *at_once(traced.steps)], default=0)
        if training:
            kept = sum(sizes(traced.tensors if eager else traced.trained)) or 2 * sum(each)
            # Four numbers per weight: the weight, its gradient, and two numbers that Adam keeps.
            return 4 * weights + kept + 2 * largest
        call = int(ANY_ORDER * peak(traced.steps)) or 2 * largest
        return weights + max(call, largest + sum(each) if eager else 0)

    return needs
