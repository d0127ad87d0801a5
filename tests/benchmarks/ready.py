"""Measures the time from the command to the first sample of `stft-small` on the plot, compared with an
import of TensorFlow.
"""

import os
import statistics
import subprocess
import sys
import time

from tests.benchmarks.budget import Row, below, spread
from tests.benchmarks.terminal import lab

PAIRS = 3
LIMIT = 1.2
HOW = (
    "`tuilab --preset stft-small` with `r` typed at the first paint, until the first round is on the screen; "
    "against `python -c 'import tensorflow'`, in turn"
)


def ready() -> tuple[float, float]:
    with lab("--preset", "stft-small") as terminal:
        terminal.arrival("Presets")
        terminal.press("r")
        warm = terminal.until(lambda: started(terminal.text), what="the run begins") - terminal.begun
        return warm, terminal.until(lambda: sampled(terminal.text), what="a sample") - terminal.begun


def started(text: str) -> bool:
    return "TF 2" in text.splitlines()[0] or "warming up" in text or sampled(text)


def sampled(text: str) -> bool:
    return "warming up: not counted" in text or any(
        word in text.splitlines()[0] for word in ("round", "measuring,")
    )


def alone() -> float:
    begun = time.monotonic()
    subprocess.run(
        [sys.executable, "-c", "import tensorflow"],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        check=True,
    )
    return time.monotonic() - begun


def measure() -> list[Row]:
    alone()
    pairs = [(ready(), alone()) for _ in range(PAIRS)]
    ratios = [shown / bare for (_, shown), bare in pairs]
    detail = {
        "first_sample_s": spread([shown for (_, shown), _ in pairs]),
        "worker_ready_s": spread([warm for (warm, _), _ in pairs]),
        "import_s": spread([bare for _, bare in pairs]),
    }
    warm = statistics.median(ready_at / bare for (ready_at, _), bare in pairs)
    how = "until the worker has loaded TensorFlow and says so on the screen, in the same pairs"
    return [
        below(
            "ready / import tensorflow: first sample", statistics.median(ratios), LIMIT, "×", HOW, **detail
        ),
        below("ready / import tensorflow: worker", warm, LIMIT, "×", how),
    ]
