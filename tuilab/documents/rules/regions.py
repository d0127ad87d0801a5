"""What is, and is not, between two readings of the clock."""

from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.interpreter.names import CLOCKS
from tuilab.documents.interpreter.trace import ASYNCHRONOUS, WORK, Event, Region
from tuilab.documents.interpreter.values import Tensor, elements
from tuilab.documents.rules.rule import Hit

# Elements up to which making data costs no more than passing it: drawn at random, and filled.
_TINY, _LARGE = 16, 1 << 20


def regions(example: Example) -> Iterator[tuple[Region, list[Event]]]:
    """The regions whose first reading stands in this example, with what is inside."""
    for region in example.clocked:
        if not region.discarded and example.trace.events[region.first].place.traced is None:
            yield region, example.trace.inside(region)


def works(events: list[Event]) -> list[Event]:
    """The events that take time which a benchmark could mean."""
    return [event for event in events if event.kind in WORK]


def nothing_computed(example: Example) -> Iterator[Hit]:
    """No work between the readings: only names are bound, or a value is read that is already there."""
    for region, events in regions(example):
        if works(events) or not _does_something(example, region, events) or _is_lap(example, region):
            continue
        loop = next((x for x in example.loops if region.line <= x.line <= region.last_line), None)
        line = loop.line if loop is not None else region.line
        if any(event.kind == "sync" for event in events):
            yield Hit(line, "what is timed only reads a value that is already there: nothing is computed")
        elif loop is not None:
            yield Hit(
                line, "the timed loop computes nothing: it only binds names, so the time is an empty loop's"
            )
        else:
            yield Hit(line, "nothing is computed between the two readings of the clock")


def _is_lap(example: Example, region: Region) -> bool:
    """Whether it ends inside a loop that began after it: then earlier iterations are in it too."""
    events = example.trace.events
    return len(events[region.last].place.loops) > len(events[region.first].place.loops)


def _does_something(example: Example, region: Region, events: list[Event]) -> bool:
    """Whether there is any code between the readings; a mere comment marks a template."""
    if events:
        return True
    lines = (example.text(n) for n in range(region.line + 1, min(region.last_line, region.line + 200)))
    return any(line.strip() and not line.strip().startswith("#") for line in lines)


def computed_before(example: Example) -> Iterator[Hit]:
    """What is timed was computed once, before the clock was read."""
    seen: set[int] = set()
    for region, events in regions(example):
        if works(events):
            continue
        for event in events:
            value = event.arguments.get("value")
            if event.kind not in ("bind", "sync") or not isinstance(value, Tensor) or value.made < 0:
                continue
            maker = example.trace.events[value.made]
            if maker.kind in ("op", "graph") and maker.index < region.first and maker.line not in seen:
                seen.add(maker.line)
                yield Hit(
                    maker.line,
                    f"{maker.name} is computed here, once, before the clock is read on line {region.line}",
                )


def runs_on_cpu(example: Example, event: Event) -> bool:
    """Whether the op can only run on the CPU, where eager ops are done when their call returns."""
    return event.place.families == ("CPU",) or example.hides_gpu


def no_sync(example: Example) -> Iterator[Hit]:
    """The clock is read while a GPU may still be at work."""
    for region, events in regions(example):
        waiting: Event | None = None
        for event in events:
            if event.kind in ASYNCHRONOUS and event.place.traced is None and not runs_on_cpu(example, event):
                waiting = event
            elif event.kind in ("sync", "opaque", "train", "host-op") and waiting is not None:
                waiting = None
        if waiting is not None:
            yield Hit(
                region.last_line,
                "the clock is read without waiting: a GPU's calls return before their work is done",
            )


def bad_clock(example: Example) -> Iterator[Hit]:
    """A clock that is not made for timing."""
    seen: set[str] = set()
    for region, _ in regions(example):
        fault = CLOCKS.get(region.clock, "")
        if fault and region.clock not in seen:
            seen.add(region.clock)
            yield Hit(region.line, f"{region.clock}() is no clock for this: {fault}")


def set_up_timed(example: Example) -> Iterator[Hit]:
    """Imports, data or the model are made inside the timed region, next to what it means to measure."""
    seen: set[int] = set()
    for region, events in regions(example):
        measured = any(_measures(event) for event in events)
        timer = example.trace.events[region.first].place.function
        for event in events:
            what = _set_up(event, measured, timer)
            if what and event.line not in seen and example.holds(event.line):
                seen.add(event.line)
                yield Hit(event.line, f"{what} inside the timed region, and counts as if it were the work")


def _measures(event: Event) -> bool:
    return event.kind in ("op", "graph", "train") and event.place.traced is None


def _set_up(event: Event, measured: bool, timer: str) -> str:
    if event.place.traced is not None:
        return ""
    if event.kind == "import":
        return f"{event.name} is imported"
    if not measured:
        return ""
    own = event.place.function != timer
    if own and event.kind == "create" and not event.name.startswith("tf.random."):
        # A function that starts from zeros does so as part of its work.
        return ""
    if event.kind in ("create", "host-create") and isinstance(event.result, Tensor):
        count = elements(event.result.shape)
        drawn = event.name.startswith(("tf.random.", "np.random.", "rng."))
        if count is None:
            return f"data is made ({event.name})" if drawn else ""
        return f"data is made ({event.name})" if count > (_TINY if drawn else _LARGE) else ""
    if event.kind == "build" and event.name in ("tf.keras.Sequential", "tf.keras.Model", "compile"):
        return "the model is built" if event.name != "compile" else "the model is compiled"
    return ""
