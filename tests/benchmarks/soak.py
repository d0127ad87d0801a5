"""Eight hours condensed: thousands of short runs in one session of the real program, and its resources
afterwards.

  python -m tests.benchmarks.soak [--runs N] [--hours H] [--pause S] [--json FILE]

With --hours, the session lasts H hours, and reports its resources every hour. With --pause, it waits S
seconds between two runs, as a user does.

The worker is the one without TensorFlow, in a separate process. Most runs are started with `r`; some by a
slider, a sweep or another preset, and views and pages are opened in between, as in a day's work.
"""

import argparse
import gc
import json
import os
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import msgspec
import psutil

from tests.benchmarks.budget import Row, below
from tests.terminal.terminal import Terminal
from tuilab.history.store import FILE

RUNS, SETTLED, EVERY = 2_000, 200, 50
HOUR_S = 3_600.0
LIMIT_MIB = 20.0
ROUNDS, EVERY_S = 6, 0.002
PATIENCE_S = 30.0
AGAIN_S = 1.5
"""Seconds to wait for the end of a run. If the history has no new run by then, the run is stopped and
another run starts.
"""
LOOK_WAIT_S = 5.0
ROOT = Path(__file__).resolve().parents[2]
WAYS = ("r",) * 6 + ("i\x1b[C", "r", "s", "c", "r", "i\x1b[D", "r", "]", "]", "d", "]", "s", "]]]]]")
"""Keys to type in turn. After each item, the benchmark waits for a run; if none starts, it presses `r`."""
MEASURING = ("r", "s", "i\x1b[C", "i\x1b[D")
PAGES = ("a", "?", "e", "g", "o")
HOW = (
    "the lab in a pseudo-terminal with a worker process that reports six rounds a run, by keys; views, sliders, sweeps "
    "and pages in turn"
)


class Held(msgspec.Struct, frozen=True):
    """The lab's resource usage after `runs` runs.

    Memory is in bytes. objects: number of objects that the garbage collector tracks.
    """

    runs: int
    rss: int
    unique: int
    fds: int
    threads: int
    tasks: int
    objects: int
    kinds: dict[str, int] = {}


# The code below runs in the lab's process.


def lab(told: str) -> int:
    from tests.faults.program import PRESETS, WORKER
    from tuilab.runner.supervisor import Supervisor
    from tuilab.tui.app import run
    from tuilab.tui.options import Options

    given = json.loads(told)
    command = [sys.executable, "-P", WORKER, "tuilab.worker", json.dumps(given["worker"])]
    signal.signal(signal.SIGUSR1, lambda number, frame: _count(number, frame, given["look"]))
    return run(
        Options(presets=(PRESETS,), newcomer=False, runner=lambda on_event: Supervisor(on_event, command))
    )


def _count(number: int, frame: FrameType | None, file: str) -> None:
    import asyncio

    gc.unfreeze()
    gc.collect()
    objects = gc.get_objects()
    body = {
        "tasks": sum(not task.done() for task in asyncio.all_tasks()),
        "objects": len(objects),
        "kinds": dict(Counter(f"{type(o).__module__}.{type(o).__name__}" for o in objects).most_common(150)),
    }
    del objects
    Path(f"{file}.part").write_text(json.dumps(body))
    os.replace(f"{file}.part", file)


# The code below runs in the benchmark's process.


class Soak:
    def __init__(self, folder: Path) -> None:
        self.folder, self.look = folder, folder / "look"
        (folder / "home").mkdir()
        told = {"look": str(self.look), "worker": {"rounds": ROUNDS, "every_s": EVERY_S}}
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TUILAB", "XDG", "TEXTUAL"))}
        own = {
            "HOME": str(folder / "home"), "TUILAB_DATA": str(folder / "data"), "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8",
        }  # fmt: skip
        command = [sys.executable, "-P", "-m", "tests.benchmarks.soak", "--lab", json.dumps(told)]
        self.terminal = Terminal(command, {**kept, **own}, (120, 40), cwd=str(folder))
        self.process = psutil.Process(self.terminal.process.pid)
        self.history: sqlite3.Connection | None = None

    def open(self) -> None:
        self.terminal.see("ready, r measures")
        self.history = sqlite3.connect(f"file:{self.folder / 'data' / FILE}?mode=ro", uri=True, timeout=10)

    def over(self) -> int:
        """Return the number of finished runs in the history. Raises AssertionError if a run failed."""
        assert self.history is not None
        query = "SELECT COUNT(*), COALESCE(SUM(status = 'failed'), 0) FROM runs WHERE status IS NOT NULL"
        ended, failed = self.history.execute(query).fetchone()
        if failed:
            last = (
                "SELECT event FROM events JOIN runs USING (run) WHERE status = 'failed' ORDER BY number DESC"
            )
            raise AssertionError(f"{failed} runs failed: {self.history.execute(last).fetchone()[0]!r}")
        return int(ended)

    def under_way(self) -> bool:
        assert self.history is not None
        return bool(self.history.execute("SELECT 1 FROM runs WHERE status IS NULL LIMIT 1").fetchone())

    def run(self, number: int) -> None:
        before, keys = self.over(), WAYS[number % len(WAYS)]
        if number % 25 == 24:
            # Only the pause after Escape shows that the key was pressed alone. A busy machine may detect the
            # pause late.
            self.terminal.press(PAGES[number // 25 % len(PAGES)])
            time.sleep(1)
            self.terminal.press("\x1b")
            time.sleep(1)
        self.terminal.press(keys if keys in MEASURING else f"{keys}r")
        pressed = time.monotonic()

        def over() -> bool:
            nonlocal pressed
            if time.monotonic() - pressed > AGAIN_S:
                self.terminal.press("\x1b")
                time.sleep(1)
                self.terminal.press("x")
                self.wait(lambda: not self.under_way(), "a run that was stopped")
                if self.over() == before:
                    self.terminal.press("r")
                pressed = time.monotonic()
            return self.over() > before

        self.wait(over, f"run {number}")

    def wait(self, true: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not true():
            if time.monotonic() > end or self.terminal.process.poll() is not None:
                raise TimeoutError(f"{what} is not in the history\n{self.terminal.text}")
            time.sleep(0.01)

    def held(self, runs: int) -> Held:
        self.wait(lambda: not self.under_way(), "the end of a run")
        time.sleep(0.5)
        memory = self.process.memory_full_info()
        fds, threads = self.process.num_fds(), self.process.num_threads()
        self.look.unlink(missing_ok=True)
        self.terminal.signal(signal.SIGUSR1)
        self.wait(self.look.exists, "a count of what the lab holds")
        inside = json.loads(self.look.read_text())
        return Held(runs=runs, rss=memory.rss, unique=memory.uss, fds=fds, threads=threads, **inside)

    def leave(self) -> None:
        self.terminal.press("q")
        assert self.terminal.ended(20) == 0, self.terminal.text

    def close(self) -> None:
        if self.history is not None:
            self.history.close()
        self.terminal.close()


def soak(
    runs: int = RUNS, say: Callable[[str], None] = lambda text: None, hours: float = 0.0, pause: float = 0.0
) -> Iterator[Held]:
    """Yield the lab's resource usage after every fiftieth run; if `hours` is set, every hour for this
    number of hours.
    """
    with tempfile.TemporaryDirectory() as folder:
        session = Soak(Path(folder))
        begun = time.monotonic()
        try:
            session.open()
            hour = 0
            for number in range(1, 2**40 if hours else runs + 1):
                session.run(number)
                time.sleep(pause)
                passed = (time.monotonic() - begun) / HOUR_S
                over = passed >= hours if hours else number == runs
                if over or (int(passed) > hour or number == SETTLED if hours else number % EVERY == 0):
                    hour = int(passed)
                    held = session.held(number)
                    mib = held.rss / 2**20
                    say(
                        f"{f'hour {passed:.1f}, ' if hours else ''}{number} runs, {time.monotonic() - begun:.0f} s: {mib:.1f} MiB, {held.fds} files, "
                        f"{held.threads} threads, {held.tasks} tasks, {held.objects:,} objects"
                    )
                    yield held
                if over:
                    break
            session.leave()
        finally:
            session.close()


def judge(found: list[Held], settled: int = SETTLED) -> list[Row]:
    """Return rows for the growth of memory after the first runs, and for the growth of files, threads and
    tasks.
    """
    first = next((held for held in found if held.runs >= settled), found[0])
    later = [held for held in found if held.runs > first.runs]
    last = later[-1]
    grew = (last.rss - first.rss) / 2**20
    kinds = {k: n - first.kinds.get(k, 0) for k, n in last.kinds.items() if n > first.kinds.get(k, 0) + 50}
    name = f"{last.runs:,} runs in one session"
    rows = [
        below(
            f"{name}: memory growth after the first {first.runs:,}", grew, LIMIT_MIB, " MiB", HOW, 1,
            at_first=first.rss, at_last=last.rss, unique=(last.unique - first.unique) / 2**20,
            objects=[first.objects, last.objects], grew=kinds,
            course=[[held.runs, round(held.rss / 2**20, 1)] for held in found],
        )
    ]  # fmt: skip
    for what, of in (
        ("open files", lambda held: held.fds),
        ("threads", lambda held: held.threads),
        ("tasks", lambda held: held.tasks),
    ):
        half = len(later) // 2
        before, after = (
            statistics.median(map(of, part)) for part in ([first, *later[:half]], later[half:] or later)
        )
        rows.append(
            below(f"{name}: more {what}", after - before, 0, "", HOW, 0, course=[of(held) for held in found])
        )
    return rows


def measure(runs: int = RUNS, hours: float = 0.0, pause: float = 0.0) -> list[Row]:
    return judge(list(soak(runs, lambda text: print(text, file=sys.stderr, flush=True), hours, pause)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--lab", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.lab:
        return lab(given.lab)
    rows = measure(given.runs, given.hours, given.pause)
    print(rows[0].budget, *(row.measured for row in rows), sep=" | ")
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
    return 0 if all(row.met is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
