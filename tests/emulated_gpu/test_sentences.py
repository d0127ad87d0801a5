"""Each preset runs with one and two GPUs of configured speed. Every sentence of its answer, its advice and
its verdicts is true.
"""

import os
import uuid
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.conftest import Worker, fold
from tests.emulated_gpu.recorded import events_of
from tests.emulated_gpu.sentences import measured_by_id, order, untrue
from tests.emulated_gpu.test_presets import LIGHTER
from tests.made import folded
from tests.workloads.test_presets import PRESETS
from tuilab.analysis.summary import summarise
from tuilab.history import recording
from tuilab.lab.settings import Settings
from tuilab.model.expand import expand
from tuilab.model.points import grid
from tuilab.model.requests import Measure
from tuilab.model.scenario import Budget
from tuilab.workloads import find

KERNEL_S, COPY_S = 500e-6, 1e-3
SHORT = Budget(name="quick", warm_s=0.01, warm_limit_s=0.1, precision=0.2, rounds=8, limit_s=2.0)
KEPT = os.environ.get("EMULATED_GPU_SENTENCES")


@pytest.fixture(scope="module", params=[1, 2], ids=["one-gpu", "two-gpus"])
def worker(request: pytest.FixtureRequest, emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    """Yield a worker whose GPU waits for each kernel, because TensorFlow's own kernels ignore the stream."""
    paces = {"kernel_us": KERNEL_S * 1e6, "copy_us": COPY_S * 1e6}
    worker = Worker(cpus=1, environment=emulated_gpu(request.param, asynchronous=False, **paces))
    yield worker
    worker.close()


@pytest.mark.real_worker
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PRESETS)
def test_no_sentence_is_false(worker: Worker, name: str) -> None:
    preset = PRESETS[name]
    declaration, devices = find(preset.workload).declaration, [d.name for d in worker.machine.devices]
    known = {p.name for p in declaration.parameters}
    changes = {k: v for k, v in LIGHTER.get(name, {}).items() if k in known}
    values = Settings.of(preset).with_values(changes).scenario
    every = preset.arms
    if len(worker.machine.gpus) > 1 and "GPU" in every.devices:
        every = msgspec.structs.replace(every, devices=("CPU", "GPU:*"))
    request = Measure(
        id=uuid.uuid4().hex, scenario=values, arms=expand(every, declaration, values.parameters, devices),
        budget=SHORT, preset=name, sweep=preset.sweep, points=grid(preset.sweep)[:3] if preset.sweep else (),
        phases=True, placement=True, latency=False,
    )  # fmt: skip
    seen = worker.measure(request)
    if KEPT:
        recording.write(Path(KEPT) / f"{name}-{len(worker.machine.gpus)}.jsonl", seen)
    assert untrue(fold(seen), preset.claims, KERNEL_S) == []


def test_a_false_sentence_is_noticed() -> None:
    """The checks accept a recorded run with its true kernel speed, but not with another speed or with changed
    samples.
    """
    claims = PRESETS["stft-small"].claims
    assert untrue(folded(*events_of("run")), claims, 500e-6) == []
    assert any("by its pace" in lines for lines in untrue(folded(*events_of("run")), claims, 800e-6))
    state = folded(*events_of("run"))
    result = summarise(state, claims)
    slow = next(arm for arm in state.arms.values() if arm.label == "CPU xla")
    slow.cells[0].samples[:] = array("d", [60 * each for each in slow.cells[0].samples])
    lines = list(order(result, measured_by_id(state, 0), 0))
    assert lines and "CPU xla is not the fastest" in lines[0]
