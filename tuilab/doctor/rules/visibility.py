"""Causes that keep a working GPU out of sight: the environment, the container, what TensorFlow ignores."""

from tuilab.doctor import cuda_errors, mends
from tuilab.doctor.environment import CONTAINER_VISIBLE, VISIBLE
from tuilab.doctor.findings import Findings
from tuilab.doctor.kernel_driver import VERSION_FILE
from tuilab.model.doctor import Diagnosis


def job_without_gpu(f: Findings) -> Diagnosis | None:
    """A batch job to which the scheduler gave no GPU: it hides those of the machine from the job."""
    if not f.environment.job_without_gpu or not f.libcuda.opened or f.driver_works:
        return None
    if f.init not in (cuda_errors.NO_DEVICE, 0):
        return None
    job = f.environment.variables["SLURM_JOB_ID"]
    return Diagnosis(
        "job-without-gpu", f"Slurm job {job} was given no GPU (SLURM_JOB_GPUS is not set)", "salloc --gpus=1"
    )


def hidden_by_environment(f: Findings) -> Diagnosis | None:
    """CUDA_VISIBLE_DEVICES leaves none of the GPUs that the driver has."""
    visible = f.environment.visible
    if visible is None or f.libcuda_missing or f.libcuda.init == cuda_errors.STUB_LIBRARY:
        return None
    without = f.unhidden.count if f.unhidden and f.unhidden.init == 0 else None
    finds_none = f.init == cuda_errors.NO_DEVICE or (f.init == 0 and f.libcuda.count == 0)
    if not f.environment.hides_all and not (finds_none and without):
        return None
    if f.init not in (None, 0, cuda_errors.NO_DEVICE):
        return None  # the driver has a trouble of its own, which comes first
    if f.environment.hides_all:
        cause = f"{VISIBLE}={visible!r} hides every GPU from this process"
    else:
        cause = f"{VISIBLE}={visible!r} names no GPU that this machine has"
    if without:
        cause += f"; without it the driver counts {without}"
    return Diagnosis("hidden", cause, f"unset {VISIBLE}")


def hidden_as_well(f: Findings) -> Diagnosis | None:
    """The same variable beside another cause: it would hide the GPU once that is mended."""
    if not f.environment.hides_all:
        return None
    return Diagnosis(
        "hidden", f"{VISIBLE}={f.environment.visible!r} would hide every GPU", f"unset {VISIBLE}"
    )


def container_without_gpu(f: Findings) -> Diagnosis | None:
    """A container to which no GPU was given: no device files, whatever the host has."""
    if not f.container.kind or f.kernel.nodes or f.hardware.wsl_gpu or f.driver_works:
        return None
    if not f.libcuda_missing and f.init not in (None, cuda_errors.NO_DEVICE, cuda_errors.OPERATING_SYSTEM):
        return None
    evidence = "there is no /dev/nvidia0" if f.kernel.loaded else f"{VERSION_FILE} does not exist"
    if f.environment.container_hides_all:
        evidence += f", and {CONTAINER_VISIBLE}={f.environment.variables[CONTAINER_VISIBLE]!r} asks for none"
    if f.hardware.none:
        evidence += "; the PCI bus shows no NVIDIA GPU either, so start it on a host that has one"
    return Diagnosis(
        "container-without-gpu",
        f"this {f.container.kind} container was started without a GPU: {evidence}",
        mends.container_gpu(f),
    )


def gpu_too_old(f: Findings) -> Diagnosis | None:
    """TensorFlow sees the GPU and ignores it for its compute capability."""
    found = f.tensorflow.log.groups("too-old")
    if not found:
        return None
    return Diagnosis(
        "gpu-too-old",
        f"the GPU is too old: compute capability {found[0]}, this TensorFlow needs {found[1]} or more",
        mends.other_machine("a machine with a newer GPU"),
    )


def too_few_cores(f: Findings) -> Diagnosis | None:
    """TensorFlow ignores a GPU that is much smaller than another."""
    found = f.tensorflow.log.groups("few-cores")
    if not found:
        return None
    return Diagnosis(
        "gpu-too-small",
        f"TensorFlow ignores the GPU for its {found[0]} multiprocessors; it asks for {found[1]}",
        f"export TF_MIN_GPU_MULTIPROCESSOR_COUNT={found[0]}",
    )


def unexplained(f: Findings) -> Diagnosis | None:
    """None of the causes known here. Says what was established and how to see all of TensorFlow's lines."""
    if f.driver_works:
        what = (
            f"the driver counts {f.libcuda.count} GPU and the CUDA libraries load, yet TensorFlow lists none"
        )
    else:
        what = "TensorFlow lists no GPU, and no probe tells why"
    if f.silent:
        what += f" (no answer from: {', '.join(f.silent)})"
    command = "import tensorflow as tf; print(tf.config.list_physical_devices())"
    return Diagnosis(
        "unknown",
        what,
        f"TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_MAX_VLOG_LEVEL=1 {f.python} -c '{command}' 2>&1 | tail -n 50",
    )
