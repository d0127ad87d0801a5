"""Replays recorded runs, from the history or from a file, at their original pace."""

import asyncio
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from tuilab.history import spool
from tuilab.history.imports import import_file
from tuilab.history.runs import Piece
from tuilab.history.store import Store
from tuilab.lab.offers import Offer
from tuilab.lab.resume import is_interrupted
from tuilab.model.errors import InputError
from tuilab.model.events import RECORDING_ENDS, RUN_CONTINUES, Event, Finished, Log, Round, RunStarted
from tuilab.model.files import expanded
from tuilab.model.moments import when
from tuilab.model.rounds import Rounds

MOST = 200
"""Maximum number of saved runs offered for replay."""
RUN = "run:"
"""Prefix of a saved run's id, to distinguish the id from a path."""
LONGEST_S = 0.25
"""Maximum seconds between two events at normal speed; longer pauses are cut."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
READY_S = 0.02
"""Interval at which `play` checks whether the screen is ready for the next events."""


def label(started: RunStarted) -> str:
    """Return a label such as `replay · gpu-07 · 2026-01-05`."""
    return f"replay · {started.machine.host} · {started.at[:10]}"


class Replay:
    """A recorded run with player controls: pause, step, seek, speed.

    The position is the number of rounds shown so far. Position 0 shows the run before its first round;
    position `rounds` shows the end of the run. Rounds are unpacked only when they are shown.
    """

    def __init__(self, parts: Iterable[Event | Piece], saved: bool, measured: bool = False) -> None:
        """parts: the parts of one run, in order. saved: True if the history contains the run. measured: True
        if another program still measures the run.
        """
        self._parts, self._saved = list(parts), saved
        started = self.started
        if started is not None and not any(isinstance(part, Finished) for part in self._parts):
            ending = RUN_CONTINUES if measured else RECORDING_ENDS
            self._parts.append(Finished(run=started.run, status="cancelled", message=ending))
        # For each part, the number of steps (events) and of rounds before it. The last entries are totals.
        self._steps = list(accumulate((_steps(part) for part in self._parts), initial=0))
        self._rounds = list(accumulate((_rounds(part) for part in self._parts), initial=0))
        self._at = 0
        self._elapsed_s = 0.0
        self._open: tuple[int, Sequence[Event]] = -1, ()
        self._goal: int | None = None
        self._turned = asyncio.Event()
        self.paused = False
        self.speed = 1.0

    @property
    def started(self) -> RunStarted | None:
        return next((part for part in self._parts if isinstance(part, RunStarted)), None)

    @property
    def rounds(self) -> int:
        return self._rounds[-1]

    @property
    def round(self) -> int:
        at = self._at if self._goal is None else self._goal
        index = self._part(at)
        part, within = self._parts[index], at - self._steps[index]
        if isinstance(part, Piece):
            lines = sum(before + number < within for number, (before, _) in enumerate(part.lines))
            return self._rounds[index] + within - lines
        return self._rounds[index]

    @property
    def over(self) -> bool:
        return (self._at if self._goal is None else self._goal) == self._steps[-1]

    @property
    def continues(self) -> bool:
        """True if the replay has shown a stopped run to its end, so that the user can continue the run."""
        return self._at == self._steps[-1] and self.stopped

    @property
    def stopped(self) -> bool:
        """True if the run was stopped and the history contains the run."""
        ends = [part for part in self._parts if isinstance(part, Finished)]
        return self._saved and bool(ends) and is_interrupted(ends[-1])

    def _part(self, at: int) -> int:
        return min(bisect_right(self._steps, at), len(self._parts)) - 1

    async def play(
        self,
        receive: Callable[[Event], None],
        rewind: Callable[[], None],
        ready: Callable[[], bool] = lambda: True,
        take: Callable[[Rounds], None] | None = None,
    ) -> None:
        """Replay events to `receive` at their recorded pace until cancelled.

        rewind: clears the screen before the replay jumps back. ready: returns True if the screen can receive
        events now. take: receives all rounds of a part at once if a seek skips the part.
        """
        while True:
            while not ready():
                await asyncio.sleep(READY_S)
            if (goal := self._goal) is not None:
                if goal < self._at:
                    rewind()
                    self._at, self._elapsed_s = 0, 0.0
                if self._at < goal:
                    if self._hand(receive, take, goal):
                        await asyncio.sleep(0)
                    continue
                self._goal = None
            wait = None if self.paused or self._at == self._steps[-1] else self._wait()
            if wait is None or wait > 0:
                try:
                    await asyncio.wait_for(self._turned.wait(), wait)
                except TimeoutError:
                    pass
                else:
                    self._turned.clear()
                    continue
            self._hand(receive)

    def _hand(
        self,
        receive: Callable[[Event], None],
        take: Callable[[Rounds], None] | None = None,
        goal: int = 0,
    ) -> bool:
        """Deliver the next event, or a whole part if the part ends at or before the step `goal`. Returns True
        after a whole part.
        """
        index = self._part(self._at)
        part, end = self._parts[index], self._steps[index + 1]
        if take is not None and isinstance(part, Piece) and self._at == self._steps[index] and end <= goal:
            found = part.unpack()
            self._at = end
            if isinstance(found, Log):
                receive(found)
            else:
                self._elapsed_s = found.elapsed[-1]
                take(found)
            for _, event in part.lines:
                receive(event)
            return True
        event = self._next(index)
        self._at += 1
        if isinstance(event, Round):
            self._elapsed_s = event.elapsed_s
        receive(event)
        if isinstance(part, Piece) and self._at - self._steps[index] == len(self._open[1]):
            # An unreadable part has fewer steps than expected, because one log message replaces its rounds.
            self._at, self._goal = end, self._goal if self._goal is None else max(self._goal, end)
        return False

    def _next(self, index: int) -> Event:
        part = self._parts[index]
        if not isinstance(part, Piece):
            return part
        if self._open[0] != index:
            self._open = index, part.events()
        return self._open[1][self._at - self._steps[index]]

    def _wait(self) -> float:
        """Return the seconds until the next event is due. Only rounds are paced; all other events are due
        immediately.
        """
        event = self._next(self._part(self._at))
        if not isinstance(event, Round):
            return 0.0
        return min(LONGEST_S, max(0.0, event.elapsed_s - self._elapsed_s)) / self.speed

    def pause(self) -> None:
        """Pause or continue; at the end of the run, start the replay again."""
        if self.over:
            self.seek(0)
            self.paused = False
        else:
            self.paused = not self.paused
        self._turned.set()

    def step(self, by: int) -> None:
        """Pause, and move by `by` rounds; a negative number moves back."""
        self.paused = True
        self.seek(self.round + by)

    def seek(self, round: int) -> None:
        """Move to a round, clipped to the recorded rounds. The last round shows the end of the run."""
        if round >= self.rounds:
            self._goal = self._steps[-1]
        elif round > 0:
            index = bisect_left(self._rounds, round) - 1
            part, within = self._parts[index], round - self._rounds[index]
            if isinstance(part, Piece):
                within += sum(before < within for before, _ in part.lines)
            self._goal = self._steps[index] + within
        else:
            self._goal = self._steps[bisect_right(self._rounds, 0) - 1]
        self._turned.set()

    def faster(self, by: int) -> None:
        """Raise the speed by `by` levels; a negative number lowers the speed."""
        at = SPEEDS.index(self.speed) + by
        self.speed = SPEEDS[min(len(SPEEDS) - 1, max(0, at))]
        self._turned.set()


def _rounds(part: Event | Piece) -> int:
    return part.rounds if isinstance(part, Piece) else int(isinstance(part, Round))


def _steps(part: Event | Piece) -> int:
    return part.rounds + len(part.lines) if isinstance(part, Piece) else 1


def recorded(store: Store) -> list[Offer]:
    """Return the latest saved runs that have rounds, newest first. The key of each row is an argument for
    `load`.
    """
    try:
        lines = store.runs(limit=MOST)
    except sqlite3.Error:
        return []
    return [
        Offer(
            RUN + r.run,
            f"{when(r.at)}  {r.preset or r.workload}",
            f"{r.host}, {r.rounds} rounds. {r.answer}",
        )
        for r in lines
        if r.rounds
    ]


def load(store: Store, name: str) -> Replay:
    """Return a replay of a saved run (`run:ID`), or of the first run in a file. Raises InputError."""
    data = store.file.parent if store.file is not None else None
    if name.startswith(RUN):
        run = name.removeprefix(RUN)
    else:
        # an in-memory store holds many rounds compactly
        store = Store.in_memory("a recording is played")
        run = next(iter(import_file(store, expanded(name))))
    try:
        measured = data is not None and spool.measured_by(data, run)
        replay = Replay(store.parts(run), saved=name.startswith(RUN), measured=bool(measured))
    except sqlite3.Error as error:
        raise InputError("history", str(error), "a readable history") from None
    if replay.started is None:
        raise InputError(name, "a file without a run", "a recording of a run")
    return replay
