"""The emulated GPU's kernels and copies take a configured time. The account of a call, the phase that bounds
it and every sentence about the run agree with that time.
"""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tests.conftest import Worker, fold
from tests.contradictions.collected import contradictions
from tests.emulated_gpu.runs import SHORT, repeat
from tuilab.analysis.account import largest
from tuilab.analysis.profiled import by_type
from tuilab.analysis.summary import summarise
from tuilab.model.account import Account
from tuilab.model.arms import Arm
from tuilab.model.profile import Profile, ProfileArm
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import Scenario

pytestmark = pytest.mark.real_worker

KERNEL_S = COPY_S = 20e-3
RESIDENT, COPIED = (Arm("GPU:0", "graph", where) for where in ("resident", "copied"))
EAGER = Arm("GPU:0", "eager", "resident")
OWN = Path(__file__).parents[1] / "worker" / "measure" / "truths.py"
PACED = Path(__file__).with_name("paced.py")


@pytest.fixture(scope="module")
def slow_gpu(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    """Yield a worker whose GPU kernels and copies take 20 ms, within 6% for kernels (device/paced.c)."""
    made = emulated_gpu(1, kernel_us=KERNEL_S * 1e6, copy_us=COPY_S * 1e6, pace_ns=1.0)
    worker = Worker(cpus=1, environment=made)
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def quick_gpu(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    worker = Worker(cpus=1, environment=emulated_gpu(1))
    yield worker
    worker.close()


def run(worker: Worker, file: str, *arms: Arm) -> RunState:
    scenario, ids = Scenario("own", {}, file), uuid.uuid4().hex
    return fold(
        worker.measure(
            Measure(id=ids, scenario=scenario, arms=arms, budget=SHORT, phases=True, placement=True)
        )
    )


TRUTHS: dict[str, tuple[Arm, str, dict[str, float]]] = {
    "paced": (RESIDENT, "compute", {"compute": KERNEL_S}),
    "paced_copied": (COPIED, "copies", {"copy_in": COPY_S, "compute": KERNEL_S, "copy_out": COPY_S}),
    "paced_thrice": (RESIDENT, "compute", {"compute": 3 * KERNEL_S}),
    "paced_by_sleep": (EAGER, "python", {"python": 3 * KERNEL_S, "compute": KERNEL_S}),
}
"""For each function: the arm, the phase that bounds it, and the configured times, which must match within
10%.
"""


@pytest.mark.parametrize("name", TRUTHS)
def test_kernels_and_copies_have_the_set_length(slow_gpu: Worker, name: str) -> None:
    arm, binds, parts = TRUTHS[name]

    def attempt() -> Account:
        state = run(slow_gpu, f"{PACED}:{name}", arm)
        assert contradictions(state) == []
        [summary] = summarise(state).arms
        assert summary.account is not None, summary.reason
        return summary.account

    def as_set(account: Account) -> bool:
        near = (abs(account.seconds(phase) / set_s - 1) <= 0.1 for phase, set_s in parts.items())
        return largest(account) == binds and all(near)

    account = repeat(attempt, as_set)
    assert as_set(account), (parts, account)


def test_own_code_fed_by_tf_data_is_not_refused_on_a_gpu(slow_gpu: Worker) -> None:
    """The dataset is on the host, but the step computes on the device."""
    state = run(slow_gpu, f"{OWN}:input_ahead_of_product", RESIDENT)
    [arm] = summarise(state).arms
    assert arm.status == "ok" and arm.device == "GPU:0", arm.reason
    assert arm.account is not None and arm.account.seconds("input_wait") > 0


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_a_profile_counts_each_op_once(quick_gpu: Worker, mode: Literal["graph", "eager"]) -> None:
    """Each kernel of the device counts once, even if the profile's table cannot hold all kernels. The kernels
    of the emulating processor do not count.
    """
    arm = Arm("GPU:0", mode, "resident")
    question = ProfileArm(scenario=Scenario("own", {}, f"{PACED}:a_thousand"), arm=arm, seconds=0.01)
    found = msgspec.json.decode(quick_gpu.ask("profile", question)[0].body, type=Profile)
    counts = {(row.op, row.device): row.count for row in by_type(found.ops)}
    assert {key: count for key, count in counts.items() if count >= 100} == {
        ("Mul", "GPU:0"): 500, ("AddV2", "GPU:0"): 500,
    }, counts  # fmt: skip
