"""Formats a sample of the host, the worker and the GPUs as text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tuilab.model.quantity import significant, size
from tuilab.model.telemetry import CpuSample, DeviceSample, GpuProcess, GpuSample, Link, ProcessSample

UNKNOWN = "not reported"
MOST_LISTED = 8
"""Maximum number of processes listed per GPU."""


@dataclass(frozen=True)
class Reading:
    label: str
    words: str
    """The value, such as `38%`, or a note that it is not reported."""
    value: float | None = None
    """The value as a number in its own unit, for the history plot; None if the value is not a number."""
    most: float | None = None
    """The largest possible value; None if unknown."""
    more: tuple[str, ...] = ()
    each: tuple[float, ...] = ()
    """The shares (0 to 1) of which the value is the mean, one for each logical CPU; empty if the value is not
    a mean.
    """
    warn: bool = False
    """True if the value shows that the device is slowed down."""


@dataclass(frozen=True)
class DeviceReadings:
    family: Literal["CPU", "GPU"]
    name: str
    """`host` or `GPU:0`."""
    title: str
    """A description, such as `96 logical CPUs` or the GPU's name; "" if unknown."""
    figures: tuple[Reading, ...]
    """The readings. If the device does not report a figure, the reading's text is a note."""
    processes: tuple[str, ...] = ()
    """A header, then a line for each process that uses the device's memory, largest first."""


def devices(sample: DeviceSample) -> tuple[DeviceReadings, ...]:
    """Return the readings of the host (with the worker's load) and of each GPU."""
    count = len(sample.cpu.per_core)
    host = [*_host(sample.cpu), *(_worker(sample.process, count) if sample.process else ())]
    own = sample.process.pid if sample.process else 0
    gpus = (
        DeviceReadings("GPU", f"GPU:{gpu.index}", gpu.name, tuple(_gpu(gpu)), tuple(processes(gpu, own)))
        for gpu in sample.gpus
    )
    return DeviceReadings("CPU", "host", f"{count} logical CPUs" if count else "", tuple(host)), *gpus


def _host(cpu: CpuSample) -> Iterator[Reading]:
    yield Reading("use", percent(cpu.use), cpu.use, 1.0, each=cpu.per_core)
    yield _memory_reading("memory", cpu.memory_used, cpu.memory_total)
    if cpu.frequency_hz is not None:
        most = f" of {cpu.frequency_max_hz / 1e9:.2f}" if cpu.frequency_max_hz else ""
        yield Reading(
            "clock", f"{cpu.frequency_hz / 1e9:.2f}{most} GHz", cpu.frequency_hz, cpu.frequency_max_hz
        )
    load = f"{cpu.load:.1f}" if cpu.load is not None else ""
    quota = f"quota {significant(cpu.quota, 3)} CPUs" if cpu.quota is not None else ""
    yield from _join_reading("load", load, quota)
    quota = f"held back by its CPU quota for {percent(cpu.throttled)} of the time" if cpu.throttled else ""
    steal = f"{percent(cpu.steal)} stolen by the hypervisor" if (cpu.steal or 0) > 0.005 else ""
    heat = f"thermally throttled {cpu.thermal_events} times" if cpu.thermal_events else ""
    yield from _join_reading("held", quota, steal, heat, warn=True)


def _worker(process: ProcessSample, cpus: int) -> Iterator[Reading]:
    switches = process.involuntary
    yield from _join_reading(
        "worker",
        f"{process.use:.2f} CPUs" if process.use is not None else "",
        f"pid {process.pid}",
        size(process.memory),
        f"{process.threads} threads",
        f"{switches:.0f} involuntary switches/s" if switches is not None else "",
        value=process.use,
        most=cpus or None,
    )


def _gpu(gpu: GpuSample) -> Iterator[Reading]:
    yield Reading("use", percent(gpu.use), gpu.use, 1.0)
    yield _memory_reading("memory", gpu.memory_used, gpu.memory_total)
    limit = f" of {gpu.power_limit_w:.0f}" if gpu.power_limit_w else ""
    watts = f"{gpu.power_w:.0f}{limit} W" if gpu.power_w is not None else UNKNOWN
    yield Reading("power", watts, gpu.power_w, gpu.power_limit_w)
    yield from _join_reading(
        "clock",
        f"SM {gpu.sm_clock_hz / 1e9:.2f} GHz" if gpu.sm_clock_hz is not None else "",
        f"memory {gpu.memory_clock_hz / 1e9:.2f} GHz" if gpu.memory_clock_hz is not None else "",
        f"{gpu.temperature_c:.0f} °C" if gpu.temperature_c is not None else "",
        f"memory busy {percent(gpu.memory_use)}" if gpu.memory_use is not None else "",
        value=gpu.sm_clock_hz,
    )
    sent, received = gpu.link_sent, gpu.link_received
    both = None if sent is None or received is None else sent + received
    yield from _join_reading(
        "copies",
        f"{size(both)}/s" if both is not None else "",
        f"sends {size(sent)}/s" if sent is not None else "",
        f"receives {size(received)}/s" if received is not None else "",
        link_words(gpu.link),
        value=both,
    )
    yield from _join_reading("held", *gpu.throttle, warn=True)


def processes(gpu: GpuSample, own: int = 0) -> list[str]:
    """Return the header `pid user memory use command` and a line for each process; empty if the driver
    lists none.

    own: process id of the lab's worker.
    """
    listed = gpu.processes
    if not listed:
        return []
    head = ("pid", "user", "memory", "use", "command")
    rows = [head, *(_process(one, own) for one in listed[:MOST_LISTED])]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{pid:>{wide[0]}}  {user:<{wide[1]}}  {memory:>{wide[2]}}  {use:>{wide[3]}}  {command}"
        for pid, user, memory, use, command in rows
    ]
    more = len(listed) - MOST_LISTED
    return [*lines, f"and {more} more"] if more > 0 else lines


def _process(one: GpuProcess, own: int) -> tuple[str, str, str, str, str]:
    command = one.command or one.name or UNKNOWN
    return (
        str(one.pid),
        one.user or "–",
        size(one.memory) if one.memory is not None else "–",
        percent(one.use) if one.use is not None else "–",
        f"this lab's worker: {command}" if one.pid == own else command,
    )


def _memory_reading(label: str, used: int | None, total: int | None) -> Reading:
    if used is None or not total:
        return Reading(label, UNKNOWN)
    return Reading(label, f"{size(used)} of {size(total)}", used, total)


def _join_reading(
    label: str, *parts: str, value: float | None = None, most: float | None = None, warn: bool = False
) -> Iterator[Reading]:
    """Yield one reading that joins all known parts; nothing if no part is known."""
    words, *more = [part for part in parts if part] or [""]
    if words:
        yield Reading(label, words, value, most, tuple(more), warn=warn)


def percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{100 * share:.0f}%"


def link_words(link: Link) -> str:
    if link.generation is None or link.width is None:
        return ""
    now = f"PCIe {link.generation} ×{link.width}"
    most = link.max_generation or link.generation, link.max_width or link.width
    return now if most == (link.generation, link.width) else f"{now} now, up to {most[0]} ×{most[1]}"
