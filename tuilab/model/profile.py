"""The request for a call's op-by-op profile, and the worker's answers. Times are in seconds."""

from typing import Literal

import msgspec

from tuilab.model.account import Account
from tuilab.model.arms import Arm
from tuilab.model.scenario import Scenario

Phase = Literal["compute", "copy", "input", "scheduling", "dispatch", "sync", "python"]
"""Kind of a timeline event. The phases of an account are coarser (`model.account`)."""


class ProfileArm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the request `profile`: one arm of a scenario, and the approximate seconds to run it."""

    scenario: Scenario
    arm: Arm
    seconds: float = 0.5
    spans: int = 20_000
    """Maximum number of timeline spans to send."""
    raw: bool = False
    """Whether to send the profiler's own file too, as `ProfileFile`."""


class Lane(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the timeline: a host thread (device `CPU`), or a GPU stream (`GPU:0`)."""

    name: str
    device: str


class Span(msgspec.Struct, frozen=True, array_like=True):
    """One event on a lane of the timeline. lane: the lane's index."""

    lane: int
    start_s: float
    """Seconds since the first call began."""
    duration_s: float
    name: str
    phase: str = ""
    """The span's phase; "" if it has none."""

    @property
    def end_s(self) -> float:
        """End of the span, in seconds since the first call began."""
        return self.start_s + self.duration_s


class OpTime(msgspec.Struct, frozen=True, kw_only=True):
    """The time that one op takes in a call."""

    op: str
    name: str
    device: str
    phase: Phase
    """`compute`, `copy`, or `input` for ops of the input pipeline, which run in parallel and take 0
    `seconds`.
    """
    count: float
    """Executions per call."""
    seconds: float
    """The part of the call's time attributed to the op, in seconds. The time of overlapping ops is divided
    among them, so that the values add up.
    """
    busy_s: float
    """Total duration of the op's executions, which may overlap."""


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """The time of one phase in a call; all phases of a profile add up to `measured_s`."""

    phase: str
    """Name of the phase, as in `account`."""
    seconds: float
    share: float


class DeviceTime(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a call during which a device ran at least one op."""

    device: str
    seconds: float
    share: float


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The profile of one arm, taken in a separate pass."""

    workload: str
    arm: str
    device: str
    calls: int
    """Number of profiled calls."""
    step_s: float
    """Mean seconds from one profiled call to the next."""
    measured_s: float
    """Seconds per call without the profiler, timed shortly before or after the profiled calls."""
    ops_s: float
    """Sum of the ops' seconds."""
    rest: str
    """The cause of the rest of the step time, in words."""
    phases: tuple[PhaseTime, ...]
    devices: tuple[DeviceTime, ...]
    ops: tuple[OpTime, ...]
    """Ops sorted by seconds. After the first 500, there is one row for all further ops of each type."""
    lanes: tuple[Lane, ...]
    spans: tuple[Span, ...]
    ops_left: int = 0
    """Number of ops that were merged into rows for a whole op type (see `ops`)."""
    spans_left: int = 0
    """Number of timeline events that were left out."""
    diagnosis: tuple[str, ...] = ()
    """The diagnosis, in sentences."""
    account: Account | None = None
    """The time of a call split into phases; None in profiles of version 0.1 and older."""
    notes: tuple[str, ...] = ()
    """Missing or doubtful parts, such as a GPU that the profiler may not access."""


class ProfileFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a TensorBoard log folder."""

    path: str
    """Path within the log folder."""
    data: bytes
    """Content of the file, Base64 in JSON."""
