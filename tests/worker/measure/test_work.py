"""The work of a call is read from graphs. On a real worker, no arm beats the resulting bound."""

import uuid
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from tests.conftest import Worker, fold
from tests.worker.measure.simulated import Simulation
from tuilab.analysis.bound import GpuCall, bounds, why_not_known
from tuilab.analysis.reading import estimate_at
from tuilab.analysis.roofline import arm_floor, better
from tuilab.model.arms import Arm, Mode
from tuilab.model.datasheets import SHEETS
from tuilab.model.events import Log, RoofsKnown
from tuilab.model.requests import Measure
from tuilab.model.roofline import AskRoofs, Roofs, Work
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Budget, Scenario
from tuilab.worker.measure.bench import TimedArm
from tuilab.worker.measure.work import counted
from tuilab.workloads.base import Case

pytestmark = pytest.mark.real_worker

OWN = """
import tensorflow as tf

def product(n: int = 64):
    return tf.matmul, (tf.ones((n, n)), tf.ones((n, n)))

def convolution(n: int = 32):
    return lambda x, w: tf.nn.conv2d(x, w, 1, "VALID"), (tf.ones((2, n, n, 3)), tf.ones((3, 3, 3, 8)))

def sums(n: int = 1_000):
    return lambda x, y: x + y * y, (tf.ones((n,)), tf.ones((n,)))

def dilated(n: int = 16):
    x, k = tf.ones((1, n, n, 1)), tf.ones((3, 3, 1))
    return lambda x: tf.nn.dilation2d(x, k, (1,) * 4, "SAME", "NHWC", (1,) * 4) + 1.0, (x,)

def halving(n: int = 32):
    def halve(x):
        while tf.reduce_max(x) > 1.0:
            x = tf.matmul(x, x) * 0.5 / tf.reduce_max(x) ** 2 * tf.reduce_max(x)
        return x
    return halve, tf.eye(n) * 8.0

def branching(n: int = 32):
    def shrink(x):
        for _ in tf.range(8):
            x = tf.matmul(x, x) * 0.02 if tf.reduce_sum(x) > 100.0 else x + 1.0
        return x
    return shrink, tf.ones((n, n))

def picked(n: int = 64):
    return lambda x: tf.boolean_mask(x, x[:, 0] > 0.5) * 2.0 + 1.0, tf.concat([tf.eye(n), tf.ones((6, n))], 0)

def nested(n: int = 32):
    def halve(x):
        for _ in tf.range(2):
            while tf.reduce_max(x) > 1.0:
                x = x / 2.0
        return x
    return halve, tf.eye(n) * 8.0
"""
PLAIN = Arm("CPU:0", "graph", "resident", "float32", "plain")
TOUCH = msgspec.structs.replace(BUDGET["quick"], warm_s=0.0, warm_limit_s=0.01, limit_s=0.05)
SHORT = msgspec.structs.replace(BUDGET["quick"], warm_s=0.05, warm_limit_s=0.3, limit_s=0.5)


def run(
    worker: Worker,
    scenario: Scenario,
    *arms: Arm,
    roofs: tuple[Roofs, ...] | None = None,
    budget: Budget = TOUCH,
) -> RunState:
    request = Measure(
        id=uuid.uuid4().hex, scenario=scenario, arms=arms, budget=budget, phases=False, latency=False, roofs=roofs
    )  # fmt: skip
    return fold(worker.measure(request))


@pytest.mark.parametrize(
    ("name", "flop", "inputs", "outputs", "silent"),
    [
        ("product", 2 * 64**3, 2 * 4 * 64**2, 4 * 64**2, ""),
        ("convolution", 2 * 2 * 30 * 30 * 8 * 27, 4 * (2 * 32 * 32 * 3 + 216), 4 * 2 * 30 * 30 * 8, ""),
        ("sums", 2 * 1_000, 8_000, 4_000, ""),
        ("dilated", 256, 1_024, 1_024, "Dilation2D"),
    ],
)
def test_own_code_is_counted_in_its_graph(
    worker: Worker, tmp_path: Path, name: str, flop: float, inputs: float, outputs: float, silent: str
) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    arm = Arm("CPU:0", "graph", "resident", "")
    state = run(worker, Scenario(name, {}, f"{file}:{name}"), arm)
    work = state.arms[arm.id].work[0]
    assert work.inputs == inputs and work.outputs == outputs
    assert work.flop == pytest.approx(flop, rel=0.01)
    assert [silent] * bool(silent) == list(work.uncounted)


def test_a_loop_on_data_keeps_the_eager_count_in_other_modes(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    arms = [Arm("CPU:0", mode, "resident", "") for mode in ("eager", "graph", "xla")]
    scenario = Scenario("halving", {}, f"{file}:halving")
    state = run(worker, scenario, *arms)
    works = [state.arms[arm.id].work[0] for arm in arms]
    trips = 3  # the loop sees the sizes 8, 4, 2 and 1
    assert works[0].flop == pytest.approx(trips * 2 * 32**3, rel=0.15)
    assert [work.flop for work in works] == [works[0].flop] * 3
    assert not any(work.uncounted for work in works) and "eager" in works[1].note


def test_a_branch_on_data_keeps_the_eager_count_in_other_modes(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    arms = [Arm("CPU:0", mode, "resident", "") for mode in ("graph", "eager", "xla")]
    state = run(worker, Scenario("branching", {}, f"{file}:branching"), *arms)
    works = [state.arms[arm.id].work[0] for arm in arms]
    assert works[1].flop == pytest.approx(6 * 2 * 32**3, rel=0.15)
    assert [work.flop for work in works] == [works[1].flop] * 3
    assert (
        "the branches taken are counted in eager mode" in works[0].note and "less work" not in works[0].note
    )
    [alone] = run(worker, Scenario("branching", {}, f"{file}:branching"), arms[0]).arms.values()
    assert alone.work[0].flop < works[1].flop and "the branch with less work" in alone.work[0].note


@pytest.mark.parametrize("mode", ["graph", "xla"])
def test_without_an_eager_arm_another_call_counts_the_iterations(
    worker: Worker, tmp_path: Path, mode: Mode
) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    arm = Arm("CPU:0", mode, "resident", "")
    work = run(worker, Scenario("halving", {}, f"{file}:halving"), arm).arms[arm.id].work[0]
    assert work.flop == pytest.approx(3 * 2 * 32**3, rel=0.15) and not work.uncounted
    inner = run(worker, Scenario("nested", {}, f"{file}:nested"), arm).arms[arm.id].work[0]
    assert (
        "its number of iterations depends on the data; also measure eager mode to count it"
        in inner.uncounted[0]
    )


def test_shapes_that_depend_on_the_data_are_those_of_a_call(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    arm = Arm("CPU:0", "graph", "resident", "")
    work = run(worker, Scenario("picked", {}, f"{file}:picked"), arm).arms[arm.id].work[0]
    picked = 7  # the first row of the unit matrix, and six rows of ones
    assert work.flop == 70 + 2 * picked * 64 and work.outputs == 4 * picked * 64
    assert not work.uncounted


def test_a_graph_that_cannot_be_counted_leaves_the_reason_for_a_missing_bound() -> None:
    def trace(*_: object) -> None:
        raise LookupError("a function")

    simulation = Simulation()
    case = Case(call=list, function=SimpleNamespace(get_concrete_function=trace))  # type: ignore[arg-type]
    (event,) = counted(simulation.bench, TimedArm(PLAIN, 0, case))
    assert why_not_known(GpuCall(event.work, None, "graph")) == "the work of its graph is not counted"
    [log] = simulation.channel.of(Log)
    assert log.text == f"{PLAIN.id}: its work is unknown: LookupError: a function"


def test_a_declaration_agrees_with_the_count(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    own, shipped = (
        Arm("CPU:0", "graph", "resident", ""),
        Arm("CPU:0", "graph", "resident", "float32", "plain"),
    )
    counted = run(worker, Scenario("product", {"n": 96}, f"{file}:product"), own).arms[own.id].work[0]
    declared = run(worker, Scenario("matmul", {"m": 96, "k": 96, "n": 96}), shipped).arms[shipped.id].work[0]
    for field in ("flop", "inputs", "outputs"):
        assert getattr(declared, field) == getattr(counted, field)


def test_even_arms_that_cannot_run_have_their_work(worker: Worker) -> None:
    there = Arm("GPU:9", "graph", "resident", "float32", "whole")
    arm = run(worker, Scenario("stft", {"samples": 1_024}), there).arms[there.id]
    assert isinstance(arm.work[0], Work) and arm.status == "unavailable"


@pytest.fixture(scope="module")
def roofs(worker: Worker) -> Roofs:
    state = run(worker, Scenario("matmul", {"m": 8, "k": 8, "n": 8}), PLAIN, roofs=())
    assert state.roofs, "the first run of a machine measures its roofs"
    (known,) = state.roofs.values()
    return known


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "parameters", "variant"),
    [
        ("matmul", {"m": 256, "k": 256, "n": 256}, "plain"),
        ("stft", {"samples": 65_536}, "whole"),
        ("elementwise", {"side": 512, "ops": 10}, "add-multiply"),
    ],
)
def test_no_arm_beats_its_bound(
    worker: Worker, roofs: Roofs, workload: str, parameters: dict[str, int], variant: str
) -> None:
    """A roof measured on a busy machine is too low, so it is measured again."""
    arms = [Arm("CPU:0", mode, "resident", "float32", variant) for mode in ("eager", "graph", "xla")]
    state = run(worker, Scenario(workload, parameters), *arms, roofs=(roofs,), budget=SHORT)
    for _ in range(8):
        state.apply(RoofsKnown(run=state.run, roofs=roofs))
        if not beyond(state):
            return
        roofs = better(
            roofs, msgspec.json.decode(worker.ask("roofs", AskRoofs(seconds=1))[0].body, type=Roofs)
        )
    pytest.fail(f"faster than their bound: {beyond(state)}")


def beyond(state: RunState) -> list[str]:
    out = []
    for arm in state.arms.values():
        timed, least = estimate_at(arm, 0), arm_floor(state, arm, 0)
        if timed is not None and least is not None:
            high = timed.interval[1] if timed.interval else timed.median
            out += [f"{arm.label}: {high} < {least.total_s}"] if high < least.total_s else []
    return out


def test_known_roofs_are_reported_and_not_measured_again(worker: Worker) -> None:
    known = Roofs(machine=worker.machine.key, at="", seconds=0.0, sync_s=1e-5, devices={"CPU:0": {}})  # type: ignore[dict-item]
    known = msgspec.convert(msgspec.to_builtins(known), Roofs)
    other = msgspec.structs.replace(known, machine="another")
    state = run(worker, Scenario("matmul", {"m": 8, "k": 8, "n": 8}), PLAIN, roofs=(other, known))
    (own,) = state.roofs.values()
    started = own.devices["CPU:0"]
    assert started.launch_s.keys() == started.copied_s.keys() == {PLAIN.mode}, (
        "launches and copies are timed during the run"
    )
    bare = msgspec.structs.replace(started, launch_s={}, copied_s={})
    assert msgspec.structs.replace(own, devices={"CPU:0": bare}) == known


def test_the_bound_uses_a_start_as_short_as_in_its_own_run(worker: Worker, roofs: Roofs) -> None:
    """The start of a call, measured while the machine is slow, may take longer than a whole call measured
    while it is fast.
    """
    cpu = roofs.devices["CPU:0"]
    slow = {mode: 100 * seconds for mode, seconds in cpu.launch_s.items()}
    earlier = msgspec.structs.replace(cpu, launch_s=slow, copied_s=slow)
    saved = msgspec.structs.replace(roofs, others=0.0, devices={"CPU:0": earlier})
    state = run(worker, Scenario("matmul", {"m": 8, "k": 8, "n": 8}), PLAIN, roofs=(saved,))
    [bound] = bounds(state, 0, SHEETS["h100"])
    timed = estimate_at(state.arms[PLAIN.id], 0)
    assert timed is not None and bound.host_s <= timed.median < slow[PLAIN.mode]
    again = msgspec.json.decode(worker.ask("roofs", AskRoofs(seconds=0.1))[0].body, type=Roofs)
    least = again.devices["CPU:0"].launch_s[PLAIN.mode]
    assert least <= state.roofs[worker.machine.key].devices["CPU:0"].launch_s[PLAIN.mode]
