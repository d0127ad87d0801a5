"""Rules for timed first calls, whose figures include tracing, compilation, memory allocation and startup."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import WORK, Context, TraceEvent
from tuilab.documents.interpreter.unread import callee
from tuilab.documents.interpreter.values import integer
from tuilab.documents.judge.first_call import MANY, is_robust
from tuilab.documents.rules.regions import batch_of, rows_of
from tuilab.documents.rules.rule import Hit, rule
from tuilab.documents.timing import FirstCall, Timing
from tuilab.model.found import Severity

# Number of batches that together take longer than starting their pipeline.
MANY_BATCHES = 100_000


@rule("TL104", "No warm-up", "warning")
def no_warm_up(example: Example) -> Iterator[Hit]:
    """Several calls are timed, including the function's first.

    Why: The first call traces, compiles, loads kernels and allocates memory, which inflates the mean.

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
    single = {cold.timing.region.line for cold in _cold(example, single=True)}
    for cold in _cold(example, single=False):
        timing, first = cold.timing, cold.first
        if timing.region.line in single:
            continue  # TL105 reports this
        yield Hit(
            timing.region.line,
            f"no warm-up of {cold.names}{_SEEN[first.sure]}: {_cost(cold.work)}",
            timing=timing,
            severity=None if first.sure or first.likely else "note",
            calls=first.count or 0,
        )
    yield from _batches(example)


def _batches(example: Example) -> Iterator[Hit]:
    if is_robust(example.block.code):
        return
    for timing in example.timings:
        region, function = timing.region, timing.begins.function
        batch = _BATCH_BEGINS.match(function) and (region.gathered or region.by or region.rate)
        epoch = function == "on_epoch_begin" and region.gathered
        first, left_out = ("batch", "batches") if batch else ("epoch", "epoch")
        if (batch or epoch) and not region.picked:
            yield Hit(
                region.line,
                f"the times include the first {first}, in which Keras traces its step",
                f"Exclude the first {left_out}.",
                timing=timing,
                severity=None if _counts(timing.begins) else "note",
            )


def _counts(begins: Context) -> bool:
    """Return True if a callback times each batch to report the speed of prediction or evaluation."""
    answers = begins.function.startswith(("on_predict", "on_test"))
    return answers and not begins.branches


_BATCH_BEGINS = re.compile(r"on_(?:train_|test_|predict_)?batch_begin$")


@rule("TL105", "First call timed", "warning")
def first_call_timed(example: Example) -> Iterator[Hit]:
    """Only one call is timed, and it is the first.

    Why: The figure is mostly start-up cost, which occurs once.

    Instead: Time a later call, and report the first call's time separately.

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
    for cold in _cold(example, single=True):
        timing, work, sure = cold.timing, cold.work, cold.first.sure
        likely = sure or cold.first.likely
        epochs = work.arguments.get("epochs")
        long = work.kind == "train" and epochs is not None and integer(epochs) != 1
        # With many epochs, the first one is negligible. With few, it matters if the code is about speed.
        many = long and (integer(epochs) or 0) >= _MANY_EPOCHS
        few = long and 1 < (integer(epochs) or _MANY_EPOCHS) <= _FEW_EPOCHS and timing.about_speed
        short = long and (integer(epochs) or 0) <= _MANY_EPOCHS and (_steps(work) or _FEW_STEPS) < _FEW_STEPS
        few = few or (short and timing.compared)
        yield Hit(
            timing.region.line,
            f"only the first call of {cold.names} is timed{_SEEN[sure]}: {_cost(work)}",
            "Report the time of its first epoch separately." if long else "",
            timing=timing,
            severity=_severity(few and sure, many or not likely or (long and timing.counterpart is None)),
            calls=(integer(epochs) or 0) if epochs is not None else 1,
        )


_MANY_EPOCHS, _FEW_EPOCHS = 10, 5
# Maximum number of steps that together take less time than tracing the first.
_FEW_STEPS = 1_000


def _steps(work: TraceEvent) -> int | None:
    rows, size, epochs = rows_of(work), batch_of(work), integer(work.arguments.get("epochs"))
    return None if rows is None or not epochs or not size else -(-rows // size) * epochs


def _severity(few: bool, passing: bool) -> Severity | None:
    return "warning" if few else "note" if passing else None


_SEEN = {True: "", False: ", as far as the code shows"}


@dataclass(frozen=True)
class _Cold:
    """All timings on one line that include a first call, as in a helper that times several functions."""

    timing: Timing
    work: TraceEvent
    first: FirstCall
    names: str
    """The functions or ops that these timings run, as text."""


def _cold(example: Example, single: bool) -> Iterator[_Cold]:
    """Yield one item for each line with timings that include a first call.

    single: select timings that run their work once; False selects those that run it several times.
    """
    lines: dict[int, list[_Cold]] = {}
    for timing in example.timings:
        work, first = timing.work, timing.cold
        if work is not None and first is not None and (first.count == 1) is single:
            lines.setdefault(timing.region.line, []).append(_Cold(timing, work, first, _name(work)))
    for cold in lines.values():
        kept = [each for each in cold if each.first.sure] or cold
        names = list(dict.fromkeys(each.names for each in kept))
        yield replace(kept[0], names=names[0] if len(names) == 1 else f"{', '.join(names[:4])} (each)")


def _name(work: TraceEvent) -> str:
    if work.kind == "opaque":
        return f"{callee(work.name)}()"
    return work.name if work.kind != "train" else f"{work.name}()"


def _cost(work: TraceEvent) -> str:
    if work.kind == "graph":
        return "the timing includes tracing, optimization and, if enabled, XLA's compilation"
    if work.kind == "train":
        return "the timing includes tracing its step"
    if work.kind == "opaque":
        return "the timing includes memory allocation, and tracing of the TensorFlow code that is called"
    if work.name == "invoke":
        return "the timing includes preparing weights and allocating memory"
    return "the timing includes loading kernels and allocating memory"


@rule("TL106", "Warm-up that does nothing", "error")
def warms_nothing(example: Example) -> Iterator[Hit]:
    """A warm-up loop before a timing only binds names.

    Why: The function is still cold after it.

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
    last_start = max((timing.region.first for timing in example.timings), default=-1)
    for loop in example.loops:
        if loop.unrolled or not loop.last < last_start:
            continue
        if loop.last < loop.first:
            continue
        events = example.trace.events[loop.first : loop.last + 1]
        binds = any(event.kind == "bind" and "item" not in event.arguments for event in events)
        if binds and not any(event.kind in WORK for event in events) and not example.timed(events[0]):
            yield Hit(loop.line, "this warm-up does nothing: its loop only binds a name to an existing value")


@rule("TL109", "Pipeline starts in the timed region", "warning")
def iterator_start(example: Example) -> Iterator[Hit]:
    """A pipeline starts inside the timed region.

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
    for timing in example.timings:
        if timing.extent == "total":
            continue
        trains = any(event.kind in ("train", "graph") for event in timing.events)
        for event in timing.events:
            if event.kind != "iterate":
                continue
            count = next((x.count or x.ends or 0 for x in example.loops if x.line == event.line), 0)
            if count >= MANY_BATCHES:
                continue
            if not example.facts.iterated_before(event.arguments.get("dataset"), timing.region.first):
                yield Hit(
                    event.line,
                    "the pipeline starts inside the timed region: the time includes filling it up to its "
                    "first batch",
                    timing=timing,
                    severity="note" if count >= MANY and trains else None,
                    calls=count,
                )


@rule("TL110", "Training loop without a step", "warning")
def trains_nothing(example: Example) -> Iterator[Hit]:
    """A timed loop over a pipeline has no training step, although its label says so.

    Why: Input and training overlap; without the step, the time does not show whether the device waits.

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
    for timing in example.timings:
        for event in timing.events:
            if event.kind == "iterate" and example.placeholder(event.line):
                yield Hit(
                    event.line,
                    "the timed loop takes batches but runs no training step, so the device is idle",
                    timing=timing,
                )
