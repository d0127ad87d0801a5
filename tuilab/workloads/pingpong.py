"""Measures a chain of matrix products, some of which follow an op on the host."""

from collections.abc import Mapping
from typing import Any

from tuilab.model.arms import Arm
from tuilab.model.parameters import AtMost, Integer, LogInteger, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Unavailable, Workload
from tuilab.workloads.parts import kernels
from tuilab.workloads.parts.precision import ITEM_BYTES, precise, precision

HOST_ONLY = "BandedTriangularSolve"
"""A float op that has only a CPU kernel. With one band of ones, it returns its input unchanged."""

DECLARATION = Declaration(
    name="pingpong",
    title="Detours to the host",
    summary="A chain of matrix products; between some of them, a small op may run on the host.",
    unit="chain",
    parameters=(
        LogInteger(
            name="side",
            help="The matrices are side × side. Each detour copies one matrix to the host and back.",
            default=64,
            low=2,
            high=4_096,
        ),
        Integer(
            name="length",
            label="products",
            help="Matrix products in the chain.",
            default=8,
            low=1,
            high=256,
        ),
        Integer(
            name="detours",
            help="Number of small ops in the chain, each before a product.",
            default=1,
            low=1,
            high=256,
        ),
        precision("float32", "float64"),
    ),
    constraints=(AtMost("detours", "length", "each detour needs a product after it"),),
    inputs=("resident",),
    variants=(
        Variant("straight", "The small ops are additions on the same device."),
        Variant("pinned", "The additions are pinned to the CPU.", modes=("eager", "graph")),
        Variant(
            "host-only",
            f"The small ops have no GPU kernel ({HOST_ONLY}).",
            modes=("eager", "graph"),
        ),
    ),
    axis="side",
    dtype="dtype",
)


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: three matrices as arrays and tensors, and two results."""
    side = int(values["side"])
    return side * side * 3 * (8 + 2 * ITEM_BYTES[str(values["dtype"])])


def positions(length: int, detours: int) -> frozenset[int]:
    """Return the indices of the `detours` matrix products, out of `length`, that follow a detour to the host.
    The indices are evenly spread and start with 0.
    """
    return frozenset(index * length // detours for index in range(detours))


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Count the matrix products and, for each detour to the host, one operation per element and two copies of
    a matrix.
    """
    side, item = int(values["side"]), ITEM_BYTES[arm.dtype]
    detours = int(values["detours"])
    away = 0 if arm.variant == "straight" else detours * item * side**2
    return Work(
        flop=int(values["length"]) * 2 * side**3 + detours * side**2,
        inputs=(2 if arm.variant == "host-only" else 3) * item * side**2,
        outputs=item * side**2,
        dtype=arm.dtype,
        to_device=away,
        to_host=away,
    )


def build(b: Build) -> Case:
    import numpy as np

    tf, side, variant = b.tf, b.integer("side"), b.arm.variant
    if variant != "straight" and b.arm.mode == "xla":
        raise Unavailable("XLA compiles for one device, so one XLA call cannot be split over two")
    places = positions(b.integer("length"), b.integer("detours"))
    with tf.device(b.host):
        band = tf.ones((1, side), b.arm.dtype)

    def detour(x: Any, y: Any) -> Any:
        if variant == "host-only":
            return tf.raw_ops.BandedTriangularSolve(matrix=band, rhs=x)
        if variant == "pinned":
            with tf.device(b.host):
                return tf.add(x, y)
        return tf.add(x, y)

    def chain(x: Any, small: Any, factor: Any) -> Any:
        for index in range(b.integer("length")):
            if index in places:
                x = detour(x, small)
            x = tf.matmul(x, factor)
        return x

    rng = np.random.default_rng(0)
    x = rng.standard_normal((side, side)).astype(b.arm.dtype)
    small = np.full((side, side), 1e-3, b.arm.dtype)
    # A permutation keeps every entry bounded for any length of the chain.
    factor = np.eye(side, dtype=b.arm.dtype)[rng.permutation(side)]
    case = precise(b, b.tensors(chain, x, small, factor))
    if variant == "host-only":
        kernels.report(b, HOST_ONLY, b.arm.dtype)
    return case


WORKLOAD = Workload(DECLARATION, build, memory, work)
