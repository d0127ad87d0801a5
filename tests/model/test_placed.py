"""Whether the host computes an op depends on the op's device, kernel and memory."""

import pytest

from tuilab.model.events import Node


@pytest.mark.parametrize(
    ("about", "on_host"),
    [
        ({"device": "CPU:0"}, True),
        ({"device": "/job:localhost/replica:0/task:0/device:CPU:0"}, True),
        ({"device": "GPU:0"}, False),
        ({"device": "GPU:0", "memory": "CPU:0", "gpu": False}, True),
        ({"device": "GPU:0", "memory": "CPU:0", "gpu": True}, False),
        ({"device": "GPU:0", "gpu": False}, False),
        ({"device": "CPU:0", "kind": "copy"}, False),
    ],
)
def test_the_host_computes_ops_on_a_cpu_and_host_kernels_of_a_gpu(about: dict, on_host: bool) -> None:
    assert Node(**{"name": "n", "op": "Shape", "kind": "op", **about}).on_host is on_host


@pytest.mark.parametrize(
    ("about", "elsewhere"),
    [
        ({"device": "CPU:0", "requested": "GPU:0"}, True),
        ({"device": "GPU:0", "requested": "GPU:0"}, False),
        ({"device": "GPU:0", "requested": "GPU:0", "memory": "CPU:0", "gpu": False}, True),
        ({"device": "CPU:0", "requested": ""}, False),
    ],
)
def test_an_op_is_elsewhere_only_if_it_left_the_requested_device(about: dict, elsewhere: bool) -> None:
    assert Node(**{"name": "n", "op": "Shape", "kind": "op", **about}).elsewhere is elsewhere
