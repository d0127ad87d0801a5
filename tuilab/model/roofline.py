"""Work, roofs and bounds: what a call must do, what a machine can do, and what follows."""

from typing import Literal

import msgspec

BoundBy = Literal[
    "arithmetic", "memory", "compute", "launches", "copies", "stalls", "input", "python", "not known"
]
"""The largest part of a call; `compute` if neither the arithmetic nor the memory roof is near."""


BOUND_WORDS = {"compute": "neither roof", "stalls": "waiting for the host"}
"""Wording for parts whose names could be mistaken for a roof."""


def binding(by: BoundBy) -> str:
    """Return the limiting part in words: a near roof, `neither roof`, `launches`, …"""
    return BOUND_WORDS.get(by, by)


class Stay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ops of one type that stay on the CPU because they have no GPU kernel."""

    op: str
    runs: float
    """Executions per call."""
    reason: str
    """Why no GPU runs it."""
    to_host: float = 0.0
    """Bytes of its inputs that a GPU made and that cross the bus."""
    to_device: float = 0.0
    """Bytes of its results that a GPU reads."""
    seconds: float | None = None
    """Their seconds per call on this host's CPU, by the profiler; None if not measured."""


class Kernels(msgspec.Struct, frozen=True, array_like=True):
    """Equal kernel launches: a row of `Work.each`."""

    dtype: str
    """Dtype of the computation, as the roofs name it."""
    flop: float
    """Operations per execution."""
    bytes: float
    """Bytes read and written per execution."""
    runs: float
    """Executions per call."""


class Work(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The minimum work of one call. None means not known."""

    flop: float | None = None
    """Arithmetic operations by convention; a multiply-add counts as two."""
    least_flop: float | None = None
    """Operations that no known algorithm avoids, if fewer than the convention."""
    by_dtype: dict[str, float] = {}
    """Operations by dtype, if there are several."""
    inputs: float | None = None
    """Bytes of the arguments, each counted once."""
    read: float | None = None
    """Bytes of the arguments that are read, if fewer: a lookup's rows, a slice."""
    outputs: float | None = None
    """Bytes of the results, each counted once."""
    state: float = 0.0
    """Other bytes that every call reads or writes on the device, such as weights."""
    dtype: str = "float32"
    """Dtype of the computation, as the roofs name it; `tf32` if float32 may be multiplied as such."""
    to_device: float = 0.0
    """Bytes copied from the host to another device in every call, even for resident inputs."""
    to_host: float = 0.0
    """Bytes copied back in every call."""
    host_s: float = 0.0
    """Host processor seconds per call on any device, such as preparing images."""
    host_parallel: bool = False
    """True if the host can spread them over its processors."""
    host_only: bool = False
    """True if the host does the work on any device (zlib), so no GPU is faster."""
    kernels: float | None = None
    """Minimum number of GPU kernels per call, including loop iterations."""
    each: tuple[Kernels, ...] = ()
    """Those kernels; () if only their sum is known."""
    serial: float = 0.0
    """Iterations of the longest loop; they run in sequence in any mode."""
    uncounted: tuple[str, ...] = ()
    """Op types whose arithmetic is not counted, most frequent first."""
    stays: tuple[Stay, ...] = ()
    """Ops without a GPU kernel; their work stays on the host."""
    gpu: "Work | None" = None
    """With such ops: the rest, which a GPU can do."""
    note: str = ""
    """The counting convention, if one was needed."""
    does: str = ""
    """What the call does, if other arms of the workload do something else: `inflating`."""

    @property
    def needed_flop(self) -> float | None:
        """The operations that a bound may count."""
        return self.flop if self.least_flop is None else self.least_flop

    @property
    def bytes(self) -> float | None:
        """Minimum bytes between the device and its memory."""
        if self.inputs is None or self.outputs is None:
            return None
        return (self.inputs if self.read is None else self.read) + self.outputs + self.state


class MemoryRoof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Memory bandwidth for a working set."""

    working_set: int
    """Bytes that the loop goes through repeatedly."""
    bytes_per_s: float
    """The fastest of triad, copy and read, counted as in STREAM (no write-allocate)."""


class LinkRoof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Copies between host and device: latency + bytes / rate."""

    latency_s: float
    """Seconds of an empty copy, in the slower direction."""
    to_device: float | None = None
    """Bytes per second; None if the time does not depend on the size."""
    to_host: float | None = None
    """Bytes per second in the other direction."""


class DeviceRoofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The best figures seen on a device."""

    memory: tuple[MemoryRoof, ...] = ()
    """By working set, ascending. The last is the device's memory, the others are caches."""
    triad: float = 0.0
    """Bytes/s of a(i) = b(i) + s · c(i) in its memory; on a CPU, of STREAM's Add, which moves the same."""
    peaks: dict[str, float] = {}
    """FLOP per second by dtype, from a large matrix product."""
    launch_s: dict[str, float] = {}
    """Seconds of a call that does nothing, by mode: one eager op, one graph, one XLA program."""
    copied_s: dict[str, float] = {}
    """The same with the call's copying code, by mode; a CPU copies nothing."""
    link: LinkRoof | None = None
    """Copies to and from host memory; None for the host's processor."""


BUSY = 0.25
"""Share of the processors above which other load matters."""


class Roofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Measured roofs of a machine. Each figure is the best ever seen there."""

    machine: str
    """The machine (`Machine.key`): host, processor, cores, memory, TensorFlow, driver."""
    at: str
    """Time of the last measurement: UTC, ISO 8601."""
    seconds: float
    """Seconds of the measurement."""
    sync_s: float
    """Seconds of one synchronisation with nothing to wait for."""
    others: float = 0.0
    """Share of the processors (0 … 1) that others used meanwhile; the roofs may be too low."""
    devices: dict[str, DeviceRoofs] = {}
    """By TensorFlow's name, `CPU:0`."""
    least: float | None = None
    """The smallest difference (0.07: 7%) that twenty rounds detect nine times in ten; None: not measured."""

    @property
    def busy(self) -> bool:
        """True if the machine was never idle: then an empty call took longer than necessary."""
        return self.others > BUSY


ROOFS_S = 1.0
"""About how long roofs are measured after a machine's first run; `tuilab machine` takes longer."""


class AskRoofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `roofs`."""

    seconds: float = 3.0
    """About how long to measure."""


class ArmRoof(msgspec.Struct, frozen=True, kw_only=True):
    """An arm relative to the roof of the device that computed it."""

    flop: float | None
    bytes: float | None
    flop_per_s: float | None
    """Achieved, from the median."""
    bytes_per_s: float | None
    """Achieved, from the minimum bytes of a call."""
    roof: str
    """The roof, in words."""
    bound_s: float | None
    """Minimum seconds of a call on the device, by its measured roofs."""
    share: float | None
    """Share of the roof (0 … 1): bound over median."""
    bound_by: BoundBy
    """The largest part of a call."""
    uncounted: tuple[str, ...] = ()
    """Op types whose arithmetic is not counted: with any, the figures are lower bounds."""
    sentence: str = ""


Limit = Literal[
    "arithmetic",
    "memory bandwidth",
    "launches",
    "copies",
    "starting the call",
    "the CPU ops that stay",
    "preparing the input",
    "the host's own work",
]
"""The largest term of a bound."""


class GpuBound(msgspec.Struct, frozen=True, kw_only=True):
    """Lower bound of a call's time on a GPU you do not have. Nothing is measured."""

    gpu: str
    """The data sheet's name, `h100`."""
    name: str
    """The display name, `H100`."""
    input: str
    """`resident` or `copied`."""
    mode: str
    """The mode with the smallest bound."""
    seconds: float
    """Lower bound in seconds."""
    variant: str = ""
    """The workload's variant, `training`; "" if it has none."""
    dtype: str = ""
    """The arm's dtype; "" if dtype is not selectable."""
    arithmetic_s: float = 0.0
    memory_s: float = 0.0
    kernels_s: float = 0.0
    """Sum over all kernels of the longest of arithmetic, memory and launch."""
    launches_s: float = 0.0
    """Launching the kernels one by one, in eager or graph mode."""
    kernels: int = 1
    """Number of kernels."""
    copies_s: float = 0.0
    host_s: float = 0.0
    """Seconds spent by this host, with any GPU."""
    stays_s: float = 0.0
    """Seconds of the ops without a GPU kernel, measured on this host's CPU."""
    stays: tuple[Stay, ...] = ()
    """Those ops."""
    limited_by: Limit = "arithmetic"
    """The largest term."""
    measured_s: float | None = None
    """The fastest measured CPU arm of the same variant and dtype; None if there is none."""
    at_most: float | None = None
    """Upper bound of the speedup over that arm; below 1 the GPU cannot win. None if not known."""
    expected_s: tuple[float, float] | None = None
    """Expected seconds, from published timings and their bounds."""
    expected: tuple[float, float] | None = None
    """The resulting speedups, smaller first."""
    busy: tuple[float, float] | None = None
    """`at_most` if starting a call costs what it did on this busy host, and if it costs nothing; None if
    it was measured on an idle host.
    """
    verdict: Literal["cannot win", "could win", "not known"] = "not known"
    why: str = ""
    """Why it is not known, or why no card can win."""
    unknown: tuple[str, ...] = ()
    """Unknown facts about the work or the GPU, counted as zero."""
    fits: bool = True
    """True if the call fits in GPU memory."""


class BoundPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU's bound at one size of a sweep."""

    value: int
    resident_s: float | None
    copied_s: float | None


class SweepBound(msgspec.Struct, frozen=True, kw_only=True):
    """The best case along a sweep's axis, and the smallest size at which the GPU could win."""

    gpu: str
    name: str
    axis: str
    points: tuple[BoundPoint, ...]
    overtakes_from: int | None
    """The smallest measured size with a bound below the fastest CPU arm; None if there is none."""
    sentence: str
