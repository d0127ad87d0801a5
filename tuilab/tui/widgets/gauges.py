"""Bars and lines of figures for a sample of the machine's telemetry. Pure."""

from collections.abc import Sequence

from rich.cells import cell_len

from tuilab.model.quantity import significant, size
from tuilab.model.telemetry import CpuSample, GpuSample, Link, ProcessSample
from tuilab.tui.widgets.look import (
    FAINT,
    LEVELS,
    MUTED,
    RULE,
    SEPARATOR,
    STRONG,
    TEXT,
    WARN,
    Line,
    Run,
    TextStyle,
    blocks,
)
from tuilab.tui.widgets.wording import clip, fit

LABEL = 9
CPU, GPU = TextStyle("cpu1"), TextStyle("gpu1")
UNKNOWN = "not reported"


def percent(share: float | None) -> str:
    """`38 %`, or that it is not known."""
    return UNKNOWN if share is None else f"{100 * share:.0f} %"


def level(share: float) -> str:
    """One character as high as the share; more than nothing always shows."""
    share = min(1.0, max(0.0, share))
    return LEVELS[max(share > 0.01, round(share * (len(LEVELS) - 1)))]


def gauge(share: float | None, cells: int, style: TextStyle) -> list[Run]:
    """A bar of `cells` cells, filled to the share."""
    if share is None:
        return [(" " * cells, TEXT)]
    filled = blocks(min(1.0, max(0.0, share)) * cells)
    return [(filled, style), (RULE * (cells - len(filled)), FAINT)]


def history(shares: Sequence[float], cells: int, style: TextStyle) -> list[Run]:
    """The last loads, the newest at the right."""
    recent = shares[-cells:] if cells > 0 else ()
    return [(" " * (cells - len(recent)) + "".join(level(share) for share in recent), style)]


def measure(
    label: str,
    share: float | None,
    words: str,
    past: Sequence[float],
    style: TextStyle,
    width: int,
) -> Line:
    """`use  38 % of 96  ███┄┄┄┄┄  ▁▂▃`: label, words, bar, and past where there is room and any is given."""
    words_width = 19
    rest = width - LABEL - words_width - 1
    line: list[Run] = [
        (" " + fit(label, LABEL - 1), MUTED),
        (fit(words, words_width), STRONG if share is not None else MUTED),
    ]
    if rest < 4:
        return tuple(line)
    trail = min(len(past), rest // 2) if len(past) > 1 else 0
    cells = min(40, rest - (trail + 2 if trail else 0))
    line += gauge(share, cells, style)
    if trail:
        line += [("  ", TEXT), *history(past, min(trail, rest - cells - 2), style)]
    return tuple(line)


def facts(label: str, parts: Sequence[str], width: int, style: TextStyle = TEXT) -> list[Line]:
    """Words after a label, with separators, in as many lines as they take; nothing without words."""
    text = f"  {SEPARATOR}  ".join(part for part in parts if part)
    lines = clip(text, max(8, width - LABEL), 3)
    return [
        ((" " + fit(label if not i else "", LABEL - 1), MUTED), (line, style)) for i, line in enumerate(lines)
    ]


def cpu_lines(cpu: CpuSample, past: Sequence[float], width: int) -> list[Line]:
    """The host: its use, a bar a core, memory, clocks and what held it back."""
    count = len(cpu.per_core)
    title = f"Host: {count} logical CPUs" if count else "Host"
    out: list[Line] = [((title, STRONG),)]
    out.append(measure("use", cpu.use, percent(cpu.use), past, CPU, width))
    room = max(8, width - LABEL)
    for start in range(0, count, room):
        cores = cpu.per_core[start : start + room]
        label = f"{start}-{start + len(cores) - 1}" if count > room else "each"
        bars = "".join(level(share) for share in cores)
        out.append(((" " + fit(label, LABEL - 1), MUTED), (bars, CPU)))
    memory = cpu.memory_used / cpu.memory_total if cpu.memory_total else None
    words = f"{size(cpu.memory_used)} of {size(cpu.memory_total)}"
    out.append(measure("memory", memory, words, (), CPU, width))
    held = []
    if cpu.throttled:
        held.append(f"held back by its CPU quota for {percent(cpu.throttled)} of the time")
    if cpu.steal and cpu.steal > 0.005:
        held.append(f"{percent(cpu.steal)} taken by the hypervisor")
    if cpu.thermal_events:
        held.append(f"throttled for heat {cpu.thermal_events} times")
    quota = f"quota {significant(cpu.quota, 3)} CPUs" if cpu.quota is not None else ""
    load = f"{cpu.load:.1f}" if cpu.load is not None else ""
    out += facts("clock", [hertz(cpu.frequency_hz, cpu.frequency_max_hz), quota], width)
    out += facts("load", [load], width)
    return out + facts("held", held, width, WARN)


def process_lines(process: ProcessSample, width: int) -> list[Line]:
    """The worker's own load."""
    parts = [
        f"pid {process.pid}",
        f"{process.use:.2f} CPUs" if process.use is not None else "",
        size(process.memory),
        f"{process.threads} threads",
        f"{process.involuntary:.0f} involuntary switches/s" if process.involuntary is not None else "",
    ]
    return facts("worker", parts, width)


def gpu_lines(gpu: GpuSample, past: Sequence[float], width: int) -> list[Line]:
    """One GPU: use, memory, power, clocks, link, what holds it back, who else is on it."""
    out: list[Line] = [
        ((f"GPU:{gpu.index} ", STRONG), (fit(gpu.name, min(width - 8, cell_len(gpu.name))), TEXT))
    ]
    out.append(measure("use", gpu.use, percent(gpu.use), past, GPU, width))
    memory, words = None, UNKNOWN
    if gpu.memory_used is not None and gpu.memory_total:
        memory, words = (
            gpu.memory_used / gpu.memory_total,
            f"{size(gpu.memory_used)} of {size(gpu.memory_total)}",
        )
    out.append(measure("memory", memory, words, (), GPU, width))
    power = gpu.power_w / gpu.power_limit_w if gpu.power_w is not None and gpu.power_limit_w else None
    watts = f"{gpu.power_w:.0f} of {gpu.power_limit_w:.0f} W" if power is not None else UNKNOWN
    if power is None and gpu.power_w is not None:
        watts = f"{gpu.power_w:.0f} W"
    out.append(measure("power", power, watts, (), GPU, width))
    clocks = [
        f"SM {hertz(gpu.sm_clock_hz)}" if gpu.sm_clock_hz is not None else "",
        f"memory {hertz(gpu.memory_clock_hz)}" if gpu.memory_clock_hz is not None else "",
        f"{gpu.temperature_c:.0f} °C" if gpu.temperature_c is not None else "",
        f"memory busy {percent(gpu.memory_use)}" if gpu.memory_use is not None else "",
    ]
    out += facts("clock", clocks, width)
    traffic = [
        f"{name} {size(rate)}/s"
        for name, rate in (("sends", gpu.link_sent), ("receives", gpu.link_received))
        if rate is not None
    ]
    out += facts("link", [link_words(gpu.link), *traffic], width)
    out += facts("held", gpu.throttle, width, WARN)
    if gpu.processes:
        others = [
            f"{p.name or 'process'} {p.pid}{f' {size(p.memory)}' if p.memory is not None else ''}"
            for p in gpu.processes
        ]
        out += facts("on it", others, width)
    return out + note_lines([f"{name}: {why}" for name, why in gpu.unread.items()], width)


def hertz(now: float | None, most: float | None = None) -> str:
    """`3.21 of 3.70 GHz`; nothing where it is not known."""
    if now is None:
        return ""
    if most:
        return f"{now / 1e9:.2f} of {most / 1e9:.2f} GHz"
    return f"{now / 1e9:.2f} GHz"


def link_words(link: Link) -> str:
    """`PCIe 1 ×16 now, up to 5 ×16`; nothing where it is not known."""
    if link.generation is None or link.width is None:
        return ""
    now = f"PCIe {link.generation} ×{link.width}"
    if link.max_generation is None or link.max_width is None:
        return now
    if (link.generation, link.width) == (link.max_generation, link.max_width):
        return now
    return f"{now} now, up to {link.max_generation} ×{link.max_width}"


def note_lines(notes: Sequence[str], width: int) -> list[Line]:
    """Sentences on what cannot be shown."""
    return [((" " + line, MUTED),) for note in notes for line in clip(note, max(8, width - 1), 3)]
