"""Rules for compared figures that do not measure the same work."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tuilab.documents.example import Example, inputs
from tuilab.documents.interpreter.trace import WORK, Region, TraceEvent
from tuilab.documents.interpreter.values import (
    Known,
    Layer,
    Tensor,
    Value,
    elements,
)
from tuilab.documents.judge.purpose import COMPARED, DEVICES, are_alike
from tuilab.documents.rules.regions import makes_data
from tuilab.documents.rules.rule import Hit, rule
from tuilab.documents.timing import Timing

# Maximum number of elements for which an eager op's time is only its dispatch.
_SMALL = 4_096
_COMPUTES = ("op", "graph", "train", "host-op")


@rule("TL111", "Comparison of different work", "warning")
def unlike_work(example: Example) -> Iterator[Hit]:
    """Two compared timings do different work, or are totals over different numbers of iterations.

    Why: The ratio reflects the work, not the devices.

    Instead: Time the same work on both sides, and divide by the iterations.

    Wrong:
        tf.matmul(x, y)
        with tf.device('CPU:0'):
            t = time.perf_counter()
            tf.matmul(x, y).numpy()
            a = time.perf_counter() - t
        with tf.device('GPU:0'):
            u = time.perf_counter()
            tf.matmul(x, tf.exp(y)).numpy()
            b = time.perf_counter() - u

    Right:
        tf.matmul(x, y)
        with tf.device('CPU:0'):
            t = time.perf_counter()
            tf.matmul(x, y).numpy()
            a = time.perf_counter() - t
        with tf.device('GPU:0'):
            u = time.perf_counter()
            tf.matmul(x, y).numpy()
            b = time.perf_counter() - u
    """
    told: set[tuple[int, int]] = set()
    for one, other in _pairs(example):
        lines = one.region.line, other.region.line
        if lines in told or one.unresolved or other.unresolved:
            continue
        message, remedy = _difference(example, one, other)
        if message:
            told.add(lines)
            yield Hit(other.region.line, message, remedy, timing=other)


def _pairs(example: Example) -> Iterator[tuple[Timing, Timing]]:
    known, trace = example.timings, example.trace
    if len(known) == 1 and example.block.notebook:
        # A notebook may time one device per cell: compare this cell with the previous one.
        before = [r for r in trace.regions if r.block == example.block.number - 1 and not r.discarded]
        earlier = [example.timing_of[region] for region in before if region in example.timing_of]
        if len(earlier) == 1 and earlier[0].device:
            yield earlier[0], known[0]
    called = Counter(_bare(timing.region) for timing in known)
    for one, other in pairwise(known):
        # If both labels occur exactly twice, each timing is compared with the other timing of the same label
        # instead.
        names = _bare(one.region), _bare(other.region)
        if names[0] == names[1] or any(called[name] != 2 for name in names):
            yield one, other
    for other in known:
        for number in sorted(other.region.beside):
            region = trace.regions[number]
            if region.first < other.region.first and region in example.timing_of:
                yield example.timing_of[region], other


def _bare(region: Region) -> str:
    return DEVICES.sub("_", region.name)


def _difference(example: Example, one: Timing, other: Timing) -> tuple[str, str]:
    """Return a phrase for the difference between the work of two timings, and a remedy for it; two empty
    strings if the timings do the same work.
    """
    first, second = _signature(one.events), _signature(other.events)
    if not first or not second:
        return "", ""
    # If one line times several sizes in succession, it is a sweep.
    sweeps = one.region.line == other.region.line and {k[:2] for k in first} == {k[:2] for k in second}
    apart = _work_of_all_sizes(example, one) ^ _work_of_all_sizes(example, other)
    if {one.device, other.device} == {"CPU", "GPU"} and set(first) != set(second) and apart and not sweeps:
        return f"CPU and GPU do different work: only one of them has {min(map(_named, apart))}", ""
    makes = [any(makes_data(event) for event in timing.events) for timing in (one, other)]
    computes = [any(e.kind in _COMPUTES for e in timing.events) for timing in (one, other)]
    if makes[0] != makes[1] and all(computes) and are_alike(one.label, other.label):
        return "only one of the two compared times includes generating its data", ""
    precisions = _precisions(example, one.events, other.events)
    if precisions:
        return (
            f"{precisions}: the two sides compute in different precisions",
            "Use the same dtype on both sides.",
        )
    if set(first) != set(second) or one.region.divided or other.region.divided:
        return "", ""
    if not _is_meant(one, other):
        return "", ""
    counts = one.repetitions, other.repetitions
    if None not in counts and counts[0] != counts[1]:
        what = "epochs" if any(e.kind == "train" for e in other.events) else "iterations"
        return (
            f"totals of {counts[0]:,} and of {counts[1]:,} {what} are compared",
            f"Divide each time by its {what}.",
        )
    return "", ""


def _precisions(example: Example, one: list[TraceEvent], other: list[TraceEvent]) -> str:
    """Return a phrase with both dtypes if NumPy and TensorFlow compute the same function in different
    precisions; else "".
    """
    for host, op in ((one, other), (other, one)):
        numpy = {_function(e): _input_dtype(e) for e in host if e.kind == "host-op"}
        for event in (_node(example, e) for e in op if e.kind in ("op", "graph")):
            wanted = numpy.get(_function(event))
            if wanted is not None and {wanted, _input_dtype(event)} in _UNLIKE:
                return f"NumPy's {_function(event)} uses {wanted}, TensorFlow's uses {_input_dtype(event)}"
    return ""


def _node(example: Example, event: TraceEvent) -> TraceEvent:
    """Return the event that created the value that a session fetches; the event itself unless there is
    exactly one such value.
    """
    return example.trace.maker(event.runs) or event


def _function(event: TraceEvent) -> str:
    word = event.name.rpartition(".")[2]
    return _ALIKE.get(word, word)


_ALIKE = {"matrix_inverse": "inv", "matrix_determinant": "det", "dot": "matmul"}


_UNLIKE = ({"float64", "float32"}, {"complex128", "complex64"}, {"float64", "complex64"})


def _input_dtype(event: TraceEvent) -> str:
    found = {tensor.dtype or "" for tensor in inputs(event)}
    return found.pop() if len(found) == 1 else ""


_OTHER_PART = re.compile(
    r"\b(?:warm\w*|burn|total|first|initial|rest|remaining|build|set-?up|load\w*|epoch|step)\b", re.IGNORECASE
)


def _is_meant(one: Timing, other: Timing) -> bool:
    return not (_OTHER_PART.search(one.label) or _OTHER_PART.search(other.label))


Signature = Counter[tuple[str, str, object]]


def _signature(events: list[TraceEvent]) -> Signature:
    """Count events by kind, name, and the shape and dtype of their result."""
    out: Signature = Counter()
    for event in events:
        if event.kind in COMPARED and event.place.traced is None:
            shape = event.result.shape if isinstance(event.result, Tensor) else None
            dtype = event.result.dtype if isinstance(event.result, Tensor) else None
            out[event.kind, event.name, (shape, dtype)] += 1
    return out


def _work_of_all_sizes(example: Example, timing: Timing) -> set[tuple[str, str, object]]:
    """Return the work of a timing at all sizes that the code times on the same line."""
    found = set(_signature(timing.events))
    kinds = {key[:2] for key in found}
    same = (other for other in example.timings if other.region.line == timing.region.line)
    others = (set(_signature(other.events)) for other in same)
    return found.union(*(work for work in others if {key[:2] for key in work} == kinds))


def _named(work: tuple[str, str, object]) -> str:
    _, name, detail = work
    shape = detail[0] if isinstance(detail, tuple) else None
    return f"{name} of shape {shape}" if shape else name


@rule("TL117", "Comparison of identical work", "warning")
def nothing_differs(example: Example) -> Iterator[Hit]:
    """Two timings are labeled as different methods, but do the same work in the same way.

    Why: The two times differ only by the first call's cost and noise.

    Instead: Change the compared setting between the two timings, and rebuild the model if it needs that.

    Wrong:
        f = tf.function(tf.matmul)
        f(x, y).numpy()
        t = time.perf_counter()
        f(x, y).numpy()
        print('without XLA', time.perf_counter() - t)
        # XLA is turned on here.
        t = time.perf_counter()
        f(x, y).numpy()
        print('with XLA', time.perf_counter() - t)

    Right:
        f = tf.function(tf.matmul)
        f(x, y).numpy()
        t = time.perf_counter()
        f(x, y).numpy()
        print('without XLA', time.perf_counter() - t)
        f = tf.function(tf.matmul, jit_compile=True)
        f(x, y).numpy()
        t = time.perf_counter()
        f(x, y).numpy()
        print('with XLA', time.perf_counter() - t)
    """
    for before, after in pairwise(example.timings):
        one, other = before.region, after.region
        if one.last > other.first or one.line == other.line or before.unresolved or after.unresolved:
            continue
        work = _same(after.events)
        if not work or _same(before.events) != work or not _are_ways(example, before, after):
            continue
        between = example.trace.events[one.last : other.first]
        code = "\n".join(example.uncommented(n) for n in range(one.last_line + 1, other.line))
        if any(e.kind in _CHANGES for e in between) or _SETS.search(code):
            continue
        yield Hit(
            other.line,
            f"this repeats the work of line {one.line}: nothing in between changes how it runs",
            timing=after,
        )


_CHANGES = ("config", "build", "opaque", "import", "dataset")
_SETS = re.compile(
    r"environ|putenv|\bset_|\benable|\bdisable|policy|=\s*(?:True|False)\b|^\s*[!%]", re.MULTILINE
)
# Words in labels that distinguish two ways to do the same thing.
_WAYS = re.compile(
    r"\b(?:with(?:out)?|enabled?|disabled?|un\w*optimi[sz]ed|optimi[sz]ed|xla|jit|onednn|mkl|avx\w*|fma|eager|graph"
    r"|cudnn|mixed|fp(?:16|32)|cached?|prefetch\w*|quanti[sz]ed|tensor ?rt)\b",
    re.IGNORECASE,
)


def _are_ways(example: Example, one: Timing, other: Timing) -> bool:
    """Return True if the labels of two timings name different methods. For timings without labels, comments
    count.
    """
    if bool(one.region.told) != bool(other.region.told):
        return False
    first, second = (f"{timing.label} {_above(example, timing.region)}" for timing in (one, other))
    ways = {w.lower() for w in _WAYS.findall(first)} ^ {w.lower() for w in _WAYS.findall(second)}
    return bool(ways) and not _OTHER_PART.search(f"{first} {second}")


def _above(example: Example, region: Region) -> str:
    if region.told or region.name:
        return ""
    return " ".join(example.comment(n) for n in range(region.line - 4, region.last_line + 1))


def _same(events: list[TraceEvent]) -> Counter[tuple[str, str, tuple[str, ...]]]:
    """Count the events by name, by inputs and repetitions, and by device."""
    if not any(event.kind in COMPARED for event in events):
        return Counter()
    found: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for event in events:
        if event.kind not in _SAYS_NOTHING and event.place.traced is None:
            given = {name: _which(value) for name, value in sorted(event.arguments.items())}
            what = f"{_which(event.runs)} {given} {event.place.repeats}"
            found[event.name, what, event.place.families] += 1
    return found


_SAYS_NOTHING = ("print", "clock", "python", "bind", "query")


def _which(value: Value | None) -> str:
    if isinstance(value, Tensor):
        return f"{value.shape} {value.dtype}"
    if isinstance(value, Layer):
        # Two identical layers do the same work.
        lines = [(k, v) for k, v in sorted(value.arguments.items()) if k != "name" and (k, v) not in _USUAL]
        given = {k: _which(v) for k, v in lines}
        return f"{value.name} {given}"
    return repr(value.value) if isinstance(value, Known) else str(id(value))


# Arguments and default values that do not change how a layer runs.
_USUAL = (("implementation", Known(2)),)


@rule("TL112", "Only dispatch compared", "warning")
def dispatch_bound(example: Example) -> Iterator[Hit]:
    """Two ops, or CPU and GPU, are compared at a size where both times are only dispatch.

    Why: At this size, dispatch dominates, and it costs the same for every op.

    Instead: Compare at sizes where computing dominates, and sweep the size.

    Wrong:
        s = tf.ones((4, 4))
        t = time.perf_counter()
        for _ in range(10):
            a = s + s
        a.numpy()
        one = time.perf_counter() - t
        t = time.perf_counter()
        for _ in range(10):
            a = s @ s
        a.numpy()
        two = time.perf_counter() - t

    Right:
        t = time.perf_counter()
        for _ in range(10):
            a = x + x
        a.numpy()
        one = time.perf_counter() - t
        t = time.perf_counter()
        for _ in range(10):
            a = x @ x
        a.numpy()
        two = time.perf_counter() - t
    """
    # Lines that time large work, perhaps besides tiny work, as in a sweep over sizes.
    swept = {timing.region.line for timing in example.timings if not _is_tiny(timing.events)}
    for first, second in pairwise(example.timings):
        # Both lines count as tiny only if every timing on them does tiny work.
        tiny = not {first.region.line, second.region.line} & swept
        if tiny and {first.device, second.device} == {"CPU", "GPU"}:
            names = " and ".join(dict.fromkeys(e.name for e in second.events if e.kind in COMPARED))
            yield Hit(
                second.region.line,
                "the devices are compared at a size where computing is negligible: both times are the "
                "cost of calling "
                f"{names}, so they do not compare CPU with GPU",
                "Compare at sizes where computing dominates, and sweep the size.",
            )
            continue
        one, other = _single(first.events), _single(second.events)
        if one is None or other is None or one.name == other.name:
            continue
        sizes = [elements(e.result.shape) for e in (one, other) if isinstance(e.result, Tensor)]
        if len(sizes) == 2 and all(size is not None and size <= _SMALL for size in sizes):
            shape = one.result.shape if isinstance(one.result, Tensor) else ()
            side = "× ".join(str(s) for s in shape or ())
            yield Hit(
                other.line,
                f"the ops are compared at a size where computing is negligible: at {side or 'this size'} "
                "both "
                f"{one.name} and {other.name} cost only their dispatch",
            )


def _is_tiny(events: list[TraceEvent]) -> bool:
    work = [e for e in events if e.kind in WORK and e.kind not in ("python", "host-create")]
    if not any(e.kind == "op" for e in work) and not all(e.kind == "create" for e in work):
        return False
    for event in work:
        if event.kind not in ("op", "create") or event.place.traced is not None:
            return False
        sizes = [elements(t.shape) for t in (event.result, *inputs(event)) if isinstance(t, Tensor)]
        if not sizes or any(size is None or size > _SMALL for size in sizes):
            return False
    return bool(work)


def _single(events: list[TraceEvent]) -> TraceEvent | None:
    ops = [e for e in events if e.kind in COMPARED]
    return ops[0] if len(ops) == 1 and ops[0].kind == "op" and ops[0].place.traced is None else None
