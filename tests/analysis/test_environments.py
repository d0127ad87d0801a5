import random

import pytest

from tests.made import machine, started
from tuilab.analysis.environments import environments, pairs, sentences
from tuilab.analysis.summary import summarise
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.run import RunState

MODES = ("eager", "graph")


def arms(host: str) -> list[Arm]:
    return [Arm("CPU:0", mode, host=host) for mode in MODES]  # type: ignore[arg-type]


def run(*, graph: float = 1.0, processes: int = 7, seed: int = 1, between: float = 0.02) -> RunState:
    """Return a run of two environments, `old` and `new`.

    graph: factor by which a graph call takes longer in `new`. between: relative spread between processes.
    """
    state, rng = RunState(), random.Random(seed)
    every = [*arms("old"), *arms("new")]
    versions = {"old": "2.16.2", "new": "2.21.0"}
    for worker in range(processes):
        state.apply(started("r", *every, worker=worker))
        for host in versions if not worker else ():
            there = machine(environment=f"/envs/{host}", tensorflow=versions[host])
            state.apply(e.MachineJoined(run="r", host=host, machine=there))
        pace = {arm.id: rng.lognormvariate(0, between) for arm in every}
        for _ in range(10):
            minute = rng.lognormvariate(0, 0.3)  # a slowdown of all arms in a round
            blocks = []
            for arm in every:
                factor = graph if (arm.host, arm.mode) == ("new", "graph") else 1.0
                seconds = 1e-3 * minute * pace[arm.id] * factor * rng.lognormvariate(0, 0.01)
                blocks.append(e.Block(arm.id, 0, 1, seconds))
            state.apply(
                e.Round(run="r", index=state.rounds, blocks=tuple(blocks), elapsed_s=1.0, worker=worker)
            )
    return state


def test_the_faster_environment_is_named_with_its_ratio_and_an_unchanged_arm_is_equal():
    found = sentences(run(graph=1 / 1.3), 0)
    assert "CPU graph: new is 1.2" in found[0] and "× faster than old [1.2" in found[0]
    assert "CPU eager: old and new are equal within" in found[0]


def test_a_difference_of_ten_percent_is_found_and_named():
    (pair,) = pairs(run(graph=1.1), 0)
    assert {row.arm: row.differs for row in pair.arms} == {"CPU eager": False, "CPU graph": True}
    assert "old is 1.1" in pair.sentences[0]


def test_identical_environments_differ_in_at_most_one_run_of_twenty():
    claimed = sum(any(row.differs for row in pairs(run(seed=seed), 0)[0].arms) for seed in range(100))
    assert claimed <= 9  # at most 5 false claims are expected; the probability of more than 9 is 3%


@pytest.mark.parametrize("processes", [3, 7])
def test_noise_shared_by_both_environments_does_not_widen_the_interval(processes: int):
    (pair,) = pairs(run(processes=processes, between=0.001), 0)
    assert all(row.ci95 and row.ci95[1] / row.ci95[0] < 1.05 for row in pair.arms)


def place(state: RunState, host: str, nodes: list[e.Node]) -> None:
    state.apply(e.Placement(run="r", arm=arms(host)[1].id, point=0, nodes=tuple(nodes)))


def node(op: str, device: str) -> e.Node:
    return e.Node(name=op.lower(), op=op, device=device)


def test_ops_that_moved_appeared_or_vanished_are_listed():
    state = run(processes=1)
    place(state, "old", [node("MatMul", "CPU:0"), node("RFFT", "GPU:0"), node("BiasAdd", "CPU:0")])
    place(state, "new", [node("MatMul", "CPU:0"), node("RFFT", "CPU:0"), node("_FusedMatMul", "CPU:0")])
    text = " ".join(sentences(state, 0))
    assert "CPU graph: RFFT runs on GPU:0 in old, on CPU:0 in new." in text
    assert "CPU graph: only old runs BiasAdd, only new runs _FusedMatMul." in text
    assert "MatMul runs" not in text


def test_differing_first_calls_and_import_times_are_reported():
    state = run(processes=1)
    for host, first in (("old", 0.4), ("new", 0.1)):
        arm = arms(host)[1].id
        state.apply(e.FirstCalls(run="r", arm=arm, point=0, first_s=first, second_s=0.001))
        state.apply(e.Fact(run="r", name=f"{host}/import_s", value=2.0, text=""))
    said = sentences(state, 0)
    assert (
        "The first call of CPU graph took 400 ms in old, 100 ms in new (measured once, so this may be noise)."
        in said
    )
    assert (
        "Importing TensorFlow took 2.00 s in old, 2.00 s in new (measured once, so this may be noise)."
        in said
    )


def test_the_result_names_the_environment_of_each_arm():
    result = summarise(run(graph=1 / 1.3))
    assert {line.environment for line in result.machines.values()} == {"/envs/old", "/envs/new"}
    assert {arm.host for arm in result.arms} == {"old", "new"}
    assert result.environments[0].a == "old" and result.environments[0].b == "new"
    assert result.answer.startswith("CPU graph: new is 1.2")


def test_hosts_are_not_environments():
    state = RunState()
    state.apply(started("r", *arms(""), *arms("gpu-07")))
    state.apply(e.MachineJoined(run="r", host="", machine=machine()))
    state.apply(e.MachineJoined(run="r", host="gpu-07", machine=machine(host="gpu-07")))
    assert environments(state) == [] and pairs(state, 0) == ()
