"""`tuilab run --together`: a worker for each device, one at a time and then all at once."""

from collections.abc import Mapping, Sequence

import msgspec

from tuilab.analysis.summary import summarise
from tuilab.cli.choose import Choice
from tuilab.cli.narrate import Narrator
from tuilab.cli.session import Outcome, Session
from tuilab.model.errors import InputError
from tuilab.model.requests import Measure
from tuilab.model.result import RunResult
from tuilab.model.scenario import BudgetName
from tuilab.runner.concurrent_devices import ConcurrentDeviceRunner, twins
from tuilab.runner.host_runner import Listener


async def measure_together(
    choice: Choice, budget: BudgetName, cold: bool, hosts: Sequence[str]
) -> tuple[Outcome, RunResult]:
    """Find each host's devices, start a worker for each of them, measure, end them.

    Raises InputError where the arms are all on one device.
    """
    async with Session(Narrator(), hosts) as scouts:
        devices = {
            host: [d.name for d in machine.devices] for host, machine in (await scouts.machines()).items()
        }
    request = doubled(choice.measure(devices, budget, None, cold))
    wanted = devices_of(request, devices)
    if all(len(own) < 2 for own in wanted.values()):
        listed = ", ".join(device for own in devices.values() for device in own)
        expected = f"arms on two devices of a host at least; there are {listed}"
        raise InputError(
            "--together", ", ".join(device for own in wanted.values() for device in own), expected
        )

    def member(host: str, on_event: Listener) -> ConcurrentDeviceRunner:
        return ConcurrentDeviceRunner(wanted[host], host, on_event)

    async with Session(Narrator(), hosts, member) as session:
        await session.machines()
        outcome = await session.run(request)
        result = summarise(outcome.state, choice.preset.claims)
        session.conclude(outcome.state, result.answer)
        return outcome, result


def doubled(request: Measure) -> Measure:
    """The request with each arm once more `together`."""
    return msgspec.structs.replace(request, arms=twins(request.arms))


def devices_of(request: Measure, present: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The devices that each host is to measure on: those of its arms that it has, else all named ones."""
    out = {}
    for host, own in present.items():
        named = list(dict.fromkeys(arm.device for arm in request.arms if arm.host == host))
        out[host] = [device for device in named if device in own] or named
    return out
