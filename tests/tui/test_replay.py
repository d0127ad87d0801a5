"""The keys of a replay: pause, step, seek, speed. No key ends a replay by accident."""

import asyncio
import subprocess
import sys

import pytest

from tests.tui.lab import PRESETS, lab, opened, press, rest, text, until
from tests.tui.scripted import CPU_MACHINE, Script
from tuilab.lab.changes import Change
from tuilab.lab.presets import find_preset
from tuilab.lab.replay import SPEEDS, Replay
from tuilab.lab.settings import choose
from tuilab.lab.state import LabState
from tuilab.model.events import Event, Finished, Round
from tuilab.tui.keys import spoken
from tuilab.tui.panels.replay_strip import KEYS, ReplayStrip

ROUNDS = 20


async def recorded(pilot, app):
    await press(pilot, app, "r")
    made = app.screen.lab
    made.state.put_away()
    await pilot.press("R")
    await rest(pilot, app)
    await pilot.press("enter")
    await until(pilot, lambda: made.playback.replay)
    await until(pilot, lambda: made.state.shown.status == "ok")
    await rest(pilot, app)
    return made.playback.replay


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.long)])
async def test_a_replay_steps_and_seeks_and_shows_its_position(tmp_path, size):
    app = lab(tmp_path, rounds=ROUNDS)
    async with opened(app, size) as pilot:
        replay = await recorded(pilot, app)
        state = app.screen.lab.state
        full = state.result()
        strip = app.focused
        assert isinstance(strip, ReplayStrip) and f"round {ROUNDS} of {ROUNDS}" in text(app)
        assert any(strip.render_line(0).text.rstrip().endswith(spoken(strip, words)) for words in KEYS), (
            "a hint is cut off"
        )
        await press(pilot, app, "comma comma")
        assert state.shown.rounds == ROUNDS - 2 and f"round {ROUNDS - 2} of {ROUNDS}" in text(app)
        assert state.shown.running and replay.paused
        await press(pilot, app, "full_stop")
        assert state.shown.rounds == ROUNDS - 1
        await press(pilot, app, "left")
        assert state.shown.rounds == ROUNDS - 3
        await press(pilot, app, "home")
        assert state.shown.rounds == 0 and state.shown.arms
        await press(pilot, app, "end")
        assert state.shown.status == "ok"
        assert state.result() == full, "the result does not depend on the way to this position"
        assert len(app.runner.measured) == 1
        await press(pilot, app, ["less_than_sign"] * len(SPEEDS))
        assert replay.speed == SPEEDS[0] and f"{SPEEDS[0]:g}×" in text(app)
        await pilot.press("space")  # at the end, space starts the replay again
        await until(pilot, lambda: 0 < state.shown.rounds < ROUNDS)
        await press(pilot, app, "space")
        stood = state.shown.rounds
        await asyncio.sleep(0.1)
        assert state.shown.rounds == stood and replay.paused
        await press(pilot, app, ["greater_than_sign"] * len(SPEEDS))
        assert replay.speed == SPEEDS[-1]


async def test_x_ends_a_replay_and_sliders_do_not_measure_and_r_asks(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await recorded(pilot, app)
        state = app.screen.lab.state
        await press(pilot, app, "comma x")
        assert not app.screen.query(ReplayStrip) and state.shown.status == "cancelled"
        rounds = state.shown.rounds
        await press(pilot, app, "full_stop")
        assert state.shown.rounds == rounds, "the replay's keys no longer work"
        await press(pilot, app, "R enter")
        await until(pilot, lambda: state.shown.status == "ok")
        await press(pilot, app, "i right u U z s")
        assert len(app.runner.measured) == 1 and state.replay
        await press(pilot, app, "r")
        assert len(app.runner.measured) == 2 and not app.screen.query(ReplayStrip)


async def test_rounds_are_replayed_at_the_chosen_speed():
    """Compares the duration of the same pauses at two speeds."""
    request = LabState(settings=choose(find_preset(str(PRESETS / "stft-small.toml")))).request("quick")
    events = [event for batch in Script(request, CPU_MACHINE, rounds=6).batches() for event in batch]

    async def took(speed: float) -> float:
        replay, loop = Replay(events, saved=False), asyncio.get_running_loop()
        replay.speed = speed
        ended: asyncio.Future[None] = loop.create_future()
        shown: list[Event] = []

        def receive(event: Event) -> None:
            shown.append(event)
            if isinstance(event, Finished):
                ended.set_result(None)

        begun = loop.time()
        playing = asyncio.ensure_future(replay.play(receive, shown.clear))
        await ended
        playing.cancel()
        assert sum(isinstance(event, Round) for event in shown) == 6
        return loop.time() - begun

    assert await took(0.5) > 2 * await took(8.0)


async def test_a_replay_of_a_missing_preset_offers_no_other_settings(tmp_path):
    """The sliders show another preset, because this lab does not know the replay's preset."""
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        await recorded(pilot, app)
        state = app.screen.lab.state
        assert "r measures these settings on this machine" in text(app)
        state.shown.preset = "mine"
        app.screen.drawing.show(Change.RUN)
        await rest(pilot, app)
        assert "next: x ends the replay" in text(app)
        app.screen.lab.playback._warned = False
        await press(pilot, app, "r")
        (said,) = (note.message for note in app._notifications)
        assert said == f"This is a replay. Press r again to measure {state.settings.title} on this machine."


async def test_a_stopped_run_is_continued_from_its_replay(tmp_path):
    """The first `r` shows the rest of the replay, so that no round is measured twice."""
    app = lab(tmp_path, rounds=ROUNDS, hold=6)
    async with opened(app) as pilot:
        state = app.screen.lab.state
        await pilot.press("r")
        await until(pilot, lambda: state.shown.rounds == 6)
        await pilot.press("x")
        await until(pilot, lambda: state.shown.status == "cancelled")
        run = state.shown.run
    app = lab(tmp_path)
    async with opened(app) as pilot:
        state, playback = app.screen.lab.state, app.screen.lab.playback
        await pilot.press("R")
        await rest(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: playback.replay and state.shown.run == run)
        await press(pilot, app, "comma home r")
        await until(pilot, lambda: state.shown.status == "cancelled" and state.shown.rounds == 6)
        assert state.replay and not app.runner.measured
        assert "next: r continues this run" in text(app)
        await press(pilot, app, "r")
        (more,) = app.runner.measured
        assert more.id == run and more.worker and not state.replay and state.shown.rounds > 6


def test_an_unopened_views_key_is_named_in_a_sentence():
    """The next steps after a sweep name a key of the Sweep view, even if the view was never opened."""
    words = "from tuilab.tui.keys import worded; print(worded('{sweep.measure} {view-sweep}', {}))"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["enter", "3"]
