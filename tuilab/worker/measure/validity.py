"""Checks that a call computes what was requested and that all calls are alike.

A call whose work was optimized away only seems fast.

The requested work is the traced function; the work done is what the placement pass observed. Some calls of
user code are also watched, to find what they trace, print, draw, build or pass out of TensorFlow.
"""

import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tuilab.analysis.operations import computes
from tuilab.analysis.reading import NUMPY_INSIDE, VANISHED
from tuilab.analysis.words import listed, percent
from tuilab.model.arithmetic import Unknown, arithmetic
from tuilab.model.events import Node
from tuilab.model.found import Found
from tuilab.model.ops import BRANCHES, CALLS, FILLS, LOOPS, NO_WORK
from tuilab.model.quantity import plural
from tuilab.worker.measure.counting import Counted, Recorder, counting
from tuilab.worker.measure.functions import functions_of
from tuilab.worker.measure.optimised import Optimised, ops_needed, shaped
from tuilab.worker.placement.graphs import LOOPED
from tuilab.workloads.base import Case

MOST_GONE = 0.5
"""A graph is reported if at least this share of the requested work is missing. Smaller shares are normal:
even valid graphs fold windows, masks and indices into constants.
"""
LEAST_LEFT = 0.1
"""Minimum share of the requested work that an XLA program must contain. The share is low because both amounts
of work are rough estimates.
"""
OF_A_STRING = 100.0
"""Assumed operations per string in a string op, which reads characters and allocates memory."""
OF_UNKNOWN = 32
LEAST_MERGED = 0.1
"""A caveat is reported if merged duplicate ops have at least this share of the work."""

PIPELINE = "Dataset_"
"""Prefix of the names that TensorFlow gives to functions passed to tf.data."""
_FRAMEWORK = ("/tensorflow/", "/keras/")


def of_graph(
    case: Case,
    nodes: Sequence[Node],
    mode: str,
    program: float | None = None,
    executed: Callable[[], Counter[str]] | None = None,
) -> list[Found]:
    """Compare a graph's trace with the ops that ran; return caveats about missing work.

    program: estimated operations of the compiled module; XLA only. executed: returns how often each op type
    ran in a profiled call; used if most of the work depends on constants only, because the runtime may fold
    this work after it exported `nodes`.
    """
    function = case.function
    if mode == "eager" or function is None or not hasattr(function, "get_concrete_function"):
        return []
    asked = Asked(function.get_concrete_function(*case.arguments).graph)
    if not case.copies and not asked.total:
        return [Found(VANISHED, "its graph computes nothing: it returns values that existed before tracing")]
    ran: Counter[str] = Counter()
    for node in nodes:
        if node.kind == "op":
            # A loop's op appears only once in the graph, no matter how often it runs.
            ran[computes(node.op)] += 1 if LOOPED.search(node.name) else node.count
    if mode == "graph" and executed and sum(asked.constant.values()) >= MOST_GONE * asked.total:
        ran = executed()
    found = []
    whole = asked.total + sum(asked.merged_work.values())
    if asked.total and sum(asked.merged_work.values()) >= LEAST_MERGED * whole:
        op = max(asked.merged_work, key=asked.merged_work.__getitem__)
        number, again = asked.made[op], asked.merged[op]
        found.append(Found("merged", f"{again:,} of the {number:,} {op} ops duplicate others and are merged"))
    for gone, why in (
        (asked.dead, "is not in the graph, because nothing uses the result"),
        (asked.constant, "was done once, during tracing, because it takes no input"),
    ):
        # XLA's instructions are not TensorFlow's ops, and XLA also drops unused work and folds constants.
        missing = gone if mode == "xla" else asked.missing(gone, ran)
        share = sum(missing.values()) / asked.total if asked.total else 0.0
        if share >= MOST_GONE:
            ops = listed(sorted(missing, key=missing.__getitem__, reverse=True)[:3])
            found.append(Found(VANISHED, f"{percent(share)} of the requested work ({ops}) {why}"))
    if not found and mode == "xla" and program is not None and program < LEAST_LEFT * asked.total:
        text = f"{percent(1 - program / asked.total)} of the requested work is not in XLA's program"
        found.append(Found(VANISHED, text))
    return found


class Asked:
    """The estimated operations of a traced graph, and of its unused and its constant parts.

    Equal ops count once. merged: number of duplicates, by op type. made: number of all ops, by op type.
    """

    def __init__(self, graph: Any) -> None:
        self.total = 0.0
        self.made: Counter[str] = Counter()
        self.merged: Counter[str] = Counter()
        self.merged_work: dict[str, float] = defaultdict(float)
        self.dead: dict[str, float] = defaultdict(float)
        self.constant: dict[str, float] = defaultdict(float)
        self.live: Counter[str] = Counter()
        self._gone: Counter[str] = Counter()
        self._add(graph, Optimised(math.inf), used=True)

    def _add(self, graph: Any, optimised: Optimised, *, used: bool) -> None:
        """Add the operations of a graph and of the functions that it calls.

        optimised: knows which inputs of the graph depend on constants only. used: False if nothing uses the
        graph's results.
        """
        needed = ops_needed(graph, graph.outputs) if used else set()
        for op in graph.get_operations():
            wanted = op.name in needed
            if op.type in CALLS | LOOPS:
                calls = op.type in CALLS
                inner = graph._functions.get(functions_of(op)[0])
                inner = getattr(inner, "graph", None)
                if inner is not None:
                    # A loop's body is counted once. Its inputs change between iterations, so mark constant
                    # inputs only for called functions.
                    within = Optimised(math.inf)
                    if calls:
                        optimised.passed(op.inputs, inner.inputs, within)
                    self._add(inner, within, used=wanted)
                    if calls:
                        within.passed(inner.outputs, op.outputs, optimised)
                if calls or inner is not None:
                    continue
            self.made[op.type] += 1
            folded, first = optimised.folds(op), optimised.first(op)
            # A tensor of ones is an input of the requested work, not a part of it.
            work = 0.0 if folded and op.type in FILLS else _work(op)
            if first is not op and work and wanted:
                self.merged[op.type] += 1
                self.merged_work[op.type] += work
                continue
            self.total += work
            if not work:
                continue
            if not wanted:
                self.dead[op.type] += work
            elif folded:
                self.constant[op.type] += work
            else:
                self.live[op.type] += 1
                continue
            self._gone[op.type] += 1

    def missing(self, gone: Mapping[str, float], ran: Mapping[str, int]) -> dict[str, float]:
        """Return the work that did not run, by op type.

        gone: the work of ops that may have been removed. ran: the number of ops that ran.
        """
        kept = {op: max(0, ran[op] - self.live[op]) for op in gone}
        return {op: work * max(0.0, 1 - kept[op] / self._gone[op]) for op, work in gone.items()}


def _work(op: Any) -> float:
    """Estimate the number of arithmetic operations of an op, at least one per output element.

    Unknown dimensions count as 32.
    """
    if op.type in NO_WORK or op.type.startswith(("Assign", "Var")):
        return 0.0
    of = shaped(op, unknown=OF_UNKNOWN)
    made = float(sum(math.prod(shape or ()) for shape in of.outputs))
    if "string" in of.given:
        return OF_A_STRING * max(math.prod(shape or ()) for shape in of.inputs + of.outputs)
    if op.type in LOOPS | BRANCHES:
        return made * OF_UNKNOWN
    try:
        return max(made, arithmetic(of) or 0.0)
    except (Unknown, IndexError, TypeError, ValueError):
        return made


@dataclass
class Watch:
    traced: list[str] = field(default_factory=list)
    printed: int = 0
    built: int = 0
    drew: bool = False
    """True if random numbers were drawn with NumPy's or Python's global generator, and no generator was
    seeded.
    """
    seeded: int = 0
    taken: int = 0
    """Number of times that a tensor's values were passed to NumPy."""
    looped: str = ""
    """A loop of Keras, such as `fit`, that was called while a graph was traced; "" if none was."""


INSTEAD = {
    "fit": "model.train_on_batch(x, y)",
    "evaluate": "model.test_on_batch(x, y)",
    "predict": "model(x)",
}
"""Code for a single step, which a graph can contain, as a replacement for each Keras loop over batches."""


class KerasLoop(Exception):
    """Raised if code calls a Keras loop, such as `fit`, while a graph is traced."""


def refusal(name: str) -> str:
    return (
        f"model.{name} is a loop around its own graphs, which a graph cannot contain; to measure one "
        f"step as a graph, return `lambda: {INSTEAD[name]}`"
    )


@contextmanager
def watched(tf: Any) -> Iterator[Watch]:
    """Watch the calls inside the context. Watching takes microseconds, so do not use it in a timed block."""
    from tensorflow.python.framework import (
        func_graph,
        ops,
    )  # neither tracing nor conversion to NumPy has a public hook

    seen = Watch()

    def counting(call: Callable[..., Any], count: Callable[..., None]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            count(*args)
            return call(*args, **kwargs)

        return counted

    def traced(name: Any = "", *_: Any) -> None:
        seen.traced.append(str(name))

    def printed(*_: Any) -> None:
        seen.printed += 1

    def seeded(*_: Any) -> None:
        seen.seeded += 1

    def taken(*_: Any) -> None:
        # TensorFlow itself reads the values of small tensors, such as an axis.
        caller = sys._getframe(2).f_code.co_filename
        seen.taken += not any(part in caller for part in _FRAMEWORK)

    def made(creator: Callable[..., Any], **kwargs: Any) -> Any:
        seen.built += 1
        return creator(**kwargs)

    def looped(name: str) -> Callable[..., Any]:
        def loop(model: Any, *args: Any, **kwargs: Any) -> Any:
            if tf.inside_function():
                seen.looped = name
                raise KerasLoop(name)
            return plain[name](model, *args, **kwargs)

        return loop

    state = _generators()
    tensor = ops._EagerTensorBase
    keras = sys.modules.get("keras")
    plain = {name: getattr(keras.Model, name) for name in INSTEAD} if keras is not None else {}
    with ExitStack() as stack:
        for name in plain:
            stack.enter_context(_instead(keras.Model, name, looped(name)))  # type: ignore[union-attr]
        for owner, name, count in (
            (func_graph, "func_graph_from_py_func", traced),
            (tf.random, "set_seed", seeded),
            (np.random, "seed", seeded),
            (random, "seed", seeded),
            (tensor, "numpy", taken),
            (tensor, "__array__", taken),
            (sys.stdout, "write", printed),
            (sys.stderr, "write", printed),
        ):
            stack.enter_context(_instead(owner, name, counting(getattr(owner, name), count)))
        stack.enter_context(tf.variable_creator_scope(made))
        yield seen
    seen.drew = _generators() != state and not seen.seeded


@contextmanager
def _instead(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _generators() -> tuple[Any, ...]:
    state: Any = np.random.get_state()
    return hash(state[1].tobytes()), state[2], hash(random.getstate())


def empty(tf: Any, result: object) -> Iterator[Found]:
    """Yield a caveat if a call computed no number."""
    shapes = [tuple(leaf.shape) for leaf in tf.nest.flatten(result) if hasattr(leaf, "shape")]
    if shapes and all(0 in shape for shape in shapes):
        text = f"its result is empty, of shape {list(shapes[0])}"
        yield Found("empty-result", f"{text}: an input may be too short, as for a frame of a signal")


@dataclass
class OwnCode:
    """Observes the first call of user code and two later calls, with their results."""

    first: Watch
    later: list[Watch] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    shapes: list[tuple[Any, ...]] = field(default_factory=list)
    """For each later call, the shapes of its results and of the variables that it read."""
    counted: Counted | None = None
    """Work of the ops in the last call; None if a graph provides it."""

    def call_again(self, tf: Any, case: Case) -> None:
        call, trace = case.compute or case.call, getattr(case.function, "get_concrete_function", None)
        for _ in range(2):
            # If the function has a graph, use no tape: a tape would also differentiate a training step's
            # graph.
            with watched(tf) as seen, nullcontext() if trace else self._recorded(tf, case) as recorded:
                out = call()
            self.later.append(seen)
            self.outputs.append(out)
            if recorded is not None:
                tape, ran = recorded
                ran.hand_back(tf.nest.flatten(out))
                self.counted, variables = ran.counted, tape.watched_variables()
            elif trace is not None:
                variables = trace(*case.arguments).graph.variables
            leaves = [leaf for leaf in tf.nest.flatten(out) if hasattr(leaf, "shape")]
            self.shapes.append(tuple(tuple(v.shape) for v in [*leaves, *variables]))

    @contextmanager
    def _recorded(self, tf: Any, case: Case) -> Iterator[tuple[Any, Recorder]]:
        given = tf.nest.flatten(list(case.arguments), expand_composites=True)
        with tf.GradientTape() as tape, counting(given) as ran:
            yield tape, ran

    def findings(self, tf: Any, ops: int | None, nodes: Sequence[Node], mode: str) -> list[Found]:
        return [
            *self._computed(tf, ops, mode),
            *self._traced(),
            *self._alike(),
            *self._built(),
            *self._drawn(mode),
            *self._printed(nodes, mode),
        ]

    def _computed(self, tf: Any, ops: int | None, mode: str) -> Iterator[Found]:
        one, other = (tf.nest.flatten(out) for out in self.outputs)
        outside = [
            leaf for leaf in other if leaf is not None and not tf.is_tensor(leaf) and not _variable(tf, leaf)
        ]
        taken = min(seen.taken for seen in self.later)
        if mode == "eager" and ops == 0:
            if outside or taken:
                text = (
                    "TensorFlow computes nothing in a call; NumPy or Python does the work, always on the CPU"
                )
            elif one and all(a is b for a, b in zip(one, other, strict=False)):
                text = "no TensorFlow op ran in a call: it returns an earlier result"
            else:
                text = "no TensorFlow op ran in a call"
            yield Found(VANISHED, text)
        elif mode == "eager" and taken:
            yield Found(
                NUMPY_INSIDE,
                f"it converts tensors to NumPy arrays or Python values {plural(taken, 'time')} a call; that "
                "work runs on the CPU, outside the graph",
            )
        elif outside:
            kind = type(outside[0]).__name__
            yield Found("python-result", f"it returns a Python {kind}, so each call waits for the device")

    def _traced(self) -> Iterator[Found]:
        names = [name for seen in self.later for name in dict.fromkeys(seen.traced)]
        every = [name for name, count in Counter(names).items() if count == len(self.later)]
        again = [name for name in every if not name.startswith(PIPELINE)]
        if len(again) < len(every):
            yield Found("pipeline-anew", "it creates a tf.data pipeline in each call; the time includes this")
        if again:
            yield Found(
                "retraced",
                f"your function is retraced in each call: {again[0]} gets a new Python value each time, "
                "or a tf.function is created inside the call; pass tensors, and decorate the function once",
            )

    def _alike(self) -> Iterator[Found]:
        for before, after in zip(self.shapes, self.shapes[1:], strict=False):
            for one, other in zip(before, after, strict=False):
                if one != other:
                    yield Found("grows", f"its state or result grows from call to call: {one}, then {other}")
                    return

    def _built(self) -> Iterator[Found]:
        each = min(seen.built for seen in self.later)
        if each:
            yield Found(
                "builds-anew",
                f"it creates {plural(each, 'variable')} in each call; create them once, outside the call",
            )
        elif self.first.built:
            number = plural(self.first.built, "variable")
            yield Found("built-late", f"it creates {number} in its first call, which is timed separately")

    def _drawn(self, mode: str) -> Iterator[Found]:
        if any(seen.seeded for seen in self.later):
            yield Found(
                "seed-fixed",
                "it sets a random seed in each call, so every call draws the same numbers",
            )
        elif (
            mode != "eager" and (self.first.drew or self.first.seeded) and not any(s.drew for s in self.later)
        ):
            what = "draws random numbers with NumPy or Python" if self.first.drew else "sets a random seed"
            yield Found("drawn-once", f"it {what} during tracing: every call uses the same numbers")

    def _printed(self, nodes: Sequence[Node], mode: str) -> Iterator[Found]:
        if any(node.op == "PrintV2" for node in nodes) or all(seen.printed for seen in self.later):
            yield Found("prints", "it prints in each call; the time includes the printing")
        elif mode != "eager" and self.first.printed:
            yield Found("prints-once", "its output is printed once, during tracing, not in each call")


def _variable(tf: Any, value: Any) -> bool:
    return isinstance(value, tf.Variable) or hasattr(value, "_value")
