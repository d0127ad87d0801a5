"""All causes that the doctor knows, in the order in which it checks them.

A cause is a function of the findings; its docstring states the cause. `@without_gpu` causes explain why
TensorFlow lists no GPU; `@with_gpu` causes explain why a listed GPU does not work.

Every cause belongs to a layer, such as `python` or `driver`. The doctor reports only the first match in each
layer, because that match usually explains the later ones. To add a cause, write its function in the right
position (see docs/doctor.md).
"""

import os
from collections.abc import Callable
from functools import partial

from tuilab.doctor import cuda_errors, fixes
from tuilab.doctor.environment import CONTAINER_VISIBLE, VISIBLE
from tuilab.doctor.findings import Findings
from tuilab.doctor.kernel_driver import VERSION_FILE
from tuilab.doctor.libcuda import NAME as LIBCUDA
from tuilab.doctor.libraries import Library
from tuilab.doctor.tensorflow import WORK
from tuilab.model.doctor import Cause, GpuDevice
from tuilab.model.quantity import plural, size

Judge = Callable[[Findings], Cause | None]

NO_GPU: list[tuple[str, Judge]] = []
"""Causes to check if TensorFlow lists no GPU: pairs of a layer, such as `driver`, and a function that
recognizes the cause.
"""

GPU_LISTED: list[tuple[str, Judge]] = []
"""Causes to check if TensorFlow lists a GPU: pairs of a layer, such as `device`, and a function that
recognizes the cause.
"""

LAST = ("silent", "unknown", "well")
"""Layers (groups of causes) that are reported only if no other cause was found."""


def without_gpu(layer: str) -> Callable[[Judge], Judge]:
    return partial(_register, NO_GPU, layer)


def with_gpu(layer: str) -> Callable[[Judge], Judge]:
    return partial(_register, GPU_LISTED, layer)


def _register(table: list[tuple[str, Judge]], layer: str, judge: Judge) -> Judge:
    table.append((layer, judge))
    return judge


def diagnose(findings: Findings) -> tuple[Cause, ...]:
    """Return the first cause found in each layer (group of causes), the main cause first. Never empty."""
    found: dict[str, Cause] = {}
    for layer, judge in GPU_LISTED if findings.gpus else NO_GPU:
        if layer in found or (layer in LAST and found):
            continue
        diagnosis = judge(findings)
        if diagnosis is not None:
            found[layer] = diagnosis
    return tuple(found.values())


# ---- the Python installation -------------------------------------------------------------------------------


@without_gpu("python")
def not_installed(f: Findings) -> Cause | None:
    """This Python has no TensorFlow."""
    imported = f.tensorflow.imported
    absent = imported is not None and imported.error.startswith(
        "ModuleNotFoundError: No module named 'tensorflow'"
    )
    if not absent and (f.packages.tensorflow or "packages" in f.silent or (imported and not imported.error)):
        return None
    return Cause(
        "tensorflow-missing",
        f"TensorFlow is not installed in this Python ({f.python})",
        fixes.install_cuda(f),
    )


@without_gpu("python")
def does_not_import(f: Findings) -> Cause | None:
    """TensorFlow raises or crashes on import."""
    imported, crashed = f.tensorflow.imported, f.tensorflow.crashed
    if imported is not None and imported.error:
        return Cause(
            "tensorflow-broken", f"TensorFlow cannot be imported: {imported.error}", fixes.reinstall(f)
        )
    if imported is None and "SIGILL" in crashed:
        cause = "this processor lacks instructions (AVX) that TensorFlow's wheels need"
        return Cause("processor-too-old", cause, fixes.other_machine("a machine with a newer processor"))
    if imported is None and crashed:
        return Cause("tensorflow-broken", f"TensorFlow's import {crashed}", fixes.reinstall(f))
    return None


@without_gpu("python")
def no_cuda_build(f: Findings) -> Cause | None:
    """The installed TensorFlow lacks CUDA: it is tensorflow-cpu, or this system has no CUDA build."""
    code = "no-cuda-build"
    if f.tensorflow.built is not None:
        # Trust TensorFlow's own report about its build. Without a report, judge by the only installed
        # distribution.
        if f.tensorflow.built.cuda:
            return None
    elif not f.packages.cpu_only or len(f.packages.tensorflow) != 1:
        return None
    if f.hardware.system == "win32":
        cause = "TensorFlow for Windows has had no GPU support since 2.11; use TensorFlow inside WSL"
        return Cause(code, cause, "wsl --install")
    if f.hardware.system == "darwin":
        return Cause(code, "TensorFlow for macOS is built without CUDA: macOS has no NVIDIA driver")
    if f.hardware.machine in ("aarch64", "arm64"):
        cause = (
            f"TensorFlow's wheels for {f.hardware.machine} are built without CUDA, so no wheel can "
            "use the GPU"
        )
        return Cause(code, cause, fixes.nvidia_image(f))
    fix = fixes.install_cuda(f)
    if f.packages.cpu_only:
        # The wheels share one folder, so removing tensorflow-cpu afterwards would delete files of tensorflow.
        installed = " ".join(f.packages.tensorflow)
        fix = f"{fixes.pip(f, f'uninstall -y {installed}')} && {fix}"
    name = f.packages.cpu_only or "the installed TensorFlow"
    return Cause(code, f"{name} is built without CUDA (is_cuda_build is False)", fix)


# ---- what hides a working GPU ------------------------------------------------------------------------------


@without_gpu("hidden")
def job_without_gpu(f: Findings) -> Cause | None:
    """A batch job without a GPU: the scheduler hides the machine's GPUs from it."""
    if not f.environment.job_without_gpu or not f.libcuda.is_loaded or f.driver_works:
        return None
    if f.init not in (cuda_errors.NO_DEVICE, 0):
        return None
    job = f.environment.variables["SLURM_JOB_ID"]
    cause = f"Slurm job {job} got no GPU (SLURM_JOB_GPUS is not set)"
    return Cause("job-without-gpu", cause, "salloc --gpus=1")


@without_gpu("hidden")
def hidden_by_environment(f: Findings) -> Cause | None:
    """CUDA_VISIBLE_DEVICES hides every GPU that the driver finds."""
    visible = f.environment.visible
    if visible is None or f.libcuda_missing or f.libcuda.init == cuda_errors.STUB_LIBRARY:
        return None
    without = f.unhidden.count if f.unhidden and f.unhidden.init == 0 else None
    finds_none = f.init == cuda_errors.NO_DEVICE or (f.init == 0 and f.libcuda.count == 0)
    if not f.environment.hides_all and not (finds_none and without):
        return None
    if f.init not in (None, 0, cuda_errors.NO_DEVICE):
        return None  # the driver reports another error, which must be fixed first
    if f.environment.hides_all:
        cause = f"{VISIBLE}={visible!r} hides every GPU from this process"
    else:
        cause = f"{VISIBLE}={visible!r} selects no GPU on this machine"
    if without:
        cause += f"; without it, the driver finds {plural(without, 'GPU')}"
    return Cause("hidden", cause, f"unset {VISIBLE}")


# ---- the driver --------------------------------------------------------------------------------------------

OLDEST_CUDA = 12_000
"""Minimum CUDA version that a driver must support. CUDA 12 programs run on any driver since 525.60, which
supports CUDA 12.0 (minor version compatibility).
"""

ELSEWHERE = fixes.other_machine("a machine with an NVIDIA GPU")
WSL_FOLDER = "/usr/lib/wsl/lib"
KERNEL_LOG = "sudo dmesg | grep -i -E 'NVRM|Xid'"


def _error_name(f: Findings) -> str:
    return cuda_errors.name(f.init or 0)


def _reload(f: Findings) -> str:
    if f.kernel.loaded and not f.kernel.uvm:
        return fixes.on_host(f, "sudo nvidia-modprobe -u -c=0")
    # Never advise only a reboot, because the command may be pasted on a shared machine.
    return fixes.on_host(f, "sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm")


def _device(f: Findings) -> GpuDevice | None:
    return next(iter(f.devices.found), None)


@without_gpu("driver")
def stub_library(f: Findings) -> Cause | None:
    """The loader finds the toolkit's link-time stub instead of the driver's library."""
    if f.init != cuda_errors.STUB_LIBRARY:
        return None
    folder = os.path.dirname(f.libcuda.path)
    cause = (
        f"{LIBCUDA} is the CUDA toolkit's stub library, not the driver's ({f.libcuda.path or _error_name(f)})"
    )
    fix = fixes.library_path_without(f, folder) if folder else "unset LD_LIBRARY_PATH"
    return Cause("libcuda-stub", cause, fix)


@without_gpu("driver")
def gpu_lost(f: Findings) -> Cause | None:
    """The GPU no longer answers on its bus (Xid 79), perhaps because it overheated or has come loose."""
    dead = f.kernel.failing("EIO", "ENODEV")
    told = "GPU is lost" in f.devices.error or "fallen off the bus" in f.devices.error
    if not told and (not dead or f.init == 0):
        return None
    evidence = "NVML reports “GPU is lost”" if told else f"{dead[0]} gives {f.kernel.unopened[dead[0]]}"
    fix = fixes.on_host(f, "sudo reboot")
    fix += "" if f.container.kind else "  # if it is lost again, check its power, temperature and slot"
    return Cause("gpu-lost", f"the GPU has fallen off the bus: {evidence}", fix)


@without_gpu("driver")
def container_lost_gpu(f: Findings) -> Cause | None:
    """The device file exists, but since a reload of systemd on the host, the cgroup denies access to it."""
    refused = f.kernel.failing("EPERM")
    unknown = "Unknown Error" in f.devices.error and bool(f.kernel.nodes) and f.init != 0
    if not f.container.kind or not (refused or unknown):
        return None
    evidence = f"{refused[0]} exists, but access is denied" if refused else "NVML reports “Unknown Error”"
    cause = f"this {f.container.kind} container has lost its GPU: {evidence} (after `systemctl daemon-reload`"
    return Cause("container-lost-gpu", f"{cause} on the host, for example)", fixes.restart_container(f))


@without_gpu("driver")
def device_files_denied(f: Findings) -> Cause | None:
    """The device files exist, but this user has no permission to open them."""
    denied = f.kernel.failing("EACCES", "EPERM")
    if not denied or f.init == 0:
        return None
    if f.container.kind:
        fix = fixes.container_gpu(f)
    elif f.kernel.group:
        fix = f'sudo usermod -aG {f.kernel.group} "$USER"  # then log in again'
    else:
        fix = f"sudo chmod a+rw {' '.join(denied)}"
    return Cause("device-files-denied", f"this user has no permission to open {', '.join(denied)}", fix)


@without_gpu("driver")
def does_not_answer(f: Findings) -> Cause | None:
    """A call into the driver never returned, or crashed the process that made it."""
    code = "driver-wedged"
    if f.libcuda.hung or f.kernel.hung:
        what = f.libcuda.hung or f"opening {f.kernel.hung}"
        return Cause(code, f"the NVIDIA driver is wedged: {what} does not return", _reload(f))
    if f.libcuda.crashed:
        cause = f"the NVIDIA driver's library crashes: a process that loads it {f.libcuda.crashed}"
        return Cause(code, cause, _reload(f))
    return None


@without_gpu("driver")
def mismatch(f: Findings) -> Cause | None:
    """The driver's library and kernel module have different versions, for example after an upgrade."""
    logged = f.tensorflow.log.groups("mismatch")
    kernel, library = logged or (f.kernel.version, f.libcuda.version)
    differ = bool(kernel and library and kernel != library) and f.init not in (None, 0)
    differ = differ or "version mismatch" in f.devices.error
    if f.init != cuda_errors.SYSTEM_DRIVER_MISMATCH and not differ and not logged:
        return None
    versions = f": kernel {kernel}, library {library}" if kernel and library else ""
    versions += f" ({_error_name(f)})" if f.init else ""
    fix = "sudo reboot"
    if f.container.kind:
        # The container runtime mounts the host's library, but the image's own copy is found first.
        fix = (
            f"{fixes.container_gpu(f)}  # with an image that contains no driver packages "
            "(libnvidia-compute-*)"
        )
    cause = f"the driver library does not match the kernel module{versions}"
    return Cause("driver-mismatch", cause, fix)


@without_gpu("driver")
def forward_compatibility(f: Findings) -> Cause | None:
    """CUDA's forward-compatibility library is in use with a GPU that it does not support."""
    if f.init != cuda_errors.COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return None
    folder = os.path.dirname(f.libcuda.path)
    known = folder.rstrip("/") in {part.rstrip("/") for part in f.environment.library_folders}
    return Cause(
        "driver-too-old",
        "the driver is too old, and CUDA's forward compatibility does not support this GPU "
        f"({_error_name(f)})",
        fixes.library_path_without(f, folder) if "compat" in folder and known else fixes.install_driver(f),
    )


@without_gpu("driver")
def too_old(f: Findings) -> Cause | None:
    """The driver does not support CUDA 12."""
    if f.libcuda.cuda is None or f.libcuda.cuda >= OLDEST_CUDA or f.libcuda.init is None:
        return None
    version = f.kernel.version or f.libcuda.version
    return Cause(
        "driver-too-old",
        f"the driver{' ' + version if version else ''} is too old: it supports CUDA up to"
        f" {f.libcuda.cuda_version}, but TensorFlow needs 12 (driver 525.60 or later)",
        fixes.on_host(f, fixes.install_driver(f)),
    )


@without_gpu("driver")
def fabric_not_ready(f: Findings) -> Cause | None:
    """The GPUs are not ready: not all NVLinks between them are up, or the fabric manager is not running."""
    if f.init != cuda_errors.SYSTEM_NOT_READY:
        return None
    if f.kernel.fabric_manager:
        what = "the fabric manager runs, but not all NVLinks are up"
        fix = "sudo systemctl restart nvidia-fabricmanager && nvidia-smi nvlink --status"
    elif f.hardware.switch or f.container.kind:
        what = "the fabric manager for the NVSwitches is not running"
        fix = "sudo systemctl enable --now nvidia-fabricmanager"
        fix += f"  # its version must match the driver's, {f.kernel.version}" if f.kernel.version else ""
    else:
        what = "not all NVLinks are up (there is no NVSwitch here, so no fabric manager is needed)"
        fix = "nvidia-smi nvlink --status && " + KERNEL_LOG
    if f.container.kind and "#" in fix:
        fix = fix.replace("#", "# on the host;")
        return Cause("driver-not-ready", f"the GPUs are not ready ({_error_name(f)}): {what}", fix)
    cause = f"the GPUs are not ready ({_error_name(f)}): {what}"
    return Cause("driver-not-ready", cause, fixes.on_host(f, fix))


@without_gpu("driver")
def mps_down(f: Findings) -> Cause | None:
    """NVIDIA's Multi-Process Service, which this process must use, is not running."""
    if f.init != cuda_errors.MPS_CONNECTION_FAILED:
        return None
    cause = f"the Multi-Process Service does not answer ({_error_name(f)})"
    return Cause("driver-not-ready", cause, "nvidia-cuda-mps-control -d")


@without_gpu("driver")
def module_not_loaded(f: Findings) -> Cause | None:
    """The driver is installed, but its kernel module is missing, rejected, or blocked by another module."""
    kernel = f.kernel
    installed = f.libcuda.is_loaded or kernel.module or kernel.built_for or kernel.dkms
    if f.container.kind or kernel.loaded or not f.hardware.nvidia or not installed:
        return None
    held = next((gpu.driver for gpu in f.hardware.nvidia if gpu.driver not in ("", "nvidia")), "")
    if held == "vfio-pci":
        cause = "the GPU is assigned to a virtual machine (vfio-pci holds it)"
        return Cause("gpu-held", cause, fixes.other_machine("that virtual machine"))
    if held:
        cause = f"{held} is bound to the GPU, so the NVIDIA module does not load"
        return Cause("gpu-held", cause, fixes.keep_out(f, held))
    if kernel.module and kernel.secure_boot:
        why = "Secure Boot rejects the module, because its signing key is not enrolled"
    elif kernel.module:
        why = f"{kernel.module} exists, but nothing has loaded it"
    elif kernel.built_for:
        why = f"it is built for {kernel.built_for[-1]}, not for the running kernel {kernel.release}"
    else:
        why = f"no module is built for the running kernel {kernel.release}".rstrip()
    cause = f"the NVIDIA driver is installed, but its kernel module is not loaded: {why}"
    return Cause("module-not-loaded", cause, fixes.load_module(f))


@without_gpu("driver")
@with_gpu("device")
def busy(f: Findings) -> Cause | None:
    """Another program has exclusive use of the GPU, or the GPU's compute mode allows no program."""
    device = _device(f)
    mode = device.access.compute_mode if device else ""
    unavailable = f.init == cuda_errors.DEVICE_UNAVAILABLE or "busy" in f.tensorflow.log
    if not unavailable and (mode != "Prohibited" or (f.gpus and not f.tensorflow.failed)):
        return None
    holder = next(iter(device.now.processes or ()), None) if device else None
    by = f"; {holder.name or 'process'} ({holder.pid}) is using it" if holder else ""
    index = device.facts.index if device else 0
    default = f"sudo nvidia-smi -i {index} -c DEFAULT"
    if mode == "Prohibited":
        return Cause("gpu-exclusive", "the GPU's compute mode (Prohibited) forbids all compute work", default)
    if mode.startswith("Exclusive"):
        wait = f"  # or wait until {holder.name or 'process'} ({holder.pid}) ends" if holder else ""
        cause = f"the GPU's compute mode ({mode}) allows one program at a time{by}"
        return Cause("gpu-exclusive", cause, default + wait)
    fix = (
        f"kill {holder.pid}  # ask its owner first"
        if holder
        else "nvidia-smi --query-compute-apps=pid,name --format=csv"
    )
    return Cause("gpu-busy", f"the GPU is busy or unavailable{by}", fix)


@without_gpu("driver")
@with_gpu("device")
def memory_faulty(f: Findings) -> Cause | None:
    """The GPU's memory had an error that ECC could not correct."""
    device = _device(f)
    errors = (device.access.memory_errors or 0) if device else 0
    told = f.init == cuda_errors.ECC_UNCORRECTABLE or "ecc" in f.tensorflow.log
    if not told and (not errors or (f.gpus and not f.tensorflow.failed)):
        return None
    count = f" ({errors} since the driver was loaded)" if errors else ""
    index = device.facts.index if device else 0
    fix = f"sudo nvidia-smi -i {index} --gpu-reset"
    note = (
        ""
        if f.container.kind
        else "  # first end all programs on the GPU; if errors return, replace the card"
    )
    cause = f"the GPU's memory has an error that ECC cannot correct{count}"
    return Cause("gpu-memory-faulty", cause, fixes.on_host(f, fix) + note)


@without_gpu("driver")
def mig_without_instance(f: Findings) -> Cause | None:
    """The GPU is divided (Multi-Instance GPU), but no instance is available."""
    device = _device(f)
    none = (
        f.init == cuda_errors.NO_DEVICE or f.libcuda.count == 0 or "no-supported-device" in f.tensorflow.log
    )
    if device is None or not device.access.mig or not none:
        return None
    index, name = device.facts.index, device.facts.name
    if f.kernel.mig_instances and not f.container.kind:
        return None
    if f.container.kind:
        cause = f"{name} is in MIG mode, and this {f.container.kind} container has no MIG instance"
        fix = fixes.container_gpu(f).replace("--gpus all", f"--gpus '\"device={index}:0\"'")
        return Cause("mig-without-instance", cause, f"{fix}  # nvidia-smi mig -lgi on the host lists them")
    cause = f"{name} is in MIG mode but has no MIG instances, so programs see no GPU"
    fix = (
        f"sudo nvidia-smi mig -i {index} -cgi 0 -C  # one instance for the whole GPU; -lgip lists "
        "other profiles"
    )
    return Cause("mig-without-instance", cause, fix)


@without_gpu("driver")
def wedged(f: Findings) -> Cause | None:
    """The driver fails without giving a reason, often after a suspend, a crash or a GPU fault."""
    if f.init != cuda_errors.UNKNOWN:
        return None
    return Cause("driver-wedged", f"the NVIDIA driver is wedged: cuInit returns {_error_name(f)}", _reload(f))


@without_gpu("driver")
def container_on_wsl(f: Findings) -> Cause | None:
    """A container in WSL was started without NVIDIA's Container Toolkit, so it lacks the driver's library."""
    if not (f.container.kind and f.hardware.wsl) or f.driver_works or not f.libcuda_missing:
        return None
    lacks = f"has no {LIBCUDA}" if f.hardware.wsl_gpu else f"has neither /dev/dxg nor {LIBCUDA}"
    cause = (
        f"this {f.container.kind} container on WSL {lacks}: it was started without the NVIDIA "
        "Container Toolkit"
    )
    return Cause("container-without-gpu", cause, fixes.TOOLKIT)


@without_gpu("driver")
def container_without_gpu(f: Findings) -> Cause | None:
    """This container was started without a GPU, so it has no GPU device files."""
    if not f.container.kind or f.kernel.nodes or f.hardware.wsl_gpu or f.driver_works:
        return None
    if not f.libcuda_missing and f.init not in (None, cuda_errors.NO_DEVICE, cuda_errors.OPERATING_SYSTEM):
        return None
    evidence = "there is no /dev/nvidia0" if f.kernel.loaded else f"{VERSION_FILE} does not exist"
    if f.environment.container_hides_all:
        evidence += (
            f", and {CONTAINER_VISIBLE}={f.environment.variables[CONTAINER_VISIBLE]!r} requests no GPU"
        )
    if f.hardware.none:
        evidence += "; the PCI bus shows no NVIDIA GPU either, so start it on a host that has one"
    cause = f"this {f.container.kind} container was started without a GPU: {evidence}"
    return Cause("container-without-gpu", cause, fixes.container_gpu(f))


@without_gpu("driver")
def user_space_missing(f: Findings) -> Cause | None:
    """The kernel module of the driver is loaded, but its user-space library is missing."""
    code = "libcuda-missing"
    if not f.libcuda_missing:
        return None
    if f.hardware.wsl and f.hardware.wsl_gpu:
        cause = f"{LIBCUDA} cannot be opened inside WSL: Windows provides it in {WSL_FOLDER}"
        return Cause(code, cause, fixes.library_path(WSL_FOLDER))
    if f.kernel_absent:
        return None
    fix = fixes.container_driver_libraries(f) if f.container.kind else fixes.user_space(f)
    version = f" {f.kernel.version}" if f.kernel.version else ""
    return Cause(code, f"NVIDIA's kernel driver{version} is loaded, but {LIBCUDA} is missing", fix)


@without_gpu("driver")
def driver_missing(f: Findings) -> Cause | None:
    """Neither the kernel module nor the user-space library of a driver is installed."""
    if not f.libcuda_missing:
        return None
    text = "cuInit fails with 303" if not f.libcuda.error else f"{LIBCUDA} cannot be opened"
    evidence = f"{text} and {VERSION_FILE} does not exist"
    if f.hardware.none:
        cause = f"no NVIDIA driver and no NVIDIA GPU: {evidence}, and the PCI bus shows none"
        return Cause("no-gpu", cause, ELSEWHERE)
    held = next((gpu.driver for gpu in f.hardware.nvidia if gpu.driver), "")
    held = f"; {held} is bound to the GPU" if held else ""
    cause = f"the NVIDIA driver is missing: {evidence}{held}"
    return Cause("driver-missing", cause, fixes.install_driver(f))


@without_gpu("driver")
def no_device(f: Findings) -> Cause | None:
    """The driver works but finds no GPU, although no setting hides a GPU."""
    none = f.init == cuda_errors.NO_DEVICE or (f.libcuda.init == 0 and f.libcuda.count == 0)
    if not none and "no-supported-device" not in f.tensorflow.log:
        return None
    if f.environment.hides_all or f.environment.job_without_gpu:
        return None
    text = (
        _error_name(f) if f.init else "cuDeviceGetCount returns 0" if none else "“no supported devices found”"
    )
    if f.hardware.none:
        return Cause("no-gpu", f"the driver finds no GPU ({text}), and the PCI bus shows none", ELSEWHERE)
    cause = (
        f"the driver is loaded but finds no GPU ({text}): the GPU failed, or this driver does not support it"
    )
    return Cause("no-device", cause, fixes.on_host(f, KERNEL_LOG))


@without_gpu("driver")
def other_failure(f: Findings) -> Cause | None:
    """cuInit fails with an error that the doctor has no specific cause for."""
    hidden = f.environment.hides_all or f.environment.job_without_gpu
    if f.init in (None, 0) or (f.init == cuda_errors.NO_DEVICE and hidden):
        return None
    return Cause("driver-fails", f"the NVIDIA driver fails: cuInit returns {_error_name(f)}", _reload(f))


@without_gpu("hidden")
def hidden_as_well(f: Findings) -> Cause | None:
    """CUDA_VISIBLE_DEVICES would hide the GPU even after the first cause is fixed."""
    if not f.environment.hides_all:
        return None
    return Cause("hidden", f"{VISIBLE}={f.environment.visible!r} would hide every GPU", f"unset {VISIBLE}")


@without_gpu("nvml")
def nvml_missing(f: Findings) -> Cause | None:
    """libnvidia-ml is missing, so TensorFlow 2.21 lists no GPU and reports no error."""
    absent = f.libraries.missing("driver")
    if not absent or not f.driver_works:
        return None
    fix = fixes.container_driver_libraries(f) if f.container.kind else fixes.user_space(f)
    cause = f"{absent[0].wanted.soname} cannot be opened; without it, TensorFlow silently lists no GPU"
    return Cause("nvml-missing", cause, fix)


# ---- the CUDA libraries ------------------------------------------------------------------------------------


def _mislaid(library: Library) -> bool:
    """Return True if the library's wheel is installed, but in a folder that TensorFlow does not search."""
    return bool(library.elsewhere) and library.absent


def _missing(f: Findings) -> dict[str, str]:
    """Map each required library that does not load to the loader's reason.

    Uses TensorFlow's messages if TensorFlow tried to open the libraries, or else the doctor's own test.
    """
    device = {
        library.wanted.soname: library for library in f.libraries.found if library.wanted.need == "device"
    }
    told = {name: why for name, why in f.tensorflow.log.unloaded().items() if name in device or not device}
    if not told or "skipped" not in f.tensorflow.log:
        told = {name: library.error for name, library in device.items() if not library.path}
    return {name: why for name, why in told.items() if name not in device or not _mislaid(device[name])}


def _telling(name: str, why: str) -> str:
    return name if why.startswith(f"{name}: cannot open") else f"{name} ({why})"


@without_gpu("libraries")
def cuda_wheels_missing(f: Findings) -> Cause | None:
    """No CUDA runtime is installed.

    In that case, TensorFlow misleadingly reports that it finds no CUDA drivers.
    """
    missing = _missing(f)
    said = "no-cudart" in f.tensorflow.log
    if not ("libcudart.so.12" in missing or said) or "nvidia-cuda-runtime-cu12" in f.packages.wheels:
        return None
    others = len(missing) - 1
    cause = "the CUDA runtime wheel is missing: libcudart.so.12"
    cause += f" and {others} more CUDA libraries" if others > 0 else ""
    cause += " cannot be opened"
    cause += "; “Could not find cuda drivers” refers to this library, not to the driver" if said else ""
    return Cause("cuda-wheels-missing", cause, fixes.install_cuda(f))


@without_gpu("libraries")
def cuda_libraries_missing(f: Findings) -> Cause | None:
    """A CUDA library other than the runtime does not load, so TensorFlow registers no GPU."""
    missing = _missing(f)
    if not missing and ("skipped" not in f.tensorflow.log or f.libraries.missing("device")):
        return None
    listed = (
        "; ".join(_telling(name, why) for name, why in missing.items()) or "see TensorFlow's own messages"
    )
    # A wheel that is installed but does not load is damaged, so reinstall it.
    damaged = [
        library
        for library in f.libraries.missing("device")
        if library.wanted.soname in missing and library.wanted.wheel in f.packages.wheels
    ]
    fix = fixes.reinstall(f) if damaged else fixes.install_cuda(f)
    return Cause("cuda-libraries-missing", f"TensorFlow skips every GPU: cannot open {listed}", fix)


@without_gpu("search path")
def not_where_tensorflow_looks(f: Findings) -> Cause | None:
    """The wheels are installed, but a library is in a folder outside TensorFlow's search path.

    In TensorFlow 2.21 this affects libcusolver: the search path does not list nvidia/cusolver/lib.
    """
    missing = tuple(library for library in f.libraries.missing("device") if _mislaid(library))
    if not missing:
        return None
    names = ", ".join(library.wanted.soname for library in missing)
    folders = tuple(dict.fromkeys(os.path.dirname(library.elsewhere) for library in missing))
    cause = f"{names} is installed, but TensorFlow {f.packages.version} does not search its folder"
    return Cause("libraries-not-found", cause, fixes.library_path(*folders))


# ---- GPUs that TensorFlow ignores, and failures that it does not report ------------------------------------


@without_gpu("device")
def gpu_too_old(f: Findings) -> Cause | None:
    """TensorFlow sees the GPU but ignores it because of its compute capability."""
    found = f.tensorflow.log.groups("too-old")
    if not found:
        return None
    cause = (
        f"the GPU is too old: its compute capability is {found[0]}, but this TensorFlow needs {found[1]} "
        "or higher"
    )
    return Cause("gpu-too-old", cause, fixes.other_machine("a machine with a newer GPU"))


@without_gpu("device")
def too_few_cores(f: Findings) -> Cause | None:
    """TensorFlow ignores a GPU that has far fewer cores than another GPU in the machine."""
    found = f.tensorflow.log.groups("few-cores")
    if not found:
        return None
    cause = f"TensorFlow ignores a GPU with fewer than {found[1]} multiprocessors; this one has {found[0]}"
    return Cause("gpu-too-small", cause, f"export TF_MIN_GPU_MULTIPROCESSOR_COUNT={found[0]}")


@without_gpu("silent")
def tensorflow_silent(f: Findings) -> Cause | None:
    """The child process that runs TensorFlow did not finish in time, or died after the import."""
    listing = f"{f.python} -c 'import tensorflow as tf; print(tf.config.list_physical_devices())'"
    if f.tensorflow.hung:
        cause = f"TensorFlow did not answer in time while {f.tensorflow.hung}"
        return Cause("tensorflow-silent", cause, f"TF_CPP_MIN_LOG_LEVEL=0 {listing}")
    if f.tensorflow.crashed:
        cause = f"TensorFlow's process {f.tensorflow.crashed}"
        return Cause("tensorflow-crashed", cause, fixes.reinstall(f))
    return None


@without_gpu("unknown")
def unexplained(f: Findings) -> Cause | None:
    """No other cause applies. The message lists the known facts and how to see TensorFlow's full log."""
    listed = f.tensorflow.listed
    if listed and listed.error:
        what = f"TensorFlow cannot list its devices: {listed.error}"
    elif f.driver_works:
        what = (
            f"the driver finds {plural(f.libcuda.count or 0, 'GPU')} and the CUDA libraries load, "
            "but TensorFlow lists none"
        )
    else:
        what = "TensorFlow lists no GPU, and no probe found the cause"
    if f.silent:
        what += f" (no answer from: {', '.join(f.silent)})"
    command = "import tensorflow as tf; print(tf.config.list_physical_devices())"
    return Cause(
        "unknown",
        what,
        f"TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_MAX_VLOG_LEVEL=1 {f.python} -c '{command}' 2>&1 | tail -n 50",
    )


# ---- faults of a GPU that TensorFlow lists -----------------------------------------------------------------


def _capability(text: str) -> tuple[int, int] | None:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None


def _built(f: Findings, kind: str) -> list[tuple[int, int]]:
    """Return the compute capabilities for which the build has machine code (kind `sm`) or PTX (`compute`):
    `sm_89` → (8, 9).
    """
    names = f.tensorflow.built.architectures if f.tensorflow.built else ()
    numbers = [name.removeprefix(f"{kind}_") for name in names if name.startswith(f"{kind}_")]
    return sorted((int(n[:-1]), int(n[-1])) for n in numbers if n.isdecimal() and len(n) >= 2)


@with_gpu("device")
def gpu_older_than_build(f: Findings) -> Cause | None:
    """The GPU is listed, but the build has neither machine code nor PTX for it.

    TensorFlow still announces that it compiles PTX, but PTX runs only on newer GPUs, never on older ones.
    """
    built = sorted(_built(f, "sm") + _built(f, "compute"))
    old = [g for g in f.gpus if (c := _capability(g.compute_capability)) and built and c < built[0]]
    if not old:
        return None
    return Cause(
        "gpu-too-old",
        f"{old[0].description or old[0].name} is too old: its compute capability is "
        f"{old[0].compute_capability},"
        f" but this TensorFlow is built for {built[0][0]}.{built[0][1]} and higher",
        fixes.other_machine("a machine with a newer GPU"),
    )


@with_gpu("device")
def driver_too_old_for_build(f: Findings) -> Cause | None:
    """The driver predates the CUDA toolkit of the build's PTX, or lacks a function that the build calls."""
    if "old-driver" not in f.tensorflow.log:
        return None
    version = f.kernel.version or f.libcuda.version
    made = f.tensorflow.built.cuda_version if f.tensorflow.built else "12"
    return Cause(
        "driver-too-old",
        f"the driver{' ' + version if version else ''} is too old for the CUDA of this build ({made})",
        fixes.on_host(f, fixes.install_driver(f)),
    )


@with_gpu("device")
def out_of_memory(f: Findings) -> Cause | None:
    """Even a small op cannot allocate memory, because another process uses the GPU's memory."""
    if "memory" not in f.tensorflow.log or f.tensorflow.failed is None:
        return None
    device = _device(f)
    held, fix = "", "nvidia-smi"
    if device is not None and device.now.memory_used and device.now.memory_total:
        held = f": {size(device.now.memory_used)} of {size(device.now.memory_total)} are in use"
    if device is not None and device.now.processes:
        largest = device.now.processes[0]
        held += f", most of it by {largest.name or 'process'} ({largest.pid})"
        fix = f"kill {largest.pid}  # ask its owner first"
    return Cause("gpu-memory-taken", f"the GPU is listed, but its memory is full{held}", fix)


@with_gpu("device")
def cudnn(f: Findings) -> Cause | None:
    """cuDNN does not start, or differs from the version that TensorFlow's build requires."""
    versions = f.tensorflow.log.groups("cudnn-version")
    if not versions and "dnn" not in f.tensorflow.log:
        return None
    loaded = next((x.path for x in f.libraries.found if x.wanted.folder == "cudnn"), "")
    shadowed = any(loaded.startswith(f"{folder.rstrip('/')}/") for folder in f.environment.library_folders)
    what = (
        f"it loads {versions[0]}, but TensorFlow was built with {versions[1]}"
        if versions
        else "it does not start"
    )
    where = f" from {loaded}" if loaded else ""
    cause = f"the GPU is listed, but cuDNN does not work: {what}{where}"
    other = "nvidia-cudnn-cu13"
    if shadowed:
        fix = fixes.library_path_without(f, loaded.rpartition("/")[0])
    elif other in f.packages.wheels:
        cause += f"; {other}, for CUDA 13, has overwritten the files of nvidia-cudnn-cu12"
        again = fixes.requirement(f, "nvidia-cudnn-cu12", "--force-reinstall --no-deps ")
        fix = f"{fixes.pip(f, f'uninstall -y {other}')} && {again}"
    else:
        fix = fixes.requirement(f, "nvidia-cudnn-cu12")
    return Cause("cudnn-mismatch", cause, fix)


@with_gpu("device")
def xla_toolchain(f: Findings) -> Cause | None:
    """XLA cannot compile for the GPU because libdevice or ptxas is missing."""
    log = f.tensorflow.log
    failed = any(tried.what == "XLA" and tried.error for tried in f.tensorflow.tried)
    if not failed or not ("libdevice" in log or "ptxas" in log):
        return None
    lacking = "libdevice" if "libdevice" in log else "ptxas"
    home = f.packages.tensorflow_home
    fix = fixes.install_cuda(f)
    if home is not None and fixes.NVCC_WHEEL in f.packages.wheels:
        fix = f'export XLA_FLAGS="--xla_gpu_cuda_data_dir={home.parent / "nvidia" / "cuda_nvcc"}"'
    return Cause("xla-toolchain", f"the GPU works, but XLA cannot compile for it: no {lacking}", fix)


@with_gpu("device")
def kernels_invalid(f: Findings) -> Cause | None:
    """TensorFlow's generated kernels do not run on a GPU that is much newer than the build (Blackwell)."""
    log = f.tensorflow.log
    if "invalid-ptx" not in log and "invalid-handle" not in log:
        return None
    gpu = f.gpus[0]
    failed = f.tensorflow.failed
    what = f": {failed.what} fails with " if failed else ": "
    what += "CUDA_ERROR_INVALID_PTX" if "invalid-ptx" in log else "CUDA_ERROR_INVALID_HANDLE"
    return Cause(
        "gpu-needs-newer-build",
        f"{gpu.description or gpu.name} (compute capability {gpu.compute_capability or 'unknown'}) is too new"
        f" for TensorFlow {f.packages.version or fixes.SERIES}: its kernels cannot be compiled "
        f"for this GPU{what}",
        fixes.nvidia_image(f),
    )


@with_gpu("device")
def gpu_newer_than_build(f: Findings) -> Cause | None:
    """The build has no machine code for this GPU, so the driver compiles its PTX on first use."""
    found = f.tensorflow.log.groups("ptx")
    if not found:
        return None
    code = ", ".join(f"{major}.{minor}" for major, minor in _built(f, "sm")) or "other GPUs"
    ptx = ", ".join(f"{major}.{minor}" for major, minor in _built(f, "compute")) or "newer ones"
    done = [tried.what for tried in f.tensorflow.tried if not tried.error]
    lead = (
        f"the GPU works ({', '.join(done)} ran), but the driver" if len(done) == len(WORK) else "the driver"
    )
    cause = f"{lead} compiles each kernel on first use, which can take 30 minutes in total: this build has"
    cause += f" machine code for {code} and PTX for {ptx}, but the GPU has compute capability {found[0]}"
    if f.tensorflow.hung in WORK:
        cause += f"; {f.tensorflow.hung} was still running"
    elif f.tensorflow.failed:
        cause += f"; {f.tensorflow.failed.what} fails: {f.tensorflow.failed.error}"
    fix = (
        "export CUDA_CACHE_MAXSIZE=4294967296  # keeps all compiled kernels, so that only the first run waits"
    )
    return Cause("gpu-newer-than-build", cause, fix)


@with_gpu("device")
def runtime_does_not_start(f: Findings) -> Cause | None:
    """The CUDA runtime rejects the GPU with an error that the doctor has no specific cause for."""
    said = f.tensorflow.log.text("runtime")
    if not said:
        return None
    return Cause("runtime-fails", f"the GPU is listed, but CUDA does not start on it: {said}", _reload(f))


@with_gpu("device")
def work_silent(f: Findings) -> Cause | None:
    """The first op did not finish in time, and no message explains why."""
    if f.tensorflow.hung not in WORK and not f.tensorflow.crashed:
        return None
    what = (
        f"{f.tensorflow.hung} did not answer in time" if f.tensorflow.hung else f"it {f.tensorflow.crashed}"
    )
    return Cause("gpu-work-silent", f"the GPU is listed, but {what}", KERNEL_LOG)


@with_gpu("device")
def work_fails(f: Findings) -> Cause | None:
    """An op raises an error that the doctor has no specific cause for."""
    failed = f.tensorflow.failed
    if failed is None:
        return None
    if f.tensorflow.pluggable and failed.what == "XLA":
        return None  # few plug-in devices support XLA
    cause = f"the GPU is listed, but {failed.what} fails on it: {failed.error}"
    return Cause("gpu-work-fails", cause, fixes.reinstall(f))


@with_gpu("search path")
def skipped_by_others(f: Findings) -> Cause | None:
    """Only tuilab sees the GPU, because it opens by path the libraries that TensorFlow does not find."""
    found = not_where_tensorflow_looks(f)
    if found is None:
        return None
    return Cause(
        found.code, f"tuilab sees the GPU, but your own programs do not: {found.message}", found.remedy
    )


@with_gpu("toolchain")
def ptxas_missing(f: Findings) -> Cause | None:
    """Everything works, but without ptxas the driver compiles XLA's output, which takes longer."""
    if "ptxas" not in f.tensorflow.log or f.tensorflow.failed:
        return None
    cause = (
        "the GPU works, but ptxas does not start, so the driver compiles XLA's kernels instead, more slowly"
    )
    return Cause("ptxas-missing", cause, fixes.ptxas(f))


@with_gpu("well")
def well(f: Findings) -> Cause | None:
    """A GPU is listed and works."""
    gpu = f.gpus[0]
    about = f"compute capability {gpu.compute_capability or 'unknown'}"
    if f.tensorflow.pluggable:
        about = "a pluggable device of type GPU"
    names = f"{gpu.description or gpu.name} ({about})"
    more = f" and {len(f.gpus) - 1} more" if len(f.gpus) > 1 else ""
    done = [tried.what for tried in f.tensorflow.tried if not tried.error]
    worked = f", and {', '.join(done)} ran on it" if done else ""
    return Cause("well", f"all good: TensorFlow sees {names}{more}{worked}")
