"""The meter of the line to the terminal, with a clock of its own and lines of known rates."""

from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.widgets import Static

from tuilab.tui.link import (
    AGAIN_S,
    BURST,
    FAST,
    LATE_S,
    LINGER_S,
    LIVE,
    LOST_S,
    MUTE,
    MUTE_S,
    PIECE_S,
    SLOW,
    Link,
)
from tuilab.tui.thin import ThinScreen, merged, rows, take


class Line:
    """So many bytes per second to a terminal that answers, and somebody who always has more to say."""

    def __init__(self, rate: float, trip_s: float = 0.02) -> None:
        self.now, self.rate, self.trip_s = 0.0, rate, trip_s
        self.link = Link(lambda: self.now)
        self.queue = 0.0
        self.answer_at: float | None = None
        self.longest = 0.0

    def send(self, count: int) -> None:
        self.link.wrote(count)
        self.queue += count
        self.ask()

    def ask(self) -> None:
        if self.link.ask():
            self.answer_at = self.now + self.queue / self.rate + self.trip_s

    def pass_time(self, seconds: float, most: int = 4_000) -> None:
        """Send whatever may be sent, in paints of `most` bytes, for so long."""
        end = self.now + seconds
        while self.now < end:
            self.now += 0.01
            self.queue = max(0.0, self.queue - 0.01 * self.rate)
            if self.answer_at is not None and self.now >= self.answer_at:
                self.answer_at = None
                self.link.answered()
                self.ask()
            room = self.link.room()
            if room is None or room > 0:
                self.send(most if room is None else min(most, room))
            self.longest = max(self.longest, self.queue / self.rate)


def test_a_slow_line_is_known_and_kept_nearly_empty() -> None:
    line = Line(rate=2_000)
    line.send(20)
    line.pass_time(15)
    assert line.link.slow
    line.longest = 0.0
    line.pass_time(10)
    assert line.longest < 3 * PIECE_S


@given(st.floats(20_000, 1e7), st.floats(0.0, 0.4))
def test_a_fast_line_is_never_called_slow_however_far_away(rate: float, trip_s: float) -> None:
    line = Line(rate, trip_s)
    line.send(20)
    line.pass_time(5, most=300)
    assert not line.link.slow


@given(st.floats(1_000, SLOW / 2))
def test_what_waits_on_a_slow_line_is_bounded(rate: float) -> None:
    line = Line(rate)
    line.send(20)
    line.pass_time(30)
    line.longest = 0.0
    line.pass_time(10)
    assert line.link.slow and line.longest < 0.8


def test_a_line_that_recovers_is_no_longer_slow() -> None:
    line = Line(rate=2_000)
    line.send(20)
    line.pass_time(15)
    assert line.link.slow
    line.rate = 1e6
    line.pass_time(15)
    assert not line.link.slow


def test_nothing_is_sent_behind_a_paint_that_is_late() -> None:
    now = [0.0]
    link = Link(lambda: now[0])
    link.wrote(20)
    assert link.ask()
    now[0] = 0.01
    link.answered()
    link.wrote(9_000)
    assert link.ask() and not link.ask()
    assert link.room() is None
    now[0] += LATE_S + 0.02
    assert link.room() == 0
    now[0] += LOST_S
    assert link.room() is None


def test_a_lost_answer_is_asked_for_again() -> None:
    now = [0.0]
    link = Link(lambda: now[0])
    link.wrote(20)
    link.answered(link.ask())
    link.wrote(400)
    lost = link.ask()
    now[0] += AGAIN_S
    assert link.room() == 0
    link.wrote(100)
    again = link.ask()
    assert again and again != lost and not link.ask()
    link.answered(again)
    assert link.room() is None and not link.ask()


def test_an_answer_says_how_far_the_terminal_is() -> None:
    now = [0.0]
    link = Link(lambda: now[0])
    link.wrote(400)
    first = link.ask()
    now[0] += AGAIN_S
    link.wrote(100)
    second = link.ask()
    link.answered(first)
    # What was written after the first question is still on its way.
    assert link.ask()
    link.answered(second)
    assert not link.ask()


def test_a_still_line_is_asked_nothing() -> None:
    link = Link(lambda: 0.0)
    assert not link.ask()


def test_a_mute_terminal_gets_little_unasked_and_all_that_a_key_asks_for() -> None:
    now = [0.0]
    link = Link(lambda: now[0])
    assert link.room() is None
    link.running = True
    sent = 0
    for _ in range(2_000):
        now[0] += 0.01
        room = link.room()
        if room:
            sent += 400
            link.wrote(400)
    assert 15_000 < sent < 20 * MUTE + 2 * BURST
    link.key()
    assert link.room() is None


def test_blocked_writes_of_a_mute_terminal_make_its_line_slow_for_a_while() -> None:
    now = [0.0]
    link = Link(lambda: now[0])
    link.blocked(9_000, 0.01)
    assert not link.slow
    link.blocked(9_000, 4.0)
    assert link.slow and link.rate < FAST and link.room() == 0
    link.key()
    assert link.room() == link.piece
    now[0] = 60.0
    assert link.room() is None and not link.slow


def test_rows_wait_in_turn_and_what_has_the_keys_goes_first() -> None:
    kept = merged({}, rows([Region(0, 0, 30, 4)]), first=False)
    assert [r.y for r in take(kept, 1, Region(0, 2, 30, 1))] == [2]
    kept = merged(kept, rows([Region(0, 0, 30, 1)]), first=False)
    assert [r.y for r in kept] == [1, 3, 0]
    kept = merged(kept, rows([Region(0, 5, 30, 1)]), first=True)
    assert [r.y for r in take(kept, 10_000, Region())] == [0, 5, 1, 3] and not kept


def test_a_runs_own_paints_stay_whole_and_take_no_more_of_a_fast_line_than_their_share() -> None:
    line = Line(rate=1e6)
    line.send(20)
    line.pass_time(1, most=100)
    line.link.running = True
    before = line.link.sent
    line.pass_time(20, most=3_000)
    assert 0.8 * LIVE < (line.link.sent - before) / 20 < 1.2 * LIVE
    line.link.key()
    assert line.link.room() is None


def mute_run() -> tuple[list[float], Link]:
    """A terminal that answers nothing, in the rounds of a run, its allowance spent."""
    now = [100.0]
    link = Link(lambda: now[0])
    link.running = True
    link.wrote(400)
    link.ask()
    link.wrote(3_000)
    return now, link


def test_a_first_sample_does_not_wait_for_what_was_painted_before_it_but_a_mute_line_gets_no_more() -> None:
    line = Line(rate=1e6)
    line.send(20)
    line.pass_time(1, most=100)
    line.link.running = True
    line.pass_time(20, most=3_000)
    line.send(3_000)
    assert line.link.room() == 0, "the run's paints have had their share"
    line.link.awaited()
    assert line.link.room() is None

    _, mute = mute_run()
    mute.awaited()
    assert mute.room() == 0


def test_a_runs_own_paint_behind_a_key_is_not_taken_for_what_the_key_asked_for() -> None:
    _, link = mute_run()
    link.key()
    link.unasked()
    assert link.room() is None, "what the key changes is not painted yet"
    link.wrote(400)
    assert link.room() is None, "it may come in two paints"
    link.unasked()
    assert link.room() == 0


def test_where_the_terminal_answers_a_runs_paint_does_not_end_a_keys_haste() -> None:
    now, link = mute_run()
    link.answered()
    link.key()
    link.wrote(400)
    link.unasked()
    assert link.hurried
    now[0] += 1.0
    assert not link.hurried


def test_what_a_run_leaves_to_be_painted_is_sent_piece_by_piece_too() -> None:
    now, link = mute_run()
    link.running = False
    assert link.room() == 0
    now[0] += LINGER_S + 0.1
    assert link.room() is None


def test_the_first_line_is_told_of_a_slow_line_and_of_a_terminal_that_does_not_answer() -> None:
    now, link = mute_run()
    assert link.word == ""
    now[0] += MUTE_S + 0.1
    assert link.word == "mute terminal"
    link.blocked(9_000, 4.0)
    assert link.word == "slow line"
    link.answered()
    link.slow = False
    assert link.word == ""


class Dot(Static):
    """A widget that draws what it is told to."""


class SlowApp(App[None]):
    """A screen on a line that takes nothing for the time being."""

    def __init__(self) -> None:
        super().__init__()
        self.link = Link()
        self.link.room = lambda: 0  # type: ignore[method-assign]

    def get_default_screen(self) -> ThinScreen:
        return ThinScreen()

    def compose(self) -> ComposeResult:
        yield Dot("one")


async def test_a_widget_that_changes_while_a_paint_is_tried_again_is_not_forgotten() -> None:
    app = SlowApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        app._driver.ask = lambda: None  # type: ignore[union-attr]
        screen, dot = app.screen, app.query_one(Dot)
        assert isinstance(screen, ThinScreen)
        screen._kept.clear()
        dot.refresh(Region(0, 0, 2, 1))
        # Its message has come; before the screen is idle the line's answer arrives.
        screen._dirty_widgets.add(dot)
        screen._compositor_refresh()
        assert any(row.overlaps(dot.region) for row in screen._kept)
