"""Samples everything on the device panel."""

import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from tuilab.model.telemetry import DeviceSample, GpuSample
from tuilab.nvml import Nvml, NvmlUnavailable
from tuilab.telemetry.host import Host
from tuilab.telemetry.process import WatchedProcess, looked_up


def open_nvml(root: Path = Path("/")) -> Nvml:
    """Return an NVML session. Raises NvmlUnavailable, immediately if no NVIDIA driver is loaded."""
    # On WSL, the Windows driver works through /dev/dxg, and /proc does not show it.
    if not (root / "proc/driver/nvidia/version").exists() and not (root / "dev/dxg").exists():
        raise NvmlUnavailable("no GPU figures: no NVIDIA driver is loaded on this machine")
    return Nvml()


class Telemetry:
    """Samples this machine. Fast enough for a few samples per second; not thread-safe.

    Missing figures are None, and the sample's notes explain why they are missing. Call `sample` in a separate
    thread, because a call into a hung driver can block.
    """

    def __init__(self, nvml: Callable[[], Nvml] = open_nvml) -> None:
        self._host = Host()
        self._watched: WatchedProcess | None = None
        self._before: float | None = None
        self._nvml: Nvml | None = None
        self._no_gpu = ""
        try:
            self._nvml = nvml()
        except NvmlUnavailable as error:
            self._no_gpu = str(error)

    def sample(self, pid: int = 0) -> DeviceSample:
        """Sample this machine. pid: id of a process to include, such as the worker; 0 for none."""
        if pid != (self._watched.pid if self._watched else 0):
            self._watched = WatchedProcess(pid) if pid else None
        at = time.monotonic()
        interval = None if self._before is None else at - self._before
        self._before = at
        notes = [self._no_gpu] if self._no_gpu else []
        gpus = tuple(map(self._gpu, range(self._nvml.count))) if self._nvml else ()
        for gpu in gpus:
            notes += [f"GPU {gpu.index}: no {what}: {why}" for what, why in gpu.unread.items()]
        process = None
        if self._watched is not None:
            process, why = self._watched.sample()
            notes += [why] if why else []
        return DeviceSample(
            at=at,
            interval_s=interval,
            cpu=self._host.sample(),
            gpus=gpus,
            process=process,
            notes=(*notes, *self._host.notes),
        )

    def _gpu(self, index: int) -> GpuSample:
        assert self._nvml is not None
        sample = self._nvml.sample(index)
        listed = sample.processes and tuple(map(looked_up, sample.processes))
        return replace(sample, processes=listed)

    def close(self) -> None:
        if self._nvml is not None:
            self._nvml.close()
            self._nvml = None
