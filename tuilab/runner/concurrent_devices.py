"""Runs one worker for each device of a host. Measures the devices one at a time, then all at once."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.runner.host import HostRunner, Listener
from tuilab.runner.host_runner import supervise
from tuilab.runner.overlap import Overlap
from tuilab.runner.policy import Policy, Tell
from tuilab.runner.workers import Run, Workers, merged

LEAST_S = 4.0
"""Minimum seconds that each worker measures in the concurrent pass, so that the workers' rounds overlap."""

replace = msgspec.structs.replace


class AloneThenTogether(Policy):
    """Lets the workers measure one after another. After that, all workers measure their arms with `together`
    set at the same time.

    In the concurrent pass, only rounds that overlap with rounds of all other workers count. up: an event that
    is set once the workers are ready.
    """

    def __init__(
        self, members: Mapping[str, HostRunner], parts: Mapping[str, Measure], tell: Tell, up: asyncio.Event
    ) -> None:
        super().__init__(members, parts, tell)
        self._up, self._stop = up, asyncio.Event()
        self._overlap: Overlap | None = None
        self._ended: dict[str, asyncio.Future[e.Finished]] = {}
        self._endings: list[e.Finished] = []

    async def start(self) -> None:
        self._spawn(self._carry_out(next(iter(self.parts.values()))))

    async def cancel(self) -> None:
        self._stop.set()
        await super().cancel()

    async def _carry_out(self, request: Measure) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self._up, self._stop)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        budget = replace(request.budget, workers=1)
        for name in self.parts:
            await self._pass(name, together=False, budget=budget)
        overlap = self._overlap = Overlap(list(self.parts))
        spent = max((ending.elapsed_s for ending in self._endings), default=0.0)
        # Set no precision target, so that all devices measure for the same time and none stops early.
        budget = replace(budget, precision=0.0, limit_s=min(budget.limit_s, max(LEAST_S, spent)))
        beside = (self._pass(name, together=True, budget=budget, phases=False) for name in self.parts)
        await asyncio.gather(*beside)
        for name, count in overlap.left_out.items():
            if count:
                text = f"{name}: {count} rounds excluded because not every device was measuring"
                self._tell(name, e.Log(text=text, source="tuilab", run=request.id))
        never = e.Finished(run=request.id, status="cancelled", message="stopped before it started")
        whole = merged(request.id, self._endings or [never])
        whole = replace(whole, elapsed_s=sum(ending.elapsed_s for ending in self._endings))
        for name in self.parts:
            self._tell(name, whole)

    async def _pass(self, name: str, together: bool, **about: Any) -> None:
        """Let one worker measure its arms for one pass: alone, or together with the other workers.

        Does nothing if the worker has no such arms, or after a stop.
        """
        part = self.parts[name]
        arms = tuple(arm for arm in part.arms if arm.together == together)
        if not arms or self._stop.is_set():
            return
        ended = self._ended[name] = asyncio.get_running_loop().create_future()
        await self._measure(name, replace(part, arms=arms, spool="", roofs=None, **about))
        ending = await ended
        self._endings.append(ending)
        if self._overlap is not None:
            self._overlap.ended(name)
        if ending.status == "failed":
            for arm in arms:
                self._tell(name, e.ArmStatus(run=part.id, arm=arm.id, status="failed", reason=ending.message))

    def receive(self, name: str, event: e.Event) -> None:
        match event:
            case e.Finished():
                if not self._ended[name].done():
                    self._ended[name].set_result(event)
                return
            case e.Caveat(code="precision") if self._overlap is not None:
                return
            case e.Caveat(arm=""):
                where = f"{name} while the others run" if self._overlap is not None else f"{name} alone"
                event = replace(event, message=f"{where}: {event.message}")
        if self._overlap is None or self._overlap.holds(name, event, time.monotonic()):
            self._tell(name, event)


class ConcurrentDeviceRunner(Workers):
    """Runs a worker for each device of a host, with the interface of a single `Supervisor`."""

    def __init__(
        self,
        devices: Sequence[str],
        host: str,
        on_event: Listener,
        start: Callable[[str, str, Listener], HostRunner] = lambda host, device, on_event: supervise(
            host, on_event, device=device
        ),
    ) -> None:
        self._waiting, self._up = set(devices), asyncio.Event()
        super().__init__(on_event, devices, partial(start, host), lambda arm: arm.device)

    @property
    def machine(self) -> Machine | None:
        """The machine with the devices of all workers; None until every worker is ready or has ended."""
        if self._waiting:
            return None
        return joined([m.machine for m in self.members.values() if m.machine is not None])

    def policies(self, parts: Mapping[str, Measure]) -> Sequence[Policy]:
        here = {device: part for device, part in parts.items() if device in self.members}
        return [AloneThenTogether(self.members, here, self._tell, self._up)]

    def _receive(self, name: str, event: e.Event) -> None:
        if isinstance(event, e.Ready | e.WorkerExited):
            self._waiting.discard(name)
            if not self._waiting:
                self._up.set()
        if isinstance(event, e.Ready):
            if (machine := self.machine) is None:
                return
            event = replace(event, machine=machine)
        super()._receive(name, event)

    def _began(self, run: Run, name: str, event: e.RunStarted) -> None:
        machine = self.machine
        if run.begun or machine is None:
            return
        super()._began(run, name, replace(event, machine=machine))
        listed = ", ".join(self.members)
        for arm in run.request.arms:
            if arm.device not in self.members:
                reason = f"{arm.device} is not among the devices that measure together ({listed})"
                told = e.ArmStatus(run=event.run, arm=arm.id, status="unavailable", reason=reason)
                self._on_event(told)


def joined(machines: Sequence[Machine]) -> Machine | None:
    """Merge the workers' reports on one machine. Each device comes from the worker that opened it."""
    if not machines:
        return None
    listed = sorted((d for machine in machines for d in machine.devices), key=lambda d: (d.name, d.memory))
    devices = {device.name: device for device in listed}
    whole = any(machine.gpus for machine in machines)
    return replace(machines[0], devices=tuple(devices.values()), no_gpu="" if whole else machines[0].no_gpu)


def twins(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Return each arm twice: unchanged, and with `together` set."""
    return (*arms, *(replace(arm, together=True) for arm in arms))
