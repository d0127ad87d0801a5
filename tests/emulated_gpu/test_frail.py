"""A GPU that fails: what a person is told."""

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import Worker
from tests.emulated_gpu.runs import caveats, measure
from tuilab.model.arms import Arm
from tuilab.worker.tracebacks import cause

pytestmark = pytest.mark.real_worker


@pytest.fixture(scope="module")
def frail(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    """Its matrix products fail, and it has 64 MiB."""
    worker = Worker(cpus=1, environment=emulated_gpu(1, memory=64 * 2**20, fail="MatMul"))
    yield worker
    worker.close()


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_an_arm_that_fails_tells_the_cause(frail: Worker, mode: str) -> None:
    """Of a graph, TensorFlow's message begins with the frames that made the node, the interpreter's own first."""
    arm = Arm("GPU:0", mode, "resident", "float32", "plain")
    _, state = measure(frail, "matmul", arm, parameters={"m": 64, "k": 64, "n": 64})
    assert state.arms[arm.id].reason == "InternalError: CUBLAS_STATUS_EXECUTION_FAILED (emulated)"
    assert state.arms[arm.id].error[0] == "InternalError"


def test_the_cause_of_a_graphs_failure_stands_behind_the_frames_that_made_the_node() -> None:
    """As TensorFlow 2.21 says it of a product inside a loop on this device."""
    said = (
        "Graph execution error:\n\nDetected at node while/MatMul defined at (most recent call last):\n"
        '  File "<frozen runpy>", line 198, in _run_module_as_main\n\n  File "own.py", line 3, in body\n\n'
        "CUBLAS_STATUS_EXECUTION_FAILED (emulated)\n\t [[{{node while/MatMul}}]] [Op:__inference_step_43]"
    )
    assert cause(RuntimeError(said)) == "CUBLAS_STATUS_EXECUTION_FAILED (emulated)"


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_memory_that_runs_out_is_told_with_what_was_asked_for(frail: Worker, mode: str) -> None:
    arm = Arm("GPU:0", mode, "resident", "float32", "add-multiply")
    _, state = measure(frail, "elementwise", arm, parameters={"side": 4096})
    known = state.arms[arm.id]
    assert known.status == "failed" and known.reason.endswith("no memory left for the copy)")
    assert "frozen" not in known.reason and "Detected at" not in known.reason and "Hint" not in known.reason


def test_memory_that_tensorflow_keeps_is_told(frail: Worker) -> None:
    arm = Arm("GPU:0", "graph", "resident", "float32", "add-multiply")
    seen, _ = measure(frail, "elementwise", arm, parameters={"side": 2048})
    assert len(caveats(seen, "gpu-memory-kept")) == 1
    assert "of GPU:0 from others" in caveats(seen, "gpu-memory-kept")[0]


def test_the_worker_measures_on_after_a_failure(frail: Worker) -> None:
    arm = Arm("GPU:0", "graph", "resident", "float32", "add-multiply")
    _, state = measure(frail, "elementwise", arm, parameters={"side": 32})
    assert state.arms[arm.id].status == "ok"
