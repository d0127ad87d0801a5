"""The bound of a device whose times are set: its arms lie above it, and near it where the set times rule."""

import msgspec
import pytest

from tests.conftest import Worker
from tests.emulated_gpu.runs import measure
from tuilab.analysis.reading import estimate_at
from tuilab.analysis.roofline import GpuCall, kernel_count, work_of
from tuilab.model.arms import Arm
from tuilab.model.datasheets import LEAST_LAUNCH, DataSheet, Figure
from tuilab.model.roofline import AskRoofs, Roofs

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]

KERNEL_S, LINK = 2e-3, 0.1e9
"""So slow that the processor underneath, however busy, does not show."""
WITHIN = 4.0


def test_the_arms_of_an_emulated_gpu_lie_above_its_bound_and_near_it(
    emulated_gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LEAST_LAUNCH, "Emulated", Figure(KERNEL_S, "as set"))
    sheet = DataSheet(
        name="Emulated",
        family="Emulated",
        vector={"float32": Figure(1e15, "no limit")},
        tensor={},
        bandwidth=Figure(1e15, "no limit"),
        memory=Figure(4e9, "as set"),
        link=Figure(LINK, "as set"),
        cache=Figure(1.0, "none"),
    )
    settings = {"EMULATED_GPU_COPY_GBPS": str(LINK / 1e9)}
    worker = Worker(cpus=1, environment={**emulated_gpu(kernel_us=int(KERNEL_S * 1e6)), **settings})
    try:
        arms = [Arm("GPU:0", "graph", where, "float32", "whole") for where in ("resident", "copied")]
        _, state = measure(worker, "stft", *arms, parameters={"samples": 65_536}, placement=True)
        roofs = msgspec.json.decode(worker.ask("roofs", AskRoofs(seconds=0.1))[0].body, type=Roofs)
    finally:
        worker.close()
    assert set(roofs.devices) == {"CPU:0"}, "an emulated device has no roofs of its own"
    for arm in arms:
        known = state.arms[arm.id]
        timed, work = estimate_at(known, 0), work_of(state, known, 0)
        kernels = kernel_count(state, arm, 0)
        bound = GpuCall(work, None, "graph", copied=arm.input == "copied", kernels=kernels).on(sheet)
        assert bound.seconds <= timed.median <= WITHIN * bound.seconds, (arm.id, bound, timed)
