"""The runs that can be replayed: those of the history, and recorded files. No Textual."""

import sqlite3
from pathlib import Path

from tuilab.history import recording
from tuilab.history.store import Store
from tuilab.model.errors import InputError
from tuilab.model.events import Event
from tuilab.tui.replay import Replay
from tuilab.tui.screens.menu import Item

MOST = 200
RUN = "run:"


def recorded(store: Store) -> list[Item]:
    """The latest runs of the history, newest first."""
    try:
        lines = store.runs(limit=MOST)
    except sqlite3.Error:
        return []
    return [
        Item(
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
