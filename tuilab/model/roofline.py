"""The roofline model: the work that a call must do, a machine's limits ("roofs"), and the resulting minimum
time ("bound").
"""

from typing import Literal

import msgspec

from tuilab.model.quantity import limited_share

BoundBy = Literal[
    "arithmetic", "memory", "compute", "launches", "copies", "stalls", "input", "python", "not known"
]
"""The part that limits a call; `compute` if the call is near neither the arithmetic nor the memory roof."""


BOUND_WORDS = {"compute": "neither roof", "stalls": "waiting for the host"}
"""Wording for parts whose names could be mistaken for a roof."""


def binding(by: BoundBy) -> str:
    """Return the wording for the limiting part: the nearest roof, `neither roof`, `launches`, …"""
    return BOUND_WORDS.get(by, by)


class Stay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ops of one type that stay on the CPU because no GPU kernel exists."""

    op: str
    runs: float
    """Number of executions per call."""
    reason: str
    """Why a GPU cannot run the ops."""
    to_host: float = 0.0
    """Bytes of the ops' inputs that a GPU computes and that therefore must be copied to the host."""
    to_device: float = 0.0
    """Bytes of the ops' results that a GPU reads."""
    seconds: float | None = None
    """Seconds per call that the ops take on this host's CPU, according to the profiler; None if not
    measured.
    """


class Kernels(msgspec.Struct, frozen=True, array_like=True):
    """Identical kernel launches: a row of `Work.each`."""

    dtype: str
    """Dtype of the computation, named as in the roofs."""
    flop: float
    """Number of operations per execution."""
    bytes: float
    """Bytes read and written per execution."""
    runs: float
    """Number of executions per call."""


class Work(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The minimum work of one call. None means unknown."""

    flop: float | None = None
    """Number of arithmetic operations by convention; a multiply-add counts as two."""
    least_flop: float | None = None
    """Number of operations that even the best known algorithm needs, if it is smaller than `flop`."""
    by_dtype: dict[str, float] = {}
    """Number of operations by dtype, if there are several dtypes."""
    inputs: float | None = None
    """Bytes of the arguments, each counted once."""
    read: float | None = None
    """Bytes of the arguments that are actually read, if that is less, as for a table lookup or a slice."""
    outputs: float | None = None
    """Bytes of the results, each counted once."""
    state: float = 0.0
    """Other bytes that every call reads or writes on the device, such as weights."""
    dtype: str = "float32"
    """Dtype of the computation, named as in the roofs; `tf32` if float32 may be multiplied as TF32."""
    to_device: float = 0.0
    """Bytes copied from the host to another device in every call, even for resident inputs."""
    to_host: float = 0.0
    """Bytes copied from the device back to the host in every call."""
    host_s: float = 0.0
    """Host processor seconds per call that are needed whatever the device, such as preparing images."""
    host_parallel: bool = False
    """True if the host can spread `host_s` over its processors."""
    host_only: bool = False
    """True if a library on the host does all the work during the call (zlib), whatever the device."""
    host_feeds: bool = False
    """True if the host prepares all data ahead of the call, so that the copies may overlap with it."""
    kernels: float | None = None
    """Minimum number of GPU kernels per call, including loop iterations."""
    each: tuple[Kernels, ...] = ()
    """The kernels one by one, with identical ones merged; () if only the total work is known."""
    serial: float = 0.0
    """Number of iterations of the longest loop. In every mode, iterations run one after another."""
    uncounted: tuple[str, ...] = ()
    """Op types whose arithmetic is not counted, most frequent first."""
    stays: tuple[Stay, ...] = ()
    """Ops without a GPU kernel; their work stays on the host."""
    gpu: "Work | None" = None
    """If some ops have no GPU kernel: the remaining work, which a GPU can do."""
    note: str = ""
    """The counting convention, if it needs an explanation."""
    does: str = ""
    """What the call does, if other arms of the workload do something else: `inflating`."""

    @property
    def on_host(self) -> bool:
        """True if the host does all the work whatever the device, so a GPU cannot be faster."""
        return self.host_only or self.host_feeds

    @property
    def needed_flop(self) -> float | None:
        """The minimum number of operations, for a lower bound."""
        return self.flop if self.least_flop is None else self.least_flop

    @property
    def bytes(self) -> float | None:
        """Minimum bytes transferred between the device and its memory."""
        if self.inputs is None or self.outputs is None:
            return None
        return (self.inputs if self.read is None else self.read) + self.outputs + self.state


class MemoryRoof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Memory bandwidth for a working set."""

    working_set: int
    """Bytes that the measuring loop traverses repeatedly."""
    bytes_per_s: float
    """The fastest of triad, copy and read, counted as in STREAM (no write-allocate)."""


class LinkRoof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cost of copies between host and device: latency + bytes / rate."""

    latency_s: float
    """Seconds to start a copy."""
    to_device: float | None = None
    """Bytes per second from the host to the device; None if the copy's time does not depend on its size."""
    to_host: float | None = None
    """Bytes per second from the device to the host; None if the copy's time does not depend on its size."""


class DeviceRoofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The best rates and the shortest times measured on a device."""

    memory: tuple[MemoryRoof, ...] = ()
    """Memory roofs by working set, ascending. The last is the device's memory, the others are caches."""
    triad: float = 0.0
    """Bandwidth of the STREAM triad a(i) = b(i) + s · c(i) in the device's memory, in bytes/s; on a CPU, of
    STREAM's Add, which moves the same number of bytes.
    """
    peaks: dict[str, float] = {}
    """FLOP per second by dtype, from a large matrix product."""
    launch_s: dict[str, float] = {}
    """Seconds of an empty call, by mode: one eager op, one graph, one XLA program."""
    copied_s: dict[str, float] = {}
    """Seconds of an empty call that includes the code for copying, by mode. On a CPU, this code copies
    nothing.
    """
    link: LinkRoof | None = None
    """Copies to and from host memory; None for the host's processor."""


BUSY = 0.25
"""Load from other processes, as a share of the processors, above which a machine counts as busy."""


class Roofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measured roofs (hardware limits) of a machine. Each figure is the best ever measured there."""

    machine: str
    """The machine's key (`Machine.key`): host, processor, cores, memory, TensorFlow, driver."""
    at: str
    """Time of the last measurement: UTC, ISO 8601."""
    seconds: float
    """Seconds of the measurement."""
    sync_s: float
    """Seconds of one synchronization when no work is pending."""
    others: float = 0.0
    """Share of the processors (0 … 1) that other processes used during the measurement. If it is large, the
    roofs may be too low.
    """
    devices: dict[str, DeviceRoofs] = {}
    """Roofs by TensorFlow's device name, `CPU:0`."""
    least: float | None = None
    """The smallest relative difference (0.07 is 7%) that a run of twenty rounds detects in nine of ten cases;
    None if not measured.
    """

    @property
    def busy(self) -> bool:
        """True if the machine was never idle during the measurements, so that the launch times
        are too high.
        """
        return self.others > BUSY


ROOFS_S = 1.0
"""Approximate seconds for measuring roofs after a machine's first run; `tuilab machine` takes longer."""


class AskRoofs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `roofs`."""

    seconds: float = 3.0
    """Approximate seconds for the measurement."""


class ArmRoof(msgspec.Struct, frozen=True, kw_only=True):
    """An arm compared with the roof of the device that computed it."""

    flop: float | None
    bytes: float | None
    flop_per_s: float | None
    """Achieved operations per second, computed from the median."""
    bytes_per_s: float | None
    """Achieved bytes per second, computed from the minimum bytes of a call."""
    roof: str
    """The roof, in words."""
    bound_s: float | None
    """Minimum seconds of a call on the device, from its measured roofs."""
    share: float | None
    """Share of the roof (0 … 1): bound divided by median."""
    bound_by: BoundBy
    """The part that limits the call."""
    uncounted: tuple[str, ...] = ()
    """Op types whose arithmetic is not counted. If there are any, the figures are lower bounds."""
    busy: bool = False
    """True if the roofs were measured on a busy machine, so that they may be too low and `share` too high."""
    sentence: str = ""

    @property
    def share_words(self) -> str:
        """The share with its sign, `≤ 12%`; "" if it is unknown."""
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
    "the host's own work",
]
"""The largest term of a bound."""


class GpuBound(msgspec.Struct, frozen=True, kw_only=True):
    """Lower bound for the time of a call on a GPU that you do not have. Computed, not measured."""

    gpu: str
    """The data sheet's name, `h100`."""
    name: str
    """The display name, `H100`."""
    input: str
    """`resident` if the inputs stay on the GPU, or `copied` if each call copies them."""
    mode: str
    """The mode with the smallest bound."""
    seconds: float
    """Lower bound in seconds."""
    variant: str = ""
    """The workload's variant, `training`; "" if it has none."""
    dtype: str = ""
    """The arm's dtype; "" if the workload has no dtype parameter."""
    arithmetic_s: float = 0.0
    memory_s: float = 0.0
    kernels_s: float = 0.0
    """Seconds of all kernels, each with the longest of its arithmetic, memory and launch times."""
    launches_s: float = 0.0
    """Seconds to launch the kernels one by one, in eager or graph mode."""
    kernels: int = 1
    """Number of kernels that a call launches."""
    copies_s: float = 0.0
    host_s: float = 0.0
    """Seconds that a call spends on this host, whatever the GPU."""
    stays_s: float = 0.0
    """Seconds that ops without a GPU kernel take, measured on this host's CPU."""
    stays: tuple[Stay, ...] = ()
    """The ops without a GPU kernel."""
    limited_by: Limit = "arithmetic"
    """The largest term of the bound."""
    measured_s: float | None = None
    """Median seconds of the fastest CPU arm of the same variant and dtype; None if none was measured."""
    at_most: float | None = None
    """Upper bound of the speedup: the upper end of the interval of `measured_s`, divided by `seconds`. At 1
    or below, the GPU cannot win. None if unknown.
    """
    expected_s: tuple[float, float] | None = None
    """Expected seconds (low, high): each term of the bound, scaled by the efficiency that published timings
    reached.
    """
    expected: tuple[float, float] | None = None
    """The speedups that follow from `expected_s`, smaller first."""
    busy: tuple[float, float] | None = None
    """Two values of `at_most`: one with the launch time as measured on this busy host, one with a launch time
    of zero. None if the launch time was measured on an idle host.
    """
    verdict: Literal["cannot win", "could win", "not known"] = "not known"
    why: str = ""
    """Why the bound or the likely time is unknown, or why no GPU can win."""
    unknown: tuple[str, ...] = ()
    """Unknown facts about the work or the GPU, which count as zero."""
    fits: bool = True
    """True if the call fits in GPU memory."""


class BoundPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The bound for a GPU at one size of a sweep."""

    value: int
    resident_s: float | None
    copied_s: float | None


class SweepBound(msgspec.Struct, frozen=True, kw_only=True):
    """The best case for a GPU along a sweep's axis, and the smallest size at which the GPU could win."""

    gpu: str
    name: str
    axis: str
    points: tuple[BoundPoint, ...]
    overtakes_from: int | None
    """The smallest measured size at which the bound is below the time of the fastest CPU arm; None if there
    is none.
    """
    sentence: str
