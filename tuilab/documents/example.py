"""One example of a document with all data extracted from it: the input for rules and recognizers."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from tuilab.documents.facts import Facts
from tuilab.documents.interpreter.trace import DeviceScope, Loop, Misfit, Region, Trace, TraceEvent, Try, Use
from tuilab.documents.interpreter.unread import OTHERS
from tuilab.documents.interpreter.values import Listing, Mapping, OpaqueObject, Tensor, Value
from tuilab.documents.reading.document import Block, Passage
from tuilab.documents.timing import Timing
from tuilab.model.api import ApiTable

_HIDDEN = re.compile(r"^[^#\n]*CUDA_VISIBLE_DEVICES[\"']?\]?\s*=\s*[\"']?(?:-1)?[\"']?[ \t]*$", re.MULTILINE)
_ENVIRON = "os.environ.CUDA_VISIBLE_DEVICES"
_TRAINING = re.compile(r"\b(?:train\w*|model|step|forward)\b", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#(.*)$")
T = TypeVar("T")
# Maximum number of lines of code that `near` returns.
_NEAR = 160


@dataclass
class Example:
    """A block of code, with the part of the trace that belongs to it.

    events, regions: the events and timed regions that occur when this block runs, even inside functions of
    earlier blocks. written, clocked: the events and timed regions on lines of this block, even if another
    block runs these lines. uses, scopes, tries, loops, misfits: those on lines of this block. api:
    TensorFlow's names, None if unknown. installs: the line that installs TensorFlow, 0 for none. magics:
    (line, name) of each IPython magic. undefined: (line, name) of each unbound name. ignored: codes that
    comments suppress, `*` for all.
    """

    block: Block
    trace: Trace
    facts: Facts
    api: ApiTable | None = None
    magics: list[tuple[int, str]] = field(default_factory=list)
    undefined: list[tuple[int, str]] = field(default_factory=list)
    events: list[TraceEvent] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    written: list[TraceEvent] = field(default_factory=list)
    clocked: list[Region] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    scopes: list[DeviceScope] = field(default_factory=list)
    tries: list[Try] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    ignored: frozenset[str] = frozenset()
    document_title: str = ""
    installs: int = 0
    timings: tuple[Timing, ...] = ()
    """The timings whose results the example uses, as decided by `judge.decide`."""
    timing_of: dict[Region, Timing] = field(default_factory=dict)
    """The timings of all examples of the document, including timings whose result is never used."""

    @cached_property
    def source(self) -> list[str]:
        return self.block.code.split("\n")

    def holds(self, line: int) -> bool:
        return self.block.line <= line < self.block.line + len(self.source)

    def near(self, region: Region, before: int, after: int) -> str:
        """Return the code from `before` lines above a timing to `after` lines below it, without the middle of
        a long timing.
        """
        first, last = region.line - self.block.line, region.last_line - self.block.line
        lines = self.source[max(0, first - before) : max(0, last + after + 1)]
        return "\n".join(lines if len(lines) <= _NEAR else lines[: _NEAR // 2] + lines[-_NEAR // 2 :])[
            :20_000
        ]

    def printed(self, region: Region) -> str:
        last = region.last_line - self.block.line
        return "\n".join(self.source[max(0, last - 2) : last + 9])[:4_000]

    def text(self, line: int) -> str:
        return self.source[line - self.block.line] if self.holds(line) else ""

    def comment(self, line: int) -> str:
        """Return the comment on a line; "" if there is none. A `#` in a string may count as a comment."""
        match = _COMMENT.search(self.text(line)[:2_000])
        return match[1].strip() if match else ""

    def uncommented(self, line: int) -> str:
        return _COMMENT.sub("", self.text(line)[:2_000])

    @cached_property
    def hides_gpu(self) -> bool:
        """True if the code hides the GPU from TensorFlow, with a call or an environment variable."""
        if self.facts.hides_gpu:
            return True
        for found in _HIDDEN.finditer(self.block.code):
            line = self.block.line + self.block.code.count("\n", 0, found.end())
            # A setting in Python counts only if the interpreter reached its line: on a branch that is not
            # taken, it does not hide the GPU.
            if "environ[" not in found[0] or any(
                e.line == line and e.name == _ENVIRON for e in self.trace.events
            ):
                return True
        return False

    @cached_property
    def passages(self) -> list[Passage]:
        return [*self.block.before, *self.block.after]

    @cached_property
    def _timed(self) -> tuple[list[int], list[int]]:
        """The start events and the end events of the timed spans. Overlapping regions form a single span."""
        starts: list[int] = []
        ends: list[int] = []
        for region in sorted(self.regions, key=lambda r: r.first):
            if ends and region.first <= ends[-1]:
                ends[-1] = max(ends[-1], region.last)
            else:
                starts.append(region.first)
                ends.append(region.last)
        return starts, ends

    def timed(self, event: TraceEvent) -> bool:
        starts, ends = self._timed
        at = bisect_right(starts, event.index) - 1
        return at >= 0 and starts[at] < event.index < ends[at]

    def placeholder(self, line: int) -> bool:
        """Return True if the body of the loop on this line is only a comment that stands for the training
        code.
        """
        loop = next((found for found in self.loops if found.line == line), None)
        if loop is None or not loop.empty:
            return False
        comments = (
            self.comment(number) for number in range(loop.line, min(loop.last_line, loop.line + 50) + 1)
        )
        return any(_TRAINING.search(comment) for comment in comments)

    @cached_property
    def is_of_others(self) -> bool:
        found = re.findall(r"^[ \t]*(?:import|from)[ \t]+(\w+)", self.block.code, re.MULTILINE)
        return bool(set(found) & OTHERS)

    def own(self, *kinds: str) -> Iterator[TraceEvent]:
        return (e for e in self.events if e.kind in kinds)


def examples(
    blocks: Sequence[Block], trace: Trace, api: ApiTable | None, target: str = "auto"
) -> list[Example]:
    facts = Facts(trace, api, target, "\n".join(block.code for block in blocks))
    out = [Example(block, trace, facts, api) for block in blocks]
    by_number = {example.block.number: example for example in out}
    for event in trace.events:
        if event.place.block in by_number:
            by_number[event.place.block].events.append(event)
    for region in trace.regions:
        if region.block in by_number:
            by_number[region.block].regions.append(region)
    here = [event for event in trace.events if not event.place.file]
    _sort(out, here, lambda e: e.line, lambda x: x.written)
    _sort(out, trace.regions, lambda r: r.line, lambda x: x.clocked)
    _sort(out, trace.uses, lambda u: u.line, lambda x: x.uses)
    _sort(out, trace.scopes, lambda s: s.line, lambda x: x.scopes)
    _sort(out, trace.tries, lambda t: t.line, lambda x: x.tries)
    _sort(out, trace.loops, lambda loop: loop.line, lambda x: x.loops)
    _sort(out, trace.misfits, lambda m: m.line, lambda x: x.misfits)
    _sort(out, trace.notes, lambda note: note[0], lambda x: x.notes)
    return out


def _sort(
    out: list[Example], things: Sequence[T], line: Callable[[T], int], into: Callable[[Example], list[T]]
) -> None:
    starts = [example.block.line for example in out]
    for thing in things:
        at = bisect_right(starts, line(thing)) - 1
        if at >= 0 and out[at].holds(line(thing)):
            into(out[at]).append(thing)


def tensors_in(value: Value | None, depth: int = 0) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif depth > 6:
        return
    elif isinstance(value, Listing):
        for item in value.items[:32]:
            yield from tensors_in(item, depth + 1)
    elif isinstance(value, Mapping):
        for item in list(value.items.values())[:32]:
            yield from tensors_in(item, depth + 1)
    elif isinstance(value, OpaqueObject) and isinstance(value.data, Value):
        yield from tensors_in(value.data, depth + 1)


def inputs(event: TraceEvent) -> list[Tensor]:
    return [t for value in event.arguments.values() for t in tensors_in(value)]


def ancestry(trace: Trace, value: Value | None, limit: int = 24) -> Iterator[TraceEvent]:
    waiting = list(tensors_in(value))
    seen: set[int] = set()
    while waiting and len(seen) < limit:
        event = trace.maker(waiting.pop(0))
        if event is None or event.index in seen:
            continue
        seen.add(event.index)
        yield event
        waiting += inputs(event)
