"""Work, roofs and bounds: what a call must do at least, what a machine can do at most, what follows."""

from typing import Literal

import msgspec

BoundBy = Literal[
    "arithmetic", "memory", "compute", "launches", "copies", "stalls", "input", "python", "not known"
]
"""The largest part of a call; `compute` where that is neither near the arithmetic roof nor near the
memory's."""


BOUND_WORDS = {"compute": "neither roof", "stalls": "waiting for the host"}
"""Of what takes most of a call, where its own name would be taken for that of a roof."""


def binding(by: BoundBy) -> str:
    """Name what takes most of a call: a roof that is near, `neither roof` of computing, `launches`, …"""
    return BOUND_WORDS.get(by, by)


class Stay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ops of one type that stay on the CPU whatever the device is: no GPU kernel serves them."""

    op: str
    runs: float
    """Executions in a call."""
    reason: str
    """Why no GPU runs it, in words."""
    to_host: float = 0.0
    """Bytes of its inputs that a GPU made, so that they cross the bus."""
    to_device: float = 0.0
    """Bytes of its results that a GPU reads."""
    seconds: float | None = None
    """Seconds of a call that they take on this host's CPU, by the profiler; None if that was not measured."""


class Kernels(msgspec.Struct, frozen=True, array_like=True):
    """Equal executions of ops that launch a kernel each: a row of `Work.each`."""

    dtype: str
    """In which one computes, as the roofs are named."""
    flop: float
    """Operations of one."""
    bytes: float
    """Bytes that one reads and writes."""
    runs: float
    """How many run in a call."""


class Work(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one call has to do at least, however it is carried out. None stands for not known."""

    flop: float | None = None
    """Arithmetic operations as they are usually counted; a product with its sum counts as two."""
    least_flop: float | None = None
    """Those that no known way of computing it avoids, where that is fewer than the usual count."""
    by_dtype: dict[str, float] = {}
    """The operations by the dtype that they are computed in, where there are several."""
    inputs: float | None = None
    """Bytes of the arguments, each counted once."""
    read: float | None = None
    """Of those what the computation reads, where that is less: a lookup's rows, a slice."""
    outputs: float | None = None
    """Bytes of its results, each counted once."""
    state: float = 0.0
    """Bytes alongside them that every call reads or writes on the device: a network's weights, say."""
    dtype: str = "float32"
    """In which it computes, as the roofs are named: `tf32` where float32 may be multiplied as such."""
    to_device: float = 0.0
    """Bytes that travel from the host to another device in every call, resident inputs or not."""
    to_host: float = 0.0
    """Bytes that travel back in every call."""
    host_s: float = 0.0
    """Seconds of a processor that every call costs the host whatever its device: preparing images, say."""
    host_parallel: bool = False
    """Whether the host may spread them over its processors."""
    host_only: bool = False
    """The work is the host's whatever the arm's device is (zlib), so no GPU is faster at it."""
    kernels: float | None = None
    """Ops run in a call that each need a kernel of their own on a GPU, at least, loops with their trips."""
    each: tuple[Kernels, ...] = ()
    """Those kernels; () if only their sum is known."""
    serial: float = 0.0
    """Trips of the loop that has most: they run one after another, whatever compiles them."""
    uncounted: tuple[str, ...] = ()
    """Types of ops whose arithmetic is in no count, those that ran most often first."""
    stays: tuple[Stay, ...] = ()
    """Ops without a GPU kernel: on a GPU their work stays with the host."""
    gpu: "Work | None" = None
    """With such ops: the rest, which a GPU can do."""
    note: str = ""
    """How the operations were counted, where that is by convention."""
    does: str = ""
    """What the call does, where other arms of the workload do something else: `inflating`."""

    @property
    def needed_flop(self) -> float | None:
        """The operations that a bound may count."""
        return self.flop if self.least_flop is None else self.least_flop

    @property
    def bytes(self) -> float | None:
        """Bytes between the device and its memory, at least."""
        if self.inputs is None or self.outputs is None:
            return None
        return (self.inputs if self.read is None else self.read) + self.outputs + self.state


class MemoryRoof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How fast bytes come and go while they lie in so much memory."""

    working_set: int
    """Bytes that the loop goes through again and again."""
    bytes_per_s: float
    """The fastest of triad, copy and read, counted as STREAM does (no write-allocate)."""


class LinkRoof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Copies between host and device: latency + bytes / rate."""

    latency_s: float
    """Seconds of an empty copy, the more expensive direction."""
    to_device: float | None = None
    """Bytes per second, None if the sizes show no cost per byte."""
    to_host: float | None = None
    """Bytes per second the other way."""


class DeviceRoofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a device was seen to do at most."""

    memory: tuple[MemoryRoof, ...] = ()
    """By working set, ascending; the last one is the device's memory, the others its caches."""
    triad: float = 0.0
    """Bytes/s of a(i) = b(i) + s · c(i) in its memory; on a CPU by STREAM's Add, which moves as much."""
    peaks: dict[str, float] = {}
    """FLOP per second by dtype, of a large matrix product."""
    launch_s: dict[str, float] = {}
    """Seconds of a call that does nothing, by mode: one op eager, one graph, one XLA program."""
    copied_s: dict[str, float] = {}
    """The same with the call's own copying code around it, by mode; on a CPU nothing is copied."""
    link: LinkRoof | None = None
    """To and from the host's memory; None for the host's own processor."""


BUSY = 0.25
"""Of the processors: from here on what other processes use is not negligible."""


class Roofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A machine's roofs as measured there. A figure is the best that was ever seen on this machine."""

    machine: str
    """The machine they are of (`Machine.key`): host, processor, cores, memory, TensorFlow, driver."""
    at: str
    """When they were last measured: UTC, ISO 8601."""
    seconds: float
    """How long that took."""
    sync_s: float
    """One synchronisation with nothing to wait for."""
    others: float = 0.0
    """Share of the processors (0 … 1) that other processes had meanwhile: roofs seen then lie too low."""
    devices: dict[str, DeviceRoofs] = {}
    """By TensorFlow's name, `CPU:0`."""
    least: float | None = None
    """The least difference (0.07: 7%) that twenty rounds tell here nine times in ten; None: not measured."""

    @property
    def busy(self) -> bool:
        """Whether the machine was never seen idle: then an empty call took longer than it needs to."""
        return self.others > BUSY


class AskRoofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `roofs`."""

    seconds: float = 3.0
    """About how long to measure."""


class ArmRoof(msgspec.Struct, frozen=True, kw_only=True):
    """An arm's figures against the roof of the device that computed."""

    flop: float | None
    bytes: float | None
    flop_per_s: float | None
    """Achieved, from the median."""
    bytes_per_s: float | None
    """Achieved, of the bytes that the call must move at least."""
    roof: str
    """Which roof it is held against, in words."""
    bound_s: float | None
    """Seconds below which the device cannot take a call, by its measured roofs."""
    share: float | None
    """Of the roof (0 … 1): the bound over the median."""
    bound_by: BoundBy
    """What takes most of a call."""
    uncounted: tuple[str, ...] = ()
    """Types of ops whose arithmetic is in none of these figures: with any, they are at least that."""
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
    """The least time of a call on a GPU that is not here. No measurement: nothing was run."""

    gpu: str
    """The data sheet's name, `h100`."""
    name: str
    """The same in words, `H100`."""
    input: str
    """`resident` or `copied`."""
    mode: str
    """The mode whose bound is the least."""
    seconds: float
    """No call can take less."""
    variant: str = ""
    """The workload's variant, `training`; "" for one without variants."""
    dtype: str = ""
    """The arm's dtype; "" for one that is not chosen by dtype."""
    arithmetic_s: float = 0.0
    memory_s: float = 0.0
    kernels_s: float = 0.0
    """All kernels one after another: of each the longest of arithmetic, memory and the least launch."""
    launches_s: float = 0.0
    """Launching its kernels one by one, as an eager call or a plain graph does."""
    kernels: int = 1
    """How many those are."""
    copies_s: float = 0.0
    host_s: float = 0.0
    """Seconds that this host spends itself, whatever the GPU is."""
    stays_s: float = 0.0
    """Seconds of the ops that have no GPU kernel, as measured on this host's CPU."""
    stays: tuple[Stay, ...] = ()
    """Those ops."""
    limited_by: Limit = "arithmetic"
    """The largest term."""
    measured_s: float | None = None
    """The fastest CPU arm of the same variant and dtype, measured; None if there is none."""
    at_most: float | None = None
    """Speedup over that arm that the GPU cannot exceed; below 1 it cannot win. None if it is not known."""
    expected_s: tuple[float, float] | None = None
    """Seconds that such a GPU is expected to take, by what published timings reached of their bounds."""
    expected: tuple[float, float] | None = None
    """The speedups that this makes, the lower one first."""
    busy: tuple[float, float] | None = None
    """`at_most` if TensorFlow's start of a call costs what it did on this busy host, and if it costs nothing;
    None if the start was measured on an idle host."""
    verdict: Literal["cannot win", "could win", "not known"] = "not known"
    why: str = ""
    """Why it is not known, or why it cannot win whatever the card."""
    unknown: tuple[str, ...] = ()
    """Facts about the work or the GPU that are not known and were counted as nothing."""
    fits: bool = True
    """Whether the call's memory fits on the GPU."""


class BoundPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU's bound at one size of a sweep."""

    value: int
    resident_s: float | None
    copied_s: float | None


class SweepBound(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU at best along a sweep's axis, and the least size at which it could overtake."""

    gpu: str
    name: str
    axis: str
    points: tuple[BoundPoint, ...]
    overtakes_from: int | None
    """The smallest measured size at which the bound lies below the fastest CPU arm; None if at none."""
    sentence: str
