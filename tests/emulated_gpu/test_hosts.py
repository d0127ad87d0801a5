"""Two hosts, each with an emulated GPU, as one run."""

import asyncio
from collections.abc import Callable

import pytest

from tests.emulated_gpu.runs import request
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.run import RunState
from tuilab.runner.multi_host import MultiHostRunner
from tuilab.runner.supervisor import Supervisor


@pytest.mark.real_worker
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_each_hosts_gpu_is_measured_under_its_hosts_name(
    emulated_gpu: Callable[..., dict[str, str]],
) -> None:
    """The second host has two GPUs, of which the second is asked for."""
    counts = {"": 1, "gpu-07": 2}
    state, ended = RunState(), asyncio.Event()

    def receive(event: e.Event) -> None:
        state.apply(event)
        if isinstance(event, e.Finished):
            ended.set()

    def member(host: str, listener: Callable[[e.Event], None]) -> Supervisor:
        return Supervisor(listener, env=emulated_gpu(counts[host]), name=host)

    runner = MultiHostRunner(receive, tuple(counts), member)
    await runner.start()
    here = Arm("GPU:0", "graph", "resident", "float32", "plain")
    there = Arm("GPU:1", "graph", "resident", "float32", "plain", host="gpu-07")
    await runner.measure(
        request("matmul", here, there, parameters={"m": 64, "k": 64, "n": 64}, placement=True)
    )
    async with asyncio.timeout(240):
        await ended.wait()
    await runner.close()
    assert state.status == "ok", state.message
    assert state.arms[here.id].device == "GPU:0" and state.arms[there.id].device == "GPU:1"
    assert there.id == "gpu-07/gpu1.graph.resident.float32.plain"
    assert [d.name for d in state.machines["gpu-07"].gpus if d.memory] == ["GPU:1"]
    rows = [node for node in state.arms[there.id].placement[0] if node.kind == "op"]
    assert {node.device for node in rows} - {""} == {"GPU:1"}
