"""Makes the worker wait for the screen, and summarizes long runs in a thread."""

from collections.abc import Callable

from tuilab.lab.state import LabState
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.events import Event
from tuilab.model.requests import Painted


class Painting:
    """Makes the worker wait until the screen has painted, and holds back events while a long run is
    summarized.
    """

    def __init__(self, state: LabState, send: Callable[[Painted], None]) -> None:
        self._state, self._send = state, send
        self._held: list[tuple[Callable[[Event], None], Event]] = []

    def pace(self) -> None:
        """From now on, make the worker wait after each report until `painted` is called, and summarize long
        runs in a thread (`sum_up`).
        """
        self._state.paced = True

    def painted(self) -> None:
        shown = self._state.shown
        if shown.running and not self._state.replay:
            self._send(Painted(id=shown.run))

    def hold(self, take: Callable[[Event], None], event: Event) -> bool:
        """If a summary is being computed, hold back the event and return True; otherwise return False. After
        the summary, `take` receives the event.
        """
        if self._state.summing:
            self._held.append((take, event))
        return self._state.summing

    async def sum_up(self, then: Callable[[], None]) -> None:
        """Summarize a long run in a thread. Meanwhile, events are held back and the worker waits.

        then: called before the held-back events are applied.
        """
        self._state.summing = True
        try:
            await run_in_daemon_thread(self._state.sum_up)
        finally:
            self._state.summing = False
        then()
        held, self._held = self._held, []
        for take, event in held:
            take(event)
