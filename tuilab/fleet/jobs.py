"""Defines a job: the part of a task that a node measures as a separate run."""

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
    """Work for one node. key: identifies the job, such as the index of its sweep point. name: displayed
    to users. make: builds the request for a given machine.
    """

    name: str
    make: Callable[[Machine], Measure]
    key: int


def job_of(request: Measure, point: Point) -> Job:
    """Return a job that measures one sweep point with all arms in the same rounds."""
    values = {**request.scenario.parameters, **point.values}
    scenario = msgspec.structs.replace(request.scenario, parameters=values)
    own = msgspec.structs.replace(
        request, id=uuid.uuid4().hex, scenario=scenario, sweep=None, pace=False, roofs=None
    )
    name = ", ".join(f"{parameter} {value}" for parameter, value in point.values.items())
    return Job(name=name, make=lambda machine: own, key=point.index)


def common_devices(machines: Sequence[Machine]) -> list[str]:
    names = [[device.name for device in machine.devices] for machine in machines]
    return [name for name in (names[0] if names else []) if all(name in some for some in names)]


def lacks(machine: Machine, families: Sequence[str], others: Sequence[Machine]) -> str:
    """Return the first of these device families that the machine lacks and another machine has; "" if no
    family qualifies.
    """
    here, there = families_of(machine), {kind for other in others for kind in families_of(other)}
    return next((kind for kind in families if kind in there and kind not in here), "")


def families_of(machine: Machine) -> set[str]:
    return {family(device.name) for device in machine.devices}
