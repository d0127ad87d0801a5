"""What a document's code would do, in order: the input of rules and recognisers."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from tuilab.documents.interpreter.values import Graph, Value

Kind = Literal[
    "op",  # a TensorFlow op that computes
    "graph",  # a call of a tf.function, after the ops of its body
    "create",  # a tensor made from nothing: tf.random.normal, tf.zeros
    "copy",  # a tensor made from a host array, or moved between devices
    "host-create",  # the same with NumPy
    "host-op",  # an array operation of NumPy or SciPy
    "train",  # fit, evaluate, predict
    "iterate",  # iteration over a dataset starts
    "sync",  # the host waits for a value
    "may-wait",  # the host reads an unknown value; if it is a tensor, it waits
    "clock",  # a time is read
    "bind",  # a name is bound to an existing tensor
    "effect",  # Python does something that a graph would not repeat
    "sleep",
    "print",
    "python",  # arithmetic of Python
    "opaque",  # a call of something unknown
    "import",
    "config",  # a setting of TensorFlow
    "query",  # devices, or a tensor's device, are queried
    "build",  # a model or layer is created, compiled or summarised
    "node",  # a TensorFlow 1 op is added to the graph for a session
    "dataset",  # a pipeline is built
    "codec",  # compression or decompression, on the host
]

# The record for an unknown caller of a function that the document does not call.
CALLER = "its caller"
_IDLE = ("sync", "may-wait", "clock", "bind", "print", "config", "query", "node")
# Events that take time a benchmark could mean to measure.
WORK = tuple(kind for kind in get_args(Kind) if kind not in _IDLE)
# Events that a GPU executes while the host continues.
ASYNCHRONOUS: tuple[Kind, ...] = ("op", "graph", "create", "copy")


@dataclass(eq=False)
class Loop:
    """One reading of a loop's body. count: number of iterations, None if unknown.

    unrolled: one of several readings, one iteration each; `count` is then 1.
    empty: the body does nothing (pass, break, a comment). over: what it iterates over. ends: iterations until
    a `break`, None if not visible.
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


@dataclass(eq=False)
class DeviceScope:
    """A `with tf.device(…)`: requested families, events first … last."""

    line: int
    families: tuple[str, ...]
    first: int = 0
    last: int = 0


@dataclass(eq=False)
class Traced:
    """A function whose Python runs only during tracing, what traces it, and its arguments then."""

    by: str
    line: int
    graph: Graph | None = None
    given: tuple[Value, ...] = ()


@dataclass(eq=False)
class Handler:
    """An `except`: the caught names ("" for all), and its line."""

    names: tuple[str, ...]
    line: int


@dataclass(eq=False)
class Try:
    """A `try`: its handlers, and the events first … last of its body."""

    line: int
    handlers: tuple[Handler, ...]
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class Context:
    """The context of an event. block: number of the example being read.

    function: the innermost of the document's functions. uncalled: read as if called by an unknown caller.
    file: the neighbouring module, "" for the document.
    branches: the branch taken at each unknown condition.
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
        """Return True if both may run: they are not in exclusive branches."""
        taken = dict(self.branches)
        return all(taken.get(choice, way) == way for choice, way in other.branches)

    @property
    def families(self) -> tuple[str, ...]:
        """The device families of the innermost scope; () outside of any."""
        return self.devices[-1].families if self.devices else ()

    @property
    def repeats(self) -> int | None:
        """How often the enclosing loops run it; None if not known."""
        return self.repeats_inside(0)

    def repeats_inside(self, outer: int) -> int | None:
        """Return how often the loops inside the `outer` outermost ones run it; None if not known."""
        counts = [loop.count for loop in self.loops[outer:]]
        return None if None in counts else math.prod(count or 0 for count in counts)


@dataclass(eq=False, slots=True)
class TraceEvent:
    """Something that the code would do. arguments: by the API's parameter names.

    name: canonical (`tf.matmul`, also for `@`). result: its value. runs: for a graph's call, the
    `tf.function`, or what a session fetches.
    """

    index: int
    kind: Kind
    name: str
    line: int
    place: Context
    arguments: dict[str, Value] = field(default_factory=dict)
    result: Value | None = None
    runs: Value | None = None


@dataclass(eq=False)
class Region:
    """What lies between two readings of a clock: the events after `first` and before `last`.

    clock: the clock's name. line, last_line: of the readings. via: how it was timed. divided: the elapsed
    time is divided, so different counts of iterations may be compared. scaled: it is multiplied, by a
    thousand for instance, or divided by less than one. by: its divisor, as written; rate: it is itself a
    divisor. repeats: the timer takes several samples by itself. discarded: the time is not used, as in a
    warm-up. paces: it sets how long to wait. gathered: it is collected or added to others; picked: only on a
    condition. name: what it is bound to. told: the lines that print it, with their words. alongside: the
    regions whose times appear with it in a ratio, a difference, a printed line or a table. file: the module
    next to the document that reads the clock, at the document's line that calls it; "" for the document
    itself.
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
    """Timedelta attributes that are only a part of it, and the lines that use them."""


@dataclass(frozen=True)
class Use:
    """A library's dotted name, its place, and its spelling.

    name: for lookup: `tf.…`, `keras.…` (which differs from `tf.keras`), `tensorflow.python.…`.
    guarded: in a `try` that expects it to be missing, or after `hasattr`.
    """

    name: str
    line: int
    block: int
    guarded: bool
    spelled: str = ""


MisfitKind = Literal["name", "argument", "type", "key", "state"]


@dataclass(frozen=True)
class Misfit:
    """A call with arguments that do not match the signature, an argument or key of the wrong kind, or
    something that is not allowed there.
    """

    kind: MisfitKind
    line: int
    detail: str
    remedy: str = ""
    at: str = ""
    replace: tuple[str, str] = ("", "")


@dataclass
class Trace:
    """Everything that reading a document produced."""

    events: list[TraceEvent] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    scopes: list[DeviceScope] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    tries: list[Try] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    dated: set[int] = field(default_factory=set)
    """Clock readings used for more than a difference: printed, formatted, added to."""
    filled: set[int] = field(default_factory=set)
    """Events that make arrays whose items are assigned later."""
    programs: list[int] = field(default_factory=list)
    """First events of examples that are their own programs, in order."""

    def inside(self, region: Region) -> list[TraceEvent]:
        """Return the events of a timed region without its clock readings, limited to the branch in which
        it starts.
        """
        events, begins = self.events[region.first + 1 : region.last], self.events[region.first].place
        if not begins.branches:
            return events
        return [event for event in events if event.place.may_follow(begins)]
