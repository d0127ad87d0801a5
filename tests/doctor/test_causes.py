"""Every row of “GPU visibility”: a made-up machine in, the right cause and its command out."""

import sys

import pytest

from tests.doctor import lines
from tests.doctor.machine import BUILT, IMPORTED, Machine
from tuilab.model.doctor import Built, Imported, Tried

PIP = f'{sys.executable} -m pip install "tensorflow[and-cuda]==2.21.*"'


def test_all_well(machine: Machine):
    machine.healthy()
    machine.sees()
    report = machine.examine()
    assert report.gpu_visible and report.code == "well" and not report.mend and not report.further
    assert "Stub GPU (compute capability 8.9)" in report.cause and "MatMul, Conv2D, XLA ran" in report.cause
    assert {p.name: p.status for p in report.probes if p.status == "fail"} == {}


def test_cuda_runtime_wheel_missing(machine: Machine):
    machine.gpu()
    machine.kernel()
    machine.driver()
    machine.tensorflow()
    machine.says(err=lines.NO_CUDART)
    report = machine.examine()
    assert (report.code, report.mend) == ("cuda-wheels-missing", PIP)
    assert "libcudart.so.12 and 6 more" in report.cause


@pytest.mark.usefixtures("no_driver")
def test_driver_missing(machine: Machine):
    machine.gpu(driver="nouveau")
    machine.tensorflow()
    machine.wheels()
    machine.says(err=lines.CUINIT_303)
    report = machine.examine()
    assert report.code == "driver-missing"
    assert "nouveau holds the GPU" in report.cause
    assert report.mend.startswith("sudo apt-get install -y ubuntu-drivers-common")


@pytest.mark.usefixtures("no_driver")
def test_no_gpu_in_the_machine(machine: Machine):
    machine.tensorflow()
    machine.says(err=lines.NO_CUDART + lines.CUINIT_303)
    report = machine.examine()
    assert report.code == "no-gpu"
    assert "--host" in report.mend
    assert [d.code for d in report.further] == ["cuda-wheels-missing"]


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
    assert "without it the driver counts 1" in report.cause


def test_visible_devices_that_do_not_exist(machine: Machine):
    machine.healthy()
    machine.environ["CUDA_VISIBLE_DEVICES"] = "3"
    report = machine.examine()
    assert report.code == "hidden" and "names no GPU" in report.cause


def test_batch_job_without_a_gpu(machine: Machine):
    machine.healthy()
    machine.environ |= {"SLURM_JOB_ID": "77", "CUDA_VISIBLE_DEVICES": "NoDevFiles", "STUB_CUINIT": "100"}
    report = machine.examine()
    assert (report.code, report.mend) == ("job-without-gpu", "salloc --gpus=1")
    assert "job 77" in report.cause and not report.further


def test_driver_mismatch(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "803"
    (machine.root / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build\n"
    )
    report = machine.examine()
    assert (report.code, report.mend) == ("driver-mismatch", "sudo reboot")
    assert "kernel 565.57.01, library 570.86.15" in report.cause


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


def test_driver_too_old(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUDA"] = "11080"
    report = machine.examine()
    assert report.code == "driver-too-old"
    assert "570.86.15 is too old: it supports CUDA up to 11.8" in report.cause
    assert "ubuntu-drivers install" in report.mend


def test_wedged_driver(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "999"
    report = machine.examine()
    assert report.code == "driver-wedged" and "CUDA_ERROR_UNKNOWN" in report.cause
    assert report.mend == "sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm"


def test_wedged_without_its_memory_module(machine: Machine):
    machine.healthy()
    (machine.root / "dev/nvidia-uvm").unlink()
    machine.environ["STUB_CUINIT"] = "999"
    assert machine.examine().mend == "sudo nvidia-modprobe -u -c=0"


def test_crashing_driver(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CRASH"] = "cuInit"
    report = machine.examine()
    assert report.code == "driver-wedged" and "SIGABRT in cuInit" in report.cause


def test_other_cuda_library_missing(machine: Machine):
    machine.healthy()
    (machine.site / "nvidia/cudnn/lib/libcudnn.so.9").unlink()
    why = "libcudnn.so.9: cannot open shared object file: No such file or directory"
    machine.says(err=lines.dlopen("libcudnn.so.9", why) + lines.SKIPPED)
    report = machine.examine()
    assert report.code == "cuda-libraries-missing" and "libcudnn.so.9" in report.cause
    assert "--force-reinstall" in report.mend  # its wheel is there without its file


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


def test_library_where_tensorflow_does_not_look(machine: Machine):
    """What TensorFlow 2.21 does with its own wheels: libcusolver's folder is not on its search path."""
    machine.healthy()
    machine.environ["LD_LIBRARY_PATH"] = str(machine.lib)
    why = "libcusolver.so.11: cannot open shared object file: No such file or directory"
    machine.says(err=lines.dlopen("libcusolver.so.11", why) + lines.SKIPPED)
    report = machine.examine()
    assert report.code == "libraries-not-found" and "libcusolver.so.11 is installed" in report.cause
    folder = machine.site / "nvidia/cusolver/lib"
    assert report.mend == f'export LD_LIBRARY_PATH="{folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'


def test_nvml_missing(machine: Machine):
    machine.healthy()
    (machine.lib / "libnvidia-ml.so.1").unlink()
    report = machine.examine()
    assert (report.code, report.mend) == ("nvml-missing", "sudo apt-get install -y libnvidia-compute-570")


def test_gpu_newer_than_the_build(machine: Machine):
    machine.healthy()
    machine.sees("12.0", lines.newer("12.0a"))
    report = machine.examine()
    assert report.gpu_visible and report.code == "gpu-newer-than-build"
    assert "compute capability 12.0" in report.cause and "6.0, 7.0, 8.0, 8.9, 9.0" in report.cause


def test_gpu_older_than_the_build_although_tensorflow_promises_ptx(machine: Machine):
    machine.healthy()
    error = Tried(what="MatMul", error="InvalidArgumentError: no kernel image is available")
    machine.sees("5.2", lines.newer("5.2"), error)
    report = machine.examine()
    assert report.code == "gpu-too-old" and "5.2" in report.cause and "6.0 and later" in report.cause


def test_gpu_too_old_to_be_listed(machine: Machine):
    machine.healthy()
    machine.says(err=lines.TOO_OLD)
    report = machine.examine()
    assert report.code == "gpu-too-old" and "3.0" in report.cause and "3.5" in report.cause


def test_gpu_with_too_few_cores(machine: Machine):
    machine.healthy()
    machine.says(err=lines.FEW_CORES)
    assert machine.examine().mend == "export TF_MIN_GPU_MULTIPROCESSOR_COUNT=8"


def test_cudnn_mismatch(machine: Machine):
    machine.healthy()
    error = Tried(what="Conv2D", error="UnimplementedError: DNN library initialization failed. Look above.")
    machine.sees("8.9", lines.CUDNN, Tried(what="MatMul", device="GPU:0"), error)
    report = machine.examine()
    assert report.gpu_visible and report.code == "cudnn-mismatch"
    assert "it loads 9.1.0, TensorFlow was built with 9.3.0" in report.cause
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


def test_xla_toolchain(machine: Machine):
    machine.healthy()
    machine.package("nvidia-cuda-nvcc-cu12", "12.5.82")
    good = [Tried(what=what, device="GPU:0") for what in ("MatMul", "Conv2D")]
    bad = Tried(what="XLA", error="InternalError: libdevice not found at ./libdevice.10.bc")
    machine.sees("8.9", lines.LIBDEVICE, *good, bad)
    report = machine.examine()
    assert report.code == "xla-toolchain" and "libdevice" in report.cause
    home = machine.site / "nvidia/cuda_nvcc"
    assert report.mend == f'export XLA_FLAGS="--xla_gpu_cuda_data_dir={home}"'


def test_tensorflow_cpu(machine: Machine):
    machine.gpu()
    machine.kernel()
    machine.driver()
    machine.tensorflow("tensorflow-cpu")
    machine.says(IMPORTED, Built(cuda=False))
    report = machine.examine()
    assert report.code == "no-cuda-build" and "tensorflow-cpu is built without CUDA" in report.cause
    assert report.mend == f"{sys.executable} -m pip uninstall -y tensorflow-cpu && {PIP}"


def test_memory_held_by_others(machine: Machine):
    machine.healthy()
    machine.sees("8.9", "", Tried(what="MatMul", error="ResourceExhaustedError: failed to allocate 1 MB"))
    report = machine.examine()
    assert report.code == "gpu-memory-taken" and report.gpu_visible


def test_driver_older_than_the_builds_ptx(machine: Machine):
    machine.healthy()
    error = "InternalError: cuModuleLoadData failed: CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
    machine.sees("9.0", "", Tried(what="MatMul", error=error))
    assert machine.examine().code == "driver-too-old"


def test_libcuda_is_the_toolkits_stub(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "34"
    machine.environ["LD_LIBRARY_PATH"] = str(machine.lib)
    report = machine.examine()
    assert (report.code, report.mend) == ("libcuda-stub", "unset LD_LIBRARY_PATH")


@pytest.mark.parametrize(
    ("code", "mend"), [(802, "nvidia-fabricmanager"), (805, "nvidia-cuda-mps-control -d")]
)
def test_service_not_running(machine: Machine, code: int, mend: str):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = str(code)
    report = machine.examine()
    assert report.code == "driver-not-ready" and mend in report.mend


def test_no_device_although_nothing_hides_it(machine: Machine):
    machine.healthy()
    machine.environ["STUB_CUINIT"] = "100"
    report = machine.examine()
    assert report.code == "no-device" and "dmesg" in report.mend


@pytest.mark.usefixtures("no_driver")
def test_kernel_driver_without_its_library(machine: Machine):
    machine.gpu()
    machine.kernel("570.86.15")
    machine.tensorflow()
    machine.wheels()
    report = machine.examine()
    assert (report.code, report.mend) == ("libcuda-missing", "sudo apt-get install -y libnvidia-compute-570")


@pytest.mark.usefixtures("no_driver")
def test_wsl_whose_library_is_off_the_search_path(machine: Machine):
    (machine.root / "proc/version").write_text("Linux version 5.15.153.1-microsoft-standard-WSL2\n")
    (machine.root / "dev/dxg").touch()
    machine.tensorflow()
    machine.wheels()
    report = machine.examine()
    assert report.code == "libcuda-missing" and "/usr/lib/wsl/lib" in report.mend


def test_tensorflow_not_installed(machine: Machine):
    machine.healthy()
    for file in machine.site.glob("tensorflow*"):
        file.rename(machine.folder / file.name)
    machine.says(Imported(error="ModuleNotFoundError: No module named 'tensorflow'"))
    report = machine.examine()
    assert (report.code, report.mend) == ("tensorflow-missing", PIP)


def test_tensorflow_does_not_import(machine: Machine):
    machine.healthy()
    machine.says(Imported(error="ImportError: libstdc++.so.6: version GLIBCXX_3.4.30 not found"))
    report = machine.examine()
    assert report.code == "tensorflow-broken" and "GLIBCXX" in report.cause


def test_tensorflow_crashes_after_its_list(machine: Machine):
    machine.healthy()
    machine.says(IMPORTED, BUILT, then="os.abort()")
    report = machine.examine()
    assert report.code == "tensorflow-crashed" and "SIGABRT" in report.cause


def test_unexplained_says_what_was_established(machine: Machine):
    machine.healthy()
    report = machine.examine()
    assert report.code == "unknown" and "the driver counts 1 GPU" in report.cause
