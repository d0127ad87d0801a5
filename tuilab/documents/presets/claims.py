"""Turns statements about speed in the prose near an example into claims of a preset, using text patterns."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.rules.placement import sentences
from tuilab.model.arms import ArmPattern
from tuilab.model.claims import Claim, Condition, Faster, PhaseShare, WaitsForInput
from tuilab.model.sanitize import sanitize_line

MARK = "Read by machine: "
MOST_CLAIMS = 3
MARGIN, INPUT_SHARE, COPY_SHARE = 1.5, 0.2, 0.5
# Number of lines of prose before and after the code in which claims are searched.
BEFORE, AFTER = 2, 12

_FLAGS = re.IGNORECASE
_WIDE = re.compile(
    r"\b(?:significant\w*|substantial\w*|dramatic\w*|much|far|vastly|wide|considerabl\w*)\b", _FLAGS
)
_QUICK = r"(?:faster|quicker|outperform\w*|beats?|wins?|ahead of|improvement over|speed-?up over)"
# A dot inside a name such as `tf.matmul` does not end a sentence.
_GAP = r"(?:[^.;]|\.(?=\w)){0,90}?"
_CPU_WINS = (
    re.compile(rf"\bcpu\b{_GAP}\b{_QUICK}\b{_GAP}\bgpu\b", _FLAGS),
    re.compile(rf"\bgpu\b{_GAP}\bslower\b{_GAP}\bcpu\b", _FLAGS),
)
_GPU_WINS = (
    re.compile(rf"\bgpu\b{_GAP}\b{_QUICK}\b{_GAP}\bcpu\b", _FLAGS),
    re.compile(rf"\bcpu\b{_GAP}\bslower\b{_GAP}\bgpu\b", _FLAGS),
)
_GRAPH = r"(?:graphs?|tf\.function|compiled (?:function|version|step))"
_EAGER = r"(?:eager\w*|op by op|without tf\.function)"
_GRAPH_WINS = (
    re.compile(rf"\b{_GRAPH}\b{_GAP}\b{_QUICK}\b{_GAP}\b{_EAGER}\b", _FLAGS),
    re.compile(rf"\b{_EAGER}\b{_GAP}\bslower\b{_GAP}\b{_GRAPH}\b", _FLAGS),
)
_XLA_WINS = (re.compile(rf"\b(?:xla|jit_compile\S*)\b{_GAP}\b{_QUICK}\b", _FLAGS),)
_NUMBERS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twenty": 20,
    "thirty": 30,
    "fifty": 50,
    "hundred": 100,
    "twice": 2,
    "double": 2,
}
_TIMES = re.compile(
    rf"(?P<number>\d+(?:\.\d+)?|{'|'.join(_NUMBERS)})\s*-?\s*(?:[x×]|times|fold)(?!\w|\s*\d)|(?P<twice>\btwice|\bdouble)\b",
    _FLAGS,
)
_ORDER = re.compile(r"\borders? of magnitude\b", _FLAGS)
_ABOUT = re.compile(r"\b(?:about|around|roughly|nearly|almost|approximately|some)\b|~|≈", _FLAGS)
_AT_MOST = re.compile(r"\b(?:up to|at most|as much as|can|may|might)\b", _FLAGS)
ABOUT = 0.8
"""Fraction of an approximate factor that still confirms a claim: eight times is enough for "about ten times".
"""
_WAITS = re.compile(
    r"\b(?:input|pipeline|data loading|preprocess\w*|cpu)\b[^.;]{0,90}\bbottleneck|\bstarv\w+|\bidle\b"
    r"[^.;]{0,60}\b(?:data|input|batch)|\bheld back by\b",
    _FLAGS,
)
_COPIES = re.compile(r"\b(?:transfer|cop(?:y|ies|ying))\b[^.;]{0,60}\bdominat\w+", _FLAGS)
_UNLESS = re.compile(
    r"\b(?:not|whether|unless|should|could|would|question|less|no longer)\b"
    r"|\b(?:reduc\w+|avoid\w*|reliev\w+|eliminat\w+)\b"
    r"|(?<!\beven )\bif\b",
    _FLAGS,
)

_CPU, _GPU = ArmPattern(device="CPU"), ArmPattern(device="GPU")
_AS_GRAPH, _AS_EAGER, _AS_XLA = (ArmPattern(mode=mode) for mode in ("graph", "eager", "xla"))


def claims(example: Example, workload: str) -> tuple[Claim, ...]:
    """Return the claims about this workload in the prose near the example, each with its sentence."""
    found: dict[str, Claim] = {}
    for sentence in _near(example):
        for text, condition in _read(sentence, workload):
            quoted = sanitize_line(sentence, 400)
            found.setdefault(text, Claim(text=MARK + text, when=condition, quoted=quoted))
    return tuple(found.values())[:MOST_CLAIMS]


def _factor(sentence: str) -> float:
    """Return the factor by which the sentence says that one side is faster; 1 if it gives no lower limit."""
    if _AT_MOST.search(sentence):
        return 1.0
    found = [m["number"] or m["twice"] for m in _TIMES.finditer(sentence)]
    factors = [float(_NUMBERS.get(word.lower(), 0) or word) for word in found]
    factors += [10.0] * len(_ORDER.findall(sentence))
    if len(factors) == 1 and factors[0] > 1:
        return factors[0] * (ABOUT if _ABOUT.search(sentence) or _ORDER.search(sentence) else 1.0)
    return MARGIN if _WIDE.search(sentence) else 1.0


def _near(example: Example) -> Iterator[str]:
    after = [p for p in example.block.after if p.text.strip()][:AFTER]
    before = [p for p in example.block.before if p.text.strip()][-BEFORE:]
    for passage in (*after, *before):
        yield from sentences(passage.text)


def _read(sentence: str, workload: str) -> Iterator[tuple[str, Condition]]:
    plain = sentence.replace("*", "").replace("`", "")
    direction = re.sub(r"(?<=\d)\.(?=\d)", ",", plain)  # a decimal point does not end a sentence
    if _UNLESS.search(plain):
        return
    if workload not in ("memory", "input_pipeline"):
        by = _factor(plain)
        margin = f" by at least {by:g}×" if by > 1 else ""
        cpu = any(p.search(direction) for p in _CPU_WINS)
        gpu = any(p.search(direction) for p in _GPU_WINS)
        # A sentence that matches both directions is ambiguous.
        if cpu and not gpu:
            yield f"the CPU is faster than the GPU{margin}.", Faster(a=_CPU, b=_GPU, by=by)
        elif gpu and not cpu:
            yield f"the GPU is faster than the CPU{margin}.", Faster(a=_GPU, b=_CPU, by=by)
        if not cpu and not gpu and any(p.search(direction) for p in _GRAPH_WINS):
            yield f"a graph is faster than eager execution{margin}.", Faster(a=_AS_GRAPH, b=_AS_EAGER, by=by)
        elif not cpu and not gpu and any(p.search(direction) for p in _XLA_WINS):
            yield f"XLA is faster than a plain graph{margin}.", Faster(a=_AS_XLA, b=_AS_GRAPH, by=by)
    if workload == "training" and _WAITS.search(plain):
        share = f"{INPUT_SHARE:.0%}".replace("%", "%")
        yield (
            f"a step waits for its input for at least {share} of its time.",
            WaitsForInput(share=INPUT_SHARE),
        )
    if workload in ("stft", "matmul", "compression") and _COPIES.search(plain):
        arms = ArmPattern(device="GPU", input="copied")
        condition = PhaseShare(phases=("copy_in", "copy_out"), share=COPY_SHARE, arms=arms)
        yield "copying takes at least half of a call on the GPU.", condition
