"""While a run waits, the screen shows the elapsed time, updated every second without painting the run."""

import asyncio
import re
from pathlib import Path

import msgspec
import pytest
from textual.geometry import Region
from textual.widget import Widget

from tests.lab.test_state import lab_state, play
from tests.tui.lab import lab, opened, press, rest, text, until
from tests.tui.scripted import ScriptedRunner
from tests.tui.test_first_screen import words
from tuilab.lab.changes import Change
from tuilab.lab.state import LabState
from tuilab.model.events import ArmStatus, Block, FirstCalls, Progress, Round, RunStarted, Warming, WarmUp
from tuilab.model.requests import Measure
from tuilab.presentation import painter
from tuilab.presentation.status import status


def begun() -> LabState:
    made = lab_state()
    play(made, stop_after=1)
    return made


def arm(made: LabState) -> str:
    return next(iter(made.shown.arms))


def at(made: LabState, stage: str, done: float = 0.0, total: float = 0.0, unit: str = "") -> None:
    made.apply(Progress(run="run1", stage=stage, done=done, total=total, unit=unit, arm=arm(made)))


def round_of(made: LabState, index: int) -> None:
    made.apply(
        Round(run="run1", index=index, blocks=(Block(arm(made), 0, 1, 0.1, 0.1),), elapsed_s=0.1, timed_s=0.1)
    )


STAGES = ["building", "first call", "recording the placement", "warming up", "phases"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_shows_its_time_from_two_seconds_on_and_the_next_restarts(stage: str) -> None:
    made = begun()
    label, other = made.shown.arms[arm(made)].label, list(made.shown.arms)[1]
    made.clock.now += 7
    assert status(made).text == "preparing · 7 s", "a run without reports"
    at(made, stage)
    made.clock.now += 1.9
    assert status(made).text == f"{stage} · {label}"
    made.clock.now += 22.1
    assert status(made).text == f"{stage} · {label} · 24 s"
    assert status(made).stop and made.waiting
    at(made, STAGES[STAGES.index(stage) - 1])
    assert " s" not in status(made).text
    made.clock.now += 30
    made.apply(Progress(run="run1", stage=stage, arm=other))
    assert status(made).text == f"{stage} · {made.shown.arms[other].label}"


def test_a_repeated_message_is_one_stage_and_a_slow_block_shows_its_own_seconds() -> None:
    made = begun()
    for images in (0, 100, 200):
        at(made, "writing records", images, 1_000, "records")
        made.clock.now += 3
    assert status(made).text.startswith("writing records, 200 of 1,000 records")
    assert status(made).text.endswith(" · 9 s")
    at(made, "measuring", 1.5, 8.0, "s")
    made.clock.now += 4
    label = made.shown.arms[arm(made)].label
    assert status(made).text == f"measuring, 1.5 of 8.0 s · {label} · block 4 s"
    at(made, "measuring", 5.5, 8.0, "s")
    assert status(made).text == f"measuring, 5.5 of 8.0 s · {label}"


def test_an_overdue_round_is_reported() -> None:
    made = begun()
    for index in range(3):
        made.clock.now += 1.5
        round_of(made, index)
    assert "so far" not in status(made).text and not made.waiting
    made.clock.now += 12
    assert status(made).text.endswith("round 4: 12 s so far") and made.waiting


def test_finished_runs_and_replays_show_no_wait() -> None:
    over, replayed = lab_state(), begun()
    play(over)
    replayed.replay = "replay of a run"
    for made in (over, replayed):
        made.clock.now += 100
        assert not made.waiting and made.held_s == 0


class Hanging(ScriptedRunner):
    async def _play(self, request: Measure) -> None:
        self.holding = True
        first, *_ = self._batches(request)
        for event in first:
            self._on_event(event)
            if isinstance(event, RunStarted):
                self._on_event(Progress(run=event.run, stage="warming up", arm=event.arms[0].id))


async def test_the_seconds_tick_on_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painter, "TICK_S", 0.02)
    now = [100.0]
    app = lab(tmp_path, lab_state=lambda: LabState(clock=lambda: now[0], new_id=lambda: "run1"))
    async with opened(app, (120, 30)) as pilot:
        assert app.lab is not None and app.painter is not None
        app.lab.runner = Hanging(app.lab.receive)
        await app.lab.runner.start()
        await pilot.press("r")
        await until(pilot, lambda: "warming up · " in text(app))
        assert " s · x stops" not in text(app)
        now[0] += 24
        await until(pilot, lambda: "· 24 s · x stops" in text(app))
        now[0] += 1
        await until(pilot, lambda: "· 25 s · x stops" in text(app))


async def test_a_running_run_is_not_repainted_each_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(painter, "TICK_S", 0.01)
    app = lab(tmp_path, hold=3)
    async with opened(app, (120, 30)) as pilot:
        await press(pilot, app, "r")
        assert app.lab is not None and app.painter is not None
        assert app.lab.state.shown.running and app.lab.state.shown.rounds == 3
        drawn: list[Change] = []
        draw = app.painter._show
        monkeypatch.setattr(
            app.painter, "_show", lambda change, *told: (drawn.append(change), draw(change, *told))
        )
        await asyncio.sleep(0.2)
        assert drawn == []


async def test_a_stage_of_the_start_paints_only_the_widgets_that_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, painted, refresh = lab(tmp_path, warm=False), set[str](), Widget.refresh
    async with opened(app) as pilot:

        def recorded(widget: Widget, *regions: Region, **how: bool) -> Widget:
            painted.add(widget.id or str(widget))
            return refresh(widget, *regions, **how)

        monkeypatch.setattr(Widget, "refresh", recorded)
        app.runner._on_event(Warming(stage="loading the kernels", elapsed_s=3.0))
        await until(pilot, lambda: "loading the kernels" in text(app))
        await rest(pilot, app)
        assert painted == {"header", "AnswerPanel()"}  # both show the stage of the run


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_sweep_shows_its_stage_until_it_has_a_point(tmp_path: Path, size: tuple[int, int]) -> None:
    app = lab(tmp_path, hold=0)
    async with opened(app, size) as pilot:
        await press(pilot, app, "s")
        assert app.screen.views.key == "sweep"
        assert "size 1 of" in text(app) and "x stops." in text(app)
        assert "Nothing has been measured yet" not in text(app)
        run, (first, *others) = app.lab.state.shown.run, app.lab.state.shown.arms
        app.runner._on_event(FirstCalls(run=run, arm=first, point=0, first_s=0.3, second_s=0.002))
        app.runner._on_event(WarmUp(run=run, arm=first, point=0, samples_s=(0.002,)))
        app.runner._on_event(Progress(run=run, stage="first call", arm=others[0]))
        await until(pilot, lambda: "warming up: not counted" in text(app))
        assert re.search("No figure yet: first call, 2 of [0-9]", text(app))
        app.runner.let_go()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_answer_has_a_figure_of_each_device_while_the_rest_is_built(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    """Before the first round, the answer shows figures from the arms' warm-ups, marked as not counted. It
    shows the number of failed arms, but not their errors.
    """
    app = lab(tmp_path, hold=0)
    async with opened(app, size) as pilot:
        await press(pilot, app, "r")
        state = app.lab.state.shown
        graphs = [arm for arm in state.arms.values() if arm.arm.mode == "graph"]
        for arm, per_call_s in zip(graphs, (5.2e-4, 1.1e-3), strict=False):
            app.runner._on_event(
                FirstCalls(run=state.run, arm=arm.arm.id, point=0, first_s=0.3, second_s=0.02)
            )
            app.runner._on_event(WarmUp(run=state.run, arm=arm.arm.id, point=0, samples_s=(per_call_s,) * 5))
        broken = next(name for name, arm in state.arms.items() if arm.arm.mode != "graph")
        why = "UnimplementedError: Could not find compiler for platform"
        app.runner._on_event(ArmStatus(run=state.run, arm=broken, status="failed", reason=why))
        app.runner._on_event(Progress(run=state.run, stage="first call", arm=broken))
        await until(pilot, lambda: "First look (not counted)" in words(app))
        assert "CPU graph 520 µs and GPU graph resident 1.1 ms per call at best. First call" in words(app)
        assert "1 arm failed (A)." in words(app) and "UnimplementedError" not in words(app)
        app.runner.let_go()


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_the_first_line_of_every_screen_shows_doubts_about_a_run(
    tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line may omit the subject and shorten the title, but always shows the precision and the stop
    key.
    """
    badge = f"busy host, {'two speeds, ' * (width > 60)}± 14% (wanted ± 2%)"
    app = lab(tmp_path)
    async with opened(app, (width, 24)) as pilot:
        await press(pilot, app, "r")
        state, found = app.lab.state, app.lab.state.result()
        assert found is not None and found.confidence is not None
        doubtful = msgspec.structs.replace(found.confidence, badge=badge)
        monkeypatch.setattr(
            state, "result", lambda: msgspec.structs.replace(found, confidence=doubtful), raising=False
        )
        state.shown.workers = 20
        app.screen.drawing.show(Change.RUN)
        await until(pilot, lambda: badge in text(app).splitlines()[0])
        assert "done" in text(app).splitlines()[0]
        app.runner.hold = 3
        await press(pilot, app, "s")
        begun = "size 1 of 9 · warming up, 0.4 of 1.0 s · CPU graph, input copied · about 3 min left"
        short = "size 1 of 9 · about 3 min left"
        monkeypatch.setattr("tuilab.presentation.status.run_stage", lambda *_: begun.rpartition(" · ")[0])
        monkeypatch.setattr("tuilab.presentation.status.time_left", lambda *_: "about 3 min left")
        app.screen.drawing.show(Change.RUN)
        said = begun if width == 120 else short
        await until(pilot, lambda: f"{said} · x stops" in text(app).splitlines()[0])
        monkeypatch.undo()
        app.runner.let_go()
