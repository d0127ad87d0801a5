"""What holds for the whole of a document's code, looked up once."""

from functools import cached_property

from tuilab.documents.interpreter.trace import Event, Kind, Trace
from tuilab.documents.interpreter.values import Known, Listing, Value, truth

_STRICT = "tf.config.set_soft_device_placement"
_HIDES = ("tf.config.set_visible_devices", "tf.config.experimental.set_visible_devices")

Subject = tuple[Kind, "str | int"]


class Facts:
    """Answers about a trace that many rules ask for."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def checks_device(self) -> int | None:
        """The first block that asks which devices there are, or forbids soft placement; None for none."""
        for event in self._trace.events:
            strict = event.name == _STRICT and truth(event.arguments.get("enabled", Known(True))) is False
            if event.kind == "query" or strict:
                return event.place.block
        return None

    @cached_property
    def hides_gpu(self) -> bool:
        """Whether TensorFlow is told to see no GPU."""
        for event in self._trace.events:
            if event.kind == "config" and event.name in _HIDES:
                given = event.arguments.get("devices", event.arguments.get("0"))
                if isinstance(given, Listing) and not given.items:
                    return True
        return False

    @cached_property
    def writer(self) -> Event | None:
        """Where a TFRecord file is first written."""
        return next((e for e in self._trace.events if e.name == "tf.io.TFRecordWriter"), None)

    @cached_property
    def _started(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for event in self._trace.events:
            if event.kind == "iterate":
                found.setdefault(id(event.arguments.get("dataset")), event.index)
        return found

    def started_before(self, dataset: Value | None, before: int) -> bool:
        """Whether the pipeline was gone through before that event."""
        return self._started.get(id(dataset), before) < before

    @cached_property
    def _earliest(self) -> dict[Subject, dict[tuple[str, ...], int]]:
        found: dict[Subject, dict[tuple[str, ...], int]] = {}
        for event in self._trace.events:
            if event.kind in ("graph", "train", "op") and event.place.traced is None:
                found.setdefault(subject(event), {}).setdefault(event.place.families, event.index)
        return found

    def ran_before(self, work: Event, before: int) -> bool:
        """Whether the same graph, training or op ran before that event, on what may be the same device.

        Outside of any scope an op runs where its kernels are, which may be any device.
        """
        for families, first in self._earliest.get(subject(work), {}).items():
            here = work.place.families
            if first < before and (not families or not here or families == here):
                return True
        return False


def subject(event: Event) -> Subject:
    """What has to have run before for the event not to be a first call."""
    value: Value | None = None
    if event.kind == "graph":
        value = event.arguments.get("graph")
    elif event.kind == "train":
        value = event.arguments.get("self")
    return (event.kind, id(value) if value is not None else event.name)
