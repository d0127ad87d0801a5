"""Messages from the observer of a watched program, and the page that summarizes them.

Units: seconds, bytes, shares from 0 to 1. `tuilab.observer` sends the messages without importing this file.
Times use the program's own clock.
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
    "cudnn-off", "saving", "slowing", "input-elsewhere", "python-called",
]  # fmt: skip
AccountKind = Literal[
    "importing", "building", "tracing", "compiling", "graphs", "eager", "input", "reading", "saving",
    "python", "waiting", "unknown",
]  # fmt: skip
Key = int | tuple[str, int]
"""Identifies the code of a step: the number of a tf.function, or the file and line of a gradient tape."""
PREFIX = "w"
"""Prefix of a watched program's id. No run's id begins with this letter, because run ids are hexadecimal."""


class _Told(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    pass


class Hello(_Told, frozen=True, kw_only=True, tag="hello"):
    """A process has imported TensorFlow."""

    pid: int
    parent: int
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
    """A tf.function that the program called. own: True if the user's code defines the function, False if a
    library does.
    """

    number: int
    name: str
    file: str = ""
    line: int = 0
    own: bool = False
    xla: bool = False
    caller: tuple[str, int] | None = None


class Traces(_Told, frozen=True, kw_only=True, tag="traces"):
    """The calls that traced a function: their seconds and arguments."""

    number: int
    traces: tuple[tuple[float, list[list[Any]] | None], ...]


class Steps(_Told, frozen=True, kw_only=True, tag="steps"):
    """The program's activity since the previous message."""

    now: float
    cpu: float = 0.0
    delayed: float = 0.0
    """Total seconds for which the thread that runs the steps was ready to run but had no processor."""
    calls: tuple[tuple[Key, float, float, bool], ...] = ()
    """Calls of tf.functions: function number, start, end, and whether the call traced the function. The end
    is 0 if only the start is known.
    """
    waits: tuple[tuple[float, float], ...] = ()
    """Waits for a batch in Python code: start and duration."""
    samples: tuple[tuple[str, int, str, str, int, int], ...] = ()
    """Samples of the thread that runs the steps: file, line, function; the library function that this line
    calls; index of the tf.function call in progress (-1: between calls, -2: waiting for a batch, -3: before
    the first step); number of samples.
    """
    reads: tuple[tuple[str, int, int, float], ...] = ()
    """Copies of values to the host since watching began: file, line, count, seconds."""
    fed: tuple[tuple[int, int, int], ...] = ()
    """NumPy arrays passed to a tf.function since watching began: the function's number, number of calls,
    bytes.
    """
    tapes: tuple[tuple[str, int, int, bool], ...] = ()
    """Gradient tapes in Python since watching began: file, line, count, and whether a library created the
    tapes.
    """
    copied: tuple[tuple[str, int, int, int, float], ...] = ()
    """NumPy arrays converted to tensors since watching began: file, line, count, bytes, seconds."""
    compiled: tuple[tuple[int, int, float], ...] = ()
    """Calls since watching began that passed new shapes to a function compiled by XLA: the function's number,
    count, seconds.
    """
    stacks: tuple[tuple[tuple[tuple[str, int], ...], int], ...] = ()
    """Eager ops of the thread that runs the steps, as (stack, count) pairs. A stack lists the lines of user
    code that led to the op, outermost first.
    """
    iterators: int = 0
    """Number of dataset iterations that the program has started."""
    made: tuple[tuple[int, int], ...] = ()
    """tf.functions that the program creates again for each call or every second call: the function's
    number, and how often it was created.
    """
    makers: tuple[tuple[str, int, str, int], ...] = ()
    """Samples of other threads in the user's code since watching began: file, line, function, count."""


class Facts(_Told, frozen=True, kw_only=True, tag="facts"):
    """TensorFlow's settings and devices in the program."""

    opened: bool = False
    changed: dict[str, str | None] = {}
    """Environment variables that the program changed before it opened the devices."""
    physical: tuple[tuple[str, str, str, list[int] | None], ...] = ()
    """Devices: name, type, product, compute capability."""
    visible: tuple[str, ...] = ()
    memory: dict[str, tuple[int, int]] = {}
    """Current and peak memory of each GPU, in units of 16 MiB."""
    eager_functions: bool = False
    sessions: bool = False
    """True if the program uses TensorFlow 1 sessions."""
    determinism: bool = False
    numerics: bool = False
    policy: str = ""
    files: tuple[str, ...] = ()


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a dataset: its kind (`Map`, `ParallelMap`, `Prefetch`), source line, and its function's
    ops.
    """

    stage: str
    file: str = ""
    line: int = 0
    own: bool = False
    function: str = ""
    ops: tuple[str, ...] = ()
    size: int | None = None
    """Batch size of a stage that forms batches; None for any other stage."""


class Dataset(_Told, frozen=True, kw_only=True, tag="dataset"):
    """A dataset that the program iterates over, and the dataset's stages, last first."""

    stages: tuple[Stage, ...]
    shapes: tuple[tuple[int | None, ...] | None, ...] = ()
    """Shapes of the dataset's elements; None for an unknown shape."""
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
    """LSTM and GRU layers that cannot use cuDNN because of their settings: name, class, settings."""


class Window(_Told, frozen=True, kw_only=True, tag="window"):
    """A profiler window from `start` to `end`; the profile's file is sent after this message."""

    start: float
    end: float
    cost: float = 0.0
    steps: int = 0
    step: Key | None = None


class Kernels(_Told, frozen=True, kw_only=True, tag="kernels"):
    """Kernels in the program's TensorFlow: for each op, the dtypes by device."""

    ops: dict[str, dict[str, tuple[str, ...]]]


class Fault(_Told, frozen=True, kw_only=True, tag="fault"):
    """The observer failed; the program continues normally."""

    text: str
    detail: str = ""


class Profiler(_Told, frozen=True, kw_only=True, tag="profiler"):
    """The program itself is using the profiler, so the observer cannot use it."""


class Caught(_Told, frozen=True, kw_only=True, tag="caught"):
    """The observer has captured the function that runs the program's step, or has failed to do so.

    problem: the error; "" on success.
    """

    number: Key
    folder: str
    problem: str = ""


class Account(_Told, frozen=True, kw_only=True, tag="account"):
    """How the main thread spent its time since the previous message, or since Python started."""

    rows: tuple[tuple[AccountKind, tuple[tuple[str, int], ...], str, str, float], ...] = ()
    """Rows of time: kind; user lines, outermost first; library function that the innermost line calls; the
    user's function; seconds.
    """
    calls: tuple[tuple[str, int, str, int, int], ...] = ()
    """Totals of library calls: file, line, library function, count, number of samples passed (0: unknown)."""
    wall: float = 0.0
    """Seconds since Python started."""
    watching: float = 0.0
    """Processor seconds used by the observer thread."""
    cpu: float = 0.0
    """Processor seconds of the whole process."""
    final: bool = False


class End(_Told, frozen=True, kw_only=True, tag="end"):
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


class StepTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The times of the program's steps."""

    n: int = 0
    median_s: float | None = None
    ci95_s: tuple[float, float] | None = None
    kind: Kind = ""
    name: str = ""
    """The user's function that is the step, or `file.py:12` for a gradient tape; "" for a library's
    function.
    """
    total_s: float | None = None
    """Seconds of all steps, without gaps much longer than a step. The savings of a change to the step are
    computed as shares of this time.
    """
    asleep: float = 0.0
    """Share of a step for which the lines around its ops sleep, 0 to 1."""


class StepPart(msgspec.Struct, frozen=True, kw_only=True):
    """The time that one part of a step takes."""

    name: str
    seconds: float
    share: float
    ci95: tuple[float, float] | None = None
    """The 95% interval of the share, from the profiled steps."""


class FunctionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A tf.function of the program."""

    name: str
    file: str
    line: int
    traces: int
    xla: bool
    calls: int = 0
    tracing_s: float = 0.0
    functions: int = 1
    """How many functions of this name the code created, such as one for training and one for validation."""
    differed: str = ""
    """What differed between the traces of one function."""
    number: int = 0
    """The function's number in the process; the last number if the same code created several functions."""


class OpRow(msgspec.Struct, frozen=True, kw_only=True):
    """An op of a step. reason: why the op does not run on a GPU; "" if it does."""

    op: str
    device: str
    share: float
    reason: str
    file: str
    line: int
    layer: str


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """The measured effect of a recommended change on the program's own step."""

    step: float | None = None
    """Speedup of the step, as a factor."""
    step_ci95: tuple[float, float] | None = None
    compile_s: float | None = None
    """Seconds that compiling adds to the first step after the change."""
    program: float | None = None
    """Speedup of the program so far, as a factor, computed from its time in steps and from `compile_s`."""
    if_input_keeps_up: bool = False
    """True if `program` is an upper bound, because a faster step may just wait longer for input."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the speedup, such as `busy host`."""
    said: str = ""
    """The measured effect in a sentence, or why nothing was measured."""


class Bottleneck(Found, frozen=True, kw_only=True):
    """A bottleneck, and the change that removes it.

    gain_at_most: upper bound of the speedup of the steps, or of the whole program if `share` is None.
    """

    code: Code
    remedy: str = msgspec.field(name="change", default="")
    """The recommended change."""
    file: str = ""
    line: int = 0
    share: float | None = None
    """Share of the step time that the bottleneck takes."""
    gain_at_most: float | None = None
    gain_ci95: tuple[float, float] | None = None
    program_share: float | None = None
    """Share of the program's wall time that the bottleneck takes."""
    saves_s: float | None = None
    """Estimated seconds that the change saves; an upper bound if `if_input_keeps_up`."""
    saves_later_s: float | None = None
    """Upper bound of the seconds that the change saves once the input is faster; None if the input does not
    limit what it saves now.
    """
    beyond: float = 0.0
    """Share of the program outside its steps that the fix may save as well, such as waiting for input while
    other ops hold the interpreter lock.
    """
    if_input_keeps_up: bool = False
    """True if a faster step may just wait longer for input, so that the change may save nothing until the
    input is faster.
    """
    first: tuple[str, ...] = ()
    """Changes to make before the recommended change."""
    preset: str = ""
    """Name of a preset that demonstrates the same problem."""
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    """The program's sizes as parameters of the preset, if known."""
    part_of: Code | None = None
    """The larger finding that includes this finding's time. Fixing both findings saves no more time than
    fixing the larger one.
    """
    tried: Tried | None = None

    @property
    def at(self) -> tuple[str, int]:
        return self.file, self.line

    @property
    def key(self) -> tuple[Code, str, int]:
        """The finding's code, file and line."""
        return self.code, *self.at


class HostOp(msgspec.Struct, frozen=True, kw_only=True):
    """An op that would run on the CPU even if the host had a GPU, and the reason."""

    op: str
    file: str = ""
    line: int = 0
    reason: str = ""


class OnGpu(msgspec.Struct, frozen=True, kw_only=True):
    """An upper bound for the program's speed on a GPU that you do not have. Computed, not measured."""

    card: str
    """The data sheet's name, `h100`."""
    name: str = ""
    """The GPU's display name, `H100`."""
    at_most: float | None = None
    """Upper bound of the whole program's speedup; None if unknown."""
    limited_by: str = ""
    """What limits the speedup."""
    reason: str = ""
    """Why no upper bound is known."""
    stays_on_cpu: tuple[HostOp, ...] = ()


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of watching the program.

    share: share of the program's time. windows: number of profiler windows.
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
    """The largest part of this process's step."""
    share: float | None = None
    """Share of the step that `part` takes."""


PROGRAM = "program"
"""Stands for the program itself in place of a device name."""


class AccountRow(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that the program spent on one kind of work at one place."""

    kind: AccountKind
    stack: tuple[str, ...] = ()
    """User lines as `file.py:12`, outermost first."""
    seconds: float = 0.0
    call: str = ""
    """The TensorFlow or Keras function that the innermost line calls, such as `Model.predict`; "" if none."""
    function: str = ""
    """The user's function that contains the innermost line."""
    count: int = 0
    """Number of calls of `call` from the innermost line; 0 if not counted."""
    samples: int = 0
    """Total number of samples passed in the calls that `count` counts; 0 if unknown."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The load of a device while the program ran, from one sample per second."""

    device: str
    """`CPU`, `GPU:0`, or `program` for the process itself."""
    use: float | None = None
    """Average busy share of the device (0 … 1); for the program, the average number of busy processors."""
    memory: int | None = None
    """Peak memory use in bytes; for the CPU, of the whole host."""
    memory_total: int | None = None
    clock_hz: float | None = None
    clock_max_hz: float | None = None
    n: int = 0
    """Number of samples of the device's load."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a watched program: the object that `tuilab watch --json` prints."""

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
    """In a sentence, the devices that the program's ops ran on; "" without a profile."""
    stages: tuple[Stage, ...] = ()
    findings: tuple[Bottleneck, ...] = ()
    account: tuple[AccountRow, ...] = ()
    """How the program spent its time, in rows with the longest time first."""
    on_a_gpu: OnGpu | None = None
    """On a host without a GPU: an upper bound for the program's speed on a GPU."""
    cost: Cost = Cost()
    loads: tuple[Load, ...] = ()
    processes: tuple[ProcessRow, ...] = ()
    notes: tuple[str, ...] = ()


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of several programs: the object that `tuilab watch --json` prints for several hosts."""

    programs: tuple[Page, ...]
    slowest: str = ""
    """The process with the slowest step, in a sentence."""
