"""A crossover that lies where the emulation's times put it is found there."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.conftest import Worker, fold
from tests.emulated_gpu.runs import request
from tuilab.analysis.summary import summarise
from tuilab.model.arms import Arm
from tuilab.model.result import Crossover
from tuilab.model.scenario import Axis, Budget, Scenario, Sweep

pytestmark = pytest.mark.real_worker

KERNEL_US, PACE_NS = 12_000.0, 40.0
AT = 1_000 * KERNEL_US / PACE_NS
"""Elements for which the CPU takes as long as the GPU: 300,000."""
OVERHEAD = 0.03
"""Of the time at the crossover: what a call costs beside the op is not the same on both devices."""
FILE = f"{Path(__file__).with_name('paced.py')}:paced"
BUDGET = Budget(name="quick", warm_s=0.01, warm_limit_s=0.05, precision=0.05, rounds=20, limit_s=4.0)


@pytest.fixture(scope="module")
def paced(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    worker = Worker(cpus=1, environment=emulated_gpu(1, kernel_us=KERNEL_US, pace_ns=PACE_NS))
    yield worker
    worker.close()


def crossover(worker: Worker, seed: int) -> Crossover:
    """By a sweep of five sizes, bisected in between."""
    axis = Axis("elements", (60_000, 150_000, 400_000, 1_000_000, 1_600_000))
    asked = request(
        "paced",
        Arm("CPU:0", "graph", "resident", ""),
        Arm("GPU:0", "graph", "resident", ""),
        budget=BUDGET,
        sweep=Sweep(axes=(axis,)),
        latency=False,
        seed=seed,
    )
    asked = msgspec.structs.replace(asked, scenario=Scenario("paced", {}, FILE))
    state = fold(worker.measure(asked))
    assert state.status == "ok", state.message
    result = summarise(state)
    assert result.crossover is not None, result
    return result.crossover


def holds(found: Crossover) -> bool:
    assert found.status == "found", found
    low, high = found.ci95
    return low * (1 - OVERHEAD) <= AT <= high * (1 + OVERHEAD)


def test_a_crossover_is_found_where_it_lies(paced: Worker) -> None:
    found = crossover(paced, 1)
    assert found.at == pytest.approx(AT, rel=0.1)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_its_interval_holds_the_size_in_nine_of_ten_trials(paced: Worker) -> None:
    assert sum(holds(crossover(paced, seed)) for seed in range(10)) >= 9
