"""The machine as the worker sees it."""

import os
import platform
import socket
from pathlib import Path
from typing import Any

import psutil

import tuilab
from tuilab.model.machine import Device, Machine
from tuilab.model.sanitize import sanitize_line


def describe(tf: Any) -> Machine:
    """Host, processor, versions and the devices that TensorFlow lists."""
    build = tf.sysconfig.get_build_info()
    devices = tuple(
        _device(tf, d) for d in tf.config.list_logical_devices() if d.device_type in ("CPU", "GPU")
    )
    return Machine(
        host=sanitize_line(socket.gethostname(), 100),
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        memory=psutil.virtual_memory().total,
        os=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        tensorflow=tf.__version__,
        devices=devices,
        cuda_build=bool(build.get("is_cuda_build")),
        cuda_version=str(build.get("cuda_version", "")),
        driver=_driver(),
        tuilab=tuilab.__version__,
        no_gpu="" if any(d.name.startswith("GPU") for d in devices) else _why_no_gpu(build),
    )


def _device(tf: Any, logical: Any) -> Device:
    name = logical.name.rpartition("/device:")[2] or logical.name
    if logical.device_type != "GPU":
        return Device(name=name, description=_cpu(), memory=psutil.virtual_memory().total)
    from tensorflow.python.client import device_lib  # the memory limit is not in the public API

    index = int(name.partition(":")[2])
    physical = tf.config.list_physical_devices("GPU")
    details = tf.config.experimental.get_device_details(physical[min(index, len(physical) - 1)])
    limits = {d.name.rpartition("/device:")[2]: d.memory_limit for d in device_lib.list_local_devices()}
    capability = ".".join(str(part) for part in details.get("compute_capability", ()))
    return Device(
        name=name,
        description=sanitize_line(str(details.get("device_name", "GPU")), 100),
        compute_capability=capability,
        memory=int(limits.get(name, 0)),
    )


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return sanitize_line(line.partition(":")[2].strip(), 100)
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _driver() -> str:
    try:
        words = Path("/proc/driver/nvidia/version").read_text().split()
    except OSError:
        return ""
    return next((w for w in words if w[:1].isdigit() and w.count(".") >= 1), "")


def _why_no_gpu(build: Any) -> str:
    """The nearest cause that can be seen without probing; `tuilab doctor` looks further."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not build.get("is_cuda_build"):
        return "this TensorFlow was built without CUDA"
    if hidden is not None and hidden.strip() in ("", "-1"):
        return f"CUDA_VISIBLE_DEVICES={hidden!r} hides every GPU"
    if not Path("/proc/driver/nvidia/version").exists():
        return "no NVIDIA driver is loaded on this host"
    return "TensorFlow lists no GPU although an NVIDIA driver is loaded; run `tuilab doctor`"
