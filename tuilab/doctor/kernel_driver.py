"""The driver's half in the kernel: its version and the device files through which a program reaches it."""

import grp
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from tuilab.doctor.place import Place
from tuilab.model.doctor import Probe
from tuilab.model.sanitize import sanitize_line

VERSION_FILE = "/proc/driver/nvidia/version"
_VERSION = re.compile(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)")


@dataclass(frozen=True)
class KernelDriver:
    """version: empty where no NVIDIA driver is loaded. nodes: `/dev/nvidia0` and so on.

    denied: device files that this user may not read and write. group: the group that may.
    """

    version: str = ""
    nodes: tuple[str, ...] = ()
    control: bool = False
    uvm: bool = False
    denied: tuple[str, ...] = ()
    group: str = ""

    @property
    def loaded(self) -> bool:
        """The kernel has the driver."""
        return bool(self.version)


def parse_version(text: str) -> str:
    """`NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  …` → `570.86.15`; other text as it is."""
    found = _VERSION.search(text)
    return found[1] if found else sanitize_line(text.strip(), 100)


def look(place: Place) -> KernelDriver:
    """Read /proc/driver/nvidia/version and list /dev/nvidia*."""
    folder = place.file("/dev")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    nodes = [name for name in names if re.fullmatch(r"nvidia\d+", name)]
    needed = [name for name in (*nodes, "nvidiactl", "nvidia-uvm") if name in names]
    denied = [name for name in needed if not os.access(folder / name, os.R_OK | os.W_OK)]
    return KernelDriver(
        version=parse_version(place.read(VERSION_FILE)),
        nodes=tuple(f"/dev/{name}" for name in nodes),
        control="nvidiactl" in names,
        uvm="nvidia-uvm" in names,
        denied=tuple(f"/dev/{name}" for name in denied),
        group=_group(folder / denied[0]) if denied else "",
    )


def _group(path: Path) -> str:
    """The file's group where membership would help: its bits give the group reading and writing."""
    try:
        found = path.stat()
        return grp.getgrgid(found.st_gid).gr_name if found.st_mode & stat.S_IRWXG >= 0o060 else ""
    except (OSError, KeyError):
        return ""


def probe(found: KernelDriver) -> Probe:
    """The finding in a sentence."""
    files = ", ".join(found.nodes) or "no /dev/nvidia0"
    if not found.loaded:
        rest = f"; {files}" if found.nodes else "; there is no /dev/nvidia* either"
        return Probe("kernel driver", "fail", f"{VERSION_FILE} does not exist{rest}")
    if found.denied:
        return Probe(
            "kernel driver", "fail", f"{found.version}; this user may not open {', '.join(found.denied)}"
        )
    expected = {
        "/dev/nvidia0": bool(found.nodes),
        "/dev/nvidiactl": found.control,
        "/dev/nvidia-uvm": found.uvm,
    }
    missing = [name for name, there in expected.items() if not there]
    if missing:
        return Probe("kernel driver", "warn", f"{found.version}; missing: {', '.join(missing)}")
    return Probe("kernel driver", "ok", f"{found.version}; {files}")
