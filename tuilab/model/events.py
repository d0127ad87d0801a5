"""What a worker tells: every message of the protocol from the worker's side.

Each is one JSON line, `{"type": …, …}`. A recorded stream of them, replayed, gives the same screens. Times in
seconds, sizes in bytes.
"""

from typing import Literal

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.machine import Machine
from tuilab.model.parameters import Value
from tuilab.model.profile import Profile
from tuilab.model.scenario import Budget, Scenario, Sweep
from tuilab.model.workload import Declaration

PROTOCOL = 1

Status = Literal["ok", "unavailable", "failed", "cancelled"]
Ending = Literal["ok", "cancelled", "failed"]


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    pass


class Hello(_Event, frozen=True, kw_only=True, tag="hello"):
    """The first line, before TensorFlow is imported.

    parent: the process that started it, and parent_since when that began, in the kernel's ticks since it
    booted: together they name one process. 0 where not known.
    """

    protocol: int
    tuilab: str
    pid: int
    host: str = ""
    parent: int = 0
    parent_since: int = 0


class Warming(_Event, frozen=True, kw_only=True, tag="warming"):
    """The worker is busy starting: what it does now, and for how long it has been at it."""

    stage: str
    elapsed_s: float
    origin: str = ""


class Ready(_Event, frozen=True, kw_only=True, tag="ready"):
    """TensorFlow is imported and its devices are up. `origin`: the host's name here, "" for this machine."""

    machine: Machine
    import_s: float
    start_s: float
    origin: str = ""


class Log(_Event, frozen=True, kw_only=True, tag="log"):
    """A line that TensorFlow, the user's code or the lab itself said. `run` is empty outside a run."""

    text: str
    level: Literal["debug", "info", "warning", "error"] = "info"
    source: str = "tensorflow"
    run: str = ""


class WorkerExited(_Event, frozen=True, kw_only=True, tag="worker-exited"):
    """Said by the runner, not the worker: the process has ended. `code` is negative for a signal.

    origin: the host's name here, "" for this machine.
    """

    code: int
    message: str
    expected: bool = False
    origin: str = ""


class Declared(_Event, frozen=True, kw_only=True, tag="declared"):
    """A user's own function or an installed workload, as it declares itself."""

    request: str
    file: str
    declaration: Declaration


class _RunEvent(_Event, frozen=True, kw_only=True):
    run: str


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One place of a sweep: the parameters that differ from the scenario's. Empty without a sweep."""

    index: int
    values: dict[str, Value] = {}


class RunStarted(_RunEvent, frozen=True, kw_only=True, tag="run-started"):
    """A run begins. `at` is UTC, ISO 8601. Points that a sweep adds later come as `PointAdded`."""

    scenario: Scenario
    arms: tuple[Arm, ...]
    points: tuple[Point, ...]
    budget: Budget
    machine: Machine
    at: str
    preset: str = ""
    sweep: Sweep | None = None
    worker: int = 0


class MachineJoined(_RunEvent, frozen=True, kw_only=True, tag="machine-joined"):
    """Arms of the run are measured on another host too; `host` is its name in `Arm.host`.

    In a fleet it is a node's name instead: points are those of a sweep measured there, from `began` to
    `ended` in seconds of that node's own clock, which are comparable with that node's alone.
    """

    host: str
    machine: Machine
    points: tuple[int, ...] = ()
    began: float | None = None
    ended: float | None = None


class PointAdded(_RunEvent, frozen=True, kw_only=True, tag="point-added"):
    """A sweep goes on to a size that it had not announced."""

    point: Point


class Progress(_RunEvent, frozen=True, kw_only=True, tag="progress"):
    """What the run does now. `total` 0 means that its length is not known."""

    stage: str
    done: float = 0.0
    total: float = 0.0
    unit: str = ""
    arm: str = ""


class ArmStatus(_RunEvent, frozen=True, kw_only=True, tag="arm-status"):
    """An arm cannot run here (`unavailable`), raised (`failed`), or is known to compute on `device`.

    device: observed, null where nothing ran. point: null for the whole arm. detail: a traceback, if any.
    error: the exception's type with its bases, most derived first.
    """

    arm: str
    status: Status
    device: str | None = None
    reason: str = ""
    detail: str = ""
    error: tuple[str, ...] = ()
    point: int | None = None


class FirstCalls(_RunEvent, frozen=True, kw_only=True, tag="first-calls"):
    """The first call (trace, optimise, compile) and the second, each apart from the steady state."""

    arm: str
    point: int
    first_s: float
    second_s: float


class WarmUp(_RunEvent, frozen=True, kw_only=True, tag="warm-up"):
    """Blocks of a cell's warm-up, in the order they came: seconds per call. To be seen, never counted."""

    arm: str
    point: int
    samples_s: tuple[float, ...]


class WarmedUp(_RunEvent, frozen=True, kw_only=True, tag="warmed-up"):
    """The end of a cell's warm-up. `warm` false: the limit came before two windows agreed."""

    arm: str
    point: int
    seconds: float
    calls: int
    warm: bool


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One timed block of one cell: `calls` calls and one sync, in `seconds` (the empty sync subtracted).

    latency_s: a single synchronised call measured beside it, null where none was taken.
    """

    arm: str
    point: int
    calls: int
    seconds: float
    latency_s: float | None = None

    @property
    def per_call_s(self) -> float:
        """Seconds per call, the sample that the statistics take."""
        return self.seconds / self.calls


class Round(_RunEvent, frozen=True, kw_only=True, tag="round"):
    """Every live cell once, in random order. Sent at the end of the round.

    canary_s: the fixed tiny workload around the round; null where it is off. repeated: the canary had
    moved and an earlier attempt at this round was thrown away. elapsed_s: since the rounds began.
    timed_s: seconds inside timed blocks.
    """

    index: int
    blocks: tuple[Block, ...]
    elapsed_s: float
    timed_s: float = 0.0
    canary_s: float | None = None
    repeated: bool = False
    worker: int = 0


class Phases(_RunEvent, frozen=True, kw_only=True, tag="phases"):
    """Where a call's time goes, each phase measured: dispatch, copy in, compute, copy out, input wait, other.

    total_s: the end-to-end figure measured beside them. residual_s: total less the sum of the phases.
    """

    arm: str
    point: int
    phases_s: dict[str, float]
    total_s: float
    residual_s: float
    note: str = ""


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One op of an arm as it was placed.

    kind: `op`, or `copy` for a transfer between devices (`device` → `to`), or `folded` for what the
    optimiser removed. memory: the device whose memory holds the output, where that differs from the device.
    requested: the device that the code or the scope asked for, "" for none. evidence: what shows the reason.
    count: equal rows drawn as one. gpu: whether a GPU of this TensorFlow build would run it with its data on
    the device; a forecast from the kernel registry, null where it does not apply.
    """

    name: str
    op: str
    device: str
    kind: Literal["op", "copy", "folded"] = "op"
    to: str = ""
    memory: str = ""
    dtype: str = ""
    requested: str = ""
    reason: str = ""
    bytes: int = 0
    count: int = 1
    gpu: bool | None = None
    evidence: str = ""


class Placement(_RunEvent, frozen=True, kw_only=True, tag="placement"):
    """Where an arm's ops ran, as observed. Several may come for one arm; rows add up."""

    arm: str
    nodes: tuple[Node, ...]
    point: int = 0


class Fact(_RunEvent, frozen=True, kw_only=True, tag="fact"):
    """Something a workload observed beside time, such as how often a mapped function was traced."""

    name: str
    value: Value | float
    text: str
    arm: str = ""
    point: int = 0


class Caveat(_RunEvent, frozen=True, kw_only=True, tag="flag"):
    """A doubt about a figure, in words. `arm` empty: about the whole run."""

    code: str
    message: str
    arm: str = ""
    point: int | None = None


class Profiled(_RunEvent, frozen=True, kw_only=True, tag="profiled"):
    """An arm of the run was profiled in a pass of its own, mostly after the run; the last one counts."""

    arm: str
    profile: Profile


class Finished(_RunEvent, frozen=True, kw_only=True, tag="finished"):
    """The run is over; what was measured before stays valid whatever `status` says.

    reached: the largest relative half-width among the cells, null where there is none.
    """

    status: Ending
    message: str = ""
    detail: str = ""
    elapsed_s: float = 0.0
    reached: float | None = None


class Answer(_Event, frozen=True, kw_only=True, tag="answer"):
    """The reply to a question other than a run: `kind` says which struct `body` decodes to.

    more: further answers to the same request follow.
    """

    request: str
    kind: str
    body: msgspec.Raw
    more: bool = False


class Refused(_Event, frozen=True, kw_only=True, tag="refused"):
    """A request that could not be carried out. `where`, `value`, `expected` as in InputError.

    request: empty where a whole worker is refused; `origin` is then its host's name here.
    """

    request: str
    message: str
    detail: str = ""
    where: str = ""
    origin: str = ""


Event = (
    Hello
    | Warming
    | Ready
    | Log
    | WorkerExited
    | Declared
    | RunStarted
    | MachineJoined
    | PointAdded
    | Progress
    | ArmStatus
    | FirstCalls
    | WarmUp
    | WarmedUp
    | Round
    | Phases
    | Placement
    | Fact
    | Caveat
    | Profiled
    | Finished
    | Answer
    | Refused
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """One JSON line, newline included."""
    return _encoder.encode(event) + b"\n"


def decode(line: bytes) -> Event:
    """The event in a JSON line. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _decoder.decode(line)
