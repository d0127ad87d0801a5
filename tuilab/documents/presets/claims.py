"""Turns statements about speed in the prose near an example into claims of a preset, using text patterns."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from tuilab.documents.example import Example
from tuilab.documents.presets.comparison import (
    COUNT,
    DIFFERENCE,
    UNIT,
    Comparison,
    compare,
    may_compare,
    numbers,
    says_equal,
    statements,
    third_side,
    without_figures,
    without_sides,
)
from tuilab.documents.recognise import Found
from tuilab.documents.rules.placement import sentences
from tuilab.documents.words import words
from tuilab.model.arms import ArmPattern
from tuilab.model.claims import Claim, Condition, Faster, PhaseShare, WaitsForInput
from tuilab.model.sanitize import sanitize_line

MARK = "Read by machine: "
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
# Words after which a sentence no longer states its comparison: negations, conditions, questions, opinions.
_UNLESS = re.compile(
    r"\b(?:no|not|never|neither|nor|nobody|hardly|barely|whether|(?<!even )if|unless|should|could|would"
    r"|question|cannot|myth|far from|why|less|at most|exactly|only|unlike|except|other than|until|before"
    r"|says?|said|thinks?|thought|believes?|believed|claims?|claimed|t(?:ells?|old)|heard|read|assumes?"
    r"|according to|supposed\w*|suggests?|seems?|appears?|expect\w*|apparently|allegedly|wrong\w*|false\w*"
    r"|untrue|rumou?rs?|incorrect\w*|nonsense|debunked|disproved|opposite|other way|reverse)\b"
    r"|\b\w+n['’]t\b|\?\s*$|\b(?:reduc\w+|avoid\w*|reliev\w+|eliminat\w+)\b",
    _FLAGS,
)
# Words that make a comparison one of other times or other sizes than those that a preset measures.
_OTHER = re.compile(
    r"\b(?:first|initial\w*|warm\w*|cold|start\w*|begin\w*|compil(?:e|es|ing|ation)|trac(?:e|es|ing)|debug\w*"
    r"|build\w*|develop\w*|writ\w+|install\w*|imports?|importing|load\w*|sav(?:e|es|ing)|learn\w*|memory|energy|power|costs?"
    r"|single|few|large\w*|small\w*|big\w*|tiny|huge|long\w*|short(?! as this)\w*|tenth of the size"
    r"|some|certain|sometimes|occasionally|eventually|once (?!the\b))\b",
    _FLAGS,
)
# The words that may stand between the two sides of a plain comparison, apart from ops, sizes, times and
# factors. Any other word may turn the statement into another one.
_PLAIN = frozenset(
    words(
        """
        a an the this that these those it its my our your here there now so thus then hence therefore and or
        between but as also even still clearly always usually typically generally mostly often indeed
        actually is are was were be runs run ran takes took take needs needed need has gives gave made makes
        make executes performs works shows became went achieves reaches finishes finished computes computed
        on in with under for of by to at than from over via using through instead versus vs against per
        while whereas faster quicker slower fast quick outperforms outperform beats beat wins win ahead
        improvement speedup speed speed-up advantage clear winner time times factor fold least more up about
        around roughly nearly almost approximately some much far wide vastly significant significantly
        substantial substantially dramatic dramatically considerable considerably half third quarter fifth
        tenth twice double order orders magnitude percent both same each every all average median
        machine computer host version mode execution code function call calls
        step steps loop example benchmark test result results op ops operation operations input inputs
        product products plain numbers number elements element values value samples sample matrix matrices
        tensor tensors data array arrays filters many tf math linalg signal nn we you i observe see saw get
        got measure measured performance implementation implementations will can show observed entire
        entirely loops available compiled jit_compile cases case practice fact comparison contrast
        particular general summary tests experiments measurements benchmarks which most cores
        signal short one ones wrapping running note notice requires required require
        """
    )
)
_SUBJECT = re.compile(r"\b(?:for|in|during|when|on|with|under|after)\b((?:\s+[^\s,;:.!?]+){1,4})", _FLAGS)
# Punctuation and words between the part of a sentence with the comparison and the rest.
_ENDS = re.compile(r"[,;:()!?—–]|\.(?!\w)|\b(?:because|since|as|due|thanks|which|and|but|so)\b", _FLAGS)
# A noun that refers to the example, as in `for this transform`, or to the machine on which its author ran it.
_THIS = re.compile(
    r"\b(?:for|of) (?:this|these) \w+|\bon my (?:laptop|desktop|workstation|desk|pc)\b", _FLAGS
)
# A number that is a difference, or that limits a factor from above.
_LIMITED = re.compile(
    r"\b(?:under|below|within|beneath) (?:about )?"
    rf"(?:{COUNT} ?(?:[x×]|times|fold|%|percent)|twice|double|half)"
    rf"|{COUNT} ?(?:{UNIT}) (?:{DIFFERENCE})\b"
    rf"|\bby (?:about )?{COUNT} ?(?:{UNIT})\b",
    _FLAGS,
)
# A time that the sentence states of the code, as in `one call takes about 3 ms`.
_TIME = re.compile(
    rf"\b(?:takes?|took|needs?|needed|spends?|spent|(?:runs?|ran|finish\w*|complet\w+|execut\w+|done)"
    rf"(?: \w+){{0,3}} in)\b[^.;]{{0,40}}?\b{COUNT} ?(?:{UNIT})\b(?! of\b)"
    rf"|\b{COUNT} ?(?:{UNIT}) (?:per|an?|each) (?:call|step|iteration|batch|run|epoch)\b",
    _FLAGS,
)
_SETTING = re.compile(r"\b\w+ ?= ?\d[\d,]*")
_WORD = re.compile(r"[^\W\d_][\w.'’-]*")

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
    "training": re.compile(r"\btrain(?:ing|s|ed)?\b|\bepochs?\b|\binference\b", _FLAGS),
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
_DTYPE = re.compile(
    r"\b(?:b?float(?:16|32|64)|int(?:8|16|32|64)|mixed precision|complex(?:64|128))\b", _FLAGS
)


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


def _dtypes(found: Found) -> set[str]:
    own = {*found.dtypes, str(found.parameters.get("dtype", ""))} - {""}
    return own | {"mixed precision" for name in own if name.startswith("mixed")} or {"float32"}


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
    dtypes = {word.lower() for word in _DTYPE.findall(sentence)}
    if dtypes and not any(dtypes & _dtypes(one) for one in same):
        return True
    marker = _STARTS.match(sentence)
    stated = numbers(sentence[marker.end() :] if marker is not None else sentence)
    return bool(stated) and not any(stated <= _products(one) for one in same)


def _products(found: Found) -> set[int]:
    """Return a workload's sizes and the products of two of them, such as the elements of a matrix."""
    sizes = _sizes(found)
    return {a * b for a in sizes | {1} for b in sizes}


def claims(sentences: Sequence[str], workload: str = "") -> tuple[Claim, ...]:
    """Return the claims in these sentences, each with its sentence. Without a workload, return only
    comparisons of devices or modes.
    """
    found: dict[str, Claim] = {}
    for sentence in sentences:
        for text, condition, said in _read(sentence, workload):
            quoted = sanitize_line(sentence, 400)
            found.setdefault(text, Claim(text=MARK + text, when=condition, quoted=quoted, said=said))
    return tuple(found.values())


def unread(sentences: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the sentences that compare devices or modes, but not plainly enough to become claims, each with
    the reason.
    """
    out = []
    for sentence in sentences:
        plain = _without_markup(sentence)
        found = compare(plain)
        why = "" if found is None else _why_not_plain(found)
        if why or says_equal(plain):
            why = f"tests only plain comparisons; {why}" if why else "tests only which of two is faster"
        elif found is None and may_compare(plain):
            why = "tests only plain comparisons; it cannot tell what this one says"
        elif found is None and _TIME.search(plain):
            why = "tests only comparisons; this one states a time, which depends on its author's machine"
        if why:
            out.append((sanitize_line(sentence, 400), f"tuilab {why}."))
    return tuple(out)


def _without_markup(sentence: str) -> str:
    return sentence.replace("*", "").replace("`", "")


def _why_not_plain(found: Comparison) -> str:
    """Return what in a sentence may change what its comparison says or what it is about, as a clause; "" if
    nothing does.
    """
    if found.device == "CPU and GPU":
        return "this one names both devices"
    whole = (found.before, found.clause, found.after)
    parts = [_without_named(text) for text in whole]
    before, clause, after = parts
    devices = () if found.fast in ("CPU", "GPU") else ("CPU", "GPU")
    subjects = [match[1] for text in parts for match in _SUBJECT.finditer(text)]
    checked = " ".join([_ENDS.split(before)[-1], clause, _ENDS.split(after)[0], *subjects])
    words = _WORD.findall(without_sides(checked, found.fast, found.slow, *devices))
    unknown = [word for word in words if word.rstrip(".'’-").lower() not in _PLAIN]
    changed = [
        match[0] for each in (_UNLESS, _OTHER) for text in parts for match in [each.search(text)] if match
    ]
    limited = [match[0] for text in whole for match in [_LIMITED.search(text)] if match]
    word = next(iter([*filter(None, [third_side(found)]), *limited, *changed, *unknown]), "")
    return f"“{sanitize_line(word.strip(), 40)}” may change what this one says" if word else ""


def _without_named(text: str) -> str:
    for named in (_THIS, *_NAMED.values()):
        text = named.sub(" ", text)
    return without_figures(_DTYPE.sub(" ", _SETTING.sub(" ", text)))


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
    plain = _without_markup(sentence)
    found = compare(plain) if workload not in ("memory", "input_pipeline") else None
    if found is not None and not _why_not_plain(found):
        by, most, said = found.factor
        tested = by > 1 or most is not None
        times = f" ({found.times}{'' if tested else '; times are not tested'})" if found.times else ""
        slow = "a plain graph" if found.fast == "XLA" and found.slow == "graph" else _CALLED[found.slow]
        a, b = (
            msgspec.structs.replace(arms, device=arms.device or found.device)
            for arms in (_ARMS[found.fast], _ARMS[found.slow])
        )
        faster = Faster(a=a, b=b, by=by, most=most)
        margin = f" by {faster.amount}" if by > 1 or most is not None else ""
        where = f" on the {found.device}" if found.device else ""
        yield f"{_CALLED[found.fast]} is faster than {slow}{where}{margin}{times}.", faster, said
    if _UNLESS.search(plain):
        return
    if workload == "training" and _WAITS.search(plain):
        yield (
            f"a step waits for its input for at least {INPUT_SHARE:.0%} of its time.",
            WaitsForInput(share=INPUT_SHARE),
            "",
        )
    if workload in ("stft", "matmul", "compression") and _COPIES.search(plain):
        arms = ArmPattern(device="GPU", input="copied")
        condition = PhaseShare(phases=("copy_in", "copy_out"), share=COPY_SHARE, arms=arms)
        yield "copying takes at least half of a call on the GPU.", condition, ""
