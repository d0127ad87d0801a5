"""Reads the ranges of a call's inputs from its graph.

Follows each input through casts, reshapes, slices and called functions to the ops that use it. The
range follows from these ops: for a gather, from the number of rows in its table; for a one-hot, from its
number of classes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

import numpy as np

from tuilab.model.ops import BRANCHES, ELEMENT_GATHERS, GATHERS, ROW_GATHERS
from tuilab.model.ops import names as op_names
from tuilab.worker.measure.functions import behind, called, functions_of

PER_BUCKET = 16
"""Number of different values per bucket of a hash. With fewer values, some buckets would stay empty."""
MOST_WORDS = 100_000
MOST_DEPTH = 30
MOST_OPS = 1_000_000
"""Maximum number of ops to examine. If each function calls the next one twice, the number of ops grows
exponentially.
"""


@dataclass(frozen=True)
class Range:
    """The values that an input can take. Fields are zero or empty if the graph does not show them."""

    low: int = 0
    below: int = 0
    """Exclusive upper limit of the integers, except in the columns that `columns` lists."""
    columns: tuple[tuple[int, int], ...] = ()
    """Pairs (column of the last axis, exclusive upper limit of its integers)."""
    flags: bool = False
    """True for a mask that holds only 0 and 1."""
    splits: bool = False
    """True for the row splits of a ragged tensor."""
    words: tuple[Any, ...] = ()
    """Keys of the lookup table that the input indexes."""
    most: float = 0.0
    """Maximum of the floats."""


UNKNOWN = Range()


@dataclass
class _Found:
    limits: dict[int | None, int] = field(default_factory=dict)
    low: int = 0
    hashed: int = 0
    flags: bool = False
    splits: bool = False
    words: tuple[Any, ...] = ()

    def limit(self, column: int | None, below: int) -> None:
        if below > 0:
            self.limits[column] = min(below, self.limits.get(column, below))

    def range(self, named_mask: bool) -> Range:
        if self.words or self.splits:
            return Range(words=self.words, splits=self.splits)
        if self.limits:
            low = min(self.low, min(self.limits.values()) - 1)
            whole = self.limits.get(None, 0)
            columns = {c: min(n, whole or n) for c, n in self.limits.items() if c is not None}
            return Range(low, whole or min(columns.values()), tuple(sorted(columns.items())))
        if self.hashed:
            return Range(below=PER_BUCKET * self.hashed)
        return Range(flags=self.flags or named_mask)


@dataclass(frozen=True)
class _Source:
    """The source of a tensor: an input, or one column of its last axis, plus the constant `added`."""

    input: int
    added: int = 0
    column: int | None = None
    whole: bool = False
    """True if the input's dtype is an integer."""


_Sources = frozenset[_Source]


PASSES = op_names(
    """Identity IdentityN Cast Reshape ExpandDims Squeeze Transpose Tile BroadcastTo Pack ConcatV2 Slice
    Unique UniqueV2 ReverseV2 Pad PadV2 Split SplitV StopGradient PreventGradient EnsureShape Minimum Maximum
    Relu ClipByValue Roll AsString StringLower StringUpper StringStrip StaticRegexReplace RegexReplace
    StringSplitV2 StringNGrams RaggedTensorToTensor SparseReshape SparseReorder SparseFillEmptyRows"""
)
"""Ops whose result contains values of their inputs."""
Limit = Callable[[Any, Sequence[Optional[int]]], Optional[int]]


def _rows(op: Any, shape: Sequence[int | None]) -> int | None:
    axis = constant(op.inputs[2]) if op.type == "GatherV2" else None
    first = int(axis.flat[0]) if axis is not None else 0
    return shape[first] if -len(shape) <= first < len(shape) else None


def _rows_of_each(op: Any, shape: Sequence[int | None]) -> int | None:
    """Return the smallest size among the dimensions that a multi-component index addresses."""
    depth = op.inputs[1].shape[-1] if op.inputs[1].shape.rank else None
    sizes = [n for n in shape[: depth or 1] if n is not None]
    return min(sizes, default=None)


def _last(op: Any, shape: Sequence[int | None]) -> int | None:
    return shape[-1] if shape else None


def _constant_at(index: int) -> Limit:
    def limit(op: Any, shape: Sequence[int | None]) -> int | None:
        given = op.inputs[index]
        # `bincount` uses the smaller of `maxlength` and the largest value that it finds.
        sizes = given.op.inputs if given.op.type == "Minimum" else [given]
        known = [held for held in map(constant, sizes) if held is not None and held.size]
        return int(known[0].flat[0]) if known else None

    return limit


USES: dict[str, tuple[int, Limit]] = {
    **dict.fromkeys(ROW_GATHERS, (1, _rows)),
    **dict.fromkeys(ELEMENT_GATHERS, (1, _rows_of_each)),
    **dict.fromkeys(("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"), (1, _rows)),
    **dict.fromkeys(("TensorScatterUpdate", "TensorScatterAdd", "ResourceScatterAdd"), (1, _rows_of_each)),
    **dict.fromkeys(("SparseSoftmaxCrossEntropyWithLogits", "InTopKV2"), (1, _last)),
    **dict.fromkeys(("UnsortedSegmentSum", "UnsortedSegmentProd"), (1, _constant_at(2))),
    **dict.fromkeys(("UnsortedSegmentMax", "UnsortedSegmentMin"), (1, _constant_at(2))),
    **dict.fromkeys(("OneHot", "DenseBincount", "Bincount"), (0, _constant_at(1))),
    "ScatterNd": (0, _constant_at(2)),
    "DynamicPartition": (1, lambda op, shape: int(op.get_attr("num_partitions"))),
}
"""For each op, the index of its integer input, and a function that returns the input's exclusive upper
limit.
"""


def read(tf: Any, call: Callable[..., Any], specs: Sequence[Any], names: Sequence[str]) -> list[Range]:
    """Trace a call of these TensorSpecs and return the range of each input; [] if it cannot be traced."""
    if not any(_may_count(spec, name) for spec, name in zip(specs, names, strict=True)):
        return []
    try:
        traced = tf.function(call).get_concrete_function(*specs)
    except Exception:  # user code may run only eagerly, or not at these shapes
        return []
    return ranges(traced.graph, traced.inputs[: len(specs)], names)


def _may_count(spec: Any, name: str) -> bool:
    """Return True if an input may hold ids or flags. Floats of rank 3 or more are assumed to be sequences or
    images.
    """
    rank = spec.shape.rank
    return spec.dtype.is_integer or spec.dtype.name == "string" or rank is None or rank < 3 or "mask" in name


def ranges(graph: Any, inputs: Sequence[Any], names: Sequence[str]) -> list[Range]:
    """Return the range of each of the graph's inputs. names: names of the inputs."""
    walk = _Walk(len(inputs))
    sources = {
        tensor.name: frozenset((_Source(i, whole=tensor.dtype.is_integer),))
        for i, tensor in enumerate(inputs)
    }
    walk.body(graph, sources, {inner.name: outer for outer, inner in graph.captures}, 0)
    return [found.range("mask" in name.lower()) for found, name in zip(walk.found, names, strict=True)]


class _Walk:
    def __init__(self, count: int) -> None:
        self.found = [_Found() for _ in range(count)]
        self._left = MOST_OPS

    def body(self, graph: Any, sources: dict[str, _Sources], handles: dict[str, Any], depth: int) -> None:
        """Follow the inputs through a graph. Adds to `sources` and `handles`, whose keys are tensor names.

        handles: the outer graph's handle of each variable and lookup table.
        """
        for op in graph.get_operations() if depth < MOST_DEPTH else ():
            self._left -= 1
            if self._left < 0:
                return
            if op.type == "Identity" and op.inputs[0].name in handles:
                handles[op.outputs[0].name] = handles[op.inputs[0].name]
            given = [sources.get(tensor.name, frozenset()) for tensor in op.inputs]
            if not any(given):
                continue
            if inner := functions_of(op):
                self._enter(graph, op, inner, sources, handles, depth)
                continue
            self._use(op, given, handles)
            for index, made in enumerate(op.outputs):
                if passed := _passed(op, given, index):
                    sources[made.name] = passed

    def _enter(
        self,
        graph: Any,
        op: Any,
        inner: Sequence[str],
        sources: dict[str, _Sources],
        handles: dict[str, Any],
        depth: int,
    ) -> None:
        operands = op.inputs[1:] if op.type in BRANCHES else op.inputs
        for name in inner:
            try:
                body = called(graph, name, operands)
            except LookupError:
                continue
            pairs = list(zip(body.inputs, operands, strict=False))
            within = {own.name: sources[t.name] for own, t in pairs if t.name in sources}
            held = {own.name: handles.get(t.name, t) for own, t in pairs if t.dtype.name == "resource"}
            self.body(body, within, held, depth + 1)
            for made, result in zip(op.outputs, body.outputs, strict=False):
                if result.name in within:
                    sources[made.name] = sources.get(made.name, frozenset()) | within[result.name]

    def _use(self, op: Any, given: Sequence[_Sources], handles: Mapping[str, Any]) -> None:
        if op.type in USES:
            at, limit = USES[op.type]
            below = (limit(op, _shape(op.inputs[0], handles)) or 0) if given[at] else 0
            for each in given[at] if below else ():
                found = self.found[each.input]
                found.limit(each.column, below - each.added)
                found.low = max(found.low, -each.added)
        elif op.type in ("LookupTableFind", "LookupTableFindV2") and given[1]:
            words = _keys(handles.get(op.inputs[0].name), op)
            for each in given[1]:
                self.found[each.input].words = words
        elif buckets := _buckets(op):
            for each in given[0]:
                self.found[each.input].hashed = max(self.found[each.input].hashed, buckets)
        elif _is_mask(op):
            for each in frozenset().union(*given):
                self.found[each.input].flags |= each.whole
        for index in _splits(op, given):
            for each in given[index]:
                self.found[each.input].splits = True


def _passed(op: Any, given: Sequence[_Sources], index: int) -> _Sources:
    """Return the sources of the values in one output of the op."""
    if op.type in PASSES:
        return frozenset().union(*given)
    if op.type in ("Select", "SelectV2"):
        # Keras looks up `where(i < 0, i + rows, i)`, which equals i here, because no negative indices are
        # generated.
        both = sorted(given[1] | given[2], key=lambda each: -abs(each.added))
        return frozenset({(each.input, each.column): each for each in both}.values())
    if op.type in GATHERS:
        return given[0]
    if op.type in ("AddV2", "Add", "Sub"):
        return _added(op, given)
    if op.type in ("StridedSlice", "Unpack"):
        column = _column(op, index)
        return frozenset(
            each if each.column is not None or column is None else replace(each, column=column)
            for each in given[0]
        )
    return frozenset()


def _added(op: Any, given: Sequence[_Sources]) -> _Sources:
    """Return the sources of a sum or difference of an input and a constant. Each source includes the
    constant.
    """
    mine = 0 if given[0] else 1
    held = constant(op.inputs[1 - mine])
    if (mine and op.type == "Sub") or held is None or not held.size or held.dtype.kind not in "iuf":
        return frozenset()
    by = -int(held.min()) if op.type == "Sub" else int(held.max())
    return frozenset(replace(each, added=each.added + by) for each in given[mine])


def _column(op: Any, index: int) -> int | None:
    """Return the column of the last axis that an op selects; None if it does not select exactly one."""
    rank = op.inputs[0].shape.rank
    if not rank or rank < 2:
        return None
    if op.type == "Unpack":
        return index if op.get_attr("axis") in (rank - 1, -1) else None
    begin = constant(op.inputs[1])
    ellipsis, shrinks = op.get_attr("ellipsis_mask"), op.get_attr("shrink_axis_mask")
    at = rank - 1 if not ellipsis else 1
    if begin is None or len(begin) != at + 1 or not shrinks >> at & 1 or ellipsis not in (0, 1):
        return None
    size, column = op.inputs[0].shape[-1], int(begin[at])
    return column if column >= 0 else column + size if size else None


def _buckets(op: Any) -> int:
    if op.type.startswith("StringToHashBucket"):
        return int(op.get_attr("num_buckets"))
    if op.type in ("FloorMod", "Mod"):
        held = constant(op.inputs[1])
        return int(held.flat[0]) if held is not None and held.size else 0
    return 0


def _is_mask(op: Any) -> bool:
    """Return True if the op makes a mask: a cast to bool, a comparison with 0 or 1, or `1 - x`."""
    if op.type == "Cast":
        return bool(op.outputs[0].dtype.name == "bool")
    if op.type in ("Equal", "NotEqual", "Sub"):
        first = constant(op.inputs[0])
        held = first if op.type == "Sub" or first is not None else constant(op.inputs[1])
        return held is not None and held.size == 1 and held.flat[0] in ((1,) if op.type == "Sub" else (0, 1))
    return False


def _splits(op: Any, given: Sequence[_Sources]) -> tuple[int, ...]:
    if op.type == "RaggedTensorToTensor":
        kinds = [bytes(kind) for kind in op.get_attr("row_partition_types")]
        return tuple(3 + i for i, kind in enumerate(kinds) if kind == b"ROW_SPLITS")
    if op.type == "Sub" and given[0] and given[0] == given[1]:
        # The lengths of ragged rows are `splits[1:] - splits[:-1]`.
        return (0,) if all(t.op.type == "StridedSlice" for t in op.inputs) else ()
    return ()


def _shape(tensor: Any, handles: Mapping[str, Any]) -> tuple[int | None, ...]:
    if tensor.dtype.name != "resource":
        return tuple(tensor.shape) if tensor.shape.rank is not None else ()
    held = behind(handles.get(tensor.name, tensor))
    return tuple(n.size if n.size >= 0 else None for n in held[0].shape.dim) if held else ()


def constant(tensor: Any) -> Any:
    """Return a tensor's value as an array if the graph holds it as a constant, else None."""
    from tensorflow.python.framework import tensor_util

    while tensor.op.type in ("Cast", "Identity"):
        tensor = tensor.op.inputs[0]
    found = tensor_util.constant_value(tensor)
    return None if found is None else np.asarray(found)


def _keys(handle: Any, op: Any) -> tuple[Any, ...]:
    import tensorflow as tf

    if not hasattr(handle, "numpy"):
        return ()
    kinds = {"Tkeys": op.get_attr("Tin"), "Tvalues": op.get_attr("Tout")}
    try:
        keys, _ = tf.raw_ops.LookupTableExportV2(table_handle=handle, **kinds)
    except tf.errors.OpError:  # the table is not initialized
        return ()
    return tuple(keys.numpy()[:MOST_WORDS].tolist())
