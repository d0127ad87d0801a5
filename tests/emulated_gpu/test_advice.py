"""Advice for a GPU names the part of a call that the test has slowed down."""

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.conftest import Worker, fold
from tests.contradictions.collected import contradictions
from tests.emulated_gpu.runs import SHORT, repeat
from tuilab.analysis.account import largest
from tuilab.analysis.diagnosis import contended
from tuilab.analysis.profiled import by_type
from tuilab.analysis.summary import summarise
from tuilab.model.account import Account
from tuilab.model.arms import Arm
from tuilab.model.explain import ExplainScenario, ScenarioExplanation
from tuilab.model.profile import Profile, ProfileArm
from tuilab.model.requests import Measure
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.model.scenario import Budget, Scenario
from tuilab.presentation.placement import groups

pytestmark = pytest.mark.real_worker

KERNEL_S, HOST_S = 5e-3, 20e-3
GRAPH, EAGER = Arm("GPU:0", "graph", "resident"), Arm("GPU:0", "eager", "resident")
PACED = Path(__file__).with_name("paced.py")


@pytest.fixture(scope="module")
def gpu(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    """Yield a worker whose GPU kernels take 5 ms. On the host, the op with a known speed takes 20 ms."""
    worker = Worker(
        cpus=1, environment=emulated_gpu(1, kernel_us=KERNEL_S * 1e6, pace_ns=HOST_S / 1000 * 1e9)
    )
    yield worker
    worker.close()


def run(worker: Worker, name: str, *arms: Arm, budget: Budget = SHORT) -> tuple[RunState, RunResult]:
    request = Measure(
        id=uuid.uuid4().hex, scenario=Scenario("own", {}, f"{PACED}:{name}"), arms=arms, budget=budget, phases=True,
        placement=True,
    )  # fmt: skip
    state = fold(worker.measure(request))
    assert contradictions(state) == []
    return state, summarise(state)


PROFILED = msgspec.structs.replace(SHORT, name="publish")


LAUNCHING = {"launch-bound", "dispatch-bound"}


def looked_at(worker: Worker, name: str, arm: Arm) -> tuple[RunState, RunResult, Account]:
    """Repeat the measurement until the advice is about the stall. On a busy host, the advice may be about
    waiting threads.
    """

    def attempt() -> tuple[RunState, RunResult, Account]:
        state, result = run(worker, name, arm, budget=PROFILED)
        account = result.arms[0].account
        assert account is not None
        return state, result, account

    def wanted(seen: tuple[RunState, RunResult, Account]) -> bool:
        _, result, account = seen
        codes = {found.code for found in result.diagnosis}
        return (
            "stalled" in codes
            and not codes & LAUNCHING
            and largest(account) == "stalls"
            and most(account, "stall") >= 0.9 * HOST_S
            and most(account, "compute") >= 1.8 * KERNEL_S
        )

    return repeat(attempt, wanted)


def most(account: Account, phase: str) -> float:
    """Return the upper end of a phase's interval. Other programs on this host make the interval wide."""
    return sum(
        part.ci95_s[1] if part.ci95_s else part.seconds for part in account.parts if part.phase == phase
    )


@pytest.mark.parametrize("arm", [GRAPH, EAGER], ids=lambda arm: arm.mode)
def test_waiting_for_a_host_op_is_a_separate_part(gpu: Worker, arm: Arm) -> None:
    state, result, account = looked_at(gpu, "stalled", arm)
    assert most(account, "stall") >= 0.9 * HOST_S and most(account, "compute") >= 1.8 * KERNEL_S, account
    codes = {found.code: found for found in result.diagnosis}
    assert not LAUNCHING & codes.keys()
    if "stalled" not in codes and contended(state):
        return
    assert largest(account) == "stalls", account
    assert "(Digamma)" in codes["stalled"].message
    assert codes["stalled"].remedy == "Remove the device scope that pins Digamma to the CPU."


def test_a_device_also_waits_for_a_host_op_at_the_beginning(gpu: Worker) -> None:
    _, _, account = looked_at(gpu, "fed_by_host", GRAPH)
    assert most(account, "stall") >= 0.9 * HOST_S, account


def test_each_host_op_has_its_own_reason_and_remedy(gpu: Worker) -> None:
    state, result = run(gpu, "mixed", GRAPH)
    [found] = [each for each in result.diagnosis if each.code == "host-ops"]
    assert "Digamma (CPU:0 was requested)" in found.message
    assert "MatMul (no GPU kernel for int32; there is one for" in found.message
    assert "AsString and StringLength (no GPU kernel: CPU only)" in found.message
    for remedy in ("give MatMul a dtype", "device scope that pins Digamma", "move AsString and StringLength"):
        assert remedy.lower() in found.remedy.lower()
    total = sum(node.count for node in state.arms[GRAPH.id].placement[0] if node.kind == "op")
    assert found.message.startswith(f"4 of {total} ops")
    question = ExplainScenario(scenario=Scenario("own", {}, f"{PACED}:mixed"), arms=(GRAPH,))
    text = msgspec.json.decode(gpu.ask("explain-scenario", question)[0].body, type=ScenarioExplanation)
    assert re.search(rf"{total - 4} of {total} ops ran on GPU:0; 4 ops ran on the CPU", text.sentence)
    assert sum(group.count for group in groups(state) if group.kind == "op" and group.device == "CPU:0") == 4
    ask = ProfileArm(scenario=Scenario("own", {}, f"{PACED}:mixed"), arm=GRAPH, seconds=0.01)
    profile = msgspec.json.decode(gpu.ask("profile", ask)[0].body, type=Profile)
    on_host = [
        row for row in by_type(profile.ops) if not row.device.startswith("GPU") and row.phase == "compute"
    ]
    assert sum(row.count for row in on_host) == 4, on_host
