"""The 26 situations that users report most, each with a fake machine, and the doctor's code and fix.

Uses a stub driver and stub CUDA libraries (stub_libcuda.c), fake `/proc`, `/dev` and `/sys`, wheels as
metadata, a fake nvidia-ml-py, and TensorFlow's own messages, worded as in the cited reports.
"""

import errno
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.doctor import lines
from tests.doctor.machine import IMPORTED, Machine
from tuilab.doctor.tensorflow import WORK
from tuilab.model.doctor import Built, Listed, Tried

PIP = f"{sys.executable} -m pip"
INSTALL = f'{PIP} install "tensorflow[and-cuda]==2.21.*"'


@dataclass(frozen=True)
class Situation:
    """A situation with the doctor's expected output.

    code, fix: the exact output. words: words in the cause. visible: True if TensorFlow lists the GPU.
    """

    name: str
    make: Callable[[Machine], None]
    code: str
    fix: str
    words: tuple[str, ...]
    visible: bool


SITUATIONS: list[Situation] = []


def situation(name: str, code: str, fix: str, *words: str, visible: bool = False):
    """Return a decorator that registers a situation. The decorated function sets up the fake machine."""

    def take(make: Callable[[Machine], None]) -> Callable[[Machine], None]:
        SITUATIONS.append(Situation(name, make, code, fix, words, visible))
        return make

    return take


def all_raise(error: str) -> list[Tried]:
    return [Tried(what=what, error=error) for what in WORK]


@situation(
    "no NVIDIA GPU in the machine",
    "no-gpu",
    "tuilab run PRESET --host HOST  # a machine with an NVIDIA GPU",
    "no NVIDIA driver and no NVIDIA GPU",
)
def no_gpu(machine: Machine):
    machine.tensorflow()
    machine.wheels()
    machine.says(err=lines.CUINIT_303)


@situation(
    "driver never installed: nouveau is bound to the GPU",
    "driver-missing",
    "sudo apt-get install -y ubuntu-drivers-common && sudo ubuntu-drivers install && sudo reboot",
    "the NVIDIA driver is missing",
    "nouveau is bound to the GPU",
)
def driver_missing(machine: Machine):
    machine.gpu(driver="nouveau")
    machine.tensorflow()
    machine.wheels()
    machine.says(err=lines.CUINIT_303)


@situation(
    "driver too old for CUDA 12",
    "driver-too-old",
    "sudo apt-get install -y ubuntu-drivers-common && sudo ubuntu-drivers install && sudo reboot",
    "470.256.02 is too old: it supports CUDA up to 11.4",
)
def driver_too_old(machine: Machine):
    machine.gpu()
    machine.kernel("470.256.02")
    machine.driver("470.256.02", cuda=11040)
    machine.tensorflow()
    machine.wheels()


@situation(
    "driver upgraded, machine not yet restarted",
    "driver-mismatch",
    "sudo reboot",
    "kernel 565.57.01, library 570.86.15",
)
def mismatch(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "803"
    machine.nvml(nvmlInit="!Driver/library version mismatch")
    text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build\n"
    machine.file("/proc/driver/nvidia/version", text)


@situation(
    "Secure Boot refuses the kernel module",
    "module-not-loaded",
    "sudo mokutil --import /var/lib/shim-signed/mok/MOK.der && sudo reboot"
    "  # choose “Enroll MOK” at the next boot",
    "its kernel module is not loaded",
    "Secure Boot rejects",
)
def secure_boot(machine: Machine):
    """NVIDIA/gpu-driver-container#44: `modprobe` prints “Key was rejected by service”."""
    machine.gpu(driver="")
    machine.driver(cuinit=999)
    machine.module("6.8.0-48-generic")
    machine.file("/var/lib/shim-signed/mok/MOK.der")
    variable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    machine.file(variable, "\x06\x00\x00\x00\x01")
    machine.tensorflow()
    machine.wheels()


@situation(
    "new kernel for which DKMS built no module",
    "module-not-loaded",
    "sudo apt-get install -y linux-headers-$(uname -r) && sudo dkms autoinstall && sudo modprobe nvidia",
    "built for 6.8.0-45-generic, not for the running kernel 6.8.0-48-generic",
)
def dkms(machine: Machine):
    machine.gpu(driver="")
    machine.driver(cuinit=100)
    machine.module("6.8.0-45-generic")
    machine.tensorflow()
    machine.wheels()


@situation(
    "pip install tensorflow, without its CUDA wheels",
    "cuda-wheels-missing",
    INSTALL,
    "libcudart.so.12 and 6 more",
    "refers to this library, not to the driver",
)
def wheels_missing(machine: Machine):
    """Reported in tensorflow#66750."""
    machine.gpu()
    machine.kernel()
    machine.driver()
    machine.tensorflow()
    machine.says(err=lines.NO_CUDART)


@situation(
    "a CUDA wheel without its file",
    "cuda-libraries-missing",
    f'{PIP} install --force-reinstall "tensorflow[and-cuda]==2.21.*"',
    "TensorFlow skips every GPU: cannot open libcudnn.so.9",
)
def wheel_damaged(machine: Machine):
    """Reported in tensorflow#60646."""
    machine.healthy()
    (machine.site / "nvidia/cudnn/lib/libcudnn.so.9").unlink()
    why = "libcudnn.so.9: cannot open shared object file: No such file or directory"
    machine.says(err=lines.dlopen("libcudnn.so.9", why) + lines.SKIPPED)


@situation(
    "TensorFlow 2.21 does not find its own libcusolver",
    "libraries-not-found",
    'export LD_LIBRARY_PATH="SITE/nvidia/cusolver/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"',
    "your own programs do not",
    "libcusolver.so.11 is installed, but TensorFlow 2.21.0 does not search its folder",
    visible=True,
)
def cusolver(machine: Machine):
    """The real wheel has this fault; see test_real_tensorflow.py."""
    machine.healthy()
    machine.environ["LD_LIBRARY_PATH"] = str(machine.lib)
    machine.sees()


@situation(
    "hidden by CUDA_VISIBLE_DEVICES",
    "hidden",
    "unset CUDA_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES='-1' hides every GPU",
    "without it, the driver finds 1 GPU",
)
def hidden(machine: Machine):
    machine.healthy()
    machine.environ["CUDA_VISIBLE_DEVICES"] = "-1"


@situation(
    "tensorflow-cpu installed",
    "no-cuda-build",
    f"{PIP} uninstall -y tensorflow-cpu && {INSTALL}",
    "tensorflow-cpu is built without CUDA",
)
def cpu_build(machine: Machine):
    machine.gpu()
    machine.kernel()
    machine.driver()
    machine.tensorflow("tensorflow-cpu")
    machine.says(IMPORTED, Built(cuda=False))


@situation(
    "aarch64, for which no CUDA wheel exists",
    "no-cuda-build",
    "docker run --gpus all -it --rm nvcr.io/nvidia/tensorflow:25.02-tf2-py3  # TensorFlow 2.17",
    "wheels for aarch64 are built without CUDA",
)
def aarch64(machine: Machine):
    """tensorflow#121157: all CUDA wheels can be installed, but is_built_with_cuda() is False."""
    machine.processor = "aarch64"
    machine.healthy()
    machine.says(IMPORTED, Built(cuda=False), Listed())


@situation(
    "docker run without --gpus",
    "container-without-gpu",
    "docker run --gpus all IMAGE",
    "this docker container was started without a GPU",
    "/proc/driver/nvidia/version does not exist",
)
def docker(machine: Machine):
    machine.gpu()
    machine.file("/.dockerenv")
    machine.tensorflow()
    machine.wheels()
    machine.says(err=lines.CUINIT_303)


@situation(
    "a container that lost its GPU while it ran",
    "container-lost-gpu",
    "docker restart CONTAINER  # on the host",
    "this docker container has lost its GPU",
    "/dev/nvidia0 exists, but access is denied",
)
def container_lost(machine: Machine):
    """Reported in NVIDIA/nvidia-container-toolkit#48."""
    machine.healthy()
    machine.file("/.dockerenv")
    machine.environ["STUB_CUINIT"] = "304"
    machine.refuses("nvidia", errno.EPERM)
    machine.nvml(nvmlInit="!Unknown Error")


@situation(
    "Docker inside WSL 2 without the NVIDIA Container Toolkit",
    "container-without-gpu",
    "sudo apt-get install -y nvidia-container-toolkit && sudo nvidia-ctk runtime configure --runtime=docker"
    " && sudo systemctl restart docker  # in the WSL distribution; then: docker run --gpus all IMAGE",
    "this docker container on WSL has no libcuda.so.1",
    "NVIDIA Container Toolkit",
)
def docker_on_wsl(machine: Machine):
    """Reported in docker/for-win#7581. The container is started with `--device /dev/dxg`, which users try as
    a fix.
    """
    machine.file("/proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2\n")
    machine.file("/dev/dxg")
    machine.file("/.dockerenv")
    machine.tensorflow()
    machine.wheels()
    machine.says(err=lines.CUINIT_303)


@situation(
    "WSL 2 whose libcuda is not searched",
    "libcuda-missing",
    'export LD_LIBRARY_PATH="/usr/lib/wsl/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"',
    "cannot be opened inside WSL",
)
def wsl(machine: Machine):
    machine.file("/proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2\n")
    machine.file("/dev/dxg")
    machine.tensorflow()
    machine.wheels()
    machine.says(err=lines.CUINIT_303)


@situation(
    "device files that this user has no permission to open",
    "device-files-denied",
    'sudo usermod -aG GROUP "$USER"  # then log in again',
    "this user has no permission to open /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm",
)
def denied(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "100"
    machine.refuses("nvidia", errno.EACCES)
    for node in (machine.root / "dev").iterdir():
        node.chmod(0o660)


@situation(
    "exclusive compute mode, and another program has the GPU",
    "gpu-exclusive",
    "sudo nvidia-smi -i 0 -c DEFAULT  # or wait until python3 (4242) ends",
    "compute mode (Exclusive_Process) allows one program at a time; python3 (4242) is using it",
    visible=True,
)
def exclusive(machine: Machine):
    """Reported in NVIDIA/DIGITS#2005 and tensorflow#78784."""
    machine.healthy()
    machine.nvml(
        nvmlDeviceGetComputeMode=3,
        nvmlDeviceGetComputeRunningProcesses=[{"pid": 4242, "usedGpuMemory": 900 << 20}],
        nvmlSystemGetProcessName="/usr/bin/python3",
    )
    error = "InternalError: cudaSetDevice() on GPU:0 failed. Status: CUDA-capable device(s) is/are busy or unavailable"
    machine.sees("8.0", "", *all_raise(error))


@situation(
    "uncorrectable ECC error",
    "gpu-memory-faulty",
    "sudo nvidia-smi -i 0 --gpu-reset  # first end all programs on the GPU; if errors return, replace the card",
    "an error that ECC cannot correct (2 since the driver was loaded)",
    visible=True,
)
def ecc(machine: Machine):
    """Reported in nagadit/DeepFaceLab_Linux#89."""
    machine.healthy()
    machine.nvml(nvmlDeviceGetTotalEccErrors=2)
    error = "InternalError: cudaSetDevice() on GPU:0 failed. Status: uncorrectable ECC error encountered"
    machine.sees("8.0", "", *all_raise(error))


@situation(
    "MIG without an instance",
    "mig-without-instance",
    "sudo nvidia-smi mig -i 0 -cgi 0 -C  # one instance for the whole GPU; -lgip lists other profiles",
    "NVIDIA A100-SXM4-40GB is in MIG mode but has no MIG instances",
)
def mig(machine: Machine):
    """Reported in wilicc/gpu-burn#36 and tensorflow#57385."""
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "100"
    machine.nvml(nvmlDeviceGetMigMode=[1, 1])


@situation(
    "GPU fallen off the bus (Xid 79)",
    "gpu-lost",
    "sudo reboot  # if it is lost again, check its power, temperature and slot",
    "the GPU has fallen off the bus: NVML reports “GPU is lost”",
)
def lost(machine: Machine):
    """Reported in JosephKJ/OWOD#81 and rossumai/nvgpu#6."""
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "999"
    machine.nvml(nvmlDeviceGetHandleByIndex="!GPU is lost")


@situation(
    "error 802 on an NVSwitch machine without its fabric manager",
    "driver-not-ready",
    "sudo systemctl enable --now nvidia-fabricmanager  # its version must match the driver's, 570.86.15",
    "CUDA_ERROR_SYSTEM_NOT_READY",
    "the fabric manager for the NVSwitches is not running",
)
def fabric(machine: Machine):
    """Reported in pytorch#35710 and aws-deep-learning-ami-ubuntu-dcv-desktop#33."""
    machine.healthy()
    machine.pci("0000:05:00.0", "0x10de", "0x068000")
    machine.environ["STUB_CUINIT"] = "802"


@situation(
    "GPU memory taken by a neighbor",
    "gpu-memory-taken",
    "kill 4242  # ask its owner first",
    "memory is full: 39.",
    "most of it by python3 (4242)",
    visible=True,
)
def memory_taken(machine: Machine):
    machine.healthy()
    machine.nvml(
        nvmlDeviceGetMemoryInfo={"total": 40_000_000_000, "used": 39_500_000_000, "free": 500_000_000},
        nvmlDeviceGetComputeRunningProcesses=[{"pid": 4242, "usedGpuMemory": 39_000_000_000}],
        nvmlSystemGetProcessName="/usr/bin/python3",
    )
    error = "InternalError: cudaSetDevice() on GPU:0 failed. Status: out of memory"
    machine.sees("8.0", "", *all_raise(error))


@situation(
    "cuDNN of CUDA 13, written over that of CUDA 12",
    "cudnn-mismatch",
    f"{PIP} uninstall -y nvidia-cudnn-cu13 && {PIP} install --force-reinstall --no-deps"
    ' "nvidia-cudnn-cu12<13.0,>=9.1"',
    "cuDNN does not work",
    "nvidia-cudnn-cu13, for CUDA 13, has overwritten the files of nvidia-cudnn-cu12",
    visible=True,
)
def cudnn_13(machine: Machine):
    """`pip install torch` for CUDA 13 installs nvidia-cudnn-cu13, which overwrites nvidia-cudnn-cu12 in
    nvidia/cudnn/lib (pytorch#188892).
    """
    machine.healthy()
    machine.package("nvidia-cudnn-cu13", "9.20.0.48")
    good = [Tried(what=what, device="GPU:0") for what in ("Mul", "MatMul")]
    error = "FailedPreconditionError: DNN library initialization failed. Look at the errors above for more details."
    machine.sees("8.9", "", *good, Tried(what="Conv2D", error=error))


@situation(
    "Blackwell, for which the build's generated kernels do not compile",
    "gpu-needs-newer-build",
    "docker run --gpus all -it --rm nvcr.io/nvidia/tensorflow:25.02-tf2-py3  # TensorFlow 2.17",
    "compute capability 12.0) is too new for TensorFlow 2.21.0",
    "Mul fails with CUDA_ERROR_INVALID_PTX",
    visible=True,
)
def blackwell(machine: Machine):
    """Reported in tensorflow#99592 and tensorflow#101746."""
    machine.healthy()
    error = "InternalError: 'cuLaunchKernel(function, gridX, …)' failed with 'CUDA_ERROR_INVALID_HANDLE'"
    good = [Tried(what=what, device="GPU:0") for what in WORK if what != "Mul"]
    machine.sees("12.0", lines.newer("12.0") + lines.INVALID_PTX, Tried(what="Mul", error=error), *good)


@situation(
    "ptxas missing",
    "ptxas-missing",
    'export PATH="SITE/nvidia/cuda_nvcc/bin:$PATH"',
    "the GPU works, but ptxas does not start",
    visible=True,
)
def ptxas(machine: Machine):
    """tensorflow#61330: ptxas is installed by the wheel, but is not on the PATH."""
    machine.healthy()
    machine.package("nvidia-cuda-nvcc-cu12", "12.5.82")
    machine.sees("8.9", lines.NO_PTXAS)


@pytest.mark.parametrize("case", SITUATIONS, ids=lambda case: case.name)
def test_each_situation_has_its_cause(case: Situation, machine: Machine, request: pytest.FixtureRequest):
    case.make(machine)
    if "STUB_CUINIT" not in machine.environ and not (machine.lib / "libcuda.so.1").exists():
        request.getfixturevalue("no_driver")
    report = machine.examine()
    group = (machine.root / "dev").group()
    fix = case.fix.replace("SITE", str(machine.site)).replace("GROUP", group)
    assert (report.code, report.mend) == (case.code, fix), report.cause
    assert report.gpu_visible is case.visible
    for words in case.words:
        assert words in report.cause


def test_there_are_26_situations():
    assert len(SITUATIONS) == 26 == len({case.name for case in SITUATIONS})
