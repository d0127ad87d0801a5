"""Rules for statements in prose about TensorFlow's placement that are known to be wrong."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.rules.placement import sentences
from tuilab.documents.rules.rule import Hit, rule

_FLAGS = re.IGNORECASE
_DENIES = re.compile(r"\b(?:does not|doesn't|never|myth|contrary to|it is not true|will not|won't)\b", _FLAGS)
# Advice to the reader, which is not a statement about TensorFlow.
_ADVICE = re.compile(r"\b(?:you|we|users?|developers?|should|must|prefer)\b", _FLAGS)
_CHOOSES = re.compile(
    r"\b(?:tensorflow|runtime|scheduler|placer|optimi[sz]ation|it|framework|library)\b[^.;:]{0,80}?"
    r"\b(?:choos\w*|chose|picks?|selects?|decid\w*|favou?rs?|continue\w*|defaults? to)\b",
    _FLAGS,
)
_DEVICE = re.compile(r"\b(?:cpu|computation device|which device|the device)\b", _FLAGS)
_BY_COST = re.compile(
    r"\bcost[- ](?:analysis|estimate|model|benefit)|\bfor efficiency\b|\bmost efficient\b|\binefficient\b"
    r"|\bavoid\b[^.]{0,40}\btransfer|\btransfer (?:cost|overhead)|\bsmall(?:er)? (?:tensors?|inputs?|data)\b"
    r"|\bcost of (?:data )?transfer",
    _FLAGS,
)


@rule("TL306", "Placement assumed to follow size or cost", "warning", preview=True)
def by_size(example: Example) -> Iterator[Hit]:
    """The document claims that TensorFlow weighs size or cost when it picks a device.

    Why: A small op with a GPU kernel runs on the GPU too, and is slower there.

    Instead: Place small work with tf.device, and measure the crossover.

    Wrong:
        TensorFlow chooses the device by a cost analysis.

    Right:
        TensorFlow chooses the device by its kernels; a small tensor is often faster on the CPU.
    """
    yield from _match_sentence(
        example,
        (_CHOOSES, _DEVICE, _BY_COST),
        "TensorFlow ignores size and cost when it places an op: only kernels and device scopes matter",
    )


_MEMORY = re.compile(
    r"\b(?:memory (?:constraint|limit)\w*|insufficient|exceed\w*|out[- ]of[- ]memory|too large|exhaust\w*"
    r"|not enough memory|runs? out of)\b",
    _FLAGS,
)
_FALLS = re.compile(
    r"\b(?:fall(?:s|ing)?[- ]?back|switch\w*|back to the cpu|forc\w+|revert\w*"
    r"|(?:performed|executed|run) on the cpu)\b",
    _FLAGS,
)
_CPU = re.compile(r"\bcpu\b", _FLAGS)
_ABOUT_MEMORY = re.compile(r"\bmemory\b", _FLAGS)


@rule("TL307", "CPU fallback assumed when memory runs out", "warning", preview=True)
def by_memory(example: Example) -> Iterator[Hit]:
    """The document claims that TensorFlow falls back to the CPU when memory runs out.

    Why: The program fails instead of slowing down.

    Instead: Catch tf.errors.ResourceExhaustedError and make the work smaller.

    Wrong:
        When memory is exhausted TensorFlow falls back to the CPU.

    Right:
        When memory is exhausted TensorFlow raises, it does not fall back to the CPU.
    """
    yield from _match_sentence(
        example,
        (_MEMORY, _FALLS, _CPU, _ABOUT_MEMORY),
        "TensorFlow does not fall back to the CPU if memory runs out: the op raises ResourceExhaustedError",
    )


_CONTENTION = re.compile(
    r"\b(?:contention|competing|compete|heavily (?:utili[sz]ing|used|loaded)|busy gpu)\b", _FLAGS
)
_MOVES = re.compile(
    r"\b(?:defer|mov|shift|offload|fall)\w*\b[^.;]{0,60}\b(?:to|onto) (?:the )?cpu\b|\blead to cpu\b", _FLAGS
)


@rule("TL308", "CPU fallback assumed when the GPU is busy", "warning", preview=True)
def by_contention(example: Example) -> Iterator[Hit]:
    """The document claims that TensorFlow moves ops to the CPU when the GPU is busy.

    Why: The ops stay on the GPU and wait their turn.

    Instead: Measure with and without the other load.

    Wrong:
        Under contention TensorFlow moves operations to the CPU.

    Right:
        Under contention the GPU is slower and noisier than the CPU.
    """
    yield from _match_sentence(
        example,
        (_CONTENTION, _MOVES),
        "TensorFlow does not move ops to the CPU when the GPU is busy: they wait, which makes "
        "them slower and noisier",
    )


def _match_sentence(example: Example, patterns: tuple[re.Pattern[str], ...], message: str) -> Iterator[Hit]:
    """Yield a hit for the first sentence near the example that matches all patterns."""
    for passage in example.passages:
        for sentence in sentences(passage.text):
            wrong = all(p.search(sentence) for p in patterns)
            if wrong and not _DENIES.search(sentence) and not _ADVICE.search(sentence):
                yield Hit(passage.line, message)
                return
