"""The workers of several devices measure one at a time and then all at once. Only overlapping rounds
count.
"""

import asyncio
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.model import events as e
from tuilab.model.arms import Arm, labels
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Scenario
from tuilab.runner.concurrent_devices import ConcurrentDeviceRunner, twins
from tuilab.runner.gpus import only
from tuilab.runner.multi_host import MultiHostRunner
from tuilab.runner.overlap import Overlap
from tuilab.runner.supervisor import Supervisor

FAKE = str(Path(__file__).with_name("fake_device.py"))


class Rig:
    """A runner with one host and a fake worker per device. rounds: each worker's number of rounds and seconds
    per round.
    """

    def __init__(self, **rounds: tuple[int, float]) -> None:
        self.rounds = {name.replace("_", ":"): about for name, about in rounds.items()}
        self.events: list[e.Event] = []
        self.state = RunState()
        self.party = MultiHostRunner(self.receive, ("",), self.member)

    def member(self, host: str, on_event) -> ConcurrentDeviceRunner:
        return ConcurrentDeviceRunner(list(self.rounds), host, on_event, self.supervise)

    def supervise(self, host: str, device: str, on_event) -> Supervisor:
        count, seconds = self.rounds[device]
        command = [sys.executable, FAKE, str(count), str(seconds)]
        return Supervisor(on_event, command, env=only(device))

    def receive(self, event: e.Event) -> None:
        self.events.append(event)
        self.state.apply(event)

    async def until(self, true) -> None:
        async with asyncio.timeout(20):
            while not true():
                await asyncio.sleep(0.01)

    async def begin(self, *more: Arm) -> None:
        arms = (*(Arm(device, "graph") for device in self.rounds), *more)
        request = Measure(id="r", scenario=Scenario("stft", {}), arms=twins(arms), budget=BUDGET["quick"])
        await self.party.start()
        await self.party.measure(request)

    async def over(self) -> e.Finished:
        await self.until(lambda: self.state.status is not None)
        await self.party.close()
        return next(event for event in self.events if isinstance(event, e.Finished))


async def test_each_gpu_has_a_worker_that_opens_only_that_gpu():
    rig = Rig(GPU_0=(8, 0.03), GPU_2=(8, 0.03))
    await rig.begin()
    end = await rig.over()
    assert end.status == "ok"
    assert [type(event) for event in rig.events].count(e.RunStarted) == 1
    assert {d.name: d.memory for d in rig.state.machine.gpus} == {"GPU:0": 8, "GPU:1": 0, "GPU:2": 8}
    for arm in rig.state.arms.values():
        assert (arm.status, arm.device) == ("ok", arm.arm.device)
        assert arm.placement[0][0].device == arm.arm.device
        assert arm.cells[0].samples
    assert not any(
        flag.code == "precision" for arm in rig.state.arms.values() for flag in arm.flags if arm.arm.together
    )


async def test_devices_are_measured_separately_and_then_together():
    rig = Rig(GPU_0=(5, 0.05), GPU_1=(5, 0.05))
    await rig.begin()
    await rig.over()
    order = [event.blocks[0].arm for event in rig.events if isinstance(event, e.Round)]
    alone = [name for name in order if not name.endswith("together")]
    assert order[: len(alone)] == alone
    assert alone == sorted(alone)
    beside = order[len(alone) :]
    assert set(beside) == {"gpu0.graph.resident.float32.together", "gpu1.graph.resident.float32.together"}
    assert beside != sorted(beside)


async def test_rounds_after_another_device_has_ended_do_not_count():
    rig = Rig(GPU_0=(4, 0.05), GPU_1=(30, 0.05))
    await rig.begin()
    await rig.over()
    samples = {name: len(arm.cells[0].samples) for name, arm in rig.state.arms.items()}
    assert samples["gpu1.graph.resident.float32"] == 30
    assert 1 <= samples["gpu1.graph.resident.float32.together"] <= 6
    assert any("GPU:1" in line.text and "excluded" in line.text for line in rig.state.log)


async def test_a_stop_ends_the_running_pass_and_skips_the_rest():
    rig = Rig(GPU_0=(1_000, 0.02), GPU_1=(1_000, 0.02))
    await rig.begin()
    await rig.until(lambda: rig.state.rounds > 2)
    await rig.party.cancel("r")
    end = await rig.over()
    assert end.status == "cancelled"
    measured = [name for name, arm in rig.state.arms.items() if arm.cells]
    assert measured == ["gpu0.graph.resident.float32"]


async def test_a_device_without_a_worker_is_named():
    rig = Rig(GPU_0=(2, 0.02), GPU_1=(2, 0.02))
    await rig.begin(Arm("CPU:0", "graph"))
    await rig.over()
    assert rig.state.arms["cpu0.graph.resident.float32"].status == "unavailable"


@pytest.mark.parametrize(("device", "opened"), [("GPU:1", "1"), ("GPU:12", "12"), ("CPU:0", "")])
def test_the_worker_of_a_device_opens_no_other(device, opened):
    assert only(device) == {"TUILAB_GPUS": opened}


def test_labels_distinguish_the_two_passes():
    named = labels(twins((Arm("GPU:0", "graph"), Arm("GPU:1", "graph"))))
    assert named == ["GPU:0 graph", "GPU:1 graph", "GPU:0 graph together", "GPU:1 graph together"]


spans = st.tuples(st.integers(0, 20), st.lists(st.integers(1, 5), min_size=1, max_size=10))


@given(a=spans, b=spans)
def test_counted_rounds_lie_within_the_rounds_of_both_workers(a, b):
    """a, b: for each fake worker, the start of its rounds and the length of a round."""
    overlap = Overlap(["a", "b"])
    told: list[tuple[int, str, e.Event]] = []
    for name, (begin, lengths) in {"a": a, "b": b}.items():
        told.append((begin, name, e.Progress(run="r", stage="measuring")))
        for index, _ in enumerate(lengths):
            elapsed = sum(lengths[: index + 1])
            told.append((begin + elapsed, name, e.Round(run="r", index=index, blocks=(), elapsed_s=elapsed)))
        told.append((begin + sum(lengths), name, e.Finished(run="r", status="ok")))
    ends = {name: begin + sum(lengths) for name, (begin, lengths) in {"a": a, "b": b}.items()}
    low, high = max(a[0], b[0]), min(ends.values())
    for now, name, event in sorted(told, key=lambda line: line[0]):
        held = overlap.holds(name, event, float(now))
        if isinstance(event, e.Round):
            lengths = {"a": a, "b": b}[name][1]
            assert held == (now - lengths[event.index] >= low and now <= high)
