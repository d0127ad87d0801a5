"""Limits a worker to a single GPU."""

from tuilab.model.arms import family
from tuilab.model.machine import OPEN_GPUS


def only(device: str) -> dict[str, str]:
    """Return the environment variable and value that make a worker open only this GPU; empty for a CPU."""
    return {OPEN_GPUS: device.partition(":")[2] if family(device) == "GPU" else ""}
