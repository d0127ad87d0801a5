"""Device: what host and GPUs do at this moment."""

import asyncio
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tuilab.lab import Lab
from tuilab.lab.changes import Change
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.telemetry import DeviceSample
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

    def __init__(self, lab: Lab, id: str | None = None) -> None:
        super().__init__(lab, id)
        self._telemetry: Telemetry | None = None
        self._watched = 0
        self._sampling = False
        self._sampled_at = float("-inf")

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield DevicePanel(empty="Reading the counters of this machine…")

    def on_mount(self) -> None:
        self.set_interval(EVERY_S, self._tick)

    def draw(self) -> None:
        lab_state = self.lab.state
        if lab_state.replay:
            self.query_one(
                DevicePanel
            ).empty = "A replay shows no devices: the figures would be today's, not the recording's."
            return
        self._sample_soon()

    def _tick(self) -> None:
        state = self.lab.state
        if self.is_on_screen and not state.asked and not state.replay:
            self._sample_soon()

    def _sample_soon(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._sampling and now - self._sampled_at >= 0.9 * EVERY_S:
            self._sampling, self._sampled_at = True, now
            self.run_worker(self._sample(), exit_on_error=False)

    async def _sample(self) -> None:
        """One sample, in a thread: a call into a wedged driver may block."""
        pid = self.lab.state.worker.pid
        try:
            self.query_one(DevicePanel).show_sample(await run_in_daemon_thread(self._read, pid))
        finally:
            self._sampling = False

    def _read(self, pid: int) -> DeviceSample:
        from tuilab.telemetry.sampler import Telemetry

        if self._telemetry is None:
            self._telemetry = Telemetry()
        if pid != self._watched:
            self._watched = pid
            self._telemetry.watch(pid or None)
        return self._telemetry.sample()

    def on_unmount(self) -> None:
        if self._telemetry is not None and not self._sampling:
            self._telemetry.close()
