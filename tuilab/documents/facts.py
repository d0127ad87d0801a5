"""Facts about all the code of a document. Each fact is computed once."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from math import inf

from tuilab.documents.api.names import old_uses
from tuilab.documents.interpreter.names import SAVED
from tuilab.documents.interpreter.trace import CALLER, Kind, Trace, TraceEvent, Use
from tuilab.documents.interpreter.unread import runs_tensorflow, runs_what_it_is_given
from tuilab.documents.interpreter.values import (
    Bound,
    Instance,
    Known,
    Layer,
    Listing,
    Mapping,
    Model,
    OpaqueObject,
    Partial,
    Tensor,
    Unknown,
    Value,
    truth,
)
from tuilab.documents.words import words
from tuilab.model.api import ApiTable

_TEXTS = re.compile(r"#[^\n]*|\"\"\".{0,4000}?\"\"\"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_STRICT = "tf.config.set_soft_device_placement"
_HIDES = ("tf.config.set_visible_devices", "tf.config.experimental.set_visible_devices")

_LITE = ("tensorflow", "keras", "tflite", "ai_edge_litert", "tf_keras", "edgetpu", "pycoral")
_MODERN = ("tf.function", "tf.GradientTape", "tf.config.", "tf.test.experimental.sync_devices")
# Functions that create a model without compiling it.
MADE_PLAIN = ("tf.keras.Sequential", "tf.keras.Model")
# Code that makes TensorFlow 2 build graphs for sessions.
_GRAPHS = (
    "tf.Graph",
    "tf.compat.v1.Graph",
    "tf.compat.v1.disable_",
    "tf.disable_",
    "tf.compat.v1.reset_default_graph",
)
Subject = tuple[Kind, "str | int"]


class Facts:
    def __init__(self, trace: Trace, api: ApiTable | None, target: str, code: str) -> None:
        self._trace = trace
        self._api = api
        self._target = target
        self._code = code

    @cached_property
    def code(self) -> str:
        """The document's code without comments and without strings that contain prose."""
        return _TEXTS.sub(lambda text: "" if text[0][0] == "#" or " " in text[0] else text[0], self._code)

    @cached_property
    def checks_device(self) -> int | None:
        """Number of the first block that queries devices or forbids soft placement; None if no block does."""
        return next(
            (event.place.block for event in self._checks if event.kind == "query" or _is_strict(event)), None
        )

    @cached_property
    def _checks(self) -> list[TraceEvent]:
        """Events that may query devices. If any timing is outside of uncalled functions, events inside
        uncalled functions are left out.
        """
        events = self._trace.events
        if all(events[region.first].place.uncalled for region in self._trace.regions):
            return events
        return [event for event in events if not event.place.uncalled]

    def device_known_before(self, event: int) -> bool:
        asked = self._first_query
        return asked is not None and asked < event

    @cached_property
    def _first_query(self) -> int | None:
        return next((event.index for event in self._checks if event.kind == "query"), None)

    @cached_property
    def _weights(self) -> dict[int, TraceEvent]:
        found: dict[int, TraceEvent] = {}
        for event in self._trace.events:
            model = event.arguments.get("self") if event.kind in ("op", "train") else event.result
            if not isinstance(model, Model) or model.assumed or id(model) in found:
                continue
            called = event.kind in ("op", "train")
            known = event.name == "tf.keras.Model" or event.name.startswith("tf.keras.applications.")
            known = known or event.name.endswith(".load_model")
            if called or known or any(_has_input(layer) for layer in model.layers):
                found[id(model)] = event
        return found

    def find_weights(self, model: Model) -> TraceEvent | None:
        return self._weights.get(id(model))

    @cached_property
    def shows_placement(self) -> bool:
        shown = ("tensor.device", "tensor.backing_device", "tf.debugging.set_log_device_placement")
        return any(event.name in shown for event in self._trace.events)

    @cached_property
    def logs_placement(self) -> TraceEvent | None:
        set_ = (e for e in self._trace.events if e.name == "tf.debugging.set_log_device_placement")
        return next((e for e in set_ if truth(e.arguments.get("enabled", e.arguments.get("0")))), None)

    @cached_property
    def _configs(self) -> dict[int, TraceEvent]:
        events = self._trace.events
        made = {id(e.result): e for e in events if e.name.endswith(".ConfigProto")}
        given = ((e.result, e.arguments.get("config")) for e in events if e.name == "tf.Session")
        return {id(session): made[id(config)] for session, config in given if id(config) in made}

    def logs_run(self, run: TraceEvent) -> TraceEvent | None:
        config = self._configs.get(id(run.arguments.get("session")))
        logs = config is not None and truth(config.arguments.get("log_device_placement"))
        return config if logs is True else None

    @cached_property
    def is_eager(self) -> bool:
        return any(use.name.startswith(_MODERN) for use in self._trace.uses)

    @cached_property
    def is_of_tensorflow(self) -> bool:
        """True if the code mentions TensorFlow, Keras or TFLite by name."""
        roots = ("tf.", "keras", "tensorflow")
        return any(u.name.startswith(roots) for u in self._trace.uses) or any(
            e.kind == "import" and e.name.startswith(_LITE) for e in self._trace.events
        )

    @cached_property
    def hides_gpu(self) -> bool:
        settings = (e for e in self._trace.events if e.kind == "config" and e.name in _HIDES)
        given = (event.arguments.get("devices", event.arguments.get("0")) for event in settings)
        return any(isinstance(devices, Listing) and not devices.items for devices in given)

    @cached_property
    def old_uses(self) -> tuple[Use, int, int] | None:
        """The result of `old_uses` for the document's names; None without an API table, or if the user
        states the version.
        """
        return old_uses(self._api, self._trace.uses) if self._api and self._target == "auto" else None

    @property
    def is_of_version_1(self) -> bool:
        return self._target == "1" or self.old_uses is not None

    @cached_property
    def _ends(self) -> tuple[list[int], list[int]]:
        """The start events of all regions, ascending; and for each start event, the earliest end of any
        region that starts there or later.
        """
        regions = sorted(self._trace.regions, key=lambda r: r.first)
        ends = [r.last for r in regions]
        for at in range(len(ends) - 2, -1, -1):
            ends[at] = min(ends[at], ends[at + 1])
        return [r.first for r in regions], ends

    def first_end_after(self, first: int) -> float:
        """Return the earliest end of any timed region that starts after the given clock reading."""
        starts, ends = self._ends
        at = bisect_right(starts, first)
        return ends[at] if at < len(ends) else inf

    @cached_property
    def _opaque_touched(self) -> dict[int, int]:
        return self._given_to(may_run)

    @cached_property
    def _run_by_others(self) -> dict[int, int]:
        return self._given_to(lambda e: e.kind == "opaque" and runs_what_it_is_given(e.name))

    def _given_to(self, which: Callable[[TraceEvent], bool]) -> dict[int, int]:
        """Return the index of the first such event that is given a value, by the value's id."""
        return {
            id(held): event.index
            for event in reversed(self._trace.events)
            if which(event)
            for value in event.arguments.values()
            for held in _reachable_values(value)
        }

    def is_run_by_others(self, work: TraceEvent, before: int) -> bool:
        """Return True if a call before the event `before` may have run the object of `work`, judging by the
        call's name.
        """
        given = (subject_value(work), work.arguments.get("self"), work.arguments.get("session"))
        return any(v is not None and self._run_by_others.get(id(v), before) < before for v in given)

    def is_session_kept(self, work: TraceEvent, before: int) -> bool:
        """Return True if the document creates the session of `work`, and passes this session to no unknown
        call before the event `before`.
        """
        session = work.arguments.get("session")
        return id(session) in self._built and self._opaque_touched.get(id(session), before) >= before

    @cached_property
    def _opaque_called(self) -> dict[str, int]:
        """Index of the first event of each unknown call, by the call's name."""
        return {event.name: event.index for event in reversed(self._trace.events) if event.kind == "opaque"}

    @cached_property
    def writer(self) -> TraceEvent | None:
        return next((e for e in self._trace.events if e.name == "tf.io.TFRecordWriter"), None)

    @cached_property
    def _first_iteration(self) -> dict[int, int]:
        begun = (event for event in reversed(self._trace.events) if event.kind == "iterate")
        return {id(event.arguments.get("dataset")): event.index for event in begun}

    def iterated_before(self, dataset: Value | None, before: int) -> bool:
        return self._first_iteration.get(id(dataset), before) < before

    @cached_property
    def _events_by_subject(self) -> dict[Subject, dict[tuple[tuple[str, ...], str], list[int]]]:
        """Ascending indices of the events that may be first calls (see `is_subject`): by subject, then by
        devices and dtype.
        """
        found: dict[Subject, dict[tuple[tuple[str, ...], str], list[int]]] = {}
        for event in self._trace.events:
            if is_subject(event):
                where = event.place.families, _dtype(event)
                found.setdefault(subject(event), {}).setdefault(where, []).append(event.index)
                if event.name == "fit" and event.validates:
                    tested = (event.kind, f"test {id(subject_value(event))}")
                    found.setdefault(tested, {}).setdefault(where, []).append(event.index)
        return found

    def _began(self, work: TraceEvent) -> int:
        """Return the index of the first event that can have warmed up `work`: the start of its program, or 0
        if it uses objects from earlier examples.
        """
        start = self._program(work)
        if not start or subject_value(work) is not None:
            return 0
        model = work.arguments.get("self")
        made = [v.made for v in work.arguments.values() if isinstance(v, Tensor)]
        if isinstance(model, Model):
            made.append(self._built.get(id(model), start))
        return 0 if any(0 <= index < start for index in made) else start

    def _program(self, work: TraceEvent) -> int:
        """Return the index of the first event of the program that contains `work`; 0 if the document is one
        program.
        """
        return _last_start(self._trace.programs, work.index)

    def ran_before(self, work: TraceEvent, before: int, anew: bool = False) -> bool:
        """Return True if the graph, training or op of `work` ran before the event `before`, with the same
        dtype and on a device that may be the same.

        Without a device scope, an op may run on any device. anew: code that the document does not show
        creates the model or function again.
        """
        if work.kind == "opaque":
            return self._opaque_called.get(work.name, before) < before
        if work.kind == "graph" and self._is_traced_anew(work, before):
            return False
        if work.kind == "train" and self._is_compiled_anew(work, before):
            return False
        layer = work.arguments.get("self")
        # A layer that is created again for each call is treated like an op, because an earlier layer may
        # already have loaded its kernels.
        kept = self._built.get(id(layer), -1) < before and id(layer) not in self._in_models
        if has_weights(layer) and kept:
            # The first call of a layer that stays in use creates its weights, even if other layers have run.
            return self._layers_run.get(id(layer), before) < before
        here, dtype = work.place.families, _dtype(work)
        began = self._program(work) if anew else self._began(work)
        # Uncalled functions do not run one after the other, so skip events in other uncalled functions.
        spans = [(began, before)]
        if self._trace.events[before].place.uncalled:
            alone = max(began, _last_start(self._callers, before))
            spans = [(began, self._callers[0]), (alone, before)]
        for (families, other), done in self._events_by_subject.get(subject(work), {}).items():
            same = not (dtype and other) or dtype == other
            ran = any(bisect_left(done, first) < bisect_left(done, last) for first, last in spans)
            if ran and same and (not families or not here or families == here):
                return True
        return False

    @cached_property
    def _layers_run(self) -> dict[int, int]:
        given = ((event.arguments.get("self"), event.index) for event in reversed(self._trace.events))
        return {id(layer): index for layer, index in given if isinstance(layer, Layer)}

    @cached_property
    def _in_models(self) -> set[int]:
        """Ids of the layers that belong to a model."""
        made = (event.result for event in self._trace.events if event.kind == "build")
        return {id(layer) for model in made if isinstance(model, Model) for layer in model.layers}

    def _is_compiled_anew(self, work: TraceEvent, before: int) -> bool:
        compiled = [i for i in self._compiled.get(id(subject_value(work)), ()) if i < before]
        if not compiled:
            return False
        done = [
            i for ran in self._events_by_subject.get(subject(work), {}).values() for i in ran if i < before
        ]
        return not done or max(done) < compiled[-1]

    def is_made_anew(self, work: TraceEvent, before: int) -> bool:
        """Return True if the loop around a timing creates or compiles the timed object, or creates its
        session, in each iteration.
        """
        loops = self._trace.events[before].place.loops
        of_session = work.name == "sess.run"
        model = work.arguments.get("session") if of_session else subject_value(work)
        if not (of_session or work.kind == "train") or not loops or model is None:
            return False
        made = [*self._compiled.get(id(model), ()), self._built.get(id(model), -1)]
        return any(0 <= i < before and self._trace.events[i].place.loops == loops for i in made)

    def may_have_run(self, work: TraceEvent, before: int) -> bool:
        """Return True if an unknown call may have run the timed function before the event `before`. Also
        return True for a model from outside of the document, because the code that created the model may have
        run it.
        """
        value = subject_value(work) or work.arguments.get("self")
        if isinstance(value, Model) and value.assumed and id(value) not in self._built:
            return True
        if isinstance(value, OpaqueObject) and value.kind == "lite" and "given" in value.data:
            return True
        return value is not None and self._opaque_touched.get(id(value), before) < before

    @cached_property
    def _callers(self) -> list[int]:
        """Indices of the events at which the interpreter enters uncalled functions."""
        return [event.index for event in self._trace.events if event.name == CALLER]

    @cached_property
    def _built(self) -> dict[int, int]:
        built = (e for e in self._trace.events if e.kind in ("build", "config") and e.result is not None)
        return {id(event.result): event.index for event in built}

    def is_created(self, value: Value | None) -> bool:
        return id(value) in self._built

    def is_own(self, work: TraceEvent, before: int) -> bool:
        made = self._built.get(id(subject_value(work)), -1)
        return bool(self._callers) and made > _last_start(self._callers, before)

    def program_of(self, event: TraceEvent) -> int:
        """Return the index of the first event of the program that contains the event. Each uncalled function
        counts as a program of its own.
        """
        return _last_start(self._callers if event.place.uncalled else self._trace.programs, event.index)

    @cached_property
    def _imports(self) -> list[int]:
        return [e.index for e in self._trace.events if e.kind == "import" and e.name == "tensorflow"]

    def imported_before(self, event: TraceEvent) -> int:
        return _last_start(self._imports, event.index)

    @cached_property
    def starts_processes(self) -> bool:
        """True if the code may start other processes, which inherit its environment variables."""
        names = ("subprocess", "multiprocessing", "ray", "joblib", "concurrent")
        calls = ("os.system", "os.popen", "os.exec", "os.spawn", "os.fork")
        return any(
            (e.kind == "import" and e.name.partition(".")[0] in names) or e.name.startswith(calls)
            for e in self._trace.events
        )

    @cached_property
    def uses_graphs(self) -> bool:
        return any(use.name.startswith(_GRAPHS) for use in self._trace.uses)

    def is_made_in_loop_of(self, model: Value | None, other: Value) -> bool:
        """Return True if a loop creates the model in each iteration, but creates the object `other` only
        once.
        """
        one, two = self._built.get(id(model)), self._built.get(id(other))
        if one is None or two is None:
            return False
        loops = self._trace.events[one].place.loops
        outside = self._trace.events[two].place.loops
        return any(loop not in outside and loop.repeats for loop in loops)

    def is_never_compiled(self, model: Model) -> bool:
        """Return True if the document creates the model, but neither compiles it nor passes it to code that
        may compile it.
        """
        made = self._built.get(id(model))
        plain = made is not None and self._trace.events[made].name in MADE_PLAIN
        return plain and id(model) not in self._compiled and id(model) not in self._opaque_touched

    @cached_property
    def _compiled(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for event in self._trace.events:
            if event.name == "compile":
                found.setdefault(id(event.arguments.get("self")), []).append(event.index)
        return found

    @cached_property
    def _runs(self) -> dict[Subject, list[TraceEvent]]:
        found: dict[Subject, list[TraceEvent]] = {}
        for event in self._trace.events:
            if event.kind == "graph" and event.place.traced is None:
                found.setdefault(subject(event), []).append(event)
        return found

    @cached_property
    def _nodes(self) -> list[int]:
        return [event.index for event in self._trace.events if event.kind == "node"]

    def _is_traced_anew(self, work: TraceEvent, before: int) -> bool:
        """Return True if the event's graph must be traced again: for new shapes or Python numbers, in a new
        session, or because the graph has grown.
        """
        earlier = [event for event in self._runs.get(subject(work), ()) if event.index < before][-_LATEST:]
        if not earlier:
            return False
        session = work.arguments.get("session")
        if id(session) in self._built and all(e.arguments.get("session") is not session for e in earlier):
            # Each session prepares its own graph, and no earlier run used this session.
            return True
        if work.name == "sess.run":
            at = bisect_right(self._nodes, earlier[-1].index)
            return at < len(self._nodes) and self._nodes[at] < work.index
        own, numbers = _shapes(work), _numbers(work)
        if numbers and all(_numbers(event) and _numbers(event) != numbers for event in earlier):
            # Python numbers are part of a trace's key: a new number causes a new trace unless there is an
            # input_signature.
            return "input_signature" not in self._code
        return bool(own) and all(_shapes(event) and _shapes(event) != own for event in earlier)


def _last_start(starts: list[int], at: int) -> int:
    """Return the last of the ascending indices up to `at`; 0 if there is none."""
    number = bisect_right(starts, at)
    return starts[number - 1] if number else 0


def _numbers(event: TraceEvent) -> dict[str, float]:
    known = {n: v.value for n, v in event.arguments.items() if isinstance(v, Known)}
    return {n: v for n, v in known.items() if isinstance(v, int | float) and not isinstance(v, bool)}


def _is_strict(event: TraceEvent) -> bool:
    return event.name == _STRICT and truth(event.arguments.get("enabled", Known(True))) is False


def _reachable_values(value: Value, depth: int = 0) -> Iterator[Value]:
    yield value
    inner: Iterable[Value] = ()
    match value:
        case Bound():
            inner = (value.owner,)
        case Instance():
            inner = list(value.attributes.values())
        case Listing():
            inner = value.items
        case Mapping():
            inner = list(value.items.values())
        case Partial():
            inner = (value.target, *value.args, *value.keywords.values())
    if depth < _DEEPEST:
        for part in list(inner)[:_WIDEST]:
            yield from _reachable_values(part, depth + 1)


# Maximum depth and width for the search of a call's arguments.
_DEEPEST, _WIDEST = 2, 16


def has_weights(layer: Value | None) -> bool:
    return isinstance(layer, Layer) and layer.name in _WITH_WEIGHTS


def _has_input(layer: Value) -> bool:
    if not isinstance(layer, Layer):
        return isinstance(layer, Tensor)
    return layer.name.startswith("Input") or "input_shape" in layer.arguments


_WITH_WEIGHTS = frozenset(
    words(
        "Dense EinsumDense Embedding LSTM GRU SimpleRNN RNN Bidirectional ConvLSTM1D ConvLSTM2D Conv1D Conv2D"
        " Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose SeparableConv1D SeparableConv2D"
        " DepthwiseConv1D DepthwiseConv2D MultiHeadAttention"
    )
)
# Maximum number of earlier runs whose shapes are compared.
_LATEST = 64


def _shapes(event: TraceEvent) -> tuple[object, ...]:
    given = event.arguments.values()
    known = [(v.shape, v.dtype) for v in given if isinstance(v, Tensor) and v.shape and None not in v.shape]
    return tuple(known) if known and len(known) == len(given) else ()


def is_training(trace: Trace, event: TraceEvent) -> bool:
    """Return True if the event is a `sess.run` that fetches an optimizer's op or an unknown op."""
    fetched = event.runs
    if not isinstance(fetched, Tensor):
        return event.name == "sess.run"
    made = trace.maker(fetched)
    return made is not None and made.name.rpartition(".")[2] in ("minimize", "apply_gradients")


def may_run(event: TraceEvent) -> bool:
    return event.kind == "opaque" and runs_tensorflow(event.name)


# Prefixes of ops without a GPU kernel. Their first call takes no longer than later calls.
ON_HOST = ("tf.io.", "tf.strings.", "tf.image.decode_", "tf.audio.")


def is_subject(event: TraceEvent) -> bool:
    """Return True if the event's work takes longer in its first call than in later calls."""
    lite = event.kind == "host-op" and event.name in ("invoke", "tf.numpy_function", "tf.py_function")
    if event.kind == "op" and event.name.startswith(ON_HOST):
        return False
    return (lite or event.kind in ("graph", "train", "op", "create")) and event.place.traced is None


def _dtype(event: TraceEvent) -> str:
    given = event.result if event.kind in ("op", "create") else None
    return (given.dtype or "") if isinstance(given, Tensor) else ""


def subject(event: TraceEvent) -> Subject:
    """Return a key for the event's work. If an earlier event has the same key, the event is not a first
    call.
    """
    value = subject_value(event)
    if event.kind == "train":
        # A model has one traced function each for training, evaluation and prediction.
        return (event.kind, f"{_TRACED.get(event.name, event.name)} {id(value)}")
    if event.name == "sess.run" and isinstance(value, Unknown):
        # Fetches that are unknown for the same reason are treated as equal.
        return (event.kind, f"sess.run {value.reason}")
    return (event.kind, id(value) if value is not None else event.name)


_TRACED = {
    **dict.fromkeys(("fit", "fit_generator", "train_on_batch", "train_step"), "train"),
    **dict.fromkeys(("evaluate", "test_on_batch"), "test"),
    **dict.fromkeys(("predict", "predict_on_batch", "predict_step"), "predict"),
}


def subject_value(event: TraceEvent) -> Value | None:
    """Return the graph, model or interpreter that an event runs; None if unknown."""
    if event.kind == "graph":
        return event.runs
    owned = event.kind in ("train", "host-op") or event.name == SAVED
    return event.arguments.get("self") if owned else None
