"""A program that is watched: what its observer tells, and the page that is made of it. Seconds, bytes, shares
of 1.

The messages are those of `tuilab.observer`, which knows nothing of this file; times in them are of the
program's own clock.
"""

from typing import Any, Literal

import msgspec

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
"""What a call is of: a tf.function's number, or the line of a gradient tape in Python."""
PREFIX = "w"
"""With which a watched program's id begins; a run's is hexadecimal, and cannot."""


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
    """Logical ones that it may use; 0 if that is not known."""
    began: float = 0.0
    now: float = 0.0
    environment: dict[str, str | None] = {}
    """Settings that decide on devices, as they were when Python started."""
    changed: dict[str, str | None] = {}
    """Those that the program itself had set by the time TensorFlow was imported."""


class Function(_Told, frozen=True, kw_only=True, tag="function"):
    """A tf.function that was called. own: its code is the user's, not a library's."""

    number: int
    name: str
    file: str = ""
    line: int = 0
    own: bool = False
    xla: bool = False
    reduce_retracing: bool = False
    caller: tuple[str, int] | None = None


class Traces(_Told, frozen=True, kw_only=True, tag="traces"):
    """Calls that traced: how long each took, and what it was called with."""

    number: int
    traces: tuple[tuple[float, list[list[Any]] | None], ...]


class Steps(_Told, frozen=True, kw_only=True, tag="steps"):
    """What happened since the last one. reads, fed and tapes are sums since the beginning."""

    now: float
    cpu: float = 0.0
    delayed: float = 0.0
    """Seconds for which the stepping thread could have run and had no processor, since the beginning."""
    calls: tuple[tuple[Key, float, float, bool], ...] = ()
    """What was called, from when to when, and whether it traced; an end of 0 if only the beginning is
    seen."""
    waits: tuple[tuple[float, float], ...] = ()
    """When a batch was waited for in Python, and for how long."""
    samples: tuple[tuple[str, int, str, str, int, int], ...] = ()
    """Where the stepping thread was seen: file, line, function, library between; in which call (-1: between
    calls, -2: waiting for a batch; -3: before the first step); how often."""
    reads: tuple[tuple[str, int, int, float, str], ...] = ()
    """Values brought to the host: file, line, how many, how long that took, in which function."""
    fed: tuple[tuple[int, int, int], ...] = ()
    """NumPy arrays given to a tf.function: its number, calls, bytes."""
    tapes: tuple[tuple[str, int, int, bool], ...] = ()
    """Gradient tapes in Python: file, line, how many, and whether a library holds them."""
    copied: tuple[tuple[str, int, int, int, float], ...] = ()
    """NumPy arrays that became tensors: file, line, how many, bytes, seconds, since the beginning."""
    compiled: tuple[tuple[int, int, float], ...] = ()
    """Calls that brought a function that XLA compiles new shapes: its number, how many, seconds, since the
    beginning."""
    stacks: tuple[tuple[tuple[tuple[str, int], ...], int], ...] = ()
    """The user's lines, the outermost first, in which the stepping thread was seen in an op that runs by
    itself; how often."""
    iterators: int = 0
    """Datasets that were begun to be iterated over, since the beginning."""
    made: tuple[tuple[int, int], ...] = ()
    """Of a tf.function that is made again for each call or two: its number, and how often it was made."""
    makers: tuple[tuple[str, int, str, int], ...] = ()
    """Where other threads were seen in the user's own code: file, line, function, how often, since the
    beginning."""


class Facts(_Told, frozen=True, kw_only=True, tag="facts"):
    """How TensorFlow is set in the program, and what it sees."""

    opened: bool = False
    physical: tuple[tuple[str, str, str, list[int] | None], ...] = ()
    """Devices: name, type, product, compute capability."""
    visible: tuple[str, ...] = ()
    cuda: bool | None = None
    memory: dict[str, tuple[int, int]] = {}
    """Of a GPU, in use and at most, in units of 16 MiB."""
    eager_functions: bool = False
    sessions: bool = False
    """It runs in TensorFlow 1's graph mode."""
    determinism: bool = False
    numerics: bool = False
    policy: str = ""
    floatx: str = ""
    files: tuple[str, ...] = ()
    """The user's own source files."""


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a dataset: its kind (`Map`, `ParallelMap`, `Prefetch`), where it was written, the ops of its
    function."""

    stage: str
    file: str = ""
    line: int = 0
    own: bool = False
    function: str = ""
    ops: tuple[str, ...] = ()
    size: int | None = None
    """Of a batch."""


class Dataset(_Told, frozen=True, kw_only=True, tag="dataset"):
    """A dataset is iterated over; its stages, the last first."""

    stages: tuple[Stage, ...]
    iterator: float = 0.0
    shapes: tuple[tuple[int | None, ...] | None, ...] = ()
    """Of what it yields, None if that is not known."""
    file: str = ""
    line: int = 0
    """Where the user's code begins to iterate over it; "" where a library does."""


class Graph(_Told, frozen=True, kw_only=True, tag="graph"):
    """The nodes of a tf.function: name, op, dtype, and the user's file and line."""

    number: int
    name: str = ""
    nodes: tuple[tuple[str, str, str, str, int], ...] = ()
    shapes: tuple[tuple[Any, ...], ...] = ()
    """Of each node what it takes and makes, [shape, dtype] each, and attributes; empty alongside a GPU."""
    layers: tuple[str, ...] = ()
    """Names of the Keras layers that the function reaches."""
    recurrent: tuple[tuple[str, str, str], ...] = ()
    """LSTM and GRU layers that settings keep from cuDNN: name, class, settings."""


class Window(_Told, frozen=True, kw_only=True, tag="window"):
    """The profiler looked from `start` to `end`; its file follows the message."""

    start: float
    end: float
    cost: float = 0.0
    steps: int = 0
    slower: float = 0.0
    step: Key | None = None


class Kernels(_Told, frozen=True, kw_only=True, tag="kernels"):
    """For which devices the program's TensorFlow has kernels of an op, with the dtypes of each."""

    ops: dict[str, dict[str, tuple[str, ...]]]


class Fault(_Told, frozen=True, kw_only=True, tag="fault"):
    """Something failed in the observer; the program has not noticed."""

    text: str
    detail: str = ""


class Profiler(_Told, frozen=True, kw_only=True, tag="profiler"):
    """The program uses the profiler itself: no window opens meanwhile."""


class Caught(_Told, frozen=True, kw_only=True, tag="caught"):
    """A function was caught at its next call, as the lab had asked. problem: why it was not."""

    number: int
    folder: str
    problem: str = ""
    took: float = 0.0


class Account(_Told, frozen=True, kw_only=True, tag="account"):
    """Where the main thread was since the last one, from the start of Python."""

    rows: tuple[tuple[AccountKind, tuple[tuple[str, int], ...], str, str, float], ...] = ()
    """Kind; own lines, the outermost first; library's entry that the last of them calls; its own function;
    seconds."""
    calls: tuple[tuple[str, int, str, int, int], ...] = ()
    """Calls since the beginning: file, line, library's entry, number, samples given to it (0: unknown)."""
    wall: float = 0.0
    """Seconds since Python's start."""
    watching: float = 0.0
    """Seconds of a processor that the observing thread has used."""
    cpu: float = 0.0
    """Seconds of processors that the whole process has used."""
    final: bool = False


class End(_Told, frozen=True, kw_only=True, tag="end"):
    """The process ends by itself."""

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
    """A step's time: how many were seen, their median with its 95% interval, and what stands for a step."""

    n: int = 0
    median_s: float | None = None
    ci95_s: tuple[float, float] | None = None
    kind: Kind = ""
    name: str = ""
    """The own function that is the step, or `file.py:12` for a gradient tape; "" for a library's function."""


class StepPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a step."""

    name: str
    seconds: float
    share: float
    ci95: tuple[float, float] | None = None
    """Of the share, over the steps that were profiled."""


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
    """What differed between its traces."""
    number: int = 0
    """Its own in the process, of several made by the same code the last one's."""


class OpRow(msgspec.Struct, frozen=True, kw_only=True):
    """An op of a step. reason: why not on a GPU, "" where it ran on one."""

    op: str
    device: str
    share: float
    reason: str
    file: str
    line: int
    layer: str


class Bottleneck(msgspec.Struct, frozen=True, kw_only=True):
    """Something that costs time, and what to change.

    gain_at_most: how many times as fast the steps would be at most, if `share` is known; else the program.
    """

    code: Code
    message: str
    file: str = ""
    line: int = 0
    share: float | None = None
    """Of the program's steps, that this takes."""
    gain_at_most: float | None = None
    gain_ci95: tuple[float, float] | None = None
    program_share: float | None = None
    """Of the program's wall time, that this takes."""
    saves_s: float | None = None
    """Seconds of the program that fixing it saves, as estimated."""
    change: str = ""
    preset: str = ""
    """The preset that shows the same."""
    sizes: dict[str, int] = {}
    """The program's own sizes, as that preset's parameters, where they are known."""
    part_of: Code | None = None
    """The finding whose time this one's is part of: fixing both gains no more than that one says."""


class HostOp(msgspec.Struct, frozen=True, kw_only=True):
    """An op that would stay on the CPU alongside a GPU, and why."""

    op: str
    file: str = ""
    line: int = 0
    reason: str = ""


class OnGpu(msgspec.Struct, frozen=True, kw_only=True):
    """What a GPU that is not here could give the program at most. No measurement: nothing was run on one."""

    card: str
    """The data sheet's name, `h100`."""
    name: str = ""
    """The same in words, `H100`."""
    at_most: float | None = None
    """How many times as fast the whole program could be; None without a bound."""
    limited_by: str = ""
    """What keeps it from more."""
    reason: str = ""
    """Why there is no bound."""
    stays_on_cpu: tuple[HostOp, ...] = ()


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of watching. share: of the program's time. windows: of the profiler."""

    share: float = 0.0
    processors_s: float | None = None
    """Seconds of the host processors that the observer and the lab used."""
    processors_share: float | None = None
    """The same as a share of the processor time of the program itself."""
    windows: int = 0


class ProcessRow(msgspec.Struct, frozen=True, kw_only=True):
    """One process that imported TensorFlow."""

    pid: int
    parent: int
    command: str
    steps: StepTimes
    host: str = ""
    part: str = ""
    """The largest part of its step."""
    share: float | None = None
    """Of a step, that this part is."""


PROGRAM = "program"
"""In place of a device: the program itself."""


class AccountRow(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of the program of one kind in one place."""

    kind: AccountKind
    stack: tuple[str, ...] = ()
    """Own lines as `file.py:12`, the outermost first."""
    seconds: float = 0.0
    call: str = ""
    """The entry of TensorFlow or Keras that the innermost line calls, such as `Model.predict`, or ""."""
    function: str = ""
    """The own function that the innermost line is in."""
    count: int = 0
    """How often that line made the call, if it was counted; 0 otherwise."""
    samples: int = 0
    """Samples given to those calls together; 0 if unknown."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What a device did alongside the steps: means of a sample each second."""

    device: str
    """`CPU`, `GPU:0`, or `program` for the process itself."""
    use: float | None = None
    """Share of the device; of the program in processors, so that 2 are two at work."""
    memory: int | None = None
    """Bytes at the most; for the CPU those in use on the host."""
    memory_total: int | None = None
    clock_hz: float | None = None
    clock_max_hz: float | None = None
    n: int = 0
    """Samples."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said of a watched program: the one object of `tuilab watch --json`."""

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
    """On which devices its ops ran, in a sentence; "" where none was profiled."""
    stages: tuple[Stage, ...] = ()
    findings: tuple[Bottleneck, ...] = ()
    account: tuple[AccountRow, ...] = ()
    """Every second of the program, the longest rows first."""
    on_a_gpu: OnGpu | None = None
    """On a host without a GPU: what one could give."""
    cost: Cost = Cost()
    loads: tuple[Load, ...] = ()
    processes: tuple[ProcessRow, ...] = ()
    notes: tuple[str, ...] = ()


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """Several programs side by side: what `tuilab watch --json` writes of several hosts."""

    programs: tuple[Page, ...]
    slowest: str = ""
    """Which process takes longest for a step, in a sentence."""
