"""Reads the machine and its PCI bus, to find out whether it has an NVIDIA GPU."""

import re
from dataclasses import dataclass
from pathlib import Path

from tuilab.doctor.place import Place
from tuilab.model.doctor import Probe
from tuilab.model.quantity import plural
from tuilab.model.sanitize import sanitize_line

NVIDIA, AMD = "0x10de", "0x1002"
DISPLAY_CLASS, SWITCH_CLASS = "0x03", "0x0680"
"""PCI classes of display controllers (a GPU without outputs has 0x0302) and of NVSwitches."""


@dataclass(frozen=True)
class PciGpu:
    """A display controller. driver: the name of its kernel driver, if any."""

    slot: str
    vendor: str
    device: str
    driver: str = ""


@dataclass(frozen=True)
class Hardware:
    """The machine. gpus: None if the PCI bus cannot be read. wsl: True for Linux in Windows (WSL), where the
    GPU is not a PCI device.

    switch: True if NVSwitches connect the GPUs, which requires a fabric manager. jetson: True for NVIDIA's
    Jetson boards.
    """

    gpus: tuple[PciGpu, ...] | None = None
    wsl: bool = False
    wsl_gpu: bool = False
    system: str = "linux"
    distribution: tuple[str, ...] = ()
    machine: str = ""
    switch: bool = False
    jetson: bool = False

    @property
    def nvidia(self) -> tuple[PciGpu, ...]:
        return tuple(g for g in self.gpus or () if g.vendor == NVIDIA)

    @property
    def none(self) -> bool:
        return self.gpus is not None and not self.nvidia and not self.wsl


def look(place: Place) -> Hardware:
    bus = place.file("/sys/bus/pci/devices")
    return Hardware(
        gpus=_pci(bus),
        wsl="microsoft" in place.read("/proc/version").lower(),
        wsl_gpu=place.file("/dev/dxg").exists(),
        system=place.platform,
        distribution=_distribution(place.read("/etc/os-release")),
        machine=place.machine,
        switch=_switch(bus),
        jetson=place.file("/etc/nv_tegra_release").exists(),
    )


def _pci(folder: Path) -> tuple[PciGpu, ...] | None:
    try:
        devices = sorted(folder.iterdir())
    except OSError:
        return None
    if not devices:
        return None
    found = []
    for device in devices:
        if not _word(device / "class").startswith(DISPLAY_CLASS):
            continue
        driver = device / "driver"
        name = driver.resolve().name if driver.exists() else ""
        found.append(PciGpu(device.name, _word(device / "vendor"), _word(device / "device"), name))
    return tuple(found)


def _switch(bus: Path) -> bool:
    return any(
        _word(device / "vendor") == NVIDIA and _word(device / "class").startswith(SWITCH_CLASS)
        for device in (bus.iterdir() if bus.is_dir() else ())
    )


def _word(path: Path) -> str:
    try:
        return sanitize_line(path.read_text().strip(), 20)
    except (OSError, UnicodeDecodeError):
        return ""


def _distribution(os_release: str) -> tuple[str, ...]:
    """Return ID and ID_LIKE from /etc/os-release, the most specific first: `("ubuntu", "debian")`."""
    found = dict(re.findall(r"^(ID|ID_LIKE)=\"?([^\"\n]*)\"?$", os_release, re.MULTILINE))
    return tuple(f"{found.get('ID', '')} {found.get('ID_LIKE', '')}".split())


def probe(found: Hardware) -> Probe:
    if found.system != "linux":
        return Probe("hardware", "skip", f"tuilab does not read the PCI bus on {found.system}")
    if found.wsl:
        detail = "/dev/dxg exists" if found.wsl_gpu else "/dev/dxg is missing"
        return Probe("hardware", "ok" if found.wsl_gpu else "fail", f"Linux inside Windows (WSL): {detail}")
    if found.gpus is None:
        return Probe("hardware", "skip", "the PCI bus cannot be read on this machine")
    if found.nvidia:
        held = ", ".join(f"{g.device} at {g.slot} ({g.driver or 'no driver'})" for g in found.nvidia)
        good = all(g.driver == "nvidia" for g in found.nvidia)
        count = plural(len(found.nvidia), "NVIDIA GPU")
        return Probe("hardware", "ok" if good else "warn", f"{count} on PCI: {held}")
    other = "; there is an AMD GPU, which this TensorFlow cannot use" if _amd(found) else ""
    return Probe("hardware", "fail", f"no NVIDIA GPU on the PCI bus{other}")


def _amd(found: Hardware) -> bool:
    return any(g.vendor == AMD for g in found.gpus or ())
