"""State shared by all request handlers in the worker: TensorFlow, the machine, the channel, stop requests."""

import os
import threading
from collections.abc import Callable
from typing import Any

from tuilab.model.events import Event, Finished, Log, Progress, TurnOver
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.model.roofline import DeviceRoofs
from tuilab.worker.channel import Channel
from tuilab.worker.gpus import Gpus

Tell = Callable[[str, float, float], None]
"""Progress callback, called with the stage, the bytes done and the total bytes."""


class Cancelled(BaseException):
    """Raised when a stop was requested. Not an Exception, so a user's `except Exception` does not
    swallow it.
    """


class Context:
    """State of the worker process. `tf` and `machine` are set once TensorFlow has started.

    gpus: the GPUs to open; after the start, the GPUs that were opened. painted: set when the screen has drawn
    the last report. turn: set when it is this worker's turn to measure. watched: True if a screen may be
    drawing the reports. own_code: True while user code, which may start processes, is being measured. sent:
    number of events sent so far. waits: True while the run waits for its turn.
    """

    tf: Any
    machine: Machine

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.gpus = Gpus.wanted(os.environ)
        self._cancelled: set[str] = set()
        self.question = ""
        """Id of the question that is being answered; "" if there is none."""
        self.painted = threading.Event()
        self.turn = threading.Event()
        self.watched = True
        self.own_code = self.waits = False
        self.sent = 0
        self.starts = DeviceRoofs()
        """The shortest times to start a call on the CPU, as measured by the last run."""

    def send(self, *events: Event) -> None:
        for event in events:
            if self.own_code and isinstance(event, Finished):
                self._end_children(event.run)
            self.channel.send(event)
            self.sent += 1

    def _end_children(self, run: str) -> None:
        ended = self.channel.end_children()
        if ended:
            names = ", ".join(f"{process.name} ({process.pid})" for process in ended[:10])
            self.log(f"stopped processes that your code left running: {names}", run)

    def log(self, text: str, run: str = "") -> None:
        self.send(Log(text=text, source="tuilab", run=run))

    def wait_turn(self, run: str) -> None:
        """Let the run's other workers measure, then wait for this worker's next turn.

        Raises Cancelled if a stop was requested.
        """
        self.turn.clear()
        self.check(run)
        self.waits = True
        self.send(TurnOver(run=run))
        self.turn.wait()
        self.waits = False

    def keep(self, request: Measure, turn: bool = False) -> None:
        """Start copying the run's events to a file, if the request names one. For a run that waits for its
        turn, the copy starts when the turn comes.
        """
        if request.spool and turn == request.waits:
            self.channel.keep(request.id, request.spool, request.finish)

    def telling(self, request: str) -> Tell:
        """Return a function that reports progress on this request and may be called from any thread."""

        def tell(stage: str, done: float, total: float) -> None:
            self.send(Progress(run=request, stage=stage, done=done / 1e6, total=total / 1e6, unit="MB"))

        return tell

    @property
    def cancelled(self) -> frozenset[str]:
        return frozenset(self._cancelled)

    def cancel(self, run: str) -> None:
        """Record that `run` must stop. May be called from the thread that reads requests."""
        self._cancelled.add(run)
        self.painted.set()
        self.turn.set()

    def left_alone(self) -> None:
        """Stop waiting for the screen and for a turn, because the client, which reports paints and turns, has
        exited.

        May be called from the thread that reads requests.
        """
        self.watched = False
        self.painted.set()
        self.turn.set()

    def was_cancelled(self, run: str) -> bool:
        return run in self._cancelled

    def check_question(self) -> None:
        """Raise Cancelled if a stop of the current question was requested."""
        self.check(self.question)

    def check(self, run: str) -> None:
        """Raise Cancelled if a stop of the run was requested."""
        if run in self._cancelled:
            raise Cancelled(run)
