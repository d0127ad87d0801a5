"""What host and devices do at this moment: one bar a core, memory, and each GPU's figures."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from textual.geometry import Size

from tuilab.model.quantity import size
from tuilab.model.telemetry import DeviceSample
from tuilab.tui.widgets.gauges import (
    CPU,
    GPU,
    cpu_lines,
    gpu_lines,
    hertz,
    level,
    note_lines,
    percent,
    process_lines,
)
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import FAINT, MUTED, TEXT, VERTICAL, Line
from tuilab.tui.widgets.wording import fit

REMEMBERED = 120
"""Samples, one a second."""
LEAST_ROWS = 3
"""From so many rows on that the figures leave free, there are graphs."""
BESIDE = 80
"""From this width on two graphs stand side by side."""


@dataclass
class Past:
    """What a figure was, the newest last."""

    name: str
    family: str
    """`CPU` or `GPU`: whose hue it is drawn in."""
    values: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """Shares from 0 to 1; of copies bytes per second, drawn against the most that was seen."""
    words: str = ""
    """The newest, as people write it."""


def figures_of(sample: DeviceSample) -> dict[str, tuple[float, str, str]]:
    """Value, words and family of each figure that this machine tells, by name."""
    out: dict[str, tuple[float, str, str]] = {}
    cpu = sample.cpu
    if cpu.use is not None:
        out["host load"] = cpu.use, percent(cpu.use), "CPU"
    if cpu.memory_total:
        out["host memory"] = cpu.memory_used / cpu.memory_total, size(cpu.memory_used), "CPU"
    if cpu.frequency_hz is not None and cpu.frequency_max_hz:
        out["host clock"] = cpu.frequency_hz / cpu.frequency_max_hz, hertz(cpu.frequency_hz), "CPU"
    if sample.process is not None and sample.process.use is not None and cpu.per_core:
        used = sample.process.use
        out["worker"] = used / len(cpu.per_core), f"{used:.2f} CPUs", "CPU"
    for gpu in sample.gpus:
        name = f"GPU:{gpu.index}"
        if gpu.use is not None:
            out[f"{name} use"] = gpu.use, percent(gpu.use), "GPU"
        if gpu.memory_used is not None and gpu.memory_total:
            out[f"{name} memory"] = gpu.memory_used / gpu.memory_total, size(gpu.memory_used), "GPU"
        if gpu.sm_clock_hz is not None:
            out[f"{name} clock"] = gpu.sm_clock_hz, hertz(gpu.sm_clock_hz), "GPU"
        if gpu.link_sent is not None and gpu.link_received is not None:
            rate = gpu.link_sent + gpu.link_received
            out[f"{name} copies"] = rate, f"{size(rate)}/s", "GPU"
    return out


def _weight(past: Past) -> int:
    """What is looked at first stands first, where there is not room for all."""
    order = ("use", "load", "memory", "copies", "worker", "clock")
    return 2 * order.index(past.name.split()[-1]) + (past.family == "CPU")


def graphs(pasts: Sequence[Past], width: int, height: int) -> list[Line]:
    """A graph for each figure in `height` rows: a line of words, and under it columns as high as it was."""
    across = 2 if width >= BESIDE else 1
    down = -(-len(pasts) // across)
    if not down:
        return []
    while down > 1 and height // down < 2:
        down -= 1
    rows = max(1, height // down - 1)
    wide = (width - 3 * (across - 1)) // across
    out: list[Line] = []
    for first in range(0, min(len(pasts), down * across), across):
        parts = [graph(past, wide, rows) for past in pasts[first : first + across]]
        gap: Line = (("   ", TEXT),)
        for row in zip(*parts, strict=True):
            line: Line = row[0]
            for other in row[1:]:
                line = (*line, *gap, *other)
            out.append(line)
    return out


def graph(past: Past, width: int, rows: int) -> list[Line]:
    """`host load  38 %` over columns, the newest at the right, each filled from below."""
    style = CPU if past.family == "CPU" else GPU
    recent = list(past.values)[-(width - 2) :]
    most = max([1.0, *recent])
    head = fit(f" {past.name}", width - 12) + fit(past.words, 12, "right")
    lines: list[Line] = [((head, MUTED),)]
    for row in range(rows, 0, -1):
        cells = "".join(level(min(1.0, max(0.0, value / most * rows - row + 1))) for value in recent)
        lines.append(((" " + " " * (width - 2 - len(recent)), TEXT), (cells, style), (VERTICAL, FAINT)))
    return lines


class DevicePanel(LineWidget):
    """The last sample, with the use of the samples before it beside the bars; as high as it has lines."""

    DEFAULT_CSS = "DevicePanel { height: auto; width: 1fr; }"

    def __init__(self, *, empty: str = "No sample has been taken yet.") -> None:
        super().__init__(empty=empty)
        self._sample: DeviceSample | None = None
        self._past: dict[str, Past] = {}

    def show_sample(self, sample: DeviceSample) -> None:
        """Show this sample and remember its loads."""
        self._sample = sample
        for name, (share, words, family) in figures_of(sample).items():
            past = self._past.setdefault(name, Past(name, family))
            past.values.append(share)
            past.words = words
        if self.get_content_height(self.container_size, self.size, self.size.width) != self.size.height:
            self.refresh(layout=True)
        self.repaint()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.paint(width, container.height))

    def paint(self, width: int, height: int) -> Sequence[Line]:
        sample = self._sample
        if sample is None:
            return self.empty_lines(width, height)
        lines = cpu_lines(sample.cpu, self._shares("host load"), width)
        if sample.process:
            lines += process_lines(sample.process, width)
        for gpu in sample.gpus:
            lines += [(), *gpu_lines(gpu, self._shares(f"GPU:{gpu.index} use"), width)]
        lines += note_lines(sample.notes, width)
        if height - len(lines) > LEAST_ROWS:
            pasts = sorted(self._past.values(), key=_weight)
            lines += [(), *graphs(pasts, width, height - len(lines) - 1)]
        return lines

    def _shares(self, name: str) -> list[float]:
        past = self._past.get(name)
        return list(past.values) if past else []
