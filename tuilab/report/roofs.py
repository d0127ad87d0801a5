"""Formats the roofs (hardware limits) of a machine as plain text."""

from tuilab.analysis.roofline_words import level_name
from tuilab.analysis.words import percent
from tuilab.model.machine import Machine
from tuilab.model.moments import when, zone
from tuilab.model.quantity import rate, seconds
from tuilab.model.roofline import DeviceRoofs, Roofs
from tuilab.report.rows import wrapped
from tuilab.report.text import columns

PLACES = {"eager": "one op, eager", "graph": "one graph", "xla": "one XLA program"}


def roofs_text(machine: Machine, roofs: Roofs, most: int = 0) -> str:
    """Return, for each device, the memory bandwidth by working set, the FLOP rate by dtype, the copy rates,
    and the time of an empty call by mode.

    most: maximum width in columns, 0 for no limit.
    """
    lines = [f"{machine.host}: {machine.cpu}, {machine.cores} cores; TensorFlow {machine.tensorflow}."]
    for name, device in roofs.devices.items():
        described = next((d.description for d in machine.devices if d.name == name), "")
        lines += ["", f"{name}  {described}".rstrip(), *columns(_rows(device))]
    lines += ["", f"One empty synchronization: {seconds(roofs.sync_s)}."]
    if roofs.least is not None:
        lines.append(
            f"Twenty rounds detect a difference of {percent(roofs.least)} on this machine in nine of "
            "ten runs."
        )
    took = f"Measured in {roofs.seconds:.1f} s at {when(roofs.at)}{zone()}"
    lines.append(f"{took}; each figure is the best ever measured on this machine.")
    if roofs.busy:
        lines.append(
            f"! Other processes used {percent(roofs.others)} of the processors during the measurement, so "
            f"the real roofs may be higher: run tuilab machine --again when the machine is idle."
        )
    return "\n".join(wrapped(lines, most))


def _rows(device: DeviceRoofs) -> list[list[str]]:
    rows = [["  triad in memory", rate(device.triad, "B/s")]]
    for level in device.memory:
        rows.append([f"  {level_name(device.memory, level)}", rate(level.bytes_per_s, "B/s")])
    rows += [[f"  {dtype} arithmetic", rate(top, "FLOP/s")] for dtype, top in device.peaks.items()]
    if device.link is not None:
        rows.append(["  an empty copy", seconds(device.link.latency_s)])
        for way, copy in (("to the device", device.link.to_device), ("to the host", device.link.to_host)):
            rows.append([f"  copies {way}", rate(copy, "B/s") if copy else "no measurable cost per byte"])
    rows += [[f"  an empty call, {PLACES[mode]}", seconds(cost)] for mode, cost in device.launch_s.items()]
    return rows
