"""Examines the user-space side of the driver: libcuda, called in a child process."""

import re
from dataclasses import dataclass
from typing import Any

from tuilab.doctor import children, cuda_errors
from tuilab.doctor.environment import VISIBLE
from tuilab.doctor.place import Place
from tuilab.model.doctor import Probe
from tuilab.model.quantity import plural
from tuilab.model.sanitize import sanitize_line

NAME = "libcuda.so.1"
UNHIDDEN = "libcuda unhidden"


@dataclass(frozen=True)
class CudaDevice:
    """A device, as reported by the driver. memory: in bytes."""

    name: str
    compute_capability: str
    memory: int


@dataclass(frozen=True)
class Libcuda:
    """The results of the calls into libcuda.

    path: empty if the library could not be opened; `error` has the reason. init: cuInit's result, None if the
    call was not reached or is missing. cuda: the newest CUDA version that this driver supports, `12080` for
    12.8. hung: the call that did not return. crashed: how the child process ended.
    """

    path: str = ""
    error: str = ""
    init: int | None = None
    init_text: str = ""
    count: int | None = None
    cuda: int | None = None
    devices: tuple[CudaDevice, ...] = ()
    hung: str = ""
    crashed: str = ""

    @property
    def is_loaded(self) -> bool:
        return bool(self.path)

    @property
    def version(self) -> str:
        """The driver version in the library's file name; "" if the name has none."""
        match = re.search(r"libcuda\.so\.(\d+(?:\.\d+)+)$", self.path)
        return match[1] if match else ""

    @property
    def cuda_version(self) -> str:
        """The newest CUDA version that the driver supports: `12080` → `12.8`."""
        return f"{self.cuda // 1000}.{self.cuda % 1000 // 10}" if self.cuda else ""


def look(place: Place, until: float) -> Libcuda:
    return _ask(place, dict(place.environ), until)


def look_unhidden(place: Place, until: float) -> Libcuda | None:
    """Query libcuda as if CUDA_VISIBLE_DEVICES were not set. Return None if it is already unset."""
    if VISIBLE not in place.environ:
        return None
    return _ask(place, {k: v for k, v in place.environ.items() if k != VISIBLE}, until)


def _ask(place: Place, environ: dict[str, str], until: float) -> Libcuda:
    ran = children.run_own_module(environ, until, "libcuda")
    return read(children.merge_lines(ran.out), ran)


def read(facts: dict[str, Any], ran: children.Ran) -> Libcuda:
    at = str(facts.get("at", "starting"))
    init = facts.get("init")
    return Libcuda(
        path=sanitize_line(str(facts.get("path", "")), 300),
        error=sanitize_line(str(facts.get("error", "")), 300),
        init=init,
        init_text=sanitize_line(str(facts.get("init_name") or (cuda_errors.name(init) if init else "")), 100),
        count=facts.get("count"),
        cuda=facts.get("cuda"),
        devices=tuple(
            CudaDevice(
                sanitize_line(str(d["name"]), 100),
                sanitize_line(str(d["compute_capability"]), 10),
                int(d["memory"]),
            )
            for d in facts.get("devices", ())
        ),
        hung=at if ran.code is None else "",
        crashed=f"{ran.ending} in {at}" if ran.code else "",
    )


def probe(found: Libcuda, name: str = "libcuda") -> Probe:
    if found.hung:
        return Probe(name, "fail", f"{found.hung} did not answer")
    if found.crashed:
        return Probe(name, "fail", f"a process that loads it {found.crashed}")
    if not found.is_loaded:
        return Probe(name, "fail", found.error or f"{NAME} cannot be opened")
    where = found.path + (f", up to CUDA {found.cuda_version}" if found.cuda else "")
    if found.init != 0:
        text = "is missing" if found.init is None else f"returned {found.init_text} ({found.init})"
        return Probe(name, "fail", f"cuInit {text}; {where}")
    if not found.count:
        return Probe(name, "fail", f"cuDeviceGetCount finds no device; {where}")
    names = ", ".join(f"{d.name} ({d.compute_capability})" for d in found.devices)
    return Probe(name, "ok", f"{plural(found.count, 'device')}: {names}; {where}")


def probe_unhidden(found: Libcuda | None) -> Probe:
    name = UNHIDDEN
    return Probe(name, "skip", f"{VISIBLE} is not set") if found is None else probe(found, name)
