"""The request for an op-by-op profile of a call, and the worker's answers. Times are in seconds."""

from typing import Literal

import msgspec

from tuilab.model.account import Account
from tuilab.model.arms import Arm
from tuilab.model.scenario import Scenario

Phase = Literal["compute", "copy", "input", "scheduling", "dispatch", "sync", "python"]
"""The kinds of timeline events. The phases of an account are coarser (`model.account`)."""


class ProfileArm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the request `profile`: one arm of a scenario, and the approximate number of seconds to
    run it.
    """

    scenario: Scenario
    arm: Arm
    seconds: float = 0.5
    spans: int = 20_000
    raw: bool = False
    """Whether to send the profiler's own files too, each as a `ProfileFile`."""


class Lane(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the timeline: a host thread (device `CPU`), or a GPU stream (`GPU:0`)."""

    name: str
    device: str


class Span(msgspec.Struct, frozen=True, array_like=True):
    """One event on a lane of the timeline. lane: the index of that lane."""

    lane: int
    start_s: float
    """Seconds since the first call began."""
    duration_s: float
    name: str
    phase: str = ""
    """The phase of the event; "" if it has none."""

    @property
    def end_s(self) -> float:
        return self.start_s + self.duration_s


class OpTime(msgspec.Struct, frozen=True, kw_only=True):
    """The time that one op takes in a call."""

    op: str
    name: str
    device: str
    phase: Phase
    """`compute`, `copy`, or `input` for ops of the input pipeline, which run in parallel with the call and
    take 0 `seconds`.
    """
    count: float
    """Number of executions per call."""
    seconds: float
    """Seconds of the call attributed to the op. The time of overlapping ops is divided among them, so that
    the values add up to `ops_s`.
    """
    busy_s: float
    """Total duration of the op's executions, which may overlap."""


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """The time of one phase in a call. The phases of a profile add up to its `measured_s`."""

    phase: str
    """Name of the phase, as in `account`."""
    seconds: float
    share: float


class DeviceTime(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a call during which a device was running at least one op."""

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
    """Seconds per call without the profiler, timed shortly before or after profiling."""
    ops_s: float
    """Sum of the ops' seconds."""
    rest: str
    """What takes the time of a step outside the ops (`ops_s`), in words."""
    phases: tuple[PhaseTime, ...]
    devices: tuple[DeviceTime, ...]
    ops: tuple[OpTime, ...]
    """The ops, longest first. After the first 500, all remaining ops of a type share one row."""
    lanes: tuple[Lane, ...]
    spans: tuple[Span, ...]
    ops_left: int = 0
    """Number of ops that share a row with other ops of their type (see `ops`)."""
    spans_left: int = 0
    """Number of timeline events omitted from `spans`."""
    diagnosis: tuple[str, ...] = ()
    """What takes the time of a call, in sentences, beginning with the most informative."""
    account: Account | None = None
    """The time of a call split into phases; None if the profile comes from version 0.1 or older."""
    notes: tuple[str, ...] = ()
    """Missing or doubtful parts, such as a GPU that the profiler may not access."""


class ProfileFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    """The file's path in a TensorBoard log folder."""
    data: bytes
    """Content of the file; Base64 in JSON."""
