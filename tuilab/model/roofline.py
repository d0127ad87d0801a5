"""The roofline model: the work of a call, a machine's limits ("roofs"), and the resulting minimum time
("bound").
"""

from typing import Literal

import msgspec

from tuilab.model.quantity import limited_share

BoundBy = Literal[
    "arithmetic", "memory", "compute", "launches", "copies", "stalls", "input", "python", "not known"
]
"""What limits a call; `compute` if the call is near neither the arithmetic nor the memory roof."""


BOUND_WORDS = {"compute": "neither roof", "stalls": "waiting for the host"}
"""Wording for limits whose names could be mistaken for a roof."""


def binding(by: BoundBy) -> str:
    """Return the limit in words: the nearest roof, `neither roof`, `launches`, …"""
    return BOUND_WORDS.get(by, by)


class Stay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ops of one type that stay on the CPU because no GPU kernel exists."""

    op: str
    runs: float
    """Number of executions in a call."""
    reason: str
    """Why the ops cannot run on a GPU."""
    to_host: float = 0.0
    """Bytes of the ops' inputs that come from ops on the GPU, and are therefore copied to the host."""
    to_device: float = 0.0
    """Bytes of the ops' results that ops on the GPU use, and that are therefore copied to the GPU."""
    seconds: float | None = None
    """Seconds per call that the ops take on this host's CPU, from the profiler; None if not measured."""


class Kernels(msgspec.Struct, frozen=True, array_like=True):
    """Kernel launches with the same work: one entry of `Work.each`."""

    dtype: str
    """Dtype of the computation, named as in `DeviceRoofs.peaks`."""
    flop: float
    """Number of operations per execution."""
    bytes: float
    """Bytes read and written per execution."""
    runs: float
    """Number of executions in a call."""


class Work(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The minimum work of one call. None means that a number is unknown."""

    flop: float | None = None
    """Number of arithmetic operations, counted by convention: a multiply-add counts as two."""
    least_flop: float | None = None
    """Number of operations that even the best known algorithm needs; None if that number is `flop`."""
    by_dtype: dict[str, float] = {}
    """Number of operations by dtype, if the call uses several dtypes."""
    inputs: float | None = None
    """Bytes of the arguments, each counted once."""
    read: float | None = None
    """Bytes of the arguments that are actually read, as in a table lookup or a slice; None if all are read.
    """
    outputs: float | None = None
    """Bytes of the results, each counted once."""
    state: float = 0.0
    """Other bytes on the device that every call reads or writes, such as weights."""
    dtype: str = "float32"
    """Dtype of the computation, named as in `DeviceRoofs.peaks`; `tf32` if float32 products may use TF32."""
    to_device: float = 0.0
    """Bytes copied from the host to another device in every call, even for resident inputs."""
    to_host: float = 0.0
    """Bytes copied from the device back to the host in every call."""
    host_s: float = 0.0
    """Seconds per call that the host's processor works whatever device computes, for example to prepare
    images.
    """
    host_parallel: bool = False
    """True if the host can divide `host_s` among its processors."""
    host_only: bool = False
    """True if a library on the host, such as zlib, does all the work whatever the device."""
    host_feeds: bool = False
    """True if the host prepares all data before the call, so that copies may overlap with the call."""
    kernels: float | None = None
    """Minimum number of GPU kernels per call, including loop iterations."""
    each: tuple[Kernels, ...] = ()
    """The kernels, with identical ones merged; empty if only the total work is known."""
    serial: float = 0.0
    """Number of iterations of the longest loop, which run one after another in every mode."""
    uncounted: tuple[str, ...] = ()
    """Op types whose arithmetic operations are not counted, most frequent first."""
    stays: tuple[Stay, ...] = ()
    """Ops without a GPU kernel. Their work stays on the host."""
    gpu: "Work | None" = None
    """The work that a GPU can do, if some ops have no GPU kernel."""
    note: str = ""
    """How the operations are counted, if that needs an explanation."""
    does: str = ""
    """What the call does, if other arms of the workload do different work: `inflating`."""

    @property
    def on_host(self) -> bool:
        """True if the host does all the work even in a GPU arm, so that a GPU cannot be faster."""
        return self.host_only or self.host_feeds

    @property
    def needed_flop(self) -> float | None:
        """The minimum number of operations, for use in a lower bound."""
        return self.flop if self.least_flop is None else self.least_flop

    @property
    def bytes(self) -> float | None:
        """Minimum number of bytes that the device reads from and writes to its memory."""
        if self.inputs is None or self.outputs is None:
            return None
        return (self.inputs if self.read is None else self.read) + self.outputs + self.state


class MemoryRoof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The memory bandwidth measured with a working set of one size."""

    working_set: int
    """Bytes that the measuring loop repeatedly reads or writes."""
    bytes_per_s: float
    """Bytes per second of the fastest of triad, copy and read, counted as in STREAM: without write-allocate
    traffic.
    """


class LinkRoof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cost of copies between the host and a device: latency + bytes / rate."""

    latency_s: float
    """Seconds to start a copy."""
    to_device: float | None = None
    """Bytes per second from the host to the device; None if a copy's time does not depend on its size."""
    to_host: float | None = None
    """Bytes per second from the device to the host; None if a copy's time does not depend on its size."""


class DeviceRoofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The highest rates and the shortest times measured on a device."""

    memory: tuple[MemoryRoof, ...] = ()
    """Memory roofs by ascending working set: first the caches, last the device's memory."""
    triad: float = 0.0
    """Bytes per second of the STREAM triad a(i) = b(i) + s · c(i) in the device's memory; on a CPU, of
    STREAM's Add, which moves the same number of bytes.
    """
    peaks: dict[str, float] = {}
    """FLOP per second by dtype, from a large matrix product."""
    launch_s: dict[str, float] = {}
    """Seconds of an empty call, by mode: one eager op, one graph, one XLA program."""
    copied_s: dict[str, float] = {}
    """Seconds of an empty call with copied inputs, by mode. On a CPU, nothing is copied."""
    link: LinkRoof | None = None
    """The link to host memory; None for the host's processor."""


BUSY = 0.25
"""A machine is busy if other processes use more than this share of its processors."""


class Roofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measured roofs (hardware limits) of a machine: the best figures of all measurements."""

    machine: str
    """The machine's key (`Machine.key`): host, processor, cores, memory, TensorFlow, driver."""
    at: str
    """Time of the last measurement: UTC, ISO 8601."""
    seconds: float
    """Duration of the measurement, in seconds."""
    sync_s: float
    """Seconds of one synchronization with no work pending."""
    others: float = 0.0
    """Share of the processors (0 … 1) that other processes used during the measurement. If this share is
    large, the roofs may be too low.
    """
    devices: dict[str, DeviceRoofs] = {}
    """Roofs by TensorFlow's device name, `CPU:0`."""
    least: float | None = None
    """The smallest relative difference (0.07 means 7%) that a run of twenty rounds detects in nine of ten
    cases; None if not measured.
    """

    @property
    def busy(self) -> bool:
        """True if the machine was busy in every measurement, so that the launch times are too high."""
        return self.others > BUSY


ROOFS_S = 1.0
"""Approximate seconds for measuring roofs after the first run on a machine."""


class AskRoofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the request `roofs`."""

    seconds: float = 3.0
    """Approximate duration of the measurement, in seconds."""


class ArmRoof(msgspec.Struct, frozen=True, kw_only=True):
    """An arm compared with the roofs (hardware limits) of the device that computed it."""

    flop: float | None
    bytes: float | None
    flop_per_s: float | None
    """Achieved operations per second, computed from the median."""
    bytes_per_s: float | None
    """Achieved bytes per second, computed from a call's minimum bytes and the median."""
    roof: str
    """The roof that sets the minimum time, in words, such as `199 GFLOP/s float32`."""
    bound_s: float | None
    """Minimum seconds of a call on the device, according to the device's measured roofs."""
    share: float | None
    """`bound_s` divided by the median (0 … 1)."""
    bound_by: BoundBy
    """What limits the call."""
    uncounted: tuple[str, ...] = ()
    """Op types whose arithmetic operations are not counted. If there are any, the figures are lower bounds.
    """
    busy: bool = False
    """True if the roofs were measured on a busy machine, so that they may be too low, and `share` too high.
    """
    sentence: str = ""

    @property
    def share_words(self) -> str:
        """The share with its sign, as in `≤ 12%`; "" if unknown."""
        if self.share is None:
            return ""
        return limited_share(self.share, least=bool(self.uncounted), most=self.busy)


Limit = Literal[
    "arithmetic",
    "memory bandwidth",
    "launches",
    "copies",
    "starting the call",
    "the ops that stay on the CPU",
    "preparing the input",
    "the call's own Python code",
    "the host's own work",
]
"""The largest term of a bound (minimum time)."""


class GpuBound(msgspec.Struct, frozen=True, kw_only=True):
    """A lower bound for the time of a call on a GPU that you do not have. Computed, not measured."""

    gpu: str
    """The data sheet's name, `h100`."""
    name: str
    """The GPU's display name, `H100`."""
    input: str
    """`resident` if the inputs stay on the GPU, or `copied` if each call copies them."""
    mode: str
    """The mode with the lowest bound."""
    seconds: float
    """The lower bound, in seconds."""
    variant: str = ""
    """The workload variant, such as `training`; "" if the workload has none."""
    dtype: str = ""
    """Dtype of the arm; "" if the workload has no dtype parameter."""
    arithmetic_s: float = 0.0
    memory_s: float = 0.0
    kernels_s: float = 0.0
    """Seconds of all kernels. Each kernel takes the longest of its arithmetic, memory and launch times."""
    launches_s: float = 0.0
    """Seconds to launch the kernels one by one, in eager or graph mode."""
    kernels: int = 1
    """Number of kernels that a call launches."""
    copies_s: float = 0.0
    host_s: float = 0.0
    """Minimum seconds that a call takes on this host, whatever the GPU."""
    stays_s: float = 0.0
    """Seconds of the ops without a GPU kernel, as measured on this host's CPU."""
    stays: tuple[Stay, ...] = ()
    """The ops without a GPU kernel."""
    limited_by: Limit = "arithmetic"
    """The largest term of the bound."""
    measured_s: float | None = None
    """Median seconds of the fastest CPU arm of the same variant and dtype; None without such an arm."""
    at_most: float | None = None
    """Upper bound of the speedup: the upper end of the interval of `measured_s`, divided by `seconds`; None
    if unknown. At 1 or below, a GPU cannot be faster.
    """
    expected_s: tuple[float, float] | None = None
    """Expected seconds (low, high): the terms of the bound, scaled by the efficiency in published timings."""
    expected: tuple[float, float] | None = None
    """The speedups for `expected_s`, smaller first."""
    busy: tuple[float, float] | None = None
    """`at_most` with the launch time measured on this busy host, and with a launch time of zero; None if
    the host was idle.
    """
    verdict: Literal["cannot win", "could win", "not known"] = "not known"
    why: str = ""
    """Why the bound or the expected time is unknown, or why no GPU can be faster."""
    unknown: tuple[str, ...] = ()
    """Unknown facts about the work or the GPU. The bound counts them as zero."""
    fits: bool = True
    """True if the call fits in the GPU's memory."""


class BoundPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The bound for a GPU at one point of a sweep."""

    value: int
    resident_s: float | None
    copied_s: float | None


class SweepBound(msgspec.Struct, frozen=True, kw_only=True):
    """The lower bounds for a GPU along a sweep's axis, and the smallest size at which the GPU could be
    faster.
    """

    gpu: str
    name: str
    axis: str
    points: tuple[BoundPoint, ...]
    overtakes_from: int | None
    """The smallest measured size at which the bound is below the time of the fastest CPU arm; None if there
    is none.
    """
    sentence: str
