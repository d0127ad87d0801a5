"""The twenty models beside an emulated GPU whose kernels and copies take a set time: no arm beats the bound."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Worker, fold
from tests.emulated_gpu.runs import SHORT
from tests.worker.test_models import declare
from tests.worker.test_twenty_models import saved
from tests.worker.twenty import MODELS
from tuilab.analysis.reading import estimate_at
from tuilab.analysis.roofline import GpuCall, kernel_count, work_of
from tuilab.model.arms import ArmSelection, family
from tuilab.model.datasheets import LEAST_LAUNCH, DataSheet, Rating
from tuilab.model.expand import expand
from tuilab.model.parameters import check_values
from tuilab.model.requests import Measure
from tuilab.model.run import ArmState
from tuilab.model.scenario import Scenario

pytestmark = [pytest.mark.real_worker, pytest.mark.long]

KERNEL_S, LINK = 30e-6, 1e9
SHEET = DataSheet(
    name="Emulated", family="Emulated", vector={"float32": Rating(1e15, "no limit")}, tensor={},
    bandwidth=Rating(1e15, "no limit"), memory=Rating(64 * 2.0**30, "as set"), link=Rating(LINK, "as set"),
    cache=Rating(1.0, "none"),
)  # fmt: skip


@pytest.fixture(scope="module")
def gpu(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    worker = Worker(cpus=1, environment=emulated_gpu(1, kernel_us=KERNEL_S * 1e6, copy_gbps=LINK * 1e-9))
    yield worker
    worker.close()


@pytest.mark.parametrize("name", MODELS)
def test_its_arms_on_a_gpu_run_and_lie_above_their_bound(
    gpu: Worker, tf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(LEAST_LAUNCH, "Emulated", Rating(KERNEL_S, "as set"))
    made, file, opening = saved(tf, name, tmp_path)
    declaration = declare(gpu, file, opening).declaration
    values = check_values(declaration.parameters, declaration.constraints, made.values)
    dtypes = ("float32", "mixed_float16") if declaration.dtype else ()
    selection = ArmSelection(devices=("GPU",), modes=("eager", "graph"), dtypes=dtypes)
    arms = expand(selection, declaration, values, ("CPU:0", "GPU:0"))
    request = Measure(
        id=uuid.uuid4().hex, scenario=Scenario(declaration.name, values, file, opening), arms=arms, budget=SHORT,
        latency=False, phases=True,
    )  # fmt: skip
    state = fold(gpu.measure(request))
    for arm in state.arms.values():
        if "CudnnRNN" in arm.reason or "no supported kernel for GPU devices" in arm.reason:
            continue  # cuDNN's recurrent layers and gathering from a variable: the emulation has none
        if name == "strings" and arm.arm.input == "copied":
            assert arm.status == "unavailable" and "strings are not copied" in arm.reason
            continue
        assert arm.status == "ok" and family(arm.device or "") == "GPU", (
            f"{arm.label}: {arm.reason}\n{arm.detail}"
        )
        _bounded(state, arm)


def _bounded(state: Any, arm: ArmState) -> None:
    timed, work = estimate_at(arm, 0), work_of(state, arm, 0)
    assert timed is not None and work is not None
    call = GpuCall(
        work, None, arm.arm.mode, copied=arm.arm.input == "copied", kernels=kernel_count(state, arm.arm, 0)
    )
    bound = call.on(SHEET)
    print(
        f"{arm.label}: {bound.seconds / timed.median:.2f} of {timed.median * 1e3:.2f} ms, {call.kernels} kernels"
    )
    assert bound.seconds <= timed.median
