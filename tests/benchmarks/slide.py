"""Measures the time from a slider's move to the first new sample on the plot, with a warm worker."""

import itertools
import statistics
import tempfile
import time
from pathlib import Path

from tests.benchmarks.budget import Row, below, spread
from tests.benchmarks.terminal import Terminal, lab

SLIDES = 12
LIMIT_S = 0.4
PRESET = """\
title = "One graph on the CPU"
workload = "stft"

[parameters]
samples = 10240
frame_length = 256
frame_step = 128
fft_length = 256

[arms]
modes = ["graph"]
inputs = ["resident"]
variants = ["whole"]
"""
HOW = (
    "a CPU graph STFT of 10,240 samples, its slider moved a step up and down again: from the last key's bytes "
    "until a sample of the new size is on the plot (of the warm-up, and marked so), the rest of 0.1 s included"
)
RIGHT, LEFT = "\x1b[C", "\x1b[D"


def slide(terminal: Terminal, key: str) -> float:
    at = terminal.press(key)
    seen = terminal.until(lambda: "warming up: not counted" in terminal.text, 10, "a sample of the warm-up")
    terminal.until(lambda: " done," in terminal.text.splitlines()[0], 60, "the end of the run")
    return seen - at


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        preset = Path(folder) / "one-graph.toml"
        preset.write_text(PRESET)
        with lab("--preset", str(preset)) as terminal:
            terminal.see("ready, r measures")
            terminal.press("r")
            terminal.until(lambda: " done," in terminal.text.splitlines()[0], 60, "the first run")
            terminal.press("i")
            terminal.see("▸samples")
            took = []
            for key in itertools.islice(itertools.cycle((RIGHT, LEFT)), SLIDES + 1):
                terminal.settle(0.5)
                took.append(slide(terminal, key))
                time.sleep(0.1)
    detail = spread(took[1:])
    name = "slide and see"
    return [below(name, 1e3 * statistics.median(took[1:]), 1e3 * LIMIT_S, " ms", HOW, 0, **detail)]
