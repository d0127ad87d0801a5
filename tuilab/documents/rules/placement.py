"""Rules for requested devices, and for devices that the document assumes."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import WORK, DeviceScope, TraceEvent
from tuilab.documents.interpreter.values import Bound, Dataset, Function, Model, Value
from tuilab.documents.rules.rule import Hit, rule
from tuilab.documents.timing import Timing


@rule("TL301", "Device scope without an op", "warning")
def idle_scope(example: Example) -> Iterator[Hit]:
    """A device scope without an op.

    Why: A scope places only the ops that are called inside it, and there are none.

    Instead: Call the op inside the scope.

    Wrong:
        with tf.device('/GPU:0'):
            print('on the GPU')
        z = tf.matmul(x, y)

    Right:
        with tf.device('/GPU:0'):
            z = tf.matmul(x, y)
    """
    for scope in example.scopes:
        if not scope.families:
            continue
        events = example.trace.events[scope.first : scope.last + 1]
        if not any(event.kind in (*WORK, "may-wait", "query", "config", "node") for event in events):
            yield Hit(scope.line, "this device scope contains no op, so it places nothing")


@rule("TL302", "Silent soft placement", "warning")
def soft_placement(example: Example) -> Iterator[Hit]:
    """A time is labeled GPU without a check, or CPU without a scope that puts the work there.

    Why: TensorFlow silently replaces a missing device, and the figure gets the wrong name.

    Instead: Check the result's .device, or call tf.config.set_soft_device_placement(False).

    Wrong:
        tf.matmul(x, y)
        with tf.device('/GPU:0'):
            t = time.perf_counter()
            tf.matmul(x, y).numpy()
            print(time.perf_counter() - t)

    Right:
        tf.config.set_soft_device_placement(False)
        tf.matmul(x, y)
        with tf.device('/GPU:0'):
            t = time.perf_counter()
            tf.matmul(x, y).numpy()
            print(time.perf_counter() - t)
    """
    checked = example.facts.checks_device
    if example.hides_gpu:
        return
    yield from _labelled_cpu(example)
    if checked is not None and checked <= example.block.number:
        return
    for scope in example.scopes:
        if example.facts.device_known_before(scope.first) or _is_strict(example, scope):
            continue
        timed = _timing_of(example, scope) if "GPU" in scope.families else None
        if timed is not None:
            yield Hit(
                scope.line,
                "without a visible GPU, this scope silently runs on the CPU, but the label still says GPU",
                timing=timed,
            )
            return
    if checked is not None or example.facts.shows_placement or _LOOKS.search(example.block.code):
        return
    for timing in example.timings:
        computes = any(e.kind in ("op", "graph", "train") and not e.place.families for e in timing.events)
        if computes and _CALLED.search(timing.label) and not _ELSE.search(timing.label):
            yield Hit(
                timing.region.line,
                "the label says GPU, but nothing checks that a GPU was used: without a visible GPU, "
                "TensorFlow silently uses the CPU",
                timing=timing,
            )
            return


def _is_strict(example: Example, scope: DeviceScope) -> bool:
    """Return True if a scope contains graph nodes, which a session does not move to another device by
    default.
    """
    events = example.trace.events[scope.first : scope.last + 1]
    nodes = any(event.kind == "node" for event in events) and not any(e.kind == "op" for e in events)
    return nodes and "allow_soft_placement" not in example.facts.code


def _labelled_cpu(example: Example) -> Iterator[Hit]:
    """Yield a hit for the first measurement that is labeled CPU and compared with a GPU, although no scope
    puts its work on the CPU.
    """
    if not any(map(_is_of_gpu, example.timing_of.values())):
        return
    for timing in example.timings:
        told, place = _specific_label(timing), timing.begins
        if not _CPU.search(told) or _CALLED.search(told) or place.branches or place.uncalled:
            continue
        work = [e for e in timing.events if e.kind in ("op", "graph", "train") and e.place.traced is None]
        models = [m for e in work if isinstance(m := e.arguments.get("self"), Model)]
        made = [event for m in models if (event := example.facts.find_weights(m)) is not None]
        # The nodes that a session runs were placed when they were created.
        placed = any(e.place.devices or e.name == "sess.run" for e in (*work, *made))
        if work and not placed and not _ELSEWHERE.search(example.block.code):
            yield Hit(
                timing.region.line,
                "the label says CPU, but no scope puts the work there: a visible GPU would run it",
                "Call it in tf.device('/CPU:0'), and create its inputs there.",
                timing=timing,
            )
            return


def _is_of_gpu(timing: Timing) -> bool:
    called = _specific_label(timing)
    named = bool(_CALLED.search(called)) and not _CPU.search(called)
    return named or any(event.place.families == ("GPU",) for event in timing.events)


def _specific_label(timing: Timing) -> str:
    """Return the name of the variable that holds a time if this name mentions a device, else the time's
    label.
    """
    name = timing.region.name.replace("_", " ")
    return name if _CPU.search(name) or _CALLED.search(name) else timing.label


_CPU = re.compile(
    r"\bcpus?\b(?![ -](?:core|thread|load|usage|percent|bound|pre|aug|input|data|pipeline|mem))",
    re.IGNORECASE,
)
# Code that selects a device without a device scope.
_ELSEWHERE = re.compile(r"strategy|CUDA_VISIBLE_DEVICES|set_visible_devices|torch", re.IGNORECASE)
# Code that checks whether there is a GPU.
_LOOKS = re.compile(
    r"log_device_placement|is_gpu_available|list_local_devices|gpu_device_name|nvidia-smi|pynvml|nvml|GPUtil"
    r"|is_built_with|list_(?:physical|logical)_devices|\.device\b(?!\()",
)
_CALLED = re.compile(r"\bgpus?\b", re.IGNORECASE)
# Labels that also name the CPU, or that name only a part of the work.
_ELSE = re.compile(r"\bcpus?\b|\bgpus?[ -](?:pre\w*|aug\w*|input\w*|data\w*|pipeline|memory)", re.IGNORECASE)


def _timing_of(example: Example, scope: DeviceScope) -> Timing | None:
    events = example.trace.events[scope.first : scope.last + 1]
    # If a scope contains only a comment in place of the work, as in a template, it has no timing.
    holds = any(
        event.kind not in ("clock", "print", "python", "query", "config", "may-wait") for event in events
    )
    over = (r for r in example.clocked if r.first <= scope.last and scope.first <= r.last)
    return next((example.timing_of[region] for region in over), None) if holds else None


@rule("TL309", "Model created on another device", "warning")
def model_on_other_device(example: Example) -> Iterator[Hit]:
    """A model is timed in a device scope but created outside it.

    Why: Its variables stay where they were created: each call in the scope copies them, or runs on their
    device.

    Instead: Create the model in the scope in which it is timed, and call it there once.

    Wrong:
        m = tf.keras.Sequential([tf.keras.layers.Dense(4)])
        m(x).numpy()
        with tf.device('/CPU:0'):
            t = time.perf_counter()
            m(x).numpy()
            print(time.perf_counter() - t)

    Right:
        with tf.device('/CPU:0'):
            m = tf.keras.Sequential([tf.keras.layers.Dense(4)])
            m(x).numpy()
            t = time.perf_counter()
            m(x).numpy()
            print(time.perf_counter() - t)
    """
    for timing in example.timings:
        for event in timing.events:
            # A graph may receive its model as an argument.
            given = event.arguments.values() if event.kind == "graph" else (event.arguments.get("self"),)
            model, here = next((v for v in given if isinstance(v, Model)), None), event.place.families
            if model is None or len(here) != 1 or event.place.traced is not None:
                continue
            made = example.facts.find_weights(model)
            if made is not None and made.index < event.index and made.place.families != here:
                scope = event.place.devices[-1]
                where = f"in a {made.place.families[0]} scope" if made.place.families else "outside"
                # Without a scope, the model's variables are on the GPU if one is visible.
                there = here == ("GPU",) and not made.place.families
                yield Hit(
                    scope.line,
                    f"the model that is timed here was created {where} (line {made.line}), where its "
                    f"variables stay, so the {here[0]} is not timed alone",
                    timing=timing,
                    severity="note" if there else None,
                )
                break


_FLAGS = re.IGNORECASE
_GPU_NAME = re.compile(r"\bgpu\b", _FLAGS)
# A comment that names the device on which the code on its line runs.
_ON_GPU = re.compile(
    r"\b(?:on|using|by|with|via) (?:the |a )?gpus?\b"
    r"|\bgpu[- ](?:optimi[sz]ed|accelerated|based|side|ops?\b|preproc)",
    _FLAGS,
)
_OTHER = re.compile(
    r"\b(?:not|no|never|cannot|can't|doesn't|isn't|instead of|rather than|cpu|host|train\w*|model|prefetch\w*"
    r"|feed\w*|cop(?:y|ied|ies)|transfer\w*|busy|starv\w*|wait\w*)\b",
    _FLAGS,
)
_DELEGATES = re.compile(
    r"\b(?:delegat|execut|run|perform|happen|mov|offload)\w*\b(?:(?!\bcpu\b)[^.,;]){0,50}?"
    r"\b(?:on|to|onto|by|using) (?:the |a )?gpus?\b",
    _FLAGS,
)
_MAPPING = re.compile(r"\bmap(?:s|ped|ping)?\b", _FLAGS)
_NEGATION = re.compile(
    r"\b(?:not|never|cannot|can't|doesn't|don't|no longer|rather than|instead of)\b", _FLAGS
)


@rule("TL303", "Mapped function assumed on the GPU", "warning")
def mapped_on_gpu(example: Example) -> Iterator[Hit]:
    """The document claims that a mapped function runs on the GPU.

    Why: tf.data runs on the host; parallel calls only use more host cores.

    Instead: To use the GPU, move the work into the model or the training step.

    Wrong:
        def f(v):
            return v * 2  # runs on the GPU
        d = tf.data.Dataset.range(9).map(f)

    Right:
        def f(v):
            return v * 2  # on the host, not on the GPU
        d = tf.data.Dataset.range(9).map(f)
    """
    for event in example.written:
        if event.kind != "dataset" or not event.name.endswith(".map"):
            continue
        function = event.arguments.get("map_func", event.arguments.get("0"))
        believed = _believed_in_code(example, event, function) or _believed_in_prose(example)
        if believed:
            yield Hit(
                event.line,
                f"{believed}, but a function passed to Dataset.map always runs on the host, in any device "
                "scope",
            )


def _believed_in_code(example: Example, event: TraceEvent, function: Value | None) -> str:
    if "GPU" in event.place.families:
        return "map is called in a GPU scope"
    name = ""
    if isinstance(function, Bound) and isinstance(function.function, Function):
        function = function.function
    if isinstance(function, Function):
        name = function.name
        words = name.replace("_", " ")
        if _GPU_NAME.search(words) and not _OTHER.search(words):
            return f"the name {name} says that it runs on the GPU"
    lines = [event.line]
    if isinstance(function, Function):
        first = function.node.lineno
        lines += [first - 1, *range(first, min(first + 60, (function.node.end_lineno or first) + 1))]
    for line in lines:
        comment = example.comment(line)
        if _ON_GPU.search(comment) and not _OTHER.search(comment):
            return f"the comment on line {line} says that it runs on the GPU"
    scope = _scope_inside(example, event)
    return "the mapped function opens a GPU scope" if scope else ""


def _scope_inside(example: Example, event: TraceEvent) -> bool:
    for inner in example.trace.events[event.index + 1 :]:
        traced = inner.place.traced
        if traced is None or traced.line != event.line:
            return False
        if "GPU" in inner.place.families:
            return True
    return False


def _believed_in_prose(example: Example) -> str:
    for passage in example.block.after:
        for sentence in sentences(passage.text):
            if _MAPPING.search(sentence) and _DELEGATES.search(sentence) and not _NEGATION.search(sentence):
                return f"the text (line {passage.line}) says that the mapped work goes to the GPU"
    return ""


def sentences(line: str) -> list[str]:
    """Split a line of prose into sentences of at most 600 characters."""
    return [s[:600] for s in re.split(r"(?<=[.!?;])\s+", line[:20_000]) if s]


_ON_CPU = re.compile(
    r"\b(?:on (?:the )?cpu|cpu tensor|cpu[- ]resident|in (?:host|system) memory)\b", re.IGNORECASE
)
_CREATES = ("tf.constant", "tf.convert_to_tensor", "tf.Variable")


@rule("TL304", "Tensor assumed on the CPU", "warning", preview=True)
def believed_on_host(example: Example) -> Iterator[Hit]:
    """The document claims that a tensor created outside any scope is on the CPU.

    Why: If a GPU is visible, the tensor is copied to it when it is created.

    Instead: Create it inside tf.device('/CPU:0'), or keep it as a NumPy array.

    Wrong:
        t = tf.constant([1.0, 2.0])  # stays on the CPU

    Right:
        with tf.device('/CPU:0'):
            t = tf.constant([1.0, 2.0])  # stays on the CPU
    """
    for event in example.events:
        if (
            event.name not in _CREATES
            or event.place.devices
            or event.place.traced
            or not example.holds(event.line)
        ):
            continue
        word = event.name.removeprefix("tf.")
        comment = example.comment(event.line)
        told = bool(_ON_CPU.search(comment)) and not _NEGATION.search(comment)
        for passage in example.block.after:
            for sentence in sentences(passage.text):
                told = told or (word in sentence and bool(re.search(r"\bCPU tensor\b", sentence)))
        if told:
            yield Hit(
                event.line,
                f"{event.name} outside a device scope puts floats on the GPU if one is visible",
            )
            return


_KERNELS = {
    "tf.matmul": "MatMul",
    "tf.add": "AddV2",
    "tf.multiply": "Mul",
    "tf.tanh": "Tanh",
    "tf.exp": "Exp",
    "tf.nn.conv2d": "Conv2D",
    "tf.nn.relu": "Relu",
}
_LACKS = re.compile(
    r"\b(?:lack\w*|miss\w*|no|without|not have|limited)\b[^.]{0,60}\bkernels?\b", re.IGNORECASE
)


@rule("TL305", "Kernel assumed missing", "warning")
def believed_kernel(example: Example) -> Iterator[Hit]:
    """The document claims that a dtype lacks a GPU kernel, but this TensorFlow has one.

    Why: The document gives the wrong reason for a slow op.

    Instead: Look up the kernel: tuilab explain lists the dtypes of a GPU kernel.

    Wrong:
        d = tf.cast(x, tf.float64)  # float64 lacks a GPU kernel
        z = d @ d

    Right:
        d = tf.cast(x, tf.int32)  # int32 lacks a GPU kernel
        z = d @ d
    """
    if example.api is None:
        return
    comments = [example.comment(n) for n in range(example.block.line, example.block.last_line + 1)]
    prose = [s for p in example.passages for s in sentences(p.text)]
    message = " ".join(text.lower() for text in (*comments, *prose) if _LACKS.search(text))
    if not message:
        return
    for event in example.own("op"):
        op = _KERNELS.get(event.name, "")
        dtype = getattr(event.result, "dtype", None)
        if op and dtype in example.api.gpu_dtypes.get(op, ()) and str(dtype) in message:
            yield Hit(
                event.line,
                f"{op} of {dtype} is said to lack a GPU kernel, but TensorFlow {example.api.version} has "
                "one, "
                "and uses it if the GPU is visible",
            )
            return


@rule("TL401", "Reads a file just written", "warning")
def just_written(example: Example) -> Iterator[Hit]:
    """The timed pipeline reads a file that the example has just written.

    Why: The file is still in the operating system's cache, and synthetic data does not decode like real
    data.

    Instead: Read a file larger than memory, or label the figure as decoding.

    Wrong:
        w = tf.io.TFRecordWriter('f')
        d = tf.data.TFRecordDataset('f').batch(8)
        for b in d: pass
        t = time.perf_counter()
        for b in d:
            b.numpy()
        print(time.perf_counter() - t)

    Right:
        d = tf.data.TFRecordDataset('f').batch(8)
        for b in d: pass
        t = time.perf_counter()
        for b in d:
            b.numpy()
        print(time.perf_counter() - t)
    """
    writer = example.facts.writer
    if writer is None:
        return
    for timing in example.timings:
        for event in timing.events:
            dataset = event.arguments.get("dataset", event.arguments.get("x"))
            if not isinstance(dataset, Dataset) or event.kind not in ("iterate", "train"):
                continue
            step = dataset.steps[0]
            if step.name == "TFRecordDataset" and writer.index < step.event and example.holds(step.line):
                yield Hit(
                    step.line,
                    f"the records are synthetic and were just written (line {writer.line}), so they "
                    "are read from memory: the time covers decoding on the host, not reading from a disk",
                )
                return
