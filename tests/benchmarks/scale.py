"""Measures the lab with large data: the memory of its process, and the time to open a view.

Each scene runs in a separate process without a terminal, but its widgets are laid out and drawn.
"""

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import psutil

from tests.benchmarks.budget import Row, below

if TYPE_CHECKING:
    from tests.tui.lab import TestLab

MEMORY_MB, OPEN_MS, KEY_MS = 150.0, 300.0, 100.0
SAMPLES, RUNS, OPS, POINTS = 1_000_000, 10_000, 100_000, 400
SWEEP_ROUNDS, PAINTS = 30, 5
ROUNDS = {"run": SAMPLES // 6, "sweep": SWEEP_ROUNDS}
MEDIANS = (4.41e-3, 4.83e-4, 5.17e-4, 3.92e-3, 5.35e-4, 6.12e-4)
SCENES = {
    "run": f"{SAMPLES:,} samples, {OPS:,} placement rows and {RUNS:,} runs in the history",
    "sweep": f"a sweep of {POINTS} points over two axes",
}


def large_run() -> Iterator[object]:
    """Yield the events of a run with a million samples whose graph has a hundred thousand ops."""
    from tests.tui import data
    from tuilab.model import events as e
    from tuilab.model.scenario import BUDGET

    arms, rng = data.ARMS, random.Random(1)
    yield e.RunStarted(
        run="r1", scenario=data.SCENARIO, arms=arms, points=(e.Point(0),), budget=BUDGET["publish"],
        machine=data.MACHINE, at="2026-01-05T10:00:00Z", preset="stft-small",
    )  # fmt: skip
    for arm in arms:
        yield e.ArmStatus(run="r1", arm=arm.id, status="ok", device=arm.device)
    for start in range(0, OPS, 1_000):
        nodes = tuple(
            e.Node(f"model/block_{i}/mul", "Mul", "GPU:0", bytes=64 * i) for i in range(start, start + 1_000)
        )
        # Encode and decode the events, so that equal strings in different rows become separate objects, as
        # with a real worker.
        yield e.decode(e.encode(e.Placement(run="r1", arm=arms[4].id, nodes=nodes)))
    for index in range(SAMPLES // len(arms)):
        blocks = tuple(
            e.Block(arm.id, 0, 16, 16 * (s := m * rng.lognormvariate(0, 0.02)), s * 1.1)
            for arm, m in zip(arms, MEDIANS, strict=True)
        )
        yield e.Round(run="r1", index=index, blocks=blocks, elapsed_s=index * 0.04, timed_s=index * 0.036)
    yield e.Finished(run="r1", status="ok", elapsed_s=1.0)


def large_sweep() -> Iterator[object]:
    """Yield the events of a sweep of 20 × 20 points with two arms and thirty rounds."""
    from tests.tui import data
    from tuilab.model import events as e
    from tuilab.model.scenario import BUDGET, Axis, Sweep

    side = int(POINTS**0.5)
    axes = tuple(
        Axis(name, tuple(2**k for k in range(first, first + side)))
        for name, first in (("samples", 6), ("batch", 0))
    )
    points = tuple(
        e.Point(i * side + j, {"samples": x, "batch": y})
        for i, x in enumerate(axes[0].values)
        for j, y in enumerate(axes[1].values)
    )
    arms = (data.ARMS[1], data.ARMS[4])
    yield e.RunStarted(
        run="r1", scenario=data.SCENARIO, arms=arms, points=points, budget=BUDGET["standard"],
        machine=data.MACHINE, at="2026-01-05T10:00:00Z", preset="stft-small", sweep=Sweep(axes=axes, refine=False),
    )  # fmt: skip
    for arm in arms:
        yield e.ArmStatus(run="r1", arm=arm.id, status="ok", device=arm.device)
    rng = random.Random(2)
    for index in range(SWEEP_ROUNDS):
        blocks = tuple(
            e.Block(arm.id, p.index, 16, 16 * (s := m * rng.lognormvariate(0, 0.02)), s)
            for p in points
            for arm, m in zip(arms, (1e-4 + 1e-9 * float(p.values["samples"]), 2e-4), strict=True)
        )
        yield e.Round(run="r1", index=index, blocks=blocks, elapsed_s=index * 0.4, timed_s=index * 0.36)
    yield e.Finished(run="r1", status="ok", elapsed_s=1.0)


async def scene(name: str, folder: Path) -> dict[str, object]:
    from tests.tui.lab import lab, opened, rest
    from tuilab.history.store import Store
    from tuilab.lab.changes import Change
    from tuilab.model.run import RunState
    from tuilab.tui.actions import VIEWS
    from tuilab.tui.panels.views import Views

    store = Store.open(folder / "history")
    app = lab(folder, store=lambda: store)
    async with opened(app) as pilot:
        here = app.screen.lab  # type: ignore[attr-defined]
        bare = rss()
        state = here.state.shown = RunState()
        events = iter(large_run() if name == "run" else large_sweep())
        while state.rounds < ROUNDS[name]:
            state.apply(next(events))  # type: ignore[arg-type]
        filled = rss()
        # Apply all rounds at once. A real run sends them one by one.
        here.changed(~Change.NOTHING)
        await drawn(app)
        held = [await held_up(app) for _ in range(PAINTS)]
        state.apply(next(events))  # type: ignore[arg-type]
        begun = time.perf_counter()
        here.state.result()
        summary = time.perf_counter() - begun
        here.changed(~Change.NOTHING)
        await rest(pilot, app)
        opens: dict[str, float] = {}
        views = app.screen.query_one(Views)
        for key in [*VIEWS, "live"]:
            begun = time.perf_counter()
            await views.open(key)
            await drawn(app)
            opens[key] = max(opens.get(key, 0.0), 1e3 * (time.perf_counter() - begun))
        begun = time.perf_counter()
        await app.screen.action_replay()  # type: ignore[attr-defined]
        await drawn(app)
        opens["replay"] = 1e3 * (time.perf_counter() - begun)
        app.screen.dismiss(None)
        await rest(pilot, app)
        begun = time.perf_counter()
        app.screen.action_history()  # type: ignore[attr-defined]
        await drawn(app)
        opens["history"] = 1e3 * (time.perf_counter() - begun)
        return {
            "opens_ms": opens,
            "rss_mb": rss(),
            "state_mb": filled - bare,
            "bare_mb": bare,
            "summary_s": summary,
            "held_up_ms": held,
        }


async def held_up(app: "TestLab") -> float:
    from tests.tui.quick import settled
    from tuilab.lab.changes import Change

    assert app.painter is not None
    painter, state = app.painter, app.painter._lab.state.shown
    state.version += 1  # A new version, as after a round, invalidates cached figures.
    for arm in state.arms.values():
        for cell in arm.cells.values():
            cell.known.clear()
    painted, longest, before = painter.pacing._painted, 0.0, time.perf_counter()
    painter.soon(Change.RUN)
    while painter.pacing._painted == painted or not settled(app):
        await asyncio.sleep(0)
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    return 1e3 * longest


def keep_many(folder: Path) -> None:
    from tuilab.history.store import Store
    from tuilab.model.events import RunStarted

    started, store = next(large_run()), Store.open(folder / "history")
    assert isinstance(started, RunStarted)
    with store.at_once():
        for number in range(RUNS):
            store._begin(msgspec.structs.replace(started, run=f"{number:032x}"))
        store.connection.execute("UPDATE runs SET rounds = 60, answer = 'CPU graph is 3× faster'")


async def drawn(app: "TestLab") -> None:
    """Wait until the app has processed a key press and drawn the screen."""
    from tests.tui.lab import still
    from tests.tui.quick import handled

    while not (await handled(app) and still(app)):
        await asyncio.sleep(0.001)


def rss() -> float:
    return float(psutil.Process().memory_info().rss / 1e6)


def measure() -> list[Row]:
    rows = []
    for name, words in SCENES.items():
        with tempfile.TemporaryDirectory() as place:
            command = [sys.executable, "-m", "tests.benchmarks.scale", place]
            # in a separate process, so that writing the history does not add to the lab's memory
            if name == "run":
                subprocess.run([*command, "history"], check=True, timeout=600)
            done = subprocess.run([*command, name], stdout=subprocess.PIPE, check=True, timeout=600)
        found = json.loads(done.stdout.splitlines()[-1])
        slowest = max(found["opens_ms"], key=found["opens_ms"].get)
        how = f"{words}, in a process of its own, drawn without a terminal"
        rows += [
            below(f"memory: {words}", found["rss_mb"], MEMORY_MB, " MB", f"resident memory, {how}", 0, **found),
            below(
                f"slowest view to open ({slowest}): {words}", found["opens_ms"][slowest], OPEN_MS, " ms",
                f"until it is drawn, {how}", 0, **found["opens_ms"],
            ),
            below(
                f"a key during a paint: {words}", max(found["held_up_ms"]), KEY_MS, " ms",
                f"the longest that the event loop stood still in {PAINTS} paints of the run as it goes on, {how}",
                0, paints=found["held_up_ms"],
            ),
        ]  # fmt: skip
    return rows


if __name__ == "__main__":
    PLACE, WHAT = Path(sys.argv[1]), sys.argv[2]
    if WHAT == "history":
        keep_many(PLACE)
    else:
        print(json.dumps(asyncio.run(scene(WHAT, PLACE))))
