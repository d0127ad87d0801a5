"""Limits a worker to a single GPU."""

from tuilab.model.arms import family
from tuilab.model.machine import OPEN_GPUS


def only(device: str) -> dict[str, str]:
    """Return the settings with which a worker opens only this GPU, given its number on the machine; empty for
    a CPU.
    """
    return {OPEN_GPUS: device.partition(":")[2] if family(device) == "GPU" else ""}
