""" "The first minute" of the README: open the lab, measure, look around, export the run."""

import json
import re

import pytest

from tests.journeys.user import User, figures
from tests.terminal.terminal import Terminal, click, drag, find

pytestmark = pytest.mark.timeout(240)
RIGHT = "\x1b[C"


def slider(lab: Terminal, name: str = "samples") -> str:
    match = re.search(rf"{name} +([\d,]+[kM]?) +┣", lab.text)
    return match[1].replace(",", "") if match else ""


@pytest.mark.smoke
def test_the_first_minute(newcomer: User) -> None:
    with newcomer.opens("tuilab") as lab:
        lab.see("ready", seconds=120)
        lab.press("\r")
        lab.see("done,", seconds=120)
        # On a busy host, the answer's second sentence may not fit on the screen. It is checked in
        # `run["answer"]` below.
        lab.until(lambda: lab.shows("× faster than") or lab.shows("is fastest"), what="the answer")
        assert len(figures(lab.text)) >= 3, "the answer and the curves have times"
        lab.press("6")
        lab.see("CPU:0", "ops")
        lab.press("d")
        lab.see("Claim 1")
        lab.press("?")
        lab.see("╭─ Help")
        lab.press("\x1b")
        lab.until(lambda: not lab.shows("╭─ Help"), what="the help is closed")
        newcomer.leaves(lab)
    assert "stft-small" in newcomer.run("tuilab history").out
    (run,) = json.loads(newcomer.run("tuilab history --json").out)
    assert run["status"] == "ok" and run["rounds"] >= 5 and "On the CPU" in run["answer"]
    newcomer.run("tuilab export last -o run.html")
    assert run["answer"][:40] in (newcomer.home / "run.html").read_text()


def test_a_slider_is_moved_by_key_and_by_mouse(user: User) -> None:
    with user.opens("tuilab --preset stft-small", (160, 50)) as lab:
        lab.see("ready", seconds=120)
        lab.press("i")
        lab.see("▸samples")
        lab.press("\r64k\r")
        lab.until(lambda: slider(lab) == "65536", what="the typed value")
        lab.see("round", seconds=60)
        lab.until(lambda: lab.shows("done,"), 120)
        x, y = find(lab, "┣", below=" Controls ")
        drag(lab, find(lab, "◉", below=" Controls ")[0], y, x + 3)
        lab.until(lambda: slider(lab) not in ("", "65536"), what="another value by the mouse")
        lab.until(lambda: not lab.shows("done,"), what="the next run")
        lab.see("done,", seconds=120)
        moved = slider(lab)
        click(lab, *find(lab, "Compare", below="Live"))
        lab.compares()
        user.leaves(lab)
    runs = json.loads(user.run("tuilab history --json").out)
    assert len(runs) >= 2 and all(run["rounds"] for run in runs)
    shown = json.loads(user.run("tuilab export last --format json").out)
    assert shown["scenario"]["parameters"]["samples"] == int(moved)
