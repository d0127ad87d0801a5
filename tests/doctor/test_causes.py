"""Rare causes, and variants of the causes in test_situations.py, each with a fake machine and the expected
fix.
"""

import errno
import sys

import pytest

from tests.doctor import lines
from tests.doctor.machine import BUILT, IMPORTED, Machine
from tuilab.model.doctor import Built, Imported, Listed, ListedGpu, Tried

PIP = f'{sys.executable} -m pip install "tensorflow[and-cuda]==2.21.*"'


@pytest.mark.smoke
def test_a_working_gpu_has_no_cause(machine: Machine):
    machine.healthy()
    machine.sees()
    report = machine.examine()
    assert report.gpu_visible and report.code == "well" and not report.mend and not report.further
    assert (
        "Stub GPU (compute capability 8.9)" in report.cause and "Mul, MatMul, Conv2D, XLA ran" in report.cause
    )
    assert {p.name: p.status for p in report.probes if p.status == "fail"} == {}


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize(
    ("mark", "command"),
    [
        ("/.dockerenv", "docker run --gpus all IMAGE"),
        ("/run/.containerenv", "podman run --device nvidia.com/gpu=all IMAGE"),
    ],
)
def test_container_without_the_gpu(machine: Machine, mark: str, command: str):
    file = machine.root / mark.lstrip("/")
    file.parent.mkdir(exist_ok=True)
    file.touch()
    machine.tensorflow()
    machine.wheels()
    machine.says(err=lines.CUINIT_303)
    report = machine.examine()
    assert (report.code, report.mend) == ("container-without-gpu", command)
    assert "/proc/driver/nvidia/version does not exist" in report.cause


@pytest.mark.usefixtures("no_driver")
def test_container_without_device_files_on_a_host_with_a_driver(machine: Machine):
    machine.gpu()
    machine.kernel(nodes=False)
    (machine.root / ".dockerenv").touch()
    machine.tensorflow()
    machine.environ["NVIDIA_VISIBLE_DEVICES"] = "void"
    report = machine.examine()
    assert report.code == "container-without-gpu"
    assert "no /dev/nvidia0" in report.cause and "NVIDIA_VISIBLE_DEVICES='void'" in report.cause


@pytest.mark.parametrize("value", ["", "-1", "-1,0"])
def test_hidden_by_the_environment(machine: Machine, value: str):
    machine.healthy()
    machine.environ["CUDA_VISIBLE_DEVICES"] = value
    report = machine.examine()
    assert (report.code, report.mend) == ("hidden", "unset CUDA_VISIBLE_DEVICES")
    assert f"CUDA_VISIBLE_DEVICES={value!r} hides every GPU" in report.cause
    assert "without it, the driver finds 1 GPU" in report.cause


def test_visible_devices_that_do_not_exist(machine: Machine):
    machine.healthy()
    machine.environ["CUDA_VISIBLE_DEVICES"] = "3"
    report = machine.examine()
    assert report.code == "hidden" and "selects no GPU" in report.cause


def test_batch_job_without_a_gpu(machine: Machine):
    machine.healthy()
    machine.environ |= {"SLURM_JOB_ID": "77", "CUDA_VISIBLE_DEVICES": "NoDevFiles", "STUB_CUINIT": "100"}
    report = machine.examine()
    assert (report.code, report.mend) == ("job-without-gpu", "salloc --gpus=1")
    assert "job 77" in report.cause and not report.further


def test_driver_mismatch_in_tensorflows_words(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "999"
    machine.says(err=lines.MISMATCH)
    report = machine.examine()
    assert report.code == "driver-mismatch" and "kernel 565.57.1, library 570.86.15" in report.cause


def test_forward_compatibility_not_supported(machine: Machine):
    machine.lib = machine.folder / "cuda/compat"
    machine.lib.mkdir(parents=True)
    machine.gpu()
    machine.kernel()
    machine.driver(cuinit=804)
    machine.tensorflow()
    machine.environ["LD_LIBRARY_PATH"] = f"{machine.lib}:/opt/other"
    report = machine.examine()
    assert report.code == "driver-too-old" and "COMPAT_NOT_SUPPORTED" in report.cause
    assert report.mend == 'export LD_LIBRARY_PATH="/opt/other"'


@pytest.mark.parametrize(
    ("error", "code", "words", "fix"),
    [
        (
            999,
            "driver-wedged",
            "CUDA_ERROR_UNKNOWN",
            "sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm",
        ),
        (34, "libcuda-stub", "", "unset LD_LIBRARY_PATH"),
        (805, "driver-not-ready", "", "nvidia-cuda-mps-control -d"),
        # jax#21299: a GH200 has no NVSwitch, so it needs no fabric manager
        (802, "driver-not-ready", "no NVSwitch here", ""),
        (100, "no-device", "", "dmesg"),
    ],
)
def test_the_message_of_the_first_driver_call_is_reported(
    machine: Machine, error: int, code: str, words: str, fix: str
):
    machine.healthy()
    machine.environ |= {"STUB_CUINIT": str(error), "LD_LIBRARY_PATH": str(machine.lib)}
    report = machine.examine()
    assert report.code == code and words in report.cause and fix in report.mend
    assert "fabricmanager" not in report.mend


def test_wedged_without_its_memory_module(machine: Machine):
    machine.healthy()
    (machine.root / "dev/nvidia-uvm").unlink()
    machine.environ["STUB_CUINIT"] = "999"
    assert machine.examine().mend == "sudo nvidia-modprobe -u -c=0"


def test_a_crashing_driver_is_the_cause(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CRASH"] = "cuInit"
    report = machine.examine()
    assert report.code == "driver-wedged" and "SIGABRT in cuInit" in report.cause


def test_cuda_wheel_never_installed(machine: Machine):
    machine.gpu()
    machine.kernel()
    machine.driver()
    machine.tensorflow()
    machine.wheels(without=("nvidia-cudnn-cu12", "nvidia-cufft-cu12"))
    report = machine.examine()
    assert (report.code, report.mend) == ("cuda-libraries-missing", PIP)
    assert "libcufft.so.11; libcudnn.so.9" in report.cause
    assert [d.code for d in report.further] == ["libraries-not-found"]


def test_a_library_outside_the_search_path_of_tensorflow(machine: Machine):
    """The wheels of TensorFlow 2.21 have this fault: their search path lacks libcusolver's folder."""
    machine.healthy()
    machine.environ["LD_LIBRARY_PATH"] = str(machine.lib)
    why = "libcusolver.so.11: cannot open shared object file: No such file or directory"
    machine.says(err=lines.dlopen("libcusolver.so.11", why) + lines.SKIPPED)
    report = machine.examine()
    assert report.code == "libraries-not-found" and "libcusolver.so.11 is installed" in report.cause
    folder = machine.site / "nvidia/cusolver/lib"
    assert report.mend == f'export LD_LIBRARY_PATH="{folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'


def test_a_missing_nvml_is_the_cause(machine: Machine):
    machine.healthy()
    (machine.lib / "libnvidia-ml.so.1").unlink()
    report = machine.examine()
    assert (report.code, report.mend) == ("nvml-missing", "sudo apt-get install -y libnvidia-compute-570")


NO_IMAGE = "InvalidArgumentError: no kernel image is available"
SET_DEVICE = "InternalError: cudaSetDevice() on GPU:0 failed. Status: "


@pytest.mark.parametrize(
    ("capability", "log", "error", "code", "words", "fix"),
    [
        ("12.0", lines.newer("12.0a"), "", "gpu-newer-than-build", "8.9 and PTX for 9.0", ""),
        # For capability 9.0, the build has PTX but no machine code, so the GPU works after a slow first
        # call.
        ("9.0", lines.newer("9.0"), "", "gpu-newer-than-build", "the GPU works (Mul, MatMul", "CUDA_CACHE_MAXSIZE"),
        # TensorFlow wrongly claims that its PTX works on this GPU
        ("5.2", lines.newer("5.2"), NO_IMAGE, "gpu-too-old", "6.0 and higher", ""),
        ("9.0", "", "InternalError: CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "driver-too-old", "", ""),
        # tensorflow#45450
        ("7.5", "", SET_DEVICE + "CUDA-capable device(s) is/are busy or unavailable", "gpu-busy", "", "compute-apps"),
        # from TensorFlow 2.21 on a driver that lacks a function of CUDA 12.5
        ("8.9", "", "InternalError: cudaGetDevice() failed. Status: API call is not supported in the installed CUDA driver",
         "driver-too-old", "", ""),
        ("8.9", "", SET_DEVICE + "initialization error", "runtime-fails", "Status: initialization error", ""),
        # the fake package requires no nvcc wheel
        ("8.9", lines.NO_PTXAS, "", "ptxas-missing", "", "--force-reinstall"),
    ],
)  # fmt: skip
def test_a_gpu_that_is_listed(machine: Machine, capability, log, error, code, words, fix):
    machine.healthy()
    machine.sees(capability, log, *([Tried(what="Mul", error=error)] if error else []))
    report = machine.examine()
    assert report.gpu_visible and report.code == code and words in report.cause and fix in report.mend


@pytest.mark.parametrize(
    ("log", "error", "code", "words"),
    [
        (lines.TOO_OLD, "", "gpu-too-old", "3.5"),
        (lines.FEW_CORES, "", "", "TF_MIN_GPU_MULTIPROCESSOR_COUNT=8"),
        (
            "",
            "InternalError: no supported devices found for platform CUDA",
            "no-device",
            "no supported devices found",
        ),
        ("", "InternalError: something new", "unknown", "InternalError: something new"),
        ("", "", "unknown", "the driver finds 1 GPU"),
    ],
)
def test_a_gpu_that_tensorflow_does_not_list(machine: Machine, log: str, error: str, code: str, words: str):
    """If the doctor finds no other reason why TensorFlow lists no GPU, it shows TensorFlow's message."""
    machine.healthy()
    machine.says(IMPORTED, BUILT, Listed(error=error), err=log)
    report = machine.examine()
    assert code in report.code and words in report.cause + report.mend


def test_a_cudnn_mismatch_is_the_cause(machine: Machine):
    machine.healthy()
    error = Tried(what="Conv2D", error="UnimplementedError: DNN library initialization failed. Look above.")
    machine.sees("8.9", lines.CUDNN, Tried(what="MatMul", device="GPU:0"), error)
    report = machine.examine()
    assert report.gpu_visible and report.code == "cudnn-mismatch"
    assert "it loads 9.1.0, but TensorFlow was built with 9.3.0" in report.cause
    assert report.mend == f'{sys.executable} -m pip install "nvidia-cudnn-cu12<13.0,>=9.1"'


def test_cudnn_shadowed_by_ld_library_path(machine: Machine):
    machine.healthy()
    old = machine.folder / "old"
    old.mkdir()
    (machine.site / "nvidia/cudnn/lib/libcudnn.so.9").rename(old / "libcudnn.so.9")
    machine.environ["LD_LIBRARY_PATH"] = f"{machine.lib}:{old}:{machine.site}/nvidia/cusolver/lib"
    machine.sees("8.9", lines.CUDNN, Tried(what="Conv2D", error="UnimplementedError: DNN library …"))
    report = machine.examine()
    assert report.code == "cudnn-mismatch"
    assert report.mend == f'export LD_LIBRARY_PATH="{machine.lib}:{machine.site}/nvidia/cusolver/lib"'


def test_an_incomplete_xla_toolchain_is_the_cause(machine: Machine):
    machine.healthy()
    machine.package("nvidia-cuda-nvcc-cu12", "12.5.82")
    good = [Tried(what=what, device="GPU:0") for what in ("MatMul", "Conv2D")]
    bad = Tried(what="XLA", error="InternalError: libdevice not found at ./libdevice.10.bc")
    machine.sees("8.9", lines.LIBDEVICE, *good, bad)
    report = machine.examine()
    assert report.code == "xla-toolchain" and "libdevice" in report.cause
    home = machine.site / "nvidia/cuda_nvcc"
    assert report.mend == f'export XLA_FLAGS="--xla_gpu_cuda_data_dir={home}"'


def test_error_802_while_the_fabric_manager_runs(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "802"
    machine.pci("0000:05:00.0", "0x10de", "0x068000")
    machine.file("/proc/812/comm", "nv-fabricmanage\n")
    report = machine.examine()
    assert report.code == "driver-not-ready" and "not all NVLinks are up" in report.cause
    assert report.mend == "sudo systemctl restart nvidia-fabricmanager && nvidia-smi nvlink --status"


def test_error_802_in_a_container_is_fixed_on_the_host(machine: Machine):
    machine.healthy()
    machine.file("/.dockerenv")
    machine.environ["STUB_CUINIT"] = "802"
    assert machine.examine().mend.endswith("  # on the host; its version must match the driver's, 570.86.15")


@pytest.mark.parametrize(
    ("held", "words", "fix"),
    [
        (
            "nouveau",
            "nouveau is bound to the GPU",
            "echo 'blacklist nouveau' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf"
            " && sudo update-initramfs -u && sudo reboot",
        ),
        ("vfio-pci", "assigned to a virtual machine", "that virtual machine"),
    ],
)
def test_another_kernel_driver_holds_the_gpu(machine: Machine, held: str, words: str, fix: str):
    machine.gpu(driver=held)
    machine.driver(cuinit=100)
    machine.tensorflow()
    machine.wheels()
    report = machine.examine()
    assert report.code == "gpu-held" and words in report.cause and fix in report.mend


def test_a_module_that_is_built_and_not_loaded(machine: Machine):
    machine.gpu(driver="")
    machine.driver(cuinit=100)
    machine.module("6.8.0-48-generic")
    machine.tensorflow()
    report = machine.examine()
    assert report.code == "module-not-loaded" and "updates/dkms/nvidia.ko.zst exists" in report.cause
    assert report.mend == "sudo modprobe nvidia && sudo modprobe nvidia_uvm"


def test_a_gpu_that_no_longer_answers_to_its_device_file(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "100"
    machine.refuses("nvidia0", errno.EIO)
    report = machine.examine()
    assert report.code == "gpu-lost" and "/dev/nvidia0 gives EIO" in report.cause


@pytest.mark.parametrize(
    ("marks", "fix"),
    [
        (
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
            "kubectl delete pod POD  # its deployment starts a new one",
        ),
        ({"container": "podman"}, "podman restart CONTAINER  # on the host"),
    ],
)
def test_a_container_that_lost_its_gpu(machine: Machine, marks: dict[str, str], fix: str):
    machine.healthy()
    machine.environ |= marks | {"STUB_CUINIT": "100"}
    machine.refuses("nvidia", errno.EPERM)
    report = machine.examine()
    assert (report.code, report.mend) == ("container-lost-gpu", fix)


def test_a_container_without_an_instance_of_a_divided_gpu(machine: Machine):
    machine.healthy()
    machine.file("/.dockerenv")
    machine.environ["STUB_CUINIT"] = "100"
    machine.nvml(nvmlDeviceGetMigMode=[1, 1])
    report = machine.examine()
    assert report.code == "mig-without-instance" and "has no MIG instance" in report.cause
    assert report.mend.startswith("docker run --gpus '\"device=0:0\"' IMAGE")


def test_a_divided_gpu_with_an_instance_is_not_blamed(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "100"
    machine.nvml(nvmlDeviceGetMigMode=[1, 1])
    machine.file("/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access", "DeviceFileMinor: 12\n")
    assert machine.examine().code == "no-device"


@pytest.mark.parametrize(
    ("mode", "words"), [(2, "(Prohibited) forbids"), (3, "(Exclusive_Process) allows one")]
)
def test_compute_modes_explain_why_no_gpu_is_listed(machine: Machine, mode: int, words: str):
    machine.healthy()
    machine.nvml(nvmlDeviceGetComputeMode=mode)
    error = "InternalError: CUDA runtime implicit initialization on GPU:0 failed. Status: all CUDA-capable devices are busy or unavailable"
    machine.says(IMPORTED, BUILT, Listed(error=error))
    report = machine.examine()
    assert (report.code, report.mend) == ("gpu-exclusive", "sudo nvidia-smi -i 0 -c DEFAULT")
    assert words in report.cause


def test_exclusive_mode_alone_is_not_a_fault(machine: Machine):
    machine.healthy()
    machine.nvml(nvmlDeviceGetComputeMode=3, nvmlDeviceGetTotalEccErrors=1)
    machine.sees()
    report = machine.examine()
    assert report.code == "well"
    assert "compute mode Exclusive_Process" in {p.name: p.detail for p in report.probes}["devices"]


@pytest.mark.parametrize("wsl_gpu", [True, False])
@pytest.mark.usefixtures("no_driver")
def test_docker_on_wsl_is_recognised(machine: Machine, wsl_gpu: bool):
    machine.file("/proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2\n")
    machine.file("/.dockerenv")
    if wsl_gpu:
        machine.file("/dev/dxg")
    machine.tensorflow()
    report = machine.examine()
    assert report.code == "container-without-gpu" and "nvidia-ctk runtime configure" in report.mend
    assert ("has neither /dev/dxg nor" in report.cause) is not wsl_gpu


@pytest.mark.usefixtures("no_driver")
def test_kernel_driver_without_its_library(machine: Machine):
    machine.gpu()
    machine.kernel("570.86.15")
    machine.tensorflow()
    machine.wheels()
    report = machine.examine()
    assert (report.code, report.mend) == ("libcuda-missing", "sudo apt-get install -y libnvidia-compute-570")


def test_a_missing_tensorflow_is_the_cause(machine: Machine):
    machine.healthy()
    for file in machine.site.glob("tensorflow*"):
        file.rename(machine.folder / file.name)
    machine.says(Imported(error="ModuleNotFoundError: No module named 'tensorflow'"))
    report = machine.examine()
    assert (report.code, report.mend) == ("tensorflow-missing", PIP)


@pytest.mark.parametrize(
    ("stages", "then", "code", "words"),
    [
        ([Imported(error="ImportError: libstdc++.so.6: version GLIBCXX_3.4.30 not found")], "", "tensorflow-broken", "GLIBCXX"),
        ([IMPORTED, BUILT], "os.abort()", "tensorflow-crashed", "SIGABRT"),
    ],
)  # fmt: skip
def test_a_tensorflow_that_does_not_run(machine: Machine, stages, then: str, code: str, words: str):
    machine.healthy()
    machine.says(*stages, then=then)
    report = machine.examine()
    assert report.code == code and words in report.cause


@pytest.mark.parametrize("work", ["XLA", "MatMul"])
def test_a_pluggable_device_needs_no_cuda_wheels(machine: Machine, work: str):
    machine.healthy()
    machine.environ["TF_PLUGGABLE_DEVICE_LIBRARY_PATH"] = "/opt/maker/libdevice.so"
    gpu = ListedGpu(name="GPU:0", description="MAKER")
    refused = Tried(what=work, error="UnimplementedError: no compiler", seconds=0.1)
    machine.says(IMPORTED, Built(cuda=False), Listed(gpus=(gpu,)), refused)
    report = machine.examine()
    said = {probe.name: probe.detail for probe in report.probes}
    assert said["TensorFlow devices"] == "GPU:0 MAKER, a pluggable device of type GPU"
    assert "TF_PLUGGABLE_DEVICE_LIBRARY_PATH" in said["environment"]
    assert "pip install" not in report.mend
    assert (report.code, "libdevice.so" in report.mend) == (
        ("well", False) if work == "XLA" else ("gpu-work-fails", True)
    )
