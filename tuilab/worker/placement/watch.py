"""Watches one call: its eager ops, the copies that the code requests, and the graphs of its functions."""

import itertools
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tuilab.model.ops import ARGUMENTS, RESULTS
from tuilab.worker.measure.functions import behind
from tuilab.worker.measure.optimised import nbytes
from tuilab.worker.placement.graphs import pipelines as given_to_pipelines
from tuilab.worker.placement.names import short
from tuilab.worker.placement.pipelines import Body, body

_serial = itertools.count()

# A graph with only these ops is TensorFlow's wrapper of one eager constant, not user code.
_WRAPPING = ARGUMENTS | RESULTS | {"_EagerConst"}


@dataclass(frozen=True)
class Tensor:
    """An op's input or output.

    device: the device of the op that produced the tensor. memory: the device that holds the tensor.
    """

    dtype: str
    device: str
    memory: str


@dataclass(frozen=True)
class EagerOp:
    """One kind of eager op, however often it ran.

    scope: the device scope of the op; "" for none. device: the device that ran the op. fresh: for each input,
    True if the input has no copy on that device yet.
    """

    op: str
    scope: str
    device: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    fresh: tuple[bool, ...] = ()


@dataclass
class FunctionCall:
    """A tf.function call.

    graphs: the function's graphs as optimized and partitioned by the runtime; none under XLA. shapes: the
    shapes of the arguments; for a variable's handle, the variable's shape. arguments, for XLA functions only:
    the argument tensors. fresh, for XLA functions only: for each argument, True if it has no copy on the
    program's device yet.
    """

    name: str
    scope: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    shapes: tuple[tuple[int, ...] | None, ...]
    graphs: list[Any]
    xla: bool
    count: int = 1
    arguments: tuple[Any, ...] = ()
    fresh: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Copy:
    """A copy between devices, made by eager execution for an op or requested by the code."""

    what: str
    dtype: str
    source: str
    to: str


@dataclass
class WatchedCall:
    """All observations of a call, in the order of first appearance.

    pipelines: the functions passed to tf.data, by name. strangers: tensors that this call did not produce, on
    a device other than that of the eager op that uses them.
    """

    ops: dict[EagerOp, int] = field(default_factory=dict)
    sizes: dict[EagerOp, list[int]] = field(default_factory=dict)
    calls: list[FunctionCall] = field(default_factory=list)
    copies: dict[Copy, tuple[int, int]] = field(default_factory=dict)
    order: list[EagerOp | FunctionCall | Copy] = field(default_factory=list)
    pipelines: dict[str, Body] = field(default_factory=dict)
    strangers: list["weakref.ref[Any]"] = field(default_factory=list)

    def residents(self) -> list[Any]:
        return [tensor for tensor in (ref() for ref in self.strangers) if tensor is not None]

    def op(self, op: EagerOp, sizes: Sequence[int]) -> None:
        if op not in self.ops:
            self.order.append(op)
            self.ops[op] = 0
            self.sizes[op] = [0] * len(sizes)
        self.ops[op] += 1
        self.sizes[op] = [a + b for a, b in zip(self.sizes[op], sizes, strict=True)]

    def call(self, call: FunctionCall) -> None:
        """Count one call of a function. The runtime exports the function's graphs only for the first of equal
        calls.
        """
        if not call.graphs:
            for earlier in self.calls:
                if (earlier.name, earlier.inputs) == (call.name, call.inputs):
                    earlier.count += 1
                    return
        self.calls.append(call)
        self.order.append(call)

    def copy(self, copy: Copy, size: int) -> None:
        if copy not in self.copies:
            self.order.append(copy)
        count, total = self.copies.get(copy, (0, 0))
        self.copies[copy] = count + 1, total + size


@contextmanager
def watching(residents: Sequence[Any] = ()) -> Iterator[WatchedCall]:
    """Watch what this thread executes. Removes every hook at the end, so later timing is not affected.

    The runtime exports a function's graphs only when it instantiates the function. So functions that have run
    before are instantiated once more, under equivalent options and without being retraced. residents: tensors
    that earlier calls used in the same way, so they already have copies on other devices.
    """
    from tensorflow.python.eager import context as eager
    from tensorflow.python.framework import op_callbacks
    from tensorflow.python.ops import gen_control_flow_ops

    seen = WatchedCall()
    ctx = eager.context()
    ctx.ensure_initialized()
    recorder = _Recorder(ctx, seen, residents)
    options = ctx.function_call_options
    marked = _marked(eager, ctx, options)
    plain_call = ctx.call_function

    def call_function(name: bytes, *rest: Any) -> Any:
        # Leave the options of XLA functions alone: with other options, XLA would compile again, and it
        # exports no graph anyway.
        ctx.function_call_options = options if is_xla(ctx, name) else marked
        return plain_call(name, *rest)

    ctx.call_function = call_function
    ctx.enable_graph_collection()
    # An op that failed under observation leaves its graph behind. Run any op to export that graph, then drop
    # it.
    gen_control_flow_ops.no_op()
    ctx.export_run_metadata()
    op_callbacks.add_op_callback(recorder)
    try:
        with _copies_seen(seen):
            yield seen
    finally:
        op_callbacks.remove_op_callback(recorder)
        ctx.disable_graph_collection()
        del ctx.call_function
        ctx.function_call_options = options


def _marked(eager: Any, ctx: Any, options: Any) -> Any:
    from tensorflow.core.protobuf import config_pb2

    config = config_pb2.ConfigProto()
    config.CopyFrom(ctx.config)
    # Only collective ops read this value, but it is part of the key under which the runtime caches a
    # function.
    config.experimental.collective_group_leader = f"tuilab-{next(_serial)}"
    return eager.FunctionCallOptions(executor_type=options.executor_type, config_proto=config)


def is_xla(ctx: Any, name: str | bytes) -> bool:
    attributes = ctx.get_function_def(name).attr
    return "_XlaMustCompile" in attributes and bool(attributes["_XlaMustCompile"].b)


class _Recorder:
    """The op callback. TensorFlow calls it after each eager op and for each op added to a graph."""

    def __init__(self, ctx: Any, seen: WatchedCall, residents: Sequence[Any]) -> None:
        self._ctx, self._seen = ctx, seen
        self._residents = {id(tensor): tensor for tensor in residents}
        # The runtime keeps a tensor's copy with the tensor, so a second op on that device copies nothing.
        self._copied: dict[tuple[int, str], weakref.ref[Any]] = {}
        self._made: set[int] = set()

    def __call__(
        self, op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        if graph is not None:
            return
        op = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
        flat = [t for t in inputs if hasattr(t, "backing_device")]
        given = tuple(_tensor(t) for t in flat)
        results = [t for t in outputs or () if hasattr(t, "backing_device")]
        for tensor in results:
            self._made.add(id(tensor))
            weakref.finalize(tensor, self._made.discard, id(tensor)).atexit = False
        made = tuple(_tensor(t) for t in results)
        scope = short(self._ctx.device_name or "")
        graphs = self._graphs()
        if self._ctx.has_function(op):
            self._seen.call(self._function(op, scope, flat, given, made, graphs))
        else:
            device = ran_on(given, made, scope)
            fresh = tuple(self._fresh(t, device) for t in flat)
            self._seen.op(EagerOp(op, scope, device, given, made, fresh), [nbytes(t) for t in flat])
            if "Dataset" in op:
                self._given(_function_names(attrs))

    def _given(self, names: Iterable[str]) -> None:
        """Store the bodies of functions passed to tf.data, because these functions may be deleted after the
        call.
        """
        for name in names:
            if name not in self._seen.pipelines and (nodes := body(name)):
                self._seen.pipelines[name] = nodes

    def _fresh(self, tensor: Any, device: str) -> bool:
        """Return True if an op on `device` needs a new copy of the tensor, because no earlier op on `device`
        used it.

        A small integer on the op's own GPU may need a copy, because the kernel may read it from host memory.
        """
        here = short(tensor.backing_device)
        if id(tensor) in self._residents or (here == device and not _may_go_to_host(tensor, device)):
            return False
        known = self._copied.get((id(tensor), device))
        if known is not None and known() is tensor:
            return False
        self._copied[id(tensor), device] = weakref.ref(tensor)
        if id(tensor) not in self._made:
            self._seen.strangers.append(weakref.ref(tensor))
        return True

    def _graphs(self) -> list[Any]:
        metadata = self._ctx.export_run_metadata()
        return [
            g
            for g in metadata.function_graphs
            if not all(n.op in _WRAPPING for p in g.partition_graphs for n in p.node)
        ]

    def _function(
        self, name: str, scope: str, flat: list[Any], given: Any, made: Any, graphs: list[Any]
    ) -> FunctionCall:
        xla = is_xla(self._ctx, name)
        shapes = tuple(_shape(t) for t in flat)
        for graph in graphs:
            self._given(given_to_pipelines(graph))
        call = FunctionCall(name, scope, given, made, shapes, graphs, xla)
        if xla:
            device = ran_on(given, made, scope)
            call.arguments = tuple(flat)
            call.fresh = tuple(self._fresh(t, device) for t in flat)
        return call


def _may_go_to_host(tensor: Any, device: str) -> bool:
    return device.startswith("GPU") and tensor.dtype.name in ("int32", "int64")


def ran_on(inputs: Sequence[Tensor], outputs: Sequence[Tensor], scope: str) -> str:
    if outputs:
        return outputs[0].device
    return next((t.device for t in inputs if t.dtype == "resource"), scope or "CPU:0")


def _function_names(attrs: Sequence[Any]) -> list[str]:
    names = [value.name for value in attrs[1::2] if hasattr(value, "function_def")]
    return [name.decode() if isinstance(name, bytes) else str(name) for name in names]


def _tensor(tensor: Any) -> Tensor:
    return Tensor(tensor.dtype.name, short(tensor.device), short(tensor.backing_device))


def _shape(tensor: Any) -> tuple[int, ...] | None:
    shape = tensor.shape
    if tensor.dtype.name == "resource":
        held = behind(tensor)
        if len(held) != 1 or held[0].shape.unknown_rank:
            return None
        sizes = tuple(dim.size for dim in held[0].shape.dim)
        return sizes if all(size >= 0 for size in sizes) else None
    return tuple(shape) if shape.is_fully_defined() else None


@contextmanager
def _copies_seen(seen: WatchedCall) -> Iterator[None]:
    """Watch for `.numpy()`, `.cpu()` and similar calls, which are not ops."""
    from tensorflow.python.framework import ops

    base = ops.EagerTensor.__mro__[1]
    to_host, to_device = base._numpy, base._copy_nograd

    def numpy(tensor: Any) -> Any:
        source = short(tensor.backing_device)
        if not source.startswith("CPU"):
            seen.copy(Copy("numpy()", tensor.dtype.name, source, "CPU:0"), nbytes(tensor))
        return to_host(tensor)

    def copy(tensor: Any, ctx: Any = None, device_name: Any = None) -> Any:
        made = to_device(tensor, ctx, device_name)
        source, to = short(tensor.backing_device), short(made.backing_device)
        if source != to:
            seen.copy(Copy("copy()", tensor.dtype.name, source, to), nbytes(tensor))
        return made

    base._numpy, base._copy_nograd = numpy, copy
    try:
        yield
    finally:
        base._numpy, base._copy_nograd = to_host, to_device
