"""Turns nested events into the activity of each thread and stream, moment by moment. Pure functions."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from tuilab.profile.classify import Key, Meaning, device_meaning, meaning
from tuilab.profile.xplane import HOST, XEvent, XLine

_START, _STOP = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"
_RECORD = "ThreadpoolListener::Record"
_CAPTURED = "InstantiatedCapturedFunction::"
_END = "end: "
_LOOP = re.compile(r"^ReduceIterator::.*::Scan$")
"""Matches the event of one iteration when a graph loops over a dataset, because the runtime executes such a
loop as an iterator.
"""
NOWHERE = -1
"""Lane for work whose thread is unknown."""


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A period during which a lane's innermost event stays the same. pipeline: the thread works for
    tf.data.
    """

    lane: int
    start: int
    end: int
    meaning: Meaning
    pipeline: bool = False


class Seen(msgspec.Struct, frozen=True, gc=False):
    lane: int
    event: XEvent
    meaning: Meaning
    pipeline: bool = False


@dataclass
class Activity:
    """The segments of all lanes. launchers: ops whose host events only launched work on a GPU."""

    segments: list[Segment] = field(default_factory=list)
    events: list[Seen] = field(default_factory=list)
    launchers: set[Key] = field(default_factory=set)


@dataclass(slots=True)
class _Frame:
    event: XEvent
    end: int
    meaning: Meaning
    context: int | None


class _Thread:
    """A host thread.

    cursor: the time up to which the thread's events have become segments.
    """

    def __init__(self, lane: int, pipeline: bool) -> None:
        self.lane, self.pipeline = lane, pipeline
        self.stack: list[_Frame] = []
        self.cursor = 0

    @property
    def meaning(self) -> Meaning:
        return self.stack[-1].meaning if self.stack else Meaning()

    @property
    def context(self) -> int | None:
        return self.stack[-1].context if self.stack else None


def activity(lines: Sequence[XLine]) -> Activity:
    walk = _Walk(lines)
    walk.run()
    return walk.found


class _Walk:
    """One pass over all host events in order of time, which follows work from thread to thread.

    The runtime numbers each run of a function: the `Record` event of the thread that submits the work and the
    `StartRegion` event of the thread that runs it have the same number. If tf.data submitted the work, it
    belongs to the input pipeline.
    """

    def __init__(self, lines: Sequence[XLine]) -> None:
        self.found = Activity()
        self._lines = lines
        self._threads = {
            lane: _Thread(lane, line.name.startswith("tf_data"))
            for lane, line in enumerate(lines)
            if line.device == HOST
        }
        self._handed: dict[int | str, int | None] = {}
        self._captured: set[int] = set()
        self._on_device = {
            int(e.stats["correlation_id"])
            for line in lines
            if line.device != HOST
            for e in line.events
            if "correlation_id" in e.stats
        }
        self._launched: dict[int, Key] = {}
        self._begun: dict[int | str, Segment] = {}

    def run(self) -> None:
        timeline = [
            (event.start, -event.end, lane, event)
            for lane in self._threads
            for event in _with_regions(self._lines[lane].events)
        ]
        timeline.sort(key=lambda item: item[:3])
        for _, _, lane, event in timeline:
            self._take(self._threads[lane], event)
        for thread in self._threads.values():
            self._close(thread, None)
        for lane, line in enumerate(self._lines):
            if line.device != HOST:
                self._stream(lane, line)

    def _take(self, thread: _Thread, event: XEvent) -> None:
        self._close(thread, event.start)
        if event.name == _RECORD:
            self._handed[event.stats.get("_p", -1)] = thread.context
            return
        inner = meaning(event, thread.meaning)
        self._note_end(event)
        context = self._context(thread, event)
        self._note_launch(thread, event)
        if event.end <= event.start:
            return
        # Events on a thread are nested; an event that extends beyond its parent's end is cut there.
        end = min(event.end, thread.stack[-1].end) if thread.stack else event.end
        if end <= event.start:
            return
        self._emit(thread, event.start)
        thread.stack.append(_Frame(event, end, inner, context))
        pipeline = self._pipeline(thread)
        if not event.name.startswith("ThreadpoolListener"):
            self.found.events.append(Seen(thread.lane, event, inner, pipeline))
        if "hlo_op" in event.stats and "_p" in event.stats:
            self._begun[event.stats["_p"]] = Segment(NOWHERE, end, end, inner, pipeline)

    def _note_end(self, event: XEvent) -> None:
        """If the event marks the end of an XLA operation, add a segment from the end of the operation's own
        event to this mark, because the operation may continue on other threads.
        """
        begun = self._begun.pop(event.stats.get("_c", -1), None) if event.name.startswith(_END) else None
        if begun is not None and event.start > begun.end:
            self.found.segments.append(replace(begun, end=event.start))

    def _context(self, thread: _Thread, event: XEvent) -> int | None:
        number = event.stats.get("id")
        if event.name == _START:
            return self._handed.get(event.stats.get("_c", -1))
        if isinstance(number, int) and event.name.startswith(("FunctionRun", "ExecutorState::", _CAPTURED)):
            if event.name.startswith(_CAPTURED) and not self._of_loop(thread):
                self._captured.add(number)
            return number
        return thread.context

    @staticmethod
    def _of_loop(thread: _Thread) -> bool:
        """Return True if the thread runs the body of a graph's loop over a dataset, not a stage of the
        dataset itself.
        """
        iterators = (frame.event.name for frame in reversed(thread.stack) if "Iterator::" in frame.event.name)
        return _LOOP.match(next(iterators, "")) is not None

    def _note_launch(self, thread: _Thread, event: XEvent) -> None:
        number = event.stats.get("correlation_id")
        key = next((f.meaning.key for f in reversed(thread.stack) if f.meaning.op), None)
        if isinstance(number, int) and number in self._on_device and key is not None:
            self._launched[number] = key
            self.found.launchers.add(key)

    def _pipeline(self, thread: _Thread) -> bool:
        context = thread.context
        return thread.pipeline if context is None else context in self._captured

    def _emit(self, thread: _Thread, until: int) -> None:
        """Add a segment from the thread's cursor to `until`, with the meaning of the innermost open event."""
        if thread.stack and until > thread.cursor and thread.meaning.phase is not None:
            self.found.segments.append(
                Segment(thread.lane, thread.cursor, until, thread.meaning, self._pipeline(thread))
            )
        thread.cursor = max(thread.cursor, until)

    def _close(self, thread: _Thread, now: int | None) -> None:
        while thread.stack and (now is None or thread.stack[-1].end <= now):
            self._emit(thread, thread.stack[-1].end)
            thread.stack.pop()
        if not thread.stack and now is not None:
            thread.cursor = now

    def _stream(self, lane: int, line: XLine) -> None:
        for event in line.events:
            launched_by = self._launched.get(int(event.stats.get("correlation_id", -1)))
            told = device_meaning(event, line.device, launched_by)
            self.found.events.append(Seen(lane, event, told))
            self.found.segments.append(Segment(lane, event.start, event.end, told))
            if told.key is not None:
                self.found.launchers.add(Key(told.key.op, told.key.name, HOST))


def _with_regions(events: Sequence[XEvent]) -> Iterator[XEvent]:
    """Yield the events, with each pair of start and stop marks replaced by one event that spans both."""
    opened: XEvent | None = None
    for event in events:
        if event.name == _STOP and opened is not None:
            yield XEvent(_START, opened.start, event.end, stats=opened.stats)
            opened = None
        elif event.name == _START:
            opened = event
        elif event.name != _STOP:
            yield event
