"""Device: what host and GPUs do at this moment."""

from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tuilab.lab import Lab
from tuilab.lab.changes import Change
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.telemetry import DeviceSample
from tuilab.presentation.view_options import ViewOptions
from tuilab.tui.views.base import View
from tuilab.tui.widgets.device_panel import DevicePanel

if TYPE_CHECKING:
    from tuilab.telemetry.sampler import Telemetry

EVERY_S = 1.0


class DeviceView(View):
    """Samples once a second while it is open; during a run only when the run reports, not to disturb it."""

    HELP = """\
## Device

What the machine is doing right now. One bar for each logical CPU; memory; the worker's own load. For each
GPU: **use** is the share of time in which some kernel ran, not how much of the GPU it filled; memory; clocks;
power; the PCIe link, which slows down while idle; and why the clocks are held back, if they are. What this
machine cannot report is listed below with the reason.

Below, as large as there is room, the last two minutes: load, memory, the worker, GPU use, its memory, its
clock and its copies over PCIe, the newest at the right.
"""
    wants = Change.REPORT

    def __init__(self, lab: Lab, viewing: ViewOptions, id: str | None = None) -> None:
        super().__init__(lab, viewing, id)
        self._telemetry: Telemetry | None = None
        self._due = 0.0
        """When the next sample may begin; none while one is being taken."""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield DevicePanel(empty="Reading the counters of this machine…")

    def on_mount(self) -> None:
        self.set_interval(EVERY_S, self._tick)

    def _tick(self) -> None:
        if self.is_on_screen and not self.lab.state.asked:
            self.draw()

    def draw(self) -> None:
        if self.lab.state.replay:
            self.query_one(
                DevicePanel
            ).empty = "A replay shows no devices: the figures would be today's, not the recording's."
        elif monotonic() >= self._due:
            self._due = inf
            self.run_worker(self._sample(), exit_on_error=False)

    async def _sample(self) -> None:
        """One sample, in a thread: a call into a wedged driver may block."""
        begun, panel = monotonic(), self.query_one(DevicePanel)
        try:
            panel.show_sample(await run_in_daemon_thread(self._read, self.lab.state.worker.pid))
        finally:
            self._due = begun + 0.9 * EVERY_S

    def _read(self, pid: int) -> DeviceSample:
        from tuilab.telemetry.sampler import Telemetry

        self._telemetry = self._telemetry or Telemetry()
        return self._telemetry.sample(pid)

    def on_unmount(self) -> None:
        if self._telemetry and self._due < inf:
            self._telemetry.close()
