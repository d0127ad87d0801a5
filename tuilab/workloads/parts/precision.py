"""Separates float32 from TF32, in which TensorFlow lets recent NVIDIA GPUs multiply float32 by default."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tuilab.model.parameters import Choice
from tuilab.workloads.base import Build, Case, Unavailable

ITEM_BYTES = {
    "float32": 4,
    "tf32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float64": 8,
    "int32": 4,
    "complex64": 8,
    "complex128": 16,
}
FULL = "Precision. float32 products on a GPU do not use TF32."
TF32_FROM = (8, 0)
"""The first compute capability with TF32: Ampere."""


def precision(*options: str, help: str = FULL) -> Choice:
    return Choice(name="dtype", help=help, default="float32", options=options)


def storage(dtype: str) -> str:
    """Return the dtype in memory: float32 for TF32, which is only a way of multiplying float32 values."""
    return "float32" if dtype == "tf32" else dtype


def require(b: Build) -> None:
    """Raise Unavailable if the arm requires TF32 and its device does not support it."""
    if b.arm.dtype != "tf32":
        return
    if not b.arm.device.startswith("GPU"):
        raise Unavailable("TF32 exists only on NVIDIA GPUs, not on a CPU")
    gpus = b.tf.config.list_physical_devices("GPU")
    index = min(int(b.arm.device.partition(":")[2]), len(gpus) - 1)
    capability = b.tf.config.experimental.get_device_details(gpus[index]).get("compute_capability")
    if capability is not None and tuple(capability) < TF32_FROM:
        raise Unavailable(f"TF32 needs compute capability 8.0; this GPU has {'.'.join(map(str, capability))}")


def precise(b: Build, case: Case) -> Case:
    """Return the case with TF32 on for a `tf32` arm and off for any other arm. The setting is restored after
    each block.
    """
    case.scope = _scoped(b, case.scope)
    return case


def _scoped(
    b: Build, inner: Callable[[], AbstractContextManager[Any]]
) -> Callable[[], AbstractContextManager[Any]]:
    settings, wanted = b.tf.config.experimental, b.arm.dtype == "tf32"

    @contextmanager
    def scope() -> Iterator[Any]:
        before = settings.tensor_float_32_execution_enabled()
        settings.enable_tensor_float_32_execution(wanted)
        try:
            with inner() as entered:
                yield entered
        finally:
            settings.enable_tensor_float_32_execution(before)

    return scope
