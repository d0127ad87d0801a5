"""Finds first calls: timed work that has not run before the clock starts."""

import re
from functools import lru_cache
from math import inf

from tuilab.documents.example import Example
from tuilab.documents.facts import is_subject, may_run, subject_value
from tuilab.documents.interpreter.names import SAVED
from tuilab.documents.interpreter.trace import WORK, Region, TraceEvent
from tuilab.documents.interpreter.unread import callee, computes
from tuilab.documents.interpreter.values import Graph, Model, OpaqueObject, Value
from tuilab.documents.judge.purpose import ANSWER
from tuilab.documents.timing import FirstCall, Timing

# Number of eager calls after which the overhead of the first call is negligible.
MANY, MANY_ON_GPU = 1_000, 100_000
# Number of graph runs that together take longer than tracing.
MANY_RUNS = 50_000
# Patterns for code that drops samples, for statistics that are robust to a slow first sample, and for the
# mean, which is not.
_TIMES = r"\w*(?:time|timing|took|lat|dur|elapsed|sample|repeat)\w*"
_LEFT_OUT = re.compile(r"(\w+)(?:\[\s*[1-9]\d*\s*:\s*\]|\.sort\(\))")
# Matches the names of objects that may collect samples, because the code adds a time, a benchmark's result or
# a list to them.
_GATHERS = re.compile(
    r"(\w+)(?:\.(?:append|extend)\("
    r"[^\n]*(?:time|took|dur|lat|elapsed|perf|clock|end|stop|toc|t1|bench|measure|run|ms\b|-)"
    r"|\s*\+?=\s*(?:\[(?!\s*\])|list\((?!\))|np\.|sorted\())",
    re.IGNORECASE,
)
_ROBUST = re.compile(
    rf"\b(?:median|percentile|quantile)\s*\(|\b(?:np\.)?min\(\s*{_TIMES}|\.min\(\)", re.IGNORECASE
)
_MEAN = re.compile(
    rf"\b(?:mean|average|fmean)\(\s*(?:\w+\.)?{_TIMES}|\bsum\(\s*(?:\w+\.)?{_TIMES}\s*\)\s*/", re.IGNORECASE
)


def first_call(example: Example, timing: Timing, numbered: bool) -> FirstCall | None:
    """Return the first call in a timing. Returns None if the work ran before the timing, if the code times a
    first call on purpose, or if the first call does not affect the result.

    numbered: the label of an earlier time mentions a first call.
    """
    region, work, lap = timing.region, timing.work, timing.extent == "lap"
    if (
        work is None
        or region.repeats
        or timing.extent == "total"
        or (lap and not _is_of_steps(example, region))
    ):
        return None
    # If the clock starts inside a loop and stops after it, earlier iterations may already have run the work.
    starts_later = len(timing.begins.loops) > len(example.trace.events[region.last].place.loops)
    if starts_later or _is_meant(example, timing, numbered):
        return None
    anew = _leaves_out(example)
    # Unknown code in this function or in its caller may already have run the work. That is impossible if the
    # session is created while the clock runs, or if the objects are created in a function that the example
    # never calls.
    uncalled = timing.begins.uncalled
    cold = work.name == "sess.run" and _makes_session(timing.events)
    if not cold and example.facts.ran_before(work, region.first, anew):
        return None
    answers = bool(ANSWER.search(f"{timing.label} {callee(work.name).replace('_', ' ')}"))
    if work.kind == "opaque" and (example.is_of_others or not (uncalled or answers or timing.compared)):
        return None
    own = not uncalled or example.facts.is_own(work, region.first)
    if not cold and not own and not timing.compared:
        return None
    # An unknown call cannot run a model that was never passed to it.
    value = subject_value(work)
    known = _is_known(example, region, work, value)
    unclear = example.facts.may_have_run(work, region.last if known else region.first)
    unclear = unclear or (not known and bool(timing.unresolved))
    # If the example says that it omits the code that creates the timed object, that object has not run
    # before.
    unclear = unclear and not (anew and known and not uncalled)
    sure = cold or (own and not unclear)
    likely = own and not lap and not example.facts.is_run_by_others(work, region.first)
    likely = likely and (work.kind != "opaque" or example.facts.is_of_tensorflow)
    made = example.facts.is_created(value)
    # An article may omit an earlier run, but a script or notebook is complete.
    whole = not example.block.excerpt and not (isinstance(value, Model) and value.assumed)
    likely = likely and (made or whole)
    count = work.place.repeats_inside(len(timing.begins.loops))
    if count is not None and count >= _negligible_from(work):
        return None
    # A loop around the timed region takes several samples.
    if any(loop.repeats for loop in timing.begins.loops):
        remade = example.facts.is_made_anew(work, region.first)
        # A slow first call does no harm if every time is shown, only some times are used, or the statistic is
        # robust to it.
        if (is_robust(example.block.code) or region.picked) and not remade:
            return None
        sure = sure and (region.gathered or remade)
        likely = likely and (region.gathered or remade)
        count = None
    # The first lap of a loop includes the cost of the first call.
    return FirstCall(None if lap else count, sure and not lap, likely)


def _is_known(example: Example, region: Region, work: TraceEvent, value: Value | None) -> bool:
    if work.name == SAVED or _is_own_interpreter(value):
        return True
    if work.name == "sess.run":
        return example.facts.is_session_kept(work, region.last)
    return isinstance(value, Graph | Model)


def _negligible_from(work: TraceEvent) -> float:
    if work.kind == "graph":
        return MANY_RUNS
    if work.kind == "train":
        return MANY
    if work.kind in ("op", "create", "host-op") and work.name != SAVED:
        # On a GPU the first call starts the device, which takes as long as ten thousand small calls.
        return MANY_ON_GPU if "GPU" in work.place.families else MANY
    return inf


def _is_own_interpreter(value: Value | None) -> bool:
    return isinstance(value, OpaqueObject) and value.kind == "lite" and "given" not in value.data


@lru_cache(maxsize=8)
def is_robust(code: str) -> bool:
    """Return True if the code summarizes its samples by a statistic that a slow first sample does not
    affect.
    """
    gathers = set(_GATHERS.findall(code))
    cut = any(name in gathers or re.fullmatch(_TIMES, name, re.I) for name in _LEFT_OUT.findall(code))
    return cut or "trim" in code or bool(_ROBUST.search(code) and not _MEAN.search(code))


def _is_of_steps(example: Example, region: Region) -> bool:
    """Return True if a timing that starts before a loop and ends in it covers only some of the loop's
    iterations.
    """
    if region.by or region.rate:
        return True
    events = example.trace.events
    loop = events[region.last].place.loops[-1]
    again = (e for e in events[region.last + 1 : loop.last + 1] if e.kind == "clock")
    return any(e.place.loops and e.place.loops[-1] is loop for e in again)


def _leaves_out(example: Example) -> bool:
    """Return True if a comment shows that the example omits code from an earlier example."""
    block = example.block
    if not block.excerpt:
        return False
    comments = (example.comment(n) for n in range(block.line, block.last_line + 1))
    return any(_AS_BEFORE.search(comment) for comment in comments)


_AS_BEFORE = re.compile(
    r"(?:\.\.\.|…|\bsame\b).{0,40}\b(?:model|interpreter|network|load\w*|creat\w*|defin\w*|data|setup|code)\b"
    r"|\b(?:model|interpreter|network|creation|definition|setup|code)\b.{0,40}\b(?:as|from|same)\b.{0,20}"
    r"\b(?:before|above|example|previous|earlier)",
    re.IGNORECASE,
)


# Words in a label or comment that mean the timing includes a first call on purpose.
_MEANT = re.compile(
    r"\b(?:first|1st|initial) (?:call|run|step|batch|epoch|iteration|time|execution|inference)"
    r"|\bcold[- ](?:start|run|call)|\bcold\b(?! )|\btrac(?:es?|ing)\b|\bcompil(?:es?|ing|ation)\b"
    r"|\bstart-?up\b|\bone[- ]time\b|\bstaging\b",
    re.IGNORECASE,
)
# Words that number the calls. They show that the output has a separate time for each call.
_NUMBERED = re.compile(
    r"\b(?:second|third|fourth|fifth|2nd|3rd|4th|5th) (?:call|run|execution|inference)\b", re.IGNORECASE
)
_WARM = re.compile(r"\bwarm(?:ed|s|ing)?(?:[- _]?up)?\b|\bburn[- _]?in\b|\bdry[- ]run\b", re.IGNORECASE)
# Maximum number of lines from a warm-up comment to the clock reading below it, and to the warm-up call.
_ABOVE, _BELOW = 40, 3


def means_first_call(words: str) -> bool:
    return bool(_MEANT.search(words))


def _is_meant(example: Example, timing: Timing, numbered: bool) -> bool:
    """Return True if the timing includes a first call on purpose, or follows a call that is a warm-up,
    judging by the call's name or by a comment.
    """
    region, called = timing.region, timing.label
    beside = [example.comment(n) for n in range(region.line - 2, min(region.last_line, region.line + 20) + 1)]
    if means_first_call(" ".join((called, *beside))) or _WARM.search(called):
        return True
    if numbered and _NUMBERED.search(called):
        return True
    unknown = {e.line for e in example.trace.events[: region.first] if e.kind == "opaque"}
    for line in range(max(1, region.line - _ABOVE), region.line):
        comment = example.comment(line)
        if comment and _WARM.search(comment) and any(n in unknown for n in range(line, line + _BELOW + 1)):
            return True
    return any(_WARM.search(example.text(n).replace("_", " ")) for n in unknown if example.holds(n))


def main_work(events: list[TraceEvent]) -> TraceEvent | None:
    """Return the event that the region is meant to time: a graph, a training call, or eager ops."""
    if _makes_session(events):
        events = [event for event in events if event.name == "sess.run"] or events
    unclear = any(may_run(event) for event in events)
    for kind in ("graph", "train", "op", "host-op", "create"):
        # An op that ran earlier does not prove a warm-up if the region also contains an unknown call, which
        # may not have run.
        found = [e for e in events if e.kind == kind and is_subject(e)]
        if kind in ("op", "create") and unclear:
            found = [e for e in found if e.name in (SAVED, "tf.keras.Model")]
            if not found:
                continue
        # Creating data counts as the work only if the region times nothing else.
        if kind == "create" and any(e.kind in WORK and e.kind not in ("create", "print") for e in events):
            return None
        if found:
            # Choose the work that runs most often, rather than an op such as a slice that only prepares its
            # input.
            return max(found, key=lambda e: (len(e.place.loops), e.name not in _MINOR))
    # Otherwise, choose an unknown call whose name suggests that it runs a model.
    return next((e for e in reversed(events) if e.kind == "opaque" and computes(e.name)), None)


def _makes_session(events: list[TraceEvent]) -> bool:
    return any(event.kind == "build" and event.name.endswith("Session") for event in events)


_MINOR = ("tf.strided_slice", "tf.reshape", "tf.cast", "tf.squeeze", "tf.expand_dims", "tf.transpose")
