"""The current load of devices: of GPUs from NVML, of the host from the kernel's counters.

Units: bytes, hertz, watts, degrees Celsius; shares are from 0 to 1. A figure that the device does not
report is None, never 0. Rates are averages since the previous sample, so the first sample has none.
"""

import msgspec


class GpuProcess(msgspec.Struct, frozen=True):
    """A process that holds memory on a GPU."""

    pid: int
    name: str = ""
    memory: int | None = None
    """Bytes of GPU memory that the process holds; None if the driver does not report them."""
    use: float | None = None
    """Share of the GPU's multiprocessors that the process has used since the previous sample; None if
    unknown.
    """
    user: str = ""
    """The process's owner; "" if unknown, as in a container, where the driver reports process ids of the
    host.
    """
    command: str = ""
    """The process's command line; "" if unknown, as in a container."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """The PCIe link's current speed and width, and the maximum that the card and the slot support.

    A GPU slows the link down while it is idle.
    """

    generation: int | None = None
    width: int | None = None
    max_generation: int | None = None
    max_width: int | None = None


class GpuFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a GPU that do not change."""

    index: int
    name: str
    uuid: str = ""
    compute_capability: str = ""
    memory: int | None = None
    driver: str = ""
    cuda: str = ""
    """The newest CUDA version that the driver supports."""
    sm_clock_max_hz: float | None = None
    memory_clock_max_hz: float | None = None
    power_limit_w: float | None = None


class GpuAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Who may use a GPU, and the GPU's memory errors."""

    compute_mode: str = ""
    """The compute mode, with nvidia-smi's name, such as `Exclusive_Process`; "" if not reported."""
    mig: bool | None = None
    """True if the GPU is divided into MIG instances."""
    memory_errors: int | None = None
    """Uncorrected ECC errors since the driver was loaded."""


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one GPU at one moment."""

    index: int
    name: str
    use: float | None = None
    """Share of the driver's last sampling period (1/6 to 1 s) in which a kernel ran, even if the kernel
    used only a part of the GPU.
    """
    memory_use: float | None = None
    """Share of the driver's last sampling period in which the GPU's memory was read or written."""
    memory_used: int | None = None
    memory_total: int | None = None
    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] = ()
    """Why the clocks are below their maximum, in words; empty if the clocks are at their maximum."""
    link: Link = Link()
    link_sent: float | None = None
    """Bytes per second that the GPU sends over PCIe."""
    link_received: float | None = None
    """Bytes per second that the GPU receives over PCIe."""
    processes: tuple[GpuProcess, ...] | None = None
    """The processes that hold memory on the GPU; None if the driver does not list them, as in most
    containers.
    """
    unread: dict[str, str] = {}
    """For each figure that cannot be read on this GPU or with the user's permissions, the reason."""


class CpuSample(msgspec.Struct, frozen=True, kw_only=True):
    use: float | None = None
    """Busy share of all logical CPUs."""
    per_core: tuple[float, ...] = ()
    """Busy share of each logical CPU; empty in the first sample."""
    steal: float | None = None
    """Share of the time that the hypervisor gave to other virtual machines."""
    frequency_hz: float | None = None
    """Mean clock of the cores that report one."""
    frequency_max_hz: float | None = None
    memory_used: int = 0
    memory_total: int = 0
    load: float | None = None
    """Number of running and waiting tasks, averaged over the last minute."""
    throttled: float | None = None
    """Share of the cgroup's scheduler periods since the previous sample that used up the CPU quota."""
    quota: float | None = None
    """The cgroup's limit, in CPUs; None if there is none."""
    thermal_events: int | None = None
    """Number of thermal throttling events of all cores since the previous sample."""


class ProcessSample(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    use: float | None = None
    """Average number of CPUs that the process kept busy: 2.0 means two busy cores."""
    involuntary: float | None = None
    """Context switches per second in which another process took the CPU, over all threads."""
    voluntary: float | None = None
    """Context switches per second in which a thread gave up the CPU, over all threads."""
    memory: int = 0
    """Bytes of resident memory."""
    threads: int = 0


class DeviceSample(msgspec.Struct, frozen=True, kw_only=True):
    at: float
    """Time of the sample, in seconds of this process's monotonic clock."""
    interval_s: float | None
    """Seconds since the previous sample; None for the first."""
    cpu: CpuSample
    gpus: tuple[GpuSample, ...] = ()
    process: ProcessSample | None = None
    notes: tuple[str, ...] = ()
    """Why figures of the sample are missing, one sentence each."""
