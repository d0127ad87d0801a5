"""Describes the machine as the worker sees it."""

import os
import platform
import re
import socket
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from tuilab import guest
from tuilab.model.machine import Device, Machine
from tuilab.model.sanitize import sanitize_line
from tuilab.version import __version__
from tuilab.worker.confinement import confined_scope
from tuilab.worker.gpus import Gpus

_BUS = re.compile(r"pci bus id: ([0-9A-Fa-f:.]+)")


def describe(tf: Any, gpus: Gpus) -> Machine:
    build = tf.sysconfig.get_build_info()
    folder, settings = guest.read_own_environment()
    memory = psutil.virtual_memory().total
    cpus = [
        Device(name=d.name.rpartition("/device:")[2], description=_cpu(), memory=memory)
        for d in tf.config.list_logical_devices("CPU")
    ]
    listed = [(n, inside) for inside, n in enumerate(gpus.order) if n not in gpus.failed]
    devices = (*cpus, *(_gpu(tf, gpus, n, inside) for n, inside in sorted(listed)))
    return Machine(
        host=sanitize_line(socket.gethostname(), 100),
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        memory=memory,
        os=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        tensorflow=tf.__version__,
        devices=devices,
        cuda_build=bool(build.get("is_cuda_build")),
        cuda_version=str(build.get("cuda_version", "")),
        driver=_driver(),
        tuilab=__version__,
        no_gpu="" if listed else gpus.why or _why_no_gpu(build),
        environment=sanitize_line(folder, 1_000),
        settings=tuple(sanitize_line(each, 500) for each in settings),
    )


def _gpu(tf: Any, gpus: Gpus, number: int, inside: int) -> Device:
    physical = tf.config.list_physical_devices("GPU")[number]
    details = tf.config.experimental.get_device_details(physical)
    name, capability = f"GPU:{inside}", details.get("compute_capability", ())
    return Device(
        name=name,
        description=sanitize_line(str(details.get("device_name", "GPU")), 100),
        compute_capability=".".join(str(part) for part in capability),
        memory=known.memory_limit if (known := created(gpus.opened).get(name)) else 0,
    )


@cache
def created(opened: tuple[int, ...]) -> dict[str, Any]:
    """Return TensorFlow's device attributes of each GPU that this process opened, by name (`GPU:0`).

    The public API reports neither the memory limit nor the PCI bus id. `list_local_devices` reports both, but
    creates every visible device again, so it runs only once, with only the opened GPUs visible.
    """
    if not opened:
        return {}
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client import device_lib

    shown = config_pb2.GPUOptions(visible_device_list=",".join(map(str, opened)), allow_growth=True)
    # Later TensorFlow versions have separate options for plug-in devices; earlier versions apply the GPU
    # options to plug-in devices.
    there = config_pb2.ConfigProto.DESCRIPTOR.fields_by_name
    kinds = [kind for kind in ("gpu_options", "pluggable_device_options") if kind in there]
    config = config_pb2.ConfigProto(**dict.fromkeys(kinds, shown))
    devices = device_lib.list_local_devices(config)
    return {d.name.rpartition("/device:")[2]: d for d in devices if d.device_type == "GPU"}


def buses(gpus: Gpus) -> dict[str, str]:
    """Return the PCI bus id of each open GPU by TensorFlow name, because NVML may number the GPUs
    differently.
    """
    found = {name: _BUS.search(d.physical_device_desc) for name, d in created(gpus.opened).items()}
    return {name: match[1] for name, match in found.items() if match}


def built_for(tf: Any) -> tuple[str, ...]:
    """Return the compute capabilities for which this TensorFlow build contains kernels: `sm_80` stands for
    machine code, `compute_90` for PTX.
    """
    return tuple(tf.sysconfig.get_build_info().get("cuda_compute_capabilities", ()))


def from_ptx(built: Sequence[str], capability: str) -> bool:
    """Return True if the driver must compile kernels for a GPU of that compute capability (`9.0`).

    Machine code runs on GPUs of the same major and the same or a later minor version; PTX runs on any later
    GPU.
    """
    major, _, minor = capability.partition(".")
    if not (major.isdigit() and minor.isdigit()) or not built:
        return False
    wanted = int(major), int(minor)
    codes = [divmod(int(word[3:].rstrip("af")), 10) for word in built if word.startswith("sm_")]
    return not any(code[0] == wanted[0] and code[1] <= wanted[1] for code in codes)


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
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not build.get("is_cuda_build"):
        return "this TensorFlow was built without CUDA"
    if hidden is not None and hidden.strip() in ("", "-1"):
        return f"CUDA_VISIBLE_DEVICES={hidden!r} hides every GPU"
    if not Path("/proc/driver/nvidia/version").exists():
        return "no NVIDIA driver is loaded on this host"
    if confined_scope():
        # Only an unconfined process can show whether the sandbox is the cause.
        return (
            "an NVIDIA driver is loaded, but TensorFlow lists no GPU in the sandbox for models; run "
            "`tuilab doctor`, or add `--trust` if you trust the model"
        )
    return "TensorFlow lists no GPU although an NVIDIA driver is loaded; run `tuilab doctor`"
