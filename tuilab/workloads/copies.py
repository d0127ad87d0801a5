"""Copies between host and device: one block compared with many pieces of the same total size."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from tuilab.model.arms import Arm, family
from tuilab.model.parameters import AtMost, Choice, LogInteger, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Workload
from tuilab.workloads.parts.device import move_to, observed, resident

TO_DEVICE, TO_HOST, BOTH = "to device", "to host", "both"

DECLARATION = Declaration(
    name="copies",
    title="Copies between host and device",
    summary="Moves the same data as one block or in many pieces. On the CPU, the copies stay within "
    "host memory.",
    unit="transfer",
    parameters=(
        LogInteger(
            name="bytes",
            help="Total bytes of one transfer.",
            unit="B",
            default=16 * 2**20,
            low=4 * 2**10,
            high=4 * 2**30,
        ),
        LogInteger(
            name="pieces",
            help="Number of tensors into which the bytes are split; each tensor is copied separately.",
            default=256,
            low=1,
            high=4_096,
        ),
        Choice(
            name="direction",
            help="Direction of the copy.",
            default=TO_DEVICE,
            options=(TO_DEVICE, TO_HOST, BOTH),
        ),
    ),
    constraints=(AtMost("pieces", "bytes", "a piece has at least one byte"),),
    modes=("eager", "graph"),
    inputs=("resident",),
    variants=(
        Variant("block", "All bytes in one tensor."),
        Variant("pieces", "The bytes split into pieces, one copy each."),
    ),
    axis="bytes",
)


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: the array, its tensor, and the copies in both directions."""
    return 4 * int(values["bytes"])


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Return the number of bytes copied. A copy within the host reads and writes each byte once per
    direction.
    """
    total = int(values["bytes"]) // int(values["pieces"]) * int(values["pieces"])
    direction = str(values["direction"])
    if family(arm.device) == "CPU":
        ways = 2 if direction == BOTH else 1
        return Work(flop=0, inputs=ways * total, outputs=ways * total, dtype="uint8")
    there, back = total * (direction != TO_HOST), total * (direction != TO_DEVICE)
    return Work(flop=0, inputs=back, outputs=there, to_device=there, to_host=back, dtype="uint8")


def build(b: Build) -> Case:
    import numpy as np

    tf, direction = b.tf, b.word("direction")
    pieces = b.integer("pieces") if b.arm.variant == "pieces" else 1
    # Both variants round the size down to a multiple of the number of pieces.
    total = b.integer("bytes") // b.integer("pieces") * b.integer("pieces")
    piece = np.random.default_rng(0).integers(0, 256, total // pieces, np.uint8)
    start = b.host if direction != TO_HOST else b.device
    tensors = [resident(tf, piece, start) for _ in range(pieces)]
    b.progress("pieces made", pieces, pieces)
    copy = b.compiled(_copy(b, direction))
    on_host = family(b.arm.device) == "CPU"

    return Case(
        call=lambda: copy(*tensors),
        # Without this scope, a graph with many results returns them through a visible GPU.
        scope=lambda: tf.device(b.host) if on_host else nullcontext(),
        device=observed(tf, b.device),
        copies=True,
        function=copy,
        arguments=tuple(tensors),
    )


def _copy(b: Build, direction: str) -> Callable[..., Any]:
    tf = b.tf
    ways = {TO_DEVICE: [b.device], TO_HOST: [b.host], BOTH: [b.device, b.host]}[direction]

    def within_host(*tensors: Any) -> Any:
        # `tf.identity` of a tensor on its own device copies nothing. If a GPU is visible, even a host tensor
        # would be copied to the GPU unless the code requests the host.
        with tf.device(b.host):
            for _ in ways:
                tensors = tuple(tf.raw_ops.DeepCopy(x=tensor) for tensor in tensors)
        return tensors

    def across(*tensors: Any) -> Any:
        for way in ways:
            tensors = tuple(move_to(tf, tensor, way) for tensor in tensors)
        return tensors

    return within_host if family(b.arm.device) == "CPU" else across


WORKLOAD = Workload(DECLARATION, build, memory, work)
