"""Data-parallel training: one batch on one device, and the same batch split over several."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tuilab.model.arms import Arm, family
from tuilab.model.parameters import Integer, LogInteger, MultipleOf, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Unavailable, Workload
from tuilab.workloads.parts import images
from tuilab.workloads.parts.device import observed, resident, short

SINGLE, MIRRORED = "single", "mirrored"
PROCESS_BYTES = 200_000_000
"""Bytes of memory that do not depend on the parameters: Keras itself, and scratch space of kernels."""

DECLARATION = Declaration(
    name="data_parallel",
    title="Data-parallel training",
    summary="One training step of a small network, with its batch on one device or split over several.",
    unit="step",
    parameters=(
        LogInteger(
            name="batch",
            help="Images in one step, over all replicas together.",
            default=64,
            low=2,
            high=8_192,
        ),
        Integer(
            name="replicas",
            help="Number of devices that share the batch, starting with GPU:0 or CPU:0.",
            default=2,
            low=2,
            high=16,
        ),
        LogInteger(name="side", help="Width and height of an image, in pixels.", default=64, low=8, high=512),
        LogInteger(
            name="filters",
            help="Filters of the convolution, 3 × 3 each; more filters mean more work per byte of gradient.",
            default=32,
            low=4,
            high=256,
        ),
    ),
    constraints=(MultipleOf("batch", "replicas", "each replica takes an equal share"),),
    modes=("eager", "graph"),
    inputs=("resident",),
    variants=(
        Variant(SINGLE, "The whole batch on the arm's device."),
        Variant(
            MIRRORED,
            "tf.distribute.MirroredStrategy: each device computes a share, and the gradients are summed.",
        ),
    ),
    axis="batch",
    replicas="replicas",
)


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: images, the first layer's activations and gradients, a model per replica."""
    batch, side, filters = (int(values[name]) for name in ("batch", "side", "filters"))
    inputs = 4 * batch * side * side * images.CHANNELS
    activations = 4 * batch * side * side * filters
    dense = 4 * (side // 2) ** 2 * filters * images.LABELS
    return 2 * inputs + 4 * activations + 4 * dense * int(values["replicas"]) + PROCESS_BYTES


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Return the work of the network's step (`images.step`). Plain gradient descent reads and writes each
    weight once.
    """
    batch, side, filters = (int(values[name]) for name in ("batch", "side", "filters"))
    # Keras multiplies float32 as TF32 if the GPU supports it.
    return images.step(batch, side, filters, dtype="tf32", passes=2)


def build(b: Build) -> Case:
    return _mirrored(b) if b.arm.variant == MIRRORED else _single(b)


def _single(b: Build) -> Case:
    tf = b.tf
    with tf.device(b.device):
        network = Network(b)
    batch = tuple(resident(tf, part, b.device) for part in images.random_batch(b))
    step = b.compiled(network.step)
    return Case(
        call=lambda: step(*batch),
        scope=lambda: tf.device(b.device),
        device=observed(tf, b.device),
        function=step,
        arguments=batch,
    )


def _mirrored(b: Build) -> Case:
    tf, devices = b.tf, _devices(b)
    strategy = _strategy(tf, tuple(devices))
    with strategy.scope():
        network = Network(b)
    shares = [_shared(tf, strategy, devices, part) for part in images.random_batch(b)]

    def step() -> Any:
        losses = strategy.run(network.step, args=tuple(shares))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    compiled = b.compiled(step)
    where = [short(share.backing_device) for share in strategy.experimental_local_results(shares[0])]
    b.fact("replica-devices", ", ".join(where), f"The batch is split over {', '.join(where)}.")
    return Case(call=compiled, device=where[0], function=compiled)


@cache
def _strategy(tf: Any, devices: tuple[str, ...]) -> Any:
    """Return the distribution strategy for these devices.

    A process creates only one strategy per set of devices, because each strategy numbers its collective ops
    from the start, and equal numbers would clash.
    """
    return tf.distribute.MirroredStrategy([f"/{device}" for device in devices])


def _devices(b: Build) -> list[str]:
    """Return the devices that share the batch. Raises Unavailable if there are too few."""
    kind, count = family(b.arm.device), b.integer("replicas")
    names = [short(d.name) for d in b.tf.config.list_logical_devices(kind)]
    if b.arm.device != f"{kind}:0":
        raise Unavailable(f"this variant always uses {kind}:0 first, so only the {kind}:0 arm measures it")
    if len(names) < count:
        raise Unavailable(f"{count} replicas need as many {kind} devices; TensorFlow lists {len(names)}")
    return names[:count]


def _shared(tf: Any, strategy: Any, devices: list[str], values: Any) -> Any:
    import numpy as np

    parts = np.split(values, len(devices))

    def share(context: Any) -> Any:
        number = context.replica_id_in_sync_group
        return resident(tf, parts[number], f"/{devices[number]}")

    return strategy.experimental_distribute_values_from_function(share)


class Network:
    """A network with a convolution, pooling and ten classes. Its variables exist on every device of the scope
    that creates the network.
    """

    def __init__(self, b: Build) -> None:
        tf, keras = b.tf, b.tf.keras
        self._tf, self._batch, side = tf, b.integer("batch"), b.integer("side")
        # Start from the same weights on every device and in every variant.
        keras.utils.set_random_seed(0)
        self.model = keras.Sequential(
            [
                keras.Input((side, side, images.CHANNELS)),
                keras.layers.Conv2D(b.integer("filters"), 3, activation="relu"),
                keras.layers.MaxPooling2D(2),
                keras.layers.Flatten(),
                keras.layers.Dense(images.LABELS),
            ]
        )
        self._optimizer = keras.optimizers.SGD(0.01)
        self._optimizer.build(self.model.trainable_variables)
        self._losses: Callable[..., Any] = keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction=None
        )

    def step(self, images: Any, labels: Any) -> Any:
        """Run one step of gradient descent on this replica's share of the batch. Return the share's part of
        the mean loss of the whole batch.
        """
        with self._tf.GradientTape() as tape:
            # Divide by the size of the whole batch, so that the gradients of the shares add up to the
            # gradient on a single device.
            loss = self._tf.reduce_sum(self._losses(labels, self.model(images, training=True))) / self._batch
        variables = self.model.trainable_variables
        self._optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss


WORKLOAD = Workload(DECLARATION, build, memory, work)
