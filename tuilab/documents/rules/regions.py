"""The content of the time between two clock readings."""

import re
from collections.abc import Iterator
from itertools import pairwise

from tuilab.documents.example import Example, tensors_in
from tuilab.documents.facts import ON_HOST, has_weights, is_training, may_run, validates
from tuilab.documents.interpreter.names import CLOCKS, CPU_TIME
from tuilab.documents.interpreter.trace import ASYNCHRONOUS, WORK, Region, TraceEvent
from tuilab.documents.interpreter.unread import (
    callee,
    calls_model,
    computes,
    is_on_tensorflow,
    makes_model,
    set_up,
)
from tuilab.documents.interpreter.values import (
    NONE,
    Dataset,
    Known,
    Listing,
    Number,
    OpaqueObject,
    Tensor,
    Value,
    elements,
    integer,
)
from tuilab.documents.rules.purpose import ANSWER, CALLS, compares, is_log, is_long, is_said, label
from tuilab.documents.rules.rule import Hit, rule
from tuilab.documents.words import words
from tuilab.model.found import Severity

# Elements up to which making data costs no more than passing it: random, and filled.
_TINY, _LARGE = 16, 1 << 20
# Elements from which NumPy's own ops may be the subject of a timing.
_MUCH = 100_000


def regions(example: Example) -> Iterator[tuple[Region, list[TraceEvent]]]:
    """Yield the regions that start in this example, with their events."""
    for region in example.clocked:
        # A time that only controls a loop is not a figure.
        shown = region.told or region.gathered or region.beside or not region.paces
        if shown and not region.discarded and example.trace.events[region.first].place.traced is None:
            yield region, example.trace.inside(region)


def holds_others(example: Example, region: Region) -> bool:
    """Return True if other timings are inside: then it is a program's total, and the parts are the
    figures.
    """
    if example.facts.first_end_after(region.first) > region.last:
        return False
    trace = example.trace
    begins = trace.events[region.first].place
    if not begins.branches:
        return True
    # A timing in another branch is not one of its parts.
    return any(
        region.first < r.first and r.last <= region.last and trace.events[r.first].place.may_follow(begins)
        for r in trace.regions
    )


def _is_opaque(events: list[TraceEvent]) -> bool:
    """Return True if something in a timing is unknown: it may do any work, and may have done it before."""
    return any(event.kind == "opaque" for event in events)


def works(events: list[TraceEvent]) -> list[TraceEvent]:
    """Return the events whose time a benchmark could mean to measure."""
    return [event for event in events if event.kind in WORK]


@rule("TL101", "Nothing computed in the timed region", "error")
def nothing_computed(example: Example) -> Iterator[Hit]:
    """No work between the readings: only names are bound, or a value is read that is already there.

    Why: The figure is the cost of an empty loop, whatever the device.

    Instead: Call the function inside the timed region, and use its result.

    Wrong:
        z = tf.matmul(x, y)
        t = time.perf_counter()
        for _ in range(9):
            w = z
        print(time.perf_counter() - t)

    Right:
        z = tf.matmul(x, y)
        t = time.perf_counter()
        for _ in range(9):
            w = tf.matmul(x, y)
        w.numpy()
        print(time.perf_counter() - t)
    """
    for region, events in regions(example):
        if _only_describes(events) and not _BUILDS.search(label(region)):
            yield Hit(
                next(event.line for event in events if event.kind == "dataset"),
                "what is timed only describes a pipeline: nothing goes through it until somebody takes its "
                "elements",
                "Time a loop over its elements.",
                region=region,
                severity="warning",
            )
            continue
        if any(e.kind == "config" and e.name.endswith(_INTERPRETERS) for e in events):
            continue  # it loads a model
        if works(events) or _is_opaque(events) or is_lap(example, region):
            continue
        if (region.via != "clock" and not events) or any(_read_before(example, region, events)):
            continue
        if any(event.kind == "node" for event in events):
            if not _BUILDS.search(label(region)) and not example.facts.is_eager:
                yield Hit(
                    region.line,
                    "what is timed adds nodes to a graph: nothing computes until a session runs them",
                    "Time sess.run(…).",
                    region=region,
                )
            continue
        if not _does_something(example, region, events):
            continue
        loop = next((x for x in example.loops if region.line <= x.line <= region.last_line), None)
        line = loop.line if loop is not None else region.line
        if any(event.kind == "sync" for event in events):
            yield Hit(
                line,
                "what is timed only reads a value that is already there: nothing is computed",
                region=region,
            )
        elif region.via != "clock" and any(event.kind == "bind" for event in events):
            named = next(event.name for event in events if event.kind == "bind")
            yield Hit(
                line,
                f"what is timed is the name {named}, which is looked up and not called",
                f"Time {named}(…), with the result's .numpy() to wait for it.",
                at=named,
                region=region,
            )
        elif loop is not None:
            maker = next(_made_before(example, region, events), None)
            made = f" to what {maker.name} made on line {maker.line}" if maker is not None else ""
            yield Hit(
                line,
                f"the timed loop computes nothing: it only binds names{made}, so the time is an empty loop's",
                region=region,
            )
        else:
            yield Hit(line, "nothing is computed between the two readings of the clock", region=region)


def _only_describes(events: list[TraceEvent]) -> bool:
    """Return True if a timing only builds a pipeline: mapped functions are merely traced then."""
    steps = [event for event in events if event.kind == "dataset"]
    if not any(step.name.rpartition(".")[2] in _LAZY for step in steps):
        return False
    done = (e for e in events if e.kind not in ("dataset", "print", "bind", "clock"))
    return all(e.place.traced is not None and e.place.traced.by.startswith("Dataset.") for e in done)


_LAZY = words("map batch padded_batch filter shuffle interleave flat_map cache prefetch repeat")
# Labels of a time that is meant to be that of building.
_BUILDS = re.compile(r"\b(?:construct|build|built|graph|node|set-?up|creat)\w*", re.IGNORECASE)


def is_lap(example: Example, region: Region) -> bool:
    """Return True if the region ends in a loop that started after it, so that it includes earlier
    iterations.
    """
    events = example.trace.events
    return len(events[region.last].place.loops) > len(events[region.first].place.loops)


def _does_something(example: Example, region: Region, events: list[TraceEvent]) -> bool:
    """Return True if there is code between the readings; a mere comment marks a template."""
    if events or (region.last_line == region.line + 1 and region.told):
        return True
    lines = (example.text(n) for n in range(region.line + 1, min(region.last_line, region.line + 200)))
    return any(line.strip() and not line.strip().startswith("#") for line in lines)


@rule("TL102", "Computed before timing", "error")
def computed_before(example: Example) -> Iterator[Hit]:
    """What is timed was computed once, before the clock was read.

    Why: The work was done once, elsewhere; the timed code only names its result.

    Instead: Move the call to where the clock runs.

    Wrong:
        z = tf.matmul(x, y)
        t = time.perf_counter()
        z.numpy()
        print(time.perf_counter() - t)

    Right:
        z = tf.matmul(x, y)
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print(time.perf_counter() - t)
    """
    for region, events in regions(example):
        if any(event.kind not in _CHEAP or event.name == "invoke" for event in works(events)):
            continue
        if works(events) and not any(m.name == "invoke" for m in _made_before(example, region, events)):
            continue
        for maker in _read_before(example, region, events):
            yield Hit(
                maker.line,
                f"{maker.name} is computed here, once, before the clock is read on line {region.line}",
                region=region,
            )


# Cheap uses of an existing result: its largest number, its name, a line of text.
_CHEAP = ("host-op", "python", "print")


def _read_before(example: Example, region: Region, events: list[TraceEvent]) -> Iterator[TraceEvent]:
    """Yield results computed before the region and only read in it, unless names are bound to them
    (TL101).
    """
    if not any(event.kind == "bind" for event in events):
        yield from _made_before(example, region, events)


def _made_before(example: Example, region: Region, events: list[TraceEvent]) -> Iterator[TraceEvent]:
    """Yield results computed before the region and only named or read in it."""
    for event in events:
        value = event.arguments.get("value")
        if event.kind not in ("bind", "sync") or not isinstance(value, Tensor) or value.made < 0:
            continue
        maker = example.trace.events[value.made]
        computed = maker.kind in ("op", "graph") or maker.name == "invoke"
        if computed and maker.index < region.first:
            yield maker


def runs_on_cpu(example: Example, event: TraceEvent) -> bool:
    """Return True if the op can only run on the CPU, where eager ops finish before their call returns."""
    # An integer product has no GPU kernel; elsewhere only int32 stays on the host.
    of_whole = event.kind in ("graph", "create") or event.name == "tf.matmul"
    kinds = _WHOLE_NUMBERS if event.name == "tf.matmul" else _WHOLE_NUMBERS[:1]
    tensors = [v for v in (event.result, *event.arguments.values()) if isinstance(v, Tensor)]
    whole = of_whole and bool(tensors) and all(tensor.dtype in kinds for tensor in tensors)
    # A Python number returned unchanged by a graph runs on no device.
    given_back = isinstance(event.result, Known | Number) and any(
        v is event.result for v in event.arguments.values()
    )
    # What is worked out of Python numbers alone is a constant of the graph.
    given_back = given_back or (
        isinstance(event.result, Known) and isinstance(event.result.value, int | float)
    )
    whole = whole or (event.kind == "graph" and given_back)
    return whole or event.name.startswith(ON_HOST) or event.place.families == ("CPU",) or example.hides_gpu


_WHOLE_NUMBERS = ("int32", "int64", "int16", "int8", "uint8", "uint16")


@rule("TL103", "No wait for the device", "error")
def no_sync(example: Example) -> Iterator[Hit]:
    """The clock is read while a GPU may still be at work.

    Why: A GPU works on after the call has returned: the clock shows the cost of asking, not of
    computing.

    Instead: Wait before each reading: tf.test.experimental.sync_devices(), or take the result's
    .numpy().

    Wrong:
        tf.matmul(x, y)
        t = time.perf_counter()
        z = tf.matmul(x, y)
        took = time.perf_counter() - t

    Right:
        tf.matmul(x, y).numpy()
        t = time.perf_counter()
        z = tf.matmul(x, y)
        tf.test.experimental.sync_devices()
        took = time.perf_counter() - t
    """
    for region, events in regions(example):
        # A wait in another branch does not count here.
        waiting: list[TraceEvent] = []
        for event in events:
            if event.kind in ASYNCHRONOUS and event.place.traced is None and not runs_on_cpu(example, event):
                waiting = [e for e in waiting if e.place.branches != event.place.branches]
                waiting.append(event)
            elif event.kind in _MAY_WAIT:
                waiting = [e for e in waiting if not event.place.may_follow(e.place)]
        if _BUILDS_MODEL.search(label(region)):
            # Graph ops compute only when the graph runs.
            continue
        # NumPy's result is already there; converting it to a tensor is not what is timed.
        heavy = any(e.kind == "host-op" and e.name.startswith(_HEAVY) for e in events)
        if heavy and all(e.kind == "copy" for e in waiting):
            waiting = []
        if waiting:
            # A copy that ends later matters only if the GPU is meant.
            copies = all(e.kind == "copy" and not e.place.families for e in waiting)
            said = f"{label(region)} {example.block.heading} {example.document_title}"
            yield Hit(
                region.last_line,
                "the clock is read without waiting: a GPU's calls return before their work is done",
                region=region,
                severity="note" if copies and not _GPUS.search(said) else None,
            )
            continue
        given = _given_back(events)
        meant = compares(example, region) and not example.hides_gpu and not example.is_of_others
        if given is not None and meant:
            yield Hit(
                region.last_line,
                f"nothing waits for what {callee(given.name)}() gives, so far as can be seen: where a GPU "
                "computes it, the clock is read before that is done",
                region=region,
                severity=None if is_on_tensorflow(given.name) else "note",
            )
            continue


_BUILDS_MODEL = re.compile(
    r"\b(?:build|built|construct)\w* (?:the |a )?(?:model|graph|net)"
    r"|\b(?:model|graph|net)\w* (?:build|built|constr)",
    re.IGNORECASE,
)
_GPUS = re.compile(r"(?:\b|_)(?:gpus?|device|cop(?:y|ies)|transfer\w*)(?:\b|_)", re.IGNORECASE)


def _given_back(events: list[TraceEvent]) -> TraceEvent | None:
    """Return the call of an unread model, if nothing after it reads a value; else None."""
    for event in reversed(events):
        if event.kind == "opaque" and event.name.rpartition(".")[2].partition(" ")[0] in _HOST_VALUES:
            return None
        if event.kind == "opaque" and calls_model(event.name) and event.place.families != ("CPU",):
            return event
        if event.kind in _MAY_WAIT:
            return None
    return None


# Methods that return a finished value to the host.
_HOST_VALUES = ("numpy", "item", "tolist", "block_until_ready")
# Number of iterations up to which unfinished earlier work affects their time.
_FEW = 10


def _called(event: TraceEvent) -> str:
    return "the model" if event.name == "tf.keras.Model" else event.name


_MAY_WAIT = ("sync", "may-wait", "opaque", "train", "host-op")


@rule("TL107", "Coarse or wrong clock", "warning")
def bad_clock(example: Example) -> Iterator[Hit]:
    """A clock that is not made for timing.

    Why: The reading can jump, or stand still while the device works.

    Instead: Use time.perf_counter().

    Wrong:
        tf.matmul(x, y)
        t = time.time()
        tf.matmul(x, y).numpy()
        print(time.time() - t)

    Right:
        print(time.time())
        tf.matmul(x, y)
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print(time.perf_counter() - t)
    """
    found: dict[str, list[tuple[Region, list[TraceEvent]]]] = {}
    for region, events in regions(example):
        # A module's clock is reported when the module is checked.
        if CLOCKS.get(region.clock, "") and not region.file:
            found.setdefault(region.clock, []).append((region, events))
    for clock, timed in found.items():
        region = next((r for r, events in timed if not _is_casual(example, r, events)), timed[0][0])
        lines = {example.trace.events[at].line for r, _ in timed for at in (r.first, r.last)}
        line = example.trace.events[region.first].line
        dated = any(at in example.trace.dated for r, _ in timed for at in (r.first, r.last))
        # For code without TensorFlow, this clock is as good as any other.
        coarse = clock in ("time.time", "time.time_ns") or not example.facts.is_of_tensorflow
        # This clock suffices if no TensorFlow is timed, or only seconds of training.
        casual = coarse and all(_is_casual(example, r, events) for r, events in timed)
        yield Hit(
            line,
            f"{clock}() is the wrong clock for this: {CLOCKS[clock]}",
            at=clock,
            region=region,
            # Even for a training, CPU time is not what the user waits for.
            severity="note" if casual else "warning" if CLOCKS[clock] == CPU_TIME else None,
            also=tuple(sorted(n for n in lines - {line} if example.holds(n))),
            replace=(clock, "time.perf_counter") if clock in _REPLACED and not dated else ("", ""),
        )

    yield from _printed_around(example)


def _printed_around(example: Example) -> Iterator[Hit]:
    """Yield dates printed before and after a call, for the reader to subtract."""
    events = example.trace.events
    dates = [e for e in events if e.kind == "clock" and e.name in _DATES and _is_printed(events, e)]
    for one, other in pairwise(dates):
        between = events[one.index + 1 : other.index]
        same = one.place.loops == other.place.loops and one.place.function == other.place.function
        called = any(e.kind in ("graph", "op") or e.name in CALLS for e in between)
        if not same or not called or not example.holds(one.line):
            continue
        yield Hit(
            one.line,
            "the time of day is printed before and after what is timed, and nobody takes the difference: "
            f"{one.name}() {CLOCKS[one.name]}",
            "Subtract two readings of time.perf_counter().",
            at=one.name,
            also=(other.line,) if example.holds(other.line) else (),
        )
        return


def _is_printed(events: list[TraceEvent], clock: TraceEvent) -> bool:
    """Return True if only a print on the same line uses a reading."""
    after = events[clock.index + 1] if clock.index + 1 < len(events) else clock
    return after.kind == "print" and after.line == clock.line


_DATES = ("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today")
_REPLACED = ("time.time", "time.clock", "time.process_time")


def _is_casual(example: Example, region: Region, events: list[TraceEvent]) -> bool:
    if is_log(example, region) or any(is_long(e) for e in events):
        return True
    outside = len(example.trace.events[region.first].place.loops)
    if not compares(example, region) and not any(_is_call(e, outside) for e in events):
        return True
    if not example.facts.is_of_tensorflow or _is_of_numpy(example):
        return True
    if _CALLBACK.match(example.trace.events[region.last].place.function):
        # Between the calls of a callback or session hook, it trains.
        return False
    # Without visible computation, it may be the time of anything.
    named = bool(ANSWER.search(label(region)))
    return not any(
        e.kind in _COMPUTES
        or (e.kind == "opaque" and (is_on_tensorflow(e.name) or named) and computes(e.name))
        for e in events
    )


def _is_of_numpy(example: Example) -> bool:
    """Return True if an article's example is its own program without TensorFlow."""
    block = example.block
    alone = not block.script and not block.cell and bool(_IMPORTS.search(block.code))
    return alone and not _OF_TENSORFLOW.search(block.code)


_IMPORTS = re.compile(r"^\s*import numpy\b", re.MULTILINE)
_OF_TENSORFLOW = re.compile(r"\b(?:tensorflow|keras|tf|tflite|torch|jax|cupy)\b")


def _is_call(event: TraceEvent, outside: int) -> bool:
    """Return True if a model or graph is called a few times, which takes milliseconds: this clock's
    resolution matters.
    """
    count = event.place.repeats_inside(outside)
    called = event.kind == "graph" or event.name in CALLS or (event.kind == "opaque" and computes(event.name))
    return called and event.place.traced is None and count is not None and count <= _FEW_CALLS


_FEW_CALLS = 100
_CALLBACK = re.compile(r"on_(?:train_|predict_|test_)?(?:batch|epoch|train|predict|test)_end$|after_run$")
_COMPUTES = ("op", "graph", "create", "copy", "host-op", "iterate", "train", "codec")


@rule("TL108", "Set-up in the timed region", "warning")
def set_up_timed(example: Example) -> Iterator[Hit]:
    """Imports, data or the model are made, files read or results drawn inside the timed region, next to what
    it means to measure.

    Why: The figure holds what is done once beside what is meant.

    Instead: Import, read or make data and build the model before the clock starts.

    Wrong:
        tf.matmul(x, y)
        t = time.perf_counter()
        w = tf.random.normal((512, 512))
        tf.matmul(x, w).numpy()
        print(time.perf_counter() - t)

    Right:
        tf.matmul(x, y)
        w = tf.random.normal((512, 512))
        t = time.perf_counter()
        tf.matmul(x, w).numpy()
        print(time.perf_counter() - t)
    """
    for region, events in regions(example):
        called = label(region)
        tested = _tested(example, region, events)
        if tested is not None and not _WHOLE.search(called):
            where, line = _where_tested(example, region, tested)
            yield Hit(
                line,
                f"{_TESTED}{where} inside the timed region, and counts as if it were the training",
                region=region,
                severity="warning"
                if region.divided or region.rate or _OF_TRAINING.search(called)
                else "note",
            )
        # A time labelled as one answer is not a total, even if a part of it is timed too.
        if _MAKES.search(called) or (holds_others(example, region) and not _ONE_ANSWER.search(called)):
            continue
        measured = any(_measures(event) or _calls_model(event) for event in events)
        trained = measured and all(event.kind == "train" for event in events if _measures(event))
        # A time labelled as training does not include testing.
        fits = any(e.name == "fit" for e in events) and not _WHOLE.search(called)
        timer = example.trace.events[region.first].place.function
        outside = len(example.trace.events[region.first].place.loops)
        told: set[str] = set()
        others: dict[str, TraceEvent] = {}
        # A subtracted time is not part of the result.
        less = [r for r in map(example.trace.regions.__getitem__, region.beside) if _is_within(r, region)]
        models = any(e.kind == "build" and e.name in _MODELS for e in events)
        called_here = {id(e.arguments.get("self")) for e in events if e.kind == "op" and not models}
        for event in events:
            if any(r.first < event.index < r.last for r in less):
                continue
            # In a loop, the training may learn from it.
            again = len(event.place.loops) > outside
            what = _set_up(example, event, measured, timer, fits and not (again and event.name == "predict"))
            if event.kind == "build" and id(event.result) in called_here and has_weights(event.result):
                what = f"a layer and its weights are made ({event.name})"
            # A few numbers do not show beside a training's steps.
            what = "" if trained and is_few(event) else what
            if what.endswith(_EACH_EPOCH) and is_log(example, region) and not is_said(example, region):
                what = ""
            beside = "" if what or not measured else _beside(event)
            kind = "imports" if event.kind == "import" else what.partition(" by ")[0]
            if what and not (kind in told and event.kind in ("python", "import", "train")):
                told.add(kind)
                here = example.holds(event.line)
                what += "" if here else f" (on line {event.line})"
                yield Hit(
                    event.line if here else region.line,
                    f"{what} inside the timed region, and counts as if it were the work",
                    region=region,
                    severity=_how_bad(example, region, what),
                )
            elif beside:
                others.setdefault(beside, event)
        talk = _talks(example, region, events) if measured else ""
        asked = talk and (compares(example, region) or any(e.name == "invoke" for e in events))
        if asked and not is_log(example, region) and not _is_video(example, region):
            # A print is one line; TensorFlow's log is one line per op.
            quiet = talk.startswith("print")
            yield Hit(
                region.line,
                f"{talk} while the clock runs",
                region=region,
                severity="note" if quiet else None,
            )
        if others:
            first = next(iter(others.values()))
            here = example.holds(first.line)
            what = ", ".join(f"{what} ({callee(event.name)})" for what, event in others.items())
            away = "" if here else f" on line {first.line}"
            yield Hit(
                first.line if here else region.line,
                f"{what}{away} inside the timed region, and counts as if it were the work",
                region=region,
                severity="note" if _WHOLE.search(called) or _is_video(example, region) else None,
            )


def _tested(example: Example, region: Region, events: list[TraceEvent]) -> TraceEvent | None:
    """Return the function that tests the model, by name, in the time of a training iteration."""
    place = example.trace.events[region.first].place
    tests: list[TraceEvent] = []
    trained = False
    for event in events if place.loops else ():
        own = event.place.function == place.function
        if event.place.traced is not None:
            trained = trained or event.name.rpartition(".")[2] == "apply_gradients"
        elif event.kind == "opaque":
            last = callee(event.name).rpartition(".")[2]
            tests += [event] if own and last != "eval" and _TESTS.search(last) else []
        elif event.kind not in ("graph", "train") or event.name == "eval":
            continue  # a tensor's eval() does not test a model
        elif _TESTS.search(event.place.function if event.name == "sess.run" else event.name):
            tests += [] if own and event.name == "sess.run" else [event]
        else:
            trained = trained or (event.name == "sess.run" and is_training(example.trace, event))
    return tests[0] if tests and trained else None


def _where_tested(example: Example, region: Region, event: TraceEvent) -> tuple[str, int]:
    """Return the called function that contains the test, and its line."""
    name = event.place.function
    if name == example.trace.events[region.first].place.function:
        return "", event.line if example.holds(event.line) else region.last_line
    # A lap may end above its start, in the next iteration.
    last = max(region.last_line, region.line + _LINES_OF_A_LAP)
    call = re.compile(rf"(?<!def )\b{re.escape(name)}\(")
    lines = (n for n in range(region.line, last + 1) if call.search(example.uncommented(n)))
    return f" by {name}() (line {event.line})", next(lines, region.last_line)


_LINES_OF_A_LAP = 12
_TESTS = re.compile(r"(?:^|_)(?:eval(?:uate|uation)?|valid(?:ate|ation)?|val|test|scores?)(?:_|$)")
_OF_TRAINING = re.compile(r"\btrain(?:ing)?\b[ _]*(?:time|took|takes|speed|duration|sec)", re.IGNORECASE)


def _calls_model(event: TraceEvent) -> bool:
    """Return True if an unread model is called, by its name."""
    return event.kind == "opaque" and calls_model(event.name)


def _talks(example: Example, region: Region, events: list[TraceEvent]) -> str:
    """Return what is printed meanwhile: by each iteration, or by TensorFlow for each op; "" for nothing."""
    outside = len(example.trace.events[region.first].place.loops)
    prints = (e for e in events if e.kind == "print" and e.place.traced is None and not e.place.branches)
    written = next(
        (e for e in prints if len(e.place.loops) > outside or region.line < e.line < region.last_line), None
    )
    if written is not None:
        return f"print() writes (line {written.line})"
    logs = example.facts.logs_placement
    if logs is not None and logs.index >= region.first:
        logs = None
    if not any(e.kind in ("op", "create") and e.place.traced is None for e in events):
        # A session logs each op of a graph on its first run.
        runs = (e for e in events if e.name == "sess.run" and not example.facts.ran_before(e, region.first))
        logs = next((found for run in runs if (found := example.facts.logs_run(run)) is not None), None)
    return f"each op's placement is logged (line {logs.line})" if logs is not None else ""


def _is_within(part: Region, region: Region) -> bool:
    return region.first <= part.first and part.last < region.last


def _how_bad(example: Example, region: Region, what: str) -> Severity | None:
    """Return the severity of this being in the time: testing is a note unless the time is labelled as
    training.
    """
    if what == _SHOWS:
        return "warning"
    if what.endswith(_EACH_EPOCH):
        return "warning" if region.rate else "note"
    if what.startswith(_TESTED):
        return "note"
    return "warning" if _LASTS.match(what) and is_said(example, region) else None


_SHOWS = "a plot is shown until somebody closes its window"
_TESTED = "the model is tested"


def _blocks(example: Example) -> bool:
    """Return True if showing a plot blocks: in a script, unless something says otherwise."""
    return not example.block.notebook and not _AT_ONCE.search(example.facts.code)


_AT_ONCE = re.compile(
    r"block\s*=\s*False|\bion\(\)|(?:use|switch_backend)\(\s*[\"']agg|%matplotlib", re.IGNORECASE
)
_EACH_EPOCH = " after each epoch"
# Labels of a time that is meant for setting up.
_MAKES = re.compile(
    r"\b(?:build(?:ing)?|load(?:ing)?|init\w*|set-?up|creat(?:e|ing|ion)|construct\w*|start-?up|import|read(?:ing)?)\b"
    r"|(?:\b|_)(?:pre-?process\w*|prepar\w*|decod\w*)\b|\b(?:sav(?:e|ing)|writ(?:e|ing)|logging|export\w*|download\w*)\b",
    re.IGNORECASE,
)
# Actions that take long even compared with training minutes.
_LASTS = re.compile(r"a plot|the model is (?:tested|saved at)|\S+ is imported")
_ONE_ANSWER = re.compile(r"\b(?:infer(?:ence|red|ring)?|latency)\b", re.IGNORECASE)
_TRAINING = re.compile(r"\b(?:train\w*|fit\w*)\b", re.IGNORECASE)


def _is_video(example: Example, region: Region) -> bool:
    """Return True if the surrounding code shows a stream of images, so that the time covers all of it."""
    code = example.near(region, _AROUND, _AROUND) if example.block.script else example.block.code
    return bool(_VIDEO.search(_COMMENT.sub("", code)))


# Lines around a timing to search for displayed images.
_AROUND = 60


_COMMENT = re.compile(r"(?m)^\s*#[^\n]*")
_VIDEO = re.compile(r"\bcv2\.(?:imshow|VideoCapture|VideoWriter)\b")


def _beside(event: TraceEvent) -> str:
    """Return what a library or unread call does besides the work; "" for nothing."""
    if event.place.traced is not None or event.kind not in _MAY_SET_UP:
        return ""
    if event.kind == "build" and makes_model(event.name):
        return "the model is loaded or built"
    return "the model is saved" if _SAVES.search(callee(event.name)) else set_up(event.name)


_SAVES = re.compile(r"(?:checkpoint|ckpt|saver)\w*\.save$", re.IGNORECASE)


_MAY_SET_UP = ("opaque", "build", "host-op", "op", "python", "node")
# Labels of a time that is meant to include everything.
_WHOLE = re.compile(r"\b(?:total|overall|whole|end[- ]to[- ]end|pipeline|run ?time|script)\b", re.IGNORECASE)
# Slow NumPy functions, which are meant to be timed.
_HEAVY = (
    "tf.matmul",
    "tf.linalg.",
    "tf.tensordot",
    "tf.einsum",
    "np.dot",
    "np.linalg.",
    "np.fft.",
    "np.einsum",
)
_INITIALISERS = ("variables_initializer", "initialize_all_variables", "tables_initializer")


_MODELS = ("tf.keras.Model", "tf.keras.Sequential")
# What is done once, and takes time of its own.
_ONCE = {
    "save": "the model is saved",
    "save_weights": "the model's weights are saved",
    "tf.Session": "the session is made",
    "tf.keras.Sequential": "the model is built",
    "tf.keras.Model": "the model is built",
    "compile": "the model is compiled",
}


def _is_of_much(event: TraceEvent) -> bool:
    given = (v for v in event.arguments.values() if isinstance(v, Tensor))
    return any((elements(tensor.shape) or 0) >= _MUCH for tensor in given)


def _measures(event: TraceEvent) -> bool:
    host = event.kind == "host-op" and (
        event.name == "invoke" or event.name.startswith(_HEAVY) or _is_of_much(event)
    )
    return (host or event.kind in ("op", "graph", "train")) and event.place.traced is None


def callbacks(event: TraceEvent) -> list[str]:
    """Return the known classes of a training's callbacks."""
    given = event.arguments.get("callbacks")
    items = given.items if isinstance(given, Listing) else [given]
    return [str(x.data).rpartition(".")[2] for x in items if isinstance(x, OpaqueObject)]


def _set_up(example: Example, event: TraceEvent, measured: bool, timer: str, fits: bool) -> str:
    """Return what an event prepares; "" for nothing.

    measured: something else in the region is timed. timer: the function that reads the clock. fits: a model
    is trained, and the label does not mean the total.
    """
    if event.place.traced is not None or not (measured or event.kind == "import"):
        return ""
    match event.kind:
        case "import":
            return f"{event.name} is imported"
        case "python" if event.name == "matplotlib.pyplot.show" and _blocks(example):
            return _SHOWS
        case "python":
            draws = event.name.startswith("matplotlib.pyplot.") and not timer.startswith("on_")
            return "a plot is drawn" if draws else ""
        case "train" if event.name in ("evaluate", "predict") and fits:
            return _TESTED
        case "train" if event.name.startswith("Estimator."):
            return f"a graph is built and a session is made by {event.name}()"
        case "train":
            if "ModelCheckpoint" in callbacks(event):
                return "the model is saved at each epoch"
            return f"{_TESTED}{_EACH_EPOCH}" if event.name == "fit" and validates(event) else ""
        case "create" | "host-create":
            # An array that is filled later is a buffer, not generated data.
            buffer = event.index in example.trace.filled and not event.name.startswith(_RANDOM)
            return "" if buffer else _made(event, own=event.place.function != timer)
        case "config" if event.name.endswith(_INTERPRETERS):
            return "TFLite's interpreter is made and loads its model"
        case "graph":
            return "variables are initialised" if _initialises(example, event) else _drawn(example, event)
        case "build" if event.name.startswith("tf.keras.applications."):
            return "the model is built"
        case "build":
            return _ONCE.get(event.name, "")
    return ""


_INTERPRETERS = ("lite.Interpreter", "interpreter.Interpreter")


def is_few(event: TraceEvent) -> bool:
    """Return True if an event makes an array or tensor with few elements."""
    made = event.kind in ("create", "host-create") and isinstance(event.result, Tensor)
    count = elements(event.result.shape) if made and isinstance(event.result, Tensor) else None
    return count is not None and count < _FEW_NUMBERS


_FEW_NUMBERS = 1_000


def makes_data(event: TraceEvent) -> bool:
    """Return True if an event generates much data while the clock runs."""
    if event.kind == "node":
        return event.name.startswith(("tf.random.", "tf.random_"))
    made = event.kind in ("create", "host-create") and event.place.traced is None
    return made and bool(_made(event, own=False))


def _made(event: TraceEvent, own: bool) -> str:
    """Return the message about generated data; "" if that is part of the work.

    own: a function of the code makes it, not the one that reads the clock.
    """
    if event.place.file or not isinstance(event.result, Tensor):
        return ""  # a neighbouring module makes what it needs
    if own and event.kind == "create" and not event.name.startswith("tf.random."):
        return ""  # a function that starts from zeros does so as part of its work
    count = elements(event.result.shape)
    drawn = event.name.startswith(_RANDOM)
    much = drawn if count is None else count > (_TINY if drawn else _LARGE)
    return f"data is made ({event.name})" if much else ""


_RANDOM = ("tf.random.", "np.random.", "rng.")


def _drawn(example: Example, event: TraceEvent) -> str:
    """Return what draws random numbers for a product or convolution again in each session run."""
    drawn, heavy = None, False
    waiting, seen = [event.runs], set[int]()
    while waiting and len(seen) < _MOST_NODES:
        value = waiting.pop()
        if not isinstance(value, Tensor) or value.made in seen or value.made < 0:
            continue
        seen.add(value.made)
        node = example.trace.events[value.made]
        if node.kind != "node" or node.name in _KEPT:
            continue
        heavy = heavy or node.name in _PRODUCTS
        count = elements(node.result.shape) if isinstance(node.result, Tensor) else None
        if _DRAWS.match(node.name) and (count is None or count > _TINY):
            drawn = node
        waiting += [each for given in node.arguments.values() for each in tensors_in(given)]
    return f"data is drawn by {drawn.name} (line {drawn.line})" if drawn is not None and heavy else ""


_MOST_NODES = 64
_KEPT = ("tf.Variable", "tf.get_variable")
_DRAWS = re.compile(r"tf\.(?:random[._])?(?:normal|uniform|truncated_normal)$")
_PRODUCTS = (
    "tf.matmul",
    "tf.tensordot",
    "tf.einsum",
    "tf.nn.conv2d",
    "tf.matrix_inverse",
    "tf.svd",
    "tf.batch_matmul",
    "tf.layers.conv2d",
    "tf.layers.dense",
)


def _initialises(example: Example, event: TraceEvent) -> bool:
    """Return True if a session runs its variables' initializers."""
    fetched = event.runs
    if event.name != "sess.run" or not isinstance(fetched, Tensor) or fetched.made < 0:
        return False
    return example.trace.events[fetched.made].name.endswith(_INITIALISERS)


@rule("TL113", "Predicting batch by batch", "note")
def predicts_one_batch(example: Example) -> Iterator[Hit]:
    """Calls of predict() for a batch each, as if their time were the model's.

    Why: Each call makes a pipeline, its callbacks and a progress bar anew, which takes longer than a small
    model's batch.

    Instead: Time model(x, training=False) or a tf.function of it, or give predict() all batches at once.

    Wrong:
        m = tf.keras.Sequential([tf.keras.layers.Dense(4)])
        m.predict(x[:8])
        t = time.perf_counter()
        for _ in range(20):
            m.predict(x[:8])
        print(time.perf_counter() - t)

    Right:
        m = tf.keras.Sequential([tf.keras.layers.Dense(4)])
        m.predict(x)
        t = time.perf_counter()
        m.predict(x)
        print(time.perf_counter() - t)
    """
    for region, events in regions(example):
        work = [e for e in works(events) if e.kind in ("train", "graph") or not _prepares(e)]
        for event in work:
            if event.kind != "train" or event.name != "predict":
                continue
            # Each of several branches is checked separately.
            others = (e for e in work if (e.name, e.line) != (event.name, event.line))
            alone = not any(event.place.may_follow(other.place) for other in others)
            loops = event.place.loops
            again = region.repeats or event.place.repeats != 1 or any(loop.unrolled for loop in loops)
            # A single call for a known few rows, whose time is a device's or one answer's.
            few = rows_of(event) in _FEW_ROWS
            again = again or (few and bool(ANSWER.search(label(region))))
            if alone and again and _is_one_batch(event):
                meant = compares(example, region) or bool(ANSWER.search(label(region)))
                meant = meant and not is_log(example, region)
                # A benchmark's mean over batches of any size also includes each call's overhead.
                unknown = rows_of(event) is None and not _is_video(example, region) and _is_averaged(region)
                small = meant and (_is_small(example, region, event) or unknown)
                yield Hit(
                    event.line,
                    "predict() sets itself up anew at each call: the time is that and the model's together",
                    region=region,
                    at="predict",
                    severity="warning" if small else None,
                )


def _is_averaged(region: Region) -> bool:
    """Return True if a time is one of several that are averaged."""
    return bool(region.repeats or region.gathered or region.divided or region.via == "timeit")


def _prepares(event: TraceEvent) -> bool:
    """Return True if an event only prepares one batch, or is plain Python."""
    if event.kind == "opaque":
        return not may_run(event) or bool(set_up(event.name))
    if event.name.startswith(_PICTURES) or (event.kind == "build" and set_up(event.name)):
        return True
    return event.kind in ("python", "host-op", "host-create", "create", "copy") or event.name in _VIEWS


_PICTURES = ("tf.image.", "tf.io.", "tf.keras.preprocessing.image.", "tf.keras.utils.")
_VIEWS = ("tf.strided_slice", "tf.reshape", "tf.expand_dims", "tf.cast", "tf.squeeze")
# Default batch size of `predict`.
BATCH = 32


def _given(event: TraceEvent) -> Value | None:
    return event.arguments.get("x", event.arguments.get("0"))


def batch_of(event: TraceEvent) -> int | None:
    """Return the batch size of a Keras method call; None if not known."""
    given = event.arguments.get("batch_size")
    return BATCH if given is None or given == NONE else integer(given)


def rows_of(event: TraceEvent) -> int | None:
    """Return the number of rows passed to a Keras method; None if not known."""
    given = _given(event)
    return given.shape[0] if isinstance(given, Tensor) and given.shape else None


_FEW_ROWS = range(1, 9)


def _is_small(example: Example, region: Region, event: TraceEvent) -> bool:
    """Return True if predict() gets at most a usual batch, by its rows or else by its name."""
    given, rows = _given(event), rows_of(event)
    if rows is not None:
        return rows <= BATCH
    if _is_video(example, region):
        return False
    return isinstance(given, Listing)


_NEAR_LINES = 40


# Arguments of predict() that are one batch or image, by name.
_ONE = re.compile(
    r"\.predict\(\s*(?:x\s*=\s*)?(?:\[\[|(?:np\.|tf\.)?\w*(?:batch(?!e)|img|image(?!s)|frame(?!s)|sample(?!s)|single|expand_dims))",
    re.IGNORECASE,
)


def _is_one_batch(event: TraceEvent) -> bool:
    """Return True if predict() gets at most one batch, as far as known."""
    given = _given(event)
    if integer(event.arguments.get("steps")) == 1:
        return True
    if not isinstance(given, Tensor) or not given.shape or given.shape[0] is None:
        return not isinstance(given, Dataset)
    return given.shape[0] <= (integer(event.arguments.get("batch_size")) or BATCH)
