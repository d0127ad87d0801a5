"""The app with emulated GPUs, used by keys in a terminal: each view shows the right content."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terminal.lab import READY_S, REPOSITORY, environment, leave, opened

pytestmark = [pytest.mark.real_worker, pytest.mark.terminal, pytest.mark.slow, pytest.mark.timeout(400)]

VIEWS = {
    "2": ("GPU graph", "ran on", "GPU:0"),
    "3": ("No sweep yet",),
    "4": ("stopped before its phases",),
    "5": ("under the profiler",),
    "6": ("on GPU:0: GPU kernel for float32",),
    "7": ("logical CPUs", "no GPU figures"),
    "8": ("Claim 1",),
    "9": ("UnimplementedError",),
    "w": ("FLOP/s", "GPU graph"),
    "1": ("round",),
}
"""Words that each view must show about a run, by the view's key."""


def test_every_view_shows_the_gpu_arms(emulated_gpu: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    made = emulated_gpu(2)
    made["PYTHONPATH"] += f":{REPOSITORY}"
    here = environment(tmp_path, **made)
    for name in ("COLUMNS", "LINES"):  # these variables have the size of the test runner's terminal
        here.pop(name, None)
    with opened(tmp_path, (120, 40), "--preset", "stft-small", env=here) as terminal:
        terminal.see("ready", seconds=READY_S)
        assert terminal.shows("EMULATED")
        terminal.until(lambda: terminal.shows("quick"), 30, "the short budget")
        terminal.press("r")
        terminal.until(lambda: terminal.shows("So far") or terminal.shows("fastest"), 120, "a first figure")
        terminal.press("x")
        terminal.until(lambda: terminal.shows("Stopped after"), 60, "the stop")
        for key, words in VIEWS.items():
            terminal.press(key)
            for each in words:
                terminal.until(lambda each=each: terminal.shows(each), 30, f"view {key}: {each}")
            assert not terminal.shows("Traceback")
        terminal.press("D")
        terminal.until(lambda: terminal.shows("Demo 1 of", "GPU graph"), 30, "a guess for the GPU's arms")
        terminal.press("\x1b")
        terminal.until(lambda: not terminal.shows("Demo 1 of"), 30, "no demo")
        leave(terminal)
