"""First calls: tracing, compiling, allocating and starting, mixed into a figure."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import WORK, Event, Region
from tuilab.documents.rules.regions import regions
from tuilab.documents.rules.rule import Hit

# So many eager calls hide the first one's cost.
MANY = 100_000
# Statistics that a slow first sample does not move.
_ROBUST = re.compile(r"\b(?:median|min|percentile|quantile)\s*\(|\[\s*[1-9]\d*\s*:\s*\]|\.sort\(\)|trim")


def first_calls(example: Example) -> Iterator[tuple[Region, Event, int | None]]:
    """Regions whose work was never done before, with that work and how often they do it."""
    robust = bool(_ROBUST.search(example.block.code))
    for region, events in regions(example):
        if region.repeats:
            continue
        work = _main_work(events)
        if work is None or example.facts.ran_before(work, region.first):
            continue
        count = _repeats_inside(example, region, work)
        eager = work.kind == "op"
        if eager and count is not None and count >= MANY:
            continue
        if _is_sampled(example, region):
            if robust:
                continue
            count = None
        yield region, work, count


def _main_work(events: list[Event]) -> Event | None:
    """What the region is there for: a graph, a training, or eager ops."""
    unclear = any(event.kind == "opaque" for event in events)
    for kind in ("graph", "train", "op"):
        # Beside a call that is not known, single ops do not tell whether the whole ran before.
        if kind == "op" and unclear:
            return None
        for event in events:
            if event.kind == kind and event.place.traced is None:
                return event
    return None


def _repeats_inside(example: Example, region: Region, work: Event) -> int | None:
    """How often the work runs between the readings: by the loops that are inside of them."""
    outside = len(example.trace.events[region.first].place.loops)
    count = 1
    for loop in work.place.loops[outside:]:
        if loop.count is None:
            return None
        count *= loop.count
    return count


def _is_sampled(example: Example, region: Region) -> bool:
    """Whether a loop around the region takes several samples."""
    loops = example.trace.events[region.first].place.loops
    return any(loop.unrolled is None and loop.count != 1 for loop in loops)


def no_warm_up(example: Example) -> Iterator[Hit]:
    """Several calls are timed, the first of which is a first call."""
    for region, work, count in first_calls(example):
        if count != 1:
            yield Hit(region.line, f"nothing ran {_name(work)} before the clock starts: {_cost(work)}")


def first_call_timed(example: Example) -> Iterator[Hit]:
    """A single call is timed, and it is the first."""
    for region, work, count in first_calls(example):
        if count == 1:
            yield Hit(region.line, f"the one call of {_name(work)} that is timed is its first: {_cost(work)}")


def _name(work: Event) -> str:
    return work.name if work.kind != "train" else f"{work.name}()"


def _cost(work: Event) -> str:
    if work.kind == "graph":
        return "it is traced and optimised then, and compiled where XLA does"
    if work.kind == "train":
        return "its step is traced and made a graph then"
    return "kernels are loaded and memory is taken then"


def warms_nothing(example: Example) -> Iterator[Hit]:
    """A loop in front of a timing that only binds names."""
    known = [region for region, _ in regions(example)]
    last_start = max((region.first for region in known), default=-1)
    for loop in example.loops:
        if loop.unrolled or not loop.first <= loop.last < last_start:
            continue
        events = example.trace.events[loop.first : loop.last + 1]
        binds = any(event.kind == "bind" for event in events)
        if binds and not any(event.kind in WORK for event in events) and not example.timed(events[0]):
            yield Hit(
                loop.line, "this warm-up warms nothing: its loop only binds a name to a value already there"
            )


def iterator_start(example: Example) -> Iterator[Hit]:
    """A pipeline is started inside the timed region, for the first time."""
    for region, events in regions(example):
        for event in events:
            if event.kind != "iterate":
                continue
            if not example.facts.started_before(event.arguments.get("dataset"), region.first):
                yield Hit(
                    event.line,
                    "the pipeline is started inside the timed region: the time to its first batch counts too",
                )


def trains_nothing(example: Example) -> Iterator[Hit]:
    """A timed loop over a pipeline that leaves out what it says it does."""
    for _, events in regions(example):
        for event in events:
            if event.kind == "iterate" and example.placeholder(event.line):
                yield Hit(
                    event.line,
                    "the timed loop takes batches and trains nothing: no step uses the device meanwhile",
                )
