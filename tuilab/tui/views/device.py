"""The activity of the host and the GPUs, now and since the lab was opened."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tuilab.lab.changes import Change
from tuilab.tui.views.base import View
from tuilab.tui.widgets.device_panel import DevicePanel


class DeviceView(View):
    """Device samples: one per second since the start of the lab, and one with each report of a run."""

    HELP = """\
## Device

What the machine is doing right now. One bar for each logical CPU; memory; the worker's own load. For each
GPU: **use** is the share of time in which some kernel ran, not how much of the GPU it filled; memory; clocks;
power; the PCIe link, which slows down while idle; why the clocks are held back, if they are; and who is **on
it**: each process with its user, its memory on the GPU, and the share of the GPU's processors that it kept
busy. What this machine cannot report is listed below with the reason.

Below, as large as there is room, the last two minutes, from the lab's start on: load, memory, the worker, GPU
use, its memory, its clock and its copies over PCIe, the newest at the right.
"""
    wants = Change.REPORT

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield DevicePanel(empty="Reading the counters of this machine…")

    def draw(self) -> None:
        panel = self.query_one(DevicePanel)
        if self.lab.state.replay:
            panel.empty = "A replay shows no devices: the figures would be today's, not the recording's."
            panel.show_samples(())
        else:
            panel.empty = "Reading the counters of this machine…"
            panel.show_samples(self.lab.devices.samples)
