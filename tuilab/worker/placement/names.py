"""Shortens TensorFlow's device names."""

import re

_DEVICE = re.compile(r"(?:^|[/:])(?:device:)?([A-Za-z][A-Za-z_]*):(\d+|\*)$")


def short(device: str) -> str:
    """Shorten a device name: `/job:localhost/replica:0/task:0/device:GPU:0` → `GPU:0`. Keeps other names."""
    match = _DEVICE.search(device)
    return f"{match[1].upper()}:{match[2]}" if match else device
