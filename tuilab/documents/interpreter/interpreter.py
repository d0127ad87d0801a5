"""The core of the symbolic interpreter, which holds the trace, the current position and the work limits."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tuilab.documents.interpreter.names import COMMAND_LINE
from tuilab.documents.interpreter.scope import Journal, Scope
from tuilab.documents.interpreter.trace import (
    Context,
    Kind,
    Loop,
    Misfit,
    MisfitKind,
    Region,
    Trace,
    Traced,
    TraceEvent,
    Use,
)
from tuilab.documents.interpreter.values import (
    Api,
    Clock,
    Elapsed,
    Function,
    Known,
    Listing,
    Many,
    Mapping,
    Model,
    Module,
    Number,
    OpaqueObject,
    Tensor,
    Told,
    Unknown,
    Value,
)
from tuilab.model.api import ApiTable

# Maximum nesting of expressions, statements and calls. Each level uses a few Python stack frames.
DEEPEST = 130
# Limit on interpreter steps: a base, plus an allowance per AST node of the document, up to MOST_STEPS.
STEPS, STEPS_PER_NODE, MOST_STEPS = 20_000, 6, 120_000
MOST_CALLS_DEEP = 12
MOST_NOTES = 200
# Maximum number of events in all timed regions; an event in several regions counts once for each.
MOST_COVERED = 100_000


class Flow(Enum):
    """How control continues after a statement."""

    NEXT = 0
    BREAK = 1
    CONTINUE = 2
    RETURN = 3
    RAISE = 4


class Exhausted(Exception):
    """Raised when the interpreter has used its maximum number of steps."""


@dataclass(eq=False)
class Frame:
    """An active call of one of the document's functions. hook: called with each value that the function
    yields.
    """

    function: Function | None = None
    returned: list[Value] = field(default_factory=list)
    hook: Callable[[Value], None] | None = None


Evaluate = Callable[["Interpreter", Any, Scope], Value]
Execute = Callable[["Interpreter", Any, Scope], Flow]
Keywords = dict[str, Value]
# Maximum number of timings that are compared with each other.
_MOST_BESIDE = 16
Call = Callable[["Interpreter", Any, list[Value], Keywords, int], Value]
A = TypeVar("A")
V = TypeVar("V", bound=Value)
E = TypeVar("E", bound=Callable[..., Any])
# Handlers for each kind of syntax node and of called value. The modules of this package register them.
EXPRESSIONS: dict[type[ast.expr], Evaluate] = {}
STATEMENTS: dict[type[ast.stmt], Execute] = {}
CALLS: dict[type[Value], Call] = {}


def expression(*kinds: type[ast.expr]) -> Callable[[E], E]:
    """Decorator: register a function that evaluates these kinds of expression."""
    return partial(_register, EXPRESSIONS, kinds)


def statement(*kinds: type[ast.stmt]) -> Callable[[E], E]:
    """Decorator: register a function that interprets these kinds of statement."""
    return partial(_register, STATEMENTS, kinds)


def calls_of(*kinds: type[Value]) -> Callable[[E], E]:
    """Decorator: register a function that evaluates calls of these kinds of value."""
    return partial(_register, CALLS, kinds)


def _register(table: dict[Any, Any], kinds: Sequence[type], function: E) -> E:
    table.update(dict.fromkeys(kinds, function))
    return function


def numbered(args: list[Value]) -> dict[str, Value]:
    return {str(number): value for number, value in enumerate(args)}


def times_in(value: Value, depth: int = 0) -> list[int]:
    """Return the indices of the regions whose measured times a value contains."""
    if isinstance(value, Elapsed):
        return [value.region]
    if isinstance(value, Told):
        return list(value.times)
    if depth < 3 and isinstance(value, Unknown) and value.options:
        return [time for option in value.options for time in times_in(option, depth + 1)]
    if depth < 3 and isinstance(value, Listing | Mapping):
        items = value.items if isinstance(value, Listing) else value.items.values()
        return [time for item in list(items)[:16] for time in times_in(item, depth + 1)]
    return []


def _is_plain(value: Unknown) -> bool:
    """Return True if an unknown value can only be a number, a string, one of several constants, or a
    command-line option.
    """
    if isinstance(value, Number | Told) or value.reason == COMMAND_LINE:
        return True
    return bool(value.options) and all(isinstance(option, Known | Elapsed) for option in value.options)


def _keys_of(values: Sequence[Value], depth: int = 0) -> dict[int, str]:
    """Return the dictionary key under which each measured time is stored, by region. The key serves as the
    time's name.
    """
    found: dict[int, str] = {}
    for value in values:
        for key, item in list(value.items.items())[:16] if isinstance(value, Mapping) else []:
            if isinstance(item, Mapping) and depth < 2:
                found |= _keys_of([item], depth + 1)
            elif isinstance(key, str):
                found |= dict.fromkeys(times_in(item), key.replace("_", " ")[:80])
    return found


_WORD = re.compile(r"[^\W\d_]{2}")
# Maximum number of events and of lines between a printed title and the unlabeled time below it.
_NEAR_EVENTS, _NEAR_LINES = 60, 12


def _words_of(value: Value) -> str:
    if isinstance(value, Told):
        return value.words
    return str(value.value)[:200] if isinstance(value, Known) else "{}"


class Interpreter:
    """Interprets statements in order and writes the trace. Does not run any code."""

    def __init__(self, api: ApiTable, steps: int = STEPS, folder: Path | None = None) -> None:
        self.api = api
        # The document's folder, and the folder of the file being read.
        self.folder = folder
        self.beside = folder or Path()
        self.modules: dict[Path, Module] = {}
        self.kept: list[Any] = []
        # The line of the document that caused another file to be read; 0 while the document itself is being
        # read.
        self.away = 0
        # Whether the code may contain a generator.
        self.yields = True
        self.trace = Trace()
        self.place = Context()
        self.journal = Journal()
        self.module = Scope()
        self.frames: list[Frame] = [Frame()]
        self.functions: list[Function] = []
        self.steps = steps
        self.depth = 0
        self.guards = 0
        # Names that are bound to a library's version, or to a value derived from one.
        self.versions: set[str] = set()
        self.unrolled = 1
        self.again = 0
        # In TensorFlow 1, calling an op adds it to a graph, which a session runs.
        self.deferred = False
        # The session whose `with` block is being read.
        self.session: Value | None = None
        # Whether the code is an excerpt in an article, which omits obvious parts.
        self.excerpt = False
        # Models whose creation an article omits, by name and program.
        self.left_out: dict[tuple[str, int], Model] = {}
        # The last statement of a notebook cell, whose value is displayed.
        self.shown: ast.stmt | None = None
        # For each function, guesses about its parameters from their names and uses.
        self.assumed_in: dict[int, dict[str, str]] = {}
        # TFLite interpreters from outside the document, keyed by the known facts about each.
        self.lites: dict[tuple[str, int], OpaqueObject] = {}
        # Imported libraries, by top-level name.
        self.imported: set[str] = set()
        self._noted: set[tuple[int, str]] = set()
        self._covered = 0
        self._limits = 0
        # Number of enclosing branches that may be skipped.
        self.branches = 0
        self._choices = 0
        self.lambdas: dict[ast.Lambda, Function] = {}
        self._answers: dict[tuple[int, Callable[[Any], Any]], Any] = {}
        self._regions: dict[tuple[int, int], int] = {}
        self._withs: dict[int, tuple[int, int]] = {}
        # Clock readings that were converted to another unit.
        self.rescaled: set[int] = set()
        # Names bound to clock readings.
        self.called: dict[int, str] = {}
        # For each clock reading, the number of enclosing branches that may be skipped.
        self._branches_at: dict[int, int] = {}

    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        """Return the value of the expression. Raises Exhausted."""
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            return Unknown(f"an expression that is not evaluated ({type(node).__name__})", node.lineno)
        if self.depth >= DEEPEST:
            self.note(node.lineno, "nested too deeply to evaluate")
            return Unknown("it is nested too deeply", node.lineno)
        self.depth += 1
        try:
            return handler(self, node, scope)
        finally:
            self.depth -= 1

    def condition(self, node: ast.expr, scope: Scope) -> Value:
        """Evaluate a condition. Comparing a measured time with a limit does not count as a use of the
        time.
        """
        self._limits += 1
        try:
            return self.evaluate(node, scope)
        finally:
            self._limits -= 1

    def execute(self, statements: list[ast.stmt], scope: Scope) -> Flow:
        """Interpret statements until one of them leaves the block, such as `return`. Raises Exhausted."""
        if self.depth >= DEEPEST and statements:
            self.note(statements[0].lineno, "nested too deeply to evaluate")
            return Flow.NEXT
        self.depth += 1
        try:
            for statement in statements:
                self.steps -= 1
                if self.steps < 0:
                    raise Exhausted
                handler = STATEMENTS.get(type(statement))
                flow = handler(self, statement, scope) if handler else Flow.NEXT
                if flow is not Flow.NEXT:
                    return flow
        finally:
            self.depth -= 1
        return Flow.NEXT

    def call(self, callee: Value, args: list[Value], keywords: Keywords, line: int) -> Value:
        handler = CALLS.get(type(callee))
        if handler is not None:
            return handler(self, callee, args, keywords, line)
        return self.opaque(callee, args, line)

    def opaque(self, callee: Value, args: list[Value], line: int) -> Value:
        """Record a call of an unknown function, which may run any work and wait for the result."""
        self.dates(*args)
        self.spans(*args)
        self.record_printed(args, line)
        reason = callee.reason if isinstance(callee, Unknown) else "a call that is not evaluated"
        self.event("opaque", reason, line, numbered(args))
        return Unknown(reason, callee.line if isinstance(callee, Unknown) and callee.line else line)

    def event(
        self,
        kind: Kind,
        name: str,
        line: int,
        arguments: dict[str, Value] | None = None,
        result: Value | None = None,
    ) -> TraceEvent:
        """Add an event to the trace. The event becomes the origin of the tensors in its result."""
        if self.deferred and kind in ("op", "create", "copy"):
            kind = "node"
        event = TraceEvent(
            len(self.trace.events), kind, name, self.away or line, self.place, arguments or {}, result
        )
        if isinstance(result, Tensor) and result.made < 0:
            result.made = event.index
        self.trace.events.append(event)
        return event

    def make(self, kind: Kind, name: str, line: int, arguments: dict[str, Value], result: V) -> V:
        """Record an event that makes a value, and return this value."""
        self.event(kind, name, line, arguments, result)
        return result

    def once(self, node: ast.AST, ask: Callable[[Any], A]) -> A:
        """Return the result of `ask` for a syntax node, from a cache if possible."""
        key = (id(node), ask)
        if key not in self._answers:
            self._answers[key] = ask(node)
        answer: A = self._answers[key]
        return answer

    def note(self, line: int, reason: str) -> None:
        """Record that the part of the document on this line could not be resolved, and the reason. Ignores
        repeated records.
        """
        if self.away:
            return
        if (line, reason) not in self._noted and len(self._noted) < MOST_NOTES:
            self._noted.add((line, reason))
            self.trace.notes.append((line, reason))

    def use(self, api: Api, line: int, spelled: str = "") -> None:
        """Record that the document's own code uses a dotted name of a library."""
        if self.away:
            return
        name = api.real or api.name
        written = spelled or api.spelled or name
        self.trace.uses.append(Use(name, line, self.place.block, self.guards > 0, written))

    def misfit(self, kind: MisfitKind, line: int, detail: str, remedy: str, **more: Any) -> None:
        """Record an argument or key that the callee does not accept, unless the code catches the resulting
        error, because then the mistake is intended.

        more: the record's fields `at` and `replace`.
        """
        raised = "KeyError" if kind == "key" else "TypeError"
        meant = any(raised in handler.names for each in self.place.tries for handler in each.handlers)
        if not self.away and not meant and not (kind == "state" and self.place.tries):
            self.trace.misfits.append(Misfit(kind, line, detail, remedy, **more))

    def dates(self, *values: Value) -> None:
        self.trace.dated.update(value.event for value in values if isinstance(value, Clock))

    def spans(self, *values: Value) -> None:
        """Record a measured time if exactly two of an unknown call's arguments are clock readings, which the
        call may subtract.
        """
        readings = [value.event for value in values if isinstance(value, Clock)]
        if len(readings) == 2 and readings[0] != readings[1]:
            time = self.region(*readings)
            if isinstance(time, Elapsed):
                region = self.trace.regions[time.region]
                region.name = region.name or self.called.get(region.first, "")

    def sync(self, how: str, line: int, value: Value) -> None:
        self.event("sync", how, line, {"value": value})

    def reads(self, value: Value, how: str, line: int, depth: int = 0) -> None:
        """Record that the host reads a value. The host waits for a tensor, and may wait for an unknown
        value.
        """
        if isinstance(value, Tensor):
            if value.library == "tf" and not value.inside and self.in_graph() is None:
                self.sync(how, line, value)
        elif isinstance(value, Unknown) and not _is_plain(value):
            self.event("may-wait", how, line)
        elif isinstance(value, Listing | Mapping) and depth < 3:
            items = value.items[:16] if isinstance(value, Listing) else list(value.items.values())[:16]
            for item in items:
                self.reads(item, how, line, depth + 1)
        elif isinstance(value, Many) and depth < 3:
            self.reads(value.element, how, line, depth + 1)

    def clock(self, name: str, line: int) -> Clock:
        event = self.event("clock", name, line)
        if self.branches:
            self._branches_at[event.index] = self.branches
        return Clock(event.index)

    def gather(self, value: Value) -> None:
        """Record that the code adds a measured time to a list or to a sum of times."""
        for number in times_in(value):
            region = self.trace.regions[number]
            region.gathered = True
            region.picked = region.picked or self.branches > self._branches_at.get(region.first, 0)

    def compare(self, regions: Sequence[int]) -> None:
        for number in regions[:_MOST_BESIDE]:
            self.trace.regions[number].beside |= set(regions[:_MOST_BESIDE]) - {number}

    def record_printed(self, values: Sequence[Value], line: int) -> None:
        times = list(dict.fromkeys(time for value in values for time in times_in(value)))
        words = " ".join(_words_of(value) for value in values)[:400] if times else ""
        called = _keys_of(values)
        if times and not called and not _WORD.search(words):
            words = f"{self._title(line)} {words}"
        for number in times:
            text = f"{called[number]} {words}" if number in called else words
            self.trace.regions[number].told.append((self.away or line, text))
        self.compare(times)

    def _title(self, line: int) -> str:
        """Return the title that the code prints on a separate line shortly before an unlabeled measured time;
        "" if there is none.
        """
        for event in reversed(self.trace.events[-_NEAR_EVENTS:]):
            if event.kind == "print":
                text = event.arguments.get("text")
                near = event.line <= line <= event.line + _NEAR_LINES and event.place.file == self.place.file
                timed = any(told == event.line for region in self.trace.regions for told, _ in region.told)
                return str(text.value)[:200] if near and not timed and isinstance(text, Known) else ""
        return ""

    def timed_from(self, first: int, line: int, last_line: int) -> None:
        """Assign the lines of a `with` statement to the clock readings since event `first`, so that the
        timing covers the statement's body.
        """
        if self.away:
            line = last_line = self.away
        for event in self.trace.events[first:]:
            if event.kind == "clock":
                self._withs[event.index] = (line, last_line)

    def region(self, first: int, last: int, **more: Any) -> Value:
        """Return the measured time between the clock readings `first` and `last`. Calls with the same two
        readings share one region.
        """
        if first > last:
            first, last = last, first
        if (first, last) in self._regions:
            return Elapsed(self._regions[first, last])
        if self._limits:
            return Unknown("a time limit", self.trace.events[last].line)
        self._covered += last - first
        if self._covered > MOST_COVERED:
            self.note(self.trace.events[last].line, "too many timings overlap, so the rest are ignored")
            return Unknown("a time that is not evaluated", self.trace.events[last].line)
        start, end = self.trace.events[first], self.trace.events[last]
        line, last_line = self._withs.get(first, (start.line, end.line))
        region = Region(
            first, last, start.name, line, last_line, start.place.block, file=start.place.file, **more
        )
        region.scaled = bool(self.rescaled & {first, last})
        self._regions[first, last] = len(self.trace.regions)
        self.trace.regions.append(region)
        return Elapsed(len(self.trace.regions) - 1)

    @contextmanager
    def at(self, **changes: Any) -> Iterator[None]:
        """Inside the `with`, events belong to a changed context: a loop, a scope, or a traced function."""
        before = self.place
        self.place = replace(before, **changes)
        try:
            yield
        finally:
            self.place = before

    @contextmanager
    def reading(self, file: str, line: int) -> Iterator[None]:
        """Inside the `with`, code belongs to the neighboring module `file` ("" for the document itself). All
        of it counts as `line` of the document, which imports or calls the module.
        """
        before = self.away
        self.away = (before or line) if file else 0
        try:
            with self.at(file=file):
                yield
        finally:
            self.away = before

    def document_line(self, line: int) -> int:
        return 0 if self.away else line

    def loop(self, node: ast.stmt | ast.expr, count: int | None, over: Value | None) -> Loop:
        """Return a loop at the lines of a node, to be entered with `inside`."""
        line, last_line = node.lineno, node.end_lineno or node.lineno
        return Loop(self.document_line(line), self.document_line(last_line), count, over=over)

    @contextmanager
    def inside(self, loop: Loop) -> Iterator[None]:
        loop.first = len(self.trace.events)
        self.trace.loops.append(loop)
        with self.at(loops=(*self.place.loops, loop)):
            yield
        loop.last = len(self.trace.events) - 1

    def in_graph(self) -> Traced | None:
        return self.place.traced

    def branch(self, reads: list[Callable[[], Any]], line: int) -> list[Any]:
        """Interpret alternative branches, each from the same initial state, and merge the names that they
        bind. Return the result of each branch.
        """
        results, bound = [], []
        self._choices += 1
        choice, around = self._choices, self.place.branches
        for way, read in enumerate(reads):
            self.journal.begin()
            self.branches += 1
            try:
                with self.at(branches=(*around, (choice, way))):
                    results.append(read())
            finally:
                self.branches -= 1
                bound.append(self.journal.undo())
        self.journal.join(bound, line)
        return results
