"""Continuing a run: the request, its estimated duration, and reasons against continuing."""

import os
from datetime import UTC, datetime

import msgspec
import pytest

from tests.made import CPU, GPU, GRAPH, MODES, folded, machine, rounds, run_of, started
from tuilab.analysis.confidence import confidence
from tuilab.analysis.forecast import forecast
from tuilab.lab.resume import check_code, check_same, describe_rest, further, further_s, request, stopped
from tuilab.model import events as e
from tuilab.model.errors import InputError
from tuilab.model.run import RunState
from tuilab.model.scenario import AROUND_S, BUDGET, Scenario

QUICK, STANDARD, PUBLISH = (BUDGET[name] for name in ("quick", "standard", "publish"))


@pytest.mark.parametrize(
    ("half_width", "workers"),
    [(0.05, None), (0.051, 6), (0.1, 6), (0.1226, 7), (0.2, 16), (0.5, 21), (9.0, 21), (None, None)],
)
def test_a_run_gets_the_processes_that_its_precision_needs_and_at_most_twenty_more(half_width, workers):
    state = folded(*run_of("r1", 3, *MODES))
    more = further(state, half_width, QUICK)
    assert (more and more.budget.workers) == workers
    if more is not None:
        assert (more.id, more.arms, more.worker, more.preset) == ("r1", MODES, 1, "stft-small")
        assert (more.phases, more.placement, more.points, more.sweep) == (False, False, (), None)
        assert more.budget.forks == workers and more.budget.limit_s == QUICK.limit_s * workers
        assert more.budget.further_s == STANDARD.further_s, "one long process is followed by short ones"
    assert further(state, half_width, msgspec.structs.replace(QUICK, precision=10.0)) is None


def test_only_a_finished_run_of_one_machine_gets_more_processes():
    ended = run_of("r1", 3, GRAPH)
    more = further(folded(*ended), 1.0, PUBLISH)
    assert more.budget.further_s == 0.0, "all its processes are long"
    each_s = PUBLISH.limit_s / PUBLISH.workers
    assert more.budget.limit_s == pytest.approx(each_s * more.budget.workers)
    further_each_s = 5.0 + PUBLISH.warm_s + AROUND_S + each_s
    assert further_s(more, machine(), 5.0) == pytest.approx((more.budget.workers - 1) * further_each_s)
    assert further(folded(*ended[:-1]), 1.0, QUICK) is None
    assert further(folded(*run_of("r1", 3, msgspec.structs.replace(GRAPH, host="far"))), 1.0, QUICK) is None


def _of_processes(*speeds: float, fresh: tuple[int, ...] = (), busy: bool = False) -> list[e.Event]:
    """Return the events of a run whose processes have these speeds, with the same variation of ± 20% between
    rounds.

    fresh: numbers of the processes (from 1) that were not forked.
    """
    shape = (1.0, 1.2, 0.8, 1.1, 0.9, 1.0, 1.15, 0.85) * 3
    every: list[e.Event] = []
    for worker, speed in enumerate(speeds):
        every.append(
            started("r1", GRAPH, worker=worker, zygote=0 if worker and worker not in fresh else None)
        )
        every += [
            r
            for each in shape[: None if not worker else 6]
            for r in rounds("r1", 1, GRAPH, seconds=each * speed)
        ]
    flags = [e.Caveat(run="r1", code="cpu-contention", message="busy")] if busy else []
    return [*every, *flags, e.Finished(run="r1", status="ok")]


def _rest(state: RunState) -> str:
    now = confidence(state).half_width
    more = further(state, now, QUICK)
    assert more is not None and now is not None
    reached = forecast(state, more.budget.workers)
    assert reached is None or reached < now, "a forecast is never worse than the present state"
    return describe_rest(state, more, machine(), "{run} continues")


def test_the_rest_of_a_run_is_described_by_the_precision_that_it_reaches():
    state = folded(*run_of("r1", 3, *MODES))
    near = further(state, 0.2, QUICK)
    # One process imports TensorFlow, and all further processes are forked from it, so one import counts.
    assert further_s(near, machine(), 10.0) - further_s(near, machine(), 3.0) == pytest.approx(7.0)
    gpu = machine(devices=(CPU, GPU))
    # With a GPU, processes cannot be forked, so each of 15 further processes imports TensorFlow.
    assert further_s(near, gpu, 10.0) - further_s(near, gpu, 3.0) == pytest.approx(15 * 7.0)
    for there, once in ((machine(), 3.0), (gpu, 0.0)):
        left = [
            further_s(msgspec.structs.replace(near, worker=done), there, 3.0) - once for done in range(1, 15)
        ]
        assert left == sorted(left, reverse=True) and left[-1] > 0
        assert left[0] == pytest.approx(15 * left[-1] / 2), "each further process takes equally long"
    assert _rest(folded(*_of_processes(1.0))).startswith("{run} continues: ± 5% in about ")
    spread = (1.0, 1.5, 0.7, 1.2, 0.8, 1.3, 0.9)
    assert _rest(folded(*_of_processes(*spread))).startswith("{run} continues: about ± ")


def test_no_precision_is_forecast_that_more_rounds_would_not_reach():
    busy = _rest(folded(*_of_processes(1.0, busy=True)))
    assert busy.startswith("more rounds will not narrow ± ")
    assert busy.endswith("while the host is busy; try again when the host is quiet")
    two_speeds = _rest(folded(*_of_processes(*(1.0, 2.0) * 10)))
    assert two_speeds.endswith("while the speed changes this much; try again later")


def test_a_missed_forecast_is_not_repeated():
    speeds = (1.0, 1.5, 0.7, 1.2, 0.8, 1.3, 0.9)
    kept = folded(*_of_processes(*speeds, *[1.0 + 0.01 * at for at in range(-10, 10)], fresh=(7,)))
    assert confidence(kept).half_width < 0.1
    assert "continues: " in _rest(kept)
    levels = (0.5, 0.6, 0.8, 1.1, 1.5, 2.0, 2.2) * 3
    missed, never_promised = (folded(*_of_processes(*speeds, *levels[:20], fresh=f)) for f in ((7,), ()))
    assert _rest(missed).startswith("more rounds will not narrow ")
    assert "continues: about ± " in _rest(never_promised), "the same rounds in one go promised nothing"


def test_an_interrupted_run_continues_in_a_fresh_process_and_a_complete_one_does_not():
    begun = [started("r1", *MODES), *rounds("r1", 3, *MODES)]
    asked = request(folded(*begun, e.Finished(run="r1", status="cancelled")))
    assert (asked.id, asked.arms, asked.worker, asked.budget.workers) == ("r1", MODES, 1, 1)
    assert stopped(folded(*begun)) == request(folded(*begun))
    assert stopped(folded(begun[0])) is None, "nothing was measured"


def complete(*hosts: str, workers: int = 1) -> RunState:
    """Return a finished run of equal rounds. hosts: the Python environments that take turns."""
    arms = [msgspec.structs.replace(GRAPH, host=host) for host in hosts or ("",)]
    there = [e.MachineJoined(run="r1", host=host, machine=machine(environment=f"/{host}")) for host in hosts]
    events = []
    for worker in range(workers):
        own = [msgspec.structs.replace(one, worker=worker) for one in rounds("r1", 60, *arms)]
        events += [started("r1", *arms, worker=worker), *(() if worker else there), *own]
    return folded(*events, e.Finished(run="r1", status="ok"))


def test_a_complete_run_is_refused_unless_environments_took_too_few_turns():
    for state in (complete(), complete("old", "new", workers=3)):
        with pytest.raises(InputError) as error:
            request(state)
        expected = "an interrupted or imprecise run; this one is complete"
        assert str(error.value) == f"run: got 'r1'; expected {expected}"
        assert stopped(state) is None
    asked = request(complete("old", "new", workers=2))
    assert ([arm.host for arm in asked.arms], asked.worker, asked.budget.workers) == (["old", "new"], 2, 1)


def test_a_changed_or_missing_file_is_refused(tmp_path):
    file = tmp_path / "f.py"
    at = datetime(2026, 11, 21, tzinfo=UTC)
    state = folded(started("r1", scenario=Scenario("f", {}, file=f"{file}:f")))
    expected = f"run's file: got '{file}'; expected "
    with pytest.raises(InputError) as gone:
        check_code(state)
    assert str(gone.value) == expected + "a readable file (No such file or directory)"
    file.touch()
    for after, refused in ((0.0, False), (0.999, False), (1.0, True), (-5.0, False)):
        os.utime(file, (at.timestamp() + after,) * 2)
        if not refused:
            check_code(state)
            continue
        with pytest.raises(InputError) as changed:
            check_code(state)
        assert str(changed.value) == (
            expected + "the same code as when the run began; start a new run instead"
        )
    check_code(folded(started("r1")))


@pytest.mark.parametrize("name", ["host", "cpu", "tensorflow", "tuilab"])
def test_a_run_does_not_continue_on_a_machine_that_has_changed(name):
    before, now = machine(**{name: "old"}), machine(**{name: "new"})
    check_same({"": before}, {"": before, "far": now})
    check_same({}, {"": now})
    check_same({"": before}, {"": machine(**{name: "old"}, cores=64, os="other")})
    for host, where in (("", "this machine"), ("far", "far")):
        with pytest.raises(InputError) as error:
            check_same({host: before}, {host: now})
        assert str(error.value) == (
            f"run on {where}, {name}: got 'new'; expected 'old', as when the run began; start a new run instead"
        )
