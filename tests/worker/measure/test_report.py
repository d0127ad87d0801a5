import threading
import time

from tests.worker.measure.simulated import Channel, Clock
from tuilab.model.events import Event, Log, Round
from tuilab.worker.context import Context
from tuilab.worker.measure.bench import EVERY_S, PAINT_S, Reporter


class Told:
    def __init__(self, pace: bool = False) -> None:
        self.clock = Clock()
        self.channel = Channel(self.clock)
        self.context = Context(self.channel)  # type: ignore[arg-type]
        self.reporter = Reporter(self.context, pace=pace, clock=lambda: self.clock.ns * 1e-9)

    def round(self, index: int) -> bool:
        return self.reporter.round(Round(run="r", index=index, blocks=(), elapsed_s=0.0))

    @property
    def events(self) -> list[Event]:
        return self.channel.events


def test_rounds_wait_until_a_quarter_of_a_second_has_passed() -> None:
    told = Told()
    assert not told.round(0) and not told.events
    told.clock.spend(EVERY_S)
    assert told.round(1)
    assert [event.index for event in told.events] == [0, 1]  # type: ignore[union-attr]


def test_other_events_are_sent_at_once_after_earlier_rounds() -> None:
    told = Told()
    told.round(0)
    told.reporter.say(Log(text="x"))
    assert [type(event) for event in told.events] == [Round, Log]


def test_flush_sends_everything_once() -> None:
    told = Told()
    told.round(0)
    told.reporter.flush()
    told.reporter.flush()
    assert len(told.events) == 1


def waited(told: Told) -> float:
    begun = time.monotonic()
    told.reporter.settle()
    return time.monotonic() - begun


def test_without_pace_there_is_no_wait() -> None:
    told = Told()
    told.reporter.say(Log(text="x"))
    assert waited(told) < PAINT_S / 2


def test_with_pace_a_silent_screen_delays_once_for_a_limited_time() -> None:
    told = Told(pace=True)
    told.reporter.say(Log(text="x"))
    assert waited(told) >= PAINT_S * 0.9
    assert waited(told) < PAINT_S / 2


def test_with_pace_a_screen_that_has_painted_causes_no_wait() -> None:
    told = Told(pace=True)
    told.reporter.say(Log(text="x"))
    threading.Timer(0.02, told.context.painted.set).start()
    assert waited(told) < PAINT_S * 0.8


def test_a_stop_ends_the_wait() -> None:
    told = Told(pace=True)
    told.reporter.say(Log(text="x"))
    threading.Timer(0.02, told.context.cancel, ["r"]).start()
    assert waited(told) < PAINT_S * 0.8
