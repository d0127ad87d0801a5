"""The lab's resources do not grow with the number of runs, pages and starts (see
tests/benchmarks/soak.py).
"""

import _sqlite3
import asyncio
import ctypes
import gc
import os
import threading
from collections import Counter

import pytest
from textual.strip import Strip
from textual.widget import Widget

from tests.benchmarks.startup import fill
from tests.tui.lab import lab, opened, press, rest, text, until
from tuilab.history import runs as runs_module
from tuilab.history.store import FILE, Store
from tuilab.model.run import RunState

KINDS = (Widget, RunState)
BEFORE, RUNS, ROUND = 8, 24, 8
MORE = 1
"""Maximum growth in the number of objects. A leak adds more, because each page is opened twice after the
first count.
"""
POOLED = ("tasks", "files", "threads")
"""Resources that come from pools, so their number varies."""
PAGES = (
    ("a", "escape"),
    ("question_mark", "escape"),
    ("e", "escape"),
    ("R", "escape"),
    ("c",),
    ("d",),
    ("6",),
    ("9",),
)


def held() -> Counter[str]:
    """Count the live objects of some types, and the process's tasks, files and threads."""
    gc.collect()
    found: Counter[str] = Counter()
    for thing in gc.get_objects():
        for kind in KINDS:
            if isinstance(thing, kind):
                found[type(thing).__name__] += 1
    found["tasks"] = sum(not task.done() for task in asyncio.all_tasks())
    found["files"] = len(os.listdir("/proc/self/fd"))
    found["threads"] = threading.active_count()
    return found


async def test_runs_and_pages_leave_nothing_behind(tmp_path):
    app = lab(tmp_path, rounds=2)
    async with opened(app) as pilot:
        first: Counter[str] | None = None
        for number in range(1, RUNS + 1):
            await press(pilot, app, ["r", *PAGES[number % len(PAGES)]])
            if number == BEFORE:
                await press(pilot, app, [key for page in PAGES for key in page])
            # count objects only on the same screen, so that the counts are comparable
            if number % ROUND == 0:
                await press(pilot, app, ["1"])
                await rest(pilot, app)
                first = first or held()
        last = held()
        assert len(app.runner.measured) == RUNS
    assert first is not None
    more = {
        kind: count - first[kind]
        for kind, count in last.items()
        if count > first[kind] + (3 if kind in POOLED else MORE)
    }
    assert not more, more


async def test_messages_leave_no_objects_behind(tmp_path):
    app, counts = lab(tmp_path), []
    async with opened(app, messages=True) as pilot:
        for _ in range(8):
            await press(pilot, app, ["x"])
            await until(pilot, lambda: "Nothing is running" in text(app))
            app.clear_notifications()
            await until(pilot, lambda: "Nothing is running" not in text(app))
            gc.collect()
            counts.append(sum(isinstance(thing, Strip) for thing in gc.get_objects()))
    assert counts[-1] < counts[2] + 5, counts


async def test_starting_reads_equally_much_of_long_and_short_histories(tmp_path, monkeypatch):
    """Counts the instructions of SQLite's virtual machine. Reading every run would need many instructions."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connect = runs_module.connect

    def counting(file):
        connection = connect(file)
        connection.set_progress_handler(count, 1)
        return connection

    needed = {}
    for runs in (5, 1_000):
        folder = tmp_path / str(runs)
        fill(folder, runs)
        steps = 0
        with monkeypatch.context() as patch:
            patch.setattr(runs_module, "connect", counting)
            app = lab(tmp_path, store=lambda folder=folder: Store.open(folder))
            async with opened(app):
                needed[runs] = steps
    assert 0 < needed[1_000] < needed[5] + 500, needed


def test_a_long_history_is_not_kept_in_memory(tmp_path):
    """The cache of each connection used to keep up to 16 MB of the history."""
    used = getattr(ctypes.CDLL(_sqlite3.__file__), "sqlite3_memory_used", None)
    if used is None:
        pytest.skip("this Python's SQLite does not tell what it holds")
    used.restype = ctypes.c_int64
    fill(tmp_path, 300)
    before = used()
    store = Store.open(tmp_path)
    for line in store.runs():
        store.state(line.run)
    held = used() - before
    store.close()
    assert (tmp_path / FILE).stat().st_size > 6 * 2**20 > 2 * held, held
