"""Reads comparisons of two devices or modes in prose: the faster side, the factor, and the times."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MARGIN = 1.5
"""Factor assumed for phrases such as "much faster"."""
ABOUT = 1.25
"""Ratio within which a speedup confirms an approximate claim: 8 to 12.5 times confirm "about ten times"."""
_ALIKE = 1.1
"""Two stated times contradict a stated factor if their quotient differs from it by more than this ratio, even
after allowing for rounding.
"""

_FLAGS = re.IGNORECASE
_SIDES = {
    "CPU": r"cpus?|processors?",
    "GPU": r"gpus?|graphics cards?",
    "XLA": r"xla|jit_compile\S*",
    "eager": r"eager\w*|op by op|without (?:a )?tf\.function",
    "graph": r"graphs?|tf\.function|compiled (?:function|version|step)",
}
_DEVICES = {name: re.compile(rf"\b(?:{_SIDES[name]})\b", _FLAGS) for name in ("CPU", "GPU")}
_PAIRS = (("CPU", "GPU"), ("XLA", "eager"), ("graph", "eager"), ("XLA", "graph"))
"""Comparisons that a run can measure, the most specific first: a graph compiled by XLA is also a graph."""
_PARTIAL = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_SHORTER = rf"(?P<part>{'|'.join(_PARTIAL)})(?:(?:\s+of)?\s+the\s+time|\s+as\s+long)"
_QUICK = (
    r"(?:faster|quicker|less time|outperform\w*|beats?|wins?|ahead of|improvement over|speed-?up over"
    rf"|(?:twice|double|\d\s?[x×]|times) as (?:fast|quick)(?: as)?|{_SHORTER.replace('?P<part>', '?:')})"
)
_NUMBER = r"(?<![\w.,])\d[\d,]*(?:\.\d+)?"
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
    "thousand": 1_000,
    "twice": 2,
    "double": 2,
}
COUNT = rf"(?:{_NUMBER}|{'|'.join(_NUMBERS)})"
_SLOWER = (
    rf"(?:slower|more time|(?:twice|double|{COUNT}\s?(?:[x×]|times)) (?:as (?:slow|long)|longer|the time))"
)
# A dot inside a name such as `tf.matmul` does not end a sentence.
_GAP = r"(?:[^.;]|\.(?=\w)){0,90}?"


def _wins(fast: str, slow: str) -> re.Pattern[str]:
    a, b = rf"\b(?:{_SIDES[fast]})\b", rf"\b(?:{_SIDES[slow]})\b"
    than = rf"\s(?:on|with|in|as|under|using)\b{_GAP}"  # `faster on the GPU than on the CPU`
    orders = (
        rf"{a}{_GAP}\b{_QUICK}\b{_GAP}{b}",
        rf"{b}{_GAP}\b{_SLOWER}\b{_GAP}{a}",
        rf"\b{_QUICK}{than}{a}{_GAP}\bthan\b{_GAP}{b}",
        rf"\b{_SLOWER}{than}{b}{_GAP}\bthan\b{_GAP}{a}",
    )
    return re.compile("|".join(orders), _FLAGS)


_WINS = {order: _wins(*order) for pair in _PAIRS for order in (pair, pair[::-1])}
_XLA_WINS = re.compile(rf"\b(?:{_SIDES['XLA']})\b{_GAP}\b{_QUICK}\b", _FLAGS)

_UNITS = {
    r"ns|nanoseconds?": 1e-9,
    r"[µμu]s|microseconds?": 1e-6,
    r"ms|msecs?|milliseconds?": 1e-3,
    r"s|secs?|seconds?": 1.0,
    r"mins?|minutes?": 60.0,
}
UNIT = "|".join(_UNITS)
DIFFERENCE = "faster|quicker|slower|longer|ahead|less|more|sooner"
"""Words after a time that is the difference between two sides, not the time of one."""
_PARTS = re.compile(
    rf"(?P<number>{_NUMBER})[ -]?(?P<unit>{UNIT})\b"
    rf"(?!\s+(?:{DIFFERENCE})\b)|" + "|".join(rf"\b(?P<{name}>{words})\b" for name, words in _SIDES.items()),
    _FLAGS,
)
_TOLERANCE = re.compile(rf"(?:±|\+/-)\s*\d[\d.,]*\s*(?:(?:{UNIT})\b|%)?", _FLAGS)
# Words between a time and the side to which the time belongs: `40 ms on the CPU`.
_BINDS = re.compile(
    r"\s*(?:\(|(?:on|with|for|in|under|using|by|via)\b)\s*(?:(?:the|an?|my|our)\s+)?(?=\w)", _FLAGS
)
_COMPARED = re.compile(
    rf"\b(?:(?P<quick>{_QUICK})|{_SLOWER})\b(?P<than>\s+than\s+(?:the\s+|an?\s+)?)?", _FLAGS
)

_WIDE = re.compile(
    r"\b(?:significant\w*|substantial\w*|dramatic\w*|much|far|vastly|wide|considerabl\w*)\b", _FLAGS
)
_FACTOR = re.compile(
    rf"(?P<times>{COUNT})\s*-?\s*(?:[x×]|times|fold)(?!\w|\s*\d)"
    rf"|\bfactor of (?:about )?(?P<factor>{COUNT})\b"
    rf"|(?P<percent>{_NUMBER})\s*(?:%|percent)\s+(?:faster|quicker|slower)\b"
    r"|\b(?P<twice>twice|double)\b"
    rf"|\b{_SHORTER}\b"
    rf"|\b(?:(?P<orders>{COUNT})\s+)?(?P<order>orders? of magnitude)\b",
    _FLAGS,
)
_RANGE = re.compile(
    rf"(?P<low>{COUNT})\s*(?:[x×]|times)?\s*(?:to|and|or|-|–|—)\s*"
    rf"(?P<high>{COUNT})\s*-?\s*(?:[x×]|times|fold)(?!\w|\s*\d)",
    _FLAGS,
)
_ABOUT = re.compile(
    r"\b(?:about|around|roughly|nearly|almost|approximately|some)\b|~|≈|\borders? of magnitude\b", _FLAGS
)
_AT_MOST = re.compile(r"\b(?:at most|can|may|might)\b", _FLAGS)
_AT_LEAST = re.compile(r"\b(?:at least|more than|over|no less than|a minimum of)\b|[>≥]", _FLAGS)
_UP_TO = re.compile(r"\b(?:up to|as much as)\b", _FLAGS)


class _Time(NamedTuple):
    words: str
    """The time as the document writes it, such as `0.4 ms`."""
    seconds: float
    rounding_s: float
    """Rounding error in seconds: half a unit of the last digit."""


class Factor(NamedTuple):
    """A stated speedup."""

    by: float = 1.0
    """Minimum speedup as a factor; 1 if the statement gives none."""
    most: float | None = None
    """Maximum speedup as a factor; None if the statement gives none."""
    said: str = ""
    """The statement's words if they give no limit themselves, such as `much`, `about 10x` or `10x`."""


class Comparison(NamedTuple):
    """A statement that one side is faster than another."""

    fast: str
    slow: str
    factor: Factor
    times: str
    """A phrase with the two times, and with a remark if they contradict the statement; "" if the statement
    contains no times.
    """
    before: str
    """The statement up to the first of the two sides."""
    clause: str
    """The part of the statement from one side to the other."""
    after: str
    """The statement after the second side."""

    @property
    def device(self) -> str:
        """The device on which a statement compares two modes: `CPU`, `GPU`, `CPU and GPU`, or "" if it names
        none.
        """
        if {self.fast, self.slow} & _DEVICES.keys():
            return ""
        text = f"{self.before} {self.clause} {self.after}"
        return " and ".join(name for name, words in _DEVICES.items() if words.search(text))


def compare(statement: str) -> Comparison | None:
    """Return the comparison in a statement without markup; None if there is none, or if it is unclear which
    side is faster.

    The statement's words decide which side is faster; without such words, the two times decide.
    """
    text = _TOLERANCE.sub("", statement)
    timed, sure = _timed(text)
    (said, at), factor = _said(text, tuple(timed)), _factor(text)
    parts = text[: at[0]], text[slice(*at)], text[at[1] :]
    if not timed:
        return None if said is None else Comparison(*said, factor, "", *parts)
    if said is not None and not sure:
        timed = dict(zip(said, sorted(timed.values(), key=lambda time: time.seconds), strict=True))
    fast, slow = said or sorted(timed, key=lambda side: timed[side].seconds)
    if said is None and timed[fast].seconds == timed[slow].seconds:
        return None
    times = _describe(timed[fast], timed[slow], _factors(text))
    return Comparison(fast, slow, factor, times, *parts)


def _describe(fast: _Time, slow: _Time, factors: Sequence[float]) -> str:
    """Return `0.4 ms against 40 ms`, with a remark if the times contradict the stated factor or direction."""
    words = f"{fast.words} against {slow.words}"
    low = (slow.seconds - slow.rounding_s) / (fast.seconds + fast.rounding_s)
    high = (slow.seconds + slow.rounding_s) / max(fast.seconds - fast.rounding_s, 1e-12)
    if high < 1:
        return f"{words}, so its own times say the opposite"
    if len(factors) == 1 and not low / _ALIKE <= factors[0] <= high * _ALIKE:
        return f"{words}, so its own times give {slow.seconds / fast.seconds:.3g}×"
    return words


def _said(text: str, sides: Sequence[str]) -> tuple[tuple[str, str] | None, tuple[int, int]]:
    """Return the faster and the slower side according to a statement's words, and where the words that say so
    begin and end. Without such words, or if they are unclear, return None and the whole statement.

    sides: the sides whose times the statement mentions.
    """
    whole = 0, len(text)
    for pair in _PAIRS:
        wins = [(order, found) for order in (pair, pair[::-1]) if (found := _WINS[order].search(text))]
        if wins and (not sides or set(sides) == set(pair)):
            # ambiguous if both sides win
            return (wins[0][0], wins[0][1].span()) if len(wins) == 1 else (None, whole)
    if not sides:
        found = _XLA_WINS.search(text)
        return (("XLA", "graph"), found.span()) if found is not None else (None, whole)
    for found in _COMPARED.finditer(text):
        clause = re.split(r"[,;:(—–]|\.\s", text[: found.start()])[-1]
        behind = _PARTS.match(text, found.end()) if found["than"] else None
        other = behind.lastgroup if behind is not None else ""
        named = [side for side in _named(_PARTS.finditer(clause)) if side in sides]
        named = named[-1:] or [side for side in sides if other in sides and side != other]
        if named:
            rest = next(side for side in sides if side != named[0])
            return ((named[0], rest) if found["quick"] else (rest, named[0])), whole
    return None, whole


def _named(parts: Iterable[re.Match[str]]) -> list[str]:
    return [str(part.lastgroup) for part in parts if part.lastgroup in _SIDES]


def _timed(text: str) -> tuple[dict[str, _Time], bool]:
    """Return the times of both sides, and whether the statement's words show which time belongs to which
    side. Return no times unless the statement contains exactly two.
    """
    parts = list(_PARTS.finditer(text))
    at = [index for index, part in enumerate(parts) if part["number"]]
    if len(at) != 2:
        return {}, False
    before, between, after = (_named(some) for some in (parts[: at[0]], parts[at[0] : at[1]], parts[at[1] :]))
    bound = [_bound(text, parts[index:]) for index in at]
    sure, sides = True, list[str]()
    if not before and not between:  # `40 ms and 0.4 ms on the CPU and the GPU`
        sides = after[:2]
    elif bound[0] or not before:  # `40 ms on the CPU, 0.4 ms on the GPU`
        first = bound[0] or between[0]
        sides = [first, *(s for s in (bound[1], *between[::-1], *after) if s not in ("", first))][:2]
    elif second := bound[1] or next(iter(between[::-1]), ""):  # `the CPU takes 40 ms, the GPU takes 0.4 ms`
        sides = [next((side for side in before[::-1] if side != second), ""), second]
    else:  # `the GPU beats the CPU: 0.4 ms against 40 ms`
        sure, sides = False, list(dict.fromkeys(before[::-1]))[1::-1]
    if not any(set(sides) == set(pair) for pair in _PAIRS):
        return {}, False
    return {side: _time(parts[index]) for side, index in zip(sides, at, strict=True)}, sure


def _bound(text: str, parts: Sequence[re.Match[str]]) -> str:
    """Return the side that directly follows a time, such as the CPU in `40 ms on the CPU`; "" if none
    does.
    """
    words = _BINDS.match(text, parts[0].end())
    follows = words is not None and len(parts) > 1 and parts[1].start() == words.end()
    return str(parts[1].lastgroup) if follows and parts[1].lastgroup in _SIDES else ""


def _time(part: re.Match[str]) -> _Time:
    number = part["number"].replace(",", "")
    unit = next(value for words, value in _UNITS.items() if re.fullmatch(words, part["unit"], _FLAGS))
    half = 0.5 * 10.0 ** -len(number.partition(".")[2])
    return _Time(part[0], float(number) * unit, half * unit)


def _factors(text: str) -> list[float]:
    """Return the factors that a statement gives, such as 10 for `ten times` or 1.5 for `50% faster`."""
    found = []
    for match in _FACTOR.finditer(text):
        words = (match[name] for name in ("times", "factor", "twice", "percent", "part", "orders"))
        word = next(filter(None, words), "1").lower()
        number = _number(word)
        if match["order"]:
            number = 10.0**number
        found.append(1 + number / 100 if match["percent"] else number)
    return found


def _number(word: str) -> float:
    word = word.lower()
    return float(_NUMBERS.get(word, 0) or _PARTIAL.get(word, 0) or word.replace(",", ""))


def _factor(text: str) -> Factor:
    """Return the factor by which one side is faster, according to the statement."""
    if _AT_MOST.search(text):
        return Factor()
    if (both := _RANGE.search(text)) is not None:
        low, high = sorted((_number(both["low"]), _number(both["high"])))
        return Factor(low, high)
    factors = _factors(text)
    if _UP_TO.search(text):
        return Factor(most=factors[0]) if len(factors) == 1 and factors[0] > 1 else Factor()
    if len(factors) == 1 and factors[0] > 1:
        stated, about = _FACTOR.search(text), _ABOUT.search(text)
        assert stated is not None
        if about is None:
            return Factor(factors[0], said="" if _AT_LEAST.search(text) else stated[0].strip())
        said = stated[0] if about.start() >= stated.start() else f"{about[0]} {stated[0]}"
        most = None if stated["order"] else round(factors[0] * ABOUT, 3)
        return Factor(round(factors[0] / ABOUT, 3), most, said)
    wide = _WIDE.search(text)
    return Factor(MARGIN, said=wide[0]) if wide is not None else Factor()


def numbers(statement: str) -> set[int]:
    """Return the whole numbers in a statement that are not part of a time, factor or tolerance."""
    text = _FACTOR.sub("", _RANGE.sub("", _PARTS.sub("", _TOLERANCE.sub("", statement))))
    words = [*_WHOLE.findall(text), *(side for shape in SHAPE.findall(text) for side in shape)]
    return {int(word.replace(",", "")) for word in words} | _amounts(text)


_WHOLE = re.compile(r"(?<![\w.,])\d[\d,]{0,20}(?!\w|[.,]\d)")
SHAPE = re.compile(r"\b(\d[\d,]{0,20})(?:\s*[x×]\s*|\s+by\s+)(\d[\d,]{0,20})\b", _FLAGS)
_POWERS = {"k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000, "billion": 1_000_000_000}
_AMOUNT = re.compile(
    rf"(?P<number>{_NUMBER}|\b(?:one|an?(?=\s(?:thousand|[mb]illion))|{'|'.join(_NUMBERS)}))"
    rf"(?:\s*-?\s*(?P<power>{'|'.join(_POWERS)}))?"
    r"[ -](?:\w+ )?(?:samples?|elements?|numbers?|points?|values?|floats?|rows?|items?|entries|tokens?"
    r"|ops?|operations?|additions?|multiplications?|matmuls?|products?|layers?|iterations?|rounds?)\b",
    _FLAGS,
)
_EQUAL = re.compile(
    r"\b(?:the same (?:time|speed)|equally (?:fast|slow)|no difference|as (?:fast|slow) as)\b",
    _FLAGS,
)


def _amounts(statement: str) -> set[int]:
    """Return the sizes of data in a statement, such as 10,000,000 for `ten million samples`."""
    found = set()
    for match in _AMOUNT.finditer(statement):
        word = match["number"].lower()
        number = _NUMBERS.get(word) or (1.0 if word[0].isalpha() else float(word.replace(",", "")))
        found.add(round(number * _POWERS.get((match["power"] or "").lower(), 1)))
    return found


def says_equal(statement: str) -> bool:
    """Return True if a statement says that two sides are equally fast."""
    return _EQUAL.search(statement) is not None and not _factors(statement) and _names_pair(statement)


_COMPARATIVE = re.compile(
    r"\b(?:faster|quicker|slower|sooner|longer|cheaper|outperform\w*|beat(?:s|en)?|overtak\w*|outpac\w*|surpass\w*"
    r"|(?:less|more) (?:time|efficient|expensive|costly)|costs? (?:\w+ )?(?:less|more)|as much time"
    r"|loses?|lost|wins?|halves|cuts?|reduces?|saves?|speeds?[- ]?ups?)\b",
    _FLAGS,
)


def may_compare(statement: str) -> bool:
    """Return True if a statement names two sides and contains a word of a comparison."""
    return _COMPARATIVE.search(statement) is not None and _names_pair(statement)


def _names_pair(statement: str) -> bool:
    sides = set(_named(_PARTS.finditer(statement)))
    return any(sides.issuperset(pair) for pair in _PAIRS)


def without_figures(statement: str) -> str:
    """Return a statement without times, factors, tolerances and sizes."""
    statement = re.sub(rf"\b(?:{_SLOWER}|less time)\b", " slower ", statement, flags=_FLAGS)
    for pattern in (_TOLERANCE, SHAPE, _AMOUNT, _FACTOR):
        statement = pattern.sub(" ", statement)
    return _PARTS.sub(lambda part: " " if part["number"] else part[0], statement)


def third_side(found: Comparison) -> str:
    """Return the words that add another side to one of the two, such as `graph mode and`; "" if none do."""
    others = "|".join(words for side, words in _SIDES.items() if side not in (found.fast, found.slow))
    before = re.search(rf"\b(?:{others})(?: \w+)?,? (?:and|or)(?: \w+)?\s*$", found.before, _FLAGS)
    after = re.match(rf"(?: \w+)? (?:and|or)(?: \w+)? (?:{others})\b", found.after, _FLAGS)
    return (before or after or [""])[0].strip()


def without_sides(clause: str, *sides: str) -> str:
    for side in sorted(sides, key=lambda side: side != "eager"):  # `without tf.function` is eager
        clause = re.sub(rf"\b(?:{_SIDES[side]})\b", " ", clause, flags=_FLAGS)
    return clause


_DENIAL = re.compile(
    r"\W*(?:(?:but|yet|however|sadly|unfortunately),? )?"
    r"(?:(?:in (?:truth|fact|reality)|actually),? )?"
    r"(?:(?:this|that|it|which|the claim)\b(?: \w+){0,2}? |we (?:measured|found|saw|see) )?"
    r"(?:(?:is|was|turned out to be|isn['’]t|wasn['’]t)(?: \w+)? )?"
    r"(?:wrong|false|untrue|(?:not|no longer|isn['’]t|wasn['’]t|hardly) (?:true|so|right|the case|correct)"
    r"|incorrect|a myth|nonsense|debunked|disproved|the opposite|the other way (?:a)?round|the reverse)\b"
    r"(?=\s*(?:$|[^\w\s]|(?:holds?|is true|here|now|today|any ?more|on|in|at|for|because|since)\b))",
    _FLAGS,
)


def statements(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the statements of a paragraph. If a comparison is spread over two or three sentences, these form
    one statement, and so do a sentence and its denial, as in `This is wrong`.
    """
    at = 0
    while at < len(sentences):
        length = next((n for n in (3, 2) if _one(sentences[at : at + n], n)), 1)
        length += bool(_DENIAL.match("".join(sentences[at + length : at + length + 1])))
        yield " ".join(sentences[at : at + length])
        at += length


def _one(sentences: Sequence[str], length: int) -> bool:
    if len(sentences) != length:
        return False
    timed = [any(part["number"] for part in _PARTS.finditer(each)) for each in sentences]
    compares = [bool(_COMPARED.search(each) and _factors(each)) for each in sentences]
    alone = [at for at in range(length) if compares[at] and not timed[at]]
    return all(map(bool.__or__, timed, compares)) and len(alone) <= 1 and bool(_timed(" ".join(sentences))[0])
