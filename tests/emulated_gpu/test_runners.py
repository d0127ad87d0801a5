"""Runners with emulated GPUs: two hosts in one run, and a separate process for TF32 arms."""

import asyncio
from collections.abc import Callable

import pytest

from tests.emulated_gpu.runs import request
from tuilab.analysis.reading import compare
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.runner.multi_host import MultiHostRunner
from tuilab.runner.supervisor import Supervisor

pytestmark = [pytest.mark.real_worker, pytest.mark.slow, pytest.mark.timeout(300)]
SMALL = {"m": 64, "k": 64, "n": 64}
Listener = Callable[[e.Event], None]


async def finished(asked: Measure, make: Callable[[Listener], Supervisor | MultiHostRunner]) -> RunState:
    state, ended = RunState(), asyncio.get_running_loop().create_future()

    def receive(event: e.Event) -> None:
        state.apply(event)
        if isinstance(event, e.Finished):
            ended.set_result(event)

    runner = make(receive)
    await runner.start()
    await runner.measure(asked)
    async with asyncio.timeout(240):
        end = await ended
    await runner.close()
    assert end.status == state.status == "ok", end
    return state


async def test_the_gpu_of_each_host_is_measured_under_the_name_of_the_host(
    emulated_gpu: Callable[..., dict[str, str]],
) -> None:

    def member(host: str, listener: Listener) -> Supervisor:
        return Supervisor(listener, env=emulated_gpu(2), name=host)

    here = Arm("GPU:0", "graph", "resident", "float32", "plain")
    there = Arm("GPU:1", "graph", "resident", "float32", "plain", host="gpu-07")
    asked = request("matmul", here, there, parameters=SMALL, placement=True)
    state = await finished(asked, lambda receive: MultiHostRunner(receive, ("", "gpu-07"), member))
    assert state.arms[here.id].device == "GPU:0" and state.arms[there.id].device == "GPU:1"
    assert there.id == "gpu-07/gpu1.graph.resident.float32.plain"
    assert [d.name for d in state.machines["gpu-07"].gpus if d.memory] == ["GPU:1"]
    rows = [node for node in state.arms[there.id].placement[0] if node.kind == "op"]
    assert {node.device for node in rows} - {""} == {"GPU:1"}


@pytest.mark.long
async def test_float32_and_tf32_run_in_separate_processes_and_are_compared(
    emulated_gpu: Callable[..., dict[str, str]],
) -> None:
    full, tf32 = (Arm("GPU:0", "graph", "resident", dtype, "plain") for dtype in ("float32", "tf32"))
    asked = request("matmul", full, tf32, parameters=SMALL)
    state = await finished(asked, lambda receive: Supervisor(receive, env=emulated_gpu()))
    one, other = state.arms[full.id], state.arms[tf32.id]
    assert one.device == other.device == "GPU:0"
    assert not set(one.cells[0].rounds) & set(other.cells[0].rounds)
    found = compare(one, other, 0)
    assert found is not None and found.interval is not None
    assert not [flag for flag in state.flags if flag.code == "tf32-shared-plan"]
