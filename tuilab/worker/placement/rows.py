"""Turns observed calls into rows of the placement log."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tuilab.analysis.operations import plain
from tuilab.analysis.words import listed
from tuilab.model.arms import family
from tuilab.model.events import XLA_PROGRAM, Node
from tuilab.model.ops import ALWAYS_ON_HOST, MOVES
from tuilab.worker.measure.counting import loops_of
from tuilab.worker.measure.optimised import nbytes
from tuilab.worker.placement import graphs, xla
from tuilab.worker.placement.kernels import HOST, OpKernels, Types, argument_at
from tuilab.worker.placement.pipelines import placed as placed_in_pipeline
from tuilab.worker.placement.reasons import (
    PIPELINE,
    Forecast,
    Placed,
    Surroundings,
    causes,
    forecast,
    sentence,
)
from tuilab.worker.placement.registry import known
from tuilab.worker.placement.shapes import Sizes
from tuilab.worker.placement.watch import Copy, EagerOp, FunctionCall, WatchedCall, ran_on

IN_BRANCH = "in a branch, which may not run"


@dataclass(frozen=True)
class Row:
    """A row of the log.

    runs: True if the call dispatches the op or its graphs contain the op. works: True if the op computes;
    False if it only passes data on. pipeline: True if the op belongs to a function passed to tf.data.
    would: the forecast for a GPU. instead: the ops that a GPU would run in place of the op, if any.
    arithmetic: estimated number of operations in an XLA program; None if unknown. at_most: True if the op
    is in a branch, which may not run.
    """

    node: Node
    runs: bool = False
    works: bool = False
    pipeline: bool = False
    would: Forecast | None = None
    instead: tuple[str, ...] = ()
    arithmetic: float | None = None
    at_most: bool = False


class Rows:
    def __init__(self, around: Surroundings, hlo: bool = True) -> None:
        self._around, self._hlo = around, hlo

    def of(self, seen: WatchedCall) -> Iterator[Row]:
        for item in seen.order:
            if isinstance(item, EagerOp):
                yield from self._eager(item, seen.ops[item], seen.sizes[item])
            elif isinstance(item, Copy):
                count, size = seen.copies[item]
                yield Row(_copy_row(item, size, count, "this device was requested"))
            elif item.xla:
                yield from self._xla(item)
            else:
                yield from self._function(item)
        for body in seen.pipelines.values():
            for name, placed in placed_in_pipeline(body, self._around):
                yield self.node(placed, name, placed.op)

    def node(self, placed: Placed, name: str, op: str, count: int = 1, note: str = "") -> Row:
        """Return one op's row with its reason. `placed.op` is the op to look up in the registry."""
        kernels = known(placed.op)
        would = forecast(kernels, placed.types, self._around.gpu_kernels)
        if placed.pipeline and family(placed.requested) != "GPU":
            would = Forecast(False, PIPELINE)
        found = causes(placed, kernels, self._around)
        reason = sentence(found, would)
        node = Node(
            name=name,
            op=op,
            device=placed.observed,
            memory=placed.memory if placed.memory != placed.observed else "",
            dtype=placed.types.get(kernels.main, ""),
            requested=placed.requested,
            reason=f"{reason} ({note})" if note else reason,
            count=count,
            gpu=would.gpu,
            evidence="; ".join(dict.fromkeys([*(r.evidence for r in found), would.reason.evidence])),
            code=found[0].code,
        )
        outside = not placed.pipeline
        return Row(node, outside, outside and op not in MOVES, placed.pipeline, would)

    def _eager(self, item: EagerOp, count: int, sizes: Sequence[int]) -> Iterator[Row]:
        kernels = known(item.op)
        types = kernels.bound([t.dtype for t in item.inputs], [t.dtype for t in item.outputs])
        handle = next((t.device for t in item.inputs if t.dtype == "resource"), "")
        device = item.device
        host = _host_inputs(kernels, types, device, len(item.inputs))
        for index, tensor in enumerate(item.inputs):
            wanted = HOST if index in host or tensor.dtype == "resource" else device
            if tensor.memory != wanted and item.fresh[index] and tensor.dtype != "resource":
                copy = Copy(f"input {index} of {item.op}", tensor.dtype, tensor.memory, wanted)
                yield Row(_copy_row(copy, sizes[index], count, f"{item.op} runs on {device}"))
        placed = Placed(
            op=item.op,
            types=types,
            requested=item.scope,
            observed=device,
            memory=item.outputs[0].memory if item.outputs else "",
            resource_on=handle,
        )
        yield self.node(placed, item.op, item.op, count)

    def _function(self, call: FunctionCall) -> Iterator[Row]:
        for graph in call.graphs:
            written = graphs.flattened(graph.pre_optimization_graph)
            sizes = Sizes(graph.post_optimization_graph, call.shapes)
            loops = loops_of(call.name, call.shapes) if graphs.loops(graph) else {}
            for copy in graphs.copies(graph, sizes):
                yield Row(_sent(copy, call.count))
            for op in graphs.ops(graph, written):
                yield self._graph_op(op, call, graphs.executions(op.name, loops))
            for gone in graphs.folded(graph, written):
                dtype = gone.types.get(known(gone.op).main, "")
                yield Row(
                    Node(
                        name=gone.name,
                        op=gone.op,
                        device="",
                        kind="folded",
                        dtype=dtype,
                        requested=gone.requested,
                        reason=gone.why,
                    )
                )

    def _graph_op(self, op: graphs.GraphOp, call: FunctionCall, times: int) -> Row:
        shown = plain(op.op)
        if op.xla:
            return Row(_cluster(op.name, op.device, op.requested or call.scope, call.count), True, True)
        kernels = known(shown)
        kernel = kernels.on_gpu(op.types) if family(op.device) == "GPU" else None
        host = set(kernels.host_arguments(kernel, op.types)) if kernel else set[str]()
        on_host = bool(kernels.outputs) and kernels.outputs[0].name in host
        placed = Placed(
            op=self._asked(shown, op),
            types=op.types,
            requested=op.requested or call.scope,
            observed=op.device,
            memory=HOST if on_host else op.device,
            resource_on=op.resource_on,
            colocated_with=op.colocated_with,
        )
        branch, parts = graphs.is_in_branch(op.name), op.written if placed.op != shown else ()
        instead = parts if all(self._runs_on_gpu(part, op.types) for part in parts) else ()
        notes = (
            f"as {op.op} of oneDNN" if shown != op.op else "",
            f"in place of {listed(instead)}, which a GPU would run" if instead else "",
            IN_BRANCH if branch else "",
        )
        row = self.node(placed, op.name, shown, call.count * times, "; ".join(filter(None, notes)))
        return replace(row, at_most=branch, instead=instead)

    def _asked(self, shown: str, op: graphs.GraphOp) -> str:
        """Return the op to look up in the registry: `shown`, the optimizer's op, if a GPU would run it.
        Otherwise, return an original op that `shown` replaces, preferably an op that no GPU would run.
        """
        if not op.written or self._runs_on_gpu(shown, op.types):
            return shown
        stuck = (written for written in op.written if not self._runs_on_gpu(written, op.types))
        return next(stuck, op.written[-1])

    def _runs_on_gpu(self, op: str, types: Types) -> bool:
        return forecast(known(op), types, self._around.gpu_kernels).gpu

    def _xla(self, call: FunctionCall) -> Iterator[Row]:
        device = ran_on(call.inputs, call.outputs, call.scope)
        name = function_name(call.name)
        for index, tensor in enumerate(call.inputs):
            if tensor.memory != device and call.fresh[index] and tensor.dtype not in ALWAYS_ON_HOST:
                copy = Copy(f"input {index} of {name}", tensor.dtype, tensor.memory, device)
                size = nbytes(call.arguments[index]) * call.count
                yield Row(_copy_row(copy, size, call.count, f"{name} runs on {device}"))
        ops, work = xla.compiled(call) if self._hlo else ((), None)
        yield Row(_cluster(name, device, call.scope, call.count), True, True, arithmetic=work)
        for op in ops:
            origin = f", from {op.came_from}" if op.came_from else ""
            yield Row(
                Node(
                    name=f"{name}/{op.name}{origin}",
                    op=f"hlo {op.op}",
                    device=device,
                    dtype=op.dtype,
                    requested=call.scope,
                    reason="inside the XLA program",
                    count=call.count,
                )
            )


def _host_inputs(kernels: OpKernels, types: Mapping[str, str], device: str, total: int) -> set[int]:
    kernel = kernels.on_gpu(types) if family(device) == "GPU" else None
    if kernel is None:
        return set()
    names = set(kernels.host_arguments(kernel, types))
    positions = ((i, argument_at(kernels.inputs, i, total)) for i in range(total))
    return {i for i, a in positions if a is not None and kernels.inputs[a].name in names}


def _copy_row(copy: Copy, size: int, count: int, reason: str) -> Node:
    return Node(
        name=copy.what,
        op="copy",
        device=copy.source,
        kind="copy",
        to=copy.to,
        dtype=copy.dtype,
        reason=reason,
        bytes=size,
        count=count,
    )


def _sent(copy: graphs.GraphCopy, count: int) -> Node:
    reason = f"produced on {copy.source}, needed on {copy.to}"
    if copy.on_host:
        reason += "; it stays in host memory"
    if copy.bytes is None:
        reason += "; its size depends on the data"
    return Node(
        name=copy.name,
        op=copy.op,
        device=copy.source,
        kind="copy",
        to=copy.to,
        memory=HOST if copy.on_host else "",
        dtype=copy.dtype,
        reason=reason,
        bytes=(copy.bytes or 0) * count,
        count=count,
    )


def _cluster(name: str, device: str, requested: str, count: int) -> Node:
    return Node(
        name=name,
        op=XLA_PROGRAM,
        device=device,
        requested=requested,
        reason="XLA compiled the function as one program for this device",
        count=count,
    )


def function_name(name: str) -> str:
    """Return the user's name of a function: `__inference_step_123` → `step`."""
    for prefix in ("__inference_", "__forward_", "__backward_"):
        name = name.removeprefix(prefix)
    stem, _, number = name.rpartition("_")
    return stem if stem and number.isdigit() else name
