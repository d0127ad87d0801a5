"""A run's state depends only on its events, so a replay gives the same state as the live run."""

import pytest
from msgspec.structs import replace

from tests.made import GPU_GRAPH as GPU
from tests.made import GRAPH as CPU
from tests.made import folded, started
from tuilab.analysis.summary import summarise
from tuilab.model import events as e
from tuilab.model.scenario import AROUND_S, BLOCK_S, FURTHER_ROUNDS, FURTHER_WARM_S, Budget


def story() -> list[e.Event]:
    return [
        started("r", CPU, GPU),
        e.ArmStatus(run="r", arm=GPU.id, status="unavailable", reason="no GPU is visible"),
        e.Progress(run="r", stage="warming up", done=0.4, total=1.0, unit="s"),
        e.FirstCalls(run="r", arm=CPU.id, point=0, first_s=0.5, second_s=0.001),
        e.WarmUp(run="r", arm=CPU.id, point=0, samples_s=(0.0012, 0.0011)),
        e.WarmedUp(run="r", arm=CPU.id, point=0, seconds=0.3, calls=300, warm=True),
        e.Round(
            run="r", index=0, blocks=(e.Block(CPU.id, 0, 10, 0.01, 0.0012),), elapsed_s=0.1, canary_s=1e-5
        ),
        e.Round(run="r", index=1, blocks=(e.Block(CPU.id, 0, 20, 0.03),), elapsed_s=0.2, repeated=True),
        e.Fact(run="r", name="frames", value=1, text="1 frame", arm=CPU.id),
        e.Caveat(run="r", code="drift", message="it drifts", arm=CPU.id),
        e.Caveat(run="r", code="contention", message="another process"),
        e.Log(text="hello", run="r"),
        e.Finished(run="r", status="ok", elapsed_s=0.2, reached=0.03),
    ]


def test_events_fold_into_the_state_of_a_run():
    state = folded(*story())
    cell = state.arms[CPU.id].cells[0]
    assert list(cell.samples) == [0.001, 0.0015]
    assert (list(cell.rounds), list(cell.latencies)) == ([0, 1], [0.0012])
    assert (cell.first_s, cell.warm) == (0.5, True)
    assert list(cell.warming) == [0.001, 0.0012, 0.0011], "the second call, then the warm-up's blocks"
    assert state.arms[GPU.id].status == "unavailable"
    assert (state.rounds, state.repeated, list(state.canaries)) == (2, 1, [1e-5])
    assert [f.code for f in state.flags] == ["contention"]
    assert [f.code for f in state.arms[CPU.id].flags] == ["drift"]
    assert (state.status, state.running, state.progress) == ("ok", False, None)


def test_a_replay_of_the_encoded_stream_gives_the_same_state():
    lines = b"".join(e.encode(event) for event in story()).splitlines()
    assert folded(*map(e.decode, lines)) == folded(*story())


def test_figures_that_are_kept_for_reuse_do_not_make_equal_runs_differ():
    one, other = folded(*story()), folded(*story())
    summarise(one)
    assert one == other


def test_events_of_other_runs_and_arms_change_nothing():
    state = folded(*story())
    before = state.version
    assert not state.apply(e.Progress(run="other", stage="x"))
    assert state.version == before
    state.apply(e.FirstCalls(run="r", arm="nobody", point=0, first_s=1, second_s=1))
    assert set(state.arms) == {CPU.id, GPU.id}


def test_events_of_a_second_worker_extend_the_run():
    first, *rest = story()
    again = started("r", CPU, GPU, worker=1)
    more = next(event for event in rest if isinstance(event, e.Round))
    state = folded(first, *rest[:-1], again, more, rest[-1])
    assert state.workers == 2
    assert len(state.arms[CPU.id].cells[0].samples) == 3
    assert state.elapsed_s == pytest.approx(0.2 + more.elapsed_s)


def test_a_new_run_starts_with_an_empty_state():
    state = folded(*story(), *story())
    assert state.rounds == 2


def test_the_rows_of_a_placement_share_their_words():
    node = e.Node("a/Mul", "Mul", "GPU:0", dtype="float32", reason="no kernel of Mul for string")
    line = e.encode(e.Placement(run="r", arm=CPU.id, nodes=(node, node)))
    state = folded(*story()[:1], e.decode(line), e.decode(line))
    rows = state.arms[CPU.id].placement[0]
    assert rows == [node] * 4
    assert len({id(row.reason) for row in rows}) == len({id(row.op) for row in rows}) == 1


def test_a_cell_knows_its_extremes():
    cell = folded(*story()).arms[CPU.id].cells[0]
    assert (cell.fastest, cell.slowest) == (min(cell.samples), max(cell.samples))


def test_a_run_recognises_its_events():
    """The event for the start of a second process arrives twice, but counts once."""
    state = folded(*story()[:1])
    assert state.apply(e.Caveat(run="r", code="c", message="m", arm=CPU.id)) is True
    assert state.apply(e.Caveat(run="another", code="c", message="m", arm=CPU.id)) is False
    assert state.apply(e.Ready(machine=state.machine, import_s=1.0, start_s=1.0)) is False
    again = started("r", CPU, GPU, worker=1)
    for event in (*story()[1:-1], again, again):
        state.apply(event)
    assert list(state.arms[CPU.id].cells[0].begun) == [state.rounds] and state.workers == 2


def test_the_first_call_comes_from_the_first_process():
    state = folded(*story())
    first = state.arms[CPU.id].cells[0].first_s
    state.apply(started("r", CPU, GPU, worker=1))
    state.apply(e.FirstCalls(run="r", arm=CPU.id, point=0, first_s=first / 10, second_s=0.001))
    assert state.arms[CPU.id].cells[0].first_s == first


def test_the_expected_duration_follows_from_the_budget():
    quick = Budget(name="quick", warm_s=0.5, warm_limit_s=1.0, precision=0.05, rounds=20, limit_s=6.0)
    assert quick.expected_s(arms=4, start_s=3.0) == 4 * (0.5 + AROUND_S) + 6.0
    two = replace(quick, workers=2)
    first = 4 * (0.5 + AROUND_S) + 3.0
    assert two.expected_s(4, 3.0) == first + 3.0 + first
    further = 4 * (FURTHER_WARM_S + FURTHER_ROUNDS * BLOCK_S["quick"])
    short = replace(two, further_s=1.0, workers=3, chase_s=2.5)
    assert short.expected_s(4, 3.0) == 4 * (0.5 + AROUND_S) + 2.5 + 2 * (3.0 + further)
    forked = replace(short, workers=7, forks=20)
    assert forked.expected_s(4, 3.0, forked=True) < forked.expected_s(4, 3.0)
