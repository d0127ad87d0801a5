from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doctor import lines
from tuilab.doctor.causes import GPU_LISTED, NO_GPU, diagnose
from tuilab.doctor.container import Container
from tuilab.doctor.devices import Devices
from tuilab.doctor.environment import Environment
from tuilab.doctor.findings import Findings
from tuilab.doctor.hardware import Hardware, PciGpu
from tuilab.doctor.kernel_driver import KernelDriver
from tuilab.doctor.libcuda import CudaDevice, Libcuda
from tuilab.doctor.libraries import WANTED, Libraries, Library
from tuilab.doctor.packages import Packages
from tuilab.doctor.tensorflow import TensorFlow
from tuilab.doctor.tensorflow_log import TensorFlowLog
from tuilab.model.doctor import Built, GpuDevice, Imported, Listed, ListedGpu, Tried
from tuilab.model.telemetry import GpuAccess, GpuFacts, GpuSample

TENSORFLOW = Packages(tensorflow={"tensorflow": "2.21.0"})


def said(text: str, **more: object) -> TensorFlow:
    return TensorFlow(imported=Imported(version="2.21.0"), listed=Listed(), log=TensorFlowLog(text), **more)


def test_the_tensorflow_log_counts_if_the_driver_call_says_nothing():
    line = lines.CUINIT_303.replace("UNKNOWN ERROR (303)", "CUDA_ERROR_NO_DEVICE: no CUDA-capable device")
    environment = Environment({"CUDA_VISIBLE_DEVICES": "-1"})
    findings = Findings(packages=TENSORFLOW, environment=environment, tensorflow=said(line))
    assert [d.code for d in diagnose(findings)] == ["hidden"]


def test_a_hiding_variable_is_reported_with_a_missing_driver():
    findings = Findings(
        packages=TENSORFLOW,
        environment=Environment({"CUDA_VISIBLE_DEVICES": ""}),
        libcuda=Libcuda(error="libcuda.so.1: cannot open shared object file"),
        tensorflow=said(lines.CUINIT_303),
    )
    assert [d.code for d in diagnose(findings)] == ["driver-missing", "hidden"]


def test_a_broken_driver_comes_before_a_hiding_variable():
    findings = Findings(
        packages=TENSORFLOW,
        environment=Environment({"CUDA_VISIBLE_DEVICES": "-1"}),
        libcuda=Libcuda(path="/usr/lib/libcuda.so.570", init=999),
        tensorflow=said(""),
    )
    assert [d.code for d in diagnose(findings)] == ["driver-wedged", "hidden"]


def test_unreadable_device_files_are_the_cause():
    kernel = KernelDriver("570.1", ("/dev/nvidia0",), True, True, {"/dev/nvidia0": "EACCES"}, "video")
    libcuda = Libcuda(path="/usr/lib/libcuda.so.570.1", init=100)
    findings = Findings(packages=TENSORFLOW, kernel=kernel, libcuda=libcuda, tensorflow=said(""))
    first = diagnose(findings)[0]
    assert (first.code, first.remedy) == (
        "device-files-denied",
        'sudo usermod -aG video "$USER"  # then log in again',
    )


def test_in_a_container_the_advice_is_to_reboot_the_host():
    libcuda = Libcuda(path="/usr/lib/libcuda.so.570.1", init=999)
    kernel = KernelDriver("570.1", ("/dev/nvidia0",), True, True)
    findings = Findings(
        packages=TENSORFLOW, container=Container("docker", "/.dockerenv"), libcuda=libcuda, kernel=kernel
    )
    assert diagnose(findings)[0].remedy.endswith("# on the host, outside the container")


def test_a_silent_tensorflow_is_the_cause_only_without_another():
    silent = TensorFlow(hung="importing TensorFlow")
    works = Libcuda(path="/l/libcuda.so.570.1", init=0, count=1, cuda=12080)
    assert [d.code for d in diagnose(Findings(packages=TENSORFLOW, libcuda=works, tensorflow=silent))] == [
        "tensorflow-silent"
    ]
    broken = Libcuda(hung="cuInit")
    assert [d.code for d in diagnose(Findings(packages=TENSORFLOW, libcuda=broken, tensorflow=silent))] == [
        "driver-wedged"
    ]


def test_compiling_for_a_newer_gpu_explains_work_that_does_not_end():
    gpu = ListedGpu(name="GPU:0", description="Next", compute_capability="12.0")
    tensorflow = TensorFlow(
        imported=Imported(version="2.21.0"),
        built=Built(cuda=True, architectures=("sm_60", "compute_90")),
        listed=Listed(gpus=(gpu,)),
        hung="MatMul",
        log=TensorFlowLog(lines.newer("12.0a")),
    )
    first = diagnose(Findings(packages=TENSORFLOW, tensorflow=tensorflow))[0]
    assert first.code == "gpu-newer-than-build" and "MatMul was still running" in first.message


words = st.sampled_from(["", "570.86.15", "cuInit", "was ended by SIGSEGV in cuInit", "x\n\x1b[31m", "–"])
codes = st.sampled_from([None, 0, 34, 46, 100, 214, 303, 304, 800, 802, 803, 804, 805, 999, 4711])
libcudas = st.builds(
    Libcuda,
    path=words,
    error=words,
    init=codes,
    count=st.sampled_from([None, 0, 1, 8]),
    cuda=st.sampled_from([None, 11080, 12080]),
    devices=st.just((CudaDevice("Stub", "8.9", 1),)),
    hung=words,
    crashed=words,
)
logs = st.lists(
    st.sampled_from(
        [
            lines.NO_CUDART,
            lines.CUINIT_303,
            lines.SKIPPED,
            lines.dlopen("libcudnn.so.9", "no"),
            lines.newer("12.0"),
            lines.TOO_OLD,
            lines.CUDNN,
            lines.LIBDEVICE,
            lines.MISMATCH,
            lines.INVALID_PTX,
            lines.NO_PTXAS,
        ]
    )
).map(lambda found: TensorFlowLog("".join(found)))
gpus = st.builds(
    ListedGpu, name=st.just("GPU:0"), compute_capability=st.sampled_from(["", "5.2", "8.9", "12.0", "?"])
)
tensorflows = st.builds(
    TensorFlow,
    imported=st.none() | st.builds(Imported, version=st.just("2.21.0"), error=words),
    built=st.none()
    | st.builds(Built, cuda=st.booleans(), architectures=st.sampled_from([(), ("sm_60",), ("?",)])),
    listed=st.none() | st.builds(Listed, gpus=st.lists(gpus, max_size=2).map(tuple)),
    tried=st.lists(st.builds(Tried, what=st.sampled_from(["MatMul", "XLA"]), error=words), max_size=2).map(
        tuple
    ),
    hung=words,
    crashed=words,
    log=logs,
)
found_libraries = st.lists(
    st.builds(
        Library, st.sampled_from(WANTED), path=words, error=words, elsewhere=st.sampled_from(["", "/a/b.so"])
    )
).map(lambda found: Libraries(tuple(found)))
findings_of_any_kind = st.builds(
    Findings,
    packages=st.builds(
        Packages,
        tensorflow=st.sampled_from([{}, {"tensorflow": "2.21.0"}, {"tensorflow-cpu": "2.21"}]),
        pip=st.booleans(),
        tensorflow_home=st.none() | st.just(Path("/site/tensorflow")),
    ),
    hardware=st.builds(
        Hardware,
        gpus=st.sampled_from([None, (), (PciGpu("0", "0x10de", "0x1", "nouveau"),)]),
        wsl=st.booleans(),
        system=st.sampled_from(["linux", "darwin", "win32"]),
        distribution=st.sampled_from([(), ("ubuntu", "debian"), ("nixos",)]),
    ),
    kernel=st.builds(
        KernelDriver,
        version=words,
        nodes=st.sampled_from([(), ("/dev/nvidia0",)]),
        unopened=st.sampled_from([{}, {"/dev/nvidia0": "EPERM"}, {"/dev/nvidia0": "EIO"}]),
        hung=st.sampled_from(["", "/dev/nvidiactl"]),
        module=st.sampled_from(["", "/lib/modules/6/nvidia.ko"]),
        built_for=st.sampled_from([(), ("5.15",)]),
        secure_boot=st.booleans(),
        mig_instances=st.sampled_from([0, 2]),
        fabric_manager=st.booleans(),
    ),
    container=st.builds(Container, kind=st.sampled_from(["", "docker", "kubernetes", "flatpak"])),
    environment=st.sampled_from([Environment(), Environment({"CUDA_VISIBLE_DEVICES": ""})]),
    libcuda=libcudas,
    unhidden=st.none() | libcudas,
    libraries=found_libraries,
    tensorflow=tensorflows,
    devices=st.builds(
        Devices,
        error=st.sampled_from(["", "GPU is lost", "Unknown Error"]),
        found=st.lists(
            st.builds(
                GpuDevice,
                st.just(GpuFacts(index=0, name="Stub")),
                st.just(GpuSample(index=0, name="Stub")),
                st.builds(
                    GpuAccess,
                    compute_mode=st.sampled_from(["", "Default", "Prohibited", "Exclusive_Process"]),
                    mig=st.sampled_from([None, True, False]),
                    memory_errors=st.sampled_from([None, 0, 3]),
                ),
            ),
            max_size=1,
        ).map(tuple),
    ),
)


@given(findings_of_any_kind)
def test_every_finding_leads_to_a_cause(findings: Findings):
    found = diagnose(findings)
    assert found and all(d.code and d.message and "\n" not in d.remedy for d in found)
    assert len({d.code for d in found}) == len(found)
    assert (found[0].code == "well") <= bool(findings.gpus)
    assert all(d.remedy for d in found if d.code not in ("well", "no-cuda-build"))


def test_every_cause_says_what_it_is():
    for layer, judge in NO_GPU + GPU_LISTED:
        assert layer and (judge.__doc__ or "").split("\n")[0].endswith("."), judge


@pytest.mark.parametrize(
    ("system", "machine", "fix"),
    [
        ("win32", "AMD64", "wsl --install"),
        ("darwin", "arm64", ""),
        (
            "linux",
            "aarch64",
            "docker run --gpus all -it --rm nvcr.io/nvidia/tensorflow:25.02-tf2-py3  # TensorFlow 2.17",
        ),
    ],
)
def test_systems_for_which_no_cuda_build_exists(system: str, machine: str, fix: str):
    built = TensorFlow(imported=Imported(version="2.21.0"), built=Built(cuda=False), listed=Listed())
    hardware = Hardware(system=system, machine=machine)
    first = diagnose(Findings(packages=TENSORFLOW, hardware=hardware, tensorflow=built))[0]
    assert (first.code, first.remedy) == ("no-cuda-build", fix)


def test_a_jetson_gets_its_own_image():
    built = TensorFlow(imported=Imported(version="2.21.0"), built=Built(cuda=False), listed=Listed())
    hardware = Hardware(machine="aarch64", jetson=True)
    first = diagnose(Findings(packages=TENSORFLOW, hardware=hardware, tensorflow=built))[0]
    assert first.remedy == "docker run --runtime nvidia -it --rm nvcr.io/nvidia/tensorflow:25.02-tf2-py3-igpu"


def test_a_processor_without_avx():
    crashed = TensorFlow(crashed="was ended by SIGILL in importing TensorFlow: ")
    first = diagnose(Findings(packages=TENSORFLOW, tensorflow=crashed))[0]
    assert first.code == "processor-too-old" and "AVX" in first.message


@pytest.mark.parametrize(
    ("distribution", "fix"),
    [
        (("ubuntu", "debian"), "sudo apt-get install -y linux-headers-$(uname -r) && sudo dkms autoinstall"),
        (("fedora",), "sudo dnf install -y kernel-devel-$(uname -r) && sudo akmods --force"),
        (
            ("rocky", "rhel", "centos", "fedora"),
            "sudo dnf install -y kernel-devel-$(uname -r) && sudo dkms autoinstall",
        ),
        (("arch",), "sudo pacman -S --needed linux-headers && sudo dkms autoinstall"),
        (("nixos",), "sudo reboot  # after installing the driver from https://www.nvidia.com/drivers"),
    ],
)
def test_a_module_is_built_as_the_distribution_does(distribution: tuple[str, ...], fix: str):
    findings = Findings(
        packages=TENSORFLOW,
        hardware=Hardware(gpus=(PciGpu("0", "0x10de", "0x1"),), distribution=distribution),
        kernel=KernelDriver(release="6.9", built_for=("6.8",)),
        libcuda=Libcuda(path="/usr/lib/libcuda.so.570.1", init=100),
        tensorflow=said(""),
    )
    assert diagnose(findings)[0].remedy.removesuffix(" && sudo modprobe nvidia") == fix


def test_a_device_file_whose_opening_does_not_return():
    kernel = KernelDriver("570.1", ("/dev/nvidia0",), True, True, hung="/dev/nvidia0")
    findings = Findings(
        packages=TENSORFLOW, kernel=kernel, libcuda=Libcuda(path="/l/libcuda.so.570.1", init=999)
    )
    first = diagnose(findings)[0]
    assert first.code == "driver-wedged" and "opening /dev/nvidia0 does not return" in first.message
