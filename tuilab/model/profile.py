"""Where the time of a call went, op by op: a question to a worker and its answers. Seconds throughout."""

from typing import Literal

import msgspec

from tuilab.model.account import Account
from tuilab.model.arms import Arm
from tuilab.model.scenario import Scenario

Phase = Literal["compute", "copy", "input", "scheduling", "dispatch", "sync", "python"]
"""What an event of the timeline is; an account's parts are coarser (`model.account`)."""


class ProfileArm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `profile`: one arm of a scenario, run for about that many seconds."""

    scenario: Scenario
    arm: Arm
    seconds: float = 0.5
    spans: int = 20_000
    """The most spans of the timeline to send."""
    raw: bool = False
    """Send the profiler's own file too, as `ProfileFile`."""


class Lane(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the timeline: a thread of the host (device `CPU`), or a stream of a GPU (`GPU:0`)."""

    name: str
    device: str


class Span(msgspec.Struct, frozen=True, array_like=True):
    """One event on the lane of that index"""

    lane: int
    start_s: float
    """Since the first call began."""
    duration_s: float
    name: str
    phase: str = ""
    """"" for none."""

    @property
    def end_s(self) -> float:
        """When it ends, by the same clock."""
        return self.start_s + self.duration_s


class OpTime(msgspec.Struct, frozen=True, kw_only=True):
    """One op's time in a call."""

    op: str
    name: str
    device: str
    phase: Phase
    """`compute`, `copy`, or `input` for ops of the input pipeline, which run alongside the call (seconds 0).
    """
    count: float
    """Runs in one call."""
    seconds: float
    """Of the call's own time; while several ops run at once each has its share, so that these add up."""
    busy_s: float
    """The op's own durations, which may overlap."""


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """One phase's part of a call; the phases of a profile add up to its `measured_s`."""

    phase: str
    """As in `account`."""
    seconds: float
    share: float


class DeviceTime(msgspec.Struct, frozen=True, kw_only=True):
    """How long a device was at work in a call: at least one of its ops ran."""

    device: str
    seconds: float
    share: float


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One arm, profiled in a pass of its own."""

    workload: str
    arm: str
    device: str
    calls: int
    """How many were profiled."""
    step_s: float
    """Mean seconds of a profiled call; they follow one another."""
    measured_s: float
    """Of a call in blocks alongside them without the profiler."""
    ops_s: float
    """The sum of the ops' seconds."""
    rest: str
    """What fills the step alongside the ops, in words."""
    phases: tuple[PhaseTime, ...]
    devices: tuple[DeviceTime, ...]
    ops: tuple[OpTime, ...]
    """By seconds, descending; behind the first 500 a row for all others of one type."""
    lanes: tuple[Lane, ...]
    spans: tuple[Span, ...]
    ops_left: int = 0
    """Nodes that share such a row."""
    spans_left: int = 0
    """Events of the timeline cut off."""
    diagnosis: tuple[str, ...] = ()
    """What it means, in sentences."""
    account: Account | None = None
    """Where a call's time goes; None in a profile of a version up to 0.1."""
    notes: tuple[str, ...] = ()
    """What is missing or in doubt, such as a GPU that the profiler may not look into."""


class ProfileFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the folder that TensorBoard reads."""

    path: str
    """Inside that folder."""
    data: bytes
    """Base64 in JSON."""
