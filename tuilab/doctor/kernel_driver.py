"""Examines the kernel side of the driver: its module, version and device files."""

import grp
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from tuilab.doctor import children
from tuilab.doctor.place import Place
from tuilab.model.doctor import Probe
from tuilab.model.sanitize import sanitize_line

VERSION_FILE = "/proc/driver/nvidia/version"
_VERSION = re.compile(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
"""An EFI variable: four bytes of attributes, then 1 if Secure Boot is on (UEFI specification, 3.3)."""

SIGNING_KEYS = (
    "/var/lib/shim-signed/mok/MOK.der",
    "/var/lib/dkms/mok.pub",
    "/etc/pki/akmods/certs/public_key.der",
)
"""Signing keys for kernel modules, as stored by Ubuntu, Debian's DKMS and Fedora's akmods."""

FABRIC_MANAGER = "nv-fabricmanage"
"""Name of nv-fabricmanager in /proc, where process names are cut to 15 characters."""


@dataclass(frozen=True)
class KernelDriver:
    """The kernel side of the driver. version: empty if no NVIDIA driver is loaded. nodes: `/dev/nvidia0` and
    so on.

    unopened: device files that cannot be opened, with the error's name (`EACCES`). group: the group with
    permission to open them. hung: the device file that did not open in time. module: the driver's module for
    the running kernel. built_for: other kernels that have a module. dkms: True if the module's source is
    present. signing_key: the key to enroll for Secure Boot. mig_instances: compute instances of divided GPUs
    (Multi-Instance GPU).
    """

    version: str = ""
    nodes: tuple[str, ...] = ()
    control: bool = False
    uvm: bool = False
    unopened: dict[str, str] = field(default_factory=dict)
    group: str = ""
    hung: str = ""
    release: str = ""
    module: str = ""
    built_for: tuple[str, ...] = ()
    dkms: bool = False
    secure_boot: bool = False
    signing_key: str = ""
    mig_instances: int = 0
    fabric_manager: bool = False

    def failing(self, *errors: str) -> tuple[str, ...]:
        """Return the device files that cannot be opened because of one of these errors, such as `EACCES`."""
        return tuple(path for path, error in self.unopened.items() if error in errors)

    @property
    def loaded(self) -> bool:
        return bool(self.version)


def parse_version(text: str) -> str:
    """Return the version in a driver's line (`NVRM version: … Kernel Module 570.86.15 …`), or the whole line
    if it contains no version.
    """
    match = _VERSION.search(text)
    return match[1] if match else sanitize_line(text.strip(), 100)


def look(place: Place, until: float) -> KernelDriver:
    """Read /proc, /dev and /lib/modules, and open each device file in a child process, because some files
    fail only when opened.
    """
    folder = place.file("/dev")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    nodes = [name for name in names if re.fullmatch(r"nvidia\d+", name)]
    needed = [name for name in (*nodes, "nvidiactl", "nvidia-uvm") if name in names]
    unopened, hung = _open(place, [folder / name for name in needed], until)
    release = sanitize_line(place.read("/proc/sys/kernel/osrelease").strip(), 100)
    modules = {kernel: path for kernel in _folders(place, "/lib/modules") if (path := _module(place, kernel))}
    return KernelDriver(
        version=parse_version(place.read(VERSION_FILE)),
        nodes=tuple(f"/dev/{name}" for name in nodes),
        control="nvidiactl" in names,
        uvm="nvidia-uvm" in names,
        unopened={f"/dev/{path.name}": error for path, error in unopened.items()},
        group=_group(next(iter(unopened))) if unopened else "",
        hung=hung,
        release=release,
        module=modules.get(release, ""),
        built_for=tuple(kernel for kernel in modules if kernel != release),
        dkms=any(name.startswith("nvidia") for name in _folders(place, "/var/lib/dkms")),
        secure_boot=place.read(SECURE_BOOT)[4:5] == "\x01",
        signing_key=next((key for key in SIGNING_KEYS if place.file(key).exists()), ""),
        mig_instances=len(list(place.file("/proc/driver/nvidia/capabilities").glob("gpu*/mig/gi*/ci*"))),
        fabric_manager=any(
            place.read(f"/proc/{pid}/comm").startswith(FABRIC_MANAGER)
            for pid in _folders(place, "/proc")
            if pid.isdigit()
        ),
    )


def _open(place: Place, paths: list[Path], until: float) -> tuple[dict[Path, str], str]:
    """Try to open each file. Return the name of the error (`EACCES`) for each failure, and the path of a file
    whose opening hung ("" if none did).
    """
    if not paths:
        return {}, ""
    ran = children.run_own_module(place.environ, until, "nodes", *map(str, paths))
    said = children.merge_lines(ran.out)
    hung = f"/dev/{Path(str(said.get('at'))).name}" if ran.code is None and said.get("at") else ""
    return {path: str(said[str(path)]) for path in paths if said.get(str(path))}, hung


def _folders(place: Place, path: str) -> list[str]:
    try:
        return sorted(os.listdir(place.file(path)))
    except OSError:
        return []


def _module(place: Place, kernel: str) -> str:
    """Return the path of nvidia.ko that `modules.dep` lists for that kernel; "" if there is none."""
    match = re.search(
        r"^(\S+/nvidia\.ko[.\w]*):", place.read(f"/lib/modules/{kernel}/modules.dep", 8_000_000), re.MULTILINE
    )
    return f"/lib/modules/{sanitize_line(kernel, 100)}/{sanitize_line(match[1], 200)}" if match else ""


def _group(path: Path) -> str:
    """Return the group whose members may read and write the file; "" if joining a group does not help."""
    try:
        found = path.stat()
        return grp.getgrgid(found.st_gid).gr_name if found.st_mode & stat.S_IRWXG >= 0o060 else ""
    except (OSError, KeyError):
        return ""


def probe(found: KernelDriver) -> Probe:
    files = ", ".join(found.nodes) or "no /dev/nvidia0"
    if not found.loaded:
        rest = f"; {files}" if found.nodes else "; no /dev/nvidia* exists either"
        rest += f"; {found.module} is built, but not loaded" if found.module else ""
        return Probe("kernel driver", "fail", f"{VERSION_FILE} does not exist{rest}")
    if found.hung:
        return Probe("kernel driver", "fail", f"{found.version}; opening {found.hung} did not return")
    if found.unopened:
        refused = ", ".join(f"{path} ({error})" for path, error in found.unopened.items())
        return Probe("kernel driver", "fail", f"{found.version}; cannot be opened: {refused}")
    expected = {
        "/dev/nvidia0": bool(found.nodes),
        "/dev/nvidiactl": found.control,
        "/dev/nvidia-uvm": found.uvm,
    }
    missing = [name for name, there in expected.items() if not there]
    if missing:
        return Probe("kernel driver", "warn", f"{found.version}; missing: {', '.join(missing)}")
    return Probe("kernel driver", "ok", f"{found.version}; {files}")
