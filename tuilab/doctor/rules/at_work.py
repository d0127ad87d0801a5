"""TensorFlow lists a GPU: causes that show only when it is put to work, and the word that all is well."""

from tuilab.doctor import mends
from tuilab.doctor.findings import Findings
from tuilab.doctor.tensorflow import WORK
from tuilab.model.doctor import Diagnosis
from tuilab.model.quantity import size


def _raised(f: Findings) -> str:
    """Every error of the GPU work, as one text to search."""
    return " ".join(tried.error for tried in f.tensorflow.tried)


def _capability(text: str) -> tuple[int, int] | None:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None


def _built(f: Findings) -> list[tuple[int, int]]:
    """Compute capabilities that the build covers, with machine code or PTX: `sm_89` → (8, 9)."""
    numbers = (
        [name.rpartition("_")[2] for name in f.tensorflow.built.architectures] if f.tensorflow.built else []
    )
    return sorted((int(n[:-1]), int(n[-1])) for n in numbers if n.isdecimal() and len(n) >= 2)


def cudnn(f: Findings) -> Diagnosis | None:
    """Convolutions fail: cuDNN is of another version than TensorFlow was built with, or does not start."""
    versions = f.tensorflow.log.groups("cudnn-version")
    raised = _raised(f)
    if not versions and "dnn" not in f.tensorflow.log and "DNN library" not in raised:
        return None
    loaded = next((x.path for x in f.libraries.found if x.wanted.soname == "libcudnn.so.9"), "")
    shadowed = any(loaded.startswith(f"{folder.rstrip('/')}/") for folder in f.environment.library_folders)
    what = (
        f"it loads {versions[0]}, TensorFlow was built with {versions[1]}"
        if versions
        else "it does not start"
    )
    where = f" from {loaded}" if loaded else ""
    mend = (
        mends.library_path_without(f, loaded.rpartition("/")[0])
        if shadowed
        else mends.requirement(f, "nvidia-cudnn-cu12")
    )
    return Diagnosis("cudnn-mismatch", f"the GPU is listed, but cuDNN does not work: {what}{where}", mend)


def xla_toolchain(f: Findings) -> Diagnosis | None:
    """XLA cannot compile for the GPU: libdevice or ptxas is not found."""
    log, raised = f.tensorflow.log, _raised(f)
    failed = any(tried.what == "XLA" and tried.error for tried in f.tensorflow.tried)
    if not failed or not ("libdevice" in log or "ptxas" in log or "libdevice" in raised or "ptxas" in raised):
        return None
    lacking = "libdevice" if "libdevice" in log or "libdevice" in raised else "ptxas"
    home = f.packages.tensorflow_home
    wheel = "nvidia-cuda-nvcc-cu12"
    mend = mends.install_cuda(f)
    if home is not None and wheel in f.packages.wheels:
        mend = f'export XLA_FLAGS="--xla_gpu_cuda_data_dir={home.parent / "nvidia" / "cuda_nvcc"}"'
    return Diagnosis("xla-toolchain", f"the GPU works, but XLA cannot compile for it: no {lacking}", mend)


def gpu_older_than_build(f: Findings) -> Diagnosis | None:
    """The GPU is listed, but the build has neither machine code nor PTX that it could run.

    TensorFlow announces compilation from PTX here too; PTX runs on newer GPUs only, never on older ones.
    """
    built = _built(f)
    old = [g for g in f.gpus if (c := _capability(g.compute_capability)) and built and c < built[0]]
    if not old:
        return None
    return Diagnosis(
        "gpu-too-old",
        f"{old[0].description or old[0].name} is too old: compute capability {old[0].compute_capability},"
        f" this TensorFlow is built for {built[0][0]}.{built[0][1]} and later",
        mends.other_machine("a machine with a newer GPU"),
    )


def gpu_newer_than_build(f: Findings) -> Diagnosis | None:
    """No machine code for this GPU: the driver compiles each kernel from PTX at its first use."""
    found = f.tensorflow.log.groups("ptx")
    if not found:
        return None
    built = ", ".join(f"{major}.{minor}" for major, minor in _built(f))
    done = [tried.what for tried in f.tensorflow.tried if not tried.error]
    state = f"; {', '.join(done)} ran" if done else ""
    if f.tensorflow.hung in WORK:
        state = f"; {f.tensorflow.hung} was still at it"
    elif f.tensorflow.failed:
        state = f"; {f.tensorflow.failed.what} fails: {f.tensorflow.failed.error}"
    return Diagnosis(
        "gpu-newer-than-build",
        f"the GPU (compute capability {found[0]}) is newer than this build ({built}): the driver compiles its"
        f" kernels at first use, which can take 30 minutes{state}",
        "export CUDA_CACHE_MAXSIZE=4294967296  # keeps all that was compiled: only the first run waits",
    )


def driver_too_old_for_ptx(f: Findings) -> Diagnosis | None:
    """The driver is older than the toolkit that made this build's PTX."""
    raised = _raised(f)
    marks = ("UNSUPPORTED_PTX_VERSION", "unsupported toolchain", "driver version is insufficient")
    if not any(mark in raised for mark in marks):
        return None
    version = f.kernel.version or f.libcuda.version
    made = f.tensorflow.built.cuda_version if f.tensorflow.built else "12"
    return Diagnosis(
        "driver-too-old",
        f"the driver{' ' + version if version else ''} is too old for what this build brings (CUDA {made})",
        mends.install_driver(f),
    )


def out_of_memory(f: Findings) -> Diagnosis | None:
    """Even a small op finds no memory: someone else holds it."""
    raised = _raised(f)
    marks = ("ResourceExhausted", "OUT_OF_MEMORY", "CUBLAS_STATUS_NOT_INITIALIZED", "failed to allocate")
    if not any(mark in raised for mark in marks) and "memory" not in f.tensorflow.log:
        return None
    device = next(iter(f.devices.found), None)
    held, mend = "", "nvidia-smi"
    if device is not None and device.now.memory_used and device.now.memory_total:
        held = f": {size(device.now.memory_used)} of {size(device.now.memory_total)} are taken"
    if device is not None and device.now.processes:
        largest = device.now.processes[0]
        held += f", most of it by {largest.name or 'process'} ({largest.pid})"
        mend = f"kill {largest.pid}  # ask its owner first"
    return Diagnosis("gpu-memory-taken", f"the GPU is listed, but its memory is full{held}", mend)


def work_silent(f: Findings) -> Diagnosis | None:
    """A first op did not end in time, and no line tells why."""
    if f.tensorflow.hung not in WORK and not f.tensorflow.crashed:
        return None
    what = (
        f"{f.tensorflow.hung} did not answer in time" if f.tensorflow.hung else f"it {f.tensorflow.crashed}"
    )
    return Diagnosis(
        "gpu-work-silent", f"the GPU is listed, but {what}", "sudo dmesg | grep -i -E 'NVRM|Xid'"
    )


def work_fails(f: Findings) -> Diagnosis | None:
    """An op raises for a reason that no rule knows."""
    failed = f.tensorflow.failed
    if failed is None:
        return None
    return Diagnosis(
        "gpu-work-fails",
        f"the GPU is listed, but {failed.what} fails on it: {failed.error}",
        mends.reinstall(f),
    )


def well(f: Findings) -> Diagnosis | None:
    """A GPU is listed and did what was asked of it."""
    gpu = f.gpus[0]
    names = f"{gpu.description or gpu.name} (compute capability {gpu.compute_capability or 'unknown'})"
    more = f" and {len(f.gpus) - 1} more" if len(f.gpus) > 1 else ""
    done = [tried.what for tried in f.tensorflow.tried if not tried.error]
    worked = f", and {', '.join(done)} ran on it" if done else ""
    return Diagnosis("well", f"all well: TensorFlow sees {names}{more}{worked}")
