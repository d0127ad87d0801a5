"""Runs of a real worker, through the protocol. Two logical CPUs stand for two devices."""

import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from tests.conftest import Worker, fold
from tuilab.analysis.reading import VANISHED
from tuilab.model import events, requests
from tuilab.model.arms import Arm, Input, Mode
from tuilab.model.events import Event
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis, Budget, Scenario, Sweep

pytestmark = pytest.mark.real_worker

Full = tuple[list[Event], RunState]
# Stop after six rounds, so that the tests stay within their time limit on a busy machine.
SHORT = Budget(name="quick", warm_s=0.02, warm_limit_s=0.2, precision=9.0, rounds=6, limit_s=20.0)


def request(workload: str, *arms: Arm, parameters: dict | None = None, **more: object) -> requests.Measure:
    more = {"budget": SHORT, "phases": False, "placement": False, **more}
    return requests.Measure(
        id=uuid.uuid4().hex, scenario=Scenario(workload, parameters or {}), arms=arms, **more
    )


def stft(device: str, mode: Mode, where: Input = "resident", variant: str = "whole") -> Arm:
    return Arm(device, mode, where, "float32", variant)


def probe(variant: str, device: str = "CPU:0") -> Arm:
    return Arm(device, "eager", "resident", "", variant)


@pytest.fixture(scope="module")
def full(worker: Worker) -> Full:
    arms = [stft("CPU:0", mode) for mode in ("eager", "graph", "xla")]
    arms += [stft("CPU:1", "graph"), stft("CPU:1", "graph", "copied"), stft("GPU:0", "graph")]
    seen = worker.measure(request("stft", *arms, phases=True, placement=True, preset="p", seed=3))
    return seen, fold(seen)


def test_a_run_begins_with_its_arms_and_ends_with_its_outcome(full: Full) -> None:
    seen, state = full
    started, finished = seen[0], seen[-1]
    assert isinstance(started, events.RunStarted) and isinstance(finished, events.Finished)
    assert started.scenario.parameters["samples"] == 10_240
    assert finished.status == "ok" and finished.reached is not None and finished.reached > 0
    assert state.preset == "p" and state.rounds >= SHORT.rounds


def test_each_arm_names_the_device_that_computed(full: Full) -> None:
    _, state = full
    ran = {name: arm for name, arm in state.arms.items() if not name.startswith("gpu")}
    assert {arm.status for arm in ran.values()} == {"ok"}
    assert all(arm.device == arm.arm.device for arm in ran.values())
    assert {arm.device for arm in ran.values()} == {"CPU:0", "CPU:1"}


def test_every_arm_has_phases_and_rounds(full: Full) -> None:
    _, state = full
    for name, arm in state.arms.items():
        if name.startswith("gpu"):
            assert not arm.cells
            continue
        cell = arm.cells[0]
        assert cell.first_s and cell.second_s
        assert len(cell.samples) >= SHORT.rounds and len(cell.latencies) == len(cell.samples)
        assert cell.warm is not None and min(cell.samples) > 0


def test_the_warm_up_is_reported_but_not_counted(full: Full) -> None:
    seen, state = full
    first_round = next(i for i, event in enumerate(seen) if isinstance(event, events.Round))
    blocks = [event for event in seen[:first_round] if isinstance(event, events.WarmUp)]
    ran = [name for name, arm in state.arms.items() if arm.cells]
    assert {event.arm for event in blocks} == set(ran)
    for name in ran:
        told = [s for event in blocks if event.arm == name for s in event.samples_s]
        cell = state.arms[name].cells[0]
        assert list(cell.warming) == [cell.second_s, *told] and min(told) > 0
        assert (
            len(cell.samples)
            == len(cell.rounds)
            == sum(
                block.arm == name
                for event in seen
                if isinstance(event, events.Round)
                for block in event.blocks
            )
        )


def test_the_most_informative_arm_is_measured_before_the_others_are_built(full: Full) -> None:
    seen, _ = full
    first = next(index for index, event in enumerate(seen) if isinstance(event, events.WarmUp))
    built = [e.arm for e in seen[:first] if isinstance(e, events.Progress) and e.stage == "building"]
    assert built == [stft("CPU:0", "graph").id]


def test_a_graph_of_each_device_has_a_figure_before_the_others_are_built(full: Full) -> None:
    seen, state = full
    graphs = {stft(device, "graph").id for device in ("CPU:0", "CPU:1")} & set(state.arms)
    at = next(
        index
        for index, event in enumerate(seen)
        if isinstance(event, events.Progress) and event.stage == "building" and "graph" not in event.arm
    )
    warmed = {event.arm for event in seen[:at] if isinstance(event, events.WarmedUp)}
    assert len(graphs) == 2 and warmed == graphs


def test_a_gpu_that_is_not_there_is_unavailable_with_the_reason(full: Full) -> None:
    seen, state = full
    gpu = state.arms[stft("GPU:0", "graph").id]
    machine = seen[0].machine  # type: ignore[union-attr]
    if machine.gpus:
        pytest.skip("this machine has a GPU")
    assert gpu.status == "unavailable" and gpu.device is None and machine.no_gpu in gpu.reason


def test_a_logical_cpu_is_not_called_a_gpu(full: Full) -> None:
    seen, _ = full
    asked = stft("GPU:0", "graph").id
    for event in seen:
        if isinstance(event, events.Placement | events.Accounted | events.FirstCalls):
            assert event.arm != asked
        if isinstance(event, events.Placement):
            assert not any(node.device.startswith("GPU") for node in event.nodes)


def test_each_arm_that_ran_has_an_account_that_adds_up(full: Full) -> None:
    _, state = full
    for name, arm in state.arms.items():
        if name.startswith("gpu"):
            continue
        account = arm.cells[0].account
        assert account is not None and account.calls and account.cost_s > 0
        assert account.seconds("dispatch") > 0 and account.seconds("compute") > 0
        assert sum(part.seconds for part in account.parts) == pytest.approx(account.total_s)
        assert not account.not_known


def test_dispatch_takes_more_in_eager_mode_than_in_a_graph(full: Full) -> None:
    _, state = full
    eager, graph = (state.arms[stft("CPU:0", mode).id].cells[0].account for mode in ("eager", "graph"))
    assert eager is not None and graph is not None
    assert eager.seconds("dispatch") > graph.seconds("dispatch")


def test_each_arm_that_ran_has_a_placement(full: Full) -> None:
    _, state = full
    for name, arm in state.arms.items():
        assert bool(arm.placement.get(0)) != name.startswith("gpu")


@pytest.mark.parametrize("variant", ["raises", "raises-later", "interrupts"])
def test_an_arm_that_raises_does_not_end_the_others(worker: Worker, variant: str) -> None:
    state = fold(worker.measure(request("probe", probe(variant), probe("level"))))
    bad, good = state.arms[probe(variant).id], state.arms[probe("level").id]
    assert state.status == "ok"
    assert good.status == "ok" and len(good.cells[0].samples) >= SHORT.rounds
    assert bad.status == "failed"
    assert bad.error[-2:] == ("Exception", "BaseException") or variant == "interrupts"
    if variant != "interrupts":
        assert bad.error[:2] == ("Broken", "ValueError")
        assert bad.reason == "Broken: red and two lines"
        assert "tuilab_probe.py" in bad.detail and "\x1b" not in bad.detail


def test_an_arm_that_cannot_run_says_why(worker: Worker) -> None:
    state = fold(worker.measure(request("probe", probe("refuses"), probe("level"))))
    refused = state.arms[probe("refuses").id]
    assert (refused.status, refused.reason) == ("unavailable", "it does not feel like it")
    assert state.arms[probe("level").id].status == "ok"


@pytest.mark.parametrize("placement", [True, False])
def test_work_done_on_another_device_gets_no_figure(worker: Worker, placement: bool) -> None:
    arm = probe("elsewhere", "CPU:1")
    state = fold(worker.measure(request("probe", arm, probe("level"), placement=placement)))
    assert state.arms[arm.id].status == "unavailable"
    assert "CPU:1 was requested, but the work ran on CPU:0" in state.arms[arm.id].reason
    assert state.arms[arm.id].cells == {}


def test_an_arm_that_needs_more_than_the_free_memory_is_refused(worker: Worker) -> None:
    state = fold(worker.measure(request("probe", probe("level"), parameters={"memory": 10**9})))
    arm = state.arms[probe("level").id]
    assert arm.status == "unavailable" and "needs about 1.00 PB of memory" in arm.reason


def test_a_wrong_parameter_is_named(worker: Worker) -> None:
    (finished,) = worker.measure(request("stft", stft("CPU:0", "graph"), parameters={"samples": 1}))
    assert isinstance(finished, events.Finished) and finished.status == "failed"
    assert finished.message.startswith("samples: got 1; expected") and not finished.detail


def stopping_after(worker: Worker, asked: requests.Measure, when: Callable[[Event], bool]) -> list[float]:
    """Watch a run, and request a stop as soon as `when` is true. Return the times of this request and of the
    run's end.
    """
    times: list[float] = []

    def watch(event: Event) -> None:
        if not times and when(event):
            times.append(time.monotonic())
            worker.send(requests.Cancel(id=asked.id))

    seen = worker.measure(asked, watch)
    times.append(time.monotonic())
    assert isinstance(seen[-1], events.Finished) and seen[-1].status == "cancelled"
    return times


ENDLESS = Budget(name="publish", warm_s=0.02, warm_limit_s=0.2, precision=1e-9, rounds=9_999, limit_s=300.0)


def test_a_stop_is_obeyed_between_calls_and_keeps_the_rounds(worker: Worker) -> None:
    asked = request("probe", probe("level"), budget=ENDLESS)
    asked_at, ended = stopping_after(worker, asked, lambda event: isinstance(event, events.Round))
    assert ended - asked_at < 2.0
    again = fold(worker.measure(request("probe", probe("level"))))
    assert again.status == "ok"


def test_a_stop_while_warming_up_is_obeyed(worker: Worker) -> None:
    budget = Budget(name="publish", warm_s=200.0, warm_limit_s=300.0, precision=0.5, rounds=5, limit_s=300.0)
    asked = request("probe", probe("level"), budget=budget)
    asked_at, ended = stopping_after(
        worker, asked, lambda event: isinstance(event, events.Progress) and event.stage == "warming up"
    )
    assert ended - asked_at < 2.0


def test_doubts_of_several_processes_name_the_process(worker: Worker) -> None:
    budget = Budget(name="quick", warm_s=0.02, warm_limit_s=0.2, precision=1e-9, rounds=6, limit_s=0.3)

    def doubts(**more: object) -> list[str]:
        state = fold(worker.measure(request("probe", probe("level"), budget=budget, **more)))
        [arm] = state.arms.values()
        return [flag.message for flag in arm.flags if flag.code == "precision"]

    [alone], [second] = doubts(), doubts(worker=1)
    assert alone.startswith("time ran out") and second.startswith("process 2: time ran out")


def test_a_stop_before_the_run_begins_is_obeyed(worker: Worker) -> None:
    asked = request("probe", probe("slow"), budget=ENDLESS)
    worker.send(requests.Cancel(id=asked.id))
    (finished,) = worker.measure(asked)
    assert isinstance(finished, events.Finished) and finished.status == "cancelled"


def test_paced_reports_wait_only_briefly_for_the_screen(worker: Worker) -> None:
    asked = request("probe", probe("level"), pace=True)
    assert fold(worker.measure(asked)).status == "ok"
    asked = request("probe", probe("level"), pace=True)
    painted = fold(worker.measure(asked, lambda event: worker.send(requests.Painted(id=asked.id))))
    assert painted.status == "ok" and painted.rounds >= SHORT.rounds


def test_cold_inputs_are_measured_too(worker: Worker) -> None:
    state = fold(
        worker.measure(request("stft", stft("CPU:0", "graph"), stft("CPU:1", "graph", "copied"), cold=True))
    )
    assert {arm.status for arm in state.arms.values()} == {"ok"}


def test_a_sweep_reports_its_points_in_turn_and_survives_a_bad_one(worker: Worker) -> None:
    sweep = Sweep(axes=(Axis("memory", (0, 10, 10**9)),), refine=False)
    seen = worker.measure(request("probe", probe("level"), probe("raises"), sweep=sweep))
    state = fold(seen)
    level, bad = state.arms[probe("level").id], state.arms[probe("raises").id]
    assert [point.values for point in state.points] == [{"memory": 0}, {"memory": 10}, {"memory": 10**9}]
    assert level.status == "ok" and bad.status == "failed"
    assert [bool(level.cells[i].samples) for i in range(3)] == [True, True, False]
    assert level.cells[2].status == "unavailable" and "memory" in level.cells[2].reason
    measured = [block.point for event in seen if isinstance(event, events.Round) for block in event.blocks]
    assert measured == sorted(measured) and state.status == "ok"


def test_points_outside_the_range_are_reported(worker: Worker) -> None:
    sweep = Sweep(axes=(Axis("size", (100, 20_000)),), refine=False)
    state = fold(worker.measure(request("probe", probe("growing"), sweep=sweep)))
    cell = state.arms[probe("growing").id].cells[1]
    assert cell.status == "unavailable" and "size: got 20000; expected" in cell.reason


def test_two_axes_make_a_grid(worker: Worker) -> None:
    sweep = Sweep(axes=(Axis("size", (100, 200)), Axis("memory", (0, 1))))
    state = fold(worker.measure(request("probe", probe("growing"), sweep=sweep)))
    assert [tuple(point.values.values()) for point in state.points] == [
        (100, 0),
        (100, 1),
        (200, 0),
        (200, 1),
    ]
    assert all(state.arms[probe("growing").id].cells[i].samples for i in range(4))


def test_a_crossover_is_narrowed_by_new_sizes(worker: Worker) -> None:
    budget = Budget(name="quick", warm_s=0.02, warm_limit_s=0.1, precision=0.05, rounds=10, limit_s=2.0)
    sweep = Sweep(axes=(Axis("size", (50, 1_000)),))
    for _ in range(3):  # on a busy host, the first attempt may not separate the two arms
        asked = request("probe", probe("level"), probe("growing"), sweep=sweep, budget=budget)
        state = fold(worker.measure(asked))
        if added := [int(point.values["size"]) for point in state.points[2:]]:
            break
    assert added and all(50 < size < 1_000 for size in added)
    # Here, the arm with the growing time crosses the arm that always takes 300 µs.
    assert min(abs(size - 300) for size in added) < 60


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("strings", "XLA cannot compile strings; eager and graph mode run them"),
        (
            "ragged",
            "XLA cannot compile Range with a size that depends on the data; eager and graph mode run it",
        ),
    ],
)
def test_a_function_that_xla_cannot_compile_runs_in_a_graph(worker: Worker, name: str, reason: str) -> None:
    """If XLA had to compile a function of strings, a later call would crash the process."""
    file = Path(__file__).parents[2] / "contradictions" / "own.py"
    asked = request("own", Arm("CPU:0", "graph"), Arm("CPU:0", "xla"), placement=name == "strings")
    state = fold(worker.measure(structs.replace(asked, scenario=Scenario("own", {}, f"{file}:{name}"))))
    graph, xla = state.arms.values()
    assert (graph.status, [flag.code for flag in graph.flags if flag.code == VANISHED]) == ("ok", [])
    assert (xla.status, xla.reason) == ("unavailable", reason)
    assert state.status == "ok"
