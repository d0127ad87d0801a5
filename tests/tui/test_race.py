from types import SimpleNamespace

import msgspec

from tests import made
from tests.tui.data import run_state
from tests.tui.lab import lab, opened, press, rest, text, until
from tuilab.analysis.summary import summarise
from tuilab.model.arms import Arm
from tuilab.model.events import WorkKnown
from tuilab.model.roofline import Work
from tuilab.presentation.race import Racer, racers
from tuilab.presentation.view_options import ViewOptions
from tuilab.tui.panels.replay_strip import ReplayStrip
from tuilab.tui.views.compare import Compare
from tuilab.tui.widgets.race import FIRST_S, LAST_S, Race, lanes

RACERS = (
    Racer(Arm("GPU:0", "graph"), "GPU graph", 1e-4),
    Racer(Arm("CPU:0", "graph"), "CPU graph", 4e-4, "gpu-09, 2026-01-02"),
)


def filled(elapsed: float) -> list[int]:
    lines = ["".join(part for part, _ in line) for line in lanes(RACERS, {}, elapsed, 100)]
    assert all(len(line) <= 100 for line in lines)
    assert "1,000 calls each at the measured median, slowed 30×" in lines[0]
    assert "CPU graph (recorded: gpu-09, 2026-01-02)" in lines[2]
    return [line.count("█") for line in lines[1:]]


def test_each_racer_has_its_own_pace_and_recordings_are_labelled():
    half, end, late = filled(FIRST_S / 2), filled(FIRST_S), filled(LAST_S)
    assert half[0] == end[0] // 2 and end[0] == late[0]
    assert abs(end[1] - end[0] / 4) <= 1 and end[1] < late[1] < late[0]


async def test_the_arms_race_in_compare_and_a_recording_of_another_machine_joins(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "enter c")
        state = app.screen.lab.state
        other = run_state(12, run="old")
        other.machine = msgspec.structs.replace(other.machine or state.machine, host="elsewhere")
        other.scenario, other.at = state.shown.scenario, "2026-01-02T10:00:00Z"
        state.ghosts.pinned = [other]
        found = racers(state, ViewOptions())
        assert {r.recorded for r in found} == {"", "elsewhere, 2026-01-02"}
        assert [r.seconds for r in found] == sorted(r.seconds for r in found)
        assert len([r for r in found if r.recorded]) == 2, "one recorded lane for each kind of device"
        view = app.screen.query_one(Compare)
        view.take_focus()
        await press(pilot, app, "v")
        assert view.query_one(Race).display and "calls each at the measured median" in text(app)
        assert "recorded: elsewhere, 2026-01-02" in text(app)
        await press(pilot, app, "escape")
        assert not view.query_one(Race).display
        state.ghosts.pinned = []
        await press(pilot, app, "R enter")
        await until(pilot, lambda: state.shown.status == "ok")
        await press(pilot, app, "c")
        await view.run_action("race")
        assert view.query_one(Race).display
        app.screen.query_one(ReplayStrip).focus()
        await press(pilot, app, "comma home")
        assert state.shown.rounds == 0 and not view.query_one(Race).display, (
            "the lanes disappear before the first round"
        )
        await view.run_action("race")
        await rest(pilot, app)
        assert "No arm has been timed yet." in text(app)


def test_only_arms_that_do_the_same_work_race():
    small, large, other = (Arm("CPU:0", "graph", variant=name) for name in ("zip", "zip-more", "unzip"))
    state = made.folded(made.started("r1", small, large, other), *made.rounds("r1", 9, small, large, other))
    for arm, kind in ((small, "compresses"), (large, "compresses"), (other, "inflates")):
        state.apply(WorkKnown(run="r1", arm=arm.id, point=0, work=Work(flop=None, does=kind)))
    shown = SimpleNamespace(
        result=lambda: summarise(state), shown=state, ghosts=SimpleNamespace(under=lambda _: [state])
    )
    state.machine, there = msgspec.structs.replace(state.machine, host="elsewhere"), state.machine
    lab_state = SimpleNamespace(**vars(shown) | {"shown": SimpleNamespace(arms=state.arms, machine=there)})
    found = racers(lab_state, SimpleNamespace(drawn_arms=lambda _: set(state.arms)))
    assert {r.arm for r in found if not r.recorded} == {small, large}
    assert {r.arm for r in found if r.recorded} <= {small, large} != set()
