"""What is spread over the nodes: cells, each a run of its own."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from tuilab.model.arms import family
from tuilab.model.events import Point
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure


@dataclass(frozen=True)
class Job:
    """One thing to measure on one node at one time. name: for people. make: the request for a machine.

    key: tells it from the others, such as the index of its point.
    """

    name: str
    make: Callable[[Machine], Measure]
    key: int


def job_of(request: Measure, point: Point) -> Job:
    """Return one point of a sweep as a run of its own, with all its arms, so that they share their rounds."""
    values = {**request.scenario.parameters, **point.values}
    scenario = msgspec.structs.replace(request.scenario, parameters=values)
    own = msgspec.structs.replace(
        request, id=uuid.uuid4().hex, scenario=scenario, sweep=None, pace=False, roofs=None
    )
    name = ", ".join(f"{parameter} {value}" for parameter, value in point.values.items())
    return Job(name=name, make=lambda machine: own, key=point.index)


def common_devices(machines: Sequence[Machine]) -> list[str]:
    """Return the devices that all of the machines have, by name."""
    names = [[device.name for device in machine.devices] for machine in machines]
    return [name for name in (names[0] if names else []) if all(name in some for some in names)]


def lacks(machine: Machine, families: Sequence[str], others: Sequence[Machine]) -> str:
    """Return the first of these device families that some other machine has and this one has not; "" for
    none."""
    here, there = families_of(machine), {kind for other in others for kind in families_of(other)}
    return next((kind for kind in families if kind in there and kind not in here), "")


def families_of(machine: Machine) -> set[str]:
    """Return `{"CPU", "GPU"}` of a machine with both."""
    return {family(device.name) for device in machine.devices}
