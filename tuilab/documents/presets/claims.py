"""Turns statements about speed in the prose near an example into claims of a preset, using text patterns."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.presets.comparison import compare, statements
from tuilab.documents.rules.placement import sentences
from tuilab.model.arms import ArmPattern
from tuilab.model.claims import Claim, Condition, Faster, PhaseShare, WaitsForInput
from tuilab.model.sanitize import sanitize_line

MARK = "Read by machine: "
MOST_CLAIMS = 3
INPUT_SHARE, COPY_SHARE = 0.2, 0.5
# Number of lines of prose before and after the code in which claims are searched.
BEFORE, AFTER = 2, 12

_FLAGS = re.IGNORECASE
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

_ARMS = {
    "CPU": ArmPattern(device="CPU"),
    "GPU": ArmPattern(device="GPU"),
    "XLA": ArmPattern(mode="xla"),
    "eager": ArmPattern(mode="eager"),
    "graph": ArmPattern(mode="graph"),
}
_CALLED = {"CPU": "the CPU", "GPU": "the GPU", "XLA": "XLA", "eager": "eager execution", "graph": "a graph"}
# Lines that start a new statement: list items, quotes, table rows and headings.
_STARTS = re.compile(r"\s*(?:[-*+>|#]|\d+[.)]\s)")


def claims(example: Example, workload: str) -> tuple[Claim, ...]:
    """Return the claims about this workload in the prose near the example, each with its sentence."""
    found: dict[str, Claim] = {}
    for sentence in _near(example):
        for text, condition in _read(sentence, workload):
            quoted = sanitize_line(sentence, 400)
            found.setdefault(text, Claim(text=MARK + text, when=condition, quoted=quoted))
    return tuple(found.values())[:MOST_CLAIMS]


def _near(example: Example) -> Iterator[str]:
    after = [p for p in example.block.after if p.text.strip()][:AFTER]
    before = [p for p in example.block.before if p.text.strip()][-BEFORE:]
    for near in (after, before):
        paragraphs: list[list[str]] = []
        last = -1
        for passage in near:
            if passage.line != last + 1:
                paragraphs.append([])
            if not paragraphs[-1] or _STARTS.match(passage.text):
                paragraphs[-1].append("")
            paragraphs[-1][-1] = f"{paragraphs[-1][-1]} {passage.text.strip()}".strip()
            last = passage.line
        for paragraph in paragraphs:
            yield from statements([sentence for text in paragraph for sentence in sentences(text)])


def _read(sentence: str, workload: str) -> Iterator[tuple[str, Condition]]:
    plain = sentence.replace("*", "").replace("`", "")
    if _UNLESS.search(plain):
        return
    found = compare(plain) if workload not in ("memory", "input_pipeline") else None
    if found is not None:
        margin = f" by at least {found.by:g}×" if found.by > 1 else ""
        times = f" ({found.times})" if found.times else ""
        slow = "a plain graph" if found.fast == "XLA" and found.slow == "graph" else _CALLED[found.slow]
        faster = Faster(a=_ARMS[found.fast], b=_ARMS[found.slow], by=found.by)
        yield f"{_CALLED[found.fast]} is faster than {slow}{margin}{times}.", faster
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
