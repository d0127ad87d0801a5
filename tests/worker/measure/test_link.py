from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tests.worker.measure.simulated import Simulation
from tuilab.analysis.phases import CopyCost
from tuilab.model.telemetry import Link
from tuilab.worker.measure.link import SIZES, format_cost, measure_link
from tuilab.worker.selftest.surroundings import _carries


def test_the_latency_and_the_rate_of_copies_are_found() -> None:
    simulation = Simulation()
    made: list[int] = []

    def identity(count: int) -> int:
        # The first call for a size creates the tensor, and each later call copies it.
        made.append(count)
        simulation.clock.spend(10e-6 + 4 * count / 20e9)
        return count

    tf = SimpleNamespace(
        device=lambda name: nullcontext(),
        identity=identity,
        zeros=lambda shape, dtype: shape[0],
        float32=None,
    )
    found = measure_link(tf, simulation.bench.stopwatch, "/CPU:0", "/GPU:0")
    assert found.latency_s == pytest.approx(10e-6, rel=0.01)
    assert found.bytes_per_s == pytest.approx(20e9, rel=0.01)
    assert {4 * count for count in made} == set(SIZES)


def test_a_link_is_described_in_words() -> None:
    assert format_cost(CopyCost(8e-6, 24.1e9, 0.0)) == "8.00 µs + 24.1 GB/s"
    assert format_cost(CopyCost(8e-6, None, 0.0)) == "8.00 µs + no measurable time per byte"


def test_the_maximum_rate_of_a_pcie_link_is_known() -> None:
    trained_down = Link(generation=1, width=16, max_generation=4, max_width=16)
    assert _carries(trained_down) == pytest.approx(31.5e9, rel=0.01)
    assert _carries(Link(max_generation=9, max_width=16)) is None
    assert _carries(None) is None
