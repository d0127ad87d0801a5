"""A recorded run, shown as if it were live, and always labelled as what it is. No Textual."""

import asyncio
from collections.abc import Callable, Iterable

from tuilab.model.events import Event, Finished, Round, RunStarted

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
