"""Several hosts measure one run, each its own arms. If a host disconnects, only its arms end."""

import asyncio
import sys
from pathlib import Path

from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Scenario
from tuilab.runner.multi_host import MultiHostRunner
from tuilab.runner.supervisor import Supervisor
from tuilab.spool import OWN

FAKE = str(Path(__file__).with_name("fake_worker.py"))


class Rig:
    """A multi-host runner with fake workers, each of which behaves according to its host's name."""

    def __init__(self, *hosts: str) -> None:
        self.events: list[e.Event] = []
        self.state = RunState()
        self.party = MultiHostRunner(self.receive, hosts, self.supervise)

    def supervise(self, host: str, on_event) -> Supervisor:
        if host == "missing":
            return Supervisor(on_event, ["/no/such/program"])
        return Supervisor(on_event, [sys.executable, FAKE, host or "good"])

    def receive(self, event: e.Event) -> None:
        self.events.append(event)
        self.state.apply(event)

    async def measure(self, *hosts: str) -> e.Finished:
        arms = tuple(Arm("CPU:0", "graph", host=host) for host in hosts)
        request = Measure(id="r", scenario=Scenario("stft", {}), arms=arms, budget=BUDGET["quick"])
        await self.party.measure(request)
        async with asyncio.timeout(20):
            while not (ends := [event for event in self.events if isinstance(event, e.Finished)]):
                await asyncio.sleep(0.01)
        await self.party.close()
        return ends[0]


async def test_each_host_measures_its_own_arms_under_its_own_machine():
    rig = Rig("", "rounds")
    end = await rig.measure("", "rounds")
    assert end.status == "ok"
    started = [event for event in rig.events if isinstance(event, e.RunStarted)]
    assert [len(event.arms) for event in started] == [2]
    assert set(rig.state.machines) == {"", "rounds"}
    assert {event.origin for event in rig.events if isinstance(event, e.Ready)} == {"", "rounds"}
    assert {arm.arm.host: len(arm.cells[0].samples) for arm in rig.state.arms.values()} == {
        "": 3,
        "rounds": 3,
    }


async def test_a_host_that_dies_ends_only_its_own_arms():
    rig = Rig("", "dies")
    end = await rig.measure("", "dies")
    assert end.status == "ok"
    assert "SIGSEGV" in end.message
    by_host = {arm.arm.host: arm for arm in rig.state.arms.values()}
    assert by_host["dies"].status == "failed"
    assert "SIGSEGV" in by_host["dies"].reason
    assert len(by_host[""].cells[0].samples) == 3


async def test_a_host_that_drops_keeps_the_rounds_it_has():
    rig = Rig("", "drops")
    end = await rig.measure("", "drops")
    assert end.status == "ok"
    (dropped,) = [arm for arm in rig.state.arms.values() if arm.arm.host == "drops"]
    assert len(dropped.cells[0].samples) == 3
    assert dropped.status is None
    (flag,) = dropped.flags
    assert flag.code == "host-lost"
    assert "the earlier rounds are kept" in flag.message


async def test_missing_parts_of_a_host_are_reported_even_if_it_ended_early():
    rig = Rig("missing", "")
    end = await rig.measure("missing", "")
    assert end.status == "ok"
    by_host = {arm.arm.host: arm for arm in rig.state.arms.values()}
    assert by_host["missing"].status == "failed"
    assert "missing cannot be started: /no/such/program" in by_host["missing"].reason
    assert set(rig.state.machines) == {""}


async def test_hosts_with_different_software_are_marked():
    rig = Rig("", "older")
    await rig.measure("", "older")
    assert {flag.code for flag in rig.state.flags} == {"unlike-software"}
    (flag,) = rig.state.flags
    assert "2.21.0" in flag.message
    assert "2.20.0" in flag.message


async def test_a_run_on_one_remote_host_belongs_to_that_machine():
    rig = Rig("rounds")
    await rig.measure("rounds")
    assert set(rig.state.machines) == {"rounds"}
    assert rig.party.machine is not None


async def test_another_protocol_is_refused_naming_the_host():
    events: list[e.Event] = []
    supervisor = Supervisor(events.append, [sys.executable, FAKE, "foreign"], name="gpu-07")
    await supervisor.start()
    async with asyncio.timeout(10):
        while not any(isinstance(event, e.Refused) for event in events):
            await asyncio.sleep(0.01)
    await supervisor.close()
    (refused,) = [event for event in events if isinstance(event, e.Refused)]
    assert refused.message.startswith("gpu-07: the worker of tuilab 0.0 speaks protocol 99")


async def test_only_a_purely_local_run_may_outlive_the_lab():
    sent: dict[str, list[tuple[str, bool]]] = {}

    class Spy(Supervisor):
        def __init__(self, host: str, on_event) -> None:
            super().__init__(on_event, [sys.executable, FAKE, "good"])
            self._host = host

        async def measure(self, request: Measure) -> None:
            sent.setdefault(self._host, []).append((request.spool, request.finish))

    party = MultiHostRunner(lambda event: None, (), Spy)
    here, there = Arm("CPU:0", "graph"), Arm("CPU:0", "graph", host="gpu-07")
    for arms in ((here,), (here, there), (there,)):
        request = Measure(
            id="r", scenario=Scenario("stft", {}), arms=arms, budget=BUDGET["quick"], spool="/folder"
        )
        await party.measure(request)
    await party.close()
    # A remote worker saves only its own part of the run. The local lab saves the whole run.
    assert sent == {"": [("/folder", True), ("", False)], "gpu-07": [(OWN, False)] * 2}


async def test_a_run_fails_if_every_host_fails():
    rig = Rig("dies", "missing")
    end = await rig.measure("dies", "missing")
    assert end.status == "failed"
    assert "missing cannot be started" in end.message


async def test_a_host_is_added_by_the_first_run_that_names_it():
    rig = Rig("")
    end = await rig.measure("rounds")
    assert end.status == "ok"
    assert set(rig.party.members) == {"", "rounds"}
