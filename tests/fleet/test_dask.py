"""A sweep of 24 sizes on a real Dask cluster of two processes, one of which is killed during the sweep."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import psutil
import pytest

pytest.importorskip("distributed", reason="the extra `fleet` (dask[distributed]) is not installed")

from distributed import Client, LocalCluster

from tests.fleet.nodes import FakeWorkers
from tuilab.fleet.dask_grid import DaskGrid
from tuilab.fleet.messages import RESOURCE
from tuilab.fleet.runs import FleetSweep
from tuilab.fleet.scheduler import Progress
from tuilab.history.recorder import Recorder
from tuilab.history.store import Store
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.errors import InputError, WorkerError
from tuilab.model.requests import Measure
from tuilab.model.scenario import BUDGET, Axis, Scenario, Sweep

SIZES = tuple(256 * n for n in range(1, 25))


def two_nodes() -> LocalCluster:
    return LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, resources={RESOURCE: 1}
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with two_nodes() as cluster, Client(cluster) as client:
        client.register_plugin(FakeWorkers(4, 0.05))
        yield cluster


class Rig:
    def __init__(self, folder, refine: bool = False) -> None:
        self.recorder = Recorder(Store.open(folder))
        self.news: list[Progress] = []
        self.refine = refine

    def plan(self, devices) -> Measure:
        sweep = Sweep(axes=(Axis("samples", SIZES),), refine=self.refine)
        arms = (Arm("CPU:0", "graph"),)
        return Measure(
            id="sweep", scenario=Scenario("stft", {"hop": 7}), arms=arms, budget=BUDGET["quick"], sweep=sweep
        )

    async def begin(self, address: str) -> FleetSweep:
        self.grid = await DaskGrid.open(address, 1)
        return FleetSweep(
            grid=self.grid,
            plan=self.plan,
            families=("CPU",),
            nearest=round,
            on_event=self.recorder.record,
            say=self.news.append,
            patience_s=20,
        )


def kept(folder) -> list[e.Event]:
    store = Store.open(folder)
    try:
        return list(store.events("sweep"))
    finally:
        store.close()


def test_each_of_24_cells_is_measured_once_though_a_node_is_killed(cluster, tmp_path):
    async def run() -> FleetSweep:
        rig = Rig(tmp_path)
        work = await rig.begin(cluster.scheduler_address)
        running = asyncio.create_task(work.run())
        async with asyncio.timeout(60):
            while work._spread.done < 6:
                await asyncio.sleep(0.02)
            below = {w.pid: psutil.Process(w.pid).children(recursive=True) for w in cluster.workers.values()}
            killed, orphans = next((pid, begun) for pid, begun in below.items() if begun)
            os.kill(killed, signal.SIGKILL)
            await running
        # A worker whose node was killed exits by itself and frees its device.
        assert not psutil.wait_procs(orphans, timeout=10)[1]
        assert rig.recorder.flush()
        await rig.grid.close()
        assert any("has gone" in news.text for news in rig.news)
        return work

    work = asyncio.run(run())
    events = kept(tmp_path)
    visits = [event for event in events if isinstance(event, e.MachineJoined)]
    assert Counter(point for visit in visits for point in visit.points) == Counter(range(24))
    assert [event.values["samples"] for event in work.state.points] == list(SIZES)
    (started,) = [event for event in events if isinstance(event, e.RunStarted)]
    assert started.scenario.parameters == {"hop": 7}
    (finished,) = [event for event in events if isinstance(event, e.Finished)]
    assert (finished.status, finished.message) == ("ok", "")
    (arm,) = work.state.arms.values()
    assert {point: len(cell.samples) for point, cell in arm.cells.items()} == dict.fromkeys(range(24), 4)
    alone(visits)


def alone(visits: list[e.MachineJoined]) -> None:
    """Assert that no node started a job before its previous job had ended, according to the node's clock."""
    for node in {visit.host for visit in visits}:
        own = sorted((v.began, v.ended) for v in visits if v.host == node)
        for (_, ended), (began, _) in pairwise(own):
            assert ended <= began


def test_the_nodes_receive_the_request_of_the_sweep(cluster, tmp_path):
    from tuilab.fleet.jobs import job_of

    request = Rig(tmp_path).plan([])
    own = job_of(request, e.Point(3, {"samples": 1_024})).make(None)
    assert own.scenario.parameters == {"hop": 7, "samples": 1_024}
    assert (own.sweep, own.arms, own.budget) == (None, request.arms, request.budget)


def test_a_stop_reaches_every_node_and_progress_names_node_and_cell(cluster, tmp_path):
    async def run() -> tuple[Rig, FleetSweep]:
        rig = Rig(tmp_path)
        work = await rig.begin(cluster.scheduler_address)
        running = asyncio.create_task(work.run())
        async with asyncio.timeout(60):
            while work._spread.done < 4:
                await asyncio.sleep(0.02)
            await work.stop()
            await running
        await rig.grid.close()
        return rig, work

    rig, work = asyncio.run(run())
    assert work.state.status == "cancelled"
    assert 4 <= len(work.state.where) < 24
    assert work.state.rounds >= 16
    assert len({news.node for news in rig.news if "done" in news.text}) == 2
    assert any(news.text == "samples 256: begins" for news in rig.news)


def test_a_missing_or_silent_address_says_what_to_do(monkeypatch):
    monkeypatch.setattr("tuilab.fleet.dask_grid.CONNECT_S", 0.5)
    with pytest.raises(WorkerError, match="dask scheduler"):
        asyncio.run(DaskGrid.open("tcp://127.0.0.1:1", 1))
    with pytest.raises(InputError, match="--on"):
        asyncio.run(DaskGrid.open("nonsense://x", 1))


def test_workers_without_the_resource_are_not_used(tmp_path):
    async def run() -> None:
        with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as bare:
            rig = Rig(tmp_path)
            work = await rig.begin(bare.scheduler_address)
            work._spread.patience_s = 0.1
            with pytest.raises(WorkerError, match="--resources tuilab=1"):
                await work.run()
            await rig.grid.close()

    asyncio.run(run())
