import msgspec
import pytest

from tests.made import GRAPH, machine, started
from tuilab.lab.together import devices_of, doubled, runner_of_each
from tuilab.model.errors import InputError
from tuilab.model.machine import Device
from tuilab.model.requests import Measure

BEGUN = started("r", GRAPH)
REQUEST = Measure(id="r", scenario=BEGUN.scenario, arms=BEGUN.arms, budget=BEGUN.budget)
TWO = machine(devices=(Device("CPU:0"), Device("CPU:1")))


def request(*devices: str) -> Measure:
    return msgspec.structs.replace(
        REQUEST, arms=tuple(msgspec.structs.replace(GRAPH, device=d) for d in devices)
    )


def test_together_needs_more_than_one_device():
    with pytest.raises(InputError, match="--together.*'CPU:0'.*found CPU:0, CPU:1"):
        runner_of_each(request("CPU:0"), {"": TWO})
    assert runner_of_each(request("CPU:0", "CPU:1"), {"": TWO}) is not None


def test_the_devices_of_the_arms_that_a_host_has_are_measured():
    both = request("CPU:1", "CPU:0", "CPU:1")
    assert devices_of(both, {"": ["CPU:0", "CPU:1"]}) == {"": ["CPU:1", "CPU:0"]}
    assert devices_of(both, {"": ["CPU:0"]}) == {"": ["CPU:0"]}
    assert devices_of(both, {"": ["GPU:0"], "far": ["CPU:0"]}) == {"": ["CPU:1", "CPU:0"], "far": []}
    ids = [arm.id for arm in doubled(request("CPU:0", "CPU:1")).arms]
    assert len(ids) == 4 and sum(each.endswith(".together") for each in ids) == 2
