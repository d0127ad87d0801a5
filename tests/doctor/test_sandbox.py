"""The probe reports missing sandbox features of the kernel, and a GPU that the sandbox hides."""

import time

import pytest

from tests.doctor.machine import Machine
from tuilab import landlock
from tuilab.doctor import sandbox
from tuilab.doctor.libcuda import Libcuda
from tuilab.doctor.sandbox import Sandbox


@pytest.mark.parametrize(
    ("version", "status", "said"),
    [(0, "warn", "no Landlock"), (3, "warn", "TCP is not restricted"), (7, "ok", "Landlock 7")],
)
def test_probe_names_what_the_kernel_lacks(version, status, said):
    probe = sandbox.probe(Sandbox(version), Libcuda())
    assert (probe.status, said in probe.detail) == (status, True)


def test_probe_looks_at_this_kernel(machine: Machine):
    """Without an NVIDIA device file, the probe starts no process."""
    assert sandbox.look(machine.place(), time.monotonic() + 20) == Sandbox(landlock.version())


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
@pytest.mark.parametrize(
    ("comm", "said"), [(0, "can use the GPU"), (1, "hides the GPU")], ids=["well", "hidden"]
)
def test_doctor_notices_a_gpu_that_the_sandbox_hides(machine: Machine, comm: int, said: str):
    """Like CUDA, the stub driver fails with error 304 if it cannot name its thread. The sandbox forbids this,
    because the fake machine's device files are not in /dev.
    """
    machine.healthy()
    machine.sees()
    machine.environ["STUB_COMM"] = str(comm)
    report = machine.examine()
    probe = next(probe for probe in report.probes if probe.name == sandbox.NAME)
    assert (probe.status == "fail", said in probe.detail) == (bool(comm), True), probe
    assert report.gpu_visible and ("(304)" in probe.detail and "--trust" in probe.detail) == bool(comm)
