"""If a call hangs, the doctor still ends, reports the call, and leaves no process behind."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from tests.doctor import lines
from tests.doctor.machine import BUILT, IMPORTED, Machine
from tuilab.doctor import children, tensorflow
from tuilab.doctor.examine import examine
from tuilab.doctor.place import Place
from tuilab.model.doctor import Began, Listed, ListedGpu, Tried, encode

FOREVER_S = 600


@pytest.mark.parametrize("call", ["cuInit", "cuDeviceGetCount"])
def test_a_driver_that_hangs(machine: Machine, call: str):
    machine.healthy()
    machine.environ["STUB_HANG"] = call
    report = machine.examine(limit_s=5.0)
    assert report.elapsed_s < FOREVER_S / 10
    assert report.code == "driver-wedged" and f"{call} does not return" in report.cause
    assert {p.name: p.detail for p in report.probes}["libcuda"] == f"{call} did not answer"
    assert not left_behind(str(machine.folder))


def test_everything_hangs_at_once(machine: Machine):
    machine.healthy()
    machine.environ["STUB_HANG"] = "cuInit"
    machine.says(IMPORTED, BUILT, Began(what="listing the devices"), then=f"time.sleep({FOREVER_S})")
    report = machine.examine(limit_s=5.0)
    assert report.elapsed_s < FOREVER_S / 10
    details = {p.name: p.detail for p in report.probes}
    assert details["TensorFlow devices"] == "did not answer: listing the devices"
    assert details["TensorFlow import"].startswith("2.21.0")  # output before the hang is kept
    assert not left_behind(str(machine.folder))


def test_a_probe_that_never_returns_is_named(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tuilab.doctor.kernel_driver.look", lambda place, until: time.sleep(FOREVER_S))
    report = machine.examine(limit_s=2.0)
    assert report.elapsed_s < FOREVER_S / 10
    probe = next(p for p in report.probes if p.name == "kernel driver")
    assert probe.status == "fail" and "did not answer within" in probe.detail


def test_a_probe_that_raises_does_not_affect_the_others(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    machine.healthy()
    machine.sees()

    def broken(place: Place) -> None:
        raise ValueError("[bold]oops")

    monkeypatch.setattr("tuilab.doctor.container.look", broken)
    report = machine.examine()
    probe = next(p for p in report.probes if p.name == "container")
    assert probe.detail == "the probe itself failed: ValueError: [bold]oops"
    assert report.gpu_visible


def test_grandchildren_die_with_the_child():
    argv = ["sh", "-c", f"sleep {FOREVER_S} & echo $!; wait"]
    ran = children.run(argv, os.environ, time.monotonic() + 1.0)
    assert ran.code is None
    grandchild = int(ran.out)
    try:
        # The kernel ends a process some time after the signal.
        psutil.Process(grandchild).wait(10)
    except psutil.NoSuchProcess:
        pass


def test_output_of_a_killed_child_is_kept():
    ran = children.run(["sh", "-c", f"echo said; sleep {FOREVER_S}"], os.environ, time.monotonic() + 1.0)
    assert (ran.code, ran.out) == (None, b"said\n")


def test_the_doctors_process_never_loads_tensorflow(machine: Machine):
    machine.healthy()
    code = (
        "import sys\n"
        "from tuilab.cli.doctor import doctor\n"
        "from tuilab.doctor.examine import examine\n"
        "from tuilab.doctor.place import Place\n"
        f"report = examine(Place(metadata=({str(machine.site)!r},), worker='canned'))\n"
        "assert report.probes\n"
        "assert not {'tensorflow', 'textual', 'pynvml'} & set(sys.modules), sorted(sys.modules)\n"
    )
    environ = children.environment(os.environ | machine.environ)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def compiling(machine: Machine, seconds: float) -> None:
    machine.healthy()
    gpu = ListedGpu(name="GPU:0", description="Stub GPU", compute_capability="9.0")
    done = encode(Tried(what="Mul", device="GPU:0", seconds=seconds))
    then = f"time.sleep({seconds}); os.write(1, {done!r})"
    machine.says(IMPORTED, BUILT, Listed(gpus=(gpu,)), Began(what="Mul"), err=lines.newer("9.0"), then=then)


def test_compiling_kernels_extends_the_deadline(machine: Machine):
    compiling(machine, 6.0)
    told = []
    report = examine(machine.place(), limit_s=4.0, wait=told.append)
    assert told == [tensorflow.COMPILING_S]
    assert report.code == "gpu-newer-than-build"
    assert {p.name: p.status for p in report.probes}["Mul on the GPU"] == "ok"


def test_the_extended_deadline_ends_too(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tensorflow, "COMPILING_S", 1.0)
    compiling(machine, FOREVER_S)
    report = machine.examine(limit_s=4.0)
    assert report.elapsed_s < FOREVER_S / 10
    assert report.code == "gpu-newer-than-build" and report.cause.endswith("Mul was still running")
    assert not left_behind(str(machine.folder))


def left_behind(mark: str) -> list[int]:
    """Wait briefly, then return this process's children whose environment has the mark."""
    time.sleep(0.2)
    out = []
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE and any(mark in v for v in child.environ().values()):
                out.append(child.pid)
        except psutil.Error:
            continue
    return out
