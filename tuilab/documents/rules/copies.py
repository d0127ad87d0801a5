"""Rules for copies to the device inside a timed region."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example, tensors_in
from tuilab.documents.facts import is_training
from tuilab.documents.interpreter.trace import TraceEvent
from tuilab.documents.interpreter.values import Model, Tensor, elements
from tuilab.documents.judge.waits import runs_on_cpu
from tuilab.documents.rules.rule import Hit, rule
from tuilab.documents.timing import Timing

# Minimum number of elements for which a copy takes longer than the call of an op.
_MUCH = 1 << 16
_GPU = re.compile(r"gpus?\b|\bcuda\b", re.IGNORECASE)
_SAID = re.compile(
    r"\b(?:cop(?:y|ies|ied|ying)|transfer\w*|upload\w*|feed\w*|h2d|includ\w*|end[- ]to[- ]end|host)\b",
    re.IGNORECASE,
)


@rule("TL114", "Input copied in the timed region", "warning")
def copied_input(example: Example) -> Iterator[Hit]:
    """The timed GPU work takes a large NumPy array, which is copied inside the timed region.

    Why: A copy to the GPU takes as long as many ops, and the figure includes both.

    Instead: Convert the arrays to tensors before the clock starts, or state that the time includes the copy.

    Wrong:
        h = np.ones((512, 512), 'float32')
        with tf.device('/GPU:0'):
            tf.matmul(h, h)
            t = time.perf_counter()
            tf.matmul(h, h).numpy()
            print(time.perf_counter() - t)

    Right:
        h = np.ones((512, 512), 'float32')
        with tf.device('/GPU:0'):
            g = tf.constant(h)
            tf.matmul(g, g)
            t = time.perf_counter()
            tf.matmul(g, g).numpy()
            print(time.perf_counter() - t)
    """
    if not _GPU.search(f"{example.block.code} {example.document_title}"):
        return
    for timing in example.timings:
        region, events = timing.region, timing.events
        if timing.role == "log" or not timing.compared or _mentions_copy(example, timing):
            continue
        if timing.trains or any(
            e.kind in ("train", "iterate", "opaque") or is_training(example.trace, e) for e in events
        ):
            continue
        computes = [e for e in events if e.kind in ("op", "graph") and e.place.traced is None]
        # Keras itself copies a model's input in each call, so a hit for such a copy is only a note.
        by_keras = bool(computes) and all(isinstance(e.arguments.get("self"), Model) for e in computes)
        if not computes:
            continue
        for event in events:
            if event.place.traced is None and not runs_on_cpu(example, event) and _copies(event, by_keras):
                here = example.holds(event.line)
                yield Hit(
                    event.line if here else region.line,
                    "a NumPy array is copied to the GPU inside the timed region; the time includes the copy",
                    timing=timing,
                    severity="note" if by_keras else None,
                )
                break


def _mentions_copy(example: Example, timing: Timing) -> bool:
    region = timing.region
    lines = range(region.line - 3, min(region.last_line, region.line + 40) + 4)
    function = timing.begins.function.replace("_", " ")
    return bool(_SAID.search(" ".join((timing.label, function, *map(example.comment, lines)))))


def _copies(event: TraceEvent, by_keras: bool) -> bool:
    of_keras = isinstance(event.arguments.get("self"), Model)
    if event.kind not in ("op", "graph", "copy") or of_keras is not by_keras:
        return False
    given = [t for name, value in event.arguments.items() if name != "fetches" for t in tensors_in(value)]
    return any(_is_large(tensor) for tensor in given if tensor.library == "np" and not tensor.inside)


def _is_large(array: Tensor) -> bool:
    count = elements(array.shape)
    return count >= _MUCH if count is not None else array.shape is not None and len(array.shape) == 2
