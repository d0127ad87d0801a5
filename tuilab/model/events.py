"""What a worker tells: every message of the protocol from the worker's side.

Each is one JSON line, `{"type": …, …}`. A recorded stream of them, replayed, gives the same screens. Times in
seconds, sizes in bytes.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from tuilab.model.account import Account
from tuilab.model.arms import Arm, family
from tuilab.model.machine import Machine
from tuilab.model.models import LayerWork, ModelInfo
from tuilab.model.ops import CONTROL_FLOW
from tuilab.model.parameters import Value
from tuilab.model.profile import Profile
from tuilab.model.roofline import Roofs, Work
from tuilab.model.scenario import Budget, Scenario, Sweep
from tuilab.model.workload import Declaration

PROTOCOL = 1

Status = Literal["ok", "unavailable", "failed", "cancelled"]
Ending = Literal["ok", "cancelled", "failed"]

# A line of another machine, or of a file, may say anything. These keep out what no clock and no count gives,
# before anybody divides by it.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Calls = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]
Difference = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
Finite = Annotated[float, msgspec.Meta(ge=-1e100, le=1e100)]
Workers = Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    pass


class Hello(_Event, frozen=True, kw_only=True, tag="hello"):
    """The first line, before TensorFlow is imported."""

    protocol: int
    """The version of these messages, `PROTOCOL`."""
    tuilab: str
    """The version of the program."""
    pid: int
    """Of the worker."""
    host: str = ""
    """The machine's own name."""
    parent: int = 0
    """The process that started it, and parent_since when that began, in the kernel's ticks since it booted:
    together they name one process. 0 if not known."""
    parent_since: int = 0


class Warming(_Event, frozen=True, kw_only=True, tag="warming"):
    """The worker is busy starting: what it does now, and for how long it has been at it."""

    stage: str
    """What happens: importing TensorFlow, opening devices."""
    elapsed_s: Seconds
    """Seconds since the worker began."""
    origin: str = ""
    """The ssh name of the host, "" for this machine."""


class Ready(_Event, frozen=True, kw_only=True, tag="ready"):
    """TensorFlow is imported and its devices are up."""

    machine: Machine
    import_s: Seconds
    """Seconds that importing TensorFlow took."""
    start_s: Seconds
    """Seconds that opening its devices took."""
    origin: str = ""
    """The ssh name of the host, "" for this machine."""


class Log(_Event, frozen=True, kw_only=True, tag="log"):
    """A line that TensorFlow, the user's code or the lab itself said. `run` is empty outside a run."""

    text: str
    level: Literal["debug", "info", "warning", "error"] = "info"
    source: str = "tensorflow"
    """`tensorflow`, `user` or `tuilab`."""
    run: str = ""
    """Empty outside a run."""

    @property
    def message(self) -> str:
        """What it says, without when and where: the first 80 columns are for that."""
        return _PREFIX.sub("", self.text)


_PREFIX = re.compile(r"^(?:\d{4}-\d\d-\d\d [\d:.]+: [IWEF] |[IWEF]\d{4} [\d:.]+\s+\d+ )\S+?:\d+\] +(?=\S)")
"""What TensorFlow and Abseil write before a message: the time, the level and the place in their code."""


class WorkerExited(_Event, frozen=True, kw_only=True, tag="worker-exited"):
    """Said by the runner, not the worker: the process has ended. `code` is negative for a signal."""

    code: int
    """Negative for a signal."""
    message: str
    """Why, in words."""
    expected: bool = False
    """It was asked to leave."""
    origin: str = ""
    """The host's name here, "" for this machine."""


class Declared(_Event, frozen=True, kw_only=True, tag="declared"):
    """A user's own function or an installed workload, as it declares itself."""

    request: str
    """The id of the request."""
    file: str
    """`path/to/file.py:name`, or the name of an installed workload."""
    declaration: Declaration


class _RunEvent(_Event, frozen=True, kw_only=True):
    run: str
    """The run's id."""


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One place of a sweep: the parameters that differ from the scenario's. Empty without a sweep."""

    index: Count
    """Its number in the run, from 0."""
    values: dict[str, Value] = {}
    """The parameters that differ from the scenario's."""


class RunStarted(_RunEvent, frozen=True, kw_only=True, tag="run-started"):
    """A run begins. `at` is UTC, ISO 8601. Points that a sweep adds later come as `PointAdded`."""

    scenario: Scenario
    arms: tuple[Arm, ...]
    points: tuple[Point, ...]
    """Those known from the start; a sweep adds others by `PointAdded`."""
    budget: Budget
    machine: Machine
    at: str
    """UTC, ISO 8601."""
    preset: str = ""
    sweep: Sweep | None = None
    worker: Workers = 0
    """Which of the run's processes this is, from 0."""
    zygote: int | None = None
    """Of a forked one, which of the zygotes it is from; None for a fresh one."""
    code: dict[str, str] = {}
    """What own code was when this process read it: a hash of each of its files, by the file's name."""


class MachineJoined(_RunEvent, frozen=True, kw_only=True, tag="machine-joined"):
    """Arms of the run are measured on another host too; `host` is its name in `Arm.host`.

    In a fleet it is a node's name instead: points are those of a sweep measured there, from `began` to
    `ended` in seconds of that node's own clock, which are comparable with that node's alone.
    """

    host: str
    """Its name in `Arm.host`; in a fleet the name of a node."""
    machine: Machine
    points: tuple[Count, ...] = ()
    """In a fleet, those of the sweep that were measured there."""
    began: Difference | None = None
    """Seconds of that node's own clock, comparable with that node's alone."""
    ended: Difference | None = None
    """Likewise."""


class PointAdded(_RunEvent, frozen=True, kw_only=True, tag="point-added"):
    """A sweep continues to a size that it had not announced."""

    point: Point


class Progress(_RunEvent, frozen=True, kw_only=True, tag="progress"):
    """What the run does now. `total` 0 means that its length is not known."""

    stage: str
    """What happens, in words."""
    done: Seconds = 0.0
    """In `unit`."""
    total: Seconds = 0.0
    """In `unit`; 0 if the length is not known."""
    unit: str = ""
    """`s`, `share`, or what is counted."""
    arm: str = ""
    """The arm's id, empty if it is about the whole run."""


class ArmStatus(_RunEvent, frozen=True, kw_only=True, tag="arm-status"):
    """An arm cannot run here (`unavailable`), raised (`failed`), or is known to compute on `device`."""

    arm: str
    """The arm's id."""
    status: Status
    device: str | None = None
    """Observed, None if nothing ran."""
    reason: str = ""
    """Why, in a sentence."""
    detail: str = ""
    """A traceback, if any."""
    error: tuple[str, ...] = ()
    """The exception's type with its bases, most derived first."""
    point: Count | None = None
    """None for the whole arm."""


class FirstCalls(_RunEvent, frozen=True, kw_only=True, tag="first-calls"):
    """The first call (trace, optimise, compile) and the second, each apart from the steady state."""

    arm: str
    point: Count
    first_s: Seconds
    """Seconds: trace, optimise, compile."""
    second_s: Seconds
    """Seconds."""


class WarmUp(_RunEvent, frozen=True, kw_only=True, tag="warm-up"):
    """Blocks of a cell's warm-up, in the order they came: seconds per call. To be seen, never counted."""

    arm: str
    point: Count
    samples_s: tuple[Seconds, ...]
    """Seconds per call, in the order they came."""


class WarmedUp(_RunEvent, frozen=True, kw_only=True, tag="warmed-up"):
    """The end of a cell's warm-up. `warm` false: the limit came before two windows agreed."""

    arm: str
    point: Count
    seconds: Seconds
    """Of busy time."""
    calls: Count
    """How many calls it took."""
    warm: bool
    """False: the limit came before two windows agreed."""
    at_once: bool = False
    """Its first blocks were as fast as its last."""


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One timed block of one cell: `calls` calls and one sync, in `seconds` (the empty sync subtracted)."""

    arm: str
    point: Count
    calls: Calls
    """How many calls were timed together."""
    seconds: Seconds
    """Of all calls and one synchronisation, less an empty synchronisation."""
    latency_s: Seconds | None = None
    """A single synchronised call measured alongside it, None if none was taken."""

    @property
    def per_call_s(self) -> float:
        """Seconds per call, the sample that the statistics take."""
        return self.seconds / self.calls


class TurnOver(_RunEvent, frozen=True, kw_only=True, tag="turn-over"):
    """This worker has done its turn and waits for the next (`Measure.turns`); only the runner hears it."""


class Round(_RunEvent, frozen=True, kw_only=True, tag="round"):
    """Every live cell once, in random order. Sent at the end of the round."""

    index: Count
    """From 0, over all workers of the run."""
    blocks: tuple[Block, ...]
    elapsed_s: Seconds
    """Since the rounds began."""
    timed_s: Seconds = 0.0
    """Seconds inside timed blocks."""
    canary_s: Seconds | None = None
    """The fixed tiny workload around the round; None if it is off."""
    repeated: bool = False
    """The canary had moved and an earlier attempt at this round was thrown away."""
    worker: Workers = 0
    """Which of the fresh workers measured it."""


class HostWindow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What else happened over some rounds that followed each other, a quarter of a second or one round."""

    first: Count
    """The first of its rounds, from 0: in an event of the process, in a run's state of the run."""
    rounds: Count
    """How many rounds."""
    others: Seconds
    """Processors that others used meanwhile, on average; what a virtual machine's neighbours took counts."""
    canary_s: Seconds
    """The fixed tiny workload around the rounds, their median."""


class HostWatched(_RunEvent, frozen=True, kw_only=True, tag="host"):
    """What else happened while one process did a point's rounds, said when they are over."""

    windows: tuple[HostWindow, ...]


class Accounted(_RunEvent, frozen=True, kw_only=True, tag="account"):
    """Where a call's time goes, as one process found out after its rounds."""

    arm: str
    point: Count
    account: Account
    """Of the calls alongside the profile, not yet held to the arm's median."""


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One op of an arm as it was placed."""

    name: str
    """The node's name in the graph; of eager ops, their type."""
    op: str
    """Its type, `MatMul`."""
    device: str
    """Where it ran, `GPU:0`."""
    kind: Literal["op", "copy", "folded"] = "op"
    """`op`, or `copy` for a transfer between devices (`device` → `to`), or `folded` for what the optimiser
    removed."""
    to: str = ""
    """Of a copy, the device it goes to."""
    memory: str = ""
    """The device whose memory holds the output, where that differs from the device."""
    dtype: str = ""
    """Of its output."""
    requested: str = ""
    """The device that the code or the scope asked for, "" for none."""
    reason: str = ""
    """Why there, in a sentence."""
    bytes: Count = 0
    """Of its output, 0 if not known."""
    count: Calls = 1
    """Equal rows drawn as one."""
    gpu: bool | None = None
    """Whether a GPU of this TensorFlow build would run it with its data on the device; a forecast from the
    kernel registry, None if it does not apply."""
    evidence: str = ""
    """What shows the reason."""
    layer: str = ""
    """Of a model's graph, whose op it is: the layer, or the name scope; "" elsewhere."""
    code: str = ""
    """The stable name of the first cause of its place: `no-kernel`, `scope`."""

    @property
    def on_host(self) -> bool:
        """Whether the host computes the op: on a CPU, or with a GPU's kernel that works in host memory."""
        cpu = family(self.device.rpartition("device:")[2]) == "CPU"
        return self.kind == "op" and (cpu or (self.memory != "" and self.gpu is False))

    @property
    def elsewhere(self) -> bool:
        """Whether the op did not compute on the device that was asked for, or works in host memory."""
        moved = self.device != self.requested or (self.memory != "" and self.gpu is False)
        return self.kind == "op" and self.requested != "" and moved


XLA_PROGRAM = "XLA program"
"""The node that stands for all that XLA compiled into one."""


def ops_of(nodes: Iterable[Node]) -> list[Node]:
    """Return the ops that run among an arm's nodes, but for those of control flow.

    XLA's program is no op of its own: its operations count if it gave them out, else it counts as one.
    """
    ops = [node for node in nodes if node.kind == "op" and node.op not in CONTROL_FLOW]
    inside = any(node.op.startswith("hlo ") for node in ops)
    return [node for node in ops if not (inside and node.op == XLA_PROGRAM)]


class Placement(_RunEvent, frozen=True, kw_only=True, tag="placement"):
    """Where an arm's ops ran, as observed. Several may come for one arm; rows add up."""

    arm: str
    nodes: tuple[Node, ...]
    """Rows; several events of one arm add up."""
    point: Count = 0


class WorkKnown(_RunEvent, frozen=True, kw_only=True, tag="work"):
    """What one call of an arm has to do at a point: as its workload declares it, or read from its graph."""

    arm: str
    point: int
    work: Work


class LayersKnown(_RunEvent, frozen=True, kw_only=True, tag="layers"):
    """What each layer of a model does in an arm's call, and how much of the computing it takes."""

    arm: str
    point: Count
    layers: tuple[LayerWork, ...]
    """Those that take longest first."""


class ModelOpened(_RunEvent, frozen=True, kw_only=True, tag="model"):
    """The run measures a model's file, and this is what it holds."""

    model: ModelInfo


class RoofsKnown(_RunEvent, frozen=True, kw_only=True, tag="roofs"):
    """What a machine of the run was measured to do at most, before the run or after it."""

    roofs: Roofs


class Fact(_RunEvent, frozen=True, kw_only=True, tag="fact"):
    """Something a workload observed alongside time, such as how often a mapped function was traced."""

    name: str
    """A stable name for scripts."""
    value: Value | Finite
    text: str
    """A sentence."""
    arm: str = ""
    """The arm's id, empty for the whole run."""
    point: Count = 0


class Caveat(_RunEvent, frozen=True, kw_only=True, tag="flag"):
    """A doubt about a figure, in words. `arm` empty: about the whole run."""

    code: str
    """A stable name for scripts."""
    message: str
    """A sentence with the numbers behind it."""
    arm: str = ""
    """The arm's id, empty for the whole run."""
    point: Count | None = None
    """Of a sweep; None for the whole arm or run."""


class Profiled(_RunEvent, frozen=True, kw_only=True, tag="profiled"):
    """An arm of the run was profiled in a pass of its own, mostly after the run; the last one counts."""

    arm: str
    profile: Profile


class RunsAlike(_RunEvent, frozen=True, kw_only=True, tag="runs-alike"):
    """Said by the lab at a run's end: what runs of the same settings came to on this machine."""

    arm: str
    """The arm's id: the fastest of this run, and of each of the others."""
    runs: Count
    """How many runs, this one among them."""
    low_s: Seconds
    """The least of their medians, in seconds per call."""
    high_s: Seconds
    """The largest."""


class Finished(_RunEvent, frozen=True, kw_only=True, tag="finished"):
    """The run is over; what was measured before stays valid whatever `status` says."""

    status: Ending
    message: str = ""
    """Why it failed, in a sentence."""
    detail: str = ""
    """A traceback, if there is one."""
    elapsed_s: Seconds = 0.0
    """Seconds of its rounds."""
    reached: Seconds | None = None
    """The largest relative half-width among the cells, None if there is none."""


class Answer(_Event, frozen=True, kw_only=True, tag="answer"):
    """The reply to a question other than a run: `kind` says which struct `body` decodes to."""

    request: str
    """The id of the question."""
    kind: str
    """Which struct `body` decodes to."""
    body: msgspec.Raw
    more: bool = False
    """Further answers to the same request follow."""


class Refused(_Event, frozen=True, kw_only=True, tag="refused"):
    """A request that could not be carried out. `where`, `value`, `expected` as in InputError."""

    request: str
    """Empty if a whole worker is refused; `origin` is then its host's name here."""
    message: str
    """What is wrong and what would be right."""
    detail: str = ""
    """A traceback of the user's own code, if any."""
    where: str = ""
    """The key or file that is wrong."""
    origin: str = ""
    lacking: tuple[str, ...] = ()
    """Arguments of own code whose shapes are needed."""


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
    | TurnOver
    | Round
    | HostWatched
    | Accounted
    | Placement
    | ModelOpened
    | LayersKnown
    | WorkKnown
    | RoofsKnown
    | Fact
    | Caveat
    | Profiled
    | RunsAlike
    | Finished
    | Answer
    | Refused
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """Return one JSON line, newline included."""
    return _encoder.encode(event) + b"\n"


def decode(line: bytes) -> Event:
    """Return the event in a JSON line. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _decoder.decode(line)
