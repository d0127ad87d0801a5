"""Limits a worker to a single GPU."""

from tuilab.model.arms import family
from tuilab.model.machine import OPEN_GPUS


def only(device: str) -> dict[str, str]:
    return {OPEN_GPUS: device.partition(":")[2] if family(device) == "GPU" else ""}
