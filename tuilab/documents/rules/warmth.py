"""First calls: tracing, compiling, allocating and starting, mixed into a figure."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tuilab.documents.example import Example
from tuilab.documents.facts import is_subject, may_run, subject_value
from tuilab.documents.interpreter.names import SAVED
from tuilab.documents.interpreter.trace import WORK, Region, TraceEvent
from tuilab.documents.interpreter.unread import callee, computes
from tuilab.documents.interpreter.values import Graph, Model, OpaqueObject, Value, integer
from tuilab.documents.rules.purpose import ANSWER, compares, is_beside, is_said, label
from tuilab.documents.rules.regions import batch_of, holds_others, is_lap, regions, rows_of
from tuilab.documents.rules.rule import Hit, rule
from tuilab.model.found import Severity

# Number of eager calls after which the first call's overhead is negligible.
MANY, MANY_ON_GPU = 1_000, 100_000
# Number of graph runs that take longer than tracing.
MANY_RUNS = 50_000
# Number of batches that take longer than starting their pipeline.
MANY_BATCHES = 100_000
# Elements up to which an eager op's time is its dispatch.
SMALL = 4_096
# Dropped samples, statistics that a slow first sample does not affect, and one that it does.
_TIMES = r"\w*(?:time|timing|took|lat|dur|elapsed|sample|repeat)\w*"
_LEFT_OUT = re.compile(r"(\w+)(?:\[\s*[1-9]\d*\s*:\s*\]|\.sort\(\))")
# Names to which a time or a benchmark's result is added, or a list is given: samples may be gathered in them.
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


@dataclass(frozen=True)
class First:
    """A timing with work that never ran before, that work, and how often it runs.

    sure: nothing unknown may have run it before, and its time is compared. likely: something may have, but
    its name suggests that it did not; and the time matters.
    """

    region: Region
    work: TraceEvent
    count: int | None
    sure: bool
    likely: bool = False


def first_calls(example: Example) -> Iterator[First]:
    """Yield timings whose work never ran before, as far as the trace shows."""
    robust = _is_robust(example.block.code)
    anew = _leaves_out(example)
    for region, events in regions(example):
        if region.repeats or holds_others(example, region):
            continue
        lap = is_lap(example, region)
        if lap and not _is_of_steps(example, region):
            continue
        if _starts_later(example, region):
            continue
        work = _main_work(events)
        if work is None or _says_so(example, region):
            continue
        # Unknown code may have run it before, in this function or in its caller; except for a session created
        # while the clock runs, or work created by an uncalled function.
        uncalled = example.trace.events[region.first].place.uncalled
        cold = work.name == "sess.run" and _makes_session(events)
        if not cold and example.facts.ran_before(work, region.first, anew):
            continue
        answers = bool(ANSWER.search(f"{label(region)} {callee(work.name).replace('_', ' ')}"))
        meant = uncalled or answers or compares(example, region)
        if work.kind == "opaque" and (example.is_of_others or not meant):
            continue
        own = not uncalled or example.facts.is_own(work, region.first)
        if not cold and not own and not compares(example, region):
            continue
        # An unknown call cannot run a model that it never received.
        value = subject_value(work)
        made = example.facts.is_made(value)
        known = work.name == SAVED or _is_own_interpreter(value)
        if work.name == "sess.run":
            known = known or example.facts.is_session_kept(work, region.last)
        else:
            known = known or isinstance(value, Graph | Model)
        unclear = example.facts.may_have_run(work, region.last if known else region.first)
        unclear = unclear or (not known and any(may_run(e) for e in events))
        # If the example says that it omits the creation of its subject, nothing ran it before.
        unclear = unclear and not (anew and known and not uncalled)
        sure = cold or (own and not unclear)
        likely = own and not lap and not example.facts.is_run_by_others(work, region.first)
        likely = likely and (work.kind != "opaque" or example.facts.is_of_tensorflow)
        # An article may omit earlier runs; a script or notebook is complete.
        whole = example.block.script or example.block.notebook
        likely = likely and (made or (whole and not (isinstance(value, Model) and value.assumed)))
        count = _repeats_inside(example, region, work)
        # On a GPU the first call starts the device, as long as ten thousand small ones take.
        many = MANY_ON_GPU if "GPU" in work.place.families else MANY
        small = work.kind in ("op", "create", "host-op") and work.name != SAVED
        if small and count is not None and count >= many:
            continue
        if work.kind == "train" and count is not None and count >= MANY:
            continue
        if work.kind == "graph" and count is not None and count >= MANY_RUNS:
            continue
        if _is_sampled(example, region):
            anew = example.facts.is_made_anew(work, region.first)
            # Each time by itself, only some of them, or a statistic that the first does not move.
            if (robust or region.picked) and not anew:
                continue
            sure = sure and (region.gathered or anew)
            likely = likely and (region.gathered or anew)
            count = None
        # The first lap of a loop includes that cost.
        yield First(region, work, None if lap else count, sure and not lap, likely)


def _is_own_interpreter(value: Value | None) -> bool:
    """Return True for a TFLite interpreter that the document creates."""
    return isinstance(value, OpaqueObject) and value.kind == "lite" and "given" not in value.data


def _is_robust(code: str) -> bool:
    """Return True if the statistics of several samples are not affected by a slow first one."""
    gathers = set(_GATHERS.findall(code))
    cut = any(name in gathers or re.fullmatch(_TIMES, name, re.I) for name in _LEFT_OUT.findall(code))
    return cut or "trim" in code or bool(_ROBUST.search(code) and not _MEAN.search(code))


def _is_of_steps(example: Example, region: Region) -> bool:
    """Whether the time from before a loop to within it is of some steps, and not of all since it began."""
    if region.by or region.rate:
        return True
    events = example.trace.events
    loop = events[region.last].place.loops[-1]
    again = (e for e in events[region.last + 1 : loop.last + 1] if e.kind == "clock")
    return any(e.place.loops and e.place.loops[-1] is loop for e in again)


def _leaves_out(example: Example) -> bool:
    """Return True if an example of a page says that its objects are made as in an earlier one."""
    block = example.block
    if block.script or block.notebook:
        return False
    comments = (example.comment(n) for n in range(block.line, block.last_line + 1))
    return any(_AS_BEFORE.search(comment) for comment in comments)


_AS_BEFORE = re.compile(
    r"(?:\.\.\.|…|\bsame\b).{0,40}\b(?:model|interpreter|network|load\w*|creat\w*|defin\w*|data|setup|code)\b"
    r"|\b(?:model|interpreter|network|creation|definition|setup|code)\b.{0,40}\b(?:as|from|same)\b.{0,20}"
    r"\b(?:before|above|example|previous|earlier)",
    re.IGNORECASE,
)


_GPU = re.compile(r"\bgpus?\b", re.IGNORECASE)


def _starts_later(example: Example, region: Region) -> bool:
    """Return True if the clock starts in a loop and continues after it: earlier iterations may have run
    before.
    """
    events = example.trace.events
    return len(events[region.first].place.loops) > len(events[region.last].place.loops)


# Words in a label or comment which say that first calls are intended.
_MEANT = re.compile(
    r"\b(?:first|1st|initial) (?:call|run|step|batch|epoch|iteration|time|execution|inference)"
    r"|\bcold[- ](?:start|run|call)|\bcold\b(?! )|\btrac(?:es?|ing)\b|\bcompil(?:es?|ing|ation)\b"
    r"|\bstart-?up\b|\bone[- ]time\b|\bstaging\b",
    re.IGNORECASE,
)
# Numbered calls: the cost of each is shown.
_NUMBERED = re.compile(
    r"\b(?:second|third|fourth|fifth|2nd|3rd|4th|5th) (?:call|run|execution|inference)\b", re.IGNORECASE
)
_WARM = re.compile(r"\bwarm(?:ed|s|ing)?(?:[- _]?up)?\b|\bburn[- _]?in\b|\bdry[- ]run\b", re.IGNORECASE)
# Maximum distance of a warm-up comment above a reading, and of its call below it.
_ABOVE, _BELOW = 40, 3


def _says_so(example: Example, region: Region) -> bool:
    """Return True if the first call is intended, or was warmed up by an unknown call.

    A comment is not a call: a warm-up comment counts if the following code may be one.
    """
    beside = [example.comment(n) for n in range(region.line - 2, min(region.last_line, region.line + 20) + 1)]
    if _MEANT.search(" ".join((label(region), *beside))):
        return True
    if _WARM.search(label(region)):
        return True
    before = (label(r) for r, _ in regions(example) if r.first < region.first)
    if _NUMBERED.search(label(region)) and any(map(_MEANT.search, before)):
        return True
    unknown = {e.line for e in example.trace.events[: region.first] if e.kind == "opaque"}
    for line in range(max(1, region.line - _ABOVE), region.line):
        comment = example.comment(line)
        if comment and _WARM.search(comment) and any(n in unknown for n in range(line, line + _BELOW + 1)):
            return True
    return any(_WARM.search(example.text(n).replace("_", " ")) for n in unknown if example.holds(n))


_DENIES = re.compile(r"\b(?:no|not|without|todo|skip\w*|never|yet|unlike)\b", re.IGNORECASE)


def _main_work(events: list[TraceEvent]) -> TraceEvent | None:
    """Return the purpose of the region: a graph, a training, or eager ops."""
    if _makes_session(events):
        events = [event for event in events if event.name == "sess.run"] or events
    unclear = any(may_run(event) for event in events)
    for kind in ("graph", "train", "op", "host-op", "create"):
        # Next to an unknown call, single ops do not show whether the whole ran before.
        found = [e for e in events if e.kind == kind and is_subject(e)]
        if kind in ("op", "create") and unclear:
            found = [e for e in found if e.name in (SAVED, "tf.keras.Model")]
            if not found:
                continue
        # Generated data is only what is timed if nothing else is.
        if kind == "create" and any(e.kind in WORK and e.kind not in ("create", "print") for e in events):
            return None
        if found:
            # The most frequent work is meant, not the slice that feeds it.
            return max(found, key=lambda e: (len(e.place.loops), e.name not in _MINOR))
    # An unread call runs a model, judging by its name.
    return next((e for e in reversed(events) if e.kind == "opaque" and computes(e.name)), None)


def _makes_session(events: list[TraceEvent]) -> bool:
    """Return True if a session is created, in which nothing has run before."""
    return any(event.kind == "build" and event.name.endswith("Session") for event in events)


_MINOR = ("tf.strided_slice", "tf.reshape", "tf.cast", "tf.squeeze", "tf.expand_dims", "tf.transpose")


def _repeats_inside(example: Example, region: Region, work: TraceEvent) -> int | None:
    """Return how often the work runs between the readings, by the loops inside them."""
    return work.place.repeats_inside(len(example.trace.events[region.first].place.loops))


def _is_sampled(example: Example, region: Region) -> bool:
    """Return True if a loop around the region takes several samples."""
    loops = example.trace.events[region.first].place.loops
    return any(not loop.unrolled and loop.count != 1 for loop in loops)


@rule("TL104", "No warm-up", "warning")
def no_warm_up(example: Example) -> Iterator[Hit]:
    """Several calls are timed, the first of which is a first call.

    Why: The first call traces, compiles, loads kernels and takes memory; the others share its time.

    Instead: Call the function a few times before the clock starts.

    Wrong:
        t = time.perf_counter()
        for _ in range(20):
            z = tf.matmul(x, y)
        z.numpy()
        print(time.perf_counter() - t)

    Right:
        tf.matmul(x, y)
        t = time.perf_counter()
        for _ in range(20):
            z = tf.matmul(x, y)
        z.numpy()
        print(time.perf_counter() - t)
    """
    found = list(first_calls(example))
    single = {first.region.line for first in found if first.count == 1}
    for works in _by_line(iter(found), lambda count: count != 1):
        if works[0].region.line in single:
            continue  # reported by TL105
        first = works[0]
        yield Hit(
            first.region.line,
            f"nothing ran {_names(works)} before the clock starts{_SEEN[first.sure]}: {_cost(first.work)}",
            region=first.region,
            severity=None if first.sure or first.likely else "note",
            calls=first.count or 0,
        )
    yield from _batches(example)


def _batches(example: Example) -> Iterator[Hit]:
    """Yield times of a callback's batches or epochs that are gathered from the first on."""
    if _is_robust(example.block.code):
        return
    for region, _ in regions(example):
        function = example.trace.events[region.first].place.function
        speed = region.gathered or region.by or region.rate
        if _BATCH_BEGINS.match(function) and speed and not region.picked:
            yield Hit(
                region.line,
                "the time of the first batch, in which Keras traces its step, is among those of the others",
                "Leave out the first batches.",
                region=region,
                severity=None if _counts(example, region) else "note",
            )

        elif function == "on_epoch_begin" and region.gathered and not region.picked:
            yield Hit(
                region.line,
                "the time of the first epoch, in which Keras traces its step, is among those of the others",
                "Leave out the first epoch.",
                region=region,
                severity="note",
            )


def _counts(example: Example, region: Region) -> bool:
    """Return True if a callback's batch times are figures of a model's answers, taken for each batch."""
    begins = example.trace.events[region.first].place
    answers = begins.function.startswith(("on_predict", "on_test"))
    return answers and not begins.branches


_BATCH_BEGINS = re.compile(r"on_(?:train_|test_|predict_)?batch_begin$")


@rule("TL105", "First call timed", "warning")
def first_call_timed(example: Example) -> Iterator[Hit]:
    """A single call is timed, and it is the first.

    Why: The figure is mostly the cost of starting, which is paid once.

    Instead: Time a later call, and give the first call's time apart.

    Wrong:
        f = tf.function(tf.matmul)
        t = time.perf_counter()
        f(x, y).numpy()
        print(time.perf_counter() - t)

    Right:
        f = tf.function(tf.matmul)
        f(x, y)
        t = time.perf_counter()
        f(x, y).numpy()
        print(time.perf_counter() - t)
    """
    for works in _by_line(first_calls(example), lambda count: count == 1):
        region, work, sure = works[0].region, works[0].work, works[0].sure
        likely = sure or works[0].likely
        epochs = work.arguments.get("epochs")
        long = work.kind == "train" and epochs is not None and integer(epochs) != 1
        # With many epochs, the first is negligible; with few it matters if the code is about speed.
        many = long and (integer(epochs) or 0) >= _MANY_EPOCHS
        few = long and 1 < (integer(epochs) or _MANY_EPOCHS) <= _FEW_EPOCHS and is_said(example, region)
        short = long and (integer(epochs) or 0) <= _MANY_EPOCHS and (_steps(work) or _FEW_STEPS) < _FEW_STEPS
        few = few or (short and compares(example, region))
        yield Hit(
            region.line,
            f"the one call of {_names(works)} that is timed is its first{_SEEN[sure]}: {_cost(work)}",
            "Report the time of its first epoch separately." if long else "",
            region=region,
            severity=_severity(few and sure, many or not likely or (long and not is_beside(example, region))),
            calls=(integer(epochs) or 0) if epochs is not None else 1,
        )


_MANY_EPOCHS, _FEW_EPOCHS = 10, 5
# Number of steps up to which tracing the first takes longer.
_FEW_STEPS = 1_000


def _steps(work: TraceEvent) -> int | None:
    """Return a training's total number of steps; None if not known."""
    rows, size, epochs = rows_of(work), batch_of(work), integer(work.arguments.get("epochs"))
    return None if rows is None or not epochs or not size else -(-rows // size) * epochs


def _severity(few: bool, passing: bool) -> Severity | None:
    return "warning" if few else "note" if passing else None


_SEEN = {True: "", False: ", so far as can be seen"}


def _by_line(found: Iterator[First], wanted: Callable[[int | None], bool]) -> Iterator[list[First]]:
    """Yield groups of first calls whose clock starts on the same line, as in a helper that times several
    functions.
    """
    lines: dict[int, list[First]] = {}
    for first in found:
        if wanted(first.count):
            lines.setdefault(first.region.line, []).append(first)
    for works in lines.values():
        yield [first for first in works if first.sure] or works


def _names(works: list[First]) -> str:
    names = list(dict.fromkeys(_name(first.work) for first in works))
    return names[0] if len(names) == 1 else f"{', '.join(names[:4])} (each)"


def _name(work: TraceEvent) -> str:
    if work.kind == "opaque":
        return f"{callee(work.name)}()"
    return work.name if work.kind != "train" else f"{work.name}()"


def _cost(work: TraceEvent) -> str:
    if work.kind == "graph":
        return "it is traced and optimised then, and compiled where XLA does"
    if work.kind == "train":
        return "its step is traced and made a graph then"
    if work.kind == "opaque":
        return "what it runs of TensorFlow is traced, and takes its memory, then"
    if work.name == "invoke":
        return "weights are prepared and memory is taken then"
    return "kernels are loaded and memory is taken then"


@rule("TL106", "Warm-up that does nothing", "error")
def warms_nothing(example: Example) -> Iterator[Hit]:
    """A loop in front of a timing that only binds names.

    Why: The function is as cold after it as before.

    Instead: Call the function in the warm-up, as the timed code does.

    Wrong:
        z = tf.matmul(x, y)
        for _ in range(3):
            w = z
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print(time.perf_counter() - t)

    Right:
        for _ in range(3):
            w = tf.matmul(x, y)
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print(time.perf_counter() - t)
    """
    known = [region for region, _ in regions(example)]
    last_start = max((region.first for region in known), default=-1)
    for loop in example.loops:
        if loop.unrolled or not loop.last < last_start:
            continue
        if loop.last < loop.first:
            continue
        events = example.trace.events[loop.first : loop.last + 1]
        binds = any(event.kind == "bind" and "item" not in event.arguments for event in events)
        if binds and not any(event.kind in WORK for event in events) and not example.timed(events[0]):
            yield Hit(
                loop.line, "this warm-up does nothing: its loop only binds a name to a value already there"
            )


@rule("TL109", "Pipeline started in the timed region", "warning")
def iterator_start(example: Example) -> Iterator[Hit]:
    """A pipeline is started inside the timed region, for the first time.

    Why: Starting threads and filling buffers takes as long as many batches.

    Instead: Take the first batches before the clock starts, from the same iterator.

    Wrong:
        d = tf.data.Dataset.range(999).batch(8)
        t = time.perf_counter()
        for b in d:
            b.numpy()
        print(time.perf_counter() - t)

    Right:
        d = tf.data.Dataset.range(999).batch(8)
        for b in d:
            b.numpy()
        t = time.perf_counter()
        for b in d:
            b.numpy()
        print(time.perf_counter() - t)
    """
    for region, events in regions(example):
        if holds_others(example, region):
            continue
        trains = any(event.kind in ("train", "graph") for event in events)
        for event in events:
            if event.kind != "iterate":
                continue
            count = next((x.count or x.ends or 0 for x in example.loops if x.line == event.line), 0)
            if count >= MANY_BATCHES:
                continue
            if not example.facts.started_before(event.arguments.get("dataset"), region.first):
                yield Hit(
                    event.line,
                    "the pipeline is started inside the timed region: the time to its first batch counts too",
                    region=region,
                    severity="note" if count >= MANY and trains else None,
                    calls=count,
                )


@rule("TL110", "A loop that should train and does not", "warning")
def trains_nothing(example: Example) -> Iterator[Hit]:
    """A timed loop over a pipeline that leaves out what it says it does.

    Why: Input and training overlap; without the step nothing shows whether the device waits.

    Instead: Run the step on each batch, and measure how long it waits for input.

    Wrong:
        d = tf.data.Dataset.range(999).batch(8)
        for b in d: pass
        t = time.perf_counter()
        for b in d:
            pass  # train here
        print(time.perf_counter() - t)

    Right:
        d = tf.data.Dataset.range(999).batch(8)
        for b in d: pass
        t = time.perf_counter()
        for b in d:
            pass  # only the input
        print(time.perf_counter() - t)
    """
    for region, events in regions(example):
        for event in events:
            if event.kind == "iterate" and example.placeholder(event.line):
                yield Hit(
                    event.line,
                    "the timed loop takes batches and trains nothing: no step uses the device meanwhile",
                    region=region,
                )
