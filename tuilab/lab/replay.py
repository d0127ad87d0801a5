"""Recorded runs, of the history or of a file, played as if live and always labelled as what they are."""

import asyncio
import sqlite3
from bisect import bisect_right
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
"""Between two events at the speed at which they were measured, however far apart they were."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
READY_S = 0.02
"""How often it is looked whether events may be handed over again."""


def label(started: RunStarted) -> str:
    """`replay · gpu-07 · 2026-01-05`."""
    return f"replay · {started.machine.host} · {started.at[:10]}"


class Replay:
    """The first run of a recording, with the controls of a player: pause, step, seek, speed.

    Places are counted in rounds: at 0 the run is prepared, at `rounds` it is over.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = list(first_run(events))
        started = self.started
        if started is not None and not any(isinstance(e, Finished) for e in self._events):
            ending = "the recording ends here"
            self._events.append(Finished(run=started.run, status="cancelled", message=ending))
        self._after = [i + 1 for i, event in enumerate(self._events) if isinstance(event, Round)]
        self._at = 0
        self._goal: int | None = None
        self._turned = asyncio.Event()
        self.paused = False
        """Nothing moves until `pause` again, `step` or `seek`."""
        self.speed = 1.0
        """How many times as fast as it was measured."""

    @property
    def started(self) -> RunStarted | None:
        """How the run began, None where the recording holds none."""
        return next((e for e in self._events if isinstance(e, RunStarted)), None)

    @property
    def rounds(self) -> int:
        """How many rounds were recorded."""
        return len(self._after)

    @property
    def round(self) -> int:
        """How many of them have been shown."""
        return bisect_right(self._after, self._at if self._goal is None else self._goal)

    @property
    def over(self) -> bool:
        """Everything has been shown."""
        return (self._at if self._goal is None else self._goal) == len(self._events)

    async def play(
        self,
        receive: Callable[[Event], None],
        rewind: Callable[[], None],
        ready: Callable[[], bool] = lambda: True,
    ) -> None:
        """Hand events to `receive`, rounds at the pace at which they came; goes on until it is cancelled.

        rewind: forgets what was shown, before it is handed over again up to an earlier place. ready: whether
        events may be handed over now.
        """
        while True:
            while not ready():
                await asyncio.sleep(READY_S)
            if (goal := self._goal) is not None:
                self._goal = None
                if goal < self._at:
                    rewind()
                    self._at = 0
                while self._at < goal:
                    self._hand(receive)
            wait = None if self.paused or self._at == len(self._events) else self._wait()
            if wait is None or wait > 0:
                try:
                    await asyncio.wait_for(self._turned.wait(), wait)
                except TimeoutError:
                    pass
                else:
                    self._turned.clear()
                    continue
            self._hand(receive)

    def _hand(self, receive: Callable[[Event], None]) -> None:
        event, self._at = self._events[self._at], self._at + 1
        receive(event)

    def _wait(self) -> float:
        """Seconds until the next event; rounds alone take time."""
        event = self._events[self._at]
        if not isinstance(event, Round):
            return 0.0
        done = bisect_right(self._after, self._at)
        before = self._events[self._after[done - 1] - 1] if done else None
        gap = event.elapsed_s - (before.elapsed_s if isinstance(before, Round) else 0.0)
        return min(LONGEST_S, max(0.0, gap)) / self.speed

    def pause(self) -> None:
        """Stand still, or go on; from the end, begin again."""
        if self.over:
            self.seek(0)
            self.paused = False
        else:
            self.paused = not self.paused
        self._turned.set()

    def step(self, by: int) -> None:
        """Stand still, that many rounds later or earlier."""
        self.paused = True
        self.seek(self.round + by)

    def seek(self, round: int) -> None:
        """To that round, within those that there are; at the last the run is over."""
        if round >= self.rounds:
            self._goal = len(self._events)
        else:
            self._goal = self._after[round - 1] if round > 0 else self._prepared
        self._turned.set()

    @property
    def _prepared(self) -> int:
        return self._after[0] - 1 if self._after else len(self._events)

    def faster(self, by: int) -> None:
        """The next speed up or down."""
        at = SPEEDS.index(self.speed) + by
        self.speed = SPEEDS[min(len(SPEEDS) - 1, max(0, at))]
        self._turned.set()


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
