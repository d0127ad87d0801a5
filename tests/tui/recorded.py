"""The lab with recorded real runs, for the pictures in the README.

`python -m tests.tui.recorded` draws the pictures to tests/pictures. The recordings in tests/recordings are
from one host: a run of stft-small, a sweep of stft-crossover, the output of `tuilab profile stft-small --mode
xla --json`, a sample of the devices, and a watched `fit` with Python in its map.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import msgspec

from tests.tui.lab import TestLab, lab, opened, press, rest
from tests.tui.scripted import ScriptedRunner
from tests.tui.watched import Typed, settled
from tuilab.history import recording
from tuilab.lab.watch import Watching, WatchOptions
from tuilab.model.events import Answer, Event, Refused, RunStarted
from tuilab.model.program import Page
from tuilab.model.requests import Ask, Measure
from tuilab.model.telemetry import DeviceSample
from tuilab.tui.themes import DARK, LIGHT

TOGETHER = 8
"""Number of rounds that arrive between two paints."""

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS, PICTURES = ROOT / "tests" / "recordings", ROOT / "tests" / "pictures"
USUAL, TALL = (120, 40), (120, 56)

# Each row: name of the picture, keys pressed since the previous picture, size of the screen.
VIEWS: tuple[tuple[str, tuple[str, ...], tuple[int, int]], ...] = (
    ("live", ("r",), USUAL),
    ("compare", ("c",), USUAL),
    ("phases", ("4",), USUAL),
    ("timeline", ("5",), USUAL),
    ("placement", ("6",), USUAL),
    ("device", ("7",), USUAL),
    ("verdict", ("d",), TALL),
    ("sweep", ("p", "down", "enter"), USUAL),
)


def events_of(name: str) -> list[Event]:
    return [event for event in recording.read(RECORDINGS / f"{name}.jsonl") if getattr(event, "run", "")]


class RecordedRunner(ScriptedRunner):
    def _batches(self, request: Measure) -> Iterator[list[Event]]:
        events = [
            msgspec.structs.replace(e, run=request.id) for e in events_of("sweep" if request.sweep else "run")
        ]
        for _, some in groupby(
            events, key=lambda event: (type(event), getattr(event, "index", 0) // TOGETHER)
        ):
            yield list(some)

    def _answer(self, request: Ask) -> None:
        if request.kind != "profile":
            self._on_event(Refused(request=request.id, message=f"no recorded answer to {request.kind}"))
            return
        body = msgspec.Raw((RECORDINGS / "profile.json").read_bytes())
        self._on_event(Answer(request=request.id, kind=request.kind, body=body))


def recorded_lab(home: Path, put: Callable[[object, str, object], None]) -> TestLab:
    """Return a lab that shows the recorded machine, runs and device activity."""
    from tuilab.telemetry.sampler import Telemetry

    started = next(e for e in events_of("run") if isinstance(e, RunStarted))
    sample = msgspec.json.decode((RECORDINGS / "device.json").read_bytes(), type=DeviceSample)
    put(Telemetry, "sample", lambda self, pid: sample)

    def runner(on_event: Callable[[Event], None]) -> ScriptedRunner:
        app.runner = RecordedRunner(on_event, started.machine)
        return app.runner

    app = lab(home, runner=runner, presets=(ROOT / "presets",))
    return app


async def draw(app: TestLab) -> dict[str, str]:
    """Return each main view as SVG, by name, and the first view also in the light theme, as `live-light`."""
    out = {}
    async with opened(app, USUAL, each=True) as pilot:
        for name, keys, size in VIEWS:
            await press(pilot, app, keys)
            await pilot.resize_terminal(*size)
            for theme in (LIGHT, DARK) if name == "live" else (DARK,):
                app.theme = theme.name
                await rest(pilot, app)
                out[name if theme is DARK else f"{name}-light"] = app.export_screenshot(title="tuilab")
            await pilot.resize_terminal(*USUAL)
    return out


class Program(msgspec.Struct):
    page: Page
    steps: list[tuple[int, float]]
    output: list[str]


async def draw_program(home: Path) -> str:
    text = msgspec.json.decode((RECORDINGS / "watched.json").read_bytes(), type=Program)
    watching = Watching(text.page.command, WatchOptions())
    watching.page, watching.steps = text.page, dict(text.steps)
    watching.program.exit_code = text.page.exit_code
    watching.program.began, watching.program.ended = 0.0, text.page.lasted_s
    watching.hosted = Typed("\r\n".join(text.output).encode())  # type: ignore[assignment]
    app = lab(home, watching=watching)
    async with app.run_test(size=USUAL) as pilot:
        await settled(pilot, app)
        return app.export_screenshot(title="tuilab")


async def draw_emulated(home: Path) -> dict[str, str]:
    """Draw a sweep recorded with an emulated GPU. The picture says that the GPU is emulated."""
    from tests.emulated_gpu.recorded import PACED
    from tests.emulated_gpu.test_pictures import beside_a_gpu

    app = beside_a_gpu(home, PACED)
    async with opened(app, USUAL, each=True) as pilot:
        await press(pilot, app, "s")
        return {"emulated-crossover": app.export_screenshot(title="tuilab, the GPU is EMULATED")}


async def draw_all(home: Path, put: Callable[[object, str, object], None]) -> dict[str, str]:
    drawn = {**await draw(recorded_lab(home / "host", put)), **await draw_emulated(home / "emulated")}
    return {**drawn, "watch": await draw_program(home / "program")}


def words_of(svg: str) -> list[str]:
    return re.findall(r">([^<]+)</text>", svg)


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_STATE_HOME"] = home  # do not use the user's recently opened files
        for name, svg in asyncio.run(draw_all(Path(home), setattr)).items():
            (PICTURES / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
