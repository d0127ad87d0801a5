import ctypes.util
import errno
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doctor.machine import CUDA_WHEELS, Machine
from tuilab.doctor import (
    children,
    container,
    devices,
    elf,
    environment,
    hardware,
    kernel_driver,
    libcuda,
    libraries,
    packages,
)
from tuilab.doctor.place import Place
from tuilab.doctor.tensorflow_log import TensorFlowLog
from tuilab.model.telemetry import GpuAccess


def place(root: Path, **environ: str) -> Place:
    return Place(root=root, environ=environ, metadata=(str(root),))


@pytest.mark.parametrize(
    ("value", "hides"),
    [
        ("", True),
        ("-1", True),
        (" -1", True),
        ("-1,0", True),
        ("NoDevFiles", True),
        ("0", False),
        ("0,-1", False),
        ("GPU-8932f937", False),
        ("MIG-42", False),
        ("3", False),
    ],
)
def test_cuda_visible_devices_is_read_as_cuda_reads_it(value: str, hides: bool):
    assert environment.hides_all(value) is hides


def test_only_relevant_variables_are_kept(tmp_path: Path):
    found = environment.look(
        place(tmp_path, TF_CLI_CONFIG_FILE="a", TF_CPP_MIN_LOG_LEVEL="3", HOME="/h", XLA_FLAGS="\x1b[31mred")
    )
    assert found.variables == {"TF_CPP_MIN_LOG_LEVEL": "3", "XLA_FLAGS": "red"}


def test_packages_lists_what_the_and_cuda_extra_requires(machine: Machine):
    machine.tensorflow()
    machine.wheels(without=("nvidia-cudnn-cu12",))
    found = packages.look(machine.place())
    assert found.version == "2.21.0" and found.tensorflow_home == machine.site / "tensorflow" and found.pip
    assert set(found.wanted) == set(CUDA_WHEELS) and found.missing == ("nvidia-cudnn-cu12",)
    assert "missing: nvidia-cudnn-cu12" in packages.probe(found).detail


def test_packages_of_an_empty_python(tmp_path: Path):
    assert packages.probe(packages.look(place(tmp_path))).status == "fail"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Wed Jan 22\nGCC version: 12",
            "570.86.15",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build", "565.57.01"),
        ("something\x1b[2J new", "something new"),
        ("", ""),
    ],
)
def test_the_kernel_drivers_version(text: str, version: str):
    assert kernel_driver.parse_version(text) == version


def test_device_files_that_do_not_open(machine: Machine):
    machine.kernel()
    machine.refuses("nvidia0", errno.EPERM)
    found = kernel_driver.look(machine.place(), time.monotonic() + 20)
    assert found.unopened == {"/dev/nvidia0": "EPERM"} and found.failing("EPERM") == ("/dev/nvidia0",)
    assert kernel_driver.probe(found).detail == "570.86.15; cannot be opened: /dev/nvidia0 (EPERM)"


def test_missing_device_files_are_named(machine: Machine):
    machine.kernel()
    (machine.root / "dev/nvidia-uvm").unlink()
    found = kernel_driver.probe(kernel_driver.look(machine.place(), time.monotonic() + 20))
    assert found.status == "warn" and found.detail == "570.86.15; missing: /dev/nvidia-uvm"


def test_the_kernel_module_and_secure_boot(machine: Machine):
    machine.module("6.8.0-45-generic")
    machine.file("/lib/modules/6.8.0-49-generic/modules.dep", "kernel/nvidia-570/nvidia.ko: \n")
    machine.file(kernel_driver.SECURE_BOOT, "\x06\x00\x00\x00\x00")
    found = kernel_driver.look(machine.place(), time.monotonic() + 20)
    assert (found.module, found.built_for) == ("", ("6.8.0-45-generic", "6.8.0-49-generic"))
    assert found.release == "6.8.0-48-generic" and not found.secure_boot


def test_an_empty_bus_and_an_unreadable_one_are_distinguished(machine: Machine, tmp_path: Path):
    assert hardware.look(machine.place()).none
    machine.gpu("vfio-pci")
    found = hardware.look(machine.place())
    assert [g.driver for g in found.nvidia] == ["vfio-pci"] and hardware.probe(found).status == "warn"
    assert found.distribution == ("ubuntu", "debian")
    unread = hardware.look(place(tmp_path / "nothing"))
    assert unread.gpus is None and not unread.none and hardware.probe(unread).status == "skip"


@pytest.mark.parametrize(
    ("environ", "cgroup", "kind"),
    [
        ({"APPTAINER_NAME": "tf.sif"}, "", "apptainer"),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "", "kubernetes"),
        ({"container": "lxc"}, "", "lxc"),
        ({}, "12:devices:/kubepods/burstable/pod1", "kubernetes"),
        ({}, "0::/system.slice/docker-0123.scope", "docker"),
        ({}, "0::/init.scope", ""),
    ],
)
def test_containers_by_their_marks(tmp_path: Path, environ: dict[str, str], cgroup: str, kind: str):
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/cgroup").write_text(cgroup)
    assert container.look(place(tmp_path, **environ)).kind == kind


def test_search_path_of_a_real_library(framework: Path):
    found = elf.search_path(framework)
    assert found[0] == (framework.parent / "../nvidia/cuda_runtime/lib").resolve()
    assert len(found) == 7


def test_search_path_of_a_library_without_one(stub: Path):
    assert elf.search_path(stub) == ()


@given(st.binary(max_size=300))
def test_search_path_of_any_bytes_never_raises(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    file = tmp_path_factory.mktemp("elf") / "lib.so"
    for head in (b"", b"\x7fELF\x02\x01"):
        file.write_bytes(head + data)
        assert isinstance(elf.search_path(file), tuple)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (100, "CUDA_ERROR_NO_DEVICE"),
        (999, "CUDA_ERROR_UNKNOWN"),
        (802, "CUDA_ERROR_SYSTEM_NOT_READY"),
        (4711, "CUDA error 4711"),
    ],
)
def test_libcuda_codes_have_names_from_the_driver_or_our_table(machine: Machine, code: int, name: str):
    machine.driver(cuinit=code)
    found = libcuda.look(machine.place(), time.monotonic() + 20)
    assert (found.init, found.init_text) == (code, name)
    assert f"cuInit returned {name} ({code})" in libcuda.probe(found).detail


def test_libcuda_counts_and_names_the_devices(machine: Machine):
    machine.driver("565.57.01", count=2, capability=120, cuda=13000)
    found = libcuda.look(machine.place(), time.monotonic() + 20)
    assert (found.count, found.version, found.cuda_version) == (2, "565.57.01", "13.0")
    assert [(d.name, d.compute_capability, d.memory) for d in found.devices] == [
        ("Stub GPU", "12.0", 2**33)
    ] * 2


def test_a_library_that_is_not_a_driver_is_reported(machine: Machine):
    machine.environ["LD_LIBRARY_PATH"] = str(machine.lib)
    libc = ctypes.util.find_library("m")
    assert libc
    (machine.lib / "libcuda.so.1").symlink_to(next(Path("/").glob(f"lib*/**/{libc}")))
    found = libcuda.look(machine.place(), time.monotonic() + 20)
    assert found.init is None and libcuda.probe(found).status == "fail"


def test_lines_cut_off_by_a_kill_are_dropped():
    assert children.merge_lines(b'{"a": 1}\nnoise\n{"b": 2, "a": 3}\n[1]\n{"c":') == {"a": 3, "b": 2}


def test_the_log_keeps_relevant_lines_once_without_prefixes():
    from tests.doctor.lines import NO_CUDART, dlopen

    log = TensorFlowLog((NO_CUDART + dlopen("libcudnn.so.9", "no such file")) * 2 + "I0000 idle chatter\n")
    assert log.lines == [
        "Could not find cuda drivers on your machine, GPU will not be used.",
        "Could not load dynamic library 'libcudnn.so.9'; dlerror: no such file",
    ]
    assert log.unloaded() == {"libcudnn.so.9": "no such file"}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (
            "failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error",
            "ecc",
        ),
        ("failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_DEVICE_UNAVAILABLE", "busy"),
        ("failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory", "memory"),
        ("cudaSetDevice() on GPU:0 failed. Status: out of memory", "memory"),
        (
            "Can't find ptxas binary in ${CUDA_DIR}/bin.  Will back to the GPU driver for PTX -> sass compilation.",
            "ptxas",
        ),
    ],
)
def test_one_problem_is_recognised_in_the_wording_of_several_versions(words: str, kind: str):
    assert kind in TensorFlowLog(f"2024-01-01 00:00:00.1: E external/a.cc:1] {words}\n")
    assert (
        kind in TensorFlowLog(errors=[f"InternalError: {words}"]) and not TensorFlowLog(errors=[words]).lines
    )


H100 = (
    "0, NVIDIA H100 80GB HBM3, GPU-aa, 9.0, 570.86.15, 81559, 1024, 97, 1755, 1980, 2619, 2619, 512.31,"
    " 700.00, 61, 4, 5, 8, 16, Exclusive_Process, Enabled, 3"
)
T4 = f"1, Tesla T4, GPU-bb, 7.5, 570.86.15, 15360{', [N/A]' * 16}"
APPS = "GPU-aa, 4242, /usr/bin/python3, 900\nGPU-aa, [Not Found], x, 1\n"


def test_nvidia_smi_replaces_a_missing_nvml(machine: Machine):
    """The stub of NVML's library lacks most calls, so the fake nvidia-smi on the PATH answers."""
    machine.driver()
    program = machine.folder / "bin/nvidia-smi"
    program.parent.mkdir()
    (program.parent / "gpus").write_text(f"{H100}\n{T4}\n")
    (program.parent / "apps").write_text(APPS)
    program.write_text("#!/bin/sh\ncd $(dirname $0)\ncase $1 in *gpu_uuid*) cat apps;; *) cat gpus;; esac\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    machine.environ["PATH"] = f"{program.parent}:{machine.environ['PATH']}"
    found = devices.look(machine.place(), time.monotonic() + 20)
    assert found.source == "nvidia-smi" and len(found.found) == 2
    said = devices.probe(found).detail
    assert "GPU 0: NVIDIA H100 80GB HBM3, compute capability 9.0" in said
    assert "driver 570.86.15, SM clock 1755 of 1980 MHz, power 512 of 700 W" in said
    assert "PCIe 4.0 ×8 (at most 5.0 ×16)" in said and "used by 4242 python3 944 MB" in said
    assert "compute mode Exclusive_Process, MIG is on, 3 uncorrectable memory errors" in said
    assert (
        found.found[1].access == GpuAccess()
        and found.found[1].now.memory_used is None
        and found.found[1].now.use is None
    )


def test_without_nvml_and_nvidia_smi_the_reason_is_given(machine: Machine):
    machine.environ["PATH"] = str(machine.folder)
    found = devices.probe(devices.look(machine.place(), time.monotonic() + 20))
    assert found.status == "skip" and found.detail.startswith("no GPU figures: ")


def test_compute_modes_are_read_from_nvml(machine: Machine):
    machine.nvml(nvmlDeviceGetComputeMode=3, nvmlDeviceGetMigMode=[1, 1], nvmlDeviceGetTotalEccErrors=7)
    found = devices.look(machine.place(), time.monotonic() + 20)
    assert found.source == "NVML"
    assert found.found[0].access == GpuAccess(compute_mode="Exclusive_Process", mig=True, memory_errors=7)


REAL_LINES = Path(__file__).parents[2] / "../shared/gpu/recordings/logs/real-lines.tsv"
KINDS = {
    "cuDNN version": "cudnn-version",
    "cuDNN start": "dnn",
    "libdevice": "libdevice",
    "ptxas": "ptxas",
    "PTX": "ptx",
    "invalid PTX": "invalid-ptx",
    "invalid handle": "invalid-handle",
    "not ready": "cuinit",
    "no cudart": "no-cudart",
    "skipped": "skipped",
    "dlopen": "dlopen",
    "runtime": "runtime",
    "no device": "no-supported-device",
}
"""The names that `TensorFlowLog` uses for kinds of recorded lines, if they differ. Lines of kind `device` are
harmless and have no name there.
"""


def test_every_recorded_log_line_is_known():
    if not REAL_LINES.exists():
        pytest.skip("the recorded log lines are not on this machine")
    rows = [row.split("\t") for row in REAL_LINES.read_text().splitlines()[1:]]
    unknown = [
        (source, line)
        for source, kind, line in rows
        if kind != "device" and KINDS.get(kind, kind) not in TensorFlowLog(line)
    ]
    assert rows and not unknown


def test_the_library_count_matches_the_named_libraries():
    absent = tuple(
        libraries.Library(w, error=f"{w.soname}: cannot open shared object file") for w in libraries.WANTED
    )
    said = libraries.probe(libraries.Libraries(absent)).detail
    needed, _, beside = said.partition("; missing too: ")
    assert needed.startswith("0 of 7 load; missing: ") and len(needed.split(", ")) == 7
    assert beside.split(", ")[0] == "libnvidia-ml.so.1 (the driver's)" and len(beside.split(", ")) == 3
    there = tuple(replace(one, path="/lib/x") if one.wanted.need == "device" else one for one in absent)
    assert libraries.probe(libraries.Libraries(there)).detail.startswith(
        "all 7 load; missing too: libnvidia-ml.so.1"
    )
