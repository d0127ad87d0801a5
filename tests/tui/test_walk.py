"""A random walk over all pages by keys, clicks, drags, wheel turns, resizes and pastes causes no failure, and
every page can be left.

The walk is short by default; `--long` uses more seeds. A failure is reported with the preceding steps.
`TUILAB_WALK=FIRST:LAST:STEPS` walks only these seeds, excluding the last; `TUILAB_WALK_REAL=MINUTES[:FIRST]`
sets the duration of a walk with a real worker, and its first seed.
"""

import asyncio
import os
import random
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.events import MouseDown, MouseMove, MouseScrollDown, MouseScrollUp, MouseUp, Paste
from textual.pilot import Pilot
from textual.widgets import Input, TextArea
from textual.worker import Worker

from tests.tui import watched
from tests.tui.kept import some
from tests.tui.lab import PRESETS, lab, opened, until
from tests.tui.quick import handled
from tests.tui.scripted import CPU_MACHINE, GPU_MACHINE, ScriptedRunner
from tests.tui.test_open import DOCUMENT, MINE, TIMED
from tests.tui.test_pages import REPORT
from tests.tui.test_watching import opened as program
from tests.tui.tour import still_device
from tuilab.doctor import examine
from tuilab.history.store import Store
from tuilab.model.events import Ready
from tuilab.tui.app import LabApp
from tuilab.tui.options import Options
from tuilab.tui.screens.lab import LabScreen
from tuilab.tui.screens.watching import WatchScreen

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
NAMED = (
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "enter", "escape", "tab", "shift+tab", "space",
    "backspace", "delete", "ctrl+p", "f1", "plus", "minus", "equals_sign", "slash", "question_mark", "comma", "full_stop",
    "left_square_bracket", "right_square_bracket", "less_than_sign", "greater_than_sign", "ctrl+a", "ctrl+u", "ctrl+z",
    "shift+up", "shift+left", "ctrl+right", "f5",
)  # fmt: skip
SIZES = ((80, 24), (120, 40), (200, 60), (60, 18), (100, 30), (40, 12), (20, 5), (300, 20), (62, 90))
PASTES = (
    "64k", "-1", "stft", "article.md", "mine.py:forward", "mine.py", "broken.toml", "#nightly", "machine:lap", "gpu-07", "old=~/no",
    "two\nlines", "[red]x[/]", "\x1b[31mred", "🙂 é ש", "x" * 300, "",
)  # fmt: skip
FIRST = LabScreen, WatchScreen
RESTS = 12
"""Number of Escape presses that must be enough to leave all pages."""
OWN = """\
import tensorflow as tf


def forward(batch: int = 32):
    x = tf.random.normal((batch, 256))
    return lambda: tf.matmul(x, x, transpose_b=True)


def backward(batch: int = 32):
    raise ValueError("not yet")
"""
NO_HOST = "this host name is unknown"
LEG_S = 300.0
"""Duration after which the walk continues with a new seed and a new worker."""


class WalkedRunner(ScriptedRunner):
    def add(self, name: str) -> None:
        ready = Ready(machine=self.answers, import_s=2.1, start_s=0.2, origin=name)
        asyncio.get_running_loop().call_soon(self._on_event, ready)


class Walk:
    """A random walk with a seed. Each step waits until the previous one is handled."""

    def __init__(self, seed: int, pilot: Pilot[int], app: LabApp) -> None:
        self.rng, self.pilot, self.app = random.Random(seed), pilot, app
        self.last: deque[str] = deque(maxlen=40)

    async def step(self) -> None:
        steps = {
            self.key: 48, self.offered: 20, self.words: 3, self.click: 14, self.drag: 4, self.wheel: 4, self.resize: 2,
            self.paste: 3, self.leave: 2,
        }  # fmt: skip
        (chosen,) = self.rng.choices(list(steps), list(steps.values()))
        await chosen()

    @property
    def typing(self) -> bool:
        return isinstance(self.app.screen.focused, Input | TextArea)

    async def key(self) -> None:
        key = self.rng.choice(self.rng.choice((LETTERS, NAMED)))
        if key != "q" or self.typing or not isinstance(self.app.screen, FIRST):
            await self.pressed(key)

    async def pressed(self, *keys: str) -> None:
        self.last.append(" ".join(keys))
        await self.pilot.press(*keys)

    async def offered(self) -> None:
        """Press a key that the key bar offers, and assert that it causes no error."""
        found = [
            binding.binding
            for binding in self.app.screen.active_bindings.values()
            if binding.enabled and binding.binding.show and binding.binding.key != "q"
        ]
        if not found:
            return
        binding = self.rng.choice(found)
        before = {said.identity for said in self.app._notifications}
        self.last.append(f"{binding.key} (offered)")
        await self.pilot.press(binding.key)
        new = [said for said in self.app._notifications if said.identity not in before]
        # a retry of an unreachable host may fail (its name was typed at random)
        wrong = [said.message for said in new if said.severity == "error" and NO_HOST not in said.message]
        assert not wrong, f"{binding.key} is offered but fails: {wrong}"

    async def words(self) -> None:
        await self.pressed(*[self.rng.choice(LETTERS) for _ in range(self.rng.randint(2, 6))])

    def place(self) -> tuple[int, int]:
        width, height = self.app.size
        return self.rng.randrange(width), self.rng.randrange(height)

    async def click(self) -> None:
        at, times = self.place(), self.rng.choice((1, 1, 1, 2, 3))
        self.last.append(f"click {at} × {times}")
        await self.pilot.click(offset=at, times=times)

    async def drag(self) -> None:
        begun, end = self.place(), self.place()
        self.last.append(f"drag {begun} {end}")
        post, button = self.pilot._post_mouse_events, {"button": 1}
        await post([MouseMove, MouseDown], None, begun, **button)
        await post([MouseMove], None, end, **button)
        await post([MouseUp], None, end, **button)

    async def wheel(self) -> None:
        at, way = self.place(), self.rng.choice((MouseScrollDown, MouseScrollUp))
        self.last.append(f"{way.__name__} {at}")
        for _ in range(self.rng.randint(1, 4)):
            await self.pilot._post_mouse_events([way], None, at, button=0)

    async def resize(self) -> None:
        size = self.rng.choice(SIZES)
        self.last.append(f"resize {size}")
        await self.pilot.resize_terminal(*size)

    async def paste(self) -> None:
        text = self.rng.choice(PASTES)
        self.last.append(f"paste {text[:20]!r}")
        self.app.post_message(Paste(text))
        await handled(self.app)

    async def leave(self) -> None:
        """Press Escape until the lab is shown, which must be possible from each page."""
        pages = [type(screen).__name__ for screen in self.app.screen_stack]
        for _ in range(RESTS):
            if isinstance(self.app.screen, FIRST) or self.app.leaving:
                return
            await self.pressed("escape")
        raise AssertionError(f"{pages} cannot be left by {RESTS} times escape")


def heed(wrong: list[BaseException | str], put: Any) -> None:
    """Add exceptions in Textual's workers to `wrong`, so that they count as failures."""
    run = Worker._run

    async def heeded(worker: Worker[Any], app: App[Any]) -> None:
        await run(worker, app)
        if isinstance(worker.error, Exception):
            wrong.append(worker.error)

    put(Worker, "_run", heeded)


async def go(walker: Walk, wrong: list[BaseException | str], more: Any) -> int:
    """Take steps while `more(steps)` is true. Returns the number of steps. A failure raises an error that
    lists the steps.
    """
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, found: wrong.append(found.get("exception") or found["message"])
    )
    done, app = 0, walker.app
    try:
        while more(done) and not app.leaving:
            await walker.step()
            done += 1
            if app._exception is not None:
                raise app._exception
            if wrong:
                raise wrong[0] if isinstance(wrong[0], BaseException) else AssertionError(wrong[0])
    except BaseException as error:
        error.add_note(f"step {done}, after: {', '.join(walker.last)}")
        raise
    return done


async def walk(folder: Path, seed: int, steps: int, put: Any) -> int:
    """Take up to `steps` random steps in a new lab. Returns the number of steps; fewer if the lab was
    left.
    """
    rng, wrong = random.Random(~seed), list[BaseException | str]()
    heed(wrong, put)
    runners = []

    def runner(on_event: Any) -> WalkedRunner:
        app.runner = WalkedRunner(
            on_event, rng.choice((GPU_MACHINE, CPU_MACHINE)), rounds=rng.choice((1, 3, 9))
        )
        app.runner.failing = rng.choice(((), (), ("xla",), ("eager", "graph", "xla")))
        app.runner.declares = {"forward": MINE}
        runners.append(app.runner)
        return app.runner

    history = folder / f"history{seed}"
    kept = [lambda: some(history), lambda: Store.open(history)]
    made = watched.watching(put, b"Epoch 1/3\r\n") if seed % 4 == 3 else None
    if made is not None:
        watched.play(made)
        watched.end(made, 0)
    app = lab(
        folder,
        watching=made,
        runner=runner,
        store=lambda: kept.pop(0)() if len(kept) > 1 else kept[0](),
        presets=rng.choice(((PRESETS,), ())),
        rerun=rng.random() < 0.7,
        newcomer=rng.random() < 0.3,
        ascii_only=rng.random() < 0.3,
        theme=rng.choice(("dark", "light")),
    )
    size = rng.choice(SIZES[:4])
    async with opened(app, size, messages=True) if made is None else program(app, size) as pilot:
        try:
            return await go(Walk(seed, pilot, app), wrong, lambda done: done < steps)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


@asynccontextmanager
async def beside_a_worker(folder: Path, size: tuple[int, int]) -> AsyncIterator[tuple[LabApp, Pilot[int]]]:
    """Run the lab as a user does: with a real worker, the bundled presets and a history."""
    app = LabApp(Options(keymap=folder / "keymap.toml", store=lambda: Store.open(folder / "history")))
    async with app.run_test(size=size, notifications=True) as pilot:
        pilot._wait_for_screen = lambda timeout=30.0: handled(app)  # type: ignore[method-assign,assignment]
        await until(pilot, lambda: app.screen_stack and getattr(app.screen_stack[0], "filled", False))
        yield app, pilot
        await app.leave()


async def walk_beside_a_worker(folder: Path, seed: int, end: float, put: Any) -> int:
    """Take random steps with a real worker, for `LEG_S` seconds or until `end`. Returns the number of
    steps.
    """
    wrong, until_s = list[BaseException | str](), min(end, time.monotonic() + LEG_S)
    heed(wrong, put)
    async with beside_a_worker(folder, random.Random(~seed).choice(SIZES[:4])) as (app, pilot):
        going = Walk(seed, pilot, app)
        step = going.step

        async def paced() -> None:
            await step()
            # most steps follow at once, but some wait, so that a run gets figures
            await asyncio.sleep(going.rng.choice((0.0,) * 6 + (0.1,) * 3 + (2.0,)))

        going.step = paced  # type: ignore[method-assign]
        try:
            return await go(going, wrong, lambda done: time.monotonic() < until_s)
        except BaseException as error:
            error.add_note(f"seed {seed}, next to a real worker")
            raise


def prepare() -> None:
    Path("article.md").write_text(DOCUMENT)
    Path("timed.md").write_text(TIMED)
    Path("mine.py").write_text("def forward(x):\n    return x\n\n\ndef backward(x):\n    return x\n")
    Path("broken.toml").write_text("[workload")


def seeds(*, long: bool) -> tuple[range, int]:
    """Return the seeds to walk, and the number of steps for each seed."""
    if given := os.environ.get("TUILAB_WALK"):
        first, last, steps = map(int, given.split(":"))
        return range(first, last), steps
    return (range(40), 500) if long else (range(2), 60)


@pytest.mark.timeout(2_400)
async def test_random_walks_raise_no_error_and_every_page_can_be_left(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(examine, "examine", lambda wait: REPORT)
    still_device(monkeypatch.setattr)
    prepare()
    every, steps = seeds(long=request.config.getoption("--long"))
    failed, done = list[Exception](), 0
    for seed in every:
        with monkeypatch.context() as patch:
            try:
                done += await walk(tmp_path, seed, steps, patch.setattr)
            except Exception as error:
                failed.append(error)
    print(f"a walk of {done:,} steps by {len(every)} seeds, {len(failed)} of which failed")
    if failed:
        raise ExceptionGroup("the walk failed", failed)


@pytest.mark.long
@pytest.mark.real_worker
@pytest.mark.timeout(0)
async def test_random_walks_with_a_real_worker_raise_no_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(examine, "examine", lambda wait: REPORT)
    prepare()
    Path("mine.py").write_text(OWN)
    minutes, _, first = os.environ.get("TUILAB_WALK_REAL", "1").partition(":")
    end, seed = time.monotonic() + 60 * float(minutes), int(first or 0)
    failed, done = list[Exception](), 0
    while time.monotonic() < end:
        with monkeypatch.context() as patch:
            try:
                done += await walk_beside_a_worker(tmp_path, seed, end, patch.setattr)
            except Exception as error:
                failed.append(error)
        seed += 1
    runs = Store.open(tmp_path / "history").runs(limit=100_000)
    print(
        f"a walk of {done:,} steps by {seed - int(first or 0)} seeds next to a real worker, {len(failed)} of which failed"
    )
    print(f"{len(runs)} runs with {sum(run.rounds for run in runs):,} rounds were kept")
    assert runs, "the walk measured nothing"
    if failed:
        raise ExceptionGroup("the walk failed", failed)
