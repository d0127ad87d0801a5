"""Measures how much time a call saves without a layer: the layer's recorded result replaces the layer.

A profile cannot show the cost of a layer that contains a loop: the loop's ops are too short for the profiler,
and the time between two ops belongs to neither.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tuilab.analysis.layers import SHARE_PRECISION
from tuilab.analysis.statistics import estimate
from tuilab.model.account import Account
from tuilab.model.models import LayerWork
from tuilab.model.ops import LOOPS
from tuilab.worker.measure.bench import Bench, TimedArm
from tuilab.worker.measure.functions import HANDLES, own_arguments
from tuilab.worker.measure.layers import Layers
from tuilab.worker.measure.optimised import shape_of

ROUNDS, FEWEST, WARM = 15, 7, 5
"""Maximum and minimum number of rounds, and number of untimed calls before the rounds. Fewer than six rounds
give no interval.
"""
LAYER_S, ARM_S = 2.0, 4.0
"""LAYER_S: maximum seconds for the rounds of one layer. ARM_S: seconds after which no other layer of the arm
is started.
"""
MOST_BYTES = 2**28
FED = "tuilab_fed"
_SOURCES = ("Placeholder", "Const")


def with_savings(
    bench: Bench, cell: TimedArm, account: Account, layers: Sequence[LayerWork]
) -> tuple[LayerWork, ...]:
    """Return the layers, with the measured saving of each layer whose share of the call is uncertain in the
    profile.
    """
    wide = {layer.name: layer for layer in layers if _width(layer, account) > SHARE_PRECISION / 2}
    ends, done = time.monotonic() + ARM_S, dict[str, LayerWork]()
    for name, layer in sorted(wide.items(), key=lambda item: -_width(item[1], account)):
        if time.monotonic() > ends or bench.request.sweep or cell.call_s * 4 * FEWEST > LAYER_S:
            break
        try:
            saved = _saved_share(bench, cell, name)
        except Exception as error:
            bench.log_error(cell.arm.id, f"{name} could not be removed", error)
            continue
        if saved is not None:
            done[name] = msgspec.structs.replace(layer, saved=saved)
    return tuple(done.get(layer.name, layer) for layer in layers)


def _width(layer: LayerWork, account: Account) -> float:
    return layer.looping * account.share("dispatch")


def _saved_share(bench: Bench, cell: TimedArm, layer: str) -> tuple[float, float, float] | None:
    """Return the share of a call that removing the layer saves, with its interval; None if it is unknown.

    In each round, the calls with and without the layer take turns: with, without, without, with.
    """
    case, stopwatch, tf = cell.case, bench.stopwatch_of(cell), bench.context.tf
    concrete = case.function.get_concrete_function(*case.arguments)  # type: ignore[union-attr]
    whose = Layers(bench.workload.layers, cell.of_graph.parts if cell.of_graph is not None else ())
    mine = {op.name for op in concrete.graph.get_operations() if whose.of(op.name, op.type)[0] == layer}
    with case.scope():
        run = removed(tf, concrete, mine, case.arguments)
        if run is None:
            return None
        copy_in, copy_out, arguments = case.copy_in, case.copy_out, case.arguments

        def cut() -> object:
            results = run(copy_in() if copy_in is not None else arguments)
            return copy_out(results) if copy_out is not None else results

        for _ in range(WARM):
            cut()
        shares = list[float]()
        for _ in range(max(FEWEST, min(ROUNDS, int(LAYER_S / (4 * cell.call_s * cell.calls))))):
            bench.check()
            whole, part, again, last = (
                stopwatch.time(call, cell.calls) for call in (case.call, cut, cut, case.call)
            )
            shares.append(1 - (part + again) / (whole + last))
    found = estimate(shares)
    if found is None or found.low is None or found.high is None:
        return None
    return found.median, found.low, found.high


def removed(
    tf: Any, concrete: Any, mine: Collection[str], arguments: Sequence[Any]
) -> Callable[[Any], list[Any]] | None:
    """Return a function that computes the graph without the ops `mine`, after one run that records their
    results.

    Returns None if none of these ops is a loop, or if the results are too large to keep.
    """
    graph = concrete.graph
    if not any(op.type in LOOPS for op in graph.get_operations() if op.name in mine):
        return None
    border = _Border.of(graph, mine)
    definition = graph.as_graph_def()
    held = [t for op in border.results for t in op.outputs]

    def imported(definition: Any, given: Any, fed: Mapping[str, Any], wanted: Sequence[str]) -> list[Any]:
        capture = tf.compat.v1.get_default_graph().capture
        inputs = [*own_arguments(concrete, given), *map(capture, concrete.captured_inputs)]
        sources = {old.name: new for old, new in zip(graph.inputs, inputs, strict=True)}
        found: list[Any] = tf.graph_util.import_graph_def(
            definition, input_map={**sources, **fed}, return_elements=list(wanted), name=""
        )
        return found

    def compiled(function: Callable[..., list[Any]]) -> Any:
        return tf.function(function, autograph=False)

    kept = compiled(lambda given: imported(definition, given, {}, [t.name for t in held]))(arguments)
    if sum(int(tf.size(t)) * t.dtype.size for t in kept if t.dtype.name not in HANDLES) > MOST_BYTES:
        return None
    # The call also returns the layer's inputs, because the optimizer drops ops whose results nothing reads.
    wanted = [t.name for t in (*graph.outputs, *border.reads) if t.dtype.name not in HANDLES]
    short = without(definition, border)

    def cut(given: Any, fed: Sequence[Any]) -> list[Any]:
        return imported(short, given, {f"{FED}_{n}:0": each for n, each in enumerate(fed)}, wanted)

    call = compiled(cut)
    count = len(graph.outputs)
    return lambda given: call(given, kept)[:count]


@dataclass(frozen=True)
class _Border:
    """The border of a layer in a graph.

    results: the layer's ops that ops outside read, each with the names of the outside ops that it depends on.
    reads: the tensors from outside that the layer reads.
    """

    results: Mapping[Any, Collection[str]]
    reads: Sequence[Any]
    within: Collection[str]

    def passed(self, op: Any) -> str:
        """Return the name of the layer's only input if `op` is the layer's only result and has the input's
        shape and dtype; else "".
        """
        if len(self.results) != 1 or len(op.outputs) != 1 or len(self.reads) != 1:
            return ""
        (result,), (read,) = op.outputs, self.reads
        same = read.dtype == result.dtype and shape_of(read) is not None and read.shape == result.shape
        return str(read.name) if same else ""

    @classmethod
    def of(cls, graph: Any, mine: Collection[str]) -> "_Border":
        inside = [op for op in graph.get_operations() if op.name in mine and op.type not in _SOURCES]
        within = {op.name for op in inside}
        used = {t.op.name for op in graph.get_operations() if op.name not in within for t in op.inputs}
        used |= {t.op.name for t in graph.outputs}
        reads = {
            t.name: t
            for op in inside
            for t in op.inputs
            if t.op.name not in within and t.op.type not in _SOURCES
        }
        results = {op: _before(op, within, reads) for op in inside if op.name in used}
        return cls(results, list(reads.values()), within)


def _before(op: Any, within: Collection[str], reads: Collection[str]) -> set[str]:
    waiting, seen, found = [op], set[str](), set[str]()
    while waiting:
        op = waiting.pop()
        if op.name not in seen:
            seen.add(op.name)
            found |= {t.op.name for t in op.inputs if t.name in reads}
            waiting += [t.op for t in op.inputs if t.op.name in within]
    return found


def without(definition: Any, border: _Border) -> Any:
    """Return the graph without the layer's ops.

    Each result that other ops read is replaced by a fed value. The fed value waits for the layer's inputs, so
    that the ops after the layer do not run at the same time as the ops before it. If the layer's only input
    has the shape and dtype of its only result, the input replaces the result, because TensorFlow merges ops
    across the gap, such as the transposes of two recurrent layers.
    """
    results = {op.name: (op, before) for op, before in border.results.items()}
    short = type(definition)(library=definition.library, versions=definition.versions)
    count = 0
    for node in definition.node:
        if node.name in results:
            op, before = results[node.name]
            passed = border.passed(op)
            stand = short.node.add(
                name=node.name, op="Identity" if passed else "IdentityN", device=node.device
            )
            if passed:
                stand.attr["T"].type = op.outputs[0].dtype.as_datatype_enum
                stand.input.append(passed)
            for t in op.outputs:
                fed = short.node.add(name=f"{FED}_{count}", op="Placeholder")
                fed.attr["dtype"].type = t.dtype.as_datatype_enum
                count += 1
                if not passed:
                    stand.attr["T"].list.type.append(t.dtype.as_datatype_enum)
                    stand.input.append(fed.name)
            if not passed:
                stand.input.extend(f"^{name}" for name in sorted(before))
        elif node.name not in border.within:
            left = short.node.add()
            left.CopyFrom(node)
            del left.input[:]
            left.input.extend(
                name
                for name in node.input
                if name[:1] != "^" or name[1:] in results or name[1:] not in border.within
            )
    return short
