"""What holds the GPUs back while they are measured, looked at between rounds."""

import re
from collections import Counter
from collections.abc import Iterable

from tuilab import nvml
from tuilab.analysis.words import listed
from tuilab.model.events import Caveat
from tuilab.model.quantity import size

_BUS = re.compile(r"pci bus id: ([0-9A-Fa-f:.]+)")


def buses() -> dict[str, str]:
    """The PCI bus id of each GPU by TensorFlow's name for it (`GPU:0`); NVML may number them otherwise."""
    from tensorflow.python.client import device_lib  # the bus id is not in the public API

    found = {}
    for device in device_lib.list_local_devices():
        bus = _BUS.search(device.physical_device_desc)
        if device.device_type == "GPU" and bus:
            found[device.name.rpartition("/device:")[2]] = bus[1]
    return found


class GpuWatch:
    """Looks at the GPUs that a run uses. Costs nothing where there are none or NVML cannot be read."""

    def __init__(self, by_name: dict[str, str], used: Iterable[str]) -> None:
        self._buses = {name: by_name[name] for name in sorted(set(used)) if name in by_name}
        self._looks = 0
        self._reasons = {name: Counter[str]() for name in self._buses}

    def look(self) -> None:
        """Take note of each GPU's clock reasons now."""
        self._looks += 1
        for name, bus in self._buses.items():
            self._reasons[name].update(nvml.gpu_conditions(bus))

    def flags(self, run: str) -> list[Caveat]:
        """Doubts over the whole run: slowed clocks, and other processes on a GPU."""
        out = []
        for name, bus in self._buses.items():
            if reasons := self._reasons[name]:
                often = max(reasons.values())
                words = f"{name} was {listed(sorted(reasons))} in {often} of {self._looks} looks"
                out.append(Caveat(run=run, code="throttled", message=words))
            if others := nvml.other_processes(bus):
                named = [f"{p.name or p.pid}" + (f" ({size(p.memory)})" if p.memory else "") for p in others]
                words = f"{name} is shared with {listed(named)}"
                out.append(Caveat(run=run, code="gpu-shared", message=words))
        return out
