"""The cost of showing a run does not grow with the run. Long runs are summarized in a thread."""

import asyncio
import sys
import threading
from collections.abc import Callable

import pytest

from tests.lab.test_painter import Canvas
from tests.lab.test_state import lab_state as made_session
from tests.tui import data
from tests.tui.scripted import GPU_MACHINE, ScriptedRunner
from tuilab.lab import Lab
from tuilab.lab import state as module
from tuilab.lab.changes import Change
from tuilab.lab.state import LabState
from tuilab.model.arms import Arm
from tuilab.model.events import ArmStatus, Block, Event, Finished, Log, Point, Round, RunStarted
from tuilab.model.scenario import BUDGET
from tuilab.presentation.painter import Painter
from tuilab.presentation.view_options import ViewOptions
from tuilab.report.chart import Thinned, live_chart
from tuilab.tui.views.base import figures

ARMS = (Arm("CPU:0", "eager"), Arm("CPU:0", "graph"))
PLACES = (10, 100, 1_000, 3_000)
"""Numbers of rounds at which the cost is compared.

Of the five rounds before each number, the cheapest counts, because the garbage collector may run in one of
them.
"""


def begun(lab_state: LabState) -> LabState:
    lab_state.apply(
        RunStarted(
            run="r1", scenario=data.SCENARIO, arms=ARMS, points=(Point(0),), budget=BUDGET["standard"],
            machine=data.MACHINE, at="2026-01-05T10:00:00Z",
        )
    )  # fmt: skip
    for arm in ARMS:
        lab_state.apply(ArmStatus(run="r1", arm=arm.id, status="ok", device="CPU:0"))
    return lab_state


def a_round(index: int) -> Round:
    blocks = tuple(
        Block(arm.id, 0, 8, 8 * (1e-3 + 1e-6 * (index * 7 % 101 + n)), 1.1e-3) for n, arm in enumerate(ARMS)
    )
    return Round(run="r1", index=index, blocks=blocks, elapsed_s=0.01 * index)


def calls_of(work: Callable[[], object]) -> int:
    """Return the number of function calls, including C functions, during `work`. Unlike a duration, it is
    reproducible.
    """
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_adding_a_round_costs_the_same_for_any_length_of_run():
    lab_state = begun(made_session())
    costs = {}
    for index in range(3_001):
        event = a_round(index)
        place = next((place for place in PLACES if 0 <= place - index < 5), None)
        if place is None:
            lab_state.apply(event)
        else:
            cost = calls_of(lambda event=event: lab_state.apply(event))
            costs[place] = min(cost, costs.get(place, cost))
    assert len(set(costs.values())) == 1, costs


def test_painting_five_times_the_rounds_takes_hardly_more_calls():
    lab_state, clouds = begun(made_session()), {}

    def paint() -> None:
        state = lab_state.shown
        for series in live_chart(state, figures=figures(lab_state, ViewOptions())).series:
            clouds.setdefault(series.key, Thinned(series.x, series.y)).points(80)

    costs = []
    for first, last in ((0, 8_000), (8_000, 40_000)):
        for index in range(first, last - 1):
            lab_state.apply(a_round(index))
        paint()
        lab_state.apply(a_round(last - 1))
        costs.append(calls_of(paint))
    assert costs[1] < 1.3 * costs[0], costs


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(module, "LONG", 0)


def painted(lab_state: LabState, canvas: Canvas) -> Lab:
    lab = Lab(state=lab_state, runner=lambda on_event: ScriptedRunner(on_event, GPU_MACHINE))
    Painter(lab, canvas.draw)
    return lab


async def until(true: Callable[[], object]) -> None:
    for _ in range(1_000):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to hold")


async def test_a_long_run_is_summed_up_in_a_thread_while_events_wait(short, monkeypatch):
    lab_state, canvas = begun(made_session()), Canvas()
    lab, go, threads = painted(lab_state, canvas), threading.Event(), []
    sum_up = lab_state.sum_up

    def slowly():
        threads.append(threading.current_thread() is threading.main_thread())
        go.wait(20)
        return sum_up()

    monkeypatch.setattr(lab_state, "sum_up", slowly)
    heard: list[Event] = []
    lab.subscribe(lambda change, event: heard.append(event) if event is not None else None)
    for index in range(20):
        lab.receive(a_round(index))
    await until(lambda: lab_state.summing)
    taken, drawn = lab_state.shown.rounds, len(canvas.drawn)
    lab.receive(a_round(20))
    lab.log("meanwhile")
    await asyncio.sleep(1.2)
    assert len(canvas.drawn) == drawn, "the elapsed seconds are painted with the summary"
    lab.changed(Change.SETTINGS)
    await until(lambda: len(canvas.drawn) > drawn)
    assert canvas.drawn[-1] & Change.SETTINGS and not canvas.drawn[-1] & Change.RUN, (
        "a change by the user does not wait for the summary"
    )
    drawn = len(canvas.drawn)
    assert lab_state.shown.rounds == taken == 20 and len(heard) == 20
    assert lab_state.result() is None, "the result is not yet known, and no call blocks"
    go.set()
    await until(lambda: not lab_state.summing and len(canvas.drawn) > drawn)
    assert any(change & Change.RUN for change in canvas.drawn[drawn:])
    assert lab_state.result() is not None and lab_state.result().rounds == 20, (
        "a key press gets the finished summary without waiting"
    )
    assert lab_state.shown.rounds == 21 and len(heard) == 21
    assert lab_state.log[-1] == Log(text="meanwhile", source="tuilab")
    assert threads == [False]
    await lab.close()


async def test_the_end_of_a_long_run_is_summed_up_at_once(short):
    lab_state, canvas = begun(made_session()), Canvas()
    lab = painted(lab_state, canvas)
    for index in range(20):
        lab.receive(a_round(index))
    lab.receive(Finished(run="r1", status="ok", elapsed_s=1.0))
    assert not lab_state.long
    assert lab_state.result().status == "ok" and lab_state.result().rounds == 20
    await lab.close()
