"""Bounds the speedup of a watched program on a GPU that is not present. Pure functions.

Counts each tf.function's work from the shapes in its graphs. The data sheet gives the minimum time for this
work and its copies. The rest of the program is assumed to take the same time as now. Unknown work counts as
zero, so the program may gain less than the bound, but not more.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from msgspec.structs import replace

from tuilab.analysis.bound import GpuCall
from tuilab.analysis.bound_words import parts_words
from tuilab.analysis.words import percent
from tuilab.model.arithmetic import Shape, Shaped, Unknown, arithmetic
from tuilab.model.datasheets import SHEETS, USUAL, DataSheet
from tuilab.model.ops import HIDDEN, HOST_ONLY, ITERATORS, MOVES, NO_LAUNCH, OWN_KERNEL, PLUMBING
from tuilab.model.program import Graph, HostOp, OnGpu
from tuilab.model.roofline import GpuBound, Work
from tuilab.model.shapes import ITEM_BYTES
from tuilab.program.case import Case
from tuilab.program.findings.common import batches
from tuilab.program.fold import INPUT, Calls, Process
from tuilab.program.graph import ops_of

_NUMBERED = re.compile(r"^(?:__inference_)?(.*?)(?:_\d+)*$")
_UNCOUNTED = re.compile(r"cond|__forward|__backward|case")
"""Names of graphs that are not counted: branches, of which a call runs only one, and repetitions of counted
work.
"""
KNOWN = 0.5
"""There is a bound only if the work is known for at least this share of the graphs' time."""
MOST_NAMED = 20


@dataclass(frozen=True)
class Bounded:
    here_s: float
    there_s: float
    bound: GpuBound | None


def on_a_gpu(case: Case, card: str = "") -> OnGpu | None:
    """Return the maximum gain from a GPU model; None if a GPU is present or TensorFlow has not started."""
    facts, sheet = case.of.facts, SHEETS[card or USUAL]
    if facts is None or not facts.opened or case.gpus:
        return None
    stays = tuple(stays_on_cpu(case))
    rows = [
        _bounded(case, number, calls, sheet)
        for number, calls in case.of.calls.items()
        if isinstance(number, int)
    ]
    here = sum(row.here_s for row in rows)
    known = [row for row in rows if row.bound is not None]
    whole = case.lasted_s

    def without(reason: str) -> OnGpu:
        return OnGpu(card=card or USUAL, name=sheet.name, reason=reason, stays_on_cpu=stays)

    if not rows or not whole:
        return without("its ops run one by one from Python, so there is no graph whose work could be counted")
    if isinstance(case.of.step, tuple):
        return without("its step runs op by op from Python, so there is no graph whose work could be counted")
    if not known or sum(row.here_s for row in known) < KNOWN * here:
        return without("the input shapes of most of its graphs are unknown")
    there = sum(min(row.here_s, row.there_s) for row in known)
    left = max(whole - here, 0.0) + there
    most = whole / left if left > 0 else None
    longest = max(known, key=lambda row: row.there_s)
    assert longest.bound is not None
    if whole - here > there:
        limited = f"{percent((whole - here) / whole)} of the program's time, which a GPU cannot speed up"
    else:
        limited = f"a call of its graph, which takes at least {parts_words(longest.bound)}"
    return OnGpu(card=card or USUAL, name=sheet.name, at_most=most, limited_by=limited, stays_on_cpu=stays)


def _bounded(case: Case, number: int, calls: Calls, sheet: DataSheet) -> Bounded:
    """Return the bound for one function's calls, except calls that traced."""
    of, here = case.of, calls.spent
    host = 0.0
    if number == of.step and of.seen:
        held = sum(row.seconds for row in ops_of(of) if row.kind in HOST_ONLY)
        total = of.profiled_step_s
        inside = of.share(INPUT) if of.kind == "keras" else 0.0
        host = min(1.0, inside + (held / total if total else 0.0))
    here *= 1 - host
    graphs = list(of.graphs.get(number, {}).values())
    work = work_of(graphs, batches(of).get("batch")) if graphs else None
    if work is None or not calls.n:
        return Bounded(here, 0.0, None)
    calls_with_arrays, size = of.fed.get(number, (0, 0))
    if calls_with_arrays:
        fed = size / calls_with_arrays * min(1.0, calls_with_arrays / calls.n)
        work = replace(work, to_device=max(work.to_device, fed))
    kernels = max(1, round(work.kernels or 0))
    bound = GpuCall(work=work, host=None, mode="graph", kernels=kernels).on(sheet)
    return Bounded(here, (calls.n - len(calls.traced)) * bound.seconds, bound)


def work_of(graphs: Iterable[Graph], batch: int | None) -> Work | None:
    """Return the minimum work of one call of these graphs, some of which may be traces of one function.

    Returns None if no op has known shapes. batch: the size of an unknown first dimension.
    """
    alike: dict[str, list[_Counted]] = defaultdict(list)
    for graph in graphs:
        if _UNCOUNTED.search(graph.name) is None:
            alike[_NUMBERED.sub(r"\1", graph.name)].append(_count(graph, batch))
    # Of several traces of a function, use the one with the least work.
    least = [min(some, key=lambda each: sum(each.flop.values())) for some in alike.values()]
    if not any(each.known for each in least):
        return None
    flop: dict[str, float] = defaultdict(float)
    for each in least:
        for dtype, value in each.flop.items():
            flop[dtype] += value
    state: dict[str, float] = {}
    for each in least:
        state |= each.state
    uncounted = tuple(dict.fromkeys(op for each in least for op in each.uncounted))
    return Work(
        flop=sum(flop.values()),
        by_dtype=dict(flop),
        dtype=max(flop, key=lambda dtype: flop[dtype], default="float32"),
        inputs=max((each.inputs for each in least), default=0.0),
        to_device=max((each.drawn for each in least), default=0.0),
        outputs=0.0,
        state=sum(state.values()),
        kernels=float(sum(each.kernels for each in least)),
        uncounted=uncounted[:10],
    )


@dataclass
class _Counted:
    flop: dict[str, float]
    state: dict[str, float]
    uncounted: list[str]
    inputs: float = 0.0
    drawn: float = 0.0
    """Bytes from an iterator, which the host prepares and copies to the GPU."""
    kernels: int = 0
    known: bool = False


def _count(graph: Graph, batch: int | None) -> _Counted:
    out = _Counted(defaultdict(float), {}, [])
    for (name, op, *_), row in zip(graph.nodes, graph.shapes, strict=False):
        if len(row) != 3:
            continue
        taken, made, words = row
        shaped = Shaped(
            op=op,
            inputs=tuple(_filled(shape, batch) for shape, _ in taken),
            outputs=tuple(_filled(shape, batch) for shape, _ in made),
            given=tuple(str(kind) for _, kind in taken),
            made=tuple(str(kind) for _, kind in made),
            attribute=words.get,
        )
        if op in ITERATORS or op == "Placeholder":
            size = sum(_bytes(s, d) for s, d in zip(shaped.outputs, shaped.made, strict=True))
            out.inputs += size
            out.drawn += size if op in ITERATORS else 0.0
        elif op == "ReadVariableOp":
            out.state[name] = sum(_bytes(s, d) for s, d in zip(shaped.outputs, shaped.made, strict=True))
        # The optimizer may fuse small ops, but each op in OWN_KERNEL needs at least one kernel of its own.
        out.kernels += op in OWN_KERNEL
        try:
            found = arithmetic(shaped)
        except (Unknown, IndexError, TypeError, ValueError):
            found = None
        if found is None:
            out.uncounted.append(op)
        else:
            out.known = out.known or found > 0
            out.flop[shaped.dtype] += found
    return out


def _filled(shape: Any, batch: int | None) -> Shape:
    """Return the shape with an unknown first dimension set to the batch size; None if another is unknown."""
    if shape is None:
        return None
    sides = [batch if side is None and n == 0 else side for n, side in enumerate(shape)]
    known = tuple(int(side) for side in sides if side is not None)
    return known if len(known) == len(sides) else None


def _bytes(shape: Shape, dtype: str) -> float:
    if shape is None or dtype in ("resource", "string", "variant"):
        return 0.0
    return float(prod(shape) * ITEM_BYTES.get(dtype, 4))


def stays_on_cpu(case: Case) -> Iterator[HostOp]:
    """Yield the ops without a GPU kernel in the functions that ran, one op per user line."""
    of, seen = case.of, set[tuple[str, str, int]]()
    for op, _, file, line in of.nodes.values():
        if op in NO_LAUNCH | MOVES | HIDDEN | ITERATORS or op.startswith(PLUMBING):
            continue
        why = _no_kernel(of, op)
        if why and (op, file, line) not in seen and len(seen) < MOST_NAMED:
            seen.add((op, file, line))
            yield HostOp(op=op, file=file, line=line, reason=why)


def _no_kernel(of: Process, op: str) -> str:
    kernels = of.kernels.get(op)
    built = any("GPU" in devices for devices in of.kernels.values())
    if kernels is None or not built:  # a CPU build of TensorFlow lists no GPU kernels
        return f"TensorFlow has no GPU kernel for {op}" if op in HOST_ONLY else ""
    if "GPU" not in kernels and "DEFAULT" not in kernels:
        return f"TensorFlow has no GPU kernel for {op}"
    return ""
