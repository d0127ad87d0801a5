"""A lab that is the same on every machine: scripted runner, stopped clock, own presets."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from tests.tui.picture import lines
from tests.tui.quick import handled
from tests.tui.scripted import GPU_MACHINE, ScriptedRunner
from tuilab.history.store import Store
from tuilab.lab.state import LabState
from tuilab.model.events import Event
from tuilab.model.machine import Machine
from tuilab.tui.app import LabApp
from tuilab.tui.options import Options

PRESETS = Path(__file__).parent / "presets"


class TestLab(LabApp):
    __test__ = False
    runner: ScriptedRunner


def lab(
    tmp_path: Path,
    *,
    machine: Machine = GPU_MACHINE,
    hold: int | None = None,
    warm: bool = True,
    rounds: int = 8,
    **options: object,
) -> TestLab:
    numbers = itertools.count(1)
    runners: list[ScriptedRunner] = []

    def runner(on_event: Callable[[Event], None]) -> ScriptedRunner:
        runners.append(ScriptedRunner(on_event, machine, rounds=rounds, hold=hold, warm=warm))
        app.runner = runners[-1]
        return runners[-1]

    given: dict[str, object] = {
        "presets": (PRESETS,),
        "ascii_only": False,
        "newcomer": False,
        "theme": "dark",
        "keymap": tmp_path / "keymap.toml",
        "runner": runner,
        "lab_state": lambda: LabState(clock=lambda: 100.0, new_id=lambda: f"run{next(numbers)}"),
        "store": lambda: Store.open(tmp_path / "history"),
    }
    app = TestLab(Options(**{**given, **options}))  # type: ignore[arg-type]
    return app


@asynccontextmanager
async def opened(
    app: TestLab, size: tuple[int, int] = (120, 40), *, messages: bool = False, each: bool = False
) -> AsyncIterator[Pilot[int]]:
    """Run the app on a screen of this size. Yields when the screen is filled and idle.

    messages: show messages in the corner. each: paint every report of a run; by default, only the first two
    reports and the last one are painted, as in a fast run. Painting every report always gives the same final
    axes, because axes only grow.
    """
    async with app.run_test(size=size, notifications=messages) as pilot:
        pilot._wait_for_screen = lambda timeout=30.0: handled(app)  # type: ignore[method-assign,assignment]
        await until(pilot, lambda: app.screen_stack and getattr(app.screen_stack[0], "filled", False))
        assert app.lab is not None and app.painter is not None
        app.painter.pacing.wait = lambda elapsed_s, rounds: 0.0 if each or rounds < 3 else 0.01  # type: ignore[method-assign]
        await rest(pilot, app)
        yield pilot
        app.painter.close()
        await app.lab.close()


PATIENCE_S = 30.0
"""Time after which the lab counts as hung. A busy machine may delay the lab by several seconds."""


async def until(pilot: Pilot[int], true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if true():
            return
        await pilot.pause()
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to hold")


async def rest(pilot: Pilot[int], app: TestLab) -> None:
    quiet, end = 0, time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        quiet = quiet + 1 if await handled(app) and still(app) else 0
        if quiet > 2:
            return
        await asyncio.sleep(0.003)
    raise AssertionError("the lab does not come to rest")


def still(app: TestLab) -> bool:
    assert app.lab is not None and app.painter is not None
    if (app.runner.busy and not app.runner.holding) or not (app.lab.idle and app.painter.idle):
        return False
    return app.screen.size == app.size and all(worker.is_finished for worker in app.workers)


async def press(pilot: Pilot[int], app: TestLab, keys: str | Iterable[str]) -> None:
    for key in keys.split() if isinstance(keys, str) else keys:
        await pilot.press(key)
        await rest(pilot, app)


def text(app: LabApp) -> str:
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines(app))
