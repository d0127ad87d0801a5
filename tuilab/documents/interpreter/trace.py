"""What a document's code would do, in order: the record that rules and recognisers look at."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from tuilab.documents.interpreter.values import Graph, Value

Kind = Literal[
    "op",  # a TensorFlow op that computes
    "graph",  # a call of a tf.function, after the ops of its body
    "create",  # a tensor made of nothing: tf.random.normal, tf.zeros
    "copy",  # a tensor made of a host array, or moved between devices
    "host-create",  # the same with NumPy
    "host-op",  # an array operation of NumPy or SciPy
    "train",  # fit, evaluate, predict
    "iterate",  # a dataset's iteration begins
    "sync",  # the host waits for a value
    "may-wait",  # the host reads what is not known; where it is a tensor, it waits
    "clock",  # a time is read
    "bind",  # a name is bound to a tensor that was already there
    "effect",  # Python does something that a graph would not repeat
    "sleep",
    "print",
    "python",  # arithmetic of Python
    "opaque",  # a call of something unresolved
    "import",
    "config",  # a setting of TensorFlow
    "query",  # devices are asked for, or a tensor's device
    "build",  # a model or a layer is made, compiled, summarised
    "node",  # an op of TensorFlow 1 is added to the graph that a session runs
    "dataset",  # a pipeline is put together
    "codec",  # compression or decompression, on the host
]

# The record of whoever may call a function that the document does not.
CALLER = "whoever calls it"
_IDLE = ("sync", "may-wait", "clock", "bind", "print", "config", "query", "node")
# What takes time that a benchmark could mean to measure.
WORK = tuple(kind for kind in get_args(Kind) if kind not in _IDLE)
# What a GPU does while the host goes on.
ASYNCHRONOUS: tuple[Kind, ...] = ("op", "graph", "create", "copy")


@dataclass(eq=False)
class Loop:
    """One reading of a loop's body. count: how often it runs; None unknown.

    unrolled: one of several readings, each of one iteration; `count` is then 1.
    empty: the body does nothing (pass, break, a comment). over: what is iterated. ends: after how many
    iterations a `break` ends it, None where that is not seen.
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
    """A `with tf.device(…)`: families as asked for, events first … last."""

    line: int
    families: tuple[str, ...]
    first: int = 0
    last: int = 0


@dataclass(eq=False)
class Traced:
    """A function whose Python runs only while it is traced, what traces it, and what it is given then."""

    by: str
    line: int
    graph: Graph | None = None
    given: tuple[Value, ...] = ()


@dataclass(eq=False)
class Handler:
    """An `except`: the names it catches ("" for all), and its line."""

    names: tuple[str, ...]
    line: int


@dataclass(eq=False)
class Try:
    """A `try`: its handlers, events first … last of its body."""

    line: int
    handlers: tuple[Handler, ...]
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class Context:
    """Where in the program something happens. block: the number of the example that is being read.

    function: the document's own, innermost. uncalled: read as it might be called by somebody whom the
    document does not show. file: the module beside the document in which it stands, "" for the document.
    branches: of each choice that is not known, which of its ways.
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
        """Return whether both may run: they are not of two alternatives of which one is taken."""
        taken = dict(self.branches)
        return all(taken.get(choice, way) == way for choice, way in other.branches)

    @property
    def families(self) -> tuple[str, ...]:
        """The device families that the innermost scope asks for; () outside of any."""
        return self.devices[-1].families if self.devices else ()

    @property
    def repeats(self) -> int | None:
        """How often the loops around run it; None where that is not known."""
        return self.repeats_inside(0)

    def repeats_inside(self, outer: int) -> int | None:
        """Return how often the loops but for the `outer` outermost run it; None where not known."""
        counts = [loop.count for loop in self.loops[outer:]]
        return None if None in counts else math.prod(count or 0 for count in counts)


@dataclass(eq=False, slots=True)
class TraceEvent:
    """Something the code would do. arguments: by the API's own parameter names.

    name: canonical (`tf.matmul`, also for `@`). result: the value that it gives. runs: of a graph's call,
    the `tf.function`, or what a session fetches.
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
    time is divided by something, so different counts of iterations may be compared. scaled: it is multiplied
    by something, a thousand say, or divided by less than one. by: what it is divided by, as it is written;
    rate: something is divided by it.
    repeats: the timer takes several samples by itself. discarded: nobody looks at the time, as in a warm-up.
    paces: it says how long to wait. gathered: it is one of
    several that are collected or added up; picked: on a condition only. name: what it is bound to. told: the
    lines and words by which it is printed. beside: the regions whose times stand with it in a ratio, a
    difference, a line of print or a table. file: the module beside the document that reads the clock, at the
    document's line that calls it; "" for the document itself.
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
    """Attributes of a timedelta that are a part of it only, and the lines on which they are taken."""


@dataclass(frozen=True)
class Use:
    """A dotted name of a library, where, and how the source spells it.

    name: as looked up: `tf.…`, `keras.…` (which is not `tf.keras`), `tensorflow.python.…`.
    guarded: inside a `try` that expects it to be missing, or after `hasattr`.
    """

    name: str
    line: int
    block: int
    guarded: bool
    spelled: str = ""


MisfitKind = Literal["name", "argument", "type", "key", "state"]


@dataclass(frozen=True)
class Misfit:
    """A call whose arguments do not fit the signature, an argument or key of the wrong kind, or what is
    refused where it stands.
    """

    kind: MisfitKind
    line: int
    detail: str
    remedy: str = ""
    at: str = ""
    replace: tuple[str, str] = ("", "")


@dataclass
class Trace:
    """Everything that reading a document gave."""

    events: list[TraceEvent] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    scopes: list[DeviceScope] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    tries: list[Try] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    dated: set[int] = field(default_factory=set)
    """Readings of a clock that are used for more than a difference: printed, formatted, added to."""
    filled: set[int] = field(default_factory=set)
    """The events that make the arrays to whose items something is assigned."""
    programs: list[int] = field(default_factory=list)
    """The first events of examples that are programs by themselves, in order."""

    def inside(self, region: Region) -> list[TraceEvent]:
        """Return the events of a timed region, its clock readings left out: those of another way than the one
        in which it begins are none of it.
        """
        events, begins = self.events[region.first + 1 : region.last], self.events[region.first].place
        if not begins.branches:
            return events
        return [event for event in events if event.place.may_follow(begins)]
