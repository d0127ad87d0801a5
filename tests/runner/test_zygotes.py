"""A run's additional processes are forked from zygotes, which have already imported TensorFlow."""

import asyncio
import os
import sys
import uuid
from functools import partial

import msgspec
import psutil
import pytest

from tests.made import CPU, GPU, MACHINE, machine
from tuilab.model.arms import Arm
from tuilab.model.events import Event, Finished, RunStarted
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Axis, Scenario, Sweep
from tuilab.runner import forking
from tuilab.runner.supervisor import Supervisor
from tuilab.runner.zygotes import Zygotes, wanted

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")


def request(**changes) -> Measure:
    budget = msgspec.structs.replace(
        BUDGET["standard"],
        warm_s=0.05,
        warm_limit_s=0.2,
        limit_s=1.0,
        chase_s=0.1,
        workers=2,
        forks=4,
        **changes,
    )
    scenario = Scenario("matmul", {"m": 16, "k": 16, "n": 16, "dtype": "float32"})
    return Measure(
        id=uuid.uuid4().hex, scenario=scenario, arms=(Arm("CPU:0", "graph"),), budget=budget, phases=False
    )


class Rig:
    def __init__(self, monkeypatch, beside: int) -> None:
        monkeypatch.setattr(forking, "Zygotes", partial(Zygotes, count=2))
        monkeypatch.setattr(forking, "idle_processors", lambda: beside)
        self.events: list[Event] = []
        self.lab = Supervisor(self.events.append, forks=True)
        # the tests' shared worker is also a child of this process
        self.before = {*psutil.Process().children(recursive=True)}
        self.seen: set[psutil.Process] = set()

    async def until(self, true) -> None:
        async with asyncio.timeout(240):
            while not true():
                self.seen |= set(psutil.Process().children(recursive=True))
                await asyncio.sleep(0.005)

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]

    async def close(self) -> None:
        await self.lab.close()
        # Check only processes that this test started: the servers of other tests continue to run.
        assert not [one for one in self.seen - self.before if "tuilab.worker" in command(one)]


def command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) if process.is_running() else ""
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return ""


@pytest.mark.slow
@pytest.mark.real_worker
@pytest.mark.parametrize("beside", [0, 1, 3], ids=["one by one", "by twos", "by fours"])
async def test_further_processes_are_forked_and_leave_nothing(monkeypatch, beside):
    """The processes are reported in order, no matter how many are prepared at the same time."""
    rig = Rig(monkeypatch, beside)
    await rig.lab.start()
    await rig.lab.measure(request(precision=1e-9))
    await rig.until(lambda: rig.of(Finished))
    pids = rig.lab._forking._zygotes.pids
    assert len(pids) == 2
    await rig.close()
    started = rig.of(RunStarted)
    assert [event.worker for event in started] == [0, 1, 2, 3]
    assert started[0].zygote is None
    assert sorted({event.zygote for event in started[1:]}) == [0, 1]
    state = RunState()
    for event in rig.events:
        state.apply(event)
    (arm,) = state.arms.values()
    assert state.status == "ok" and len(arm.cell().zygotes) == len(arm.cell().begun) == 3
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


@pytest.mark.slow
@pytest.mark.real_worker
async def test_a_stop_also_ends_prepared_zygotes(monkeypatch):
    rig = Rig(monkeypatch, 3)
    await rig.lab.start()
    asked = request(precision=1e-9)
    await rig.lab.measure(asked)
    await rig.until(lambda: len(rig.of(RunStarted)) == 2)
    await rig.lab.cancel(asked.id)
    await rig.until(lambda: rig.of(Finished))
    assert [event.status for event in rig.of(Finished)] == ["cancelled"]
    await rig.close()


@pytest.mark.slow
@pytest.mark.real_worker
async def test_a_zygote_that_dies_during_preparation_is_replaced(monkeypatch):
    rig = Rig(monkeypatch, 1)
    await rig.lab.start()
    await rig.lab.measure(request(precision=1e-9))
    await rig.until(lambda: rig.lab._lineup.ahead and rig.lab._lineup.ahead[0].process is not None)
    rig.lab._lineup.ahead[0].process.kill_now()
    await rig.until(lambda: rig.of(Finished))
    assert [event.worker for event in rig.of(RunStarted)] == [0, 1, 2, 3]
    assert [event.status for event in rig.of(Finished)] == ["ok"]
    await rig.close()


def test_only_suitable_runs_are_forked():
    asked = request()
    assert wanted(asked, MACHINE)
    assert not wanted(asked, None), "the machine is not yet known"
    assert not wanted(msgspec.structs.replace(asked, budget=BUDGET["quick"]), MACHINE)
    assert not wanted(asked, machine(devices=(CPU, GPU))), "CUDA is never forked"
    swept = msgspec.structs.replace(asked, sweep=Sweep(axes=(Axis("m", (16, 32)),)))
    assert not wanted(swept, MACHINE), "a sweep has one process"
