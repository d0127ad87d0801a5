"""A call's time, op by op: a question to a worker and its answers. Times in seconds."""

from typing import Literal

import msgspec

from tuilab.model.account import Account
from tuilab.model.arms import Arm
from tuilab.model.scenario import Scenario

Phase = Literal["compute", "copy", "input", "scheduling", "dispatch", "sync", "python"]
"""Kind of a timeline event. An account has coarser phases (`model.account`)."""


class ProfileArm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `profile`: one arm of a scenario and about how long to run it."""

    scenario: Scenario
    arm: Arm
    seconds: float = 0.5
    spans: int = 20_000
    """Maximum number of timeline spans to send."""
    raw: bool = False
    """Also send the profiler's own file, as `ProfileFile`."""


class Lane(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the timeline: a host thread (device `CPU`), or a GPU stream (`GPU:0`)."""

    name: str
    device: str


class Span(msgspec.Struct, frozen=True, array_like=True):
    """One event on the lane with that index."""

    lane: int
    start_s: float
    """Seconds since the first call began."""
    duration_s: float
    name: str
    phase: str = ""
    """"" for none."""

    @property
    def end_s(self) -> float:
        """End of the span, in seconds since the first call began."""
        return self.start_s + self.duration_s


class OpTime(msgspec.Struct, frozen=True, kw_only=True):
    """One op's time in a call."""

    op: str
    name: str
    device: str
    phase: Phase
    """`compute`, `copy`, or `input` for ops of the input pipeline, which run in parallel (seconds 0)."""
    count: float
    """Executions per call."""
    seconds: float
    """Share of the call's time. Ops that overlap share it, so that the values add up."""
    busy_s: float
    """Total duration of the op's executions, which may overlap."""


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of a call; the phases of a profile add up to `measured_s`."""

    phase: str
    """As in `account`."""
    seconds: float
    share: float


class DeviceTime(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a call in which a device ran at least one op."""

    device: str
    seconds: float
    share: float


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One arm, profiled in a separate pass."""

    workload: str
    arm: str
    device: str
    calls: int
    """Number of profiled calls."""
    step_s: float
    """Mean seconds from one profiled call to the next."""
    measured_s: float
    """Seconds of a call in nearby blocks without the profiler."""
    ops_s: float
    """Total seconds of the ops."""
    rest: str
    """The rest of the step, in words."""
    phases: tuple[PhaseTime, ...]
    devices: tuple[DeviceTime, ...]
    ops: tuple[OpTime, ...]
    """Sorted by seconds; after the first 500, one row for all others of a type."""
    lanes: tuple[Lane, ...]
    spans: tuple[Span, ...]
    ops_left: int = 0
    """Number of nodes in such rows."""
    spans_left: int = 0
    """Number of timeline events cut off."""
    diagnosis: tuple[str, ...] = ()
    """The diagnosis, in sentences."""
    account: Account | None = None
    """The account of a call; None in profiles of version 0.1 and older."""
    notes: tuple[str, ...] = ()
    """Missing or doubtful parts, such as a GPU that the profiler may not access."""


class ProfileFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a TensorBoard folder."""

    path: str
    """Path in that folder."""
    data: bytes
    """Base64 in JSON."""
