"""Compares bounds with published timings on real GPUs: `python -m tests.benchmarks.published` prints the
table.

The timings are NVIDIA's own, for TensorFlow on one GPU (github.com/NVIDIA/DeepLearningExamples, the README of
each model, at commit 729963d). The work is counted in a Keras model of the same architecture, as for a user's
model. The launch cost counts as zero, because the host of the published timing is unknown.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tuilab.analysis.bound import GpuCall
from tuilab.model.arms import Mode
from tuilab.model.datasheets import SHEETS
from tuilab.model.quantity import seconds
from tuilab.model.roofline import GpuBound, Work


@dataclass(frozen=True)
class Published:
    """A published timing. took_s: seconds per call. source: the model's README in the repository."""

    name: str
    sheet: str
    mode: Mode
    took_s: float
    work: Callable[[], Work]
    source: str


def bert_large(batch: int, length: int) -> Work:
    """Count the work of a BERT-large encoder: 24 layers, width 1,024, 16 heads (Devlin et al. 2019)."""
    import keras
    from keras import layers

    keras.config.set_floatx("float32")
    tokens = keras.Input((length,), dtype="int32")
    x = layers.Embedding(30_522, 1_024)(tokens)
    for _ in range(24):
        attended = layers.MultiHeadAttention(16, 64)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, attended]))
        wide = layers.Dense(4_096, activation="gelu")(x)
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dense(1_024)(wide)]))
    return counted(keras.Model(tokens, layers.Dense(2)(x)), (batch, length), "int32")


def application(name: str, batch: int, side: int = 224, *, train: bool = False) -> Work:
    import keras

    model = getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3))
    return counted(model, (batch, side, side, 3), "float32", train=train)


def counted(model: Any, shape: tuple[int, ...], dtype: str, *, train: bool = False) -> Work:
    import tensorflow as tf

    from tuilab.worker.measure.work import of_function, work_of

    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
    if train:
        optimizer.build(model.trainable_variables)

    def call(x: Any) -> Any:
        if not train:
            return model(x, training=False)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True)))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    traced = tf.function(call).get_concrete_function(tf.TensorSpec(shape, dtype))
    return work_of(of_function(traced, [tf.TensorSpec(shape, dtype)]))


def full_precision(work: Work) -> Work:
    import msgspec

    flop = sum(work.by_dtype.values()) or work.flop
    rows = tuple(msgspec.structs.replace(row, dtype="float32") for row in work.each)
    return msgspec.structs.replace(work, dtype="float32", flop=flop, by_dtype={}, each=rows)


RESNET, EFFICIENT, BERT = (
    "TensorFlow/Classification/ConvNets/resnet50v1.5",
    "TensorFlow2/Classification/ConvNets/efficientnet_v1",
    "TensorFlow2/LanguageModeling/BERT",
)
PUBLISHED = (
    Published("ResNet50, batch 1", "a100", "graph", 5.26e-3, lambda: application("ResNet50", 1), RESNET),
    Published("ResNet50, batch 32", "a100", "graph", 19.99e-3, lambda: application("ResNet50", 32), RESNET),
    Published("ResNet50, batch 256", "a100", "graph", 133.9e-3, lambda: application("ResNet50", 256), RESNET),
    Published("ResNet50, batch 256", "a100", "xla", 100.45e-3, lambda: application("ResNet50", 256), RESNET),
    Published(
        "ResNet50 training, batch 256", "a100", "xla", 256 / 909,
        lambda: application("ResNet50", 256, train=True), RESNET,
    ),
    Published(
        "ResNet50, batch 128, float32", "t4", "graph", 297.82e-3,
        lambda: full_precision(application("ResNet50", 128)), RESNET,
    ),
    Published(
        "EfficientNetB0, batch 32", "a100", "graph", 14.65e-3, lambda: application("EfficientNetB0", 32), EFFICIENT
    ),
    Published(
        "EfficientNetB0, batch 512", "a100", "graph", 97.46e-3, lambda: application("EfficientNetB0", 512), EFFICIENT
    ),
    Published(
        "EfficientNetB4, batch 64", "a100", "graph", 89.54e-3, lambda: application("EfficientNetB4", 64, 380), EFFICIENT
    ),
    Published("BERT-large, 128 tokens, batch 8", "a100", "graph", 13.51e-3, lambda: bert_large(8, 128), BERT),
    Published("BERT-large, 384 tokens, batch 8", "a100", "graph", 33.1e-3, lambda: bert_large(8, 384), BERT),
    Published("BERT-large, 384 tokens, batch 1", "a100", "graph", 8.81e-3, lambda: bert_large(1, 384), BERT),
)  # fmt: skip


def bound_of(row: Published) -> GpuBound:
    work = row.work()
    kernels = round(work.kernels or 1) if row.mode != "xla" else 1
    return GpuCall(work, None, row.mode, kernels=kernels).on(SHEETS[row.sheet])


def main() -> None:
    print("| workload | GPU | mode | bound | published | published / bound | limited by | source |")
    print("|---|---|---|---|---|---|---|---|")
    for row in PUBLISHED:
        bound = bound_of(row)
        factor = f"{row.took_s / bound.seconds:.1f}"
        print(
            f"| {row.name} | {bound.name} | {row.mode} | {seconds(bound.seconds)} | {seconds(row.took_s)} "
            f"| {factor} | {bound.limited_by} | {row.source} |"
        )


if __name__ == "__main__":
    main()
