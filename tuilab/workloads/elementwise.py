"""Measures chains of small ops: the cost of an op that has little to compute."""

from collections.abc import Mapping
from typing import Any

from tuilab.model.arms import Arm
from tuilab.model.parameters import LogInteger, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Workload
from tuilab.workloads.parts.precision import ITEM_BYTES, precise, precision

UNROLLED = 1_000
"""Maximum number of ops unrolled in a graph. A longer chain is a loop whose body has this many ops."""

DECLARATION = Declaration(
    name="elementwise",
    title="Chains of small ops",
    summary="Ops on a small square matrix, one after another.",
    unit="chain",
    parameters=(
        LogInteger(
            name="side",
            help="The matrices are side × side. In larger matrices, the launch overhead matters less.",
            default=10,
            low=1,
            high=8_192,
        ),
        LogInteger(
            name="ops",
            help="Ops in one call. The time of a call divided by this number is the cost of one op.",
            default=100,
            low=1,
            high=1_000_000,
            binary=False,
        ),
        precision("float32", "float16", "bfloat16", "float64"),
    ),
    inputs=("resident",),
    variants=(
        Variant(
            "add",
            "The sum of the same two matrices, a + b, repeated. A graph would compute it only once.",
            modes=("eager",),
            does="adding",
        ),
        Variant(
            "add-multiply",
            "Alternating elementwise sums and products. TensorFlow would merge a graph of sums alone "
            "into one AddN, which is no longer a chain.",
            does="adding and multiplying",
        ),
        Variant(
            "numbers",
            "Alternating products and sums with Python numbers, x * 0.9 and x + 0.1. In eager mode, each op "
            "also makes a tensor of its number.",
            does="adding and multiplying by numbers",
        ),
        Variant("matmul", "Matrix products.", does="multiplying matrices"),
        Variant(
            "sums",
            "Sums that each use the previous result: y = y + x. A graph merges them, so its "
            "figure is for the merged "
            "ops.",
            does="adding to a sum",
        ),
    ),
    axis="side",
    dtype="dtype",
)


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: two matrices, as arrays and tensors, and two results."""
    side = int(values["side"])
    return side * side * (2 * (8 + ITEM_BYTES[str(values["dtype"])]) + 2 * ITEM_BYTES[str(values["dtype"])])


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Count one operation per element and op, or one matrix product per op. The bytes are those
    of fused ops, which read and write memory only once.
    """
    side, ops = int(values["side"]), int(values["ops"])
    item = ITEM_BYTES[arm.dtype]
    each = 2 * side**3 if arm.variant == "matmul" else side**2
    return Work(flop=ops * each, inputs=2 * item * side**2, outputs=item * side**2, dtype=arm.dtype)


def build(b: Build) -> Case:
    import numpy as np

    tf, ops, side = b.tf, b.integer("ops"), b.integer("side")

    def once(x: Any, y: Any, index: int) -> Any:
        if b.arm.variant == "matmul":
            return tf.matmul(x, y)
        if b.arm.variant == "numbers":
            return x + 0.1 if index % 2 else x * 0.9
        return x + y if index % 2 or b.arm.variant == "sums" else x * y

    def piece(x: Any, y: Any, length: int) -> Any:
        for index in range(length):
            x = once(x, y, index)
        return x

    def sums(x: Any, y: Any) -> Any:
        for _ in range(ops):
            z = x + y
        return z

    def chain(x: Any, y: Any) -> Any:
        if b.arm.mode == "eager" or ops <= UNROLLED:
            return piece(x, y, ops)
        loops, rest = divmod(ops, UNROLLED)
        (x,) = tf.while_loop(
            lambda _: True,
            lambda z: (piece(z, y, UNROLLED),),
            (x,),
            maximum_iterations=loops,
            parallel_iterations=1,
        )
        return piece(x, y, rest)

    # Powers of an orthogonal matrix stay bounded, and so does y·x + y with entries below one.
    orthogonal = np.linalg.qr(np.random.default_rng(0).standard_normal((min(side, 256),) * 2))[0]
    x = np.resize(orthogonal, (side, side))
    y = _tiled(orthogonal, side) if b.arm.variant == "matmul" else np.clip(x, -0.9, 0.9)
    dtype = tf.as_dtype(b.arm.dtype).as_numpy_dtype
    if b.arm.variant == "numbers":
        return precise(b, b.tensors(lambda x: chain(x, x), x.astype(dtype)))
    return precise(b, b.tensors(sums if b.arm.variant == "add" else chain, x.astype(dtype), y.astype(dtype)))


def _tiled(block: Any, side: int) -> Any:
    """Return an orthogonal side × side matrix: copies of the block along the diagonal, and ones on the rest
    of the diagonal.
    """
    import numpy as np

    out = np.eye(side)
    width = len(block)
    for start in range(0, side - width + 1, width):
        out[start : start + width, start : start + width] = block
    return out


WORKLOAD = Workload(DECLARATION, build, memory, work)
