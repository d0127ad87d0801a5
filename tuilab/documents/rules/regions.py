"""Rules for the code between two clock readings."""

import re
from collections.abc import Iterator
from itertools import pairwise

from tuilab.documents.example import Example, tensors_in
from tuilab.documents.facts import MADE_PLAIN, has_weights, is_training, may_run
from tuilab.documents.interpreter.names import CLOCKS, CPU_TIME
from tuilab.documents.interpreter.trace import WORK, Region, TraceEvent
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
    Listing,
    OpaqueObject,
    Tensor,
    Value,
    elements,
    integer,
)
from tuilab.documents.judge.purpose import ANSWER, CALLS, is_long
from tuilab.documents.judge.waits import MAY_WAIT
from tuilab.documents.rules.rule import Hit, rule
from tuilab.documents.timing import Timing
from tuilab.documents.words import words
from tuilab.model.found import Severity

# Up to this number of elements, generating data takes no longer than passing it to an op. The first limit is
# for random data, the second for filled data.
_TINY, _LARGE = 16, 1 << 20
# Minimum number of elements for which a timing may be meant to measure NumPy's own ops.
_MUCH = 100_000


def _is_opaque(events: list[TraceEvent]) -> bool:
    return any(event.kind == "opaque" for event in events)


def works(events: list[TraceEvent]) -> list[TraceEvent]:
    return [event for event in events if event.kind in WORK]


@rule("TL101", "Nothing computed in the timed region", "error")
def nothing_computed(example: Example) -> Iterator[Hit]:
    """No work between the clock readings: the code only binds names or reads an existing value.

    Why: The figure is the cost of an empty loop on any device.

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
    for timing in example.timings:
        region, events = timing.region, timing.events
        names_a_build = bool(_BUILDS.search(timing.label))
        if _only_describes(events) and not names_a_build:
            yield Hit(
                next(event.line for event in events if event.kind == "dataset"),
                "the timed code only defines a pipeline: it does no work until something takes its elements",
                "Time a loop over its elements.",
                timing=timing,
                severity="warning",
            )
        elif _may_work(example, timing):
            continue
        elif any(event.kind == "node" for event in events):
            if not names_a_build and not example.facts.is_eager:
                yield Hit(
                    region.line,
                    "the timed code only adds nodes to a graph: the nodes compute when a session runs them",
                    "Time sess.run(…).",
                    timing=timing,
                )
        elif _does_something(example, region, events):
            yield _empty(example, timing)


def _may_work(example: Example, timing: Timing) -> bool:
    region, events = timing.region, timing.events
    loads_model = any(e.kind == "config" and e.name.endswith(_INTERPRETERS) for e in events)
    if loads_model or works(events) or _is_opaque(events) or timing.extent == "lap":
        return True
    return (region.via != "clock" and not events) or any(_read_before(example, region, events))


def _empty(example: Example, timing: Timing) -> Hit:
    region, events = timing.region, timing.events
    loop = next((x for x in example.loops if region.line <= x.line <= region.last_line), None)
    line = loop.line if loop is not None else region.line
    named = next((event.name for event in events if event.kind == "bind"), "")
    remedy = at = ""
    if any(event.kind == "sync" for event in events):
        message = "the timed code only reads an existing value: it computes nothing"
    elif region.via != "clock" and named:
        message = f"the timed code only looks up the name {named} and does not call it"
        remedy, at = f"Time {named}(…), with the result's .numpy() to wait for it.", named
    elif loop is not None:
        maker = next(_computed_before(example, region, events), None)
        made = f" to the result of {maker.name} on line {maker.line}" if maker is not None else ""
        message = (
            f"the timed loop computes nothing: it only binds names{made}, so the code times an empty loop"
        )
    else:
        message = "nothing is computed between the two clock readings"
    return Hit(line, message, remedy, at, timing)


def _only_describes(events: list[TraceEvent]) -> bool:
    """Return True if a timing only builds a pipeline. Building traces mapped functions, but does not run
    them.
    """
    steps = [event for event in events if event.kind == "dataset"]
    if not any(step.name.rpartition(".")[2] in _LAZY for step in steps):
        return False
    done = (e for e in events if e.kind not in ("dataset", "print", "bind", "clock"))
    return all(event.place.mapped for event in done)


_LAZY = words("map batch padded_batch filter shuffle interleave flat_map cache prefetch repeat")
# Labels of timings that are meant to measure construction.
_BUILDS = re.compile(r"\b(?:construct|build|built|graph|node|set-?up|creat)\w*", re.IGNORECASE)


def _does_something(example: Example, region: Region, events: list[TraceEvent]) -> bool:
    """Return True if there is code between the two clock readings. A lone comment does not count, because it
    stands for the reader's code.
    """
    if events or (region.last_line == region.line + 1 and region.told):
        return True
    lines = (example.text(n) for n in range(region.line + 1, min(region.last_line, region.line + 200)))
    return any(line.strip() and not line.strip().startswith("#") for line in lines)


@rule("TL102", "Computed before timing", "error")
def computed_before(example: Example) -> Iterator[Hit]:
    """The timed result was computed once, before the clock started.

    Why: The work was done once, elsewhere; the timed code only refers to its result.

    Instead: Move the call into the timed code.

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
    for timing in example.timings:
        region, events = timing.region, timing.events
        if any(event.kind not in _CHEAP or event.name == "invoke" for event in works(events)):
            continue
        if works(events) and not any(m.name == "invoke" for m in _computed_before(example, region, events)):
            continue
        for maker in _read_before(example, region, events):
            yield Hit(
                maker.line,
                f"{maker.name} is computed here, once, before the clock starts on line {region.line}",
                timing=timing,
            )


# Kinds of event that do little with an existing result, for example name it, print it or find its maximum.
_CHEAP = ("host-op", "python", "print")


def _read_before(example: Example, region: Region, events: list[TraceEvent]) -> Iterator[TraceEvent]:
    """Yield the earlier events whose results the region only reads. Yields nothing if the region binds names,
    because TL101 reports such a region.
    """
    if not any(event.kind == "bind" for event in events):
        yield from _computed_before(example, region, events)


def _computed_before(example: Example, region: Region, events: list[TraceEvent]) -> Iterator[TraceEvent]:
    """Yield the earlier events whose results the region reads or binds to names."""
    for event in events:
        maker = example.trace.maker(event.arguments.get("value"))
        if event.kind not in ("bind", "sync") or maker is None:
            continue
        computed = maker.kind in ("op", "graph") or maker.name == "invoke"
        if computed and maker.index < region.first:
            yield maker


@rule("TL103", "No wait for the device", "error")
def no_sync(example: Example) -> Iterator[Hit]:
    """The clock is read while a GPU may still be computing.

    Why: A GPU call returns before its work is done, so the clock shows the cost of launching, not of
    computing.

    Instead: Wait before each reading, with tf.test.experimental.sync_devices() or the result's .numpy().

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
    for timing in example.timings:
        # The timing is meant to measure building a graph, whose ops compute only when the graph runs.
        if _BUILDS_MODEL.search(timing.label):
            continue
        waiting, given = timing.unfinished, _returned_call(timing.events)
        copies = all(e.kind == "copy" for e in waiting)
        # NumPy's result is already complete, and converting it to a tensor is not the subject of the timing.
        heavy = any(e.kind == "host-op" and e.name.startswith(_HEAVY) for e in timing.events)
        if waiting and not (heavy and copies):
            # An unfinished copy matters only if the timing is about a GPU.
            said = f"{timing.label} {example.block.heading} {example.document_title}"
            meant = not copies or any(e.place.families for e in waiting) or _GPUS.search(said)
            yield Hit(
                timing.region.last_line,
                "the clock is read without waiting: GPU calls return before their work is done",
                timing=timing,
                severity=None if meant else "note",
            )
        elif given and timing.compared and not example.hides_gpu and not example.is_of_others:
            yield Hit(
                timing.region.last_line,
                f"apparently no code waits for the result of {callee(given.name)}(): on a GPU, the "
                "clock is read before the work is done",
                timing=timing,
                severity=None if is_on_tensorflow(given.name) else "note",
            )


_BUILDS_MODEL = re.compile(
    r"\b(?:build|built|construct)\w* (?:the |a )?(?:model|graph|net)"
    r"|\b(?:model|graph|net)\w* (?:build|built|constr)",
    re.IGNORECASE,
)
_GPUS = re.compile(r"(?:\b|_)(?:gpus?|device|cop(?:y|ies)|transfer\w*)(?:\b|_)", re.IGNORECASE)


def _returned_call(events: list[TraceEvent]) -> TraceEvent | None:
    """Return the last call of an unknown model, if no code after it in the region waits for a value; else
    None.
    """
    for event in reversed(events):
        if event.kind == "opaque" and event.name.rpartition(".")[2].partition(" ")[0] in _HOST_VALUES:
            return None
        if event.kind == "opaque" and calls_model(event.name) and event.place.families != ("CPU",):
            return event
        if event.kind in MAY_WAIT:
            return None
    return None


# Methods that return a complete value to the host.
_HOST_VALUES = ("numpy", "item", "tolist", "block_until_ready")


@rule("TL107", "Coarse or wrong clock", "warning")
def bad_clock(example: Example) -> Iterator[Hit]:
    """A clock that is unsuitable for timing.

    Why: Its readings can jump, or stop while the device computes.

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
    found: dict[str, list[Timing]] = {}
    for timing in example.timings:
        # A clock in an imported module is reported when that module is checked.
        if CLOCKS.get(timing.region.clock, "") and not timing.region.file:
            found.setdefault(timing.region.clock, []).append(timing)
    for clock, timed in found.items():
        serious = [timing for timing in timed if not _is_casual(example, timing)]
        timing = serious[0] if serious else timed[0]
        readings = [at for t in timed for at in (t.region.first, t.region.last)]
        lines = {example.trace.events[at].line for at in readings}
        line = example.trace.events[timing.region.first].line
        dated = any(at in example.trace.dated for at in readings)
        # If the code does not use TensorFlow, this clock is as good as any other.
        coarse = clock in ("time.time", "time.time_ns") or not example.facts.is_of_tensorflow
        # A coarse clock suffices if the code times no TensorFlow, or only training that takes seconds.
        casual = coarse and not serious
        yield Hit(
            line,
            f"{clock}() is the wrong clock for this timing: {CLOCKS[clock]}",
            at=clock,
            timing=timing,
            # CPU time differs from the time that the user waits, even for training.
            severity="note" if casual else "warning" if CLOCKS[clock] == CPU_TIME else None,
            also=tuple(sorted(n for n in lines - {line} if example.holds(n))),
            replace=(clock, "time.perf_counter") if clock in _REPLACED and not dated else ("", ""),
        )

    yield from _printed_around(example)


def _printed_around(example: Example) -> Iterator[Hit]:
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
            "the time of day is printed before and after the work, so the reader must subtract: "
            f"{one.name}() {CLOCKS[one.name].removeprefix('it ')}",
            "Subtract two readings of time.perf_counter().",
            at=one.name,
            also=(other.line,) if example.holds(other.line) else (),
        )
        return


def _is_printed(events: list[TraceEvent], clock: TraceEvent) -> bool:
    after = events[clock.index + 1] if clock.index + 1 < len(events) else clock
    return after.kind == "print" and after.line == clock.line


_DATES = ("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today")
_REPLACED = ("time.time", "time.clock", "time.process_time")


def _is_casual(example: Example, timing: Timing) -> bool:
    if timing.role == "log" or any(is_long(e) for e in timing.events):
        return True
    outside = len(timing.begins.loops)
    if not timing.compared and not any(_is_call(e, outside) for e in timing.events):
        return True
    if not example.facts.is_of_tensorflow or _is_of_numpy(example):
        return True
    if _CALLBACK.match(example.trace.events[timing.region.last].place.function):
        # Between two calls of a callback or session hook, training runs, and the time includes it.
        return False
    # If no computation is visible, the region may time anything.
    named = bool(ANSWER.search(timing.label))
    return not any(
        e.kind in _COMPUTES
        or (e.kind == "opaque" and (is_on_tensorflow(e.name) or named) and computes(e.name))
        for e in timing.events
    )


def _is_of_numpy(example: Example) -> bool:
    block = example.block
    alone = not block.script and not block.cell and bool(_IMPORTS.search(block.code))
    return alone and not _OF_TENSORFLOW.search(block.code)


_IMPORTS = re.compile(r"^\s*import numpy\b", re.MULTILINE)
_OF_TENSORFLOW = re.compile(r"\b(?:tensorflow|keras|tf|tflite|torch|jax|cupy)\b")


def _is_call(event: TraceEvent, outside: int) -> bool:
    """Return True if a model or graph is called so few times that the clock's resolution matters."""
    count = event.place.repeats_inside(outside)
    called = event.kind == "graph" or event.name in CALLS or (event.kind == "opaque" and computes(event.name))
    return called and event.place.traced is None and count is not None and count <= _FEW_CALLS


_FEW_CALLS = 100
_CALLBACK = re.compile(r"on_(?:train_|predict_|test_)?(?:batch|epoch|train|predict|test)_end$|after_run$")
_COMPUTES = ("op", "graph", "create", "copy", "host-op", "iterate", "train", "codec")


@rule("TL108", "Set-up in the timed region", "warning")
def set_up_timed(example: Example) -> Iterator[Hit]:
    """The timed region also contains imports, data generation, model building, file access or plotting.

    Why: The figure includes one-time work.

    Instead: Import modules, prepare the data and build the model before the clock starts.

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
    for timing in example.timings:
        yield from _tests_in_training(example, timing)
        # A time whose label names a single prediction is not a total, even if a part of it is timed
        # separately.
        is_total = timing.extent == "total" and not _ONE_ANSWER.search(timing.label)
        if _MAKES.search(timing.label) or is_total:
            continue
        measured = any(_measures(event) or _calls_model(event) for event in timing.events)
        prepared = list(_preparations(example, timing, measured))
        yield from _set_up_hits(example, timing, prepared)
        if measured:
            yield from _talk_hits(example, timing)
            yield from _beside_hits(example, timing, [event for event, what in prepared if not what])


def _tests_in_training(example: Example, timing: Timing) -> Iterator[Hit]:
    region, tested = timing.region, _find_test(example, timing)
    if tested is None or _WHOLE.search(timing.label):
        return
    where, line = _where_tested(example, region, tested)
    shows = region.divided or region.rate or _OF_TRAINING.search(timing.label)
    yield Hit(
        line,
        f"{_TESTED}{where} inside the timed region; the time includes it",
        timing=timing,
        severity="warning" if shows else "note",
    )


def _preparations(example: Example, timing: Timing, measured: bool) -> Iterator[tuple[TraceEvent, str]]:
    """Yield each event of a timing with a phrase for what it prepares; "" if it prepares nothing.

    measured: the timing also contains work that is meant to be timed.
    """
    events, region = timing.events, timing.region
    trained = measured and all(event.kind == "train" for event in events if _measures(event))
    # A time that is labeled as training should not include testing.
    fits = any(e.name == "fit" for e in events) and not _WHOLE.search(timing.label)
    # Work in a time that the code subtracts is not part of the result.
    less = [r for r in map(example.trace.regions.__getitem__, region.beside) if _is_within(r, region)]
    models = any(e.kind == "build" and e.name in MADE_PLAIN for e in events)
    called_here = {id(e.arguments.get("self")) for e in events if e.kind == "op" and not models}
    for event in events:
        if any(r.first < event.index < r.last for r in less):
            continue
        # A prediction inside a loop may be input for the next training step, not a test.
        learns = len(event.place.loops) > len(timing.begins.loops) and event.name == "predict"
        what = _set_up(example, event, measured, timing.begins.function, fits and not learns)
        if event.kind == "build" and id(event.result) in called_here and has_weights(event.result):
            what = f"a layer and its weights are created ({event.name})"
        logged = what.endswith(_EACH_EPOCH) and timing.role == "log" and not timing.about_speed
        # Reading a few numbers takes no time compared with training steps.
        yield event, "" if logged or (trained and is_few(event)) else what


def _set_up_hits(example: Example, timing: Timing, prepared: list[tuple[TraceEvent, str]]) -> Iterator[Hit]:
    """Yield a hit for each preparation in a timing, but only one for all imports, one for all plots and one
    for all tests.
    """
    told: set[str] = set()
    for event, what in prepared:
        kind = "imports" if event.kind == "import" else what.partition(" by ")[0]
        if not what or (kind in told and event.kind in ("python", "import", "train")):
            continue
        told.add(kind)
        here = example.holds(event.line)
        what += "" if here else f" (on line {event.line})"
        yield Hit(
            event.line if here else timing.region.line,
            f"{what} inside the timed region; the time includes it",
            timing=timing,
            severity=_how_bad(timing, what),
        )


def _talk_hits(example: Example, timing: Timing) -> Iterator[Hit]:
    """Yield a hit for output while the clock runs, but only if the document compares the time or times a
    TFLite interpreter.
    """
    talk = _talks(example, timing)
    asked = talk and (timing.compared or any(e.name == "invoke" for e in timing.events))
    if asked and timing.role != "log" and not _is_video(example, timing.region):
        # Printing writes one line per call, but the placement log one line per op, so printing is only a
        # note.
        yield Hit(
            timing.region.line,
            f"{talk} while the clock runs",
            timing=timing,
            severity="note" if talk.startswith("print") else None,
        )


def _beside_hits(example: Example, timing: Timing, events: list[TraceEvent]) -> Iterator[Hit]:
    """Yield a single hit that lists the extra work of other libraries and unknown calls."""
    others: dict[str, TraceEvent] = {}
    for event in events:
        if what := _extra_work(event):
            others.setdefault(what, event)
    first = next(iter(others.values()), None)
    if first is None:
        return
    here = example.holds(first.line)
    listed = ", ".join(f"{what} ({callee(event.name)})" for what, event in others.items())
    away = "" if here else f" on line {first.line}"
    yield Hit(
        first.line if here else timing.region.line,
        f"{listed}{away} inside the timed region; the time includes it",
        timing=timing,
        severity="note" if _WHOLE.search(timing.label) or _is_video(example, timing.region) else None,
    )


def _find_test(example: Example, timing: Timing) -> TraceEvent | None:
    """Return the event that tests the model in a timed training iteration, judging by names of functions;
    None if there is none.
    """
    place = timing.begins
    tests: list[TraceEvent] = []
    trained = False
    for event in timing.events if place.loops else ():
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
    """Return a phrase with the function that tests the model, and the line for the hit. The phrase is "" if
    that function also reads the clock.
    """
    name = event.place.function
    if name == example.trace.events[region.first].place.function:
        return "", event.line if example.holds(event.line) else region.last_line
    # A lap may end above the line of its start, in the next iteration.
    last = max(region.last_line, region.line + _LINES_OF_A_LAP)
    call = re.compile(rf"(?<!def )\b{re.escape(name)}\(")
    lines = (n for n in range(region.line, last + 1) if call.search(example.uncommented(n)))
    return f" by {name}() (line {event.line})", next(lines, region.last_line)


_LINES_OF_A_LAP = 12
_TESTS = re.compile(r"(?:^|_)(?:eval(?:uate|uation)?|valid(?:ate|ation)?|val|test|scores?)(?:_|$)")
_OF_TRAINING = re.compile(r"\btrain(?:ing)?\b[ _]*(?:time|took|takes|speed|duration|sec)", re.IGNORECASE)


def _calls_model(event: TraceEvent) -> bool:
    return event.kind == "opaque" and calls_model(event.name)


def _talks(example: Example, timing: Timing) -> str:
    """Return a phrase for output while the clock runs, such as prints or TensorFlow's placement log; "" if
    there is none.
    """
    region, events, outside = timing.region, timing.events, len(timing.begins.loops)
    prints = (e for e in events if e.kind == "print" and e.place.traced is None and not e.place.branches)
    written = next(
        (e for e in prints if len(e.place.loops) > outside or region.line < e.line < region.last_line), None
    )
    if written is not None:
        return f"print() writes output (line {written.line})"
    logs = example.facts.logs_placement
    if logs is not None and logs.index >= region.first:
        logs = None
    if not any(e.kind in ("op", "create") and e.place.traced is None for e in events):
        # A session logs each op of a graph when it runs the graph for the first time.
        runs = (e for e in events if e.name == "sess.run" and not example.facts.ran_before(e, region.first))
        logs = next((found for run in runs if (found := example.facts.logs_run(run)) is not None), None)
    return f"each op's placement is logged (line {logs.line})" if logs is not None else ""


def _is_within(part: Region, region: Region) -> bool:
    return region.first <= part.first and part.last < region.last


def _how_bad(timing: Timing, what: str) -> Severity | None:
    """Return the severity of a hit for the extra work `what`; None for the severity of the rule."""
    if what == _SHOWS:
        return "warning"
    if what.endswith(_EACH_EPOCH):
        return "warning" if timing.region.rate else "note"
    if what.startswith(_TESTED):
        return "note"
    return "warning" if _LASTS.match(what) and timing.about_speed else None


_SHOWS = "a plot window blocks the code"
_TESTED = "the model is evaluated"


def _blocks(example: Example) -> bool:
    """Return True if showing a plot blocks the program: by default in scripts, but not in notebooks."""
    return not example.block.notebook and not _AT_ONCE.search(example.facts.code)


_AT_ONCE = re.compile(
    r"block\s*=\s*False|\bion\(\)|(?:use|switch_backend)\(\s*[\"']agg|%matplotlib", re.IGNORECASE
)
_EACH_EPOCH = " after each epoch"
# Labels of timings that are meant to measure set-up.
_MAKES = re.compile(
    r"\b(?:build(?:ing)?|load(?:ing)?|init\w*|set-?up|creat(?:e|ing|ion)|construct\w*|start-?up|import|read(?:ing)?)\b"
    r"|(?:\b|_)(?:pre-?process\w*|prepar\w*|decod\w*)\b|\b(?:sav(?:e|ing)|writ(?:e|ing)|logging|export\w*|download\w*)\b",
    re.IGNORECASE,
)
# Actions that are slow even compared with minutes of training.
_LASTS = re.compile(r"a plot|the model is (?:tested|saved at)|\S+ is imported")
_ONE_ANSWER = re.compile(r"\b(?:infer(?:ence|red|ring)?|latency)\b", re.IGNORECASE)


def _is_video(example: Example, region: Region) -> bool:
    """Return True if the code displays a video, so that displaying is part of the timed work."""
    code = example.near(region, _AROUND, _AROUND) if example.block.script else example.block.code
    return bool(_VIDEO.search(_COMMENT.sub("", code)))


# Number of lines around a timing that are searched for displayed images.
_AROUND = 60


_COMMENT = re.compile(r"(?m)^\s*#[^\n]*")
_VIDEO = re.compile(r"\bcv2\.(?:imshow|VideoCapture|VideoWriter)\b")


def _extra_work(event: TraceEvent) -> str:
    """Return a phrase for the extra work that a library call or an unknown call does; "" if it does none."""
    if event.place.traced is not None or event.kind not in _MAY_SET_UP:
        return ""
    if event.kind == "build" and makes_model(event.name):
        return "the model is loaded or built"
    return "the model is saved" if _SAVES.search(callee(event.name)) else set_up(event.name)


_SAVES = re.compile(r"(?:checkpoint|ckpt|saver)\w*\.save$", re.IGNORECASE)


_MAY_SET_UP = ("opaque", "build", "host-op", "op", "python", "node")
# Labels of timings that are meant to include everything.
_WHOLE = re.compile(r"\b(?:total|overall|whole|end[- ]to[- ]end|pipeline|run ?time|script)\b", re.IGNORECASE)
# Slow NumPy functions, which a timing is usually meant to measure.
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


# One-time actions that take a significant time.
_ONCE = {
    "save": "the model is saved",
    "save_weights": "the model's weights are saved",
    "tf.Session": "the session is created",
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
    given = event.arguments.get("callbacks")
    items = given.items if isinstance(given, Listing) else [given]
    return [str(x.data).rpartition(".")[2] for x in items if isinstance(x, OpaqueObject)]


def _set_up(example: Example, event: TraceEvent, measured: bool, timer: str, fits: bool) -> str:
    """Return a phrase for what an event prepares; "" if it prepares nothing.

    measured: the region also contains the work to be timed. timer: the function that reads the clock. fits:
    the region trains a model, and its label does not announce a total time.
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
            return f"{event.name}() builds a graph and creates a session"
        case "train":
            if "ModelCheckpoint" in callbacks(event):
                return "the model is saved after each epoch"
            return f"{_TESTED}{_EACH_EPOCH}" if event.name == "fit" and event.validates else ""
        case "create" | "host-create":
            # An array that the code fills later is a buffer, not generated data.
            buffer = event.index in example.trace.filled and not event.name.startswith(_RANDOM)
            return "" if buffer else _describe_data(event, own=event.place.function != timer)
        case "config" if event.name.endswith(_INTERPRETERS):
            return "TFLite's interpreter is created and loads its model"
        case "graph":
            return (
                "variables are initialized"
                if _initialises(example, event)
                else _describe_random(example, event)
            )
        case "build" if event.name.startswith("tf.keras.applications."):
            return "the model is built"
        case "build":
            return _ONCE.get(event.name, "")
    return ""


_INTERPRETERS = ("lite.Interpreter", "interpreter.Interpreter")


def is_few(event: TraceEvent) -> bool:
    made = event.kind in ("create", "host-create") and isinstance(event.result, Tensor)
    count = elements(event.result.shape) if made and isinstance(event.result, Tensor) else None
    return count is not None and count < _FEW_NUMBERS


_FEW_NUMBERS = 1_000


def makes_data(event: TraceEvent) -> bool:
    if event.kind == "node":
        return event.name.startswith(("tf.random.", "tf.random_"))
    made = event.kind in ("create", "host-create") and event.place.traced is None
    return made and bool(_describe_data(event, own=False))


def _describe_data(event: TraceEvent, own: bool) -> str:
    """Return a phrase for generated data; "" if there is little data, or if generating it is part of the
    work.

    own: the event is not in the function that reads the clock.
    """
    if event.place.file or not isinstance(event.result, Tensor):
        return ""  # data made in a neighboring module is part of that module's work
    if own and event.kind == "create" and not event.name.startswith("tf.random."):
        return ""  # a function that starts from zeros creates them as part of its work
    count = elements(event.result.shape)
    drawn = event.name.startswith(_RANDOM)
    much = drawn if count is None else count > (_TINY if drawn else _LARGE)
    return f"data is generated ({event.name})" if much else ""


_RANDOM = ("tf.random.", "np.random.", "rng.")


def _describe_random(example: Example, event: TraceEvent) -> str:
    """Return a phrase for an op that draws new random numbers in each session run, as input of an expensive
    op; "" if there is none.
    """
    drawn, heavy = None, False
    waiting, seen = [event.runs], set[int]()
    while waiting and len(seen) < _MOST_NODES:
        node = example.trace.maker(waiting.pop())
        if node is None or node.index in seen:
            continue
        seen.add(node.index)
        if node.kind != "node" or node.name in _KEPT:
            continue
        heavy = heavy or node.name in _PRODUCTS
        count = elements(node.result.shape) if isinstance(node.result, Tensor) else None
        if _DRAWS.match(node.name) and (count is None or count > _TINY):
            drawn = node
        waiting += [each for given in node.arguments.values() for each in tensors_in(given)]
    return (
        f"random data is generated by {drawn.name} (line {drawn.line})" if drawn is not None and heavy else ""
    )


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
    made = example.trace.maker(event.runs)
    return event.name == "sess.run" and made is not None and made.name.endswith(_INITIALISERS)


@rule("TL113", "Predicting batch by batch", "note")
def predicts_one_batch(example: Example) -> Iterator[Hit]:
    """predict() is called for each batch, and its time is reported as the model's.

    Why: Each call creates a new pipeline, callbacks and progress bar, which takes longer than one batch of a
    small model.

    Instead: Time model(x, training=False) or a tf.function of it, or pass predict() all batches at once.

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
    for timing in example.timings:
        region, events = timing.region, timing.events
        work = [e for e in works(events) if e.kind in ("train", "graph") or not _prepares(e)]
        for event in work:
            if event.kind != "train" or event.name != "predict":
                continue
            # If the work is on several branches, check each branch separately.
            others = (e for e in work if (e.name, e.line) != (event.name, event.line))
            alone = not any(event.place.may_follow(other.place) for other in others)
            loops = event.place.loops
            again = region.repeats or event.place.repeats != 1 or any(loop.unrolled for loop in loops)
            # A single call for a known, small number of rows measures the latency of a device or of one
            # prediction.
            few = rows_of(event) in _FEW_ROWS
            again = again or (few and bool(ANSWER.search(timing.label)))
            if alone and again and _is_one_batch(event):
                meant = timing.compared or bool(ANSWER.search(timing.label))
                meant = meant and timing.role != "log"
                # A benchmark's mean over batches includes the overhead of each call, whatever the batch size.
                unknown = rows_of(event) is None and not _is_video(example, region) and _is_averaged(region)
                small = meant and (_is_small(example, region, event) or unknown)
                yield Hit(
                    event.line,
                    "each call of predict() creates a new pipeline, and the time includes creating it",
                    timing=timing,
                    at="predict",
                    severity="warning" if small else None,
                )


def _is_averaged(region: Region) -> bool:
    return bool(region.repeats or region.gathered or region.divided or region.via == "timeit")


def _prepares(event: TraceEvent) -> bool:
    if event.kind == "opaque":
        return not may_run(event) or bool(set_up(event.name))
    if event.name.startswith(_PICTURES) or (event.kind == "build" and set_up(event.name)):
        return True
    return event.kind in ("python", "host-op", "host-create", "create", "copy") or event.name in _VIEWS


_PICTURES = ("tf.image.", "tf.io.", "tf.keras.preprocessing.image.", "tf.keras.utils.")
_VIEWS = ("tf.strided_slice", "tf.reshape", "tf.expand_dims", "tf.cast", "tf.squeeze")
# Default batch size of `predict`.
BATCH = 32


def _model_input(event: TraceEvent) -> Value | None:
    return event.arguments.get("x", event.arguments.get("0"))


def batch_of(event: TraceEvent) -> int | None:
    given = event.arguments.get("batch_size")
    return BATCH if given is None or given == NONE else integer(given)


def rows_of(event: TraceEvent) -> int | None:
    given = _model_input(event)
    return given.shape[0] if isinstance(given, Tensor) and given.shape else None


_FEW_ROWS = range(1, 9)


def _is_small(example: Example, region: Region, event: TraceEvent) -> bool:
    """Return True if `predict()` receives at most one batch of usual size, or a list of unknown length."""
    given, rows = _model_input(event), rows_of(event)
    if rows is not None:
        return rows <= BATCH
    if _is_video(example, region):
        return False
    return isinstance(given, Listing)


def _is_one_batch(event: TraceEvent) -> bool:
    """Return True if `predict()` gets at most one batch, or an unknown number of rows."""
    given = _model_input(event)
    if integer(event.arguments.get("steps")) == 1:
        return True
    if not isinstance(given, Tensor) or not given.shape or given.shape[0] is None:
        return not isinstance(given, Dataset)
    return given.shape[0] <= (integer(event.arguments.get("batch_size")) or BATCH)
