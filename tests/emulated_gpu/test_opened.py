"""Which GPUs a worker opens: the first, those that a run asks for, and none that cannot be opened."""

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import Worker
from tests.emulated_gpu.runs import measure
from tuilab.model import events
from tuilab.model.arms import Arm

pytestmark = pytest.mark.real_worker

SMALL = {"m": 64, "k": 64, "n": 64}


def matmul(device: str) -> Arm:
    return Arm(device, "graph", "resident", "float32")


@pytest.fixture(scope="module")
def two(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    worker = Worker(cpus=1, environment=emulated_gpu(2, fail=""))
    yield worker
    worker.close()


def opened(worker: Worker) -> list[str]:
    """TensorFlow tells how much memory it may use of those that it has opened."""
    return [device.name for device in worker.machine.gpus if device.memory]


def test_a_worker_lists_all_gpus_and_opens_the_first_or_the_one_that_a_run_asks_for(
    emulated_gpu: Callable[..., dict[str, str]],
) -> None:
    worker = Worker(cpus=1, environment=emulated_gpu(2, fail=""))
    assert [d.name for d in worker.machine.gpus] == ["GPU:0", "GPU:1"]
    assert {d.description for d in worker.machine.gpus} == {"EMULATED"}
    assert opened(worker) == ["GPU:0"]

    _, state = measure(worker, "matmul", matmul("GPU:1"), parameters=SMALL, placement=True)
    worker.close()
    arm = state.arms["gpu1.graph.resident.float32"]
    assert arm.status == "ok" and arm.device == "GPU:1" and arm.cells[0].samples
    assert {node.device for nodes in arm.placement.values() for node in nodes} - {""} == {"GPU:1"}
    assert state.machine is not None
    assert {d.name: bool(d.memory) for d in state.machine.gpus} == {"GPU:0": False, "GPU:1": True}
    assert [d.name for d in state.machine.devices] == ["CPU:0", "GPU:0", "GPU:1"]


def test_a_run_on_both_opens_both(two: Worker) -> None:
    _, state = measure(two, "matmul", matmul("GPU:0"), matmul("GPU:1"), parameters=SMALL)
    assert {arm.device for arm in state.arms.values()} == {"GPU:0", "GPU:1"}
    assert state.machine is not None and all(d.memory for d in state.machine.gpus)


def test_a_gpu_that_is_not_there_changes_nothing(two: Worker) -> None:
    _, state = measure(two, "matmul", matmul("GPU:5"), matmul("CPU:0"), parameters=SMALL)
    assert state.arms["gpu5.graph.resident.float32"].status == "unavailable"
    assert state.arms["cpu0.graph.resident.float32"].status == "ok"


def test_a_gpu_that_cannot_be_opened_does_not_end_the_worker(
    emulated_gpu: Callable[..., dict[str, str]],
) -> None:
    worker = Worker(cpus=1, environment=emulated_gpu(1, fail="init"))
    assert worker.machine.gpus == ()
    assert worker.machine.no_gpu.startswith("GPU:0 could not be opened: ")
    assert "CUDA_ERROR_DEVICE_UNAVAILABLE" in worker.machine.no_gpu
    _, state = measure(worker, "matmul", matmul("CPU:0"), matmul("GPU:0"), parameters=SMALL)
    worker.close()
    assert state.arms["cpu0.graph.resident.float32"].status == "ok"
    gpu = state.arms["gpu0.graph.resident.float32"]
    assert gpu.status == "unavailable" and "CUDA_ERROR_DEVICE_UNAVAILABLE" in gpu.reason


def test_a_busy_gpu_leaves_the_others_to_be_used(emulated_gpu: Callable[..., dict[str, str]]) -> None:
    """GPU 1 cannot be opened: nobody tries before it is asked for, and GPU 0 works before and after."""
    worker = Worker(cpus=1, environment=emulated_gpu(2, fail="init:1"))
    assert [d.name for d in worker.machine.gpus] == ["GPU:0", "GPU:1"]
    _, state = measure(worker, "matmul", matmul("GPU:1"), parameters=SMALL)
    assert state.arms["gpu1.graph.resident.float32"].status == "unavailable"
    _, state = measure(worker, "matmul", matmul("GPU:0"), parameters=SMALL)
    worker.close()
    assert state.arms["gpu0.graph.resident.float32"].status == "ok"


@pytest.mark.long
def test_the_first_gpu_busy_the_second_is_used(emulated_gpu: Callable[..., dict[str, str]]) -> None:
    worker = Worker(cpus=1, environment=emulated_gpu(2, fail="init:0"))
    assert [d.name for d in worker.machine.gpus] == ["GPU:1"]
    _, state = measure(worker, "matmul", matmul("GPU:1"), parameters=SMALL)
    worker.close()
    assert state.arms["gpu1.graph.resident.float32"].status == "ok"


def test_a_stop_is_obeyed_whatever_is_opened_meanwhile(two: Worker) -> None:
    from tests.emulated_gpu.runs import request
    from tuilab.model import requests

    asked = request("matmul", matmul("GPU:1"), parameters=SMALL)
    two.send(asked)
    two.send(requests.Cancel(id=asked.id))
    while not isinstance(event := two.next(), events.Finished):
        pass
    assert event.status == "cancelled"
