"""A worker opens the first GPU, and other GPUs when a run requests them. A GPU that cannot be opened does no
harm.
"""

from collections.abc import Callable

import pytest

from tests.conftest import Worker
from tests.emulated_gpu.runs import measure, request
from tuilab.model import events, requests
from tuilab.model.arms import Arm
from tuilab.model.run import RunState

pytestmark = pytest.mark.real_worker

SMALL = {"m": 64, "k": 64, "n": 64}
Environment = Callable[..., dict[str, str]]


def matmul(device: str) -> Arm:
    return Arm(device, "graph", "resident", "float32")


def run(worker: Worker, *devices: str) -> RunState:
    return measure(worker, "matmul", *map(matmul, devices), parameters=SMALL, placement=True)[1]


def opened(state: RunState) -> dict[str, bool]:
    """Return which GPUs are open: TensorFlow reports usable memory only for these."""
    assert state.machine is not None
    return {device.name: bool(device.memory) for device in state.machine.gpus}


def test_a_worker_lists_all_gpus_and_opens_those_that_a_run_asks_for(emulated_gpu: Environment) -> None:
    """GPU 1 of three cannot be opened, which the worker notices only when a run requests it. The other GPUs
    work before and after this failure.
    """
    worker = Worker(cpus=1, environment=emulated_gpu(3, fail="init:1"))
    assert [(d.name, d.description, bool(d.memory)) for d in worker.machine.gpus] == [
        ("GPU:0", "EMULATED", True), ("GPU:1", "EMULATED", False), ("GPU:2", "EMULATED", False)
    ]  # fmt: skip

    asked = request("matmul", matmul("GPU:2"), parameters=SMALL)
    worker.send(asked)
    worker.send(requests.Cancel(id=asked.id))  # a cancellation takes effect even while the worker opens a GPU
    while not isinstance(event := worker.next(), events.Finished):
        pass
    assert event.status == "cancelled"

    state = run(worker, "GPU:2")
    arm = state.arms[matmul("GPU:2").id]
    assert arm.status == "ok" and arm.device == "GPU:2" and arm.cells[0].samples
    assert {node.device for nodes in arm.placement.values() for node in nodes} - {""} == {"GPU:2"}
    assert opened(state) == {"GPU:0": False, "GPU:1": False, "GPU:2": True}

    state = run(worker, "GPU:0", "GPU:2")
    assert {arm.device for arm in state.arms.values()} == {"GPU:0", "GPU:2"}
    assert opened(state) == {"GPU:0": True, "GPU:1": False, "GPU:2": True}

    state = run(worker, "GPU:1")
    (busy,) = state.arms.values()
    assert busy.status == "unavailable" and "GPU:0, GPU:2" in busy.reason
    # a request for a missing GPU changes nothing
    state = run(worker, "GPU:0", "GPU:5", "CPU:0")
    worker.close()
    assert [arm.status for arm in state.arms.values()] == ["ok", "unavailable", "ok"]


@pytest.mark.parametrize("gpus", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_first_gpu_that_cannot_be_opened_does_not_end_the_worker(
    emulated_gpu: Environment, gpus: int
) -> None:
    worker = Worker(cpus=1, environment=emulated_gpu(gpus, fail="init:0"))
    names = ["GPU:1"][: gpus - 1]
    assert [d.name for d in worker.machine.gpus] == names
    state = run(worker, "CPU:0", "GPU:0", *names)
    worker.close()
    cpu, busy, *others = state.arms.values()
    assert [arm.status for arm in (cpu, *others)] == ["ok"] * gpus
    assert busy.status == "unavailable" and "CUDA_ERROR_DEVICE_UNAVAILABLE" in busy.reason
    if gpus == 1:
        assert worker.machine.no_gpu.startswith("GPU:0 could not be opened: ")
