"""The current load of devices: GPUs from NVML, the host from the kernel's counters.

Units: bytes, hertz, watts, degrees Celsius; shares are from 0 to 1. A figure that the device does not report
is None, never 0. Rates cover the time since the previous sample, so the first sample has none.
"""

import msgspec


class GpuProcess(msgspec.Struct, frozen=True):
    """A process that holds memory on a GPU."""

    pid: int
    name: str = ""
    memory: int | None = None
    """Bytes of GPU memory that the process holds; None if the driver does not report them."""
    use: float | None = None
    """Share of the GPU's processors that the process used since the previous sample; None if not reported.
    """
    user: str = ""
    """Owner; "" if unknown. In a container, the driver reports process ids of the host, which cannot be
    looked up.
    """
    command: str = ""
    """Command line; "" if unknown, for example in a container."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """The PCIe link: its current speed and width, and the maximum of card and slot.

    An idle GPU slows the link down.
    """

    generation: int | None = None
    width: int | None = None
    max_generation: int | None = None
    max_width: int | None = None


class GpuFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a GPU that do not change while the lab runs."""

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
    """Who may use a GPU, and its memory errors."""

    compute_mode: str = ""
    """The compute mode as named by nvidia-smi, such as `Exclusive_Process`; empty if not reported."""
    mig: bool | None = None
    """True if the GPU is divided into MIG instances."""
    memory_errors: int | None = None
    """Uncorrected ECC errors since the driver was loaded."""


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one GPU at one time."""

    index: int
    name: str
    use: float | None = None
    """Share of the driver's last sampling period (1/6 to 1 s) in which a kernel ran.

    It does not show how much of the GPU the kernel used."""
    memory_use: float | None = None
    """Share of the same period in which device memory was read or written."""
    memory_used: int | None = None
    memory_total: int | None = None
    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] = ()
    """Why the clocks are below their maximum, in words; empty if they are at their maximum."""
    link: Link = Link()
    link_sent: float | None = None
    """Bytes per second that the GPU sends over PCIe."""
    link_received: float | None = None
    """Bytes per second that the GPU receives over PCIe."""
    processes: tuple[GpuProcess, ...] | None = None
    """The processes that hold memory on the GPU; None if the driver does not list them, which is common in a
    container.
    """
    unread: dict[str, str] = {}
    """Figures that cannot be read on this GPU or with the user's permissions, and why."""


class CpuSample(msgspec.Struct, frozen=True, kw_only=True):
    use: float | None = None
    """Busy share of all logical CPUs."""
    per_core: tuple[float, ...] = ()
    """Busy share of each core; empty in the first sample."""
    steal: float | None = None
    """Share of time that the hypervisor gave to other machines."""
    frequency_hz: float | None = None
    """Mean clock over the cores that report it."""
    frequency_max_hz: float | None = None
    memory_used: int = 0
    memory_total: int = 0
    load: float | None = None
    """Number of runnable and waiting tasks, averaged over the last minute."""
    throttled: float | None = None
    """Share of the scheduler periods since the previous sample in which the quota was used up."""
    quota: float | None = None
    """CPU limit of the cgroup; None without a limit."""
    thermal_events: int | None = None
    """Thermal throttling events of all cores since the previous sample."""


class ProcessSample(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one process, such as the worker, at one time."""

    pid: int
    use: float | None = None
    """Number of CPUs in use (2.0 = two cores busy)."""
    involuntary: float | None = None
    """Involuntary context switches per second over all threads: another process took its CPU."""
    voluntary: float | None = None
    """Voluntary context switches per second over all threads."""
    memory: int = 0
    """Resident bytes."""
    threads: int = 0


class DeviceSample(msgspec.Struct, frozen=True, kw_only=True):
    """All figures on the device panel, at one time."""

    at: float
    """Time of the sample, in seconds of this process's monotonic clock."""
    interval_s: float | None
    """Seconds since the previous sample; None for the first."""
    cpu: CpuSample
    gpus: tuple[GpuSample, ...] = ()
    process: ProcessSample | None = None
    notes: tuple[str, ...] = ()
    """A sentence for each part that cannot be shown, with the reason."""
