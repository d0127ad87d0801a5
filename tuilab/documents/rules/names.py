"""Rules for names and arguments that the TensorFlow version lacks, and for handlers of errors that it never
raises.
"""

import re
from collections.abc import Iterator
from itertools import islice

from tuilab.documents.api.names import LEGACY, missing_part, nearest, renamed
from tuilab.documents.api.versions import when
from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import TraceEvent, Use
from tuilab.documents.rules.rule import Hit, rule
from tuilab.model.api import ApiTable

MOST_HITS = 40
# Advice for missing names that resemble no existing name.
_INSTEAD = {
    "tf.signal.lfilter": ("tf.nn.conv1d", "A FIR filter is a convolution: use tf.nn.conv1d."),
    "tf.io.compress": (
        "tf.io.decode_compressed",
        "Compress with zlib on the host; decode_compressed only decompresses.",
    ),
    "tf.keras.optimizers.Optimizer.lr": ("", "Renamed to `learning_rate`."),
    "tf.distribute.Strategy.experimental_run_v2": ("", "Renamed to `run`."),
    "tf.data.Dataset.make_one_shot_iterator": ("", "Iterate over the dataset itself: for batch in dataset."),
    "tf.data.Dataset.make_initializable_iterator": (
        "",
        "Iterate over the dataset itself: for batch in dataset.",
    ),
    **{
        f"tf.keras.{c}.{m}_generator": ("", f"Pass the generator to {m}.")
        for c in ("Model", "Sequential")
        for m in ("fit", "evaluate", "predict")
    },
    "tf.Session": ("tf.compat.v1.Session", "TensorFlow 2 runs eagerly: call the functions directly."),
    "tf.placeholder": ("tf.compat.v1.placeholder", "Pass an argument to a tf.function instead."),
    "tf.contrib": ("", "TensorFlow 2 removed tf.contrib."),
}


@rule("TL001", "API that does not exist", "error")
def missing_api(example: Example) -> Iterator[Hit]:
    """A name that does not exist in TensorFlow. The version is that of `--tensorflow`, or else the one that
    the document installs (`pip install tensorflow==2.17`), or else the installed one.

    Why: The code stops here with an AttributeError or ImportError, so it never ran in this form.

    Instead: Use a name from this version of TensorFlow.

    Wrong:
        z = tf.signal.lfilter(1, 2)

    Right:
        z = tf.signal.rfft(x)
    """
    if example.api is None or example.facts.is_of_version_1:
        return
    seen: set[tuple[str, int]] = set()
    modules: set[str] = set()
    for use in example.uses:
        if use.guarded or len(seen) >= MOST_HITS:
            continue
        gone = missing_part(example.api, use)
        # A missing import is reported once, a missing method of a class at each call.
        root, _, rest = use.spelled.partition(".")
        method = bool(rest) and len(root) > 2 and root[0].isupper()
        hidden = root not in ("tf", "tensorflow", "keras") and not method
        if gone and (gone, use.line) not in seen and not (hidden and gone in modules):
            seen.add((gone, use.line))
            modules.add(gone)
            yield _hit(example, example.api, gone, use)
    yield from _misfits(example, "name")


def _hit(example: Example, api: ApiTable, gone: str, use: Use) -> Hit:
    tail = use.name[len(gone) :]
    spelled = use.spelled.removesuffix(tail) if tail else use.spelled
    where = (
        f"{spelled} ({gone})" if gone not in (spelled, spelled.replace("tensorflow.", "tf.", 1)) else spelled
    )
    version = api.keras if gone.startswith("keras.") else api.version
    library = "Keras" if gone.startswith("keras.") else "TensorFlow"
    if f"{gone}." in LEGACY:
        stops = (
            f"{spelled}{tail} raises an ImportError in Keras {api.keras}, which has no Keras 2 legacy "
            "optimizers"
        )
        return Hit(use.line, stops, f"Use {gone.removesuffix('.legacy')}{tail}.", at=spelled)
    known = when(api, gone)
    chosen = f"which line {example.installs} installs" if example.installs else ""
    text = "; ".join(part for part in (chosen, known) if part)
    message = f"{where} does not exist in {library} {version}" + (f" ({text})" if text else "")
    near, remedy = _INSTEAD.get(gone, ("", ""))
    now = renamed(api, use.name) or renamed(api, gone)
    new = ""
    if remedy:
        message += f"; the closest existing name is {near}" if near else ""
    elif now:
        old = ".compat.v1." in now
        message += f"; it was renamed to {now}"
        remedy = f"Use {now}, or its replacement in version 2." if old else f"Use {now}."
        new = "" if old else now
    elif known.startswith("new"):
        remedy = f"Use TensorFlow {known.rpartition(' ')[2]} or later."
    # A name that existed in an earlier version is not a misspelling.
    elif near := "" if known else nearest(api, gone):
        if near == spelled:
            message = f"{gone} does not exist in TensorFlow {api.version}: "
            message += f"{near} belongs to the separate Keras package"
            remedy = f"Write import keras, and then {near}."
        else:
            message += f"; the closest existing name is {near}"
            remedy = f"Use {near}."
            new = near if near.lower().replace("_", "") == gone.lower().replace("_", "") else ""
    # Only a name that starts with the usual alias of its module can be replaced directly.
    replace = (spelled, new) if new and spelled == gone and not tail else ("", "")
    return Hit(use.line, message, remedy, at=spelled, replace=replace)


@rule("TL007", "Written for TensorFlow 1", "error")
def version_1(example: Example) -> Iterator[Hit]:
    """The document uses many names that version 2 removed, so it was written for version 1.

    Why: None of it runs unchanged, and a list of every name would add nothing.

    Instead: Convert it with TensorFlow's tool, tf_upgrade_v2 --infile OLD --outfile NEW, or check it with
    --target 1; --target 2 lists every name.

    Wrong:
        a = tf.placeholder(tf.float32, (None, 8))
        w = tf.get_variable("w", (8, 8))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())

    Right:
        w = tf.Variable(tf.zeros((8, 8)))
        z = tf.matmul(x[:, :8], w)
    """
    found = example.facts.old_uses
    if example.api is None or found is None or not example.holds(found[0].line):
        return
    first, uses, names = found
    others = f" and {names - 1} other name{'' if names == 2 else 's'}" if names > 1 else ""
    verb = "are" if names > 1 else "is"
    yield Hit(
        first.line,
        f"this is written for TensorFlow 1: {first.spelled}{others}, in {uses} places, {verb} not in "
        f"TensorFlow {example.api.version}",
        at=first.spelled,
    )


@rule("TL002", "Argument that the function does not accept", "error")
def wrong_argument(example: Example) -> Iterator[Hit]:
    """An argument that the function does not accept.

    Why: The call raises a TypeError.

    Instead: Use the function's own parameter names.

    Wrong:
        z = tf.matmul(x, y, transpose=True)

    Right:
        z = tf.matmul(x, y, transpose_b=True)
    """
    # Arguments can be checked only against known signatures; none are known for version 1.
    if example.api is not None and not example.facts.is_of_version_1:
        yield from _misfits(example, "argument")


@rule("TL003", "Argument of the wrong type", "error")
def wrong_type(example: Example) -> Iterator[Hit]:
    """An argument of a type that the function does not accept.

    Why: The call raises an error, or does something other than intended.

    Instead: Pass a type that the function accepts.

    Wrong:
        g = tf.config.list_physical_devices('GPU')[0]
        tf.config.experimental.get_memory_info(g)

    Right:
        g = tf.config.list_physical_devices('GPU')[0]
        tf.config.experimental.get_memory_info('GPU:0')
    """
    yield from _misfits(example, "type")


@rule("TL004", "Key that is not in the result", "error")
def wrong_key(example: Example) -> Iterator[Hit]:
    """A key that is not in the result.

    Why: The look-up raises a KeyError.

    Instead: Use a key of the result.

    Wrong:
        info = tf.config.experimental.get_memory_info('GPU:0')
        print(info['used'])

    Right:
        info = tf.config.experimental.get_memory_info('GPU:0')
        print(info['current'], info['peak'])
    """
    yield from _misfits(example, "key")


def _misfits(example: Example, kind: str) -> Iterator[Hit]:
    for misfit in example.misfits:
        if misfit.kind == kind:
            yield Hit(misfit.line, misfit.detail, misfit.remedy, at=misfit.at, replace=misfit.replace)


_NEVER = ("RuntimeError", "MemoryError")
# Errors that neither training nor an op raises.
_NEVER_AT_ALL = ("TimeoutError",)
_CATCHES_ALL = ("", "?", "Exception", "BaseException")
# If a body contains only these kinds of event, all its errors come from TensorFlow.
_OPS_ONLY = ("create", "op", "graph", "copy", "print", "bind", "clock", "query", "sync", "python")


@rule("TL005", "Handler for an error that is never raised", "error")
def unraisable(example: Example) -> Iterator[Hit]:
    """A handler for an error that the ops above it never raise.

    Why: The handler does not catch the error, so the program ends where it should continue.

    Instead: Catch tf.errors.ResourceExhaustedError, or tf.errors.OpError for all of TensorFlow's errors.

    Wrong:
        try:
            z = tf.matmul(x, y)
        except RuntimeError:
            pass

    Right:
        try:
            z = tf.matmul(x, y)
        except tf.errors.ResourceExhaustedError:
            pass
    """
    for attempt in example.tries:
        body = example.trace.events[attempt.first : attempt.last + 1]
        never = _NEVER + _NEVER_AT_ALL if _only_ops(body) else _NEVER_AT_ALL if _trains(body) else ()
        if not never:
            continue
        caught = [name for handler in attempt.handlers for name in handler.names]
        if any(name in _CATCHES_ALL or name.startswith("tf.errors.") for name in caught):
            continue
        for handler in attempt.handlers:
            names = [name for name in handler.names if name in never]
            if names and len(names) == len(handler.names):
                yield Hit(
                    handler.line,
                    f"this handler catches nothing: the ops above raise errors from tf.errors, such as "
                    f"ResourceExhaustedError, and none of these is a {names[0]}",
                )
    yield from _stops_otherwise(example)


def _stops_otherwise(example: Example) -> Iterator[Hit]:
    """Yield a hit for each handler of OutOfRangeError around an eager `next()`, which raises StopIteration
    instead.
    """
    if example.facts.uses_graphs:
        return
    for attempt in example.tries:
        body = example.trace.events[attempt.first : attempt.last + 1]
        code = "\n".join(example.uncommented(e.line) for e in body if e.kind == "iterate")
        if "next(" not in code or "get_next" in code or any(e.name == "sess.run" for e in body):
            continue
        for handler in attempt.handlers:
            if handler.names == ("tf.errors.OutOfRangeError",) and len(attempt.handlers) == 1:
                yield Hit(
                    handler.line,
                    "this handler catches nothing: next() raises StopIteration at the end of a pipeline",
                    "Catch StopIteration, or iterate over the dataset with a for loop.",
                )


def _only_ops(body: list[TraceEvent]) -> bool:
    """Return True if the body of a `try` contains only ops, and no tapes, variables or settings, which may
    raise Python's own errors.
    """
    works = any(event.kind in ("create", "op", "graph") for event in body)
    plain = not any(part in event.name for event in body for part in _PYTHON_RAISES)
    return works and plain and all(event.kind in _OPS_ONLY for event in body)


def _trains(body: list[TraceEvent]) -> bool:
    trains = [event for event in body if event.kind == "train"]
    return (
        bool(trains)
        and all(event.kind in ("train", *_OPS_ONLY) for event in body)
        and not any("callbacks" in event.arguments for event in trains)
    )


_PYTHON_RAISES = ("GradientTape", "Variable", "keras", "py_function", "debugging", "experimental")


@rule("TL006", "IPython magic in a Python file", "warning")
def magics(example: Example) -> Iterator[Hit]:
    """An IPython magic in a Python file.

    Why: Outside IPython and Jupyter, this line is a syntax error, so the file does not run.

    Instead: Use timeit.repeat, or state that this is a notebook cell.

    Wrong:
        %timeit tf.matmul(x, y).numpy()

    Right:
        print(tf.matmul(x, y).numpy())
    """
    if example.block.notebook:
        return
    for line, name in example.magics:
        yield Hit(line, f"{name} is an IPython magic; in Python, this line is a syntax error", at=name)


@rule("TL008", "Undefined name", "error")
def undefined_name(example: Example) -> Iterator[Hit]:
    """A name that a script or notebook never defines or imports, or a module that no example of an article
    imports.

    Why: The code stops here with a NameError, so this code did not produce the figure.

    Instead: Define or import it, or correct the spelling.

    Wrong:
        z = tf.matmul(X, y)

    Right:
        z = tf.matmul(x, y)
    """
    places: dict[str, list[int]] = {}
    for line, name in example.undefined:
        places.setdefault(name, []).append(line)
    for name, (line, *others) in islice(places.items(), MOST_HITS):
        elsewhere = re.search(rf"^\s*from\b.*\bimport\b.*\b{name}\b", example.facts.code, re.MULTILINE)
        where = "imported only by another example" if elsewhere else "not defined anywhere"
        what = f"{name} is {where}: the code stops here with a NameError"
        yield Hit(line, what, at=name, also=tuple(others[:MOST_HITS]))
