"""First calls: tracing, compiling, allocating and starting, mixed into a figure."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import WORK, Event, Region
from tuilab.documents.interpreter.values import integer
from tuilab.documents.rules.regions import holds_others, is_lap, is_opaque, regions
from tuilab.documents.rules.rule import Hit, rule

# So many eager calls hide the first one's cost.
MANY = 1_000
# Statistics that a slow first sample does not move.
_ROBUST = re.compile(r"\b(?:median|min|percentile|quantile)\s*\(|\[\s*[1-9]\d*\s*:\s*\]|\.sort\(\)|trim")


def first_calls(example: Example) -> Iterator[tuple[Region, Event, int | None]]:
    """Regions whose work was never done before, with that work and how often they do it."""
    robust = bool(_ROBUST.search(example.block.code))
    for region, events in regions(example):
        if region.repeats or holds_others(example, region) or is_lap(example, region):
            continue
        work = _main_work(events)
        # What is not known may have run it before, in this function or whoever calls it.
        if work is None or is_opaque(events) or example.trace.events[region.first].place.uncalled:
            continue
        if example.facts.ran_before(work, region.first) or _says_so(example, region):
            continue
        count = _repeats_inside(example, region, work)
        eager = work.kind == "op"
        if eager and count is not None and count >= MANY:
            continue
        if _is_sampled(example, region):
            # Each time by itself, or a statistic that the first does not move.
            if robust or not region.gathered:
                continue
            count = None
        yield region, work, count


# Words by which code says that first calls are left out, or meant.
_WARM = re.compile(
    r"warm|burn[- _]?in|first (?:call|run|step|batch|epoch|iteration)|cold|\btrac(?:e|es|ed|ing)\b"
    r"|compil(?:e|es|ing|ation) time|includ\w+ (?:compil|trac|build)|one[- ]time|skip|ignore|start-?up",
    re.IGNORECASE,
)


def _says_so(example: Example, region: Region) -> bool:
    """Whether comments and names near a timing say that it is warm, or means the first call."""
    if "warm" in example.near(region, 40, 40).lower():
        return True
    return bool(_WARM.search(_WORDS.sub(" ", example.near(region, 12, 6))))


# Calls of Keras' own compile(), and what looks like the words and is not.
_WORDS = re.compile(
    r"jit_compile|\.compile\(|skip_?(?:gram|connect)\w*|_skip|trace_on|ignore_errors|ignore_index"
)


def _main_work(events: list[Event]) -> Event | None:
    """What the region is there for: a graph, a training, or eager ops."""
    unclear = any(event.kind == "opaque" for event in events)
    for kind in ("graph", "train", "op"):
        # Beside a call that is not known, single ops do not tell whether the whole ran before.
        if kind == "op" and unclear:
            return None
        found = [e for e in events if e.kind == kind and e.place.traced is None]
        if found:
            # What runs most often is meant, and not the slice that it takes.
            return max(found, key=lambda e: (len(e.place.loops), e.name not in _MINOR))
    return None


_MINOR = ("tf.strided_slice", "tf.reshape", "tf.cast", "tf.squeeze", "tf.expand_dims", "tf.transpose")


def _repeats_inside(example: Example, region: Region, work: Event) -> int | None:
    """How often the work runs between the readings: by the loops that are inside of them."""
    return work.place.repeats_inside(len(example.trace.events[region.first].place.loops))


def _is_sampled(example: Example, region: Region) -> bool:
    """Whether a loop around the region takes several samples."""
    loops = example.trace.events[region.first].place.loops
    return any(not loop.unrolled and loop.count != 1 for loop in loops)


@rule("TL104", "No warm-up", "warning")
def no_warm_up(example: Example) -> Iterator[Hit]:
    """Several calls are timed, the first of which is a first call.

    Why: The first call traces, compiles, loads kernels and takes memory; the others share its time.

    Instead: Call the function a few times before the clock starts.

    Wrong:
        t = time.perf_counter()
        for _ in range(20):
            z = tf.matmul(x, y)
        z.numpy()
        print(time.perf_counter() - t)

    Right:
        tf.matmul(x, y)
        t = time.perf_counter()
        for _ in range(20):
            z = tf.matmul(x, y)
        z.numpy()
        print(time.perf_counter() - t)
    """
    for region, work, count in first_calls(example):
        if count != 1:
            yield Hit(
                region.line,
                f"nothing ran {_name(work)} before the clock starts: {_cost(work)}",
                region=region,
            )


@rule("TL105", "First call timed", "warning")
def first_call_timed(example: Example) -> Iterator[Hit]:
    """A single call is timed, and it is the first.

    Why: The figure is mostly the cost of starting, which is paid once.

    Instead: Time a later call, and give the first call's time apart.

    Wrong:
        f = tf.function(tf.matmul)
        t = time.perf_counter()
        f(x, y).numpy()
        print(time.perf_counter() - t)

    Right:
        f = tf.function(tf.matmul)
        f(x, y)
        t = time.perf_counter()
        f(x, y).numpy()
        print(time.perf_counter() - t)
    """
    for region, work, count in first_calls(example):
        if count == 1:
            epochs = work.arguments.get("epochs")
            long = work.kind == "train" and epochs is not None and integer(epochs) != 1
            yield Hit(
                region.line,
                f"the one call of {_name(work)} that is timed is its first: {_cost(work)}",
                "Report the time of its first epoch separately." if long else "",
                region=region,
                severity="note" if long else None,
            )


def _name(work: Event) -> str:
    return work.name if work.kind != "train" else f"{work.name}()"


def _cost(work: Event) -> str:
    if work.kind == "graph":
        return "it is traced and optimised then, and compiled where XLA does"
    if work.kind == "train":
        return "its step is traced and made a graph then"
    return "kernels are loaded and memory is taken then"


@rule("TL106", "Warm-up that does nothing", "error")
def warms_nothing(example: Example) -> Iterator[Hit]:
    """A loop in front of a timing that only binds names.

    Why: The function is as cold after it as before.

    Instead: Call the function in the warm-up, as the timed code does.

    Wrong:
        z = tf.matmul(x, y)
        for _ in range(3):
            w = z
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print(time.perf_counter() - t)

    Right:
        for _ in range(3):
            w = tf.matmul(x, y)
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print(time.perf_counter() - t)
    """
    known = [region for region, _ in regions(example)]
    last_start = max((region.first for region in known), default=-1)
    for loop in example.loops:
        if loop.unrolled or not loop.first <= loop.last < last_start:
            continue
        events = example.trace.events[loop.first : loop.last + 1]
        binds = any(event.kind == "bind" for event in events)
        if binds and not any(event.kind in WORK for event in events) and not example.timed(events[0]):
            yield Hit(
                loop.line, "this warm-up does nothing: its loop only binds a name to a value already there"
            )


@rule("TL109", "Pipeline started in the timed region", "warning")
def iterator_start(example: Example) -> Iterator[Hit]:
    """A pipeline is started inside the timed region, for the first time.

    Why: Starting threads and filling buffers takes as long as many batches.

    Instead: Take the first batches before the clock starts, from the same iterator.

    Wrong:
        d = tf.data.Dataset.range(999).batch(8)
        t = time.perf_counter()
        for b in d:
            b.numpy()
        print(time.perf_counter() - t)

    Right:
        d = tf.data.Dataset.range(999).batch(8)
        for b in d:
            b.numpy()
        t = time.perf_counter()
        for b in d:
            b.numpy()
        print(time.perf_counter() - t)
    """
    for region, events in regions(example):
        if holds_others(example, region):
            continue
        for event in events:
            if event.kind != "iterate":
                continue
            if not example.facts.started_before(event.arguments.get("dataset"), region.first):
                yield Hit(
                    event.line,
                    "the pipeline is started inside the timed region: the time to its first batch counts too",
                    region=region,
                )


@rule("TL110", "A loop that should train and does not", "warning")
def trains_nothing(example: Example) -> Iterator[Hit]:
    """A timed loop over a pipeline that leaves out what it says it does.

    Why: Input and training overlap; without the step nothing shows whether the device waits.

    Instead: Run the step on each batch, and measure how long it waits for input.

    Wrong:
        d = tf.data.Dataset.range(999).batch(8)
        for b in d: pass
        t = time.perf_counter()
        for b in d:
            pass  # train here
        print(time.perf_counter() - t)

    Right:
        d = tf.data.Dataset.range(999).batch(8)
        for b in d: pass
        t = time.perf_counter()
        for b in d:
            pass  # only the input
        print(time.perf_counter() - t)
    """
    for region, events in regions(example):
        for event in events:
            if event.kind == "iterate" and example.placeholder(event.line):
                yield Hit(
                    event.line,
                    "the timed loop takes batches and trains nothing: no step uses the device meanwhile",
                    region=region,
                )
