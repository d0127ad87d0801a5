"""Messages from the observer of a watched program, and the page made from them.

Units: seconds, bytes, shares of 1. `tuilab.observer` sends the messages; it does not import this file. Times
use the program's own clock.
"""

from typing import Any, Literal

import msgspec

from tuilab.model.found import Found

Kind = Literal["keras", "tf.function", "eager", "batch", ""]
Code = Literal[
    "input-bound", "python-in-map", "serial-map", "no-prefetch", "retraced", "eager-step",
    "launch-bound", "host-op", "read-each-step", "numpy-fed", "float64", "mixed-precision", "xla-off",
    "xla-recompiles", "between-steps", "gpu-idle", "gpu-shared", "gpu-unused", "memory",
    "eager-functions", "numerics-check", "determinism", "gpu-hidden", "no-gpu", "small-batches", "rebuilt",
    "cudnn-off", "saving", "slowing",
]  # fmt: skip
AccountKind = Literal[
    "importing", "building", "tracing", "compiling", "graphs", "eager", "input", "reading", "saving",
    "python", "waiting", "unknown",
]  # fmt: skip
Key = int | tuple[str, int]
"""Identifies a called function: the number of a tf.function, or the line of a gradient tape."""
PREFIX = "w"
"""Prefix of a watched program's id. A run's id is hexadecimal, so the two kinds of id never clash."""


class _Told(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    pass


class Hello(_Told, frozen=True, kw_only=True, tag="hello"):
    """A process has imported TensorFlow."""

    pid: int
    parent: int
    argv: tuple[str, ...] = ()
    script: str = ""
    folder: str = ""
    executable: str = ""
    python: str = ""
    tensorflow: str = ""
    processors: int = 0
    """Number of usable logical processors; 0 if not known."""
    began: float = 0.0
    now: float = 0.0
    clock: float = 0.0
    """Seconds since the epoch at `now`; 0 if not known."""
    environment: dict[str, str | None] = {}
    """Environment variables that affect devices, as they were when Python started."""


class Function(_Told, frozen=True, kw_only=True, tag="function"):
    """A tf.function that was called. own: True if the user's code defines it, False if a library does."""

    number: int
    name: str
    file: str = ""
    line: int = 0
    own: bool = False
    xla: bool = False
    reduce_retracing: bool = False
    caller: tuple[str, int] | None = None


class Traces(_Told, frozen=True, kw_only=True, tag="traces"):
    """Calls that traced a function: their duration and arguments."""

    number: int
    traces: tuple[tuple[float, list[list[Any]] | None], ...]


class Steps(_Told, frozen=True, kw_only=True, tag="steps"):
    """The program's activity since the previous message. reads, fed and tapes are totals since the start."""

    now: float
    cpu: float = 0.0
    delayed: float = 0.0
    """Total seconds during which the thread that runs the steps was ready to run but had no processor."""
    calls: tuple[tuple[Key, float, float, bool], ...] = ()
    """Calls of tf.functions: function number, start, end, and whether the call traced. The end is 0 if only
    the start was seen.
    """
    waits: tuple[tuple[float, float], ...] = ()
    """Waits for a batch in Python: start and duration."""
    samples: tuple[tuple[str, int, str, str, int, int], ...] = ()
    """Samples of the thread that runs the steps: file, line, function, and the library function called from
    there; the index of the call (-1: between calls, -2: waiting for a batch, -3: before the first step); the
    number of samples.
    """
    reads: tuple[tuple[str, int, int, float, str], ...] = ()
    """Values that were copied to the host: file, line, count, seconds, function."""
    fed: tuple[tuple[int, int, int], ...] = ()
    """NumPy arrays passed to a tf.function: the function's number, the number of calls, and bytes."""
    tapes: tuple[tuple[str, int, int, bool], ...] = ()
    """Gradient tapes in Python: file, line, count, and whether a library created them."""
    copied: tuple[tuple[str, int, int, int, float], ...] = ()
    """NumPy arrays converted to tensors, in total: file, line, count, bytes, seconds."""
    compiled: tuple[tuple[int, int, float], ...] = ()
    """Calls that passed new shapes to a function that XLA compiles, in total: the function's number, count,
    seconds.
    """
    stacks: tuple[tuple[tuple[tuple[str, int], ...], int], ...] = ()
    """Eager ops run by the thread that runs the steps, as (stack, count) pairs. A stack lists the lines of
    user code that led to the op, outermost first.
    """
    iterators: int = 0
    """Total number of dataset iterations started."""
    made: tuple[tuple[int, int], ...] = ()
    """tf.functions that the program creates again for every call or every second call: the function's number,
    and the number of times that it was created.
    """
    makers: tuple[tuple[str, int, str, int], ...] = ()
    """Samples of other threads in the user's code, in total: file, line, function, count."""


class Facts(_Told, frozen=True, kw_only=True, tag="facts"):
    """TensorFlow's settings and devices in the program."""

    opened: bool = False
    changed: dict[str, str | None] = {}
    """Environment variables that the program changed before it opened the devices."""
    physical: tuple[tuple[str, str, str, list[int] | None], ...] = ()
    """Devices: name, type, product, compute capability."""
    visible: tuple[str, ...] = ()
    cuda: bool | None = None
    memory: dict[str, tuple[int, int]] = {}
    """GPU memory in use and its limit, in units of 16 MiB."""
    eager_functions: bool = False
    sessions: bool = False
    """True if the program uses TensorFlow 1 graph mode."""
    determinism: bool = False
    numerics: bool = False
    policy: str = ""
    floatx: str = ""
    files: tuple[str, ...] = ()


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset stage: its kind (`Map`, `ParallelMap`, `Prefetch`), source line, and the ops of its
    function.
    """

    stage: str
    file: str = ""
    line: int = 0
    own: bool = False
    function: str = ""
    ops: tuple[str, ...] = ()
    size: int | None = None
    """Batch size."""


class Dataset(_Told, frozen=True, kw_only=True, tag="dataset"):
    """A dataset over which the program iterates, with its stages, last first."""

    stages: tuple[Stage, ...]
    iterator: float = 0.0
    shapes: tuple[tuple[int | None, ...] | None, ...] = ()
    """Shapes of its elements; None if not known."""
    file: str = ""
    line: int = 0
    """The user's line that starts the iteration; 0 if a library starts it."""


class Graph(_Told, frozen=True, kw_only=True, tag="graph"):
    """The nodes of a tf.function: name, op, dtype, and the user's file and line."""

    number: int
    name: str = ""
    nodes: tuple[tuple[str, str, str, str, int], ...] = ()
    shapes: tuple[tuple[Any, ...], ...] = ()
    """Each node's inputs and outputs as [shape, dtype], and its attributes; empty if the program has a GPU.
    """
    layers: tuple[str, ...] = ()
    recurrent: tuple[tuple[str, str, str], ...] = ()
    """LSTM and GRU layers whose settings exclude cuDNN: name, class, settings."""


class Window(_Told, frozen=True, kw_only=True, tag="window"):
    """A profiler window from `start` to `end`; its file follows the message."""

    start: float
    end: float
    cost: float = 0.0
    steps: int = 0
    slower: float = 0.0
    step: Key | None = None


class Kernels(_Told, frozen=True, kw_only=True, tag="kernels"):
    """The kernels in the program's TensorFlow: for each op, the dtypes by device."""

    ops: dict[str, dict[str, tuple[str, ...]]]


class Fault(_Told, frozen=True, kw_only=True, tag="fault"):
    """The observer failed; the program is unaffected."""

    text: str
    detail: str = ""


class Profiler(_Told, frozen=True, kw_only=True, tag="profiler"):
    """The program itself uses the profiler, so no window can open until it stops."""


class Caught(_Told, frozen=True, kw_only=True, tag="caught"):
    """The response to a request to capture a step at its next call. problem: why the step was not captured;
    "" if it was.
    """

    number: Key
    folder: str
    problem: str = ""
    took: float = 0.0


class Account(_Told, frozen=True, kw_only=True, tag="account"):
    """How the main thread spent its time since the previous message; the first message covers the time since
    Python started.
    """

    rows: tuple[tuple[AccountKind, tuple[tuple[str, int], ...], str, str, float], ...] = ()
    """Each row: kind; user lines, outermost first; library function that the last line calls; the user's
    function; seconds.
    """
    calls: tuple[tuple[str, int, str, int, int], ...] = ()
    """Calls of the library in total: file, line, library function, count, number of samples passed (0:
    unknown).
    """
    wall: float = 0.0
    """Seconds since Python started."""
    watching: float = 0.0
    """Processor seconds used by the observer thread."""
    cpu: float = 0.0
    """Processor seconds of the whole process."""
    final: bool = False


class End(_Told, frozen=True, kw_only=True, tag="end"):
    """The process ends normally."""

    now: float
    cpu: float = 0.0


Told = (
    Hello
    | Function
    | Traces
    | Steps
    | Facts
    | Dataset
    | Graph
    | Window
    | Kernels
    | Fault
    | Profiler
    | Caught
    | Account
    | End
)

# The page


class StepTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The step time: number of steps, median with 95% interval, and what counts as one step."""

    n: int = 0
    median_s: float | None = None
    ci95_s: tuple[float, float] | None = None
    kind: Kind = ""
    name: str = ""
    """The user's function that is the step, or `file.py:12` for a gradient tape; "" for a library
    function.
    """
    total_s: float | None = None
    """Seconds of all steps, without gaps that are much longer than a step. Savings in a step are shares of
    this time.
    """


class StepPart(msgspec.Struct, frozen=True, kw_only=True):
    """The time that one part of a step takes."""

    name: str
    seconds: float
    share: float
    ci95: tuple[float, float] | None = None
    """95% interval of the share, over the profiled steps."""


class FunctionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A tf.function of the program."""

    name: str
    file: str
    line: int
    traces: int
    xla: bool
    calls: int = 0
    tracing_s: float = 0.0
    differed: str = ""
    """What differed between the function's traces."""
    number: int = 0
    """The function's number in the process; if the same code created several functions, the number of the
    last one.
    """


class OpRow(msgspec.Struct, frozen=True, kw_only=True):
    """An op of a step. reason: why it does not run on a GPU; "" if it does."""

    op: str
    device: str
    share: float
    reason: str
    file: str
    line: int
    layer: str


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """The measured effect of a finding's change on the program's own step."""

    step: float | None = None
    """Speedup of the step, as a factor."""
    step_ci95: tuple[float, float] | None = None
    compile_s: float | None = None
    """Seconds that the change adds to the first step for compiling."""
    program: float | None = None
    """Speedup of the program so far, as a factor, computed from the steps' share of the program's time and
    from `compile_s`.
    """
    if_input_keeps_up: bool = False
    """True if `program` is a maximum, because the faster step may only wait longer for input."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the speedup, such as `busy host`."""
    said: str = ""
    """A sentence about the measurement, or why nothing was measured."""


class Bottleneck(Found, frozen=True, kw_only=True):
    """A bottleneck and what to change.

    gain_at_most: upper bound of the speedup, of the steps if `share` is known, else of the program.
    """

    code: Code
    remedy: str = msgspec.field(name="change", default="")
    """What to change."""
    file: str = ""
    line: int = 0
    share: float | None = None
    """Share of the step time."""
    gain_at_most: float | None = None
    gain_ci95: tuple[float, float] | None = None
    program_share: float | None = None
    """Share of the program's wall time."""
    saves_s: float | None = None
    """Estimated seconds that the fix saves; their maximum if `if_input_keeps_up`."""
    if_input_keeps_up: bool = False
    """True if the faster step may only wait longer for input, so that the fix may save nothing before the
    input becomes faster.
    """
    first: tuple[str, ...] = ()
    """Changes that this advice requires first."""
    preset: str = ""
    """The preset that demonstrates the same problem."""
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    """The program's sizes as parameters of that preset, if known."""
    part_of: Code | None = None
    """The finding whose time includes this finding's time. Fixing both gains no more than fixing the other
    finding alone.
    """
    tried: Tried | None = None

    @property
    def key(self) -> tuple[Code, str, int]:
        """Identifies the finding by its cause and line."""
        return self.code, self.file, self.line


class HostOp(msgspec.Struct, frozen=True, kw_only=True):
    """An op that would stay on the CPU even with a GPU, and the reason."""

    op: str
    file: str = ""
    line: int = 0
    reason: str = ""


class OnGpu(msgspec.Struct, frozen=True, kw_only=True):
    """The best case for the program on a GPU that you do not have. Computed, not measured."""

    card: str
    """The data sheet's name, `h100`."""
    name: str = ""
    """The display name, `H100`."""
    at_most: float | None = None
    """Upper bound of the whole program's speedup; None without a bound."""
    limited_by: str = ""
    """What limits the speedup."""
    reason: str = ""
    """Why there is no bound."""
    stays_on_cpu: tuple[HostOp, ...] = ()


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of watching the program.

    share: part of the program's time. windows: number of profiler windows.
    """

    share: float = 0.0
    processors_s: float | None = None
    """Processor seconds used by the observer and the lab."""
    processors_share: float | None = None
    """`processors_s` as a share of the program's processor time."""
    windows: int = 0


class ProcessRow(msgspec.Struct, frozen=True, kw_only=True):
    """One process that imported TensorFlow."""

    pid: int
    parent: int
    command: str
    steps: StepTimes
    host: str = ""
    part: str = ""
    """The largest part of the process's step."""
    share: float | None = None
    """Share of the step that `part` takes."""


PROGRAM = "program"
"""Used in place of a device name for the program itself."""


class AccountRow(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that the program spends on one kind of work at one place."""

    kind: AccountKind
    stack: tuple[str, ...] = ()
    """User lines as `file.py:12`, outermost first."""
    seconds: float = 0.0
    call: str = ""
    """The TensorFlow or Keras function that the innermost line calls, such as `Model.predict`, or ""."""
    function: str = ""
    """The user's function around the innermost line."""
    count: int = 0
    """Number of calls of `call` from the innermost line, if they are counted; else 0."""
    samples: int = 0
    """Total samples passed to the calls of `call`; 0 if unknown."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The load of a device while the program ran, averaged over one sample per second."""

    device: str
    """`CPU`, `GPU:0`, or `program` for the process itself."""
    use: float | None = None
    """Average busy share of the device (0 … 1); for the program, the number of busy processors."""
    memory: int | None = None
    """Peak bytes; for the CPU, memory in use on the host."""
    memory_total: int | None = None
    clock_hz: float | None = None
    clock_max_hz: float | None = None
    n: int = 0
    """Number of samples."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a watched program: the object printed by `tuilab watch --json`."""

    command: tuple[str, ...]
    exit_code: int | None = None
    python: str = ""
    tensorflow: str = ""
    host: str = ""
    at: str = ""
    lasted_s: float = 0.0
    steps: StepTimes = StepTimes()
    parts: tuple[StepPart, ...] = ()
    functions: tuple[FunctionRow, ...] = ()
    ops: tuple[OpRow, ...] = ()
    ran_on: str = ""
    """The devices on which the program's ops ran, in a sentence; "" without a profile."""
    stages: tuple[Stage, ...] = ()
    findings: tuple[Bottleneck, ...] = ()
    account: tuple[AccountRow, ...] = ()
    """How the program spent every second, longest rows first."""
    on_a_gpu: OnGpu | None = None
    """On a host without a GPU: the best case with a GPU."""
    cost: Cost = Cost()
    loads: tuple[Load, ...] = ()
    processes: tuple[ProcessRow, ...] = ()
    notes: tuple[str, ...] = ()


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of several programs: the object that `tuilab watch --json` writes for several hosts."""

    programs: tuple[Page, ...]
    slowest: str = ""
    """The process with the longest step, in a sentence."""
