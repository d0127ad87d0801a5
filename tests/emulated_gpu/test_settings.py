"""A GPU with configured times, memory and failures: crossover and bound match the configuration, and failures
have messages.
"""

import itertools
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import Worker, fold
from tests.emulated_gpu.runs import caveats, measure, repeat, request
from tuilab.analysis.bound import GpuCall
from tuilab.analysis.reading import estimate_at
from tuilab.analysis.roofline import kernel_count, work_of
from tuilab.analysis.summary import summarise
from tuilab.model.arms import Arm
from tuilab.model.datasheets import LEAST_LAUNCH, DataSheet, Rating
from tuilab.model.result import Crossover
from tuilab.model.scenario import Axis, Budget, Scenario, Sweep
from tuilab.worker.tracebacks import cause

pytestmark = pytest.mark.real_worker

KERNEL_S, PACE_S, LINK = 12e-3, 40e-9, 0.1e9
"""Seconds per kernel, seconds per element on the CPU, and bytes per second of the link.

They make each call long enough to hide the time of the real processor, even if it is busy.
"""


@pytest.fixture(scope="module")
def slow(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    times = {"kernel_us": KERNEL_S * 1e6, "pace_ns": PACE_S * 1e9, "copy_gbps": LINK * 1e-9}
    worker = Worker(cpus=1, environment=emulated_gpu(1, memory=64 * 2**20, fail="MatMul", **times))
    yield worker
    worker.close()


# -- times

AT = KERNEL_S / PACE_S
"""Number of elements for which CPU and GPU take the same time: 300,000."""
OVERHEAD = 0.03
"""Maximum share of overhead in a call's time at the crossover. Overhead differs between the devices."""
WITHIN = 4.0


def crossover(worker: Worker, seed: int) -> Crossover:
    """Return the crossover of a sweep that begins with five sizes and then bisects between them."""
    asked = request(
        "paced",
        *(Arm(device, "graph", "resident", "") for device in ("CPU:0", "GPU:0")),
        budget=Budget(name="quick", warm_s=0.01, warm_limit_s=0.05, precision=0.05, rounds=20, limit_s=4.0),
        sweep=Sweep(axes=(Axis("elements", (60_000, 150_000, 400_000, 1_000_000, 1_600_000)),)),
        latency=False,
        seed=seed,
    )
    own = Scenario("paced", {}, f"{Path(__file__).with_name('paced.py')}:paced")
    state = fold(worker.measure(msgspec.structs.replace(asked, scenario=own)))
    assert state.status == "ok", state.message
    found = summarise(state).crossover
    assert found is not None
    return found


def test_a_crossover_is_found_where_it_was_set(slow: Worker) -> None:
    seeds, put = itertools.count(1), pytest.approx(AT, rel=0.1)
    assert repeat(lambda: crossover(slow, next(seeds)).at, lambda at: at == put) == put


def test_the_batch_from_which_a_model_is_faster_on_a_gpu_is_found(
    slow: Worker, tf: Any, tmp_path: Path
) -> None:
    """Uses a saved graph with an op of known speed, which processes 10,000 numbers per example."""
    each = 10_000
    step = tf.function(lambda x: {"y": tf.math.digamma(x)})
    concrete = step.get_concrete_function(tf.TensorSpec([None, each], tf.float32))
    tf.saved_model.save(tf.Module(), str(tmp_path / "graph"), signatures=concrete)
    asked = request(
        "graph",
        *(Arm(device, "graph", "resident", "") for device in ("CPU:0", "GPU:0")),
        budget=Budget(name="quick", warm_s=0.01, warm_limit_s=0.05, precision=0.05, rounds=20, limit_s=4.0),
        sweep=Sweep(axes=(Axis("batch", (6, 15, 40, 100)),)),
        latency=False,
        seed=1,
    )
    own = Scenario("graph", {}, str(tmp_path / "graph"))

    def attempt() -> float | None:
        again = msgspec.structs.replace(asked, scenario=own, id=uuid.uuid4().hex)
        found = summarise(fold(slow.measure(again))).batch
        return found.crossover if found is not None else None

    put = pytest.approx(AT / each, rel=0.1)
    assert repeat(attempt, lambda at: at == put) == put


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_interval_of_a_crossover_holds_the_set_size_in_nine_of_ten_trials(slow: Worker) -> None:
    intervals = [found for seed in range(10) if (found := crossover(slow, seed).ci95) is not None]
    assert sum(low * (1 - OVERHEAD) <= AT <= high * (1 + OVERHEAD) for low, high in intervals) >= 9


def test_arms_of_an_emulated_gpu_are_near_and_above_its_bound(
    slow: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LEAST_LAUNCH, "Emulated", Rating(KERNEL_S, "as set"))
    endless, memory = Rating(1e15, "no limit"), Rating(64 * 2.0**20, "as set")
    sheet = DataSheet(
        name="Emulated", family="Emulated", vector={"float32": endless}, tensor={}, bandwidth=endless,
        memory=memory, link=Rating(LINK, "as set"), cache=Rating(1.0, "none"),
    )  # fmt: skip
    arms = [Arm("GPU:0", "graph", where, "float32", "whole") for where in ("resident", "copied")]

    def attempt() -> list[float]:
        _, state = measure(slow, "stft", *arms, parameters={"samples": 65_536}, placement=True)
        reached = []
        for arm in arms:
            known = state.arms[arm.id]
            timed, work, kernels = (
                estimate_at(known, 0),
                work_of(state, known, 0),
                kernel_count(state, arm, 0),
            )
            bound = GpuCall(work, None, "graph", copied=arm.input == "copied", kernels=kernels).on(sheet)
            reached.append(timed.median / bound.seconds)
        assert min(reached) >= 1, reached
        return reached

    reached = repeat(attempt, lambda reached: max(reached) <= WITHIN)
    assert max(reached) <= WITHIN, reached


# -- failures


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_a_failed_arm_gives_the_cause(slow: Worker, mode: str) -> None:
    """In graph mode, TensorFlow's message lists stack frames before the cause."""
    arm = Arm("GPU:0", mode, "resident", "float32", "plain")
    _, state = measure(slow, "matmul", arm, parameters={"m": 64, "k": 64, "n": 64})
    failed = state.arms[arm.id]
    assert failed.reason == "InternalError: CUBLAS_STATUS_EXECUTION_FAILED (emulated)"
    assert failed.error[0] == "InternalError"


@pytest.mark.parametrize("mode", [pytest.param("eager", marks=pytest.mark.long), "graph"])
def test_running_out_of_memory_is_reported_with_the_requested_size(slow: Worker, mode: str) -> None:
    arm = Arm("GPU:0", mode, "resident", "float32", "add-multiply")
    _, state = measure(slow, "elementwise", arm, parameters={"side": 4096})
    full = state.arms[arm.id]
    assert full.status == "failed" and full.reason.endswith("no memory left for the copy)")
    assert not any(word in full.reason for word in ("frozen", "Detected at", "Hint"))


def test_a_gpu_without_free_memory_is_skipped_with_a_message(
    emulated_gpu: Callable[..., dict[str, str]],
) -> None:
    """If the worker opened this GPU, TensorFlow would retry forever to allocate a few bytes."""
    worker = Worker(cpus=1, environment=emulated_gpu(1, fail="alloc"))
    try:
        assert not worker.machine.gpus and "GPU:0 could not be opened" in worker.machine.no_gpu
        arm = Arm("CPU:0", "graph", "resident", "float32", "plain")
        _, state = measure(worker, "matmul", arm, parameters={"m": 8, "k": 8, "n": 8})
        assert state.arms[arm.id].status == "ok"
    finally:
        worker.close()


def test_the_cause_of_a_graph_failure_follows_the_frames_that_made_the_node() -> None:
    """The message comes from TensorFlow 2.21, for a matrix product in a loop on the emulated GPU."""
    text = (
        "Graph execution error:\n\nDetected at node while/MatMul defined at (most recent call last):\n"
        '  File "<frozen runpy>", line 198, in _run_module_as_main\n\n  File "own.py", line 3, in body\n\n'
        "CUBLAS_STATUS_EXECUTION_FAILED (emulated)\n\t [[{{node while/MatMul}}]] [Op:__inference_step_43]"
    )
    assert cause(RuntimeError(text)) == "CUBLAS_STATUS_EXECUTION_FAILED (emulated)"


def test_memory_kept_by_tensorflow_is_reported_and_the_worker_continues(slow: Worker) -> None:
    arm = Arm("GPU:0", "graph", "resident", "float32", "add-multiply")
    seen, _ = measure(slow, "elementwise", arm, parameters={"side": 1024, "ops": 4})
    (kept,) = caveats(seen, "gpu-memory-kept")
    assert "on GPU:0 until this worker ends" in kept
    _, state = measure(slow, "elementwise", arm, parameters={"side": 32, "ops": 4})
    assert state.arms[arm.id].status == "ok"
