"""Recorded runs, of the history or of a file, played as if live and always labelled as what they are."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tuilab.history import recording
from tuilab.history.store import Store
from tuilab.model.errors import InputError
from tuilab.model.events import Event, Finished, Round, RunStarted

MOST = 200
"""Runs of the history that are offered for a replay."""
RUN = "run:"
"""In front of the id of a run of the history, where a path would else stand."""
LONGEST_S = 0.25
"""Between two events, however far apart they were."""


def label(started: RunStarted) -> str:
    """`replay · gpu-07 · 2026-01-05`."""
    return f"replay · {started.machine.host} · {started.at[:10]}"


class Replay:
    """Plays the first run of a recording."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = list(first_run(events))

    @property
    def started(self) -> RunStarted | None:
        """How the run began, None where the recording holds none."""
        return next((e for e in self._events if isinstance(e, RunStarted)), None)

    async def play(self, receive: Callable[[Event], None], speed: float = 1.0) -> None:
        """Hand every event to `receive`, rounds at the pace at which they came, but never slowly."""
        before = 0.0
        for event in self._events:
            if isinstance(event, Round):
                wait = min(LONGEST_S, max(0.0, event.elapsed_s - before) / speed)
                before = event.elapsed_s
                await asyncio.sleep(wait)
            receive(event)
        if not any(isinstance(e, Finished) for e in self._events) and (started := self.started):
            receive(Finished(run=started.run, status="cancelled", message="the recording ends here"))


def first_run(events: Iterable[Event]) -> Iterable[Event]:
    """The events of the first run of a recording, those outside any run left out."""
    run = ""
    for event in events:
        if isinstance(event, RunStarted):
            if run and event.run != run:
                return
            run = event.run
        if run and getattr(event, "run", "") == run:
            yield event


@dataclass(frozen=True)
class Recorded:
    """A run that can be replayed."""

    key: str
    """What `load` takes."""
    label: str
    detail: str


def recorded(store: Store) -> list[Recorded]:
    """The latest runs of the history, newest first."""
    try:
        lines = store.runs(limit=MOST)
    except sqlite3.Error:
        return []
    return [
        Recorded(
            RUN + r.run,
            f"{r.at[:10]} {r.at[11:16]}  {r.preset or r.workload}",
            f"{r.host}, {r.rounds} rounds. {r.answer}",
        )
        for r in lines
        if r.rounds
    ]


def load(store: Store, name: str) -> Replay:
    """A run of the history (`run:ID`) or a file, ready to play. Raises InputError."""
    if name.startswith(RUN):
        try:
            events: list[Event] = list(store.events(name.removeprefix(RUN)))
        except sqlite3.Error as error:
            raise InputError("history", str(error), "a store that can be read") from None
    else:
        events = list(recording.read(Path(name).expanduser()))
    replay = Replay(events)
    if replay.started is None:
        raise InputError(name, "no run in it", "a recording of a run")
    return replay
