"""Data-parallel training: the results are the same as on one device, and the work is on the right
devices.
"""

import pytest

from tuilab.workloads.base import Unavailable

SMALL = {"batch": 8, "side": 8, "filters": 4}


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_two_replicas_learn_what_one_device_learns(make, mode):
    one, two = (
        make("data_parallel", "single", mode, **SMALL),
        make("data_parallel", "mirrored", mode, **SMALL),
    )
    for _ in range(3):
        losses = float(one.call()), float(two.call())
        # The sum over shares is rounded differently from the sum over the batch.
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_a_step_descends(make):
    made = make("data_parallel", "mirrored", **SMALL)
    losses = [float(made.call()) for _ in range(10)]
    assert losses[-1] < losses[0]


def test_each_replica_has_its_share_on_its_own_device(make):
    made = make("data_parallel", "mirrored", **SMALL)
    assert made.facts["replica-devices"] == "CPU:0, CPU:1"
    made.call()
    graph = made.case.function.get_concrete_function().graph
    where = {op.device.rpartition("/device:")[2] for op in graph.get_operations() if op.type == "Conv2D"}
    assert where == {"CPU:0", "CPU:1"}


def test_too_few_devices_and_arms_of_other_devices_say_why(make):
    with pytest.raises(Unavailable, match=r"4 replicas need as many CPU devices; TensorFlow lists 2"):
        make("data_parallel", "mirrored", replicas=4, **SMALL)
    with pytest.raises(Unavailable, match="always uses CPU:0 first"):
        make("data_parallel", "mirrored", device="CPU:1", **SMALL)
