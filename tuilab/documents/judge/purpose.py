"""Determines the purpose of a timing: a comparison, or only a log."""

import re
from collections import Counter
from functools import lru_cache

from tuilab.documents.example import Example
from tuilab.documents.facts import may_run
from tuilab.documents.interpreter.names import SAVED
from tuilab.documents.interpreter.trace import Region, TraceEvent
from tuilab.documents.interpreter.values import RESULT_OF, integer
from tuilab.documents.words import words

# Words in labels for the latency of a single prediction.
ANSWER = re.compile(
    r"\b(?:[cg]pus?|latency|infer(?:ence|red|ring)?|predict\w*|detect\w*|fps)\b", re.IGNORECASE
)
# Kinds of event that call a model or graph.
CALLS = ("the model", "tf.keras.Model", SAVED, "predict", "predict_on_batch", "invoke")
# Kinds of event that make up the work of a compared timing.
COMPARED = ("op", "graph", "train", "copy", "create", "host-create", "host-op", "iterate", "codec")
# A device in the name of a variable.
DEVICES = re.compile(r"(?:^|_)([cg]pu)(?:_|$)", re.IGNORECASE)
# Words that show that times are compared, and not only logged.
_BENCHMARK = re.compile(
    r"bench|\bspeed\b|speed ?(?:up|test)|\bvs\b|throughput|latency|faster|slow(?:er|ly)?\b|compar|performance"
    r"|time_?it|bottleneck|(?:takes?|taking|times) (?:\w+ )?longer?\b"
    r"|tflops|[cg]pu[ _]?(?:time|vs)|\bxla\b",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?:images?|samples?|examples|img|frames)[ _]?(?:/|per)[ _]?s|per second|throughput|latency|speed-?up"
    r"|(?:steps?|batch(?:es)?|iter(?:ation)?s?|tokens|sequences)[ _]?(?:/|per)[ _]?s(?:ec(?:ond)?)?(?![a-z_])"
    r"|(?:time|took|elapsed)_[cg]pu|[cg]pu_time",
    re.IGNORECASE,
)
_GRADIENTS = words("apply_gradients minimize train_on_batch fit fit_generator train_step")
# Functions that apply gradients to weights.
_CHANGES = words("assign assign_add assign_sub apply_gradients update_weights step")


# Optimizers of other libraries, as they appear in records of unknown calls.
_OPTIMIZERS = tuple(
    RESULT_OF + name for name in ("torch.optim.", "optax.", "jax.example_libraries.optimizers.")
)


def trains(events: list[TraceEvent]) -> bool:
    """Return True if the events train a model: with its methods, with gradients, or with another library's
    optimizer.
    """
    known = [e.name.rpartition(".")[2] for e in events if e.kind in ("train", "op", "build")]
    if any(word in _GRADIENTS for word in known):
        return True
    unread = [e.name for e in events if e.kind == "opaque"]
    # Computing a gradient is not training by itself: the code must also apply it, or make an unknown call
    # that may.
    uses = bool(unread) or any(word in _CHANGES for word in known)
    return ("gradient" in known and uses) or any(name.startswith(_OPTIMIZERS) for name in unread)


def may_log(example: Example, region: Region, events: list[TraceEvent]) -> bool:
    """Return True if the time may be only a log entry: the region trains a model or writes TFRecord files, or
    the words near the time are typical of a log.
    """
    # A training loop logs its progress: it prints the epoch and the loss next to the time.
    is_training = trains(events) or any(
        (e.kind == "graph" or may_run(e)) and _TRAINS.search(e.name) for e in events
    )
    called, function = label(region), example.trace.events[region.first].place.function
    # A benchmark may be in a function whose name mentions training. If the code does not train and collects
    # the times, ignore the function's name.
    called = called if region.gathered and not is_training else f"{called} {function}"
    logged = bool(_LOGS.search(called) or _LOSS.search(example.printed(region)))
    return is_training or logged or any(e.name == "tf.io.TFRecordWriter" for e in events)


def is_log(
    example: Example, region: Region, events: list[TraceEvent], about_speed: bool, has_counterpart: bool
) -> bool:
    """Return True if the time is only a log entry, because nothing in the example suggests that speed
    matters.
    """
    if _is_placed(events) or _RATE.search(example.printed(region)) or has_counterpart:
        return False
    return any(is_long(e) for e in events) or not about_speed


def _is_placed(events: list[TraceEvent]) -> bool:
    work = [bool(e.place.families) for e in events if e.kind in ("op", "graph", "train")]
    return 2 * sum(work) > len(work)


# Words that distinguish two ways to do the same thing in a pair of labels.
_CONTRAST = re.compile(
    r"\b(?:with(?:out)?|[cgt]pus?|eager\w*|graph|xla|jit|no|non|plain|default|baseline|optimi[sz]ed|cached?"
    r"|prefetch\w*|fp?(?:16|32)|float(?:16|32)|mixed|original|tf|keras|torch|pytorch|numpy|jax)\b",
    re.IGNORECASE,
)
# Words in labels that do not describe the timed work, or that name parts and laps of one program.
_FILLING = frozenset(
    words("time times took taken takes elapsed in the is of for on a an to s sec secs second seconds ms")
)
_PARTS = re.compile(
    r"\b(?:test\w*|eval\w*|val\w*|pred\w*|infer\w*|load\w*|pre ?process\w*|build\w*|compil\w*|sav\w*|total"
    r"|overall|whole|first|1st|second|2nd|initial|later|subsequent|rest|remaining|warm\w*|set ?up)\b",
    re.IGNORECASE,
)
_LAP = re.compile(
    r"\b(?:epochs?|steps?|iter\w*|rounds?|runs?|trial|fold|episode|batch|generation)\b\W{0,3}(?:\d|\{)",
    re.IGNORECASE,
)
_TOLD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")


def label(region: Region) -> str:
    return " ".join((region.name.replace("_", " "), *(words for _, words in region.told)))


def counterpart(example: Example, region: Region) -> Region | None:
    """Return the region whose time the example compares with this region's time: in a ratio, on one printed
    line, in a table, or by similar labels. None if there is none.

    Two timings of training count as compared if their labels are similar, but name different methods, models
    or sizes.
    """
    regions = example.trace.regions
    own = example.trace.inside(region)
    # Programs often print the times of their parts together. Such times are compared only if their work is
    # equal.
    for number in region.beside:
        other = example.trace.inside(regions[number])
        if _trainings(other) == _trainings(own) or (trains(own) and trains(other)):
            return regions[number]
    apart = (r for r in regions[:_MOST_SEARCHED] if r.last < region.first or region.last < r.first)
    return next((r for r in apart if r is not region and _is_parallel(example, region, r)), None)


# Maximum number of timings that are searched for a comparison.
_MOST_SEARCHED = 64


def _is_parallel(example: Example, one: Region, other: Region) -> bool:
    first, second = label(one), label(other)
    if first == second and (_TOLD.search(first) or one.line == other.line):
        return False
    inside = [example.trace.inside(region) for region in (one, other)]
    if (
        _trainings(inside[0]) == _trainings(inside[1])
        and _CONTRAST.search(first)
        and _CONTRAST.search(second)
    ):
        return True
    # Two unlabeled figures for consecutive training runs are meant to be compared.
    bare = not _TOLD.search(f"{first} {second}")
    return all(map(trains, inside)) and (bare or are_alike(first, second))


def are_alike(first: str, second: str) -> bool:
    """Return True if two labels differ only in words that distinguish methods, models or sizes."""
    if _LAP.search(first) or _LAP.search(second):
        return False
    named, called = ({word.lower() for word in _TOLD.findall(text)} - _FILLING for text in (first, second))
    apart = named ^ called
    return bool(apart) and bool(named & called) and not _PARTS.search(" ".join(apart))


def _trainings(events: list[TraceEvent]) -> frozenset[str]:
    return frozenset(e.name for e in events if e.kind in ("train", "graph") and e.place.traced is None)


def is_long(event: TraceEvent) -> bool:
    epochs = event.arguments.get("epochs")
    return event.kind == "train" and epochs is not None and integer(epochs) != 1


def is_about_speed(example: Example, region: Region) -> bool:
    function = example.trace.events[region.first].place.function
    head = "\n".join(example.source[:_HEAD]) if example.block.script else ""
    lines = (example.document_title, example.block.heading, function, " ".join(_SAYS.findall(head)))
    return any(_BENCHMARK.search(_JOINS.sub(" ", text)) for text in lines)


_JOINS = re.compile(r"[_.-]")
# Number of lines at the start of a script in which to look for comments and strings, and their pattern.
_HEAD = 12
_SAYS = re.compile(r"#[^\n#]{0,200}|\"\"\"[^\"]{0,400}")


def compares(example: Example, region: Region, events: list[TraceEvent], about_speed: bool) -> bool:
    """Return True if the time is meant for comparison: for example, if the code collects or divides the time,
    computes a rate, or mentions speed in a title.
    """
    if region.gathered or region.divided or region.rate or region.via != "clock" or about_speed:
        return True
    if region.beside or _NAMED.search(label(region)) or _is_only_timed(example, events):
        return True
    if any(e.place.families for e in events):
        return True
    return len(example.clocked) > 1 or bool(_RATE.search(example.printed(region)))


# Labels that name a device.
_NAMED = re.compile(r"\b[cg]pus?\b", re.IGNORECASE)


def _is_only_timed(example: Example, events: list[TraceEvent]) -> bool:
    for event in events:
        computes = event.kind in ("graph", "op") or event.name in CALLS
        if not computes or event.place.traced is not None or not example.holds(event.line):
            continue
        match = _GIVES.match(example.text(event.line))
        if match is None:
            continue
        name = match["name"]
        if name is None or name == "_":
            # A prediction whose result is ignored runs only for its time. Training is useful without a
            # result.
            return event.name in ("predict", "predict_on_batch") or match["last"] == "predict" or name == "_"
        if example.block.cell == 0:
            used, bound = _names(example.block.code)
            return used[name] == bound[name]
    return False


@lru_cache(maxsize=4)
def _names(code: str) -> tuple[Counter[str], Counter[str]]:
    return Counter(re.findall(r"\w+", code)), Counter(re.findall(r"\b\w+\b(?=\s*=[^=])", code))


_GIVES = re.compile(r"\s*(?:(?P<name>\w+)\s*=\s*)?(?:\w+\.)*(?P<last>\w+)\(")
_TRAINS = re.compile(r"(?<!pre)(?<!pre[_-])train|epoch|(?:\b|_)fit\b|optimi[sz]e", re.IGNORECASE)
_LOSS = re.compile(r"(?:print|log|info)\b[^\n]*\bloss\b", re.IGNORECASE)
_LOGS = re.compile(r"\bepochs?\b|num_steps|checkpoint|train|episode|optimi[sz]er?\b", re.IGNORECASE)
