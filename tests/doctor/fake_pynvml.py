"""Replaces nvidia-ml-py in the doctor's child process: one GPU, with answers from $FAKE_NVML (JSON).

A string that starts with `!` is an error with that message. All other calls are unsupported.
"""

import json
import os
from types import SimpleNamespace
from typing import Any

GPU = {
    "nvmlDeviceGetCount": 1,
    "nvmlDeviceGetHandleByIndex": "handle",
    "nvmlDeviceGetName": "NVIDIA A100-SXM4-40GB",
    "nvmlDeviceGetUUID": "GPU-1",
    "nvmlDeviceGetComputeMode": 0,
    "nvmlDeviceGetMigMode": [0, 0],
    "nvmlDeviceGetTotalEccErrors": 0,
} | json.loads(os.environ.get("FAKE_NVML", "{}"))

NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0


class NVMLError(Exception):
    pass


def __getattr__(name: str) -> Any:
    if not name.startswith("nvml"):
        raise AttributeError(name)

    def call(*_: object) -> Any:
        value = GPU.get(name, None if name in ("nvmlInit", "nvmlShutdown") else "!Not Supported")
        if isinstance(value, str) and value.startswith("!"):
            raise NVMLError(value[1:])
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return [SimpleNamespace(**item) for item in value]
        return SimpleNamespace(**value) if isinstance(value, dict) else value

    return call
