"""Recognizes matrix products, elementwise chains, and single ops that move to another device."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from tuilab.documents.example import Example, inputs
from tuilab.documents.interpreter.tensors import matrix
from tuilab.documents.interpreter.trace import Region, TraceEvent
from tuilab.documents.interpreter.values import Known, Shape, Tensor, Value, elements
from tuilab.documents.recognise.found import Found, Gap, Result, loops_outside, placed, reason
from tuilab.documents.words import words

# Ops that only prepare data for other ops, or that occur in any workload.
MINOR = words(
    "tf.strided_slice tf.reshape tf.cast tf.identity tf.expand_dims tf.squeeze tf.transpose tf.concat",
    "tf.stack tf.compare tf.zeros tf.ones tf.constant tf.fill tf.range tf.print tf.Variable tf.shape",
    "tf.zeros_like tf.ones_like tf.eye tf.where",
)
NEGLIGIBLE = ("tf.reduce_", "tf.Variable.", "tf.random.")
"""Prefixes of ops that are often in a timed region but take little of its time."""
# Cheap elementwise ops, which the `elementwise` workload represents.
CHEAP = words(
    "tf.add tf.subtract tf.multiply tf.divide tf.truediv tf.maximum tf.minimum tf.negative tf.abs",
    "tf.square tf.add_n tf.nn.relu tf.squared_difference",
)


def matmuls(example: Example) -> Iterator[Result]:
    """Yield every matrix product, except those inside a pipeline or a layer."""
    for event in example.own("op"):
        if event.name != "tf.matmul" or event.place.mapped:
            continue
        result = _matmul(example, event)
        if isinstance(result, Gap) or _worth(example, event, result):
            yield result


# If a matrix product is neither timed nor in a device scope and has fewer multiplications than this, it only
# demonstrates the syntax. The first limit is for notebooks, the second for other documents.
_TOY, _SMALLEST = 128**3, 8**3


def _worth(example: Example, event: TraceEvent, found: Found) -> bool:
    """Return True if the matrix product is part of a benchmark; False if it only demonstrates the syntax."""
    m, k, n = (found.parameters[side] for side in ("m", "k", "n"))
    assert isinstance(m, int) and isinstance(k, int) and isinstance(n, int)
    scoped = bool(event.place.devices) and event.place.traced is None
    if not example.trace.regions and (scoped or example.facts.shows_placement):
        # Without a clock, the matrix product only shows where an op runs; it is not a benchmark.
        return False
    if not example.timed(event) and not event.place.devices and any(map(example.timed, example.own("op"))):
        return False  # the document times other ops
    if m * k * n >= (_TOY if example.block.notebook else _SMALLEST) or event.place.devices:
        return True
    # In a script, only a timed matrix product counts, because the script may time something else.
    return example.timed(event) if example.block.script else bool(example.regions or example.clocked)


def _matmul(example: Example, event: TraceEvent) -> Result:
    a, b = event.arguments.get("a"), event.arguments.get("b")
    left, right = matrix(event.arguments, "a"), matrix(event.arguments, "b")
    dtype = event.result.dtype if isinstance(event.result, Tensor) else None
    if left is None or right is None:
        return Gap(event.line, f"the matrix dimensions of tf.matmul: {reason(a if left is None else b)}")
    if dtype is None:
        return Gap(event.line, "the dtype of tf.matmul is unknown")
    if len(left) > 2 or len(right) > 2:
        return Gap(event.line, "no workload measures a batch of matrix products; matmul measures one product")
    m, k, n = left[0], left[1], right[1]
    if m is None or k is None or n is None or right[0] not in (k, None):
        return Gap(event.line, "the matrix dimensions of tf.matmul are unknown, or do not match")
    return placed(Found("matmul", {"m": m, "k": k, "n": n, "dtype": dtype}, event.line), event)


class _Calls(NamedTuple):
    """The loops around the ops in an example's graphs.

    inner: for each line with such an op, the number of loops around it inside the graph. loops: for each loop
    around a call of the graph: the op's name, the number of loops further out, and the number of iterations.
    """

    inner: dict[int, int]
    loops: set[tuple[str, int, int | None]]


def _calls(example: Example) -> _Calls:
    found = _Calls({}, set())
    later: dict[int, TraceEvent] = {}
    for event in reversed(example.events):
        graph = event.place.traced.graph if event.place.traced is not None else event.runs
        if event.kind == "graph":
            later[id(graph)] = event
        elif event.kind == "op" and event.place.traced is not None and id(graph) in later:
            around = later[id(graph)].place.loops
            found.inner[event.line] = len(event.place.loops) - len(around)
            found.loops.update((event.name, depth, loop.count) for depth, loop in enumerate(around))
    return found


def chains(example: Example) -> Iterator[Result]:
    """Yield an `elementwise` workload for the elementwise ops and small matrix products that a timed region
    repeats.

    The workload contains the ops of one unit of work: one call, if a timer or a loop repeats the calls of a
    graph or function; one iteration, if the code divides the time by the number of iterations; otherwise
    everything that the region times.
    """
    calls = _calls(example)
    for region in example.regions:
        groups: dict[tuple[Shape, str], list[TraceEvent]] = {}
        for event in example.trace.inside(region):
            if event.kind != "op" or event.place.mapped or event.name not in (*CHEAP, "tf.matmul"):
                continue
            operand = event.result
            # A large matrix product belongs to the `matmul` workload.
            if event.name == "tf.matmul" and (_size(operand) or 0) > _DISPATCH:
                continue
            if isinstance(operand, Tensor) and operand.shape is not None and operand.dtype is not None:
                groups.setdefault((operand.shape, operand.dtype), []).append(event)
        for (shape, dtype), events in groups.items():
            # An op on one element is a counter, not elementwise work.
            if elements(shape) == 1:
                continue
            yield from _chain(example, calls, region, shape, dtype, events)


# Up to this number of elements, an op costs only its dispatch.
_DISPATCH = 4_096


def _size(value: Value | None) -> int | None:
    return elements(value.shape) if isinstance(value, Tensor) else None


def _chain(
    example: Example, calls: _Calls, region: Region, shape: Shape, dtype: str, events: list[TraceEvent]
) -> Iterator[Result]:
    # The ops in one call of a graph form a chain. A loop around the calls does not make the chain longer.
    around = [_around(example, calls, region, event) for event in events]
    loops = [event.place.repeats_inside(k) for event, k in zip(events, around, strict=True)]
    count = None if None in loops else sum(n or 0 for n in loops)
    outside = len(example.trace.events[region.first].place.loops)
    repeated = any(
        e.name in CHEAP and e.place.traced is None and outside < k == len(e.place.loops)
        for e, k in zip(events, around, strict=True)
    )
    if count is not None and count < 2 and not repeated:
        return
    total = elements(shape)
    if count is None or total is None:
        yield Gap(events[0].line, "the number or the shape of the elementwise ops is unknown")
        return
    side = math.isqrt(total)
    if side * side != total:
        yield Gap(events[0].line, f"elementwise takes square matrices; {shape} has {total:,} elements")
        return
    if count > 1 and _merges(example, events):
        gap = "a graph merges these ops with Python numbers into one; the ops of elementwise take tensors"
        yield Gap(events[0].line, gap)
        return
    found = Found("elementwise", {"side": side, "ops": count, "dtype": dtype}, events[0].line)
    if count > 1 and all(event.place.traced is None for event in events):
        found.left_out.append(
            f"The document calls {count:,} ops one after the other, as the eager arms do; graph and XLA "
            "arms run them as one graph."
        )
    for event in events:
        placed(found, event)
    products = [event for event in events if event.name == "tf.matmul"]
    others = [event for event in events if event.name != "tf.matmul"]
    found.variants += [_chain_pattern(example, others)] if others else []
    if _takes_numbers(others) and "numbers" not in found.variants:
        found.left_out.append("The document adds Python numbers, which eager mode first makes into tensors.")
    found.variants += ["matmul"] if products else []
    yield found


def _chain_pattern(example: Example, events: list[TraceEvent]) -> str:
    """Return the variant of `elementwise` that matches these ops: `numbers`, `sums`, `add` or
    `add-multiply`.
    """
    if _takes_numbers(events) and len({event.name for event in events}) > 1:
        return "numbers"
    if any(event.name != "tf.add" for event in events):
        return "add-multiply"
    if all(_ADDED_TO.search(example.text(event.line)) for event in events):
        return "sums"
    return "add" if all(event.place.traced is None for event in events) else "add-multiply"


def _merges(example: Example, events: list[TraceEvent]) -> bool:
    """Return True if these ops only add numbers, or only multiply by numbers, and the example also runs such
    ops in a graph. The optimizer merges them into one.
    """
    (name, *others) = {event.name for event in events}
    return (
        not others
        and name in ("tf.add", "tf.multiply")
        and _takes_numbers(events)
        and any(event.place.traced is not None for event in example.trace.events if event.name == name)
    )


def _takes_numbers(events: list[TraceEvent]) -> bool:
    """Return True if an operand of most of the ops is a Python number."""
    numbers = sum(any(isinstance(each, Known) for each in event.arguments.values()) for event in events)
    return numbers > len(events) / 2


# A statement that adds to its own target: `y = y + x`, `y += x`.
_ADDED_TO = re.compile(r"\b(\w+)\s*(?:\+=|=(?!=).*\b\1\b)")


def _around(example: Example, calls: _Calls, region: Region, event: TraceEvent) -> int:
    """Return how many outer loops around an event only repeat the timed work. The inner loops are part of the
    work.
    """
    trace, loops = example.trace, event.place.loops
    graph = event.place.graph
    for call in trace.events[event.index : region.last] if graph is not None else ():
        if call.kind == "graph" and call.runs is graph:
            return len(call.place.loops)
    outside = loops_outside(trace, region)
    waits = (e.place.loops for e in trace.inside(region) if e.kind == "sync")
    around = [k for wait in waits for k in range(len(loops) + 1) if wait[:k] == loops[:k]]
    if region.divided:
        around += [
            k
            for k in range(len(loops) + 1)
            if all(region.line <= loop.line <= region.last_line for loop in loops[outside:k])
        ]
    if event.place.traced is None:
        if event.line in calls.inner:
            around.append(len(loops) - calls.inner[event.line])
        if len(loops) > outside and (event.name, outside, loops[outside].count) in calls.loops:
            around.append(outside + 1)
    return min(max((outside, *around)), len(loops))


def timed_ops(example: Example, found: Found) -> int:
    """Return the number of ops in the timed region that runs the workload, including ops that the workload
    does not measure. With several such regions, return the largest number.
    """
    calls = _calls(example)
    return max((_ops_in(example, calls, region, found.lines) for region in example.regions), default=0)


def _ops_in(example: Example, calls: _Calls, region: Region, lines: set[int]) -> int:
    events = [e for e in example.trace.inside(region) if e.kind == "op" and not e.place.mapped]
    events = [e for e in events if e.name not in MINOR and not e.name.startswith(NEGLIGIBLE)]
    if not any(event.line in lines for event in events):
        return 0
    return sum(e.place.repeats_inside(_around(example, calls, region, e)) or 1 for e in events)


def detours(example: Example) -> Iterator[Result]:
    """Yield a `pingpong` workload for ops in a CPU scope inside a GPU scope."""
    pinned = [e for e in example.own("op") if _is_pinned(e)]
    if not pinned:
        return
    event = pinned[0]
    shapes = {t.shape for t in inputs(event)}
    shape = shapes.pop() if len(shapes) == 1 else None
    tensors = inputs(event)
    dtype = tensors[0].dtype if tensors else None
    if shape is None or len(shape) != 2 or shape[0] != shape[1] or shape[0] is None or dtype is None:
        yield Gap(event.line, "the op pinned to the CPU: pingpong takes square matrices of a known size")
        return
    outer = next(s for s in event.place.devices if "GPU" in s.families)
    products = [
        e
        for e in example.events
        if e.name == "tf.matmul" and outer in e.place.devices and e.place.families == ("GPU",)
    ]
    detour_count = min(len(pinned), max(1, len(products)))
    found = Found(
        "pingpong",
        {"side": shape[0], "length": max(1, len(products)), "detours": detour_count, "dtype": dtype},
        event.line,
    )
    for part in [*pinned, *products]:
        found.lines.add(part.line)
    found.devices.add("GPU")
    yield found


def _is_pinned(event: TraceEvent) -> bool:
    scopes = event.place.devices
    if len(scopes) < 2 or scopes[-1].families != ("CPU",) or not isinstance(event.result, Tensor):
        return False
    return any(scope.families == ("GPU",) for scope in scopes[:-1])
