"""With a stub driver, the real TensorFlow wheel behaves as the doctor's causes expect, and prints the
expected messages.
"""

import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Worker
from tests.doctor.machine import Machine, compiled
from tuilab.doctor import tensorflow
from tuilab.doctor.examine import examine
from tuilab.doctor.place import Place

pytestmark = [
    pytest.mark.real_worker,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
]


def real(machine: Machine) -> Place:
    quiet = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "TF_", "NVIDIA_"))}
    return Place(root=machine.root, environ=quiet | machine.environ | {"PYTHONPATH": ""})


def examined(machine: Machine):
    return examine(real(machine))


@pytest.mark.long
def test_a_wedged_driver_is_recognised(machine: Machine):
    machine.gpu()
    machine.kernel()
    machine.driver(cuinit=999)
    report = examined(machine)
    assert not report.gpu_visible and report.code == "driver-wedged"
    said = {p.name: p.detail for p in report.probes}
    assert "CUDA_ERROR_UNKNOWN" in said["TensorFlow import"] and said["TensorFlow build"].startswith(
        "CUDA 12"
    )


@pytest.mark.long
def test_tensorflow_uses_a_driver_without_nvml_silently(machine: Machine):
    machine.gpu()
    machine.kernel()
    machine.driver(nvml=False)
    report = examined(machine)
    if "libnvidia-ml.so.1 is missing" not in report.cause and report.code != "nvml-missing":
        pytest.skip("this machine has a real libnvidia-ml.so.1")
    assert not report.gpu_visible and "silently" in report.cause


def test_a_gpu_newer_than_the_build(machine: Machine):
    """All CUDA libraries exist by name, so TensorFlow lists the stub GPU but cannot compute on it."""
    machine.healthy()
    folders = ":".join(str(path) for path in machine.site.glob("nvidia/*/lib"))
    machine.environ["LD_LIBRARY_PATH"] = f"{machine.lib}:{folders}"
    machine.environ["STUB_CAPABILITY"] = "120"
    report = examined(machine)
    assert report.gpu_visible and report.code == "gpu-newer-than-build"
    assert "compute capability 12.0" in report.cause and "Mul fails" in report.cause


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (46, "gpu-busy"),
        pytest.param(214, "gpu-memory-faulty", marks=pytest.mark.long),
        pytest.param(2, "gpu-memory-taken", marks=pytest.mark.long),
    ],
)
def test_a_gpu_on_which_no_context_can_be_made(machine: Machine, error: int, code: str):
    """TensorFlow lists the GPU, but fails at the first op."""
    machine.healthy()
    folders = ":".join(str(path) for path in machine.site.glob("nvidia/*/lib"))
    machine.environ |= {"LD_LIBRARY_PATH": f"{machine.lib}:{folders}", "STUB_CONTEXT": str(error)}
    report = examine(real(machine), limit_s=100.0)
    assert report.gpu_visible and report.code == code, report.cause


@contextmanager
def linked_tensorflow(site: Path) -> Iterator[None]:
    """Link this Python's TensorFlow below `site`, so that its search path finds the test's wheels.

    The kernel resolves `..` after it has followed links, so folders are created and only files are linked.
    Bytecode that is stored in another folder (PYTHONPYCACHEPREFIX) is linked as well.
    """
    found = importlib.util.find_spec("tensorflow")
    assert found is not None and found.origin is not None
    home = Path(found.origin).parent
    shutil.copytree(
        home, site / home.name, copy_function=os.symlink, ignore=shutil.ignore_patterns("include")
    )
    kept, here = (
        Path(importlib.util.cache_from_source(str(folder / "__init__.py")))
        for folder in (home, site / home.name)
    )
    if sys.pycache_prefix is None:
        yield
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    here.parent.parent.mkdir(parents=True, exist_ok=True)
    here.parent.symlink_to(kept.parent)
    try:
        yield
    finally:
        if here.parent.is_symlink():
            here.parent.unlink()


@pytest.fixture
def wheels_alone(machine: Machine, gcc: str) -> Iterator[dict[str, str]]:
    """Install the CUDA wheels as `pip install 'tuilab[cuda]'` does, and yield the environment variables.
    TensorFlow's search path lacks libcusolver.
    """
    machine.gpu()
    machine.kernel()
    machine.driver()
    machine.wheels()
    compiled(gcc, machine.site / "nvidia/cusolver/lib", soname="libcusolver.so.11")
    with linked_tensorflow(machine.site):
        yield {"PYTHONPATH": str(machine.site), "LD_LIBRARY_PATH": str(machine.lib)}


def test_the_cuda_wheels_alone_give_a_gpu(machine: Machine, wheels_alone: dict[str, str]):
    """The doctor and the worker list the GPU, although the stub creates no context."""
    place = real(machine)
    found = tensorflow.look(replace(place, environ={**place.environ, **wheels_alone}), time.monotonic() + 100)
    assert found.imported and not found.imported.error, found
    assert found.gpus, found.log.lines

    own = {"STUB_CONTEXT": "46", "TUILAB_TESTS_FORKED": ""}
    worker = Worker(cpus=1, environment={**machine.environ, **wheels_alone, **own})
    try:
        opened = Path(f"/proc/{worker.process.pid}/maps").read_text()
        assert f"{machine.site}/nvidia/cusolver/lib/libcusolver.so.11" in opened
        assert worker.machine.no_gpu.startswith("GPU:0 could not be opened: "), worker.machine
    finally:
        worker.close()
