"""Tests whether the screen disturbs the run it shows: the same run with and without it, alternating, in one
worker.

python -m tests.benchmarks.disturbance [pairs] [--write]

One worker process measures everything, to exclude differences between processes. A run with the screen is
started by pressing `r` in the real app, in a 120 × 40 pseudo-terminal. A run without the screen sends the
same request while the app is idle, and neither draws nor waits for the screen. If the screen does not disturb
the measurement, the ratio of the medians is within 1% of 1. The control compares two runs without the screen;
if they differ by more than 1%, the machine is too unsteady for a result. `--write` writes the result to
`disturbance.md`.

The arms are those of a small STFT in eager mode and with XLA, whose medians differ by 1% between runs on an
idle machine. The graph arm is excluded: even without the screen, its medians differ by 10%, because its few
ops are assigned to threads in one of two ways. No feasible number of pairs would average this out.
"""

import contextlib
import math
import os
import random
import socket
import statistics
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.benchmarks import still, written
from tests.benchmarks.budget import Row, quantile
from tests.benchmarks.terminal import Terminal, program
from tests.conftest import Worker
from tuilab.analysis.ratios import from_location
from tuilab.analysis.statistics import locate
from tuilab.model import events, requests
from tuilab.model.run import RunState

PAIRS = 40
NAMES, LIMITS = ("median", "95% quantile"), (0.01, 0.05)
HOW = "quick runs of one request on one worker with the screen and without, in turn; the arm that is off by most"
Figures = dict[str, tuple[float, float]]
Ratio = tuple[float, float, float]
PRESET = """\
title = "A small STFT"
workload = "stft"

[parameters]
samples = 256
frame_length = 256
frame_step = 128
fft_length = 256

[arms]
modes = ["eager", "xla"]
inputs = ["resident"]
variants = ["whole"]
"""
RUN_S = 120.0

APP = """
import sys
from pathlib import Path
from tuilab.lab.state import LabState
from tuilab.runner.supervisor import Supervisor
from tuilab.tui.app import LabApp
from tuilab.tui.options import Options
bridge = [sys.executable, sys.argv[1], sys.argv[2]]
runner = lambda heard: Supervisor(heard, bridge)
presets = (Path(sys.argv[3]),)
LabState.further = lambda state, budget=None: None  # each run starts over, in the one process there is
LabApp(Options(presets=presets, preset="small", rerun=False, newcomer=False, runner=runner)).run()
"""


class Shared:
    """A worker that serves an app. The benchmark forwards the messages between the worker and the app."""

    def __init__(self, folder: str) -> None:
        self.worker = Worker(cpus=1)
        self.path = os.path.join(folder, "worker")
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(self.path)
        self._server.listen(1)
        self.seen: list[events.Event] = []
        self.asked: list[requests.Measure] = []
        self.finished = threading.Event()
        self._watched = True

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Until the block ends, forward and record the app's requests and the worker's events."""
        over = threading.Event()
        thread = threading.Thread(target=self._serve, args=(over,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(10)

    def _serve(self, over: threading.Event) -> None:
        line, _ = self._server.accept()
        with line:
            hello = events.Hello(protocol=events.PROTOCOL, tuilab=self.worker.machine.tuilab, pid=0)
            ready = events.Ready(machine=self.worker.machine, import_s=0.0, start_s=0.0)
            line.sendall(events.encode(hello) + events.encode(ready))
            threading.Thread(target=self._listen, args=(line,), daemon=True).start()
            while not over.is_set():
                try:
                    event = self.worker.next(0.2, patient=True)
                except TimeoutError:
                    continue
                self.seen.append(event)
                # The app starts a run only after it has the answers to all its other requests.
                if self._watched or hasattr(event, "request"):
                    with contextlib.suppress(OSError):
                        line.sendall(events.encode(event))
                if isinstance(event, events.Finished):
                    self.finished.set()

    def _listen(self, line: socket.socket) -> None:
        with contextlib.suppress(OSError), line.makefile("rb") as stream:
            for text in stream:
                request = requests.decode(text)
                if isinstance(request, requests.Shutdown):
                    return
                if isinstance(request, requests.Measure):
                    request = msgspec.structs.replace(request, spool="")
                    self.asked.append(request)
                self.worker.send(request)

    def with_screen(self, terminal: Terminal) -> Figures:
        self._begin(watched=True)
        terminal.press("r")
        return self._end(terminal)

    def without_screen(self, terminal: Terminal) -> Figures:
        self._begin(watched=False)
        self.worker.send(msgspec.structs.replace(self.asked[-1], id=uuid.uuid4().hex, pace=False))
        return self._end(terminal)

    def _begin(self, *, watched: bool) -> None:
        self.seen, self._watched = [], watched
        self.finished.clear()

    def _end(self, terminal: Terminal) -> Figures:
        if not self.finished.wait(RUN_S):
            raise RuntimeError(f"the run did not end\n{terminal.text}")
        terminal.settle(0.3)
        return figures(self.seen)

    def close(self) -> None:
        self._server.close()
        self.worker.close()


@contextlib.contextmanager
def app(path: str) -> Iterator[Terminal]:
    bridge = str(Path(__file__).with_name("bridge.py"))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "small.toml").write_text(PRESET)
        with program((sys.executable, "-c", APP, bridge, path, folder)) as terminal:
            yield terminal


def figures(seen: list[events.Event]) -> Figures:
    """Return each measured arm's median and 95% quantile, in seconds per call."""
    state = RunState()
    for event in seen:
        state.apply(event)
    cells = {name: arm.cells[0].samples for name, arm in state.arms.items() if arm.cells}
    return {name: (statistics.median(s), quantile(s, 0.95)) for name, s in cells.items() if len(s)}


Logs = dict[str, list[tuple[float, float]]]
"""For each arm, one item per pair of runs: the log ratio of the medians, and the log ratio of the 95%
quantiles.
"""


def pairs(shared: Shared, count: int) -> tuple[Logs, Logs]:
    """Measure pairs of runs with and without the screen, and control pairs without the screen, in random
    order.
    """
    watched: Logs = {}
    control: Logs = {}
    rng = random.Random(1)
    with shared.serving(), app(shared.path) as terminal:
        terminal.see("ready, r measures")
        terminal.settle()
        shared.with_screen(terminal)  # not timed, because the first run also loads modules and kernels
        runs = {"with": shared.with_screen, "without": shared.without_screen, "again": shared.without_screen}
        for number in range(count):
            found = {name: runs[name](terminal) for name in rng.sample(list(runs), len(runs))}
            for logs, name in ((watched, "with"), (control, "again")):
                for arm in found[name].keys() & found["without"].keys():
                    both = zip(found[name][arm], found["without"][arm], strict=True)
                    middle, high = (math.log(a / b) for a, b in both)
                    logs.setdefault(arm, []).append((middle, high))
            print(f"pair {number + 1} of {count}", file=sys.stderr)
    return watched, control


def ratio_of(logs: list[float]) -> Ratio:
    middle = locate(logs)
    assert middle is not None
    ratio = from_location(middle)
    return ratio.ratio, *(ratio.interval or (float("nan"), float("nan")))


def ratios(logs: Logs, index: int) -> dict[str, Ratio]:
    return {arm: ratio_of([pair[index] for pair in some]) for arm, some in logs.items()}


def compared(count: int) -> tuple[Logs, Logs]:
    with tempfile.TemporaryDirectory() as folder:
        shared = Shared(folder)
        try:
            return pairs(shared, count)
        finally:
            shared.close()


def measure() -> list[Row]:
    """Return one row for the medians and one for the 95% quantiles, each for the arm with the largest
    difference.

    A row has no verdict if two runs without the screen differ by more than the limit.
    """
    watched, control = compared(int(os.environ.get("TUILAB_BENCH_PAIRS", PAIRS)))
    rows = []
    for index, (name, limit) in enumerate(zip(("medians", "95th percentiles"), LIMITS, strict=True)):
        found, same = ratios(watched, index), ratios(control, index)
        worst = max(found, key=lambda arm: abs(found[arm][0] - 1))
        ratio, low, high = found[worst]
        steady = same[worst][1] >= 1 - limit and same[worst][2] <= 1 + limit
        shown = f"{ratio:.3f} [{low:.3f} {high:.3f}]"
        if not steady:
            shown += "; control (the two groups without the screen): {:.3f} [{:.3f} {:.3f}]".format(
                *same[worst]
            )
        met = abs(ratio - 1) <= limit if steady else None
        detail: dict[str, object] = {"arms": found, "control": same}
        rows.append(Row(f"disturbance, {name}", f"1 ± {limit:.0%}", shown, met, HOW, ratio, limit, detail))
    return rows


def main() -> None:
    count = next((int(word) for word in sys.argv[1:] if word.isdigit()), PAIRS)
    still.wait()
    watch = still.Watch()
    watched, control = compared(count)
    rows = [
        "| arm | figure | with the screen / without | 95% interval | without twice | 95% interval | pairs |",
        "|---|---|---|---|---|---|---|",
    ]
    for index, name in enumerate(NAMES):
        same = ratios(control, index)
        for arm, (ratio, low, high) in sorted(ratios(watched, index).items()):
            figures = f"{ratio:.4f} | {low:.4f} to {high:.4f} | "
            figures += "{:.4f} | {:.4f} to {:.4f}".format(*same[arm])
            rows.append(f"| {arm} | {name} | {figures} | {count} |")
    shown = "\n".join(rows) + f"\n\n{watch.said()}\n"
    written.show(shown, "The screen does not disturb", __file__, __doc__)


if __name__ == "__main__":
    main()
