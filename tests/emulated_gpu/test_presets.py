"""Each bundled preset runs with emulated GPUs. Only expected arms are unavailable."""

from collections.abc import Callable, Iterator

import msgspec
import pytest

from tests.conftest import Worker
from tests.contradictions.collected import contradictions
from tests.workloads.test_presets import PRESETS, SMALLER, measured
from tuilab.analysis.verdicts import judge
from tuilab.lab.settings import Settings
from tuilab.model.expand import expand
from tuilab.model.run import RunState
from tuilab.model.scenario import Budget
from tuilab.workloads import find

pytestmark = pytest.mark.real_worker

TOUCH = Budget(name="quick", warm_s=0.0, warm_limit_s=0.01, precision=1.0, rounds=2, limit_s=0.2)
LIGHTER: dict[str, dict[str, object]] = {
    **SMALLER,
    "contention": {"threads": 2, "side": 128},
    "too-large-tensor": {"bytes": 2**25, "step": 2**23, "limit": 2**28},
    "beyond-gpu-memory": {"limit": 2**28},
}
"""Smaller values for presets that would be slow on two cores."""

CANNOT = {
    "xla": "Could not find compiler for platform EMULATED",
    "int32": "MatMul: no GPU kernel for int32",
    "mirrored": "replicas need as many",
    "decode": "DecodeCompressed: CPU:0 was requested",
    "half": "Op does not support N5Eigen4halfE inputs",
    "pinned off": "CPU:0 was requested, but the work ran on GPU:0",
}
"""Reasons why an arm cannot run here. The reasons also apply to a real GPU, with two exceptions: XLA cannot
compile for an emulated device, and the emulation runs its kernels on the processor, which convolves float16
only with AVX-512 FP16.
"""


@pytest.fixture(scope="module")
def one(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    """Yield a worker whose GPU waits for each kernel, because TensorFlow's own kernels ignore the stream."""
    worker = Worker(cpus=1, environment=emulated_gpu(1, asynchronous=False))
    yield worker
    worker.close()


def run(worker: Worker, name: str) -> RunState:
    return measured(worker, name, LIGHTER, lambda arm: arm.device != "CPU:0", TOUCH, points=1)


USUAL = {
    "host-compression", "contention", "many-copies", "data-parallel", "sequential-work", "tfrecord",
    "matmul-dtypes", "int32-matmul", "too-large-tensor", "string-ops", "pinned-add",
    "host-op-in-chain", "stft-small", "mixed-precision",
}  # fmt: skip


def test_each_workload_is_covered_by_a_usual_preset() -> None:
    assert {PRESETS[name].workload for name in USUAL} == {preset.workload for preset in PRESETS.values()}


@pytest.mark.parametrize(
    "name", [name if name in USUAL else pytest.param(name, marks=pytest.mark.long) for name in PRESETS]
)
def test_every_available_arm_runs(one: Worker, name: str) -> None:
    state = run(one, name)
    assert state.status == "ok", state.detail
    raised = {claim.when.error for claim in PRESETS[name].claims if hasattr(claim.when, "error")}
    for arm in state.arms.values():
        if arm.status == "ok":
            assert arm.device == arm.arm.device and any(cell.samples for cell in arm.cells.values())
        elif not any(reason in arm.reason for reason in CANNOT.values()):
            assert raised & set(arm.error), f"{arm.label}: {arm.reason}"
        if arm.arm.mode == "xla":
            assert arm.status != "ok" and CANNOT["xla"] in arm.reason
    assert any(arm.device == "GPU:0" for arm in state.arms.values())
    for claim in PRESETS[name].claims:
        verdict = judge(claim, state)
        assert verdict.evidence.endswith(".") and "No GPU is visible" not in verdict.evidence


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PRESETS)
def test_statements_about_cpu_and_gpu_agree_everywhere(one: Worker, name: str) -> None:
    state = measured(one, name, LIGHTER, budget=TOUCH, points=2, phases=True)
    assert contradictions(state, PRESETS[name].claims) == []


def test_eight_gpus_have_as_many_arms_as_one() -> None:
    preset = PRESETS["matmul-dtypes"]
    declaration = find(preset.workload).declaration
    values = Settings.of(preset).values
    counts = {
        count: len(expand(preset.arms, declaration, values, ["CPU:0", *(f"GPU:{n}" for n in range(count))]))
        for count in (1, 2, 8)
    }
    assert counts[1] == counts[2] == counts[8] > 0
    every = msgspec.structs.replace(preset.arms, devices=("CPU", "GPU:*"))
    eight = ["CPU:0", *(f"GPU:{n}" for n in range(8))]
    assert len({arm.device for arm in expand(every, declaration, values, eight)}) == 9


@pytest.mark.long
def test_of_eight_gpus_a_preset_opens_one_and_data_parallel_its_replicas(
    emulated_gpu: Callable[..., dict[str, str]],
) -> None:
    worker = Worker(cpus=1, environment=emulated_gpu(8, asynchronous=False))
    assert [d.name for d in worker.machine.gpus if d.memory] == ["GPU:0"] and len(worker.machine.gpus) == 8
    state = run(worker, "data-parallel")
    worker.close()
    assert state.machine is not None
    assert [d.name for d in state.machine.gpus if d.memory] == ["GPU:0", "GPU:1"]
