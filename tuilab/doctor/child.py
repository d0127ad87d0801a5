"""Makes driver and library calls that may hang or crash, outside the doctor's own process.

`python -m tuilab.doctor.child libcuda | libraries | nodes | nvml` prints each new fact at once as a JSON
line, so that a hang does not lose the facts found before it. A line with the key `at` announces the next
call.
"""

import ctypes
import errno
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from tuilab.processes import die_with_parent

ATTRIBUTE_MAJOR, ATTRIBUTE_MINOR = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR (cuda.h)."""


def tell(**known: Any) -> None:
    print(json.dumps(known), flush=True)


def mapped(name: str) -> str:
    """Return the path of the file from which a library was loaded, with links resolved; "" if not loaded."""
    with open("/proc/self/maps", errors="replace") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if os.path.basename(path).startswith(name):
                return os.path.realpath("/" + path)
    return ""


class Driver:
    """Calls libcuda through ctypes. Returns None for a function that the library lacks."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def call(self, name: str, *arguments: Any) -> int | None:
        try:
            return int(getattr(self._library, name)(*arguments))
        except AttributeError:
            return None

    def text(self, name: str, code: int) -> str:
        """Return an error's name or text from the driver (`cuGetErrorName`, `cuGetErrorString`)."""
        pointer = ctypes.c_char_p()
        if self.call(name, code, ctypes.byref(pointer)) != 0 or pointer.value is None:
            return ""
        return pointer.value.decode(errors="replace")

    def number(self, name: str, *arguments: Any) -> int | None:
        """Return the int that a call writes to its first argument; None if the call fails."""
        value = ctypes.c_int()
        return value.value if self.call(name, ctypes.byref(value), *arguments) == 0 else None

    def device(self, ordinal: int) -> dict[str, Any]:
        """Return the name, compute capability and memory (in bytes) of one device."""
        device = self.number("cuDeviceGet", ordinal)
        if device is None:
            return {}
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        memory = ctypes.c_size_t()
        self.call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        major = self.number("cuDeviceGetAttribute", ATTRIBUTE_MAJOR, device)
        minor = self.number("cuDeviceGetAttribute", ATTRIBUTE_MINOR, device)
        capability = "" if major is None or minor is None else f"{major}.{minor}"
        return {
            "name": name.value.decode(errors="replace"),
            "compute_capability": capability,
            "memory": memory.value,
        }


def libcuda() -> None:
    tell(at="opening libcuda.so.1")
    try:
        driver = Driver(ctypes.CDLL("libcuda.so.1"))
    except OSError as error:
        tell(error=str(error), at="")
        return
    tell(path=mapped("libcuda.so"), at="cuInit")
    code = driver.call("cuInit", 0)
    tell(init=code, cuda=driver.number("cuDriverGetVersion"))
    if code != 0:
        tell(init_name=driver.text("cuGetErrorName", code) if code is not None else "", at="")
        return
    tell(at="cuDeviceGetCount")
    count = driver.number("cuDeviceGetCount")
    tell(count=count, at="reading the devices")
    tell(devices=[found for i in range(count or 0) if (found := driver.device(i))], at="")


def libraries(wanted: str) -> None:
    """Open each library by its first existing path, or else by its name.

    wanted: `[[soname, [path, …]], …]` as JSON.
    """
    for soname, paths in json.loads(wanted):
        tell(at=soname)
        path = next((p for p in paths if os.path.exists(p)), soname)
        try:
            ctypes.CDLL(path)
        except OSError as error:
            tell(**{soname: {"error": str(error)}})
        else:
            tell(**{soname: {"path": mapped(soname) or path}})
    tell(at="")


def nodes(*paths: str) -> None:
    for path in paths:
        tell(at=path)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            tell(**{path: errno.errorcode.get(error.errno or 0, str(error))})
    tell(at="")


def nvml() -> None:
    import msgspec

    from tuilab.model.doctor import GpuDevice
    from tuilab.nvml import Nvml, NvmlUnavailable

    tell(at="nvmlInit")
    try:
        session = Nvml()
    except NvmlUnavailable as error:
        tell(error=str(error), at="")
        return
    devices = []
    for index in range(session.count):
        tell(at=f"reading GPU {index}")
        devices.append(GpuDevice(session.facts(index), session.sample(index), session.access(index)))
    tell(devices=msgspec.to_builtins(devices), at="")


TASKS: dict[str, Callable[..., None]] = {
    "libcuda": libcuda,
    "libraries": libraries,
    "nodes": nodes,
    "nvml": nvml,
}

if __name__ == "__main__":
    die_with_parent()
    TASKS[sys.argv[1]](*sys.argv[2:])
