"""Finds the ops that TensorFlow's optimizer keeps in a graph, with constants folded and equal ops merged."""

import math
from collections.abc import Hashable, Iterable
from typing import Any

from tuilab.model.arithmetic import Shape, Shaped
from tuilab.model.ops import BRANCHES, CALLS, LOOPS, SOURCES

FOLDED = 100 * 1024
"""Maximum bytes of an output that the optimizer folds into a constant even if the inputs are smaller."""


class Optimised:
    """Finds, op by op in the graph's order, the ops that the optimizer folds or merges.

    most: maximum bytes of an output that is folded into a constant; a larger output is folded only if its
    inputs together are at least as large. constants: bytes of each tensor that depends on constants only, by
    name.
    """

    def __init__(self, most: float = FOLDED) -> None:
        self._most = most
        self.constants: dict[str, float] = {}
        self._firsts: dict[Hashable, Any] = {}
        self._same: dict[str, str] = {}

    def folds(self, op: Any) -> bool:
        """Return True if the op is folded into a constant, and record its outputs as constants."""
        if stateful(op) or op.type in LOOPS | BRANCHES | CALLS | SOURCES:
            return False
        known = [self.constants.get(t.name) for t in op.inputs]
        if any(size is None for size in known):
            return False
        made = sum(nbytes(t) for t in op.outputs)
        if op.type != "Const" and made > max(self._most, sum(size or 0.0 for size in known)):
            return False
        self.constants |= {t.name: float(nbytes(t)) for t in op.outputs}
        return True

    def first(self, op: Any) -> Any:
        if stateful(op) or op.type in SOURCES:
            return op
        like = op.type, attributes(op), tuple(self._same.get(t.name, t.name) for t in op.inputs)
        first = self._firsts.setdefault(like, op)
        for before, again in zip(first.outputs, op.outputs, strict=True):
            self._same[again.name] = before.name
        return first

    def passed(self, sources: Iterable[Any], targets: Iterable[Any], into: "Optimised | None" = None) -> None:
        """Mark each input of a function, or each result of a call, as constant if its source is constant."""
        into = into or self
        for source, target in zip(sources, targets, strict=False):
            if source.name in self.constants:
                into.constants[target.name] = self.constants[source.name]


def stateful(op: Any) -> bool:
    return op.op_def is None or bool(op.op_def.is_stateful)


def attributes(op: Any) -> bytes:
    """Return the op's attributes and device, which distinguish ops of the same type with the same inputs."""
    node = op.node_def
    kept = sorted((k, v.SerializeToString(deterministic=True)) for k, v in node.attr.items() if k[0] != "_")
    return repr((kept, node.device)).encode()


def ops_needed(graph: Any, outputs: Iterable[Any]) -> set[str]:
    waiting = [t.op for t in outputs] + list(graph.control_outputs)
    seen: set[str] = set()
    while waiting:
        op = waiting.pop()
        if op.name not in seen:
            seen.add(op.name)
            waiting += [t.op for t in op.inputs] + list(op.control_inputs)
    return seen


def shape_of(tensor: Any, unknown: int | None = None) -> Shape:
    """Return a tensor's shape, with unknown dimensions replaced by `unknown`.

    Without `unknown`, returns None if a dimension is unknown.
    """
    if tensor.shape.is_fully_defined():
        return tuple(tensor.shape)
    if unknown is None:
        return None
    sides = (None,) if tensor.shape.rank is None else tuple(tensor.shape)
    return tuple(unknown if side is None else side for side in sides)


def nbytes(tensor: Any) -> int:
    """Return the bytes of a tensor; 0 if its shape is unknown, and for strings, variants and resources."""
    shape = shape_of(tensor)
    if shape is None or not tensor.dtype.is_numpy_compatible or tensor.dtype.name == "string":
        return 0
    return math.prod(shape) * int(tensor.dtype.size or 0)


def shaped(op: Any, value: Any = lambda index: None, unknown: int | None = None) -> Shaped:
    return Shaped(
        op=op.type,
        inputs=tuple(shape_of(t, unknown) for t in op.inputs),
        outputs=tuple(shape_of(t, unknown) for t in op.outputs),
        given=tuple(t.dtype.name for t in op.inputs),
        made=tuple(t.dtype.name for t in op.outputs),
        attribute=op.get_attr,
        value=value,
    )
