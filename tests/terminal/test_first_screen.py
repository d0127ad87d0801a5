"""The first screen comes about as soon as that of the least app that Textual can make."""

import statistics
import sys

import pytest

from tests.benchmarks.first_paint import BARE, paint
from tests.benchmarks.terminal import LAB

PAIRS, TRIES = 7, 3
LIMIT = 1.8
"""So that it holds on a busy machine, where other work stretches the longer start more; the benchmark has 1.3."""


def ratio() -> float:
    """The median ratio of pairs run in turn, so that what else the machine does weighs on both sides."""
    found = []
    for number in range(PAIRS):
        sides = {}
        for side in ("ours", "bare") if number % 2 else ("bare", "ours"):
            command, word = (LAB, "Presets") if side == "ours" else ((sys.executable, "-c", BARE), "one line")
            (sides[side],) = paint(command, (word,))
        found.append(sides["ours"] / sides["bare"])
    return statistics.median(found)


@pytest.mark.terminal
def test_the_first_screen_against_a_bare_app():
    paint(LAB, ("Presets",))  # The files are in memory from here on.
    ratios: list[float] = []
    while len(ratios) < TRIES and (not ratios or ratios[-1] > LIMIT):
        ratios.append(ratio())
    assert ratios[-1] <= LIMIT, f"medians of {PAIRS} pairs: {ratios}"
