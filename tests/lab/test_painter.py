import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.lab.test_state import lab_state
from tests.tui.scripted import GPU_MACHINE, Script, ScriptedRunner
from tuilab.lab import Lab
from tuilab.lab.changes import Change
from tuilab.model.events import Event, Progress, Round
from tuilab.model.requests import Painted
from tuilab.presentation.painter import Pacing, Painter


def test_the_first_round_is_painted_at_once_and_later_ones_less_often():
    now = [0.0]
    pacing = Pacing(lambda: now[0])
    pacing.painting()
    assert pacing.wait(0.1, 1) == 0.0
    for elapsed, every in ((1.0, 0.25), (5.0, 0.5), (20.0, 1.0), (300.0, 2.0)):
        assert pacing.wait(elapsed, 9) == every
    now[0] = 0.3
    assert pacing.wait(1.0, 9) == 0.0 and 0.19 < pacing.wait(5.0, 9) < 0.21


class Canvas:
    def __init__(self) -> None:
        self.drawn: list[Change] = []
        self.bytes = 0

    def draw(self, change: Change, painted: Callable[[], None]) -> None:
        self.drawn.append(change)
        painted()


def painting(
    canvas: Canvas,
) -> tuple[Painter, Lab, list[ScriptedRunner], list[list[Event]]]:
    """Return a painter that paints on this canvas, its lab, the lab's runners, and the events of a run."""
    made, runners = lab_state(), []

    def runner(on_event) -> ScriptedRunner:
        runners.append(ScriptedRunner(on_event, GPU_MACHINE))
        return runners[-1]

    lab = Lab(state=made, runner=runner)
    painter = Painter(lab, canvas.draw, lambda: canvas.bytes)
    return painter, lab, runners, list(Script(made.request(), GPU_MACHINE, 20).batches())


@pytest.fixture
def passes(monkeypatch) -> Callable[[float], Awaitable[None]]:
    """Return a function that advances the event loop's clock without waiting, and runs the callbacks that are
    then due.
    """
    now: list[float] = []

    async def pass_(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if not now:
            now.append(loop.time())
            monkeypatch.setattr(loop, "time", lambda: now[0])
        until = now[0] + seconds
        while now[0] < until:
            now[0] = min(until, now[0] + 0.01)
            for _ in range(4):
                await asyncio.sleep(0)

    return pass_


async def test_the_worker_does_not_wait_for_an_idle_painter(passes):
    canvas = Canvas()
    painter, lab, runners, batches = painting(canvas)
    for event in batches[0]:
        lab.receive(event)
    await passes(0.15)
    canvas.bytes += 100_000
    canvas.drawn.clear()
    runners[0].sent.clear()
    lab.receive(next(event for batch in batches for event in batch if isinstance(event, Progress)))
    await passes(0.05)
    assert not canvas.drawn and any(isinstance(r, Painted) for r in runners[0].sent)
    painter.close()
    await lab.close()


async def test_a_burst_of_rounds_is_painted_once_and_every_report_is_answered(passes):
    canvas = Canvas()
    painter, lab, runners, batches = painting(canvas)
    rounds = [batch[0] for batch in batches if isinstance(batch[0], Round)]
    for batch in batches[:10]:
        for event in batch:
            lab.receive(event)
    await passes(0.15)
    canvas.drawn.clear()
    runners[0].sent.clear()
    for event in rounds[:3]:
        lab.receive(event)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(canvas.drawn) == 1, "three rounds in one write cause one paint"
    for event in rounds[3:6]:
        lab.receive(event)
    await passes(0.02)
    assert len(canvas.drawn) == 1, "too early for another paint"
    assert len([r for r in runners[0].sent if isinstance(r, Painted)]) == 2, "but the worker need not wait"
    await passes(0.9)
    assert len(canvas.drawn) == 2, "a postponed paint happens even without further events"
    painter.close()
    await lab.close()


def test_a_run_that_is_slow_to_draw_is_drawn_less_often():
    now = [0.0]
    pacing = Pacing(lambda: now[0])
    pacing.painting(0.9)
    assert pacing.wait(300.0, 9) == 2.0, "the first paint loads what it needs"
    pacing.painting(0.8)
    assert pacing.wait(300.0, 9) == 4.0
    pacing.painting(0.01)
    assert pacing.wait(1.0, 9) == 0.25


def test_a_paint_that_sent_much_delays_the_next():
    now, sent = [0.0], [0]
    pacing = Pacing(lambda: now[0], lambda: sent[0])
    pacing.painting()
    sent[0] += 14_000
    assert pacing.wait(1.0, 9) == 1.0
    sent[0] += 1_000_000
    assert pacing.wait(1.0, 9) == 4.0, "but not forever"
    pacing.painting()
    assert pacing.wait(1.0, 9) == 0.25
