import json
import re
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec
import pytest

from tests import calling
from tests.made import GRAPH, MACHINE, folded, machine, rounds, started
from tuilab import interpreter
from tuilab.analysis.compare import unlike
from tuilab.analysis.summary import summarise
from tuilab.cli.run import exit_code, run
from tuilab.history import browse
from tuilab.history.recorder import Recorder
from tuilab.history.store import Store
from tuilab.lab.resume import check_code, check_same, environments_of, further, request
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.environment import Environment
from tuilab.model.errors import InputError
from tuilab.model.machine import Device
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Axis, Scenario, Sweep

HERE, THERE = GRAPH, Arm("CPU:0", "graph", host="gpu-07")
OTHER = Arm("CPU:0", "eager", host="gpu-07")
SIZES = (256, 512, 1_024)


def begun(*arms: Arm, swept: bool = True, **about: object) -> e.RunStarted:
    points = tuple(e.Point(i, {"samples": x}) for i, x in enumerate(SIZES)) if swept else (e.Point(0),)
    sweep = Sweep(axes=(Axis("samples", SIZES),)) if swept else None
    return started("r", *arms, points=points, sweep=sweep, **about)


def test_resume_measures_only_the_missing_sizes_of_a_dropped_host():
    whole = [event for point in range(3) for event in rounds("r", 20, HERE, point=point)]
    state = folded(
        begun(HERE, THERE, OTHER), *whole, *rounds("r", 20, THERE, OTHER), *rounds("r", 4, THERE, point=1)
    )
    wanted = request(state)
    assert wanted.arms == (THERE, OTHER)
    assert [point.index for point in wanted.points] == [1, 2]
    assert (wanted.id, wanted.worker, wanted.sweep.refine) == ("r", 1, False)


def test_resume_leaves_out_an_arm_that_failed_by_itself():
    error = e.ArmStatus(run="r", arm=OTHER.id, status="failed", error=("ValueError",))
    wanted = request(folded(begun(THERE, OTHER, swept=False), *rounds("r", 3, THERE), error))
    assert (wanted.arms, wanted.points) == ((THERE,), ())


def test_a_complete_run_and_a_fleet_run_are_not_resumed():
    with pytest.raises(InputError, match="complete"):
        request(folded(begun(THERE, swept=False), *rounds("r", 20, THERE)))
    joined = e.MachineJoined(run="r", host="node", machine=MACHINE, points=(0,))
    with pytest.raises(InputError, match="--on"):
        request(folded(begun(HERE), joined))


def test_an_imprecise_complete_run_is_resumed_in_further_processes():
    unequal = (1.0, 1.3, 1.3, 1.0, 1.1, 1.4, 0.9, 1.2, 1.0, 1.3) * 2
    here = [r for each in unequal for r in rounds("r", 1, HERE, seconds=each * 1e-3)]
    over = e.Finished(run="r", status="ok")
    state = folded(begun(HERE, swept=False), *here, over)
    wanted = request(state)
    assert (wanted.id, wanted.worker, wanted.arms) == ("r", 1, (HERE,))
    assert wanted.budget.workers >= 6 and wanted.budget.further_s > 0
    precise = folded(begun(HERE, swept=False), *rounds("r", 20, HERE), over)
    assert further(precise, 0.01, BUDGET["quick"]) is None
    more = further(precise, 0.04, BUDGET["standard"])
    assert more is not None and more.budget.workers == more.budget.forks == 6
    most = further(precise, 0.5, BUDGET["standard"])
    assert most.budget.workers == 21, "at most twenty more processes at a time"
    publish = further(precise, 0.04, BUDGET["publish"])
    each = publish.budget.for_process(1).limit_s
    assert each == BUDGET["publish"].for_process(1).limit_s, "each process keeps its usual time limit"


OLD, NEW = Arm("CPU:0", "graph", host="old"), Arm("CPU:0", "graph", host="new")


def by_turns(*processes: int, settings: tuple[str, ...] = ()) -> RunState:
    """Return a run of two environments. processes: number of rounds in each process. settings: environment
    variables of the second environment, `new`.
    """
    places = {"old": ("/envs/old", ()), "new": ("/envs/new", settings)}
    there = [
        e.MachineJoined(run="r", host=name, machine=machine(environment=folder, settings=given))
        for name, (folder, given) in places.items()
    ]
    every = [
        event
        for worker, count in enumerate(processes)
        for event in (begun(OLD, NEW, swept=False, worker=worker), *there, *rounds("r", count, OLD, NEW))
    ]
    return folded(*every)


@pytest.mark.parametrize("processes", [(3,), (20,), (20, 20)])
def test_alternating_environments_resume_together_with_missing_processes(processes: tuple[int, ...]):
    wanted = request(by_turns(*processes))
    assert (set(wanted.arms), wanted.worker) == ({OLD, NEW}, len(processes))


def test_environments_with_all_their_processes_are_complete():
    with pytest.raises(InputError, match="complete"):
        request(by_turns(20, 20, 20))


def test_a_run_resumes_in_the_environments_that_measured_it(monkeypatch):
    found: list[tuple[str, str]] = []

    def environment(place: str, where: str) -> Environment:
        found.append((place, where))
        return Environment(python=f"{place}/bin/python", folder=place)

    monkeypatch.setattr(interpreter, "environment", environment)
    old, new = environments_of(by_turns(3, settings=("TF_ENABLE_ONEDNN_OPTS=0",)))
    assert found == [("/envs/old", "run's environment old"), ("/envs/new", "run's environment new")]
    assert (old.name, old.python, old.variables) == ("old", "/envs/old/bin/python", {})
    assert (new.name, new.variables) == ("new", {"TF_ENABLE_ONEDNN_OPTS": "0"})


def test_a_run_of_another_python_resumes_in_that_python():
    there = machine(environment=sys.prefix)
    (one,) = environments_of(folded(begun(HERE, swept=False, machine=there), *rounds("r", 3, HERE)))
    assert (one.name, one.folder, Path(one.python).parent) == ("", sys.prefix, Path(sys.executable).parent)


def test_a_missing_environment_is_named():
    with pytest.raises(InputError, match=r"run's environment old: got '/envs/old'"):
        environments_of(by_turns(3))


def test_a_run_ends_with_the_command_that_makes_it_precise(capsys):
    unequal = (1.0, 1.3, 1.3, 1.0, 1.1, 1.4, 0.9, 1.2, 1.0, 1.3) * 2
    here = [r for each in unequal for r in rounds("r", 1, HERE, seconds=each * 1e-3)]
    over = e.Finished(run="r", status="ok")
    for told, state in (
        (True, folded(begun(HERE, swept=False), *here, over)),
        (False, folded(begun(HERE, swept=False), *rounds("r", 20, HERE), over)),
    ):
        with click.Context(run):
            assert exit_code(state, summarise(state, ())) == 0
        said = capsys.readouterr().err
        assert (
            bool(re.search(r"`tuilab resume r` continues this run: about ± \S+% in about \d+ s\n", said))
            is told
        ), said


def test_a_host_that_has_changed_begins_a_new_run():
    check_same({"gpu-07": MACHINE}, {"gpu-07": MACHINE})
    newer = msgspec.structs.replace(MACHINE, tensorflow="2.22.0")
    with pytest.raises(InputError, match=r"gpu-07, tensorflow.*2\.22\.0.*2\.21\.0"):
        check_same({"gpu-07": MACHINE}, {"gpu-07": newer})


def test_gpu_memory_used_by_others_does_not_change_the_machine():
    """TensorFlow may use only the memory that is free when it opens the GPU, so its limit varies."""
    before, now, other = (
        msgspec.structs.replace(MACHINE, devices=(Device("CPU:0"), Device("GPU:0", name, "9.0", memory)))
        for name, memory in (("H100", 80 * 10**9), ("H100", 20 * 10**9), ("L4", 20 * 10**9))
    )
    check_same({"": before}, {"": now})
    with pytest.raises(InputError, match="gpu models"):
        check_same({"": before}, {"": other})
    assert not unlike(RunState(machine=before), RunState(machine=now))
    assert unlike(RunState(machine=before), RunState(machine=other))


def test_resumed_rounds_are_stored_after_the_earlier_ones(tmp_path):
    store = Store.open(tmp_path)
    recorder = Recorder(store)
    for event in [begun(THERE, swept=False), *rounds("r", 3, THERE), e.Finished(run="r", status="failed")]:
        recorder.record(event)
    recorder.close()
    store = Store.open(tmp_path)
    recorder = Recorder(store)
    recorder.continue_run("r")
    for event in [
        begun(THERE, swept=False, worker=1),
        *rounds("r", 5, THERE),
        e.Finished(run="r", status="ok"),
    ]:
        recorder.record(event)
    assert recorder.flush()
    state = store.state("r")
    recorder.close()
    assert (len(state.arms[THERE.id].cells[0].samples), state.status, state.workers) == (8, "ok", 2)


OWN = """\
import time

import tensorflow as tf


def mine(size: int = 8):
    a = tf.ones((size, size))

    def step():
        time.sleep(0.1)
        return tf.matmul(a, a)

    return step
"""


@pytest.mark.real_worker
def test_a_run_of_own_code_is_resumed(tmp_path, monkeypatch):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    words = ("--set", "size=16", "--device", "CPU", "--mode", "eager", "--budget", "quick", "--json")
    broken = calling.begun(tmp_path, "run", f"{file}:mine", *words)
    assert any(line.startswith("measuring") for line in broken.stderr)
    time.sleep(0.5)
    broken.send_signal(signal.SIGINT)
    out, said = broken.communicate(timeout=60)
    assert broken.returncode == 130, said
    first = json.loads(out)
    assert 0 < first["rounds"] < 20 and first["status"] == "cancelled" and first["arms"][0]["n"]
    assert f"to continue: tuilab resume {first['run'][:8]}" in said

    gone_on = calling.run(tmp_path, "resume", "last", "--json")
    assert gone_on.returncode == 0, gone_on.stderr
    whole = json.loads(gone_on.stdout)
    assert (whole["run"], whole["status"]) == (first["run"], "ok")
    assert whole["scenario"] == first["scenario"]
    assert whole["scenario"]["file"] == f"{file}:mine" and whole["scenario"]["parameters"] == {"size": 16}
    [arm] = whole["arms"]
    assert arm["n"] == whole["rounds"] >= first["rounds"] + 20

    store = Store.open(tmp_path)
    kept = browse.entry(store, whole["run"]).brief
    store.close()
    assert (kept.rounds, kept.median_s) == (whole["rounds"], arm["median_s"])

    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    for _ in range(4):  # on a busy machine, two processes may not reach the requested precision
        once_more = calling.here("resume", "last")
        if once_more.returncode:
            break
    assert once_more.returncode == 2 and "complete" in once_more.stderr


def own_run(file: Path, at: str) -> RunState:
    began = begun(HERE, swept=False, scenario=Scenario("mine", {}, f"{file}:mine"), at=at)
    return folded(began, *rounds("r", 3, HERE))


def test_a_run_whose_code_has_changed_is_not_resumed(tmp_path):
    file = tmp_path / "own.py"
    with pytest.raises(InputError, match=r"own\.py.*a readable file"):
        check_code(own_run(file, "2026-11-21T00:00:00+00:00"))
    file.write_text(OWN)
    saved = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    check_code(own_run(file, saved.isoformat(timespec="seconds")))
    before = (saved - timedelta(seconds=5)).isoformat(timespec="seconds")
    with pytest.raises(InputError, match=r"own\.py.*the same code as when the run began"):
        check_code(own_run(file, before))
    check_code(folded(begun(HERE, swept=False), *rounds("r", 3, HERE)))


@pytest.mark.real_worker
def test_a_run_of_two_environments_resumes_in_both(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    both = ("--env", "plain=.", "--env", "off=.,TF_ENABLE_ONEDNN_OPTS=0")
    words = ("--device", "CPU", "--mode", "eager", "--budget", "quick", "--json")
    broken = calling.begun(tmp_path, "run", f"{file}:mine", *both, *words)
    assert any("starting process 2" in line for line in broken.stderr)
    broken.send_signal(signal.SIGINT)
    out, said = broken.communicate(timeout=60)
    assert broken.returncode == 130, said
    first = json.loads(out)
    assert first["status"] == "cancelled" and first["rounds"]

    gone_on = calling.run(tmp_path, "resume", "last", "--json")
    assert gone_on.returncode == 0, gone_on.stderr
    whole = json.loads(gone_on.stdout)
    assert (whole["run"], whole["status"]) == (first["run"], "ok")
    assert {host: line["settings"] for host, line in whole["machines"].items()} == {
        "plain": [], "off": ["TF_ENABLE_ONEDNN_OPTS=0"]
    }  # fmt: skip
    counts = {arm["host"]: arm["n"] for arm in whole["arms"]}
    before = {arm["host"]: arm["n"] for arm in first["arms"]}
    assert all(counts[host] > before[host] for host in ("plain", "off"))
    assert "over 3 processes" in whole["confidence"]["of"]
