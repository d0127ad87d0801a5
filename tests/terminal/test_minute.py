"""The first minute with the lab: by keys with a real worker, and by mouse with a scripted worker."""

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terminal.lab import LIBRARY_LOG, READY_S, TRUECOLOR, colours, leave, opened, scripted
from tests.terminal.terminal import Terminal, click, drag, find

SMALL, LARGE = (80, 24), (160, 50)
ESCAPE, RIGHT, ENTER = "\x1b", "\x1b[C", "\r"
DONE = re.compile(r"done, ")
AGAIN = re.compile(r"● (warming up|compiling|round [\d,]+|done, )")
"""Matches the first line of the screen during and after a run, because a small run may end between two
checks.
"""
SAMPLED = re.compile(r"• CPU eager [^\n]*?[\d.]+ (µs|ms)")

pytestmark = [pytest.mark.terminal, pytest.mark.timeout(240)]


def by_size(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


def matches(terminal: Terminal, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return pattern.search(terminal.text)


def slider(terminal: Terminal, name: str) -> str:
    match = re.search(rf"{name} +([\d,]+) ", terminal.text)
    return match[1] if match else ""


def measured(terminal: Terminal, samples: str, shown: re.Pattern[str] = SAMPLED) -> None:
    terminal.until(lambda: slider(terminal, "samples") == samples, 30, f"samples at {samples}")
    terminal.until(lambda: not matches(terminal, DONE), 30, f"a run with {samples} samples under way")
    terminal.until(lambda: matches(terminal, DONE), 60, f"the end of the run with {samples} samples")
    terminal.until(lambda: matches(terminal, shown), 30, "what it came to")


def until_it_does(terminal: Terminal, act: Callable[[], None], done: Callable[[], object]) -> None:
    """Repeat an action until it takes effect, because other events may move the focus or the target of a
    click.
    """
    for _ in range(3):
        act()
        with contextlib.suppress(TimeoutError):
            terminal.until(done, 10)
            return
    raise AssertionError(f"it does nothing:\n{terminal.text}")


def closed(terminal: Terminal, words: str) -> None:
    """Close a page with Escape, and wait until its words have disappeared."""
    terminal.press(ESCAPE)
    terminal.until(lambda: not terminal.shows(words), 30, f"{words} gone")


def well_left(terminal: Terminal, key: str = "q") -> None:
    leave(terminal, key)
    assert not LIBRARY_LOG.findall(bytes(terminal.sent)), "TensorFlow printed on the screen"


@pytest.mark.smoke
@pytest.mark.real_worker
@pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.long)], ids=by_size)
def test_a_minute_in_the_lab_by_keys(tmp_path: Path, size: tuple[int, int]) -> None:
    with opened(tmp_path, size) as terminal:
        terminal.see("ready", seconds=READY_S)
        if size[0] < 100:
            terminal.press("p")
            terminal.see("001 Poor performance")
        terminal.press(ENTER)  # opens the first preset, with the quick budget
        measured(terminal, "256")
        terminal.press("i")
        terminal.see("▸samples")
        until_it_does(terminal, lambda: terminal.press(RIGHT), lambda: slider(terminal, "samples") == "512")
        measured(terminal, "512")
        assert terminal.shows("faint: earlier runs")

        terminal.press("c")
        # the fastest arm depends on the machine, so do not wait for its name
        terminal.see("caveats")
        terminal.press("]]")
        terminal.see("dispatch", "compute", "= ")
        terminal.press("]]")
        terminal.see("CPU:0", "ops")
        terminal.press("d")
        terminal.see("Claim 1", "document 000, example 1")
        assert not terminal.shows("Not measured yet")
        terminal.press("?")
        terminal.see("A slider", "the measured crossover")
        closed(terminal, "the measured crossover")

        terminal.press("u")
        measured(terminal, "256", DONE)
        terminal.press("s")
        # before a run has started, the key would cancel the request
        terminal.see("size 1 of")
        terminal.press("x")
        terminal.see("stopped after")
        terminal.press("r")
        terminal.until(lambda: matches(terminal, AGAIN), 60, "the next run")
        terminal.press("x")
        well_left(terminal)


@pytest.mark.parametrize("size", [pytest.param(SMALL, marks=pytest.mark.long), LARGE], ids=by_size)
def test_a_minute_in_the_lab_by_mouse_in_truecolor(tmp_path: Path, size: tuple[int, int]) -> None:
    with scripted(tmp_path, size=size, given={"rerun": True}, COLORTERM="truecolor") as terminal:
        terminal.see("ready", seconds=READY_S)
        if size[0] < 100:
            click(terminal, *find(terminal, "p preset", below="x stop"))
            terminal.see("000 STFT")
        for _ in range(2):  # the first click only selects the row
            click(terminal, *find(terminal, "1 Small STFT", below="000 STFT"))
        measured(terminal, "256")

        def drag_it() -> None:
            x, y = find(terminal, "┣", below=" Controls ")
            drag(terminal, x + 1, y, x + 9)

        until_it_does(terminal, drag_it, lambda: slider(terminal, "samples") not in ("", "256"))
        measured(terminal, slider(terminal, "samples"))
        moved = slider(terminal, "samples")

        for tab, words in (
            ("Compare", ("fastest",)),
            ("Phases", ("dispatch", "compute", "= ")),
            ("Placement", ("CPU:0", "ops")),
            ("Verdict", ("Claim 1", "document 000, example 1")),
        ):
            click(terminal, *find(terminal, tab, below="Live"))
            terminal.see(*words)
        until_it_does(
            terminal,
            lambda: click(terminal, *find(terminal, "help", below="x stop")),
            lambda: terminal.shows("╭─ Help"),
        )
        closed(terminal, "╭─ Help")

        click(terminal, *find(terminal, "sweep", below="x stop"))
        terminal.see("x stops")
        click(terminal, *find(terminal, "stop", below="r run"))
        terminal.see("stopped after")
        click(terminal, *find(terminal, "Live", below="Live"))
        click(terminal, *find(terminal, "run", below="r run"))
        terminal.until(lambda: matches(terminal, AGAIN), 60, "the next run")
        click(terminal, *find(terminal, "stop", below="r run"))
        assert slider(terminal, "samples") == moved
        well_left(terminal)
        assert sum(TRUECOLOR in one for one in colours(terminal)) > 100
