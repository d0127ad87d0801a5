"""The trace: the actions that a document's code would perform, in order."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from tuilab.documents.interpreter.values import NONE, Graph, Tensor, Value

Kind = Literal[
    "op",  # a TensorFlow op that computes
    "graph",  # a call of a tf.function, after the ops of its body; a run of a session
    "create",  # a new tensor: tf.random.normal, tf.zeros
    "copy",  # a tensor made from a host array, or moved between devices
    "host-create",  # a new NumPy array
    "host-op",  # an array operation of NumPy or SciPy
    "train",  # fit, evaluate, predict
    "iterate",  # an iteration over a dataset starts
    "sync",  # the host waits for a value
    "may-wait",  # the host reads an unknown value, and waits if the value is a tensor
    "clock",  # the code reads a clock
    "bind",  # a name is bound to an existing tensor
    "effect",  # Python code has an effect that a graph would not repeat
    "sleep",
    "print",
    "python",  # arithmetic in plain Python
    "opaque",  # a call to something unknown
    "import",
    "config",  # a setting of TensorFlow
    "query",  # the code queries devices, or a tensor's device
    "build",  # the code creates, compiles or summarizes a model or layer
    "node",  # a TensorFlow 1 op is added to the graph for a session
    "dataset",  # the code builds a pipeline
    "codec",  # compression or decompression, on the host
]

# Name of the unknown caller of a function that the document does not call.
CALLER = "its caller"
_IDLE = ("sync", "may-wait", "clock", "bind", "print", "config", "query", "node")
# Kinds of event whose time a benchmark may measure.
WORK = tuple(kind for kind in get_args(Kind) if kind not in _IDLE)
# Kinds of event that a GPU executes while the host continues.
ASYNCHRONOUS: tuple[Kind, ...] = ("op", "graph", "create", "copy")


@dataclass(eq=False)
class Loop:
    """One pass of the interpreter over a loop's body.

    count: number of iterations, None if unknown. unrolled: the interpreter makes a separate pass for each
    iteration, so `count` is 1. empty: the body does nothing (pass, break, a comment). over: the value that
    the loop iterates over. ends: number of iterations until a `break`, None if unknown.
    """

    line: int
    last_line: int
    count: int | None
    first: int = 0
    last: int = 0
    unrolled: bool = False
    empty: bool = False
    over: Value | None = None
    ends: int | None = None

    @property
    def repeats(self) -> bool:
        """True if this pass may stand for several iterations."""
        return not self.unrolled and self.count != 1


@dataclass(eq=False)
class DeviceScope:
    """A `with tf.device(…)`: the requested device families, and the first and last event of its body."""

    line: int
    families: tuple[str, ...]
    first: int = 0
    last: int = 0


@dataclass(eq=False)
class Traced:
    """A function whose Python code runs only during tracing, the call that traces it, and its symbolic
    arguments.
    """

    by: str
    line: int
    graph: Graph | None = None
    given: tuple[Value, ...] = ()


@dataclass(eq=False)
class Handler:
    """An `except` clause: the names that it catches ("" for all), and its line."""

    names: tuple[str, ...]
    line: int


@dataclass(eq=False)
class Try:
    """A `try` statement: its handlers, and the first and last event of its body."""

    line: int
    handlers: tuple[Handler, ...]
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class Context:
    """The code around an event, and the conditions under which it runs.

    block: number of the running example. function: the innermost function of the document that contains the
    event. uncalled: no code in the document calls this function. file: the neighboring module, "" for the
    document. branches: for each unknown condition, the branch that was taken.
    """

    block: int = 0
    devices: tuple[DeviceScope, ...] = ()
    loops: tuple[Loop, ...] = ()
    traced: Traced | None = None
    tries: tuple[Try, ...] = ()
    function: str = ""
    uncalled: bool = False
    file: str = ""
    branches: tuple[tuple[int, int], ...] = ()

    def may_follow(self, other: "Context") -> bool:
        """Return True if both contexts can occur in one run of the program, because their branches do not
        exclude each other.
        """
        taken = dict(self.branches)
        return all(taken.get(choice, way) == way for choice, way in other.branches)

    @property
    def mapped(self) -> bool:
        """True inside a function that a pipeline maps."""
        return self.traced is not None and self.traced.by.startswith("Dataset.")

    @property
    def graph(self) -> Graph | None:
        return self.traced.graph if self.traced is not None else None

    @property
    def families(self) -> tuple[str, ...]:
        return self.devices[-1].families if self.devices else ()

    @property
    def repeats(self) -> int | None:
        return self.repeats_inside(0)

    def repeats_inside(self, outer: int) -> int | None:
        """Return the number of times that the loops around the event run it, without the `outer` outermost
        loops; None if unknown.
        """
        counts = [loop.count for loop in self.loops[outer:]]
        return None if None in counts else math.prod(count or 0 for count in counts)


@dataclass(eq=False, slots=True)
class TraceEvent:
    """An action of the code.

    arguments: keyed by the parameter names of the API. name: the canonical name (`tf.matmul`, also for `@`).
    result: the value that the action returns. runs: the `tf.function` that a graph call runs, or the value
    that a session fetches.
    """

    index: int
    kind: Kind
    name: str
    line: int
    place: Context
    arguments: dict[str, Value] = field(default_factory=dict)
    result: Value | None = None
    runs: Value | None = None

    @property
    def validates(self) -> bool:
        """True if a call of `fit` also tests the model."""
        given = (self.arguments.get(word, NONE) for word in ("validation_data", "validation_split"))
        return any(value != NONE for value in given)


@dataclass(eq=False)
class Region:
    """A timed region: the events between two clock readings, `first` and `last`.

    clock: the clock's name. line, last_line: lines of the two readings. via: how the region is timed.
    divided: the code divides the time, so a comparison may use different numbers of iterations. scaled: the
    code multiplies the time, for example by a thousand, or divides it by a number below one. by: the divisors
    of the time, as written. rate: the code divides something by the time, as in examples per second. repeats:
    the timer takes several samples by itself. discarded: the code ignores the time, as in a warm-up. paces:
    the code uses the time to decide how long to wait. gathered: the code adds the time to a list or to a sum
    of times. picked: a condition decides whether the code gathers the time. name: the name to which the time
    is bound. told: the lines that print the time, with the printed words. beside: regions whose times the
    code relates to this time, in a ratio, a difference, a printed line or a table. file: the neighboring
    module that reads the clock, "" for the document itself. For a neighboring module, `line` and `last_line`
    are the lines of the document that call it.
    """

    first: int
    last: int
    clock: str
    line: int
    last_line: int
    block: int
    via: Literal["clock", "timeit", "magic"] = "clock"
    divided: bool = False
    scaled: bool = False
    by: list[str] = field(default_factory=list)
    rate: bool = False
    repeats: bool = False
    discarded: bool = False
    paces: bool = False
    gathered: bool = False
    picked: bool = False
    name: str = ""
    told: list[tuple[int, str]] = field(default_factory=list)
    beside: set[int] = field(default_factory=set)
    file: str = ""
    parts: dict[str, int] = field(default_factory=dict)
    """Timedelta attributes that return only part of the time, such as `seconds`, with the lines that use
    them.
    """


@dataclass(frozen=True)
class Use:
    """A use of a library's dotted name.

    name: the form for lookup: `tf.…`, `keras.…` (which differs from `tf.keras`), `tensorflow.python.…`.
    guarded: the use follows a `hasattr` check, or is in a `try` that catches the error for a missing name.
    """

    name: str
    line: int
    block: int
    guarded: bool
    spelled: str = ""


MisfitKind = Literal["name", "argument", "type", "key", "state"]


@dataclass(frozen=True)
class Misfit:
    """A mistake in a call: arguments that do not match the signature, an argument or key of the wrong kind,
    or a forbidden value.
    """

    kind: MisfitKind
    line: int
    detail: str
    remedy: str = ""
    at: str = ""
    replace: tuple[str, str] = ("", "")


@dataclass
class Trace:
    events: list[TraceEvent] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    scopes: list[DeviceScope] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    tries: list[Try] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    dated: set[int] = field(default_factory=set)
    """Clock readings that the code prints, formats or adds to something."""
    filled: set[int] = field(default_factory=set)
    """Events that make arrays whose items are assigned later."""
    programs: list[int] = field(default_factory=list)
    """Indices of the first events of the examples that are separate programs, in order."""

    def maker(self, value: Value | None) -> TraceEvent | None:
        """Return the event that created a tensor; None if it is unknown."""
        return self.events[value.made] if isinstance(value, Tensor) and value.made >= 0 else None

    def inside(self, region: Region) -> list[TraceEvent]:
        """Return the events between the region's clock readings that may occur in the same run as these
        readings.
        """
        events, begins = self.events[region.first + 1 : region.last], self.events[region.first].place
        if not begins.branches:
            return events
        return [event for event in events if event.place.may_follow(begins)]
