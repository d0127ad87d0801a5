"""Causes in the NVIDIA driver: missing, old, mismatched, wedged, or out of reach."""

import os

from tuilab.doctor import cuda_errors, mends
from tuilab.doctor.findings import Findings
from tuilab.doctor.kernel_driver import VERSION_FILE
from tuilab.doctor.libcuda import NAME
from tuilab.model.doctor import Diagnosis

OLDEST_CUDA = 12_000
"""CUDA 12 programs run on any driver that knows CUDA 12.0 (minor version compatibility), which is 525.60."""

ELSEWHERE = mends.other_machine("a machine with an NVIDIA GPU")
WSL_FOLDER = "/usr/lib/wsl/lib"


def _named(f: Findings) -> str:
    return cuda_errors.name(f.init or 0)


def stub_library(f: Findings) -> Diagnosis | None:
    """The toolkit's link-time stand-in is found instead of the driver's library."""
    if f.init != cuda_errors.STUB_LIBRARY:
        return None
    folder = os.path.dirname(f.libcuda.path)
    return Diagnosis(
        "libcuda-stub",
        f"{NAME} is the CUDA toolkit's stub, not the driver's ({f.libcuda.path or _named(f)})",
        mends.library_path_without(f, folder) if folder else "unset LD_LIBRARY_PATH",
    )


def does_not_answer(f: Findings) -> Diagnosis | None:
    """A call into the driver never returned, or took its process down."""
    if f.libcuda.hung:
        return Diagnosis(
            "driver-wedged", f"the NVIDIA driver is wedged: {f.libcuda.hung} does not return", _reload(f)
        )
    if f.libcuda.crashed:
        return Diagnosis(
            "driver-wedged", f"the NVIDIA driver's library crashes: the child {f.libcuda.crashed}", _reload(f)
        )
    return None


def mismatch(f: Findings) -> Diagnosis | None:
    """The driver's library and the kernel's module are of different versions, as after an upgrade."""
    logged = f.tensorflow.log.groups("mismatch")
    kernel, library = logged or (f.kernel.version, f.libcuda.version)
    differ = bool(kernel and library and kernel != library) and f.init not in (None, 0)
    differ = differ or "version mismatch" in f.devices.error
    if f.init != cuda_errors.SYSTEM_DRIVER_MISMATCH and not differ and not logged:
        return None
    versions = f": kernel {kernel}, library {library}" if kernel and library else ""
    versions += f" ({_named(f)})" if f.init else ""
    mend = "sudo reboot"
    if f.container.kind:
        # The runtime mounts the host's library; one that the image brings along is found before it.
        mend = (
            f"{mends.container_gpu(f)}  # of an image without the driver's own packages (libnvidia-compute-*)"
        )
    return Diagnosis(
        "driver-mismatch", f"the driver's library does not match the kernel's module{versions}", mend
    )


def forward_compatibility(f: Findings) -> Diagnosis | None:
    """CUDA's forward-compatibility library is in use on a GPU that it does not support."""
    if f.init != cuda_errors.COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return None
    folder = os.path.dirname(f.libcuda.path)
    known = folder.rstrip("/") in {part.rstrip("/") for part in f.environment.library_folders}
    return Diagnosis(
        "driver-too-old",
        f"the driver is too old, and CUDA's forward compatibility does not work on this GPU ({_named(f)})",
        mends.library_path_without(f, folder) if "compat" in folder and known else mends.install_driver(f),
    )


def too_old(f: Findings) -> Diagnosis | None:
    """The driver knows no CUDA 12."""
    if f.libcuda.cuda is None or f.libcuda.cuda >= OLDEST_CUDA or f.libcuda.init is None:
        return None
    version = f.kernel.version or f.libcuda.version
    return Diagnosis(
        "driver-too-old",
        f"the driver{' ' + version if version else ''} is too old: it supports CUDA up to"
        f" {f.libcuda.cuda_version}, TensorFlow needs 12 (driver 525.60 or later)",
        mends.on_host(f, mends.install_driver(f)),
    )


def not_ready(f: Findings) -> Diagnosis | None:
    """A service that the driver waits for is not running."""
    if f.init == cuda_errors.SYSTEM_NOT_READY:
        return Diagnosis(
            "driver-not-ready",
            f"the GPUs' NVSwitch fabric is not up ({_named(f)})",
            mends.on_host(f, "sudo systemctl enable --now nvidia-fabricmanager"),
        )
    if f.init == cuda_errors.MPS_CONNECTION_FAILED:
        return Diagnosis(
            "driver-not-ready",
            f"the Multi-Process Service does not answer ({_named(f)})",
            "nvidia-cuda-mps-control -d",
        )
    return None


def device_files_denied(f: Findings) -> Diagnosis | None:
    """The device files are there, and this user may not open them."""
    if not f.kernel.denied or f.init == 0:
        return None
    if f.container.kind:
        mend = mends.container_gpu(f)
    elif f.kernel.group:
        mend = f'sudo usermod -aG {f.kernel.group} "$USER"  # then log in again'
    else:
        mend = f"sudo chmod a+rw {' '.join(f.kernel.denied)}"
    return Diagnosis("device-files-denied", f"this user may not open {', '.join(f.kernel.denied)}", mend)


def wedged(f: Findings) -> Diagnosis | None:
    """The driver is there and fails without a reason, often after a sleep, a crash or a fault of the GPU."""
    if f.init != cuda_errors.UNKNOWN:
        return None
    return Diagnosis("driver-wedged", f"the NVIDIA driver is wedged: cuInit returns {_named(f)}", _reload(f))


def _reload(f: Findings) -> str:
    if f.kernel.loaded and not f.kernel.uvm:
        return mends.on_host(f, "sudo nvidia-modprobe -u -c=0")
    # Never a reboot by itself: the command may be pasted on a machine that others use.
    return mends.on_host(f, "sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm")


def user_space_missing(f: Findings) -> Diagnosis | None:
    """The kernel has a driver, but its library for programs is not there."""
    if not f.libcuda_missing:
        return None
    if f.hardware.wsl and f.hardware.wsl_gpu:
        return Diagnosis(
            "libcuda-missing",
            f"{NAME} cannot be opened inside WSL: Windows gives it in {WSL_FOLDER}",
            mends.library_path(WSL_FOLDER),
        )
    if f.kernel_absent:
        return None
    mend = mends.container_driver_libraries(f) if f.container.kind else mends.user_space(f)
    version = f.kernel.version or "is there"
    return Diagnosis("libcuda-missing", f"the kernel's driver {version} has no {NAME} to go with it", mend)


def missing(f: Findings) -> Diagnosis | None:
    """Neither half of a driver."""
    if not f.libcuda_missing:
        return None
    said = "cuInit fails with 303" if not f.libcuda.error else f"{NAME} cannot be opened"
    evidence = f"{said} and {VERSION_FILE} does not exist"
    if f.hardware.none:
        return Diagnosis(
            "no-gpu", f"no NVIDIA driver and no NVIDIA GPU: {evidence}, and the PCI bus shows none", ELSEWHERE
        )
    held = next((gpu.driver for gpu in f.hardware.nvidia if gpu.driver), "")
    held = f"; {held} holds the GPU" if held else ""
    return Diagnosis(
        "driver-missing", f"the NVIDIA driver is missing: {evidence}{held}", mends.install_driver(f)
    )


def no_device(f: Findings) -> Diagnosis | None:
    """The driver is there and counts no GPU, although nothing hides one."""
    if f.init != cuda_errors.NO_DEVICE and not (f.libcuda.init == 0 and f.libcuda.count == 0):
        return None
    if f.environment.hides_all or f.environment.job_without_gpu:
        return None
    said = _named(f) if f.init else "cuDeviceGetCount is 0"
    if f.hardware.none:
        return Diagnosis("no-gpu", f"the driver finds no GPU ({said}), and the PCI bus shows none", ELSEWHERE)
    other = next((gpu.driver for gpu in f.hardware.nvidia if gpu.driver not in ("", "nvidia")), "")
    if other:
        return Diagnosis(
            "gpu-held", f"the driver finds no GPU ({said}): {other} holds it", mends.install_driver(f)
        )
    return Diagnosis(
        "no-device",
        f"the driver is there but finds no GPU ({said}): it failed, or this driver does not support it",
        mends.on_host(f, "sudo dmesg | grep -i -E 'NVRM|Xid'"),
    )


def other_failure(f: Findings) -> Diagnosis | None:
    """cuInit fails in a way for which there is no rule."""
    hidden = f.environment.hides_all or f.environment.job_without_gpu
    if f.init in (None, 0) or (f.init == cuda_errors.NO_DEVICE and hidden):
        return None
    return Diagnosis("driver-fails", f"the NVIDIA driver fails: cuInit returns {_named(f)}", _reload(f))


def nvml_missing(f: Findings) -> Diagnosis | None:
    """libnvidia-ml is not there: TensorFlow 2.21 then lists no GPU and says nothing."""
    absent = f.libraries.missing("driver")
    if not absent or not f.driver_works:
        return None
    mend = mends.container_driver_libraries(f) if f.container.kind else mends.user_space(f)
    return Diagnosis(
        "nvml-missing",
        f"{absent[0].wanted.soname} cannot be opened: TensorFlow then lists no GPU, without a word",
        mend,
    )
