"""What every handler in the worker shares: TensorFlow, the machine, the channel, the wish to stop."""

import os
import threading
from typing import Any

from tuilab.model.events import Event, Log
from tuilab.model.machine import Machine
from tuilab.worker.channel import Channel
from tuilab.worker.gpus import Gpus


class Cancelled(BaseException):
    """A stop was asked for. Not an Exception, so that a user's `except Exception` does not swallow it."""


class Context:
    """State of the worker process. `tf` and `machine` are there once it has started.

    gpus: those that it is to open, then those that it has.
    painted: set when the screen has drawn the last report. watched: whether there is a screen that might.
    """

    tf: Any
    machine: Machine

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.gpus = Gpus.wanted(os.environ)
        self._cancelled: set[str] = set()
        self.painted = threading.Event()
        self.watched = True

    def send(self, *events: Event) -> None:
        """Write events, one after the other."""
        for event in events:
            self.channel.send(event)

    def log(self, text: str, run: str = "") -> None:
        """Say a line in the lab's own name."""
        self.send(Log(text=text, source="tuilab", run=run))

    @property
    def cancelled(self) -> frozenset[str]:
        """The runs of which a stop was asked for."""
        return frozenset(self._cancelled)

    def cancel(self, run: str) -> None:
        """Remember that `run` is to stop; safe from the reading thread."""
        self._cancelled.add(run)
        self.painted.set()

    def left_alone(self) -> None:
        """Nobody will say `Painted` any more; safe from the reading thread."""
        self.watched = False
        self.painted.set()

    def was_cancelled(self, run: str) -> bool:
        """Whether a stop of that run was asked for; tens of nanoseconds."""
        return run in self._cancelled

    def check(self, run: str) -> None:
        """Raise Cancelled where a stop of that run was asked for."""
        if run in self._cancelled:
            raise Cancelled(run)
