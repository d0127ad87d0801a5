"""What a device does at this moment: GPU by NVML, host by the kernel's own counters.

Bytes, hertz, watts, degrees Celsius; shares from 0 to 1. A figure that the device does not give is
None, never 0. Rates are over the time since the sample before it, so the first sample has none.
"""

import msgspec


class GpuProcess(msgspec.Struct, frozen=True):
    """A process that holds memory on a GPU."""

    pid: int
    name: str = ""
    memory: int | None = None
    """Bytes, None if the driver does not tell."""
    use: float | None = None
    """Share of the GPU's processors that it kept busy since the sample before; None if nobody tells."""
    user: str = ""
    """Whose it is, "" where it is not seen here: in a container the driver's ids are those outside."""
    command: str = ""
    """Its command line, or "" likewise."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """The PCIe link as it is trained now, and the most that card and slot can do. An idle GPU trains down."""

    generation: int | None = None
    width: int | None = None
    max_generation: int | None = None
    max_width: int | None = None


class GpuFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What stays the same about a GPU while the lab runs."""

    index: int
    name: str
    uuid: str = ""
    compute_capability: str = ""
    memory: int | None = None
    driver: str = ""
    cuda: str = ""
    """The newest CUDA that the driver supports."""
    sm_clock_max_hz: float | None = None
    memory_clock_max_hz: float | None = None
    power_limit_w: float | None = None


class GpuAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Who may compute on a GPU, and whether its memory is sound."""

    compute_mode: str = ""
    """As nvidia-smi writes it, such as `Exclusive_Process`; empty if it is not told."""
    mig: bool | None = None
    """It is divided into instances."""
    memory_errors: int | None = None
    """ECC errors that could not be corrected since the driver was loaded."""


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU at one moment."""

    index: int
    name: str
    use: float | None = None
    """Share of the driver's last sampling period (1 s to 1/6 s) in which a kernel ran; it says nothing of how
    much of the GPU that kernel filled."""
    memory_use: float | None = None
    """The same for reads and writes of device memory."""
    memory_used: int | None = None
    memory_total: int | None = None
    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] = ()
    """Why the clocks are below their maximum, in words; empty when nothing holds them back."""
    link: Link = Link()
    link_sent: float | None = None
    """Bytes per second over PCIe, as seen from the GPU."""
    link_received: float | None = None
    """Bytes per second over PCIe, as seen from the GPU."""
    processes: tuple[GpuProcess, ...] | None = None
    """None if the driver does not list them (in a container it often does not)."""
    unread: dict[str, str] = {}
    """Figures that this GPU or this user's rights do not give, and why."""


class CpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """The host at one moment."""

    use: float | None = None
    """Share of all logical CPUs that was busy."""
    per_core: tuple[float, ...] = ()
    """The same for each; None in the first sample."""
    steal: float | None = None
    """Share of the time that the hypervisor gave to others."""
    frequency_hz: float | None = None
    """Mean of the cores that tell."""
    frequency_max_hz: float | None = None
    memory_used: int = 0
    memory_total: int = 0
    load: float | None = None
    """Runnable and waiting tasks, mean of the last minute."""
    throttled: float | None = None
    """Share of the scheduler's periods since the sample before in which that quota ran out."""
    quota: float | None = None
    """CPUs that the cgroup may use, None without a limit."""
    thermal_events: int | None = None
    """How often since then any core throttled for heat."""


class ProcessSample(msgspec.Struct, frozen=True, kw_only=True):
    """One process at one moment, such as the worker."""

    pid: int
    use: float | None = None
    """CPUs in use (2.0 = two cores busy)."""
    involuntary: float | None = None
    """Context switches per second, summed over its threads: involuntary ones mean that others wanted its CPU.
    """
    voluntary: float | None = None
    """Context switches per second, summed over its threads: involuntary ones mean that others wanted its CPU.
    """
    memory: int = 0
    """Resident bytes."""
    threads: int = 0


class DeviceSample(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the device panel shows, at one moment."""

    at: float
    """Seconds of this process's monotonic clock."""
    interval_s: float | None
    """Since the sample before, None for the first."""
    cpu: CpuSample
    gpus: tuple[GpuSample, ...] = ()
    process: ProcessSample | None = None
    notes: tuple[str, ...] = ()
    """A sentence for each part that cannot be shown, with the reason."""
