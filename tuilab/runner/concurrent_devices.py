"""One worker per device of a host: measures the devices one at a time, then all at once."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.machine import Machine
from tuilab.model.requests import Cancel, Measure, Request
from tuilab.runner.gpus import supervise_device
from tuilab.runner.host_runner import HostRunner, Listener
from tuilab.runner.multi_host import merged
from tuilab.runner.overlap import Overlap
from tuilab.runner.process import contained
from tuilab.runner.supervisor import Phase

LEAST_S = 4.0
"""Minimum seconds that each worker measures in the concurrent pass, so that rounds overlap."""

replace = msgspec.structs.replace


@dataclass
class _Device:
    """A device and its worker. ending: set when its part of the current pass has ended."""

    member: HostRunner
    up: asyncio.Event = field(default_factory=asyncio.Event)
    ending: "asyncio.Future[e.Finished] | None" = None
    alone_s: float = 0.0


class ConcurrentDeviceRunner:
    """Several workers behind the interface of one `Supervisor`: a `HostRunner` for `MultiHostRunner`.

    Arms name their devices. Arms that are not `together` are measured first, one device after another. After
    that, the `together` arms of all devices run at once; only rounds that overlap with rounds on all other
    devices count.
    """

    def __init__(
        self,
        devices: Sequence[str],
        host: str,
        on_event: Listener,
        start: Callable[[str, str, Listener], HostRunner] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_event, self._clock = contained(on_event), clock
        start = start or supervise_device
        self._devices = {
            device: _Device(start(host, device, partial(self._receive, device))) for device in devices
        }
        self._run = self._begun = ""
        self._stop = asyncio.Event()
        self._overlap: Overlap | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def machine(self) -> Machine | None:
        """The machine with the devices of all workers, once every worker is ready or has ended."""
        if not all(device.up.is_set() for device in self._devices.values()):
            return None
        return joined([d.member.machine for d in self._devices.values() if d.member.machine is not None])

    @property
    def busy(self) -> bool:
        """True if a run is active."""
        return self._task is not None and not self._task.done()

    @property
    def phase(self) -> Phase:
        """The worker's phase, as if there were a single worker."""
        phases = {device.member.phase for device in self._devices.values()}
        if phases == {"down"}:
            return "down"
        return "starting" if "starting" in phases else "busy" if self.busy else "ready"

    async def start(self) -> None:
        """Start a worker for each device. Raises OSError if one cannot be started."""
        await asyncio.gather(*(device.member.start() for device in self._devices.values()))

    async def send(self, request: Request) -> None:
        """Forward a request: a run goes to all workers, any other request to the first."""
        if isinstance(request, Measure):
            await self.measure(request)
        elif isinstance(request, Cancel):
            await self.cancel(request.id)
        else:
            await next(iter(self._devices.values())).member.send(request)

    async def measure(self, request: Measure) -> None:
        """Start a run; only one can be active."""
        assert not self.busy
        self._run = request.id
        self._stop.clear()
        self._task = asyncio.create_task(self._carry_out(request))

    async def cancel(self, run: str) -> None:
        """Stop a run: end the current measurement and skip the remaining ones."""
        if run == self._run:
            self._stop.set()
            await asyncio.gather(*(device.member.cancel(run) for device in self._devices.values()))

    async def close(self) -> None:
        """End every worker."""
        if self._task is not None:
            self._task.cancel()
        await asyncio.gather(*(device.member.close() for device in self._devices.values()))

    def kill_now(self) -> None:
        """Kill every worker without waiting."""
        for device in self._devices.values():
            device.member.kill_now()

    async def _carry_out(self, request: Measure) -> None:
        await self._all_up()
        alone = replace(request, budget=replace(request.budget, workers=1), spool="", roofs=None)
        endings = []
        for name in self._devices:
            endings.append(await self._pass(alone, name, together=False))
        self._say_what_is_not_here(request)
        self._overlap = Overlap(list(self._devices))
        spent = max(device.alone_s for device in self._devices.values())
        # There is no precision target, so that all devices measure for the same time and none ends early.
        limit_s = min(request.budget.limit_s, max(LEAST_S, spent))
        budget = replace(alone.budget, precision=0.0, limit_s=limit_s)
        beside = replace(alone, budget=budget, phases=False)
        endings += await asyncio.gather(*(self._pass(beside, name, together=True) for name in self._devices))
        self._say_what_was_left_out()
        came = [ending for ending in endings if ending is not None]
        if came:
            elapsed_s = sum(ending.elapsed_s for ending in came)
            self._on_event(replace(merged(request.id, came), elapsed_s=elapsed_s))
        else:
            never = e.Finished(run=request.id, status="cancelled", message="stopped before it started")
            self._on_event(never)

    async def _all_up(self) -> None:
        """Wait until each worker is ready or has ended, or until a stop is requested."""
        up = asyncio.ensure_future(self._up())
        stop = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait([up, stop], return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        stop.cancel()

    async def _up(self) -> bool:
        for device in self._devices.values():
            await device.up.wait()
        return True

    async def _pass(self, request: Measure, name: str, together: bool) -> e.Finished | None:
        """Run one device's part of a pass; return None if it has no part or the run was stopped."""
        device = self._devices[name]
        arms = [arm for arm in request.arms if arm.device == name and arm.together == together]
        if not arms or self._stop.is_set():
            return None
        device.ending = asyncio.get_running_loop().create_future()
        await device.member.measure(replace(request, arms=tuple(arms)))
        ending = await device.ending
        if self._overlap is not None:
            self._overlap.ended(name)
        if ending.status == "failed":
            for arm in arms:
                self._on_event(
                    e.ArmStatus(run=request.id, arm=arm.id, status="failed", reason=ending.message)
                )
        return ending

    def _receive(self, name: str, event: e.Event) -> None:
        device = self._devices[name]
        match event:
            case e.Ready():
                device.up.set()
                if self.machine is None:
                    return
                event = replace(event, machine=self.machine)
            case e.WorkerExited() if not device.up.is_set():
                device.up.set()
            case e.RunStarted():
                self._began(event)
                return
            case e.Finished():
                if device.ending is not None and not device.ending.done():
                    device.alone_s = max(device.alone_s, event.elapsed_s)
                    device.ending.set_result(event)
                return
            case e.Caveat(code="precision") if self._overlap is not None:
                return
            case e.Caveat(arm=""):
                where = f"{name} while the others run" if self._overlap is not None else f"{name} alone"
                event = replace(event, message=f"{where}: {event.message}")
        if self._overlap is None or self._overlap.holds(name, event, self._clock()):
            self._on_event(event)

    def _began(self, event: e.RunStarted) -> None:
        """Report the start of the run only once, although each device starts a run in each pass."""
        machine = self.machine
        if self._begun != event.run and machine is not None:
            self._begun = event.run
            self._on_event(replace(event, machine=machine))

    def _say_what_is_not_here(self, request: Measure) -> None:
        listed = ", ".join(self._devices)
        for arm in request.arms:
            if arm.device not in self._devices:
                reason = f"{arm.device} is not among the devices that measure together ({listed})"
                told = e.ArmStatus(run=request.id, arm=arm.id, status="unavailable", reason=reason)
                self._on_event(told)

    def _say_what_was_left_out(self) -> None:
        overlap, self._overlap = self._overlap, None
        for name, count in (overlap.left_out if overlap else {}).items():
            if count:
                text = f"{name}: {count} rounds left out because not every device was measuring"
                self._on_event(e.Log(text=text, source="tuilab", run=self._run))


def joined(machines: Sequence[Machine]) -> Machine | None:
    """Merge the machines into one; each device is described by the worker that opened it. None without
    machines.
    """
    if not machines:
        return None
    listed = sorted((d for machine in machines for d in machine.devices), key=lambda d: (d.name, d.memory))
    devices = {device.name: device for device in listed}
    whole = any(machine.gpus for machine in machines)
    return replace(machines[0], devices=tuple(devices.values()), no_gpu="" if whole else machines[0].no_gpu)


def twins(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Return two copies of each arm: unchanged, and with `together`."""
    return (*arms, *(replace(arm, together=True) for arm in arms))
