import re
from dataclasses import replace

import msgspec
import pytest

from tests.tui.data import ARMS, run_result, run_state
from tests.tui.lab import PRESETS
from tests.tui.scripted import CPU_MACHINE, GPU_MACHINE, Script
from tuilab.catalogue.load import Catalogue, read_file
from tuilab.lab import Lab
from tuilab.lab.changes import Change
from tuilab.lab.ghosts import Ghosts, ghost
from tuilab.lab.state import LabState, Place, overall
from tuilab.model.events import (
    Block,
    Finished,
    FirstCalls,
    Log,
    Node,
    Placement,
    Point,
    Progress,
    Ready,
    Refused,
    RoofsKnown,
    Round,
    RunStarted,
    Warming,
    WorkerExited,
    WorkKnown,
)
from tuilab.model.preset import Preset
from tuilab.model.result import Crossover
from tuilab.model.roofline import DeviceRoofs, Roofs, Work
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis, Sweep
from tuilab.presentation.answer import answer, next_steps
from tuilab.presentation.status import status

SMALL = read_file(PRESETS / "stft-small.toml")
MEDIUM = read_file(PRESETS / "stft-medium.toml")
assert isinstance(SMALL, Preset) and isinstance(MEDIUM, Preset)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def lab_state(machine=GPU_MACHINE) -> LabState:
    numbers = iter(range(1, 100))
    made = LabState(clock=Clock(), new_id=lambda: f"run{next(numbers)}")
    made.presets.load(Catalogue((SMALL, MEDIUM)))
    made.choose(SMALL)
    if machine is not None:
        made.apply(Ready(machine=machine, import_s=2.0, start_s=0.1))
    return made


def play(made: LabState, rounds: int = 6, stop_after: int | None = None, **asked) -> None:
    script = Script(made.request(**asked), made.machine or CPU_MACHINE, rounds)
    for index, batch in enumerate(script.batches()):
        if index == stop_after:
            return
        for event in batch:
            made.apply(event)


def test_a_run_has_a_verdict_only_with_the_settings_of_the_preset():
    made = lab_state()
    made.change(made.settings.with_value("samples", 512))
    play(made)
    assert made.verdicts == {}
    made.undo()
    play(made)
    assert made.shown.rounds == 6 and made.shown.status == "ok" and not made.running
    assert made.verdicts["stft-small"] in ("confirmed", "refuted", "undecided")
    # Six rounds are too few for the requested precision, so the status is not green.
    assert status(made).tone == "doubtful"
    assert re.fullmatch(r"done, 6 rounds · .*± \d+% \(wanted ± 5%\)", status(made).text)


def test_a_sweep_names_its_current_size_and_the_time_left():
    made = lab_state()
    request = made.request(sweep=Sweep(axes=(Axis("samples", (256, 1024, 4096)),)))
    points = tuple(Point(i, {"samples": size}) for i, size in enumerate((256, 1024, 4096)))
    made.apply(
        RunStarted(
            run=request.id, scenario=request.scenario, arms=request.arms, points=points, budget=request.budget,
            machine=GPU_MACHINE, at="2026-01-05T10:00:00Z", sweep=request.sweep,
        )
    )  # fmt: skip
    arm = request.arms[0].id
    made.apply(FirstCalls(run=request.id, arm=arm, point=0, first_s=0.1, second_s=0.1))
    assert status(made).text.startswith("size 1 of 3 · ") and status(made).share == 0
    made.clock.now += 10
    made.apply(FirstCalls(run=request.id, arm=arm, point=1, first_s=0.1, second_s=0.1))
    now = status(made)
    assert now.text.startswith("size 2 of 3 · ") and now.text.endswith("at least 20 s left")
    assert now.share == pytest.approx(1 / 3)
    blocks = (Block(arm, 0, 1, 0.5), Block(arm, 1, 1, 2.0))
    made.apply(Round(run=request.id, index=0, blocks=blocks, elapsed_s=2.5))
    made.clock.now += 10
    made.apply(FirstCalls(run=request.id, arm=arm, point=2, first_s=0.1, second_s=0.1))
    # A size four times as large takes four times as long: 4 × (0.1 + 2) s for its calls. So far, the calls
    # took 2.7 s of 20 s.
    assert status(made).text.endswith("about 62 s left")
    made.clock.now += 50
    assert status(made).text.endswith("about 12 s left"), (
        "the remaining time falls while that size is measured"
    )


def test_a_resumed_sweep_reckons_with_the_sizes_and_seconds_of_its_new_process():
    """Of three sizes, the first is finished, the second too imprecise, and the third not measured. The last
    two take about 26 s each.
    """
    made, sizes = lab_state(), (256, 1024, 4096)
    request = made.request(sweep=Sweep(axes=(Axis("samples", sizes),)))
    points = tuple(Point(i, {"samples": size}) for i, size in enumerate(sizes))
    started = RunStarted(
        run=request.id, scenario=request.scenario, arms=request.arms, points=points, budget=request.budget,
        machine=GPU_MACHINE, at="2026-01-05T10:00:00Z", sweep=request.sweep,
    )  # fmt: skip
    made.apply(started)
    arm = request.arms[0].id
    for point in (0, 1):
        made.apply(FirstCalls(run=request.id, arm=arm, point=point, first_s=0.1, second_s=0.1))
        made.apply(Round(run=request.id, index=point, blocks=(Block(arm, point, 2, 2.0),), elapsed_s=2.5))
    made.apply(Finished(run=request.id, status="cancelled"))
    made.clock.now += 600
    made.expect(msgspec.structs.replace(request, worker=1), made.shown)
    made.apply(msgspec.structs.replace(started, points=points[1:], worker=1))
    made.apply(FirstCalls(run=request.id, arm=arm, point=1, first_s=0.1, second_s=0.1))
    assert status(made).text.startswith("size 1 of 2 · ") and "left" not in status(made).text
    made.clock.now += 26
    made.apply(Round(run=request.id, index=2, blocks=(Block(arm, 1, 2, 2.0),), elapsed_s=2.5))
    made.apply(FirstCalls(run=request.id, arm=arm, point=2, first_s=0.1, second_s=0.1))
    assert status(made).text.startswith("size 2 of 2 · "), status(made).text
    left = re.search(r"about (\d+) s left", status(made).text)
    assert left is not None and 20 <= int(left[1]) <= 60, status(made).text


def test_the_time_left_ignores_a_size_that_the_run_has_not_announced():
    made, sizes = lab_state(), (256, 1024, 4096)
    request = made.request(sweep=Sweep(axes=(Axis("samples", sizes),)))
    points = tuple(Point(i, {"samples": size}) for i, size in enumerate(sizes))
    made.apply(
        RunStarted(
            run=request.id, scenario=request.scenario, arms=request.arms, points=points, budget=request.budget,
            machine=GPU_MACHINE, at="2026-01-05T10:00:00Z", sweep=request.sweep,
        )
    )  # fmt: skip
    arm = request.arms[0].id
    for point in (0, 7, 1):
        made.apply(WorkKnown(run=request.id, arm=arm, point=point, work=Work(flop=1e6)))
        made.apply(FirstCalls(run=request.id, arm=arm, point=point, first_s=0.1, second_s=0.1))
        made.apply(Round(run=request.id, index=point, blocks=(Block(arm, point, 2, 2.0),), elapsed_s=2.5))
    assert "size 3 of 3" in status(made).text


def test_the_time_left_of_a_sweep_follows_the_growth_of_its_work():
    """The work of attention grows with the square of the tokens, which the times of small calls do not yet
    show.
    """
    made, sizes = lab_state(), (16, 256, 4096, 65536)
    request = made.request("quick", sweep=Sweep(axes=(Axis("samples", sizes),)))
    points = tuple(Point(i, {"samples": size}) for i, size in enumerate(sizes))
    made.apply(
        RunStarted(
            run=request.id, scenario=request.scenario, arms=request.arms, points=points, budget=request.budget,
            machine=CPU_MACHINE, at="2026-01-05T10:00:00Z", sweep=request.sweep,
        )
    )  # fmt: skip
    arm = next(arm.id for arm in request.arms if arm.device == "CPU:0")
    devices = {"CPU:0": DeviceRoofs(peaks={"float32": 1e11})}
    roofs = Roofs(
        machine=CPU_MACHINE.key, at="2026-01-05T10:00:00Z", seconds=3.0, sync_s=1e-6, devices=devices
    )
    made.apply(RoofsKnown(run=request.id, roofs=roofs))
    for point, size in enumerate(sizes[:2]):
        made.apply(WorkKnown(run=request.id, arm=arm, point=point, work=Work(flop=256.0 * size**2)))
        made.apply(FirstCalls(run=request.id, arm=arm, point=point, first_s=0.1, second_s=1e-4))
        made.clock.now += 3
    # A call with 65,536 tokens takes 1.1e12 FLOP, so 11 s. At least five such calls remain, plus 3 s for each
    # size.
    assert re.search("at least (5[5-9]|6[0-4]) s left", status(made).text)


def test_earlier_runs_of_a_workload_are_ghosts_unless_they_have_few_rounds():
    made = lab_state()
    for rounds in (6, 2, 6, 6, 6, 6):
        play(made, rounds=rounds)
    assert [g.run for g in made.ghosts.under(made.shown)] == ["run5", "run4", "run3"]


def test_pinned_runs_of_another_workload_and_sweeps_are_not_drawn():
    pinned, shown = run_state(6), replace(run_state(6), run="shown")
    assert pinned.scenario is not None
    other = replace(pinned, scenario=msgspec.structs.replace(pinned.scenario, workload="other"))
    swept = replace(pinned, sweep=Sweep(axes=(Axis("samples", (256, 512)),), refine=False))
    assert [Ghosts(pinned=[each]).under(shown) for each in (pinned, other, swept)] == [[pinned], [], []]


def test_sweeps_and_runs_without_rounds_do_not_become_ghosts():
    made = lab_state()
    play(made, rounds=6, sweep=Sweep(axes=(Axis("samples", (256, 512)),), refine=False))
    play(made, rounds=1)
    play(made, rounds=6)
    assert made.ghosts.kept == [] and made.shown.rounds == 6
    play(made, rounds=6)
    assert [(g.run, g.sweep) for g in made.ghosts.kept] == [("run3", None)]


def test_a_ghost_keeps_only_the_samples():
    state = run_state(20)
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=(Node("n", "Mul", "CPU:0"),)))
    left = ghost(state)
    assert (left.run, left.scenario, left.rounds) == (state.run, state.scenario, 20)
    for name, arm in state.arms.items():
        cell, kept = arm.cells[0], left.arms[name].cells[0]
        assert (kept.samples, kept.rounds) == (cell.samples, cell.rounds)
        assert not kept.latencies and not kept.calls and not left.arms[name].placement
    assert state.arms[ARMS[0].id].placement and state.arms[ARMS[0].id].cells[0].latencies


def test_undo_and_redo_restore_settings():
    made = lab_state()
    first = made.settings
    second = first.with_value("samples", 512)
    assert made.change(second) and not made.change(second)
    assert made.undo() and made.settings == first
    assert made.redo() and made.settings == second
    assert not made.redo()
    made.undo()
    made.change(first.with_value("samples", 1024))
    assert not made.redo(), "a new change leaves nothing to redo"


def test_a_replay_of_something_else_than_the_open_preset_has_its_own_title():
    made = lab_state()
    play(made)
    assert made.title == made.settings.title
    made.choose(MEDIUM)
    made.replay = "replay"
    assert made.title == "stft-small" and made.settings.title != made.title
    made.replay = ""
    assert made.title == made.settings.title


def test_going_back_restores_the_settings_and_an_ended_run():
    made = lab_state()
    play(made)
    ended = made.place
    assert made.replay_is_here and not made.go_back(ended), "the settings are still those of the place"
    made.choose(MEDIUM)
    assert not made.replay_is_here
    play(made, stop_after=6)
    running = made.place
    assert made.go_back(ended) and not made.redo()
    assert (made.settings, made.past, made.shown) == (ended.settings, [*ended.past], ended.shown)
    assert made.go_back(running) and made.settings == running.settings and made.shown.run == ""
    assert not made.go_back(Place(None, (), RunState(), ""))


def test_events_of_a_replaced_run_change_nothing():
    made = lab_state()
    old = Script(made.request(), GPU_MACHINE, 4)
    new = Script(made.request(), GPU_MACHINE, 4)
    batches = list(old.batches())
    for batch in list(new.batches())[:6]:
        for event in batch:
            made.apply(event)
    before = made.shown.version
    for event in batches[8]:
        assert made.apply(event) == Change.NOTHING and not made.apply(event)
    assert made.shown.run == "run2" and made.shown.version == before
    made.apply(Finished(run="run1", status="cancelled"))
    assert made.asked == "run2"


def test_the_state_says_what_the_worker_does():
    made = lab_state(machine=None)
    made.apply(Warming(stage="importing TensorFlow", elapsed_s=3.0))
    assert status(made).text == "importing TensorFlow… 3 s"
    made.clock.now += 2
    assert status(made).text == "importing TensorFlow… 5 s"
    made.apply(Ready(machine=CPU_MACHINE, import_s=5, start_s=0))
    assert status(made).text == "ready, {run} measures" and not made.waiting


def test_a_worker_that_dies_before_it_is_ready_stays_down():
    made = lab_state(machine=None)
    made.apply(Warming(stage="importing TensorFlow", elapsed_s=1.0))
    made.apply(WorkerExited(code=1, message="the worker ended with code 1; its last output: no module"))
    assert status(made).tone == "bad" and "no module" in status(made).text
    assert "{run} starts a fresh worker" in answer(made).detail


def test_a_worker_that_dies_in_a_run_is_replaced_and_its_rounds_are_kept():
    made = lab_state()
    play(made, stop_after=20)
    rounds = made.shown.rounds
    made.apply(WorkerExited(code=-11, message="the worker was killed by SIGSEGV"))
    made.apply(Finished(run="run1", status="failed", message="the worker was killed by SIGSEGV"))
    assert made.shown.rounds == rounds > 0 and not made.running
    assert made.worker.phase == "starting"
    assert "SIGSEGV" in answer(made).detail
    assert any("SIGSEGV" in line.text for line in made.log)


def test_progress_gives_the_finished_share():
    made = lab_state()
    play(made, stop_after=1)
    made.apply(Progress(run="run1", stage="writing records", done=340, total=1000, unit="records"))
    assert status(made).text == "writing records, 340 of 1,000 records"
    assert status(made).stop
    made.apply(Progress(run="run1", stage="building", done=1, total=4))
    assert status(made).text == "building, 25%"


def test_refusals_and_log_lines_are_in_a_log_of_limited_length():
    made = lab_state()
    assert made.apply(Log(text="hello")) == Change.LOG
    assert made.apply(Refused(request="q", message="no such op")) == Change.LOG
    assert [line.text for line in made.log] == ["hello", "no such op"]
    for index in range(100_500):
        made.apply(Log(text=str(index)))
    assert len(made.log) <= 100_000 and made.log[-1].text == "100499"


def test_a_failed_summary_is_reported_and_the_samples_stay(monkeypatch):
    import tuilab.analysis.summary as summary

    def fails(*_, **__):
        raise ZeroDivisionError("of ours")

    made = lab_state()
    monkeypatch.setattr(summary, "summarise", fails)
    play(made)
    assert made.result() is None and made.shown.rounds == 6
    assert any("ZeroDivisionError" in line.text for line in made.log)


def test_a_replay_is_labelled_and_has_the_settings_of_its_run():
    made = lab_state()
    request = made.request()
    started = next(iter(Script(request, CPU_MACHINE, 2).batches()))[0]
    assert isinstance(started, RunStarted)
    made.choose(MEDIUM)
    made.begin_replay("replay · laptop · 2026-01-05", started)
    assert made.settings.preset is SMALL
    made.apply(started)
    assert "replay · laptop · 2026-01-05" in status(made).text
    made.choose(MEDIUM)
    assert made.replay == ""


def test_several_claims_have_one_overall_verdict():
    assert overall(["confirmed", "refuted"]) == "refuted"
    assert overall(["confirmed", "untestable"]) == "confirmed"
    assert overall(["confirmed", "undecided"]) == "undecided"
    assert overall(["untestable"]) == "untestable"


def test_before_a_run_the_answer_says_what_it_would_measure():
    made = lab_state()
    said = answer(made)
    assert said.sentence.startswith("Why isn't this using my GPU") and "{presets.open} times" in said.sentence
    assert "{run} measures" in said.detail and "One frame of 256 points" in said.detail


def test_undo_stops_at_the_first_settings():
    made = lab_state()
    first = made.settings
    assert not made.undo() and made.settings is first and not made.future
    assert made.change(first.with_value("samples", 8192)) and not made.change(made.settings)
    assert made.undo() and made.settings == first and not made.undo()


def test_default_values_come_from_the_document_or_the_workload():
    made = lab_state()
    assert made.presets.usual(SMALL.name, "stft")["samples"] == SMALL.parameters["samples"]
    assert made.presets.usual("none", "stft")["samples"] != SMALL.parameters["samples"]
    # A preset with this name but another workload is a different preset.
    assert (
        made.presets.usual(SMALL.name, "matmul").keys() >= {"m", "k", "n"}
        and made.presets.usual("x", "none") is None
    )


def test_a_requested_preset_is_chosen_and_a_missing_one_reported():
    made = lab_state()
    lab = Lab(state=made)
    assert lab.open_first(MEDIUM.name) == "" and made.settings.preset is MEDIUM
    assert "There is no preset 'x'" in lab.open_first("x")
    assert lab.open_first("") == "" and made.settings.preset is made.presets.all[0]


def test_a_crossover_belongs_to_the_preset_that_was_swept():
    made = lab_state()
    assert made.crossover is None
    sizes = Axis("samples", tuple(2**n for n in range(8, 25, 2)))
    made.shown = run_state()
    made.shown.sweep = Sweep(axes=(sizes,))
    found = Crossover(a="a", b="b", at=4096.0, ci95=None, status="found", sentence="")
    none = msgspec.structs.replace(found, at=None, status="none")
    swept = msgspec.structs.replace(run_result(), preset=SMALL.name, crossovers=(none, found))
    made._results = {(made.shown.run, made.shown.version): swept}
    assert made.crossover is found
    made.choose(MEDIUM)
    assert made.crossover is None


def test_during_a_summary_the_previous_one_of_the_run_is_shown():
    made = lab_state()
    play(made)
    before = made.result()
    assert before is not None
    made.shown.version += 1
    made.summing = True
    assert made.result() is before
    made.shown.run = "another"
    assert made.result() is None


def test_further_processes_are_counted_and_a_continued_run_is_running():
    made = lab_state()
    play(made, budget="quick")
    again = made.shown
    assert status(made).text.startswith("done, 6 rounds")
    made.budget = "publish"
    more = made.further()
    assert more is not None
    made.expect(more)
    assert status(made).stop and "waiting for the worker" in status(made).text
    for batch in [*Script(more, GPU_MACHINE, 6).batches()][:-1]:
        for event in batch:
            made.apply(event)
    assert made.shown is again and made.shown.running and made.shown.rounds == 12
    assert (status(made).text, status(made).share) == (
        f"process 2 of {more.budget.workers}", 1 / more.budget.workers,
    )  # fmt: skip
    made.apply(Finished(run=more.id, status="cancelled"))
    assert made.shown.rounds == 12 and not status(made).stop


@pytest.mark.parametrize("sweep", [None, Sweep(axes=(Axis("samples", (256, 1024, 4096)),))])
def test_a_stopped_run_continues_only_with_equal_settings(sweep):
    made = lab_state()
    assert made.further() is None
    for batch in Script(made.request(sweep=sweep), GPU_MACHINE, 6).batches():
        for event in batch:
            made.apply(event)
        if made.shown.rounds == 3:
            break
    assert made.further() is None, "the run is still in progress"
    made.apply(Finished(run=made.shown.run, status="cancelled"))
    more = made.further()
    assert more is not None and more.id == made.shown.run and more.worker
    assert bool(more.points) == (sweep is not None)
    assert next_steps(made)[0] == f"{{run}} {'measures 3 imprecise sizes' if sweep else 'continues this run'}"
    if sweep:  # keep only the first size, as if the sweep had been stopped after it
        for arm in made.shown.arms.values():
            arm.cells = {point: cell for point, cell in arm.cells.items() if point == 0}
        assert next_steps(made)[0].endswith("measures the 2 sizes left and 1 imprecise size")
    made.change(made.settings.with_value("samples", 512))
    assert made.further() is None


def test_an_imprecise_sweep_is_repeated_as_a_sweep():
    made = lab_state()
    play(made, rounds=2, sweep=Sweep(axes=(Axis("samples", (256, 512)),), refine=False))
    assert status(made).tone == "doubtful"
    assert next_steps(made)[0] == "{budget}, then {sweep} measures longer"
    play(made, rounds=2)
    assert "{sweep} measures longer" not in next_steps(made)[0]


@pytest.mark.parametrize(("status", "logged"), [("failed", ["no memory"]), ("cancelled", []), ("ok", [])])
def test_only_a_failure_of_a_run_that_is_not_shown_is_logged(status, logged):
    made = lab_state()
    made.apply(Finished(run="other", status=status, message="no memory"))
    assert [line.text for line in made.log if line.level == "error"] == logged
    assert made.worker.message == "".join(logged)
