"""Rules for the label and the unit of a measured time."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.facts import subject_value
from tuilab.documents.interpreter.values import Graph, Layer, Model, text
from tuilab.documents.rules.regions import works
from tuilab.documents.rules.rule import Hit, rule

# Settings that a label may name, each with the code that enables it.
_FEATURES = {
    "XLA": (r"xla|jit(?:[- ]compiled)?", r"jit|xla|experimental_compile"),
    "mixed precision": (
        r"mixed(?:[- ]precision)?|(?:fp|float|bf|bfloat)_?16|half[- ]precision",
        r"float_?16|mixed_?precision|fp16|bf16|half|amp\b|autocast|policy",
    ),
    "graph": (
        r"tf\.function|graph[- ](?:mode|execution)",
        r"function|graph|session|\.(?:fit|predict|evaluate)\(",
    ),
    "TensorRT": (r"tensor ?rt|tf-?trt|trt", r"trt|tensorrt"),
    "quantized model": (r"quanti[sz]ed(?: model)?|int8", r"quant|int8|lite|optimi[sz]ations"),
    "several GPUs": (
        r"multi[- ]?gpus?|distributed|mirrored",
        r"strategy|distribut|horovod|hvd|mpi|replica|gpus?:[1-9*]|nccl|mirrored",
    ),
    "cached pipeline": (r"cach(?:ed|ing)|with cache", r"cache"),
    "prefetching": (r"prefetch(?:ed|ing)?", r"prefetch"),
}
_CALLED = {
    what: (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), re.compile(code, re.IGNORECASE))
    for what, (words, code) in _FEATURES.items()
}
_NONE_OF = re.compile(r"\b(?:no|not|non|without|w/o|un\w+|disabled?|off|before|vs|than)\b", re.IGNORECASE)


@rule("TL118", "Label that does not match the code", "warning")
def wrong_label(example: Example) -> Iterator[Hit]:
    """A label names XLA, mixed precision, a graph or a cache, but the code does not enable it, enables it too
    late, or disables it.

    Why: The figure has the wrong name.

    Instead: Enable it before the timing, or correct the label.

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
                f"run_functions_eagerly(True) is set: {graph.name} runs op by op, not as a graph",
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
                    f"the label says {what}, but nothing in the code enables it",
                    timing=timing,
                    severity="warning",
                )


_EAGERLY = re.compile(r"run_functions_eagerly\(\s*(?:run_eagerly\s*=\s*)?(\w+)")


def _late_policies(example: Example) -> Iterator[Hit]:
    """Yield a hit for each mixed-precision policy that is set after all models have been created. The timed
    model then keeps its old policy.
    """
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
                "the policy is set after the model was created, so its layers keep the old policy: line "
                f"{late.line} times the model without the new one",
                "Set the policy before creating the model.",
                at="set_global_policy",
            )


_POLICY = "tf.keras.mixed_precision.set_global_policy"
_SECONDS = ("time.time", "time.perf_counter", "time.monotonic", "time.process_time", "timeit.default_timer")
_DATES = re.compile(r"datetime\.|pandas\.")
_MILLISECONDS = re.compile(r"(?:\b|\})(?:ms|msecs?|mill?i-?sec\w*|millis)\b", re.IGNORECASE)


@rule("TL115", "Seconds labeled as milliseconds", "error")
def seconds_as_milliseconds(example: Example) -> Iterator[Hit]:
    """A time in seconds is printed as milliseconds, or only one part of a timedelta is used.

    Why: The figure is wrong by a factor of 1000, or lacks its whole or fractional seconds.

    Instead: Multiply it by 1000 or label it as seconds; for a timedelta, use total_seconds().

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
            lost = "its seconds are lost" if part == "microseconds" else "fractions of a second are lost"
            yield Hit(
                region.parts[part],
                f".{part} is one part of a timedelta: {lost}",
                "Use its total_seconds().",
                at=part,
                timing=timing,
                severity="warning" if part == "microseconds" else "note",
            )
        # If the code converts the time or divides by it, the words nearby do not name the unit of the time.
        if region.scaled or region.rate or region.clock not in _SECONDS:
            continue
        for line, words in region.told:
            if _MILLISECONDS.search(words) and example.holds(line):
                yield Hit(
                    line,
                    "these are seconds, but labeled as milliseconds",
                    timing=timing,
                    severity="error",
                )
                break
