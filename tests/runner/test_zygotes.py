"""A run's further processes forked from zygotes: who is forked, from which, and that nothing is left."""

import asyncio
import os
import sys
import uuid
from functools import partial

import msgspec
import pytest

from tests.made import CPU, GPU, MACHINE, machine
from tuilab.model.arms import Arm
from tuilab.model.events import Finished, RunStarted
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Axis, Scenario, Sweep
from tuilab.runner import supervisor as supervising
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


@pytest.mark.slow
@pytest.mark.real_worker
async def test_further_processes_are_forked_and_nothing_of_them_is_left(monkeypatch):
    monkeypatch.setattr(supervising, "Zygotes", partial(Zygotes, count=2))
    events, over = [], asyncio.Event()

    def hear(event):
        events.append(event)
        if isinstance(event, Finished):
            over.set()

    lab = Supervisor(hear, forks=True)
    await lab.start()
    asked = request(precision=1e-9)
    await lab.measure(asked)
    await asyncio.wait_for(over.wait(), 240)
    pids = lab._zygotes.pids
    assert len(pids) == 2 and lab._zygotes.memory > 2**24
    await lab.close()
    started = [event for event in events if isinstance(event, RunStarted)]
    assert [event.worker for event in started] == [0, 1, 2, 3]
    assert started[0].zygote is None
    assert sorted({event.zygote for event in started[1:]}) == [0, 1]
    state = RunState()
    for event in events:
        state.apply(event)
    (arm,) = state.arms.values()
    assert state.status == "ok" and len(arm.cell().zygotes) == len(arm.cell().begun) == 3
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_who_is_forked():
    asked = request()
    assert wanted(asked, MACHINE)
    assert not wanted(asked, None), "before the machine is known"
    assert not wanted(msgspec.structs.replace(asked, budget=BUDGET["quick"]), MACHINE)
    assert not wanted(asked, machine(devices=(CPU, GPU))), "CUDA is never forked"
    swept = msgspec.structs.replace(asked, sweep=Sweep(axes=(Axis("m", (16, 32)),)))
    assert not wanted(swept, MACHINE), "a sweep has one process"
