"""What every handler in the worker shares: TensorFlow, the machine, the channel, the wish to stop."""

import os
import threading
from collections.abc import Callable
from typing import Any

from tuilab.model.events import Event, Finished, Log, Progress
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.worker.channel import Channel
from tuilab.worker.gpus import Gpus

Tell = Callable[[str, float, float], None]
"""Is told what happens, and how many bytes of how many are done."""


class Cancelled(BaseException):
    """A stop was asked for. Not an Exception, so that a user's `except Exception` does not swallow it."""


class Context:
    """State of the worker process. `tf` and `machine` are there once it has started.

    gpus: those that it is to open, then those that it has.
    painted: set when the screen has drawn the last report. turn: set when it is this worker's.
    watched: whether there is a screen that might.
    own_code: what is being measured is a user's own, which may start processes.
    """

    tf: Any
    machine: Machine

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.gpus = Gpus.wanted(os.environ)
        self._cancelled: set[str] = set()
        self.painted = threading.Event()
        self.turn = threading.Event()
        self.watched = True
        self.own_code = False

    def send(self, *events: Event) -> None:
        """Write events, one after the other."""
        for event in events:
            if self.own_code and isinstance(event, Finished):
                self._end_children(event.run)
            self.channel.send(event)

    def _end_children(self, run: str) -> None:
        """What own code started ends with its run, and is named."""
        ended = self.channel.end_children()
        if ended:
            names = ", ".join(f"{process.name} ({process.pid})" for process in ended[:10])
            self.log(f"what your code left running was stopped: {names}", run)

    def log(self, text: str, run: str = "") -> None:
        """Say a line in the lab's own name."""
        self.send(Log(text=text, source="tuilab", run=run))

    def keep(self, request: Measure, turn: bool = False) -> None:
        """Keep the run's events in a file too, if that is asked; if it waits for its turn, from then."""
        if request.spool and turn == request.waits:
            self.channel.keep(request.id, request.spool, request.finish)

    def telling(self, request: str) -> Tell:
        """Return what tells the asker of that request how far its answer is; safe from any thread."""

        def tell(stage: str, done: float, total: float) -> None:
            self.send(Progress(run=request, stage=stage, done=done / 1e6, total=total / 1e6, unit="MB"))

        return tell

    @property
    def cancelled(self) -> frozenset[str]:
        """The runs of which a stop was asked for."""
        return frozenset(self._cancelled)

    def cancel(self, run: str) -> None:
        """Remember that `run` is to stop; safe from the reading thread."""
        self._cancelled.add(run)
        self.painted.set()
        self.turn.set()

    def left_alone(self) -> None:
        """Expect no `Painted` any more; safe from the reading thread."""
        self.watched = False
        self.painted.set()
        self.turn.set()

    def was_cancelled(self, run: str) -> bool:
        """Return whether a stop of that run was asked for; tens of nanoseconds."""
        return run in self._cancelled

    def check(self, run: str) -> None:
        """Raise Cancelled where a stop of that run was asked for."""
        if run in self._cancelled:
            raise Cancelled(run)
