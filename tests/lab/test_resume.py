"""The request that continues a run, its estimates, and the reasons for which a run is not continued."""

import os
from datetime import UTC, datetime

import msgspec
import pytest

from tests.made import CPU, GPU, GRAPH, MODES, folded, machine, rounds, run_of, started
from tuilab.lab.resume import check_code, check_same, describe_rest, further, further_s, request, stopped
from tuilab.model import events as e
from tuilab.model.errors import InputError
from tuilab.model.scenario import BUDGET, Scenario

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
    assert further(folded(*ended), 1.0, PUBLISH).budget.further_s == 0.0, "all its processes are long"
    assert further(folded(*ended[:-1]), 1.0, QUICK) is None
    assert further(folded(*run_of("r1", 3, msgspec.structs.replace(GRAPH, host="far"))), 1.0, QUICK) is None


def test_the_rest_of_a_run_is_described_by_the_precision_that_it_reaches():
    state = folded(*run_of("r1", 3, *MODES))
    near, far = (further(state, width, QUICK) for width in (0.2, 0.5))
    # Besides one import (4 s), a fork with three arms takes 0.69 s: 15 and 20 forks.
    assert describe_rest(near, 0.2, machine()) == "± 5% in about 14 s"
    assert describe_rest(far, 0.5, machine()) == "about ± 11% in about 18 s"
    assert further_s(near, machine(), 10.0) - further_s(near, machine(), 3.0) == pytest.approx(7.0)
    gpu = machine(devices=(CPU, GPU))
    # Each of 15 further processes imports TensorFlow, if a GPU rules out forks.
    assert further_s(near, gpu, 10.0) - further_s(near, gpu, 3.0) == pytest.approx(15 * 7.0)


def test_an_interrupted_run_continues_in_a_fresh_process_and_a_complete_one_does_not():
    begun = [started("r1", *MODES), *rounds("r1", 3, *MODES)]
    asked = request(folded(*begun, e.Finished(run="r1", status="cancelled")))
    assert (asked.id, asked.arms, asked.worker, asked.budget.workers) == ("r1", MODES, 1, 1)
    assert stopped(folded(*begun)) == request(folded(*begun))
    assert stopped(folded(begun[0])) is None, "nothing was measured"


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
