"""The roofs of a machine are measured after the first answer. Any other request interrupts this
measurement.
"""

import asyncio
from pathlib import Path

import pytest

from tests.lab.test_lab import SMALL
from tuilab.history.store import Store
from tuilab.lab import Lab
from tuilab.model.events import Event, Finished, Progress, RoofsKnown, RunStarted, WorkerExited


@pytest.mark.real_worker
async def test_a_machines_limits_come_after_the_answer_and_give_way(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    made = Lab(store=lambda: Store.open(tmp_path))
    heard: list[Event] = []
    made.subscribe(lambda _, event: heard.append(event) if event is not None else None)
    made.painting.pace()

    def of(kind: type) -> list[int]:
        return [at for at, event in enumerate(heard) if isinstance(event, kind)]

    async with made:
        for _ in range(2):  # the second request comes while the roofs are being measured
            result = await made.measure(SMALL, budget="quick")
            assert result.answer and not of(RoofsKnown)
        assert len(of(RunStarted)) == len(of(Finished)) == 2 and not of(WorkerExited)
        async with asyncio.timeout(150):
            while not made.state.shown.roofs:
                await asyncio.sleep(0.05)
        assert of(RoofsKnown) > of(Finished)[-1:]
        stages = {event.stage for event in heard if isinstance(event, Progress)}
        assert not any("limits" in stage for stage in stages)
        assert made.history.state("last").roofs, "the roofs are saved with the run"
        assert "H100" in made.history.find("last").answer or "H100" not in made.result().answer


@pytest.mark.parametrize("paced", [True, False])
async def test_only_a_screen_has_them_measured_later(tmp_path: Path, paced):
    from tests.lab.test_lab import lab

    made, runners = lab(tmp_path, rounds=3)
    if paced:
        made.painting.pace()
    async with made:
        await made.measure(SMALL, budget="quick")
        assert [request.roofs_later for request in runners[0].measured] == [paced]
