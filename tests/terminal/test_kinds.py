"""The lab in different terminals: 256 colors, no colors, ASCII only, too small, resized."""

import re
from pathlib import Path

import pytest

from tests.terminal.lab import OF_256, TRUECOLOR, colours, scripted
from tests.terminal.terminal import Terminal

pytestmark = pytest.mark.terminal


def shown(terminal: Terminal) -> str:
    screens = []
    terminal.until(lambda: terminal.shows("ready") or terminal.shows("done,"), what="the lab at rest")
    terminal.press("r")
    terminal.see("done,")
    for key, words in (("1", "CPU graph"), ("c", "fastest"), ("d", "Claim 1"), ("?", "Help")):
        terminal.press(key)
        terminal.see(words)
        screens.append(terminal.text)
    terminal.press("\x1b")
    terminal.until(lambda: not terminal.shows(" Help "), 10)
    terminal.press("q")
    assert terminal.ended(15) == 0
    return "\n".join(screens)


@pytest.mark.parametrize("term", ["xterm-256color", pytest.param("screen-256color", marks=pytest.mark.long)])
def test_the_lab_in_256_colours_survives_a_screen_that_is_too_small(tmp_path: Path, term: str) -> None:
    with scripted(tmp_path, term, size=(59, 20)) as terminal:
        terminal.see("tuilab needs 60 × 16 characters; this terminal has 59 × 20.", "Runs continue. q quits")
        terminal.resize(80, 24)
        terminal.see("ready", " Controls ")
        terminal.press("r")
        terminal.see("done,")
        terminal.resize(80, 15)
        terminal.see("this terminal has 80 × 15.")
        terminal.resize(160, 50)
        terminal.see(" Presets ", " Controls ", " Placement", "done,", "CPU graph")
        lines = terminal.text.split("\n")
        assert all(len(line) <= 160 for line in lines) and "r run" in lines[-1]
        screens, sent = shown(terminal), colours(terminal)
    assert "╭" in screens and "•" in screens
    assert sum(OF_256 in one for one in sent) > 100
    assert not any(TRUECOLOR in one for one in sent)


def test_the_lab_works_on_an_ascii_console(tmp_path: Path) -> None:
    with scripted(tmp_path, "linux") as terminal:
        screens, sent = shown(terminal), colours(terminal)
    assert screens.isascii() and "+-" in screens
    assert sent and not any(TRUECOLOR in one or OF_256 in one for one in sent)


def test_the_lab_works_without_colour(tmp_path: Path) -> None:
    with scripted(tmp_path, NO_COLOR="1", COLORTERM="truecolor") as terminal:
        screens = shown(terminal)
        assert colours(terminal) == []
    # each arm has its own marker and name
    assert {"• CPU eager", "× CPU graph", "+ CPU xla"} <= set(re.findall(r"[•×+] CPU \w+", screens))
