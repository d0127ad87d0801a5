"""Phases of simulated cases: on a device that works on its own as a GPU does, and as workloads know them."""

import pytest

from tests.worker.measure.simulated import SYNC_S, Simulation
from tuilab.model.arms import Arm
from tuilab.worker.measure.bench import TimedArm
from tuilab.worker.measure.phases import measure_phases
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.workloads.base import Case

ENQUEUE, KERNEL, COPY_IN, COPY_OUT = 30e-6, 200e-6, 50e-6, 80e-6


class Gpu(Simulation):
    """A device whose work goes on after the call has returned, until a sync."""

    def __init__(self) -> None:
        super().__init__()
        self._pending = 0.0
        self.bench.stopwatch = Stopwatch(self._sync, self.clock)

    def _sync(self) -> None:
        self.clock.spend(SYNC_S + self._pending)
        self._pending = 0.0

    def compute(self) -> str:
        self.clock.spend(ENQUEUE)
        self._pending += KERNEL
        return "outputs"

    def copy_out(self, outputs: object) -> None:
        assert outputs == "outputs"
        self._sync_copy(COPY_OUT)

    def _sync_copy(self, seconds: float) -> None:
        self.clock.spend(self._pending + seconds)
        self._pending = 0.0

    def call(self) -> None:
        self.clock.spend(COPY_IN)
        self.copy_out(self.compute())

    def gpu_cell(self, **case: object) -> TimedArm:
        cell = TimedArm(Arm("GPU:0", "graph", "copied"), 0, Case(**case), device="GPU:0", call_s=400e-6)  # type: ignore[arg-type]
        return cell


def test_on_a_gpu_dispatch_is_the_time_to_enqueue_and_compute_what_comes_after() -> None:
    gpu = Gpu()
    found = measure_phases(gpu.bench, gpu.gpu_cell(call=gpu.compute, compute=gpu.compute))
    assert found is not None
    assert found.phases_s == {"dispatch": pytest.approx(ENQUEUE), "compute": pytest.approx(KERNEL)}
    assert found.total_s == pytest.approx(ENQUEUE + KERNEL) and found.residual_s == pytest.approx(0, abs=1e-9)


def test_copies_are_timed_apart_and_stand_in_the_order_of_the_call() -> None:
    gpu = Gpu()
    cell = gpu.gpu_cell(
        call=gpu.call,
        compute=gpu.compute,
        copy_in=lambda: gpu.clock.spend(COPY_IN),
        copy_out=gpu.copy_out,
    )
    found = measure_phases(gpu.bench, cell)
    assert found is not None
    assert list(found.phases_s) == ["copy_in", "dispatch", "compute", "copy_out"]
    assert found.phases_s["copy_in"] == pytest.approx(COPY_IN)
    assert found.phases_s["copy_out"] == pytest.approx(COPY_OUT)
    assert found.total_s == pytest.approx(COPY_IN + ENQUEUE + KERNEL + COPY_OUT)
    assert found.residual_s == pytest.approx(0, abs=1e-8)


def test_host_ops_within_dispatch_are_mentioned() -> None:
    gpu = Gpu()
    cell = gpu.gpu_cell(call=gpu.compute, compute=gpu.compute)
    cell.host_ops = 2
    found = measure_phases(gpu.bench, cell)
    assert found is not None and "2 ops ran on the host, within dispatch" in found.note


def test_a_workload_that_times_its_own_phases_is_believed_and_held_against_the_whole() -> None:
    simulation = Simulation()
    cell = simulation.cell("a", 1e-3)
    cell.case.phases = lambda seconds: {"input_wait": 0.6e-3, "compute": 0.3e-3}
    found = measure_phases(simulation.bench, cell)
    assert found is not None
    assert found.phases_s == {"input_wait": 0.6e-3, "compute": 0.3e-3}
    assert found.total_s == pytest.approx(1e-3) and found.residual_s == pytest.approx(0.1e-3)


def test_a_case_without_parts_has_no_phases() -> None:
    simulation = Simulation()
    assert measure_phases(simulation.bench, simulation.cell("a", 1e-3)) is None


def test_a_call_too_long_to_be_profiled_is_made_once_and_said_to_be() -> None:
    simulation = Simulation()
    made: list[int] = []

    def slow() -> None:
        made.append(1)
        simulation.clock.spend(3.0)

    cell = TimedArm(Arm("CPU:0", "eager"), 0, Case(call=slow, compute=slow), device="CPU:0", call_s=3.0)
    found = measure_phases(simulation.bench, cell)
    assert found is not None and len(made) == 1
    assert found.phases_s == {"compute": pytest.approx(3.0)} and "takes too long to profile" in found.note
