"""A sample contains figures of the host, of its GPUs, and of the processes on these GPUs."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec
import psutil
import pytest

import tuilab
from tests.telemetry.fake_nvml import NOT_SUPPORTED, FakeNvml, one_of
from tuilab.model.telemetry import DeviceSample
from tuilab.nvml import Nvml, NvmlUnavailable
from tuilab.telemetry.sampler import Telemetry, open_nvml


def test_a_machine_with_a_gpu(fake: FakeNvml):
    fake.refuse = {"nvmlDeviceGetPowerUsage": NOT_SUPPORTED}
    telemetry = Telemetry(Nvml)
    first, second = telemetry.sample(os.getpid()), telemetry.sample(os.getpid())
    telemetry.close()
    assert first.interval_s is None and second.interval_s > 0
    assert second.gpus[0].use == 0.97 and second.process.pid == os.getpid()
    assert "GPU 0: no power: Not Supported" in second.notes
    assert fake.opened == 0


def test_processes_on_a_gpu_are_described_only_if_their_name_matches(fake: FakeNvml):
    own = Path(os.readlink("/proc/self/exe")).name
    fake.answers["nvmlDeviceGetComputeRunningProcesses"] = [
        SimpleNamespace(pid=os.getpid(), usedGpuMemory=3_000),
        SimpleNamespace(pid=os.getppid(), usedGpuMemory=2_000),
    ]
    fake.answers["nvmlSystemGetProcessName"] = one_of(
        {os.getpid(): f"/usr/bin/{own}", os.getppid(): "/bin/other"}
    )
    mine, other = Telemetry(Nvml).sample().gpus[0].processes
    assert mine.user == psutil.Process().username() and "python" in mine.command and mine.memory == 3_000
    assert other.name == "other" and other.user == other.command == "", (
        "another process has that id, as in a container"
    )


def test_a_machine_without_a_driver(tmp_path: Path):
    with pytest.raises(NvmlUnavailable, match="no NVIDIA driver is loaded"):
        open_nvml(tmp_path)


def test_without_nvml_the_host_is_still_sampled():
    def none() -> Nvml:
        raise NvmlUnavailable("no GPU figures: because")

    telemetry = Telemetry(nvml=none)
    sample = telemetry.sample()
    telemetry.close()
    assert sample.gpus == () and sample.process is None and sample.notes[0] == "no GPU figures: because"
    assert 0 < sample.cpu.memory_used < sample.cpu.memory_total


def test_another_worker_can_be_watched():
    telemetry = Telemetry()
    assert telemetry.sample().process is None
    assert telemetry.sample(os.getpid()).process.pid == os.getpid()


def test_a_sample_survives_encoding_as_json(fake: FakeNvml):
    sample = Telemetry(Nvml).sample(os.getpid())
    assert msgspec.json.decode(msgspec.json.encode(sample), type=DeviceSample) == sample


def test_sampling_loads_no_tensorflow_and_no_screen():
    code = (
        "import sys\n"
        "from tuilab.telemetry.sampler import Telemetry\n"
        "Telemetry().sample()\n"
        "assert not {'tensorflow', 'textual', 'numpy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=Path(tuilab.__file__).parents[1])
