"""Whether the device that an arm asks for is there, and which one computed."""

from typing import Any

from tuilab.model.arms import Arm, family
from tuilab.model.machine import Machine
from tuilab.workloads.base import Case


def missing(machine: Machine, arm: Arm) -> str:
    """Why this machine does not have the arm's device; empty where it has it."""
    names = [d.name for d in machine.devices]
    if arm.device in names:
        return ""
    kind = family(arm.device)
    if kind == "GPU" and not machine.gpus:
        return f"no GPU is visible to TensorFlow: {machine.no_gpu}" if machine.no_gpu else "no GPU is visible"
    same = [name for name in names if family(name) == kind]
    listed = ", ".join(same) if same else "none"
    return f"{arm.device} is not among this machine's devices of that kind ({listed})"


def mismatch(arm: Arm, observed: str, why: str = "") -> str:
    """What is wrong when another device computed than was asked for; empty where nothing is.

    why: what is known of the reason.
    """
    if observed == arm.device:
        return ""
    if not observed:
        return f"asked for {arm.device}, but no op was seen to run there, so there is no figure"
    return f"asked for {arm.device}, but the work ran on {observed}" + (f": {why}" if why else "")


def computed(tf: Any, outputs: Any) -> str:
    """The device that computed (`GPU:0`): where the largest of the outputs lives; "" if that is unknown."""
    tensors = [t for t in tf.nest.flatten(outputs) if getattr(t, "backing_device", None)]
    if not tensors:
        return ""
    largest = max(tensors, key=lambda t: int(t.shape.num_elements() or 0) * int(t.dtype.size or 0))
    return str(largest.backing_device).rpartition("/device:")[2]


def decide(arm: Arm, seen: str, case: Case) -> str:
    """The device whose name the figure may bear: what was seen of the ops, else what the workload saw.

    A copy to the host has no op on the other side, so there the workload's observation counts.
    Where no TensorFlow op ran at all, the host's processor did what there was to do.
    """
    if case.copies:
        return case.device
    return seen or case.device or ("CPU:0" if arm.device == "CPU:0" else "")
