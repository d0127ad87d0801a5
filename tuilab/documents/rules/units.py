"""What a time claims to measure."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.facts import subject_value
from tuilab.documents.interpreter.values import Graph, Layer, Model, text
from tuilab.documents.rules.regions import works
from tuilab.documents.rules.rule import Hit, rule

# Labels of a time, and the code that each requires.
_FEATURES = {
    "XLA's": (r"xla|jit(?:[- ]compiled)?", r"jit|xla|experimental_compile"),
    "that of mixed precision": (
        r"mixed(?:[- ]precision)?|(?:fp|float|bf|bfloat)_?16|half[- ]precision",
        r"float_?16|mixed_?precision|fp16|bf16|half|amp\b|autocast|policy",
    ),
    "that of a graph": (
        r"tf\.function|graph[- ](?:mode|execution)",
        r"function|graph|session|\.(?:fit|predict|evaluate)\(",
    ),
    "TensorRT's": (r"tensor ?rt|tf-?trt|trt", r"trt|tensorrt"),
    "that of a quantized model": (r"quanti[sz]ed(?: model)?|int8", r"quant|int8|lite|optimi[sz]ations"),
    "that of several GPUs": (
        r"multi[- ]?gpus?|distributed|mirrored",
        r"strategy|distribut|horovod|hvd|mpi|replica|gpus?:[1-9*]|nccl|mirrored",
    ),
    "that of a cached pipeline": (r"cach(?:ed|ing)|with cache", r"cache"),
    "that of prefetching": (r"prefetch(?:ed|ing)?", r"prefetch"),
}
_CALLED = {
    what: (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), re.compile(code, re.IGNORECASE))
    for what, (words, code) in _FEATURES.items()
}
_NONE_OF = re.compile(r"\b(?:no|not|non|without|w/o|un\w+|disabled?|off|before|vs|than)\b", re.IGNORECASE)


@rule("TL118", "Called what the code does not do", "warning")
def called_otherwise(example: Example) -> Iterator[Hit]:
    """A time is called XLA's, that of mixed precision, of a graph, of a cache, and nothing in the code turns
    that on; or what does comes too late, or is switched off.

    Why: The figure is that of what the code does, under another name.

    Instead: Turn it on where the time is taken, or call the time what it is.

    Wrong:
        tf.matmul(x, y).numpy()
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print('with XLA', time.perf_counter() - t)

    Right:
        f = tf.function(tf.matmul, jit_compile=True)
        f(x, y).numpy()
        t = time.perf_counter()
        f(x, y).numpy()
        print('with XLA', time.perf_counter() - t)
    """
    yield from _late_policies(example)
    told: set[str] = set()
    for timing in example.timings:
        region, events = timing.region, timing.events
        graph = next((e for e in events if e.kind == "graph" and isinstance(e.runs, Graph)), None)
        if graph is not None and _EAGERLY.findall(example.facts.code) == ["True"]:
            yield Hit(
                region.line,
                f"run_functions_eagerly(True) stands in the code: {graph.name} runs op by op, as no graph",
                timing=timing,
            )
        if example.is_of_others or timing.unresolved or not works(events):
            continue
        for what, (words, code) in _CALLED.items():
            if what in told or not words.search(timing.label) or _NONE_OF.search(timing.label):
                continue
            if not code.search(example.facts.code):
                told.add(what)
                yield Hit(
                    region.line,
                    f"the time is called {what}, and nothing in the code turns it on",
                    timing=timing,
                    severity="warning",
                )


_EAGERLY = re.compile(r"run_functions_eagerly\(\s*(?:run_eagerly\s*=\s*)?(\w+)")


def _late_policies(example: Example) -> Iterator[Hit]:
    """Yield mixed-precision policies set after the timed model was made, without a new model."""
    events = example.trace.events
    for event in example.written:
        policy = text(event.arguments.get("policy")) or ""
        if event.name != _POLICY or "16" not in policy or event.place.uncalled:
            continue
        built = [e for e in events if e.kind == "build" and isinstance(e.result, Model | Layer)]
        if any(e.index > event.index for e in built):
            continue
        models = {id(e.result) for e in built if isinstance(e.result, Model)}
        later = (e for e in events[event.index :] if example.timed(e))
        runs = (e for e in later if id(subject_value(e) or e.arguments.get("self")) in models)
        late = next(runs, None)
        if late is not None:
            yield Hit(
                event.line,
                "the policy is set when the model is made, whose layers keep the one that they have: line "
                f"{late.line} times what it did before",
                "Make the model after the policy is set.",
                at="set_global_policy",
            )


_POLICY = "tf.keras.mixed_precision.set_global_policy"
_SECONDS = ("time.time", "time.perf_counter", "time.monotonic", "time.process_time", "timeit.default_timer")
_DATES = re.compile(r"datetime\.|pandas\.")
_MILLISECONDS = re.compile(r"(?:\b|\})(?:ms|msecs?|mill?i-?sec\w*|millis)\b", re.IGNORECASE)


@rule("TL115", "Seconds called milliseconds", "error")
def called_milliseconds(example: Example) -> Iterator[Hit]:
    """A difference of readings in seconds is printed as milliseconds; or of a timedelta only a part is taken.

    Why: The figure is a thousand times what it says, or lacks its seconds, or what is below one.

    Instead: Multiply it by 1000, or call it seconds; take a timedelta's total_seconds().

    Wrong:
        tf.matmul(x, y)
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print('took', time.perf_counter() - t, 'ms')

    Right:
        tf.matmul(x, y)
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print('took', 1000 * (time.perf_counter() - t), 'ms')
    """
    for timing in example.timings:
        region = timing.region
        part = next(iter(region.parts), "")
        if len(region.parts) == 1 and example.holds(region.parts[part]) and _DATES.match(region.clock):
            lost = "its seconds are lost" if part == "microseconds" else "what is below a second is lost"
            yield Hit(
                region.parts[part],
                f".{part} is one part of a timedelta: {lost}",
                "Take its total_seconds().",
                at=part,
                timing=timing,
                severity="warning" if part == "microseconds" else "note",
            )
        # If something is divided by the time, the nearby words are not its unit.
        if region.scaled or region.rate or region.clock not in _SECONDS:
            continue
        for line, words in region.told:
            if _MILLISECONDS.search(words) and example.holds(line):
                yield Hit(
                    line,
                    "these are seconds, and they are called milliseconds",
                    timing=timing,
                    severity="error",
                )
                break
