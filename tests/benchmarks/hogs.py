"""Programs that compete for the processors during a measurement. They are busy for 2 s and quiet for 3 s on
average.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOG = """
import os, random, time
random.seed({seed})
while os.getppid() == {parent}:
    time.sleep(random.expovariate(1 / 3.0))
    print(time.monotonic(), flush=True)
    until = time.monotonic() + random.expovariate(1 / 2.0)
    while time.monotonic() < until: pass
    print(time.monotonic(), flush=True)
"""
"""A program that competes for a processor. It reports its busy times by the system-wide clock, and exits if
the benchmark is killed.
"""


@contextmanager
def hogs(count: int, seed: int | None = None) -> Iterator[list[tuple[float, float]]]:
    """Run `count` programs that compete for the processors.

    After they have ended, the yielded list contains their busy times in seconds. seed: determines their
    behavior; None makes it random.
    """
    busy: list[tuple[float, float]] = []
    first = random.randrange(1_000_000) if seed is None else seed
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / str(number) for number in range(count)]
        made = []
        for number, file in enumerate(files):
            code = HOG.format(seed=first + number, parent=os.getpid())
            with file.open("w") as out:
                made.append(subprocess.Popen([sys.executable, "-S", "-c", code], stdout=out))
        try:
            yield busy
        finally:
            for process in made:
                process.kill()
                process.wait()
            for file in files:
                times = [*map(float, file.read_text().split()), time.monotonic()]
                busy += zip(times[::2], times[1::2], strict=False)
