"""The protocol: every message that a worker sends.

Each message is one JSON line, `{"type": …, …}`. Replaying recorded messages shows the same screens as the
live run. Times are in seconds, sizes in bytes.
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
RECORDING_ENDS, RUN_CONTINUES = "the recording ends here", "the run continues in the background"
"""Messages of a replayed run whose end is not recorded."""

# Lines from another machine or a file may contain anything. Reject impossible times and counts here, before
# other code divides by them.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Calls = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]
Difference = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
Finite = Annotated[float, msgspec.Meta(ge=-1e100, le=1e100)]
Workers = Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    pass


class Hello(_Event, frozen=True, kw_only=True, tag="hello"):
    """A worker's first message, sent before it imports TensorFlow."""

    protocol: int
    """The protocol version of these messages, `PROTOCOL`."""
    tuilab: str
    """The version of tuilab."""
    pid: int
    """Process id of the worker."""
    host: str = ""
    """The machine's own host name."""
    parent: int = 0
    """Process id of the worker's parent process; 0 if unknown. parent_since: start time of the parent
    process, in kernel ticks since boot, to recognize a reused process id.
    """
    parent_since: int = 0


class Warming(_Event, frozen=True, kw_only=True, tag="warming"):
    """The worker is starting: its current stage, and the time since its start."""

    stage: str
    """The stage: importing TensorFlow, or opening devices."""
    elapsed_s: Seconds
    """Seconds since the worker started."""
    origin: str = ""
    """The host's name in `Arm.host`; "" for this machine."""


class Ready(_Event, frozen=True, kw_only=True, tag="ready"):
    """TensorFlow is imported and its devices are open."""

    machine: Machine
    import_s: Seconds
    """Seconds to import TensorFlow."""
    start_s: Seconds
    """Seconds to open the devices."""
    origin: str = ""
    """The host's name in `Arm.host`; "" for this machine."""


class Log(_Event, frozen=True, kw_only=True, tag="log"):
    """A log line from TensorFlow, the user's code or the lab."""

    text: str
    level: Literal["debug", "info", "warning", "error"] = "info"
    source: str = "tensorflow"
    """Origin of the line: `tensorflow`, `user` or `tuilab`."""
    run: str = ""
    """Id of the run; empty outside a run."""

    @property
    def message(self) -> str:
        """The message without its time and source location, so that it fits in 80 columns."""
        return _PREFIX.sub("", self.text)


_PREFIX = re.compile(r"^(?:\d{4}-\d\d-\d\d [\d:.]+: [IWEF] |[IWEF]\d{4} [\d:.]+\s+\d+ )\S+?:\d+\] +(?=\S)")
"""Matches the prefix of log lines from TensorFlow and Abseil: time, level and source location."""


class WorkerExited(_Event, frozen=True, kw_only=True, tag="worker-exited"):
    """The worker process has ended. The runner sends this event, not the worker."""

    code: int
    """Exit code; negative if a signal killed the process."""
    message: str
    """Why the process ended, in words."""
    expected: bool = False
    """True if the worker was asked to exit."""
    origin: str = ""
    """The host's name in `Arm.host`; "" for this machine."""


class Declared(_Event, frozen=True, kw_only=True, tag="declared"):
    """The declaration of the user's function or of an installed workload."""

    request: str
    """Id of the `Declare` request that this event answers."""
    file: str
    """`path/to/file.py:name`, or the name of an installed workload."""
    declaration: Declaration


class _RunEvent(_Event, frozen=True, kw_only=True):
    run: str
    """The run's id."""


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One point of a sweep; without a sweep, the single point of a run."""

    index: Count
    """Index of the point in the run, from 0."""
    values: dict[str, Value] = {}
    """The parameter values that differ from the scenario's; empty without a sweep."""


class RunStarted(_RunEvent, frozen=True, kw_only=True, tag="run-started"):
    """A run starts. A sweep may add points later (`point-added`)."""

    scenario: Scenario
    arms: tuple[Arm, ...]
    points: tuple[Point, ...]
    """Points known at the start of the run."""
    budget: Budget
    machine: Machine
    at: str
    """Start time in UTC, ISO 8601."""
    preset: str = ""
    apart: str = ""
    """How the sizes and dtypes differ from those that the preset's claims are about, such as `with samples
    4,096 instead of 256`; "" if they do not.
    """
    sweep: Sweep | None = None
    worker: Workers = 0
    """Index of the process among the processes of the run, from 0."""
    zygote: int | None = None
    """For a forked process, the index of the zygote that it was forked from; None for a fresh process."""
    code: dict[str, str] = {}
    """Hashes of the user's files at the time this process read them, by file name."""


class MachineJoined(_RunEvent, frozen=True, kw_only=True, tag="machine-joined"):
    """Another host measures some of the run's arms, or a fleet node measures some of the run's sweep points.

    A fleet node's times come from the node's own clock.
    """

    host: str
    """The host's name in `Arm.host`; in a fleet, the node's name."""
    machine: Machine
    points: tuple[Count, ...] = ()
    """In a fleet, the sweep points that the node measured."""
    began: Difference | None = None
    """Start of a fleet node's part of the run, in seconds of the node's clock; comparable only with other
    times of the same node.
    """
    ended: Difference | None = None
    """End of a fleet node's part of the run, in seconds of the node's clock."""


class PointAdded(_RunEvent, frozen=True, kw_only=True, tag="point-added"):
    """The sweep has a new point, which `run-started` did not list."""

    point: Point


class Progress(_RunEvent, frozen=True, kw_only=True, tag="progress"):
    """The current stage of the run, and how much of it is done."""

    stage: str
    """What the run is doing, in words."""
    done: Seconds = 0.0
    """The amount of work done, in `unit`."""
    total: Seconds = 0.0
    """The total amount of work, in `unit`; 0 if unknown."""
    unit: str = ""
    """Unit of `done` and `total`: `s`, `share`, or the name of the counted things."""
    arm: str = ""
    """The arm's id; empty if the stage concerns the whole run."""


class ArmStatus(_RunEvent, frozen=True, kw_only=True, tag="arm-status"):
    """The status of an arm: it computes, cannot run here (`unavailable`), or raised an error (`failed`)."""

    arm: str
    """The arm's id."""
    status: Status
    device: str | None = None
    """The observed device; None if nothing ran."""
    reason: str = ""
    """Why the arm has this status, in a sentence."""
    detail: str = ""
    """A traceback, if any."""
    error: tuple[str, ...] = ()
    """The exception type and its bases, most derived first."""
    point: Count | None = None
    """The sweep point; None if the status is that of the whole arm."""


class FirstCalls(_RunEvent, frozen=True, kw_only=True, tag="first-calls"):
    """The times of the first call, which traces and compiles, and of the second call."""

    arm: str
    point: Count
    first_s: Seconds
    """Seconds of the first call, including tracing, optimizing and compiling."""
    second_s: Seconds
    """Seconds of the second call."""


class WarmUp(_RunEvent, frozen=True, kw_only=True, tag="warm-up"):
    """Warm-up blocks of an arm at one point: shown, but not included in any figure."""

    arm: str
    point: Count
    samples_s: tuple[Seconds, ...]
    """Seconds per call in each warm-up block, in order."""


class WarmedUp(_RunEvent, frozen=True, kw_only=True, tag="warmed-up"):
    """The warm-up of an arm at one point has ended."""

    arm: str
    point: Count
    seconds: Seconds
    """Seconds spent in the warm-up's calls."""
    calls: Count
    """Number of calls in the warm-up."""
    warm: bool
    """False if the time limit was reached before two consecutive windows of calls were equally fast."""
    at_once: bool = False
    """True if the first blocks were as fast as the last."""


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One timed block: several calls of one arm in a row, and one synchronization at the end."""

    arm: str
    point: Count
    calls: Calls
    """Number of calls timed together."""
    seconds: Seconds
    """Seconds of all calls and one synchronization, minus the time of an empty synchronization."""
    latency_s: Seconds | None = None
    """Seconds of a single synchronized call after the block; None if not measured."""

    @property
    def per_call_s(self) -> float:
        """Seconds per call, used as the sample for the statistics."""
        return self.seconds / self.calls


class TurnOver(_RunEvent, frozen=True, kw_only=True, tag="turn-over"):
    """This worker has finished its turn and waits for its next one (`Measure.turns`).

    Only the runner reads this event.
    """


class Round(_RunEvent, frozen=True, kw_only=True, tag="round"):
    """One round: one block of every active arm, in random order."""

    index: Count
    """Index of the round, from 0, over all workers of the run."""
    blocks: tuple[Block, ...]
    elapsed_s: Seconds
    """Seconds since the rounds began."""
    timed_s: Seconds = 0.0
    """Seconds inside timed blocks of this round."""
    canary_s: Seconds | None = None
    """Seconds of the small fixed workload that runs before and after the round; None if that workload is
    off.
    """
    repeated: bool = False
    """True if this round was repeated: the canary's time had changed, and the earlier attempt was discarded.
    """
    worker: Workers = 0
    """Index of the worker that measured the round."""


class HostWindow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The load from other processes during one round, or during several short rounds that together last a
    quarter of a second.
    """

    first: Count
    """Index of the first round, from 0: in an event, among the rounds of one process; in a run's state, among
    the rounds of all processes.
    """
    rounds: Count
    """Number of rounds that this window covers."""
    others: Seconds
    """Average number of processors used by other processes, and by other virtual machines on the same
    host.
    """
    canary_s: Seconds
    """Median time of the small fixed workload that runs before and after each round."""


class HostWatched(_RunEvent, frozen=True, kw_only=True, tag="host"):
    """The load from other processes while one process measured a point; sent after the point's rounds."""

    windows: tuple[HostWindow, ...]


class Accounted(_RunEvent, frozen=True, kw_only=True, tag="account"):
    """The time of a call split into phases, which a process measures after its rounds."""

    arm: str
    point: Count
    account: Account
    """The account as measured: it adds up to the time of a call without the profiler, not to the arm's
    median.
    """


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """An op of an arm, or a copy between devices, and its placement."""

    name: str
    """The node's name in the graph; for an eager op, its type."""
    op: str
    """Op type, such as `MatMul`."""
    device: str
    """The device that ran the op: `GPU:0`."""
    kind: Literal["op", "copy", "folded"] = "op"
    """`op`; `copy` for a transfer between devices (`device` → `to`); `folded` if the optimizer removed the
    op.
    """
    to: str = ""
    """Target device of a copy."""
    memory: str = ""
    """The device whose memory holds the output, if it is not `device`."""
    dtype: str = ""
    """Dtype of the output."""
    requested: str = ""
    """The device that the code or its device scope requested; "" if none."""
    reason: str = ""
    """The reason for the placement, in a sentence."""
    bytes: Count = 0
    """Bytes of the output; 0 if not known."""
    count: Calls = 1
    """Number of identical nodes that this node represents."""
    gpu: bool | None = None
    """Forecast from the kernel registry: True if a GPU would run the op in this TensorFlow build, with the
    op's data on the GPU; None if the question does not apply.
    """
    evidence: str = ""
    """What `reason` is based on, such as the dtypes in the kernel registry."""
    layer: str = ""
    """For a model, the layer or name scope of the op; "" otherwise."""
    code: str = ""
    """A stable code for `reason`, or for the first reason of several: `no-kernel`, `scope`."""

    @property
    def on_host(self) -> bool:
        """True if the host computes the op, on a CPU or in a GPU kernel that works in host memory."""
        cpu = family(self.device.rpartition("device:")[2]) == "CPU"
        return self.kind == "op" and (cpu or (self.memory != "" and self.gpu is False))

    @property
    def elsewhere(self) -> bool:
        """True if the op did not compute on the requested device, or if it works in host memory."""
        moved = self.device != self.requested or (self.memory != "" and self.gpu is False)
        return self.kind == "op" and self.requested != "" and moved


XLA_PROGRAM = "XLA program"
"""Name of the node for everything that XLA compiled into one program."""


def ops_of(nodes: Iterable[Node]) -> list[Node]:
    """Return the ops that an arm runs, without control flow.

    An XLA program counts as the ops that it reported, or as one op if it reported none.
    """
    ops = [node for node in nodes if node.kind == "op" and node.op not in CONTROL_FLOW]
    inside = any(node.op.startswith("hlo ") for node in ops)
    return [node for node in ops if not (inside and node.op == XLA_PROGRAM)]


def copies_of(nodes: Iterable[Node]) -> list[Node]:
    """Return the copies of an arm that cross from one memory to another.

    Omits copies with `memory` set: their data are results that a GPU op wrote to host memory, and that stay
    there.
    """
    return [node for node in nodes if node.kind == "copy" and not node.memory]


class Placement(_RunEvent, frozen=True, kw_only=True, tag="placement"):
    """The devices on which the ops of an arm were observed to run."""

    arm: str
    nodes: tuple[Node, ...]
    """The ops and copies. If an arm has several placement events, their ops and copies add up."""
    point: Count = 0


class WorkKnown(_RunEvent, frozen=True, kw_only=True, tag="work"):
    """The work of one call at a point, as declared by the workload or counted in the graph."""

    arm: str
    point: int
    work: Work


class LayersKnown(_RunEvent, frozen=True, kw_only=True, tag="layers"):
    """The work of each layer in a call, and the layer's share of the computing time."""

    arm: str
    point: Count
    layers: tuple[LayerWork, ...]
    """The layers, longest-running first."""


class ModelOpened(_RunEvent, frozen=True, kw_only=True, tag="model"):
    """The content of the model file that a run measures."""

    model: ModelInfo


class RoofsKnown(_RunEvent, frozen=True, kw_only=True, tag="roofs"):
    """The roofs (hardware limits) of a machine in the run, measured before or after the run."""

    roofs: Roofs


CHOSEN = "argument:"
"""Prefix of the name of a fact: the integer that tuilab chose for an argument of a user's function."""


class Fact(_RunEvent, frozen=True, kw_only=True, tag="fact"):
    """An observation other than time, such as the number of traces of a mapped function."""

    name: str
    """A stable name of the fact, for scripts."""
    value: Value | Finite
    text: str
    """The observation, in a sentence."""
    arm: str = ""
    """The arm's id; empty for the whole run."""
    point: Count = 0


class Caveat(_RunEvent, frozen=True, kw_only=True, tag="flag"):
    """A doubt about a figure, in words. `arm` is empty if the doubt concerns the whole run."""

    code: str
    """A stable name of the caveat, for scripts."""
    message: str
    """The caveat in a sentence, with its numbers."""
    arm: str = ""
    """The arm's id; empty for the whole run."""
    point: Count | None = None
    """The sweep point; None if the caveat is about the whole arm or run."""


class Profiled(_RunEvent, frozen=True, kw_only=True, tag="profiled"):
    """An arm was profiled in a separate pass, usually after the run.

    If an arm has several of these events, the last one counts.
    """

    arm: str
    profile: Profile


class RunsAlike(_RunEvent, frozen=True, kw_only=True, tag="runs-alike"):
    """The range of results from this run and earlier runs with the same settings on this machine.

    The lab adds this event at the end of a run.
    """

    arm: str
    """Id of the arm that was fastest in all the compared runs."""
    runs: Count
    """Number of compared runs, including this one."""
    low_s: Seconds
    """The smallest median of the `runs`, in seconds per call."""
    high_s: Seconds
    """The largest median of the `runs`, in seconds per call."""


class Finished(_RunEvent, frozen=True, kw_only=True, tag="finished"):
    """The run has ended. Its measurements are valid whatever its `status`."""

    status: Ending
    message: str = ""
    """Why the run failed, in a sentence."""
    detail: str = ""
    """A traceback, if there is one."""
    elapsed_s: Seconds = 0.0
    """Total seconds of the run's rounds."""
    reached: Seconds | None = None
    """Half of an arm's 95% interval divided by its median, the largest of all arms; None if no arm has an
    interval.
    """
    roofs_due: bool = False
    """True if the machine's roofs (hardware limits) must still be measured, because the request had
    `roofs_later`.
    """


class Answer(_Event, frozen=True, kw_only=True, tag="answer"):
    """The reply to an `Ask` request. `kind` determines the struct of `body`."""

    request: str
    """The id of the `Ask` request."""
    kind: str
    """The kind of reply, which determines the struct of `body`."""
    body: msgspec.Raw
    more: bool = False
    """True if more answers to the request follow."""


class Refused(_Event, frozen=True, kw_only=True, tag="refused"):
    """A request could not be carried out.

    `where`, `value` and `expected` are the fields of InputError.
    """

    request: str
    """The request's id; empty if the lab rejects the worker on the host `origin` because of the worker's
    protocol version.
    """
    message: str
    """What is wrong with the request, and what was expected."""
    detail: str = ""
    """A traceback in the user's own code, if there is one."""
    where: str = ""
    """The key or file with the problem."""
    origin: str = ""
    lacking: tuple[str, ...] = ()
    """Arguments of the user's function that need shapes."""
    suggested: tuple[str, ...] = ()
    """For each argument in `lacking`, a shape that the function accepts; an empty list if none was found."""


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


def kind_of(line: bytes) -> bytes:
    """Return the kind of an encoded event, such as `b"round"`, without decoding the rest of the line."""
    return line[:40].partition(b'"type":"')[2].partition(b'"')[0]


def decode(line: bytes) -> Event:
    """Return the event in a JSON line. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _decoder.decode(line)
