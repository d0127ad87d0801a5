"""What host and devices do at this moment: one bar a core, memory, and each GPU's figures."""

from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from tuilab.model.telemetry import DeviceSample
from tuilab.tui.widgets.gauges import cpu_lines, gpu_lines, note_lines, process_lines
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import MUTED, Line

REMEMBERED = 120


class DevicePanel(LineWidget, can_focus=True):
    """The last sample, with the use of the samples before it beside the bars."""

    DEFAULT_CSS = "DevicePanel { height: 1fr; width: 1fr; }"

    HELP = """\
## Device

What the machine does at this moment. One bar for each logical CPU; memory; the worker's own load. For each
GPU: **use** is the share of time in which some kernel ran, not how much of the GPU it filled; memory; clocks;
power; the PCIe link, which trains down while idle; and why the clocks are held back, if they are. What this
machine does not tell stands below with the reason.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_by(-1)", "up", show=False, id="device.up"),
        Binding("down", "scroll_by(1)", "down", show=False, id="device.down"),
        Binding("pageup", "scroll_by(-10)", "page up", show=False, id="device.page-up"),
        Binding("pagedown", "scroll_by(10)", "page down", show=False, id="device.page-down"),
    ]

    def __init__(
        self,
        *,
        empty: str = "No sample has been taken yet.",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, id=id, classes=classes)
        self._sample: DeviceSample | None = None
        self._cpu: deque[float] = deque(maxlen=REMEMBERED)
        self._gpus: dict[int, deque[float]] = {}
        self._top = 0

    def show_sample(self, sample: DeviceSample) -> None:
        """Show this sample and remember its loads."""
        self._sample = sample
        if sample.cpu.use is not None:
            self._cpu.append(sample.cpu.use)
        for gpu in sample.gpus:
            if gpu.use is not None:
                self._gpus.setdefault(gpu.index, deque(maxlen=REMEMBERED)).append(gpu.use)
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        sample = self._sample
        if sample is None:
            return self.empty_lines(width, height)
        glyphs = self.glyphs
        lines = cpu_lines(sample.cpu, list(self._cpu), width, glyphs)
        if sample.process:
            lines += process_lines(sample.process, width, glyphs)
        for gpu in sample.gpus:
            lines += [(), *gpu_lines(gpu, list(self._gpus.get(gpu.index, ())), width, glyphs)]
        lines += note_lines(sample.notes, width)
        self._top = min(self._top, max(0, len(lines) - height))
        shown = lines[self._top : self._top + height]
        if self._top + height < len(lines) and height > 1:
            below = len(lines) - self._top - height + 1
            shown[-1] = ((f" {below} more lines: {'v' if glyphs.ascii else '↓'}", MUTED),)
        return shown

    def action_scroll_by(self, lines: int) -> None:
        """Show lines further down or up."""
        self._top = max(0, self._top + lines)
        self.repaint()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.action_scroll_by(3)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.action_scroll_by(-3)
        event.stop()
