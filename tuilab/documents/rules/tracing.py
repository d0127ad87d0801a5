"""Rules for Python code that runs only during tracing, and not when the graph runs."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import Loop, TraceEvent
from tuilab.documents.interpreter.values import COUNTS, Graph, Number, text
from tuilab.documents.reading.document import Passage
from tuilab.documents.rules.rule import Hit, rule


@rule("TL201", "Python code that runs only during tracing", "warning")
def side_effects(example: Example) -> Iterator[Hit]:
    """A side effect in a traced function.

    Why: The graph does not contain it, so it costs no time and never happens again.

    Instead: Use ops (tf.print, tf.random), or tf.py_function for Python that must run each time.

    Wrong:
        @tf.function
        def f(v):
            time.sleep(1)
            return v * 2.0
        f(x)

    Right:
        def f(v):
            time.sleep(1)
            return v * 2.0
        f(x)
    """
    # If the traced function also calls tf.print, it shows the difference from print() on purpose.
    shows = {id(event.place.traced) for event in example.written if event.name == "tf.print"}
    for event in example.written:
        traced = event.place.traced
        if event.kind != "effect" or traced is None:
            continue
        if event.name == "print()" and id(traced) in shows:
            continue
        if _is_meant(example, event.line, text(event.arguments.get("text")) or ""):
            continue
        yield Hit(
            event.line,
            f"{event.name} runs only once, while {_who(traced.by)} traces this function"
            f"{_instead(event.name)}",
        )


def _is_meant(example: Example, line: int, words: str) -> bool:
    lines = (words, example.text(line), example.block.heading, *(p.text for p in _around(example)))
    return any("trac" in text.lower() for text in lines)


def _around(example: Example) -> list[Passage]:
    return [*example.block.before[-12:], *example.block.after[:12]]


def _who(by: str) -> str:
    return by if by == "tf.function" else by.replace("Dataset", "a dataset's ", 1).replace(" .", " ")


def _instead(name: str) -> str:
    if name == "time.sleep()":
        return ", so no element or call waits for it"
    if "random" in name:
        return ", so every call uses the same number"
    if name.startswith(("time.", "datetime.", "timeit.")):
        return ", so it does not measure a call"
    return ", not at each call"


@rule("TL202", "tf.function traced in each iteration", "warning")
def remade_graph(example: Example) -> Iterator[Hit]:
    """A `tf.function` is created in each iteration, or gets a new Python number.

    Why: TensorFlow traces each new function and each new number, which takes longer than most calls.

    Instead: Create it once, before the loop, and pass numbers as tensors.

    Wrong:
        for _ in range(20):
            f = tf.function(lambda v: v * 2.0)
            f(x)

    Right:
        f = tf.function(lambda v: v * 2.0)
        for _ in range(20):
            f(x)
    """
    for event in example.written:
        if not (event.kind == "config" and event.name == "tf.function") and event.name != _COMPILE:
            continue
        each = _EACH.match(event.place.function)
        if each or any(_repeats(loop, event.line) for loop in event.place.loops):
            yield Hit(
                event.line, f"{event.name} is applied in each iteration, so each iteration traces again"
            )

    told: set[int] = set()
    for event in example.written:
        number = _counter_parameter(event)
        if number and event.line not in told and "input_signature" not in example.facts.code:
            told.add(event.line)
            yield Hit(
                event.line,
                f"{event.name} gets a new Python number ({number}) in each iteration, so each "
                "iteration traces again",
                f"Pass tf.constant({number})." if number.isidentifier() else "Pass a tensor.",
            )


def _counter_parameter(event: TraceEvent) -> str:
    """Return the name of a parameter of the graph that receives a loop counter; "" if there is none."""
    if event.kind != "graph" or not isinstance(event.runs, Graph) or event.place.traced is not None:
        return ""
    if not any(loop.repeats for loop in event.place.loops):
        return ""
    given = event.arguments.items()
    return next((name for name, v in given if isinstance(v, Number) and v.reason in COUNTS), "")


# Callback methods that Keras calls repeatedly.
_EACH = re.compile(r"on_(?:epoch|(?:(?:train|test|predict)_)?batch)_(?:begin|end)$")
_COMPILE = "tf.xla.experimental.compile"


def _repeats(loop: Loop, line: int) -> bool:
    """Return True if the loop repeats the code on this line many times. Loops over devices and loops in
    helper functions do not count.
    """
    many = loop.over is not None or (loop.count or 0) > 1
    return many and not loop.unrolled and loop.line <= line <= loop.last_line
