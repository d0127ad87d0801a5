"""What holds for the whole of a document's code, looked up once."""

from bisect import bisect_right
from functools import cached_property
from math import inf

from tuilab.documents.api_names import old_uses
from tuilab.documents.interpreter.trace import Event, Kind, Trace, Use
from tuilab.documents.interpreter.values import Bound, Known, Listing, Value, truth
from tuilab.model.api import ApiTable

_STRICT = "tf.config.set_soft_device_placement"
_HIDES = ("tf.config.set_visible_devices", "tf.config.experimental.set_visible_devices")

Subject = tuple[Kind, "str | int"]


class Facts:
    """Answers about a trace that many rules ask for."""

    def __init__(self, trace: Trace, target: str = "auto") -> None:
        self._trace = trace
        self.target = target
        self._version_1: list[tuple[Use, int, int] | None] = []

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

    def version_1(self, api: ApiTable) -> tuple[Use, int, int] | None:
        """The first of the uses by which a document is of TensorFlow 1, how many, of how many names."""
        if not self._version_1:
            found = old_uses(api, self._trace.uses) if self.target == "auto" else None
            self._version_1.append(found)
        return self._version_1[0]

    @cached_property
    def _ends(self) -> tuple[list[int], list[int]]:
        """First readings in order, and for each the earliest last one of those that begin there or later."""
        regions = sorted(self._trace.regions, key=lambda r: r.first)
        ends = [r.last for r in regions]
        for at in range(len(ends) - 2, -1, -1):
            ends[at] = min(ends[at], ends[at + 1])
        return [r.first for r in regions], ends

    def first_end_after(self, first: int) -> float:
        """Where the first timing ends that begins after this reading."""
        starts, ends = self._ends
        at = bisect_right(starts, first)
        return ends[at] if at < len(ends) else inf

    @cached_property
    def _opaque_touched(self) -> dict[int, int]:
        """What was given to calls that are not known: by identity, the first such event."""
        found: dict[int, int] = {}
        for event in self._trace.events:
            if event.kind == "opaque":
                for value in event.arguments.values():
                    found.setdefault(id(value), event.index)
                    if isinstance(value, Bound):
                        found.setdefault(id(value.owner), event.index)
        return found

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
        value = _subject_value(work)
        if value is not None and self._opaque_touched.get(id(value), before) < before:
            return True
        for families, first in self._earliest.get(subject(work), {}).items():
            here = work.place.families
            if first < before and (not families or not here or families == here):
                return True
        return False


def subject(event: Event) -> Subject:
    """What has to have run before for the event not to be a first call."""
    value = _subject_value(event)
    return (event.kind, id(value) if value is not None else event.name)


def _subject_value(event: Event) -> Value | None:
    if event.kind == "graph":
        return event.arguments.get("graph")
    return event.arguments.get("self") if event.kind == "train" else None
