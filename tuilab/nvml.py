"""Reads GPUs through NVML and `nvidia-ml-py`, if installed. Used by doctor, telemetry and worker."""

import functools
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import msgspec

from tuilab.model.sanitize import sanitize_line
from tuilab.model.telemetry import GpuAccess, GpuFacts, GpuProcess, GpuSample, Link

MEGA = 1e6

IDLE = 0x1
REASONS = {
    IDLE: "idle",
    0x2: "limited to the clocks that an application set",
    0x4: "at its power limit",
    0x8: "slowed by the hardware (heat, power brake or power supply)",
    0x10: "limited to the clock of its GPU group (sync boost)",
    0x20: "hot: slowed by the driver",
    0x40: "hot: slowed by the hardware",
    0x80: "slowed by the power supply's brake signal",
    0x100: "limited to the display's clocks",
}
"""Words for NVML's clock event reasons (nvml.h, `nvmlClocksEventReason*`)."""


COMPUTE_MODES = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
"""nvidia-smi's names for NVML's compute modes (nvml.h, `nvmlComputeMode_t`)."""

UNCORRECTED, SINCE_DRIVER_LOAD = 1, 0
"""`NVML_MEMORY_ERROR_TYPE_UNCORRECTED` and `NVML_VOLATILE_ECC` (nvml.h)."""


POLICIES = {
    0: "at its power limit",
    1: "slowed down by heat",
    2: "limited to the clock of its GPU group (sync boost)",
    3: "at a limit of the graphics board",
    5: "slowed to keep the voltage reliable",
}
"""Words for NVML's performance policies that lower the clocks (nvml.h, `nvmlPerfPolicyType_t`)."""


class NvmlUnavailable(RuntimeError):
    """NVML is unusable. The message is a sentence with the reason."""


def words(mask: int) -> tuple[str, ...]:
    """Return the words for the reasons in a clock event mask, without `idle`. Unknown reasons get their bit's
    number.
    """
    out = [text for bit, text in REASONS.items() if mask & bit and bit != IDLE]
    unknown = mask & ~sum(REASONS)
    return tuple(out) + ((f"reason {unknown:#x}",) if unknown else ())


def _pynvml() -> Any:
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        raise NvmlUnavailable(
            "no GPU figures: nvidia-ml-py is not installed (python -m pip install nvidia-ml-py)"
        ) from None


class Nvml:
    """An open NVML session. Not thread-safe.

    Raises NvmlUnavailable if nvidia-ml-py, the library or the driver is missing. A call into a hung driver
    can block forever, so use another process if the caller must not hang.
    """

    def __init__(self) -> None:
        self._lib = _pynvml()
        self._counters: dict[int, tuple[float, int, int]] = {}
        self._looked: dict[int, float] = {}
        try:
            self._lib.nvmlInit()
            try:
                self.count = int(self._lib.nvmlDeviceGetCount())
                self._handles = [self._lib.nvmlDeviceGetHandleByIndex(i) for i in range(self.count)]
            except self._lib.NVMLError:
                self.close()
                raise
        except self._lib.NVMLError as error:
            why = sanitize_line(str(error), 200)
            raise NvmlUnavailable(f"no GPU figures: NVML reports “{why}”") from None

    def close(self) -> None:
        try:
            self._lib.nvmlShutdown()
        except self._lib.NVMLError:
            pass

    def facts(self, index: int) -> GpuFacts:
        lib, read = self._lib, _Reader(self._lib, self._handles[index])
        capability = read("compute capability", "nvmlDeviceGetCudaComputeCapability")
        cuda = read("CUDA", lambda _: lib.nvmlSystemGetCudaDriverVersion())
        memory = read("memory", "nvmlDeviceGetMemoryInfo")
        return GpuFacts(
            index=index,
            name=_text(read("name", "nvmlDeviceGetName")),
            uuid=_text(read("uuid", "nvmlDeviceGetUUID")),
            compute_capability=".".join(map(str, capability)) if capability else "",
            memory=memory and int(memory.total),
            driver=_text(read("driver", lambda _: lib.nvmlSystemGetDriverVersion())),
            cuda=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "",
            sm_clock_max_hz=_scaled(read("clock", "nvmlDeviceGetMaxClockInfo", lib.NVML_CLOCK_SM), MEGA),
            memory_clock_max_hz=_scaled(read("clock", "nvmlDeviceGetMaxClockInfo", lib.NVML_CLOCK_MEM), MEGA),
            power_limit_w=_scaled(read("power", "nvmlDeviceGetEnforcedPowerLimit"), 1e-3),
        )

    def access(self, index: int) -> GpuAccess:
        read = _Reader(self._lib, self._handles[index])
        mode = read("compute mode", "nvmlDeviceGetComputeMode")
        mig = read("MIG", "nvmlDeviceGetMigMode")
        return GpuAccess(
            compute_mode="" if mode is None else COMPUTE_MODES.get(int(mode), str(mode)),
            mig=mig and bool(mig[0]),
            memory_errors=read("ECC", "nvmlDeviceGetTotalEccErrors", UNCORRECTED, SINCE_DRIVER_LOAD),
        )

    def sample(self, index: int) -> GpuSample:
        """Sample GPU `index`. PCIe traffic is averaged over the time since the previous sample."""
        lib, read = self._lib, _Reader(self._lib, self._handles[index])
        use = read("use", "nvmlDeviceGetUtilizationRates")
        memory = read("memory", "nvmlDeviceGetMemoryInfo")
        sent, received = self._traffic(index, read)
        return GpuSample(
            index=index,
            name=_text(read("name", "nvmlDeviceGetName")),
            use=use and use.gpu / 100,
            memory_use=use and use.memory / 100,
            memory_used=memory and int(memory.used),
            memory_total=memory and int(memory.total),
            sm_clock_hz=_scaled(read("clocks", "nvmlDeviceGetClockInfo", lib.NVML_CLOCK_SM), MEGA),
            memory_clock_hz=_scaled(read("clocks", "nvmlDeviceGetClockInfo", lib.NVML_CLOCK_MEM), MEGA),
            power_w=_scaled(read("power", "nvmlDeviceGetPowerUsage"), 1e-3),
            power_limit_w=_scaled(read("power limit", "nvmlDeviceGetEnforcedPowerLimit"), 1e-3),
            temperature_c=read("temperature", "nvmlDeviceGetTemperature", lib.NVML_TEMPERATURE_GPU),
            throttle=words(read("throttle reasons", _throttle_call(lib)) or 0),
            link=_link(read),
            link_sent=sent,
            link_received=received,
            processes=self._users(index, read),
            unread=read.unread,
        )

    def _users(self, index: int, read: "_Reader") -> tuple[GpuProcess, ...] | None:
        """Return the processes with memory on the GPU, each with its share of the activity since the last
        call.

        The first call covers the last second.
        """
        before, self._looked[index] = self._looked.get(index, time.time() - 1.0), time.time()
        listed, use = _processes(read), _computed(read.quiet(), before)
        return listed and tuple(
            msgspec.structs.replace(one, use=use.get(one.pid, 0.0) if use else None) for one in listed
        )

    def _traffic(self, index: int, read: "_Reader") -> tuple[float | None, float | None]:
        """Return the bytes per second that leave and enter the GPU.

        Uses byte counters if the driver has them, because `nvmlDeviceGetPcieThroughput` takes 20 ms per
        direction and covers only those 20 ms.
        """
        lib = self._lib
        fields = [getattr(lib, f"NVML_FI_DEV_PCIE_COUNT_{way}_BYTES", None) for way in ("TX", "RX")]
        if None in fields:
            read.unread["link traffic"] = "this nvidia-ml-py does not support the PCIe byte counters"
            return None, None
        values = read("link traffic", "nvmlDeviceGetFieldValues", fields)
        if values is None:
            return None, None
        if any(value.nvmlReturn != 0 for value in values):
            read.unread["link traffic"] = "this GPU or driver has no PCIe byte counters"
            return None, None
        now = (time.monotonic(), int(values[0].value.ullVal), int(values[1].value.ullVal))
        before = self._counters.get(index)
        self._counters[index] = now
        # If a counter wrapped, report no rate for that interval instead of a wrong rate.
        if before is None or now[0] <= before[0] or now[1] < before[1] or now[2] < before[2]:
            return None, None
        elapsed = now[0] - before[0]
        return (now[1] - before[1]) / elapsed, (now[2] - before[2]) / elapsed


class _Reader:
    """Calls NVML functions for one device. Unreadable values become None, with a note."""

    def __init__(self, lib: Any, handle: Any) -> None:
        self.lib, self._handle = lib, handle
        self.unread: dict[str, str] = {}

    def quiet(self) -> "_Reader":
        return _Reader(self.lib, self._handle)

    def __call__(self, what: str, call: str | Callable[[Any], Any], *arguments: Any) -> Any:
        function = getattr(self.lib, call, None) if isinstance(call, str) else call
        if function is None:
            self.unread[what] = "this nvidia-ml-py does not support the call"
            return None
        try:
            return function(self._handle, *arguments)
        except self.lib.NVMLError as error:
            self.unread[what] = sanitize_line(str(error), 200)
            return None


def _throttle_call(lib: Any) -> str:
    """Return the name of NVML's query for throttle reasons, which NVML 12 calls event reasons."""
    new = "nvmlDeviceGetCurrentClocksEventReasons"
    return new if hasattr(lib, new) else "nvmlDeviceGetCurrentClocksThrottleReasons"


def _text(value: Any) -> str:
    return sanitize_line(
        value.decode(errors="replace") if isinstance(value, bytes) else str(value or ""), 200
    )


def _scaled(value: Any, scale: float) -> float | None:
    return None if value is None else float(value) * scale


def _link(read: _Reader) -> Link:
    return Link(
        generation=read("link", "nvmlDeviceGetCurrPcieLinkGeneration"),
        width=read("link", "nvmlDeviceGetCurrPcieLinkWidth"),
        max_generation=read("link", "nvmlDeviceGetMaxPcieLinkGeneration"),
        max_width=read("link", "nvmlDeviceGetMaxPcieLinkWidth"),
    )


def _processes(read: _Reader) -> tuple[GpuProcess, ...] | None:
    found = [read("processes", f"nvmlDeviceGet{kind}RunningProcesses") for kind in ("Compute", "Graphics")]
    if found == [None, None]:
        return None
    by_pid = {p.pid: p for listed in found for p in listed or ()}
    return tuple(
        GpuProcess(pid=int(p.pid), name=_process_name(read.lib, p.pid), memory=p.usedGpuMemory)
        for p in sorted(by_pid.values(), key=lambda p: -(p.usedGpuMemory or 0))
    )


def _computed(read: _Reader, since: float) -> dict[int, float]:
    """Return each process's share of the GPU's processors since `since`, as the mean of the driver's samples.

    Empty if nothing ran, or if the driver does not report activity; NVML raises an error in both cases.
    """
    samples: dict[int, list[float]] = {}
    for sample in read("process use", "nvmlDeviceGetProcessUtilization", int(since * 1e6)) or ():
        samples.setdefault(int(sample.pid), []).append(sample.smUtil / 100)
    return {pid: sum(shares) / len(shares) for pid, shares in samples.items()}


def _process_name(lib: Any, pid: int) -> str:
    try:
        return _text(lib.nvmlSystemGetProcessName(pid)).rpartition("/")[2]
    except lib.NVMLError:
        return ""


@functools.cache
def _shared() -> Nvml | None:
    try:
        return Nvml()
    except NvmlUnavailable:
        return None


def slowed(which: int | str) -> dict[str, float]:
    """Return the total seconds for which each cause has slowed the GPU since some fixed time.

    The driver counts these seconds (`nvmlDeviceGetViolationStatus`). The current reasons are useless here,
    because the GPU is idle between two calls.

    which: the PCI bus id from TensorFlow (`0000:04:00.0`), or NVML's own index, which CUDA_VISIBLE_DEVICES
    and CUDA's order (fastest first) do not affect. The call is cheap and never raises (the result is empty if
    unreadable). One NVML session stays open for the process.
    """
    if (read := _find(which)) is None:
        return {}
    counters = {
        text: read("slowed", "nvmlDeviceGetViolationStatus", policy) for policy, text in POLICIES.items()
    }
    return {text: counter.violationTime * 1e-9 for text, counter in counters.items() if counter is not None}


def busy_processes(which: int | str, since: float) -> list[GpuProcess]:
    """Return other processes that computed on a GPU since `since` (as `time.time()`), busiest first.

    Processes that only hold a context do not count. The list is empty if the driver does not report activity.
    In a container, the driver reports the host's process ids, so the busiest process is assumed to be this
    process. `which` and failures are as in `slowed`.
    """
    if (read := _find(which)) is None:
        return []
    use = _computed(read, since)
    listed = _processes(read) or ()
    own = os.getpid()
    if own not in {p.pid for p in listed} | set(use):
        own = max(use, key=lambda pid: use[pid], default=own)
    return [p for p in listed if use.get(p.pid, 0) > 0 and p.pid != own]


def link(which: int | str) -> Link | None:
    """Return the GPU's PCIe link; None if unreadable. `which` is as in `slowed`."""
    read = _find(which)
    return _link(read) if read is not None else None


def _find(which: int | str) -> _Reader | None:
    session = _shared()
    if session is None:
        return None
    lib = session._lib
    try:
        if isinstance(which, str):
            return _Reader(lib, lib.nvmlDeviceGetHandleByPciBusId(which.encode()))
        return _Reader(lib, lib.nvmlDeviceGetHandleByIndex(which))
    except lib.NVMLError:
        return None
