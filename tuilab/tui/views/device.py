"""The view of the activity of the host and the GPUs."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tuilab.lab.changes import Change
from tuilab.tui.views.base import View
from tuilab.tui.widgets.device_panel import DevicePanel


class DeviceView(View):
    """Shows the samples of the devices, about one per second."""

    HELP = """\
## Device

The current activity of the machine: a bar for each logical CPU, memory, and the worker's own load. For each
GPU: **use** is the share of time in which a kernel ran, not how much of the GPU it filled; then memory,
clocks and power; the PCIe link, which slows down while idle; the reason if the clocks are reduced; and the
processes **on it**, each with its user, its GPU memory, and the share of the GPU's processors that it kept
busy. Values that this machine cannot report are listed below, with the reason. If there is room, plots at the
bottom show the last two minutes, newest on the right: load, memory, the worker, and the GPU's use, memory,
clock and PCIe copies.
"""
    wants = Change.REPORT

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield DevicePanel(empty="Reading the counters of this machine…")

    def draw(self) -> None:
        panel = self.query_one(DevicePanel)
        if self.lab.state.replay:
            panel.empty = (
                "A replay shows no devices, because the current figures do not belong to the recording."
            )
            panel.show_samples(())
        else:
            panel.empty = "Reading the counters of this machine…"
            panel.show_samples(self.lab.devices.samples)
