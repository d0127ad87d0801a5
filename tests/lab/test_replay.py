"""At each position of a replay, the screen shows the result of all events up to that position, even if rounds
are packed.
"""

import asyncio
import random
import time

import msgspec
import pytest

from tests.made import MODES, folded, regular, started
from tuilab.analysis.summary import summarise
from tuilab.history.imports import BROKEN_OFF
from tuilab.history.runs import Piece
from tuilab.history.store import Store
from tuilab.lab.changes import Change
from tuilab.lab.playback import Playback
from tuilab.lab.replay import RUN, Replay, label, load, recorded
from tuilab.model import events as e
from tuilab.model.errors import InputError
from tuilab.model.run import RunState

ROUNDS = 3_000


def kept(folder) -> tuple[Store, list[e.Event]]:
    store = Store.open(folder)
    rounds = regular(ROUNDS)
    note = e.Log(run="r1", text="half", level="info")
    events = [
        started("r1", *MODES),
        *rounds[: ROUNDS // 2],
        note,
        *rounds[ROUNDS // 2 :],
        e.Finished(run="r1", status="ok"),
    ]
    number = 0
    for some in (events[:2_000], events[2_000:]):
        lines = [e.encode(event).rstrip() for event in some]
        store.append("r1", number, lines, None if number else started("r1", *MODES))
        number += len(some)
    assert sum(isinstance(part, Piece) for part in store.parts("r1")) >= 2
    return store, events


class Screen:
    """Receives the events of a replay, and counts the events that it receives one at a time after a rewind."""

    def __init__(self) -> None:
        self.state, self.single = RunState(), 0

    def receive(self, event: e.Event) -> None:
        self.single += 1
        self.state.apply(event)

    def rewind(self) -> None:
        self.state, self.single = RunState(), 0


async def at(replay: Replay, screen: Screen, round: int) -> RunState:
    replay.paused = True
    replay.seek(round)
    playing = asyncio.ensure_future(
        replay.play(screen.receive, screen.rewind, take=lambda rounds: screen.state.take(rounds))
    )
    async with asyncio.timeout(30):
        while replay._goal is not None:
            await asyncio.sleep(0)
    playing.cancel()
    return screen.state


def same(a: RunState, b: RunState) -> bool:
    return (a.rounds, a.timed_s, a.elapsed_s, a.status, a.arms, list(a.canaries), a.log) == (
        b.rounds, b.timed_s, b.elapsed_s, b.status, b.arms, list(b.canaries), b.log,
    )  # fmt: skip


async def test_every_position_of_a_replay_shows_the_state_of_its_events(tmp_path):
    store, events = kept(tmp_path)
    replay, screen = load(store, RUN + "r1"), Screen()
    assert replay.rounds == ROUNDS
    after = [number + 1 for number, event in enumerate(events) if isinstance(event, e.Round)]
    rng = random.Random(3)
    for round in [0, 1, 2, ROUNDS // 2, ROUNDS // 2 + 1, *rng.sample(range(ROUNDS), 6), ROUNDS - 1, ROUNDS]:
        state = await at(replay, screen, round)
        expected = events if round == ROUNDS else events[: after[round - 1] if round else 1]
        assert same(state, folded(*expected)), round
        assert (replay.round, replay.over) == (round, round == ROUNDS)
    await at(replay, screen, 0)
    await at(replay, screen, ROUNDS)
    assert screen.single < ROUNDS / 10, "whole pieces are applied at once"
    store.close()


async def test_a_recording_file_replays_like_its_run(tmp_path):
    from tuilab.history.recording import write

    store, events = kept(tmp_path)
    write(tmp_path / "r.jsonl", events)
    assert same(await at(load(store, str(tmp_path / "r.jsonl")), Screen(), ROUNDS), folded(*events))
    store.close()


async def test_an_interrupted_run_is_replayed_to_its_last_round(tmp_path):
    store, events = Store.open(tmp_path), [started("r1", *MODES), *regular(5)]
    store.append("r1", 0, [e.encode(event).rstrip() for event in events], events[0])
    replay, screen = load(store, RUN + "r1"), Screen()
    for round in (0, 1, 4, 5, 2):
        assert (await at(replay, screen, round)).rounds == replay.round == round
    store.close()


async def test_runs_of_the_history_are_offered_by_preset_or_file(tmp_path):
    store, _ = kept(tmp_path)
    store.append("empty", 0, [e.encode(started("empty", *MODES)).rstrip()], started("empty", *MODES))
    store.conclude("r1", "ok", "CPU graph is fastest.")
    [offer] = recorded(store)
    assert (offer.key, offer.label) == (RUN + "r1", "2026-11-21 00:00  stft-small")
    assert offer.detail == f"h, {ROUNDS} rounds. CPU graph is fastest."
    assert load(store, offer.key).rounds == ROUNDS
    store.close()


async def test_unreadable_rounds_are_reported_and_skipped(tmp_path):
    store, _ = kept(tmp_path)
    store.connection.execute("UPDATE pieces SET data = x'00' WHERE first = (SELECT MIN(first) FROM pieces)")
    (lost,) = store.connection.execute("SELECT rounds FROM pieces ORDER BY first LIMIT 1").fetchone()
    replay, screen = load(store, RUN + "r1"), Screen()
    for round, there in ((lost // 2, 0), (0, 0), (lost, 0), (lost + 1, 1), (ROUNDS, ROUNDS - lost)):
        state = await at(replay, screen, round)
        assert state.rounds == there
        assert sum("cannot be read" in line.text for line in state.log) == (round > 0)
    assert state.status == "ok"
    store.close()


async def test_rounds_are_not_shown_before_their_time():
    """The rounds were recorded 20 ms apart. On a busy machine they may be shown later, but never earlier."""
    screen, shown = Screen(), []
    begun = time.monotonic()

    def receive(event: e.Event) -> None:
        screen.receive(event)
        if isinstance(event, e.Round):
            shown.append((event.elapsed_s, time.monotonic() - begun))

    came = [msgspec.structs.replace(r, elapsed_s=0.02 * (r.index + 1)) for r in regular(5)]
    replay = Replay([started("r1", *MODES), *came], saved=False)
    replay.paused = False
    playing = asyncio.ensure_future(replay.play(receive, screen.rewind))
    async with asyncio.timeout(30):
        while not replay.over:
            await asyncio.sleep(0)
    playing.cancel()
    assert len(shown) == 5 and all(real >= 0.9 * elapsed for elapsed, real in shown), shown


def test_the_player_keeps_to_its_speeds_and_its_rounds():
    replay = Replay([started("r1", *MODES), *regular(4), e.Finished(run="r1", status="ok")], saved=False)
    assert (replay.paused, replay.speed, replay.round, replay.rounds, replay.over) == (
        False,
        1.0,
        0,
        4,
        False,
    )
    assert [(replay.faster(by), replay.speed)[1] for by in (1, 1, 9, -1, -9, 1)] == [2, 4, 16, 8, 0.25, 0.5]
    replay.pause()
    assert replay.paused
    replay.pause()
    assert not replay.paused
    moves = [(replay.step(by), replay.round, replay.over)[1:] for by in (2, -1, -9, 3, 1, 1, -1)]
    assert moves == [
        (2, False), (1, False), (0, False), (3, False), (4, True), (4, True), (3, False),
    ]  # fmt: skip
    assert replay.paused, "a step pauses"
    replay.seek(4)
    replay.pause()
    assert (replay.paused, replay.round, replay.over) == (False, 0, False), "at its end, a replay restarts"


def test_a_pause_between_rounds_is_shortened_and_divided_by_the_speed():
    def wait(elapsed_s: float, speed: float) -> float:
        [first] = regular(1)
        replay = Replay(
            [started("r1", *MODES), msgspec.structs.replace(first, elapsed_s=elapsed_s)], saved=False
        )
        assert replay._wait() == 0.0, "only rounds are paced"
        replay._hand(lambda event: None)
        replay.speed = speed
        return replay._wait()

    waits = [
        wait(*each) for each in ((0.1, 1.0), (0.1, 2.0), (0.25, 1.0), (9.0, 1.0), (9.0, 0.25), (-1.0, 1.0))
    ]
    assert waits == [0.1, 0.05, 0.25, 0.25, 1.0, 0.0]


async def test_a_stopped_run_of_the_history_continues_at_the_end_of_its_replay():
    for status, saved, expected in (
        ("cancelled", True, True), ("cancelled", False, False), ("ok", True, False),
        ("failed", True, False), ("broken off", True, True), (None, True, True),
    ):  # fmt: skip
        lost = status == "broken off"
        status = "failed" if lost else status
        ending = [e.Finished(run="r1", status=status, message=BROKEN_OFF * lost)] if status else []
        replay = Replay([started("r1", *MODES), *regular(2), *ending], saved)
        assert (replay.stopped, replay.continues) == (expected, False), "the replay has just begun"
        state = await at(replay, Screen(), 2)
        assert replay.continues is expected and state.status == (status or "cancelled")
    assert state.message == "the recording ends here"
    assert "After 2 rounds, the recording ends here." in summarise(state, ()).answer


def test_what_cannot_be_replayed_is_refused_by_name(tmp_path):
    store, events = kept(tmp_path / "data")
    assert label(events[0]) == "replay · h · 2026-11-21"
    with pytest.raises(InputError) as none:
        load(store, RUN + "none")
    assert str(none.value) == "run:none: got 'a file without a run'; expected a recording of a run"
    store.connection.execute("DROP TABLE runs")
    assert recorded(store) == []
    store.close()


class Shows:
    """A substitute for the lab's state that has only the parts that a replay uses."""

    def __init__(self) -> None:
        self.shown, self.replay, self.replay_continues, self.summing = RunState(), "", False, False

    def begin_replay(self, label: str, started: e.RunStarted) -> None:
        self.replay = label

    def rewind(self) -> None:
        self.shown = RunState()

    def take(self, rounds) -> Change:
        self.shown.take(rounds)
        return Change.RUN


async def test_the_player_needs_a_replay_and_warns_once_before_a_measurement_replaces_it():
    state, told = Shows(), []
    player = Playback(state, lambda event: state.shown.apply(event), told.append)
    assert not player.command(Replay.pause) and not player.end() and not player.to_the_end()
    assert not player.spare()
    events = [started("r1", *MODES), *regular(9), e.Finished(run="r1", status="cancelled")]
    for saved in (False, True):
        player.begin(replay := Replay(events, saved))
        assert player.spare() and not player.spare()
        assert player.command(Replay.pause) and replay.paused and told[-1] == Change.WORKER
        assert player.to_the_end() is saved, "only a run of the history can be continued"
    async with asyncio.timeout(30):
        while state.shown.rounds < 9:
            await asyncio.sleep(0)
    assert replay.over and not player.to_the_end()
    assert player.end() and player.replay is None and not player.end()
    assert (state.shown.status, state.shown.message) == ("cancelled", ""), "the run had ended"
    player.begin(Replay(events, saved=False))
    state.rewind()
    state.shown.apply(events[0])
    assert player.end() and state.shown.message == "the replay was stopped"
