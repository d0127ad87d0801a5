"""Measures matrix products by dtype: which dtypes have kernels, and how fast they are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tuilab.model.arms import Arm
from tuilab.model.parameters import LogInteger, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Unavailable, Workload
from tuilab.workloads.parts import kernels
from tuilab.workloads.parts.precision import ITEM_BYTES, precise, precision, require, storage

TENSOR_CORE_MULTIPLE = 8
SAMPLED = 64
"""Number of rows of the matrix product that are compared with a product in double precision."""


def _side(name: str, what: str) -> LogInteger:
    return LogInteger(name=name, help=what, default=1_024, low=1, high=16_384)


DECLARATION = Declaration(
    name="matmul",
    title="Matrix product",
    summary="An m × k matrix times a k × n matrix, in the dtype of your choice.",
    unit="product",
    parameters=(
        _side("m", "Rows of the first matrix and of the product."),
        _side("k", "Columns of the first matrix, rows of the second: the length of each sum."),
        _side("n", "Columns of the second matrix and of the product."),
        precision(
            *ITEM_BYTES,
            help="float32 uses full precision; tf32 is how recent NVIDIA GPUs multiply float32 by "
            "default. int32 has no GPU kernel.",
        ),
    ),
    variants=(
        Variant("plain", "The dimensions as given."),
        Variant("padded", "Every dimension rounded up to a multiple of 8, as tensor cores prefer."),
    ),
    axis="m",
    dtype="dtype",
    gpu_dtypes=("tf32",),
)


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: both factors as random numbers, as arrays, as tensors and in double precision, and
    the product.
    """
    m, k, n = (int(values[name]) for name in "mkn")
    item = ITEM_BYTES[str(values["dtype"])]
    return (m * k + k * n) * (2 * item + 8) + 2 * m * n * item


def padded(side: int) -> int:
    return -(-side // TENSOR_CORE_MULTIPLE) * TENSOR_CORE_MULTIPLE


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Count a multiplication and an addition for each of the m · k · n terms; four times as many for complex
    numbers.
    """
    m, k, n = (padded(int(values[s])) if arm.variant == "padded" else int(values[s]) for s in "mkn")
    item = ITEM_BYTES[arm.dtype]
    return Work(
        flop=(8 if arm.dtype.startswith("complex") else 2) * m * k * n,
        inputs=item * (m * k + k * n),
        outputs=item * m * n,
        dtype=arm.dtype,
    )


def build(b: Build) -> Case:
    require(b)
    sides = [b.integer(name) for name in "mkn"]
    if b.arm.variant == "padded":
        if all(side % TENSOR_CORE_MULTIPLE == 0 for side in sides):
            raise Unavailable("the dimensions are multiples of 8 already, so there is nothing to pad")
        sides = [padded(side) for side in sides]
    dtype = storage(b.arm.dtype)
    left, right = _factors(b, sides, dtype)
    case = precise(b, b.tensors(b.tf.matmul, left, right))
    kernels.report(b, "MatMul", dtype)

    def close() -> None:
        # After the calls, because oneDNN compiles its kernels in the first product, whose time the first call
        # must include: 30 ms on two cores.
        _report_error(b, case, left[:SAMPLED], right)
        case.close()

    return replace(case, close=close)


def _factors(b: Build, sides: list[int], dtype: str) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    kind = b.tf.as_dtype(dtype).as_numpy_dtype

    def random(rows: int, columns: int) -> Any:
        if dtype == "int32":
            return rng.integers(-100, 100, (rows, columns), dtype=np.int32)
        real = rng.standard_normal((rows, columns), dtype=np.float32).astype(kind)
        return real * kind(1 + 1j) if dtype.startswith("complex") else real

    m, k, n = sides
    return random(m, k), random(k, n)


def _report_error(b: Build, case: Case, left: Any, right: Any) -> None:
    """Report the product's largest error against double precision, relative to the largest entry."""
    import numpy as np

    with case.scope():
        got = b.tf.matmul(b.tf.constant(left), b.tf.constant(right)).numpy()
    wide = np.complex128 if np.iscomplexobj(got) else np.float64
    want = left.astype(wide) @ right.astype(wide)
    scale = float(np.abs(want).max()) or 1.0
    error = float(np.abs(got.astype(wide) - want).max()) / scale
    b.fact(
        "relative-error", error, f"{b.arm.dtype}: the largest error is {error:.1e} times the largest entry"
    )


WORKLOAD = Workload(DECLARATION, build, memory, work)
