"""Measures the training of a small convolutional network: the step, and the wait for input."""

from collections.abc import Callable, Mapping
from typing import Any

from tuilab.model.arms import Arm
from tuilab.model.parameters import Choice, LogInteger, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Workload
from tuilab.workloads.parts import feed, images
from tuilab.workloads.parts.device import observed, resident
from tuilab.workloads.parts.precision import precise, require

POLICIES = {
    "float32": "float32",
    "tf32": "float32",
    "mixed_float16": "mixed_float16",
    "mixed_bfloat16": "mixed_bfloat16",
}
RESIDENT = "resident"
PROCESS_BYTES = 200_000_000
"""Bytes of memory that do not depend on the parameters: Keras itself, and scratch space of kernels."""

DECLARATION = Declaration(
    name="training",
    title="Training a small network",
    summary="One step of a network with one convolution, fed by an input pipeline.",
    unit="step",
    parameters=(
        *feed.PARAMETERS,
        LogInteger(
            name="filters",
            help="Filters of the convolution, 3 × 3 each; more filters mean more work per image.",
            default=32,
            low=4,
            high=256,
        ),
        Choice(
            name="dtype",
            label="precision",
            help="Keras policy; tf32 is how recent NVIDIA GPUs multiply float32 by default.",
            default="float32",
            options=tuple(POLICIES),
        ),
    ),
    inputs=("resident",),
    variants=(
        Variant(RESIDENT, "Only the step, with one batch that is already on the device."),
        *feed.VARIANTS,
    ),
    axis="host_cost",
    dtype="dtype",
    gpu_dtypes=("tf32",),
)


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: those of the pipeline, plus the first layer's activations and gradients for a batch.

    On a CPU, XLA uses eight times the memory of the activations; the other modes use less than half as much
    as XLA.
    """
    side, batch, filters = (int(values[name]) for name in ("side", "batch", "filters"))
    activations = 4 * batch * side * side * filters
    dense = 4 * (side // 2) ** 2 * filters * images.LABELS
    return feed.memory(values) + 8 * activations + 5 * dense + PROCESS_BYTES


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Return the work of the network's step (`images.step`) and of its input. Adam reads and writes three
    numbers per weight.
    """
    batch, side, filters = (int(values[name]) for name in ("batch", "side", "filters"))
    dtype = arm.dtype.removeprefix("mixed_")
    step = images.step(batch, side, filters, dtype=dtype, passes=6)
    return step if arm.variant == RESIDENT else feed.fed(step, values, arm)


def build(b: Build) -> Case:
    require(b)
    with b.tf.device(b.device):
        model = network(b.tf, b.integer("side"), b.integer("filters"), b.arm.dtype)

    def bare(images: Any, labels: Any) -> Any:
        return model.train_step((images, labels))

    if b.arm.variant == RESIDENT:
        return _resident(b, b.compiled(bare))
    fed = feed.open_feed(b)
    step = b.compiled(lambda images, labels: bare(fed.prepare(images), labels))
    case = fed.case(b, step, device=observed(b.tf, b.device), function=step, arguments=fed.next())
    return precise(b, case)


def _resident(b: Build, step: Callable[..., Any]) -> Case:
    batch = tuple(resident(b.tf, part, b.device) for part in images.random_batch(b))
    return precise(
        b,
        Case(
            call=lambda: step(*batch),
            scope=lambda: b.tf.device(b.device),
            device=observed(b.tf, b.device),
            function=step,
            arguments=batch,
        ),
    )


def network(tf: Any, side: int, filters: int, dtype: str) -> Any:
    """Return a compiled Keras model: convolution, pooling, ten classes; Adam, cross-entropy, accuracy.

    Creates all variables before it returns, because tracing a step must not create any.
    """
    keras, policy = tf.keras, POLICIES[dtype]
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((side, side, images.CHANNELS)),
            layers.Conv2D(filters, 3, activation="relu", dtype=policy),
            layers.MaxPooling2D(2, dtype=policy),
            layers.Flatten(dtype=policy),
            # Softmax and loss stay in float32, as the mixed-precision guide recommends.
            layers.Dense(images.LABELS, dtype=policy),
            layers.Activation("softmax", dtype="float32"),
        ]
    )
    optimizer = keras.optimizers.Adam()
    if dtype == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.train_step((tf.zeros((1, side, side, images.CHANNELS)), tf.zeros((1,), tf.int32)))
    return model


WORKLOAD = Workload(DECLARATION, build, memory, work)
