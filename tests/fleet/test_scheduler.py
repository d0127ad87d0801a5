"""Each job is measured exactly once, even if nodes join, die or cannot measure."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made import GRAPH, machine
from tuilab.fleet.grid import Address, NodeLost, NodeUnfit
from tuilab.fleet.jobs import Job
from tuilab.fleet.messages import Greeting, JobResult, Task
from tuilab.fleet.scheduler import MOST_LOST, NodeSlot, Progress, Scheduler
from tuilab.model import events as e
from tuilab.model.machine import Device, Machine
from tuilab.model.requests import Measure
from tuilab.model.scenario import BUDGET, Scenario


def machine_of(host: str, *devices: str) -> Machine:
    return machine(host=host, devices=tuple(map(Device, devices)))


@dataclass
class Fake:
    """A cluster of simulated nodes.

    lives: number of jobs that each node measures before it dies. deadly: jobs that kill their node.
    """

    lives: dict[str, int]
    devices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    protocol: dict[str, int] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    deadly: set[str] = field(default_factory=set)
    revive: bool = False
    at_work: Counter[str] = field(default_factory=Counter)
    measured: list[tuple[str, str]] = field(default_factory=list)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    slow: bool = False
    dead: set[str] = field(default_factory=set)
    seen: int = 0

    async def nodes(self) -> Mapping[str, Address]:
        await asyncio.sleep(0)
        return {place: Address(place=place) for place in self.lives if place not in self.dead}

    async def greet(self, node: Address) -> Greeting:
        await asyncio.sleep(0)
        if node.place in self.unfit:
            raise NodeUnfit(self.unfit[node.place])
        about = machine_of(node.place.partition("~")[0], *self.devices.get(node.place, ("CPU:0",)))
        return Greeting(protocol=self.protocol.get(node.place, e.PROTOCOL), tuilab="1", machine=about)

    async def measure(self, node: Address, task: Task) -> JobResult:
        place, run = node.place, task.request.id
        self.at_work[place] += 1
        assert self.at_work[place] == 1, "two cells in parallel on one node"
        try:
            await asyncio.sleep(0)
            if self.slow:
                await self.stopped.wait()
            if self.lives[place] <= 0 or run in self.deadly:
                self._die(place)
                raise NodeLost(place)
        finally:
            self.at_work[place] -= 1
        self.lives[place] -= 1
        self.measured.append((place, run))
        return JobResult(began=0.0, ended=1.0, events=())

    def _die(self, place: str) -> None:
        self.dead.add(place)
        if self.revive:
            self.seen += 1
            self.lives[f"{place.partition('~')[0]}~{self.seen}"] = 5

    async def stop(self) -> None:
        self.stopped.set()

    def on_progress(self, topic: str, listen: Callable[[str, str], None]) -> None:
        pass

    async def close(self) -> None:
        pass


def cells(count: int) -> list[Job]:
    def make(key: int) -> Callable[[Machine], Measure]:
        scenario = Scenario("stft", {})
        request = Measure(id=f"cell {key}", scenario=scenario, arms=(GRAPH,), budget=BUDGET["quick"])
        return lambda machine: request

    return [Job(name=f"cell {key}", make=make(key), key=key) for key in range(count)]


@dataclass
class Rig:
    grid: Fake
    families: tuple[str, ...] = ("CPU",)
    taken: list[tuple[int, str]] = field(default_factory=list)
    news: list[Progress] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spread = Scheduler(
            self.grid, self.families, self._taken, self.news.append, poll_s=0.005, patience_s=0.05
        )

    def _taken(self, cell: Job, hand: NodeSlot, visit: JobResult) -> None:
        self.taken.append((cell.key, hand.label))

    async def run(self, count: int) -> None:
        async with asyncio.timeout(20):
            await self.spread.machines()
            await self.spread.run(cells(count))
            await self.spread.close()


@settings(max_examples=60)
@given(
    lives=st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 6), min_size=1),
    count=st.integers(0, 24),
    revive=st.booleans(),
)
def test_each_cell_is_measured_once_or_given_up_once(lives, count, revive):
    rig = Rig(Fake(dict(lives), revive=revive))
    asyncio.run(rig.run(count))
    keys = [key for key, _ in rig.taken]
    assert len(keys) == len(set(keys))
    assert set(keys) | set(rig.spread.failed) == set(range(count))
    assert not set(keys) & set(rig.spread.failed)
    assert rig.spread.done == len(keys)
    if sum(lives.values()) >= count and not revive:
        # A job fails only if several nodes died while measuring it, or if no node is left.
        assert all("nodes were lost" in why or "no node" in why for why in rig.spread.failed.values())


@pytest.mark.smoke
async def test_work_is_shared_among_the_nodes():
    rig = Rig(Fake({"a": 99, "b": 99, "c": 99}))
    await rig.run(24)
    assert {label for _, label in rig.taken} == {"a", "b", "c"}
    assert len(rig.taken) == 24


async def test_a_cell_that_kills_its_nodes_is_given_up_and_the_others_are_measured():
    rig = Rig(Fake(dict.fromkeys("abcdef", 99), deadly={"cell 3"}))
    await rig.run(8)
    assert rig.spread.failed == {3: f"{MOST_LOST} nodes were lost while measuring this job"}
    assert sorted(key for key, _ in rig.taken) == [0, 1, 2, 4, 5, 6, 7]


async def test_a_node_without_the_device_that_others_have_stays_idle():
    grid = Fake({"gpu": 99, "cpu": 99}, devices={"gpu": ("CPU:0", "GPU:0")})
    rig = Rig(grid, ("CPU", "GPU"))
    await rig.run(6)
    assert {label for _, label in rig.taken} == {"gpu"}
    assert any(news.node == "cpu" and "it has no GPU" in news.text for news in rig.news)


async def test_nodes_of_another_version_or_without_tuilab_are_named_and_left_out():
    grid = Fake({"a": 9, "b": 9, "c": 9}, protocol={"b": 99}, unfit={"c": "tuilab is not installed there"})
    rig = Rig(grid)
    await rig.run(5)
    assert {label for _, label in rig.taken} == {"a"}
    said = {news.node: news.text for news in rig.news if news.grave}
    assert "protocol 99" in said["b"]
    assert "not installed" in said["c"]


async def test_two_nodes_on_one_machine_raise_a_warning():
    rig = Rig(Fake({"host~1": 9, "host~2": 9}))
    await rig.run(4)
    assert any("disturb each other" in news.text for news in rig.news)
    assert len({label for _, label in rig.taken}) == 2


async def test_without_a_node_the_wait_ends():
    rig = Rig(Fake({}))
    await rig.run(3)
    assert set(rig.spread.failed) == {0, 1, 2}


async def test_a_stop_keeps_the_measurements_and_assigns_no_more_cells():
    rig = Rig(Fake({"a": 99, "b": 99}, slow=True))
    async with asyncio.timeout(20):
        await rig.spread.machines()
        running = asyncio.create_task(rig.spread.run(cells(10)))
        while sum(rig.grid.at_work.values()) < 2:
            await asyncio.sleep(0.001)
        await rig.spread.stop()
        await running
        await rig.spread.close()
    assert len(rig.taken) == 2
    assert len(rig.grid.measured) == 2


async def test_an_internal_error_is_raised():
    rig = Rig(Fake({"a": 9}))

    def broken(machine: Machine) -> Measure:
        raise ValueError("ours")

    await rig.spread.machines()
    try:
        async with asyncio.timeout(5):
            await rig.spread.run([Job(name="x", make=broken, key=0)])
    except ValueError as error:
        assert str(error) == "ours"
    else:
        raise AssertionError("the fault was lost")
    finally:
        await rig.spread.close()
