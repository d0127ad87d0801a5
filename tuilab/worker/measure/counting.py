"""Counts a graph's work by op and scope: arithmetic, bytes accessed, and ops launched.

TensorFlow's wheel does not expose XLA's cost analysis, which in any case counts a loop's body only once. So
this module counts each op from its shapes, after the optimizations that the compilers make: it skips unused
ops, folds constant expressions and counts equal ops once. It follows function calls, and multiplies a loop's
body by its trip count if constants determine that count. Ops that cannot be counted are listed.
"""

import itertools
import operator
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tuilab.model.arithmetic import Shape, Shaped, Unknown, arithmetic
from tuilab.model.ops import (
    ALIASES,
    BRANCHES,
    BY_SHAPE,
    CALLS,
    HOST_DTYPES,
    JOINS_PRODUCT,
    LOOPS,
    NO_ARITHMETIC,
    NO_LAUNCH,
    PARTLY,
    PRODUCTS,
)
from tuilab.model.roofline import Stay
from tuilab.worker.measure.functions import HANDLES, called, functions_of, graph_of, with_shapes
from tuilab.worker.measure.optimised import FOLDED, Optimised, nbytes, ops_needed, shape_of, shaped
from tuilab.worker.placement.graphs import types_of
from tuilab.worker.placement.reasons import stays
from tuilab.worker.placement.registry import known

Key = Hashable
"""Identifies a piece of memory: an argument, a variable or an op's output."""

MOST_TRIPS = 200_000
BY_DATA, OPEN = "its number of iterations depends on the data", "its shapes depend on the data"
LESS_WORK = "the branch with less work"
"""Note for a branch that depends on the data: the count is a lower bound."""

HASH, HASHED_DTYPES = "StringToHashBucketFast", ("int8", "int16", "int32", "int64")
"""In a graph, this op and the `AsString` before it become one op with a GPU kernel, for these dtypes."""


@dataclass(frozen=True)
class Part:
    """An op of the graph, with all its executions in a call.

    name: the op's name with the enclosing scopes, as in `model/dense/MatMul`. flop: number of operations of
    all executions; None if unknown. why: the reason for an unknown `flop`. reads, writes: bytes by piece of
    memory.
    """

    name: str
    op: str
    dtype: str
    runs: float
    flop: float | None
    reads: Mapping[Key, float]
    writes: Mapping[Key, float]
    kernel: bool = False
    why: str = ""
    stays: str = ""
    """Why the op runs on the CPU on every machine; "" if a GPU can run it."""


@dataclass
class Counted:
    """The parts of a call, and the sizes of the memory that they read and write.

    arguments: inputs of the call itself, in order. state: variables and other memory that the graph holds.
    results: the outputs of the call.
    """

    parts: list[Part] = field(default_factory=list)
    sizes: dict[Key, float] = field(default_factory=dict)
    arguments: list[Key] = field(default_factory=list)
    state: set[Key] = field(default_factory=set)
    results: dict[Key, float] = field(default_factory=dict)
    loops: dict[str, float] = field(default_factory=dict)
    """Number of times that each loop's body runs in a call, if known. Keys are the loops' names as the
    runtime writes them: `while/body/while`.
    """
    notes: list[str] = field(default_factory=list)
    _read: tuple[int, Counter[Key]] = field(default=(-1, Counter()), repr=False)

    def at_least(self, key: Key, size: float) -> None:
        self.sizes[key] = max(size, self.sizes.get(key, 0.0))

    def moves(
        self,
        op: Shaped,
        keys: Sequence[Key | None],
        sizes: Sequence[float],
        made: Sequence[float],
        runs: float,
    ) -> tuple[dict[Key, float], dict[Key, float]]:
        """Return the bytes that the executions of an op read from its inputs and write into them in place, by
        piece of memory. keys: the memory of each input; None if unknown. sizes, made: bytes of the inputs and
        outputs.
        """
        reads: dict[Key, float] = {}
        writes: dict[Key, float] = {}
        for index, (size, written) in _traffic(op, sizes, made).items():
            key = keys[index]
            if key is None:
                continue
            if size:
                reads[key] = reads.get(key, 0.0) + size * runs
            if written:
                writes[key] = written
                self.at_least(key, written)
        return reads, writes

    def stays(self) -> tuple[Stay, ...]:
        """Return the ops that only the CPU can run, by type, with the bytes that they copy from and to the
        GPU.
        """
        held = [part for part in self.parts if part.stays]
        by_gpu = {key for part in self.parts if part.kernel for key in part.writes}
        for_gpu = {key for part in self.parts if part.kernel for key in part.reads}
        found: dict[tuple[str, str], list[Part]] = defaultdict(list)
        for part in held:
            found[part.op, part.stays].append(part)

        def crossing(moved: Iterable[Mapping[Key, float]], other: set[Key]) -> float:
            sizes = {key: size for each in moved for key, size in each.items() if key in other}
            return sum(sizes.values())

        return tuple(
            Stay(
                op=op,
                runs=sum(part.runs for part in parts),
                reason=reason,
                to_host=crossing((part.reads for part in parts), by_gpu),
                to_device=crossing((part.writes for part in parts), for_gpu),
            )
            for (op, reason), parts in found.items()
        )

    def touched(self, parts: Sequence[Part]) -> tuple[dict[Key, float], dict[Key, float]]:
        """Return the bytes that these parts read as inputs and write as outputs, by piece of memory.

        Excludes data that one part produces for another, because this data may stay in a cache or register.
        """
        read: dict[Key, float] = defaultdict(float)
        wrote: dict[Key, float] = {}
        for part in parts:
            for key, size in part.reads.items():
                read[key] += size
            wrote |= part.writes
        own = Counter(key for part in parts for key in part.reads)
        used_by_others = {key for key in wrote if self._readers()[key] > own[key]}
        outside = self.results.keys() | self.state | used_by_others
        read_in = {
            key: min(size, self.sizes.get(key) or size)
            for key, size in read.items()
            if key not in wrote or key in self.state
        }
        left = {key: min(size, self.results.get(key, size)) for key, size in wrote.items() if key in outside}
        return read_in, left

    def _readers(self) -> Counter[Key]:
        if self._read[0] != len(self.parts):
            self._read = len(self.parts), Counter(key for part in self.parts for key in part.reads)
        return self._read[1]


def flop(parts: Iterable[Part]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for part in parts:
        if part.flop:
            found[part.dtype] += part.flop
    return dict(found)


def uncounted(parts: Iterable[Part]) -> tuple[str, ...]:
    found: Counter[str] = Counter()
    for part in parts:
        if part.flop is None:
            found[part.op + (f" ({part.why})" if part.why else "")] += max(1, int(part.runs))
    return tuple(name for name, _ in found.most_common())


def of_graph(
    graph: Any,
    outputs: Iterable[Any],
    shapes: Sequence[Shape] = (),
    *,
    arguments: int | None = None,
    trips: Mapping[str, int] | None = None,
) -> Counted:
    """Return the work of one run of a FuncGraph that computes these tensors and its side effects.

    shapes: input shapes of the call, needed if the graph leaves some open. arguments: number of inputs that
    belong to the call itself; the other inputs are captured. trips: number of iterations of each
    data-dependent loop, by the loop's name.
    """
    return _Graphs(trips).whole(graph, list(outputs), shapes, arguments)


class _Graphs:
    def __init__(self, trips: Mapping[str, int] | None = None) -> None:
        self.trips = trips or {}
        self.counted = Counted()
        self.handed: list[Key] = []
        self._serial = itertools.count()

    def key(self) -> Key:
        return next(self._serial)

    def whole(
        self, graph: Any, outputs: list[Any], shapes: Sequence[Shape], arguments: int | None
    ) -> Counted:
        names = [t.name for t in outputs]
        open_ = [
            not t.shape.is_fully_defined() and i < len(shapes) and shapes[i] is not None
            for i, t in enumerate(graph.inputs)
        ]
        if any(open_):
            sided = [s if o else None for s, o in zip(shapes, open_, strict=False)]
            graph, outputs = with_shapes(graph, names, sided)
        own = len(graph.inputs) if arguments is None else arguments
        body = _Body(self, graph, "", 1.0)
        for index, tensor in enumerate(graph.inputs):
            key = self.key()
            self.counted.sizes[key] = _bytes(tensor)
            body.lies[tensor.name] = key
            if index < own:
                self.counted.arguments.append(key)
            else:
                self.counted.state.add(key)
        body.walk(outputs)
        for tensor in outputs:
            key = body.lies.get(tensor.name)
            self.counted.results[key] = _bytes(tensor)
            self.handed.append(key)
        return self.counted


class _Body:
    """Counts the ops of one graph.

    written: prefix that the runtime gives to op names when it inlines functions. lies: the piece of memory
    that holds each tensor, by tensor name. holds: known values of tensors, by name.
    """

    def __init__(self, graphs: _Graphs, graph: Any, prefix: str, runs: float, written: str = "") -> None:
        self.graphs, self.graph, self.prefix, self.runs = graphs, graph, prefix, runs
        self.written = written
        self.lies: dict[str, Key] = {}
        self.holds: dict[str, Any] = {}
        self.optimised = Optimised()
        self._joined: set[str] = set()

    def walk(self, outputs: Iterable[Any]) -> None:
        needed = ops_needed(self.graph, outputs)
        uses: Counter[str] = Counter(
            t.op.name for op in self.graph.get_operations() if op.name in needed for t in op.inputs
        )
        for op in self.graph.get_operations():
            if op.name in needed:
                self._op(op, uses)

    def _op(self, op: Any, uses: Counter[str]) -> None:
        if op.type == "Placeholder" or not self._new(op):
            return
        if op.type in ALIASES and op.inputs:
            for source, made in zip(op.inputs, op.outputs, strict=False):
                self._alias(source, made)
            return
        if op.type in CALLS:
            self._call(op, op.get_attr("f").name)
        elif self.graph._is_function(op.type):
            self._call(op, op.type)
        elif op.type in LOOPS:
            self._loop(op)
        elif op.type in BRANCHES:
            self._branch(op)
        else:
            self._one(op, uses)

    def _alias(self, source: Any, made: Any) -> None:
        key = self.lies.get(source.name)
        if key is None:
            return
        self.lies[made.name] = key
        if source.dtype.name == "resource":
            # A variable's resource has no size, so take the size of the tensor that reading it returns.
            self.graphs.counted.at_least(key, _bytes(made))

    def _new(self, op: Any) -> bool:
        """Return True unless the op is folded into a constant or equals an earlier op."""
        if self.optimised.folds(op):
            if op.type == "Const":
                for tensor in op.outputs:
                    self.graphs.counted.state.add(self._make(tensor, 1.0))
            return False
        first = self.optimised.first(op)
        if first is op:
            return True
        for before, again in zip(first.outputs, op.outputs, strict=True):
            if before.name in self.lies:
                self.lies[again.name] = self.lies[before.name]
            if before.name in self.holds:
                self.holds[again.name] = self.holds[before.name]
        return False

    def _make(self, tensor: Any, runs: float | None = None) -> Key:
        key = self.graphs.key()
        self.lies[tensor.name] = key
        many = self.runs if runs is None else runs
        self.graphs.counted.sizes[key] = _bytes(tensor) * many
        return key

    def _one(self, op: Any, uses: Counter[str]) -> None:
        of = shaped(op, lambda index: self._value(op.inputs[index]))
        sizes, keys = [_bytes(t) for t in op.inputs], [self.lies.get(t.name) for t in op.inputs]
        made = [_bytes(t) for t in op.outputs]
        reads, writes = self.graphs.counted.moves(of, keys, sizes, made, self.runs)
        for tensor in op.outputs:
            key = self._make(tensor)
            if op.type == "TensorListSetItem":
                # The op updates the tensor list in place, so its output is the same list.
                self.lies[tensor.name] = self.lies.get(op.inputs[0].name, key)
                key = self.lies[tensor.name]
                writes[key] = sizes[-1] * self.runs
                continue
            writes[key] = _bytes(tensor) * self.runs
        found, why = _counted(of)
        hashed = self._hashes_integers(op, uses)
        held = "" if hashed else stays(op.type, types_of(op.node_def), of.made)
        self.graphs.counted.parts.append(
            Part(
                name=self.prefix + op.name,
                op=op.type,
                dtype=of.dtype,
                runs=self.runs,
                flop=None if found is None else found * self.runs,
                reads=reads,
                writes=writes,
                kernel=op.type == HASH if hashed else not held and self._launches(op, uses),
                why=why,
                stays=held,
            )
        )

    def _hashes_integers(self, op: Any, uses: Counter[str]) -> bool:
        """Return True if the optimizer fuses this op into one that hashes integers and has a GPU kernel.

        It fuses `AsString` and `StringToHashBucketFast` if no other op reads the string and the string has
        no minimum width.
        """
        if op.type == HASH:
            return op.inputs[0].op.type == "AsString" and self._hashes_integers(op.inputs[0].op, uses)
        if op.type != "AsString" or op.inputs[0].dtype.name not in HASHED_DTYPES:
            return False
        readers = [each.type for each in op.outputs[0].consumers()]
        plain = op.get_attr("width") == -1 and not op.get_attr("fill")
        return plain and readers == [HASH] and uses[op.name] == 1

    def _launches(self, op: Any, uses: Counter[str]) -> bool:
        """Return True if the op launches its own GPU kernel. A fused op, such as a bias addition after a
        matrix product, does not.
        """
        if op.type in NO_LAUNCH or all(t.dtype.name in HOST_DTYPES for t in op.outputs):
            return False
        if op.type in PRODUCTS or op.type.startswith("FusedBatchNorm"):
            self._joined.add(op.name)
            return True
        adds = op.type in ("AddV2", "Add")
        if adds and any(t.op.type in ("AddV2", "Add", "AddN") and uses[t.op.name] == 1 for t in op.inputs):
            return False  # TensorFlow merges several sums into one AddN
        before = next((t.op for t in op.inputs if t.op.name in self._joined), None)
        bias = adds and any(t.shape.rank == 1 for t in op.inputs)
        if before is not None and uses[before.name] == 1 and (bias or op.type in JOINS_PRODUCT):
            self._joined.add(op.name)
            return False
        return True

    # Functions, loops, branches.

    def _pass(self, operands: Sequence[Any], inner: "_Body") -> None:
        """Pass the operands' memory and known values to the inputs of an inner graph."""
        for tensor, operand in zip(inner.graph.inputs, operands, strict=False):
            if operand.name in self.lies:
                inner.lies[tensor.name] = self.lies[operand.name]
            known = self._value(operand)
            if known is not None:
                inner.holds[tensor.name] = known

    def _make_missing(self, operands: Sequence[Any]) -> None:
        for operand in operands:
            if operand.name not in self.lies:
                self._make(operand)

    def _prefix(self, op: Any, graph: Any) -> str:
        scope = op.name.rpartition("/")[0]
        around = (op.name + "/", scope + "/") if scope else (op.name + "/",)
        if not scope or any(node.name.startswith(around) for node in graph.get_operations()):
            return self.prefix
        return f"{self.prefix}{scope}/"

    def _leave(self, op: Any, inner: "_Body") -> None:
        for made, result in zip(op.outputs, inner.graph.outputs, strict=False):
            key = inner.lies.get(result.name)
            self.lies[made.name] = self._make(made) if key is None else key
            if result.name in inner.holds:
                self.holds[made.name] = inner.holds[result.name]

    def _call(self, op: Any, name: str) -> None:
        graph = called(self.graph, name, op.inputs)
        inner = _Body(self.graphs, graph, self._prefix(op, graph), self.runs, f"{self.written}{op.name}/")
        self._make_missing(op.inputs)
        self._pass(op.inputs, inner)
        self.optimised.passed(op.inputs, graph.inputs, inner.optimised)
        inner.walk(graph.outputs)
        self._leave(op, inner)
        inner.optimised.passed(graph.outputs, op.outputs, self.optimised)

    def _loop(self, op: Any) -> None:
        condition = called(self.graph, op.get_attr("cond").name, op.inputs)
        body = called(self.graph, op.get_attr("body").name, op.inputs)
        values = [self._value(t) for t in op.inputs]
        trips, left = _trips(condition, body, values)
        trips = self.graphs.trips.get(self.written + op.name) if trips is None else trips
        if trips is None:
            unknown = Part(self.prefix + op.name, op.type, "", 1, None, {}, {}, why=BY_DATA)
            self.graphs.counted.parts.append(unknown)
            for made in op.outputs:
                self._make(made)
            return
        self.graphs.counted.loops[self.written + op.name] = self.runs * trips
        written = f"{self.written}{op.name}/body/"
        inner = _Body(self.graphs, body, self._prefix(op, body), self.runs * trips, written)
        # The loop updates variables and lists in place, however they are passed to it.
        self._make_missing(op.inputs)
        for index, (tensor, operand) in enumerate(zip(body.inputs, op.inputs, strict=True)):
            passed = _origin(body.outputs[index]) is tensor if index < len(body.outputs) else True
            inner.lies[tensor.name] = self.lies[operand.name]
            if passed and values[index] is not None:
                inner.holds[tensor.name] = values[index]
            if passed:
                self.optimised.passed([operand], [tensor], inner.optimised)
        if trips:
            inner.walk(body.outputs)
        self._leave(op, inner)
        for index, made in enumerate(op.outputs):
            if left.get(index) is not None:
                self.holds[made.name] = left[index]

    def _branch(self, op: Any) -> None:
        """Count the branch that is taken. If that branch is unknown, count the one with the least
        arithmetic.
        """
        names = functions_of(op)
        taken = self._value(op.inputs[0])
        if taken is not None:
            # An index outside the branches of a Case takes the last one.
            at = 1 - bool(taken) if op.type.endswith("If") else int(taken)
            names = [names[at if 0 <= at < len(names) else -1]]
        tries = [self._try(op, name) for name in names]
        work = [sum(flop(each.graphs.counted.parts).values()) for each in tries]
        least = tries[work.index(min(work))]
        counted, one = self.graphs.counted, least.graphs.counted
        counted.parts += one.parts
        counted.sizes |= one.sizes
        counted.state |= one.state
        counted.loops |= one.loops
        counted.notes += one.notes
        if max(work) > 1.05 * min(work) and LESS_WORK not in counted.notes:
            counted.notes.append(LESS_WORK)
        self._leave(op, least)

    def _try(self, op: Any, name: str) -> "_Body":
        """Count one branch on its own."""
        apart = _Graphs()
        apart._serial = self.graphs._serial
        apart.counted.sizes = dict(self.graphs.counted.sizes)
        graph = called(self.graph, name, op.inputs[1:])
        inner = _Body(apart, graph, self._prefix(op, graph), self.runs, f"{self.written}{op.name}/branch/")
        self._pass(op.inputs[1:], inner)
        inner.walk(graph.outputs)
        return inner

    def _value(self, tensor: Any) -> Any:
        try:
            return _Values(self.holds).of(tensor)
        except _NotKnown:
            return None


def _traffic(op: Shaped, sizes: Sequence[float], made: Sequence[float]) -> dict[int, tuple[float, float]]:
    """Return, for each input, the bytes that one execution reads from the input and writes into it in
    place.
    """
    if op.op in BY_SHAPE or op.op in ("VarHandleOp", "Const"):
        return {}
    found = {index: (size, 0.0) for index, size in enumerate(sizes)}
    if op.op in PARTLY:
        found[0] = (sum(made), 0.0)
    elif op.op in ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"):
        found[0] = (0.0 if op.op == "AssignVariableOp" else sizes[1], sizes[1])
    elif op.op.startswith("ResourceApply"):
        whole = max(sizes, default=0.0)
        found |= {index: (whole, whole) for index, name in enumerate(op.given) if name == "resource"}
    elif op.op.startswith("ResourceScatter"):
        found[0] = (0.0 if op.op.endswith("Update") else sizes[-1], sizes[-1])
    elif op.op == "TensorListSetItem":
        found[0] = (0.0, 0.0)
    elif op.op in ("TensorListStack", "TensorListConcatV2"):
        found[0] = (sum(made), 0.0)
    return found


def _counted(op: Shaped) -> tuple[float | None, str]:
    try:
        return arithmetic(op), ""
    except Unknown:
        return (0.0, "") if op.op in NO_ARITHMETIC else (None, OPEN)
    except (IndexError, TypeError, ValueError):
        return None, ""


# Trip counts of loops.


class _NotKnown(Exception):
    """Raised for a value that depends on the data."""


def _origin(tensor: Any) -> Any:
    while tensor.op.type in ("Identity", "EnsureShape", "StopGradient"):
        tensor = tensor.op.inputs[0]
    return tensor


class _Values:
    """Evaluates small tensors as the runtime would. holds: known values, by tensor name."""

    def __init__(self, holds: Mapping[str, Any]) -> None:
        self._known: dict[str, Any] = dict(holds)

    def of(self, tensor: Any) -> Any:
        """Return the tensor's value. Raises _NotKnown if it depends on the data."""
        name = tensor.name
        if name not in self._known:
            self._known[name] = self._work_out(tensor)
        return self._known[name]

    def _work_out(self, tensor: Any) -> Any:
        from tensorflow.python.framework import tensor_util

        op = tensor.op
        unknown = op.type == "Placeholder" or op.type in LOOPS
        if unknown or tensor.dtype.name in HANDLES:
            raise _NotKnown
        if nbytes(tensor) > FOLDED:
            raise _NotKnown
        if op.type == "StridedSlice":
            return self._slice(op)
        made = _SMALL.get(op.type)
        if made is None:
            found = tensor_util.constant_value(tensor)
            if found is None:
                raise _NotKnown
            return found
        if op.type in ("LogicalAnd", "LogicalOr"):
            return self._logical(op)
        given = [self.of(t) for t in op.inputs]
        return np.asarray(made(*given), dtype=tensor.dtype.as_numpy_dtype)

    def _slice(self, op: Any) -> Any:
        masks = [op.get_attr(f"{name}_mask") for name in ("begin", "end", "shrink_axis")]
        given, *bounds = (np.asarray(self.of(t)) for t in op.inputs)
        if given.ndim != 1 or any(each.size != 1 for each in bounds) or any(mask > 1 for mask in masks):
            raise _NotKnown
        first, last, step = (int(each.reshape(())) for each in bounds)
        if masks[2]:
            return given[first]
        return given[slice(None if masks[0] else first, None if masks[1] else last, step)]

    def _logical(self, op: Any) -> Any:
        decides = op.type == "LogicalOr"
        known: list[bool] = []
        for each in op.inputs:
            try:
                known.append(bool(self.of(each)))
            except _NotKnown:
                continue
        if decides in known:
            return decides
        if len(known) < 2:
            raise _NotKnown
        return not decides


_SMALL: dict[str, Callable[..., Any]] = {
    "Identity": lambda x: x,
    "StopGradient": lambda x: x,
    "Cast": lambda x: x,
    "Add": np.add,
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "RealDiv": np.true_divide,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Less": operator.lt,
    "LessEqual": operator.le,
    "Greater": operator.gt,
    "GreaterEqual": operator.ge,
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "LogicalNot": np.logical_not,
    "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or,
    "Max": lambda x, axis: np.max(x, axis=tuple(np.atleast_1d(axis))) if np.size(x) else 0,
    "Min": lambda x, axis: np.min(x, axis=tuple(np.atleast_1d(axis))) if np.size(x) else 0,
    "Prod": lambda x, axis: np.prod(x, axis=tuple(np.atleast_1d(axis))),
    "SelectV2": np.where,
    "Select": np.where,
}


def _trips(condition: Any, body: Any, values: Sequence[Any]) -> tuple[int | None, dict[int, Any]]:
    """Return a loop's trip count, found by evaluating its counters, and the counters' final values by
    position.

    The trip count is None if it depends on the data. values: the loop's initial values; None for unknown
    values.
    """
    places = {t.name: i for i, t in enumerate(condition.inputs)}
    inner = {t.name: i for i, t in enumerate(body.inputs)}
    needed = {places[name] for name in _inputs_of(condition.outputs[0]) if name in places}
    waiting = list(needed)
    while waiting:
        index = waiting.pop()
        for name in _inputs_of(body.outputs[index]):
            if name in inner and inner[name] not in needed:
                needed.add(inner[name])
                waiting.append(inner[name])
    state = {i: values[i] for i in needed if values[i] is not None}
    trips = 0
    try:
        while bool(_Values({condition.inputs[i].name: v for i, v in state.items()}).of(condition.outputs[0])):
            trips += 1
            if trips > MOST_TRIPS:
                return None, {}
            known = _Values({body.inputs[i].name: v for i, v in state.items()})
            later: dict[int, Any] = {}
            for index in needed:
                try:
                    later[index] = known.of(body.outputs[index])
                except _NotKnown:
                    continue
            state = later
    except _NotKnown:
        return None, {}
    return trips, state


def _inputs_of(tensor: Any) -> set[str]:
    waiting, seen, found = [tensor.op], set(), set()
    while waiting:
        op = waiting.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        if op.type == "Placeholder":
            found.add(op.outputs[0].name)
        waiting += [t.op for t in op.inputs]
    return found


# Eager ops.


@contextmanager
def counting(arguments: Iterable[Any] = ()) -> Iterator["Recorder"]:
    """Count the eager ops and functions that this thread runs inside the context.

    Counting slows the ops down, so do not time them. arguments: tensors passed to the call.
    """
    from tensorflow.python.framework import op_callbacks

    recorder = Recorder(list(arguments))
    op_callbacks.add_op_callback(recorder)
    try:
        yield recorder
    finally:
        op_callbacks.remove_op_callback(recorder)


class Recorder:
    """A TensorFlow op callback that counts each eager op."""

    def __init__(self, arguments: list[Any]) -> None:
        from tensorflow.python.eager import context

        self.counted = Counted()
        self._context = context.context()
        self._serial = itertools.count()
        self._places: dict[int, tuple[weakref.ref[Any], Key]] = {}
        self._made: set[Key] = set()
        self.counted.arguments = [self.place(tensor) for tensor in arguments if _eager(tensor)]

    def place(self, tensor: Any) -> Key:
        known = self._places.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        key = ("eager", next(self._serial))
        self._places[id(tensor)] = weakref.ref(tensor), key
        self.counted.sizes[key] = _bytes(tensor)
        return key

    def _given(self, tensor: Any) -> Key:
        key = self.place(tensor)
        if key not in self._made and key not in self.counted.arguments:
            self.counted.state.add(key)
        return key

    def __call__(
        self, op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        if graph is not None:
            return
        op = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
        flat = [t for t in inputs if _eager(t)]
        results = [t for t in outputs or () if _eager(t)]
        if self._context.has_function(op):
            self._function(op, flat, results)
            return
        named = dict(zip(attrs[::2], attrs[1::2], strict=False)) if attrs else {}
        self._one(op, flat, results, named)

    def _one(self, op: str, flat: list[Any], results: list[Any], named: Mapping[Any, Any]) -> None:
        keys = [self._given(t) for t in flat]
        if op in ALIASES:
            for source, result in zip(keys, results, strict=False):
                self._places[id(result)] = weakref.ref(result), source
                self.counted.at_least(source, _bytes(result))
            return
        of = Shaped(
            op=op,
            inputs=tuple(shape_of(t) for t in flat),
            outputs=tuple(shape_of(t) for t in results),
            given=tuple(t.dtype.name for t in flat),
            made=tuple(t.dtype.name for t in results),
            attribute=lambda name: named[name] if name in named else named[name.encode()],
            value=lambda index: _small_value(flat[index]),
        )
        sizes, made = [_bytes(t) for t in flat], [_bytes(t) for t in results]
        reads, writes = self.counted.moves(of, keys, sizes, made, 1.0)
        for result in results:
            key = self.place(result)
            self._made.add(key)
            writes[key] = self.counted.sizes[key]
        found, why = _counted(of)
        kernel = op not in NO_LAUNCH and any(t.dtype.name not in HOST_DTYPES for t in results)
        held = stays(op, known(op).bound(of.given, of.made), of.made)
        self.counted.parts.append(
            Part(op, op, of.dtype, 1, found, reads, writes, kernel and not held, why, held)
        )

    def _function(self, name: str, flat: list[Any], results: list[Any]) -> None:
        graph = graph_of(name, [shape_of(t) for t in flat])
        if graph is None:
            self.counted.parts.append(Part(name, "a function", "", 1, None, {}, {}))
            return
        graphs = _Graphs()
        inner = graphs.whole(graph, list(graph.outputs), [shape_of(t) for t in flat], None)
        moved = {key: self._given(tensor) for key, tensor in zip(inner.arguments, flat, strict=False)}
        here = next(self._serial)
        for key, size in inner.sizes.items():
            self.counted.at_least(moved.setdefault(key, ("inside", here, key)), size)
        self.counted.state |= {moved[key] for key in inner.state if key in moved}
        for part in inner.parts:
            reads, writes = ({moved.get(k, k): v for k, v in of.items()} for of in (part.reads, part.writes))
            self.counted.parts.append(replace(part, reads=reads, writes=writes))
        for key, result in zip(graphs.handed, results, strict=False):
            mine = moved.get(key)
            if mine is None:
                self._made.add(self.place(result))
            else:
                self._places[id(result)] = weakref.ref(result), mine
                if mine not in inner.arguments and mine not in self.counted.state:
                    self._made.add(mine)

    def hand_back(self, results: Iterable[Any]) -> None:
        self.counted.results = {self.place(t): _bytes(t) for t in results if _eager(t)}


def loops_of(name: str, shapes: Sequence[Shape] = ()) -> dict[str, float]:
    graph = graph_of(name, shapes)
    if graph is None:
        return {}
    try:
        return of_graph(graph, graph.outputs, shapes).loops
    except Exception:  # if the graph cannot be counted, its trip counts are unknown
        return {}


def _eager(value: Any) -> bool:
    return hasattr(value, "backing_device")


def _bytes(tensor: Any) -> float:
    return float(nbytes(tensor))


def _small_value(tensor: Any) -> Any:
    if (nbytes(tensor) or FOLDED) >= FOLDED or not hasattr(tensor, "_numpy"):
        return None
    return tensor._numpy()  # the public method is watched, so calling it would count as a read
