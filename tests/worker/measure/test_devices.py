"""A figure names the device that computed it, or no device if the device is unknown."""

from types import SimpleNamespace

import pytest

from tests.made import machine
from tuilab.model.arms import Arm
from tuilab.model.machine import Device
from tuilab.worker.measure.prepare import computed, decide_device, mismatch, missing_device
from tuilab.workloads.base import Case

HERE = machine(devices=(Device("CPU:0"), Device("GPU:0"), Device("GPU:1")))
NONE = machine(devices=(Device("CPU:0"),), no_gpu="no driver")


def arm(device: str) -> Arm:
    return Arm(device, "graph")


def test_a_missing_device_is_reported_with_the_existing_ones() -> None:
    assert missing_device(HERE, arm("GPU:1")) == ""
    assert "GPU:0, GPU:1" in missing_device(HERE, arm("GPU:2"))
    assert missing_device(NONE, arm("GPU:0")) == "no GPU is visible to TensorFlow: no driver"


def test_the_device_asked_for_must_be_the_one_that_computed() -> None:
    assert mismatch(arm("GPU:0"), "GPU:0") == ""
    assert mismatch(arm("GPU:0"), "CPU:0", "MatMul: no kernel") == (
        "GPU:0 was requested, but the work ran on CPU:0: MatMul: no kernel"
    )
    assert mismatch(arm("GPU:0"), "GPU:1") and mismatch(arm("CPU:0"), "GPU:0")
    assert "no figure" in mismatch(arm("GPU:0"), "")


def case(device: str = "") -> Case:
    return Case(call=lambda: None, device=device)


@pytest.mark.parametrize(
    ("asked", "seen", "told", "device"),
    [
        ("GPU:0", "CPU:0", "GPU:0", "CPU:0"),
        ("GPU:0", "", "GPU:0", "GPU:0"),
        ("CPU:0", "", "", "CPU:0"),
        ("GPU:0", "", "", ""),
    ],
)
def test_observed_placement_outranks_the_workload_declaration(
    asked: str, seen: str, told: str, device: str
) -> None:
    assert decide_device(arm(asked), seen, case(told)) == device


def tensor(device: str, elements: int) -> SimpleNamespace:
    return SimpleNamespace(
        backing_device=f"/job:localhost/replica:0/task:0/device:{device}",
        shape=SimpleNamespace(num_elements=lambda: elements),
        dtype=SimpleNamespace(size=4),
    )


def test_the_device_is_that_of_the_largest_output() -> None:
    tf = SimpleNamespace(nest=SimpleNamespace(flatten=list))
    assert computed(tf, [tensor("CPU:0", 1), tensor("GPU:0", 100), "no tensor"]) == "GPU:0"
    assert computed(tf, ["no tensor", None]) == ""
