"""A watched program's page lists the other processes on its GPUs. If TensorFlow sees none of the machine's
GPUs, the page shows the cause that the doctor found and the first change that it recommends.
"""

from types import SimpleNamespace

import pytest

from tuilab.doctor import examine, hardware
from tuilab.lab.watch import BESIDE_S, Watched, find_others, place_of
from tuilab.model.program import Facts, Hello
from tuilab.program.fold import Process

CPU, GPU = (("/physical_device:CPU:0", "CPU", "", None), ("/physical_device:GPU:0", "GPU", "", None))
HELLO = Hello(pid=7, parent=1, environment={"LD_LIBRARY_PATH": "/of/the/program", "CUDA_HOME": None})


def process(hello: Hello | None = HELLO, **facts: object) -> Process:
    told = {"opened": True, "physical": (CPU,), **facts}
    return Process(hello=hello, facts=Facts(**told))


@pytest.mark.parametrize(
    ("processes", "gpus", "asked"),
    [
        ([process()], 1, True),
        ([process(physical=(CPU, GPU)), process()], 1, True),
        ([process()], 0, False),
        ([process(physical=(CPU, GPU))], 1, False),
        ([process(opened=False)], 1, False),
        ([Process(hello=HELLO)], 1, False),
        ([process(hello=None)], 1, False),
        ([process(changed={"CUDA_VISIBLE_DEVICES": "-1"})], 1, False),
        ([process(changed={"CUDA_VISIBLE_DEVICES": None})], 1, True),
        ([], 1, False),
    ],
)
def test_the_doctor_examines_a_program_that_sees_no_gpu_of_the_machine(
    processes: list[Process], gpus: int, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    examined = []

    def answer(where):
        examined.append(where)
        return SimpleNamespace(mend=("reload the driver", "restart"), cause="the driver is old")

    monkeypatch.setattr(hardware, "look", lambda where: SimpleNamespace(nvidia=("H100",) * gpus))
    monkeypatch.setattr(examine, "examine", answer)
    monkeypatch.setattr("tuilab.interpreter.environment", lambda python: None)
    found = place_of(processes, ["python (pid 9)"], {"H100": 2**36})
    assert (found.gpus, found.others, found.memory) == (gpus, ("python (pid 9)",), {"H100": 2**36})
    assert (found.no_gpu, found.no_gpu_change) == (
        ("the driver is old", "reload the driver") if asked else ("", "")
    )
    assert [where.environ["LD_LIBRARY_PATH"] for where in examined] == ["/of/the/program"] * asked
    assert all(None not in where.environ.values() for where in examined)


def test_other_processes_on_the_gpus_are_named_and_memory_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    used = SimpleNamespace
    samples = [
        used(processes=(used(pid=7, name="own"), used(pid=8, name="python")), memory_total=2**36),
        used(processes=(used(pid=9, name=""),), memory_total=0),
        used(processes=None, memory_total=2**35),
    ]
    nvml = SimpleNamespace(count=3, sample=samples.__getitem__, close=lambda: samples.clear())
    monkeypatch.setattr("tuilab.telemetry.sampler.open_nvml", lambda: nvml)
    program = Watched(("train.py",))
    program.processes = {1: Process(hello=HELLO), 2: Process()}
    assert find_others(program) == (["python", "9"], {"GPU:0": 2**36, "GPU:2": 2**35})
    assert samples == []


def test_without_a_driver_no_process_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent():
        raise OSError("no libnvidia-ml")

    monkeypatch.setattr("tuilab.telemetry.sampler.open_nvml", absent)
    assert find_others(Watched(("train.py",))) == ([], {})


def test_other_programs_are_looked_for_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Watched] = []
    now = [1_000.0]
    monkeypatch.setattr("tuilab.lab.watch.time", SimpleNamespace(time=lambda: now[0]))
    monkeypatch.setattr("tuilab.lab.watch.find_others", lambda of: looked.append(of) or (["other"], {}))
    monkeypatch.setattr(Watched, "keep", lambda self: None)
    program = Watched(("train.py",))
    for seconds, facts, times in ((0.0, 0, 0), (0.0, 1, 1), (1.0, 1, 1), (BESIDE_S, 1, 2), (BESIDE_S, 0, 2)):
        now[0] += seconds
        program.take(1, Facts(memory={"GPU:0": (1, 2)} if facts else {}), None)
        assert len(looked) == times
    assert program.place.others == ("other",)


def test_devices_are_sampled_while_a_process_runs_steps() -> None:
    program, read = Watched(("train.py",)), []
    program.devices = SimpleNamespace(read=read.append)
    program.processes = {1: Process()}
    program.sample()
    process = program.processes[1] = Process(hello=HELLO)
    program.sample()
    assert read == [], "it runs no steps"
    process.waits.n = 1_000
    program.sample()
    process.ended = True
    program.sample()
    assert read == [HELLO.pid]
