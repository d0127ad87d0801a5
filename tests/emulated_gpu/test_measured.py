import msgspec
import pytest

from tests.conftest import Worker
from tests.emulated_gpu.runs import caveats, measure, repeat
from tuilab.model import events
from tuilab.model.account import Account
from tuilab.model.arms import Arm, Mode
from tuilab.model.events import Event, Node
from tuilab.model.explain import ExplainOp, OpExplanation
from tuilab.model.profile import Profile, ProfileArm
from tuilab.model.run import RunState
from tuilab.model.scenario import Scenario

pytestmark = pytest.mark.real_worker

CPU, RESIDENT, COPIED, EAGER = (
    Arm(device, mode, where, "float32", "whole")
    for device, mode, where in (
        ("CPU:0", "graph", "resident"),
        ("GPU:0", "graph", "resident"),
        ("GPU:0", "graph", "copied"),
        ("GPU:0", "eager", "copied"),
    )
)


@pytest.fixture(scope="module")
def stft(gpu_worker: Worker) -> tuple[list[Event], RunState]:
    return measured(gpu_worker)


def measured(worker: Worker) -> tuple[list[Event], RunState]:
    arms = (CPU, RESIDENT, COPIED, EAGER)
    return measure(worker, "stft", *arms, parameters={"samples": 2048}, phases=True, placement=True)


def nodes(state: RunState, arm: Arm, kind: str) -> list[Node]:
    return [n for n in state.arms[arm.id].placement[0] if n.kind == kind]


@pytest.mark.smoke
def test_each_arm_names_the_device_that_computed(stft: tuple[list[Event], RunState]) -> None:
    _, state = stft
    assert {name: arm.device for name, arm in state.arms.items()} == {
        CPU.id: "CPU:0",
        RESIDENT.id: "GPU:0",
        COPIED.id: "GPU:0",
        EAGER.id: "GPU:0",
    }
    assert all(arm.status == "ok" and arm.cells[0].samples for arm in state.arms.values())


def test_the_gpu_is_called_emulated_wherever_its_name_appears(
    gpu_worker: Worker, stft: tuple[list[Event], RunState]
) -> None:
    seen, _ = stft
    assert [d.description for d in gpu_worker.machine.gpus] == ["EMULATED"]
    assert caveats(seen, "emulated") == [
        "GPU:0 is emulated by test software: its figures are not from a real GPU"
    ]


def test_the_ops_run_on_the_gpu_with_reasons(stft: tuple[list[Event], RunState]) -> None:
    _, state = stft
    ran = nodes(state, RESIDENT, "op")
    assert {n.device for n in ran} == {"GPU:0"} and all(n.reason for n in ran)
    assert {n.device for n in nodes(state, CPU, "op")} == {"CPU:0"}


def test_a_copy_is_drawn_between_the_memories_of_the_data(stft: tuple[list[Event], RunState]) -> None:
    """A GPU op produces this tensor in host memory, so the copy starts at the host (`_HostSend`)."""
    _, state = stft
    from_host = [n for n in nodes(state, RESIDENT, "copy") if n.op.startswith("_HostSend")]
    assert from_host and {(n.device, n.to) for n in from_host} == {("CPU:0", "GPU:0")}
    assert not any(
        n.device == n.to == "GPU:0" for arm in (RESIDENT, COPIED) for n in nodes(state, arm, "copy")
    )


def test_the_phases_of_a_copied_arm_hold_both_copies(gpu_worker: Worker) -> None:

    def attempt() -> tuple[Account, Account]:
        _, state = measured(gpu_worker)
        copied, resident = (state.arms[arm.id].cells[0].account for arm in (COPIED, RESIDENT))
        assert copied is not None and resident is not None
        return copied, resident

    def as_asked(seen: tuple[Account, Account]) -> bool:
        copied, resident = seen
        both = copied.seconds("copy_in") > 0 and copied.seconds("copy_out") > 0
        # even with resident inputs, a result that the host needs is copied to the host
        less = resident.seconds("copy_in", "copy_out") < copied.seconds("copy_in", "copy_out")
        return both and less and resident.seconds("compute") > 0

    seen = repeat(attempt, as_asked)
    assert as_asked(seen), seen


@pytest.mark.parametrize("variant", ["serial", "in-step"])
def test_a_batch_of_an_input_pipeline_reaches_the_gpu(gpu_worker: Worker, variant: str) -> None:
    arm = Arm("GPU:0", "graph", "resident", "", variant)
    values = {"batch": 4, "side": 16, "host_cost": 0}
    _, state = measure(gpu_worker, "input_pipeline", arm, parameters=values, placement=True, phases=True)
    known = state.arms[arm.id]
    assert known.status == "ok" and known.device == "GPU:0", known.reason


def profile(worker: Worker, arm: Arm) -> Profile:
    question = ProfileArm(scenario=Scenario("stft", {"samples": 2048}), arm=arm, seconds=0.05)
    answer = worker.ask("profile", question)[0]
    return msgspec.json.decode(answer.body, type=Profile)


@pytest.mark.parametrize("arm", [RESIDENT, COPIED, EAGER], ids=lambda arm: arm.id)
def test_a_profile_shows_the_gpus_streams(gpu_worker: Worker, arm: Arm) -> None:
    found = profile(gpu_worker, arm)
    assert found.device == "GPU:0" and all("EMULATED" in note for note in found.notes)
    assert "GPU:0" in {lane.device for lane in found.lanes}
    assert any(row.device == "GPU:0" and row.phase == "compute" and row.seconds for row in found.ops)
    named = {span.name for span in found.spans}
    assert ("MemcpyH2D" in named and "MemcpyD2H" in named) == (arm is not RESIDENT)
    assert sum(part.seconds for part in found.phases) == pytest.approx(found.measured_s)


def test_explaining_an_op_names_the_gpus_kernels(gpu_worker: Worker) -> None:
    answer = gpu_worker.ask("explain-op", ExplainOp(op="MatMul", dtype="int32"))[0]
    found = msgspec.json.decode(answer.body, type=OpExplanation)
    assert found.gpu is False and "int32" in found.reason


def test_a_copy_takes_the_time_of_the_link(gpu_worker: Worker) -> None:
    arms = [Arm("GPU:0", "eager", "resident", "", variant) for variant in ("block", "pieces")]
    values = {"bytes": 2**20, "pieces": 16, "direction": "to device"}
    seen, state = measure(gpu_worker, "copies", *arms, parameters=values)
    assert all(state.arms[arm.id].device == "GPU:0" for arm in arms)
    assert not [e for e in seen if isinstance(e, events.ArmStatus) and e.status != "ok"]


@pytest.mark.parametrize(("mode", "variant"), [("eager", "block"), ("graph", "pieces")])
def test_copies_by_the_cpu_stay_on_the_cpu_with_a_gpu_present(
    gpu_worker: Worker, mode: Mode, variant: str
) -> None:
    """If the copy did not request the CPU, a visible GPU would make it or return its result."""
    arm = Arm("CPU:0", mode, "resident", "", variant)
    values = {"bytes": 2**16, "pieces": 256, "direction": "to device"}
    _, state = measure(gpu_worker, "copies", arm, parameters=values, placement=True)
    assert {n.device for n in nodes(state, arm, "op")} == {"CPU:0"}
