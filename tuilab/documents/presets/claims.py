"""Turns statements about speed in the prose near an example into claims of a preset, using text patterns."""

import re
from collections.abc import Iterator, Sequence

from tuilab.documents.example import Example
from tuilab.documents.presets.comparison import amounts, compare, numbers, statements
from tuilab.documents.recognise import Found
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
    r"\b(?:not|never|neither|nor|nobody|hardly|barely|whether|unless|should|could|would|question|less)\b"
    r"|\b\w+n['’]t\b|\bno (?:longer|faster|slower|quicker|more than)\b"
    r"|\bcannot\b|\bmyth\b|\bfar from\b|\bat most\b|\bexactly\b|\?\s*$"
    r"|\bbetween [\d.]+\D{0,3} and [\d.]+|\bonly\b.*\bwhen\b"
    r"|\b(?:reduc\w+|avoid\w*|reliev\w+|eliminat\w+)\b"
    r"|(?<!\beven )\bif\b"
    # times of something other than a later call
    r"|\b(?:first|initial) (?:\w+ )?(?:calls?|runs?|iterations?|steps?|executions?|time|invocations?)\b"
    r"|\bwarm(?:ing)?[- ]?up\b|\bcold\b|\bcompil(?:ation|ing|es?)\b|\btrac(?:ing|es?)\b"
    r"|\b(?:start-?up|load(?:ing|s)?|import(?:ing|s)?|build(?:ing|s)?|install\w*|debug\w*)\b",
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


# Words that name the op of a workload or variant.
_NAMED = {
    "matmul": re.compile(r"\bmatmuls?\b|\bmatrix[ -](?:multiplication|product)s?\b", _FLAGS),
    "stft": re.compile(r"\bstfts?\b|\bspectrograms?\b", _FLAGS),
    "elementwise": re.compile(
        r"\badditions?\b|\belement-?wise\b|\b(?:small|tiny|little|cheap) (?:\w+ )?ops\b|\bchains? of\b",
        _FLAGS,
    ),
    "compression": re.compile(r"\b(?:de)?compress\w*", _FLAGS),
    "fft": re.compile(r"\bi?r?ffts?\b|\bfourier transforms?\b", _FLAGS),
    # No workload consists of these ops.
    "other": re.compile(
        r"\bconvolutions?\b|\bconv[1-3]d\b|\b(?:lstm|gru|rnn)s?\b|\bsoftmax\b|\battention\b|\beinsums?\b"
        r"|\bsort(?:s|ing)?\b|\breductions?\b|\bhistograms?\b|\bgathers?\b|\bscatters?\b|\bembeddings?\b"
        r"|\bmatrix exponentials?\b|\bexpm\b|\bcholesky\b|\b(?:lu|qr|svd|dct|mfcc)s?\b|\beigen\w+"
        r"|\bsingular values?\b|\bdeterminants?\b|\btop[-_ ]?k\b|\bcumulative\b|\bcumsum\b|\bargsort\b"
        r"|\bpool(?:ing|ed)\b|\b(?:layer|batch)[- ]?norm\w*|\btokeni[sz]\w+|\bstrings?\b|\bregex\w*"
        r"|\bpytorch\b|\bjax\b|\bresnet\w*|\bbert\b|\bvgg\w*|\b(?:mobile|efficient)net\w*"
        r"|\brandom numbers?\b|\blook-?ups?\b|\binterpolat\w+|\bresampl\w+",
        _FLAGS,
    ),
}
_SHAPE = re.compile(r"\b(\d[\d,]{0,20})(?:\s*[x×]\s*|\s+by\s+)(\d[\d,]{0,20})\b", _FLAGS)


def divided(
    examples: Sequence[Example], found: Sequence[Sequence[Found]]
) -> list[tuple[list[str], list[str]]]:
    """Divide the prose of each example into sentences that its workloads can decide, and sentences about
    another op or shape.

    A sentence between two examples belongs to the example whose op and sizes it names, or else to the example
    that it comments on or introduces.
    """
    out: list[tuple[list[str], list[str]]] = [([], []) for _ in examples]
    for at, example in enumerate(examples):
        for sentence, step in _near(example):
            other = at + step
            here = (
                other
                if 0 <= other < len(examples) and _best(sentence, found[other]) > _best(sentence, found[at])
                else at
            )
            own, others = out[here]
            (others if _is_of_others(sentence, found[here]) else own).append(sentence)
    return out


def _best(sentence: str, found: Sequence[Found]) -> int:
    return max((0, *(fit(sentence, one) for one in found)))


def fit(sentence: str, found: Found) -> int:
    """Return how well a sentence fits a workload: 2 if it names the op, plus 1 if it names a size.

    If the workload measures only some of the timed ops, return -1 unless the sentence names both the op and a
    size, because the sentence may be about all timed ops. Elementwise ops decide only as a whole.
    """
    if found.part and found.workload == "elementwise":
        return -1
    named = any(_NAMED[name].search(sentence) for name in _names(found))
    sized = bool(numbers(sentence) & _sizes(found))
    return -1 if found.part and not (named and sized) else 2 * named + sized


def _names(found: Found) -> set[str]:
    also = {"pingpong": "matmul", "stft": "fft"}.get(found.workload, "")
    return {found.workload, also, *found.variants} & _NAMED.keys()


def _sizes(found: Found) -> set[int]:
    given = [*found.parameters.values(), *(found.sweep.values if found.sweep is not None else ())]
    return {value for value in given if type(value) is int and value > 1}


def _is_of_others(sentence: str, found: Sequence[Found]) -> bool:
    """Return True if none of the workloads can decide the sentence, because it is about another op, another
    shape, or more ops.
    """
    if found and all(fit(sentence, one) < 0 for one in found):
        return True
    named = {name for name, words in _NAMED.items() if words.search(sentence)}
    same = [one for one in found if named & _names(one)] if named else found
    if not same:
        return bool(named)
    shapes = {int(side.replace(",", "")) for shape in _SHAPE.findall(sentence) for side in shape}
    if named and shapes and not any(shapes & _sizes(one) for one in same):
        return True
    held = [amounts(sentence) & {a * b for a in _sizes(one) | {1} for b in _sizes(one)} for one in same]
    return bool(amounts(sentence)) and not any(held)


def claims(sentences: Sequence[str], workload: str = "") -> tuple[Claim, ...]:
    """Return the claims in these sentences, each with its sentence. Without a workload, return only
    comparisons of devices or modes.
    """
    found: dict[str, Claim] = {}
    for sentence in sentences:
        for text, condition, said in _read(sentence, workload):
            quoted = sanitize_line(sentence, 400)
            found.setdefault(text, Claim(text=MARK + text, when=condition, quoted=quoted, said=said))
    return tuple(found.values())[:MOST_CLAIMS]


def _near(example: Example) -> Iterator[tuple[str, int]]:
    """Yield the sentences near an example. A sentence after the code comes with 1, because it may belong to
    the next example; a sentence before the code comes with -1, because it may belong to the previous example.
    """
    after = [p for p in example.block.after if p.text.strip()][:AFTER]
    before = [p for p in example.block.before if p.text.strip()][-BEFORE:]
    for near, step in ((after, 1), (before, -1)):
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
            for said in statements([sentence for text in paragraph for sentence in sentences(text)]):
                yield said, step


def _read(sentence: str, workload: str) -> Iterator[tuple[str, Condition, str]]:
    """Yield each claim in a sentence as text and condition, with the sentence's approximate word for the size
    of the effect.
    """
    plain = sentence.replace("*", "").replace("`", "")
    if _UNLESS.search(plain):
        return
    found = compare(plain) if workload not in ("memory", "input_pipeline") else None
    if found is not None:
        by, most, said = found.factor
        times = f" ({found.times})" if found.times else ""
        slow = "a plain graph" if found.fast == "XLA" and found.slow == "graph" else _CALLED[found.slow]
        faster = Faster(a=_ARMS[found.fast], b=_ARMS[found.slow], by=by, most=most)
        margin = f" by {faster.amount}" if by > 1 else ""
        yield f"{_CALLED[found.fast]} is faster than {slow}{margin}{times}.", faster, said
    if workload == "training" and _WAITS.search(plain):
        share = f"{INPUT_SHARE:.0%}".replace("%", "%")
        yield (
            f"a step waits for its input for at least {share} of its time.",
            WaitsForInput(share=INPUT_SHARE),
            "",
        )
    if workload in ("stft", "matmul", "compression") and _COPIES.search(plain):
        arms = ArmPattern(device="GPU", input="copied")
        condition = PhaseShare(phases=("copy_in", "copy_out"), share=COPY_SHARE, arms=arms)
        yield "copying takes at least half of a call on the GPU.", condition, ""
