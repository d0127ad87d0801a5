"""Rules for calls that are valid, but that TensorFlow rejects or ignores at this point of the program."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example, ancestry
from tuilab.documents.interpreter.trace import TraceEvent
from tuilab.documents.interpreter.values import Known, Model, OpaqueObject, Tensor, Value
from tuilab.documents.rules.rule import Hit, rule

# Events that start TensorFlow's context. After them, threads and devices cannot be changed.
_STARTS = ("op", "create", "copy", "graph", "train", "dataset", "iterate")
# Settings that TensorFlow rejects after it has started, each with its subject.
_BEFORE = {
    "tf.config.threading.set_intra_op_parallelism_threads": "threads",
    "tf.config.threading.set_inter_op_parallelism_threads": "threads",
    "tf.config.set_logical_device_configuration": "devices",
    "tf.config.experimental.set_virtual_device_configuration": "devices",
    "tf.config.set_visible_devices": "devices",
    "tf.config.experimental.set_visible_devices": "devices",
    "tf.config.experimental.set_memory_growth": "memory",
}
_TRAINS = ("fit", "fit_generator", "evaluate", "train_on_batch", "test_on_batch")
_LEARNS = ("fit", "fit_generator", "train_on_batch")


@rule("TL009", "Call that fails at this point", "error")
def refused(example: Example) -> Iterator[Hit]:
    """A valid call that raises an error because of the calls before it: threads or devices are set after
    TensorFlow has started, a session gets eager tensors, a model is trained without compile(), two models
    share an optimizer, or the code reads the value of a graph tensor.

    Why: The code stops here, so this code did not produce the figure.

    Instead: Make the missing call first, or pass a valid value.

    Wrong:
        m = tf.keras.Sequential([tf.keras.layers.Dense(4)])
        m.fit(x, y)

    Right:
        m = tf.keras.Sequential([tf.keras.layers.Dense(4)])
        m.compile('sgd', 'mse')
        m.fit(x, y)
    """
    if example.facts.is_of_version_1:
        return
    seen: set[int] = set()
    for hit in (
        *_late(example),
        *_graph_code(example),
        *_find_uncompiled(example),
        *_shared_optimizer(example),
        *(Hit(m.line, m.detail, m.remedy, at=m.at) for m in example.misfits if m.kind == "state"),
    ):
        if hit.line not in seen and not _MEANT.search(_nearby_text(example, hit.line)):
            seen.add(hit.line)
            yield hit


def _nearby_text(example: Example, line: int) -> str:
    return " ".join(example.comment(number) for number in range(line - 3, line + 2))


# Words that show that an error is intended.
_MEANT = re.compile(
    r"error|fail|rais|wrong|won't|doesn't|does not|can't|cannot|not work|exception", re.IGNORECASE
)


def _late(example: Example) -> Iterator[Hit]:
    """Yield a hit for each setting of threads, memory or devices after TensorFlow's start."""
    for event in example.written:
        what = _BEFORE.get(event.name)
        if what is None or event.place.traced is not None:
            continue
        if _is_expected(event) and not _goes_with(example, event):
            continue
        started = _find_start(example, event)
        if started is None or _is_set_before(example, event):
            continue
        where = f"by line {started.line}" if started.line != event.line else "before"
        yield Hit(
            event.line,
            f"TensorFlow has started {where}, and now rejects changes to its {what} with a RuntimeError",
            "Set it once, before the first op; use a new process for each setting.",
            at=event.name.rpartition(".")[2],
        )


def _find_start(example: Example, event: TraceEvent) -> TraceEvent | None:
    """Return an event that starts TensorFlow before the setting is made, possibly in an earlier iteration;
    None if there is none.
    """
    events = example.trace.events
    for earlier in _earlier(example, event):
        if _starts(example, earlier) and event.place.may_follow(earlier.place):
            return earlier
    again = next((loop for loop in event.place.loops if loop.repeats), None)
    if again is None or all(isinstance(value, Known) for value in event.arguments.values()):
        return None
    # In a loop, the setting also runs after the rest of the loop's body, which may start the context.
    return next((e for e in events[event.index : again.last + 1] if _starts(example, e)), None)


def _earlier(example: Example, event: TraceEvent) -> Iterator[TraceEvent]:
    """Yield the earlier events of the same program. In an article with several examples, yield only those of
    the event's own example.
    """
    alone = example.block.excerpt
    # If the code imports TensorFlow again, the notebook's kernel was probably restarted.
    first = max(example.facts.program_of(event), example.facts.imported_before(event))
    for earlier in example.trace.events[first : event.index]:
        if not alone or earlier.place.block == event.place.block:
            yield earlier


def _computes(event: TraceEvent) -> bool:
    return event.kind in _STARTS and event.place.traced is None and event.name != "tf.data.Options"


def _starts(example: Example, event: TraceEvent) -> bool:
    """Return True if an event starts TensorFlow: an op, a pipeline, or the creation of a model with
    weights.
    """
    model = event.result if event.kind == "build" else None
    return _computes(event) or (isinstance(model, Model) and example.facts.find_weights(model) is event)


def _is_set_before(example: Example, event: TraceEvent) -> bool:
    """Return True if an earlier call made the same setting with the same values."""
    return any(
        earlier.name == event.name and _same(earlier, event)
        for earlier in example.trace.events[: event.index]
        if earlier.kind == "config" and earlier.name in _BEFORE
    )


def _same(one: TraceEvent, other: TraceEvent) -> bool:
    pairs = list(zip(one.arguments.values(), other.arguments.values(), strict=False))
    return bool(pairs) and all(isinstance(a, Known) and a == b for a, b in pairs)


def _is_expected(event: TraceEvent) -> bool:
    return bool(event.place.tries)


def _goes_with(example: Example, event: TraceEvent) -> bool:
    """Return True if the `try` around a setting also contains later work, which is skipped if the setting
    fails.
    """
    inner = event.place.tries[-1]
    later = example.trace.events[event.index + 1 : inner.last + 1]
    return any(e.kind in ("op", "graph", "train") and inner in e.place.tries for e in later)


def _graph_code(example: Example) -> Iterator[Hit]:
    if example.facts.uses_graphs or _OF_VERSION_1.search(example.document_title):
        return
    for event in example.written:
        if event.place.traced is not None or _is_expected(event):
            continue
        if event.name == "sess.run" and _is_eager(example, event):
            yield Hit(
                event.line,
                "the session gets an eagerly computed tensor, which is not in its graph: this "
                "raises a RuntimeError",
                "Use the tensor's value, .numpy(); TensorFlow 2 needs no session.",
                at="run",
            )
        elif event.name == "tf.gradients" and event.kind == "op":
            yield Hit(
                event.line,
                "tf.gradients works only in graphs, and raises a RuntimeError in eager mode",
                "Use tf.GradientTape, or call it in a tf.function.",
                at="gradients",
            )


_OF_VERSION_1 = re.compile(r"\btensor ?flow[- ]?1(?:\.\d+)?\b", re.IGNORECASE)


def _is_eager(example: Example, event: TraceEvent) -> bool:
    """Return True if the value that a session fetches is eager, or was computed from an eager value."""
    fetched = event.runs
    if not isinstance(fetched, Tensor) or fetched.library != "tf" or fetched.inside:
        return False
    made = list(ancestry(example.trace, fetched))
    return any(e.kind in ("op", "create", "copy") and e.place.traced is None for e in made)


def _find_uncompiled(example: Example) -> Iterator[Hit]:
    if _COMPILES.search(example.block.code):
        return
    for event in example.written:
        model = event.arguments.get("self")
        if event.kind != "train" or event.name not in _TRAINS or _is_expected(event):
            continue
        if isinstance(model, Model) and example.facts.is_never_compiled(model):
            yield Hit(
                event.line,
                f"the model was never compiled, so {event.name}() raises a ValueError",
                "Call compile() with an optimizer and a loss first.",
                at=event.name,
            )
            return


# Finds a note that compile() is omitted, or code that compiles the model elsewhere.
_COMPILES = re.compile(r"compil", re.IGNORECASE)


def _shared_optimizer(example: Example) -> Iterator[Hit]:
    """Yield a hit for the first optimizer that trains a second model, which Keras 3 rejects."""
    if example.api is not None and not example.api.keras.startswith("3"):
        return
    compiled: dict[int, Value] = {}
    first: dict[int, tuple[int, TraceEvent]] = {}
    for event in example.trace.events:
        model = event.arguments.get("self")
        if event.kind == "build" and event.name == "compile" and isinstance(model, Model):
            given = event.arguments.get("optimizer", event.arguments.get("0"))
            if isinstance(given, OpaqueObject) and ".optimizers." in str(given.data):
                compiled[id(model)] = given
            else:
                compiled.pop(id(model), None)
        if event.kind != "train" or event.name not in _LEARNS or id(model) not in compiled:
            continue
        optimizer = compiled[id(model)]
        owner, before = first.setdefault(id(optimizer), (id(model), event))
        one = example.facts.program_of(before) == example.facts.program_of(event)
        again = example.facts.is_made_in_loop_of(model, optimizer)
        if (owner == id(model) and not again) or not one or event.place.branches or before.place.branches:
            continue
        if ".legacy." not in str(optimizer) and not _is_expected(event):
            if event.place.file == "" and example.holds(event.line):
                yield Hit(
                    event.line,
                    "this optimizer has already trained another model: in Keras 3, it keeps the first "
                    "model's "
                    "variables and raises a ValueError (Unknown variable)",
                    "Create an optimizer for each model.",
                    at=event.name,
                )
            return


@rule("TL310", "Setting made too late", "warning")
def ignored(example: Example) -> Iterator[Hit]:
    """An environment variable is set after TensorFlow has read it.

    Why: The setting is silently ignored, so both figures use the same setting.

    Instead: Set it before TensorFlow is imported, or before the process starts.

    Wrong:
        import os
        z = tf.matmul(x, y)
        os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'

    Right:
        import os
        z = tf.matmul(x, y)
        os.environ['MY_RUN'] = '0'
    """
    if example.facts.starts_processes or _SHELL.search(example.block.code):
        return
    # If there is a session, other computations may only add nodes to its graph. Listing the devices always
    # starts TensorFlow.
    late = _lists if any(event.name == "tf.Session" for event in example.trace.events) else _begins
    for event in example.written:
        name = event.name.removeprefix("os.environ.")
        if event.kind != "config" or name == event.name or event.place.traced is not None:
            continue
        by = _imports if name in _AT_IMPORT else late if name in _AT_START else None
        earlier = _earlier(example, event) if by is not None else ()
        since = next((e for e in earlier if by and by(e) and event.place.may_follow(e.place)), None)
        if since is not None:
            when = "when it is imported" if name in _AT_IMPORT else "when it starts"
            yield Hit(
                event.line,
                f"TensorFlow reads {name} {when}, on line {since.line}: setting it here has no effect",
                at=name,
            )


def _begins(event: TraceEvent) -> bool:
    return _computes(event) or _lists(event)


def _lists(event: TraceEvent) -> bool:
    return event.kind == "query" and event.name.endswith("list_local_devices")


def _imports(event: TraceEvent) -> bool:
    return event.kind == "import" and event.name.partition(".")[0] in ("tensorflow", "keras")


_AT_IMPORT = ("TF_ENABLE_ONEDNN_OPTS",)
_AT_START = (
    "CUDA_VISIBLE_DEVICES",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TF_GPU_THREAD_MODE",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)
# Code that starts another process, which reads a new value of the variable even if this process does not.
_SHELL = re.compile(r"^\s*!|\bos\.(?:system|exec\w+|spawn\w+|fork)\(", re.MULTILINE)
