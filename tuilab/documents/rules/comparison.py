"""Figures set side by side that do not measure the same work."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import Event, Region
from tuilab.documents.interpreter.values import Tensor, elements
from tuilab.documents.rules.regions import regions
from tuilab.documents.rules.rule import Hit, rule

# Elements up to which an eager op's time is the cost of dispatching it.
SMALL = 4_096
_COMPARED = ("op", "graph", "train", "copy", "create", "host-create", "host-op", "iterate", "codec")


@rule("TL111", "Comparison of different work", "warning")
def unlike_work(example: Example) -> Iterator[Hit]:
    """Timings of CPU and GPU that differ in their work, or totals of unlike counts.

    Why: The ratio tells the difference of the work, not of the devices.

    Instead: Give both the same work, and divide by the iterations.

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
    known = list(regions(example))
    for (one, before), (other, after) in pairwise(known):
        first, second = _signature(before), _signature(after)
        if not first or not second or any(e.kind == "opaque" for e in before + after):
            continue
        places = {_family(before), _family(after)}
        if places == {"CPU", "GPU"} and set(first) != set(second):
            less = sorted(_words(set(first) ^ set(second)))
            yield Hit(
                other.line, f"the CPU's and the GPU's times are of different work: only one has {less[0]}"
            )
        elif set(first) == set(second) and not (one.divided or other.divided):
            counts = _count(example, one, before), _count(example, other, after)
            if None not in counts and counts[0] != counts[1]:
                yield Hit(
                    other.line,
                    f"totals of {counts[0]:,} and of {counts[1]:,} iterations are compared",
                    "Divide each time by its iterations.",
                )


Signature = Counter[tuple[str, str, object]]


def _signature(events: list[Event]) -> Signature:
    """The work of a region: kinds, names and the shapes of what is made."""
    out: Signature = Counter()
    for event in events:
        if event.kind in _COMPARED and event.place.traced is None:
            shape = event.result.shape if isinstance(event.result, Tensor) else None
            dtype = event.result.dtype if isinstance(event.result, Tensor) else None
            out[event.kind, event.name, (shape, dtype)] += 1
    return out


def _words(keys: set[tuple[str, str, object]]) -> set[str]:
    words = set()
    for _, name, detail in keys:
        shape = detail[0] if isinstance(detail, tuple) else None
        words.add(f"{name} of shape {shape}" if shape else name)
    return words


def _family(events: list[Event]) -> str:
    found = {e.place.families[0] for e in events if e.kind in _COMPARED and len(e.place.families) == 1}
    return found.pop() if len(found) == 1 else ""


def _count(example: Example, region: Region, events: list[Event]) -> int | None:
    """How often the region's work runs, None where its parts differ or are not known."""
    outside = len(example.trace.events[region.first].place.loops)
    counts: set[int | None] = set()
    for event in events:
        if event.kind in ("op", "graph") and event.place.traced is None:
            counts.add(event.place.repeats_inside(outside))
    return counts.pop() if len(counts) == 1 else None


@rule("TL112", "Comparison where nothing computes", "warning")
def dispatch_bound(example: Example) -> Iterator[Hit]:
    """Different ops compared at a size at which both only cost their dispatch.

    Why: At this size each op costs its dispatch, which is the same for all.

    Instead: Compare at sizes at which the arithmetic shows, and sweep the size.

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
    known = list(regions(example))
    for (_, before), (_, after) in pairwise(known):
        one, other = _single(before), _single(after)
        if one is None or other is None or one.name == other.name:
            continue
        sizes = [elements(e.result.shape) for e in (one, other) if isinstance(e.result, Tensor)]
        if len(sizes) == 2 and all(size is not None and size <= SMALL for size in sizes):
            shape = one.result.shape if isinstance(one.result, Tensor) else ()
            side = " × ".join(str(s) for s in shape or ())
            yield Hit(
                other.line,
                f"unlike ops are compared where neither computes much: at {side or 'this size'} both "
                f"{one.name} and {other.name} cost their dispatch, so the times say nothing about either",
            )


def _single(events: list[Event]) -> Event | None:
    """The one eager op that a region repeats."""
    ops = [e for e in events if e.kind in _COMPARED]
    return ops[0] if len(ops) == 1 and ops[0].kind == "op" and ops[0].place.traced is None else None
