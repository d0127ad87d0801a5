"""Pictures of screens with arms on a GPU, from recordings with an emulated GPU."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.emulated_gpu.recorded import PACED, events_of
from tests.tui.lab import TestLab, lab, opened, press, text
from tests.tui.scripted import ScriptedRunner
from tests.tui.test_pictures import Text
from tuilab.model.events import Event, RunStarted
from tuilab.model.parameters import LogInteger
from tuilab.model.requests import Measure
from tuilab.model.workload import Declaration

ROOT = Path(__file__).resolve().parents[2]
ELEMENTS = LogInteger(name="elements", label="elements", help="Size.", default=1_000, low=1, high=10**7)
DECLARED = Declaration(
    name="paced",
    title="An op of known pace",
    summary="",
    unit="call",
    parameters=(ELEMENTS,),
    axis="elements",
)
RUN = (("live", ("r",)), ("compare", ("c",)), ("placement", ("6",)))
SWEEP = (("sweep", ("s",)),)


class Recorded(ScriptedRunner):
    def _batches(self, request: Measure) -> Iterator[list[Event]]:
        for event in events_of("sweep" if request.sweep else "run"):
            event = msgspec.structs.replace(event, run=request.id)
            if isinstance(event, RunStarted):  # the folder of the user's code differs between machines
                own = msgspec.structs.replace(event.scenario, file=request.scenario.file)
                event = msgspec.structs.replace(event, scenario=own)
            yield [event]


def beside_a_gpu(home: Path, preset: str) -> TestLab:
    """Return a lab that replays the recordings, with the machine of the recordings."""
    started = next(event for event in events_of("run") if isinstance(event, RunStarted))

    def runner(on_event: Callable[[Event], None]) -> ScriptedRunner:
        app.runner = Recorded(on_event, started.machine)
        app.runner.declares["paced"] = DECLARED
        return app.runner

    app = lab(home, runner=runner, presets=(ROOT / "presets",), preset=preset)
    return app


@pytest.mark.parametrize(
    ("preset", "views", "size"),
    [
        pytest.param("stft-small", RUN, (120, 40), id="run-120x40"),
        pytest.param(PACED, SWEEP, (80, 24), id="sweep-80x24"),
    ],
)
async def test_a_view_with_a_gpus_arms(
    tmp_path: Path,
    snapshot: SnapshotAssertion,
    preset: str,
    views: tuple[tuple[str, tuple[str, ...]], ...],
    size: tuple[int, int],
) -> None:
    app = beside_a_gpu(tmp_path, preset)
    async with opened(app, size, each=True) as pilot:
        for name, keys in views:
            await press(pilot, app, keys)
            assert text(app) == snapshot(name=name, extension_class=Text)
