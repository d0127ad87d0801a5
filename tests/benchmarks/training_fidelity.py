"""The lab's figures for training and input pipelines against a plain loop doing the same work.

    python -m tests.benchmarks.training_fidelity

Both run in this one process, in many short turns, one of them first in every second turn, so that a change
of the machine's pace meets both alike; the ratio is the median over the turns. The plain loop is
what a person would write: a tf.data pipeline, a Keras model's train_step in a tf.function, a clock around a
window of steps. Only the blocks of data that stand for the host's cost are shared, because their length is
calibrated. Exit code 1 where a ratio of medians is off by more than 5 %.
"""

import statistics
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

from tests.conftest import fold
from tuilab.model.arms import Arm
from tuilab.model.events import Event
from tuilab.model.parameters import check_values
from tuilab.model.requests import Measure
from tuilab.model.scenario import Budget, Scenario
from tuilab.worker.context import Context
from tuilab.worker.measure.run import measure
from tuilab.workloads import find

LIMIT = 0.05
TURNS = 21
WINDOW_S = 0.8
VALUES: dict[str, Any] = {"images": 512, "side": 64, "batch": 32, "host_cost": 500, "augment": "brightness"}
FILTERS = 32
BUDGET = Budget(name="quick", warm_s=0.2, warm_limit_s=0.6, precision=0.0, rounds=20, limit_s=1.0)


class Ears:
    """A channel that keeps what the engine says."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def send(self, *events: Event) -> None:
        self.events += events


def lab(tf: Any, workload: str, variant: str) -> float:
    """Median seconds of a call, as the engine measures it."""
    from tuilab.worker.machine import describe

    declaration = find(workload).declaration
    given = VALUES | ({"filters": FILTERS} if workload == "training" else {})
    values = check_values(declaration.parameters, declaration.constraints, given)
    ears = Ears()
    context = Context(ears)  # type: ignore[arg-type]
    context.tf, context.machine = tf, describe(tf)
    arm = Arm("CPU:0", "graph", "resident", "float32" if workload == "training" else "", variant)
    request = Measure(
        id=uuid.uuid4().hex,
        scenario=Scenario(workload, values),
        arms=(arm,),
        budget=BUDGET,
        phases=False,
        placement=False,
        latency=False,
    )
    measure(context, request)
    state = fold(ears.events)
    return statistics.median(state.arms[arm.id].cell().samples)


def plain_dataset(tf: Any, variant: str) -> Any:
    """The pipeline as a person would write it."""
    import numpy as np

    from tuilab.workloads._burn import burn

    cost = burn(tf, VALUES["host_cost"])
    assert cost is not None
    rng = np.random.default_rng(1)
    side, count = VALUES["side"], VALUES["images"]
    images = rng.integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, count, np.int32)

    def prepare(image: Any, label: Any) -> Any:
        data = tf.io.decode_compressed(cost.blocks, "ZLIB")
        image = tf.cast(image, tf.float32) / 255.0
        image += tf.cast(tf.reduce_sum(tf.strings.length(data)) - cost.inflated, tf.float32)
        return image + tf.random.uniform((1, 1, 1), -0.2, 0.2), label

    data = tf.data.Dataset.from_tensor_slices((images, labels)).repeat()
    if variant == "serial":
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        return data.map(prepare).batch(VALUES["batch"], drop_remainder=True).with_options(options)
    data = data.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    return data.batch(VALUES["batch"], drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def plain_step(tf: Any) -> Callable[..., Any]:
    """The network and its step as a person would write them."""
    keras, side = tf.keras, VALUES["side"]
    model = keras.Sequential(
        [
            keras.Input((side, side, 3)),
            keras.layers.Conv2D(FILTERS, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.train_on_batch(tf.zeros((1, side, side, 3)), tf.zeros((1,), tf.int32))
    return tf.function(lambda images, labels: model.train_step((images, labels)))  # type: ignore[no-any-return]


def plain(tf: Any, workload: str, variant: str) -> Callable[[], float]:
    """A plain loop, ready to run: each call gives the mean seconds of a step over a window."""
    dataset = plain_dataset(tf, "serial" if variant == "resident" else variant)
    if workload == "training":
        step = plain_step(tf)
    else:
        step = tf.function(lambda images, labels: (tf.identity(images), tf.identity(labels)))
    ready = next(iter(dataset))

    def window() -> float:
        iterator = iter(dataset)
        draw = (lambda: ready) if variant == "resident" else (lambda: next(iterator))
        for _ in range(5):
            step(*draw())
        begun, calls = time.perf_counter(), 0
        while time.perf_counter() - begun < WINDOW_S:
            step(*draw())
            calls += 1
        return (time.perf_counter() - begun) / calls

    return window


def compare(tf: Any, workload: str, variant: str) -> tuple[float, float, float]:
    """Median seconds by the lab and by the plain loop, and the median of their ratios turn by turn."""
    window, pairs = plain(tf, workload, variant), []
    for turn in range(TURNS):
        if turn % 2:
            theirs, ours = window(), lab(tf, workload, variant)
        else:
            ours, theirs = lab(tf, workload, variant), window()
        pairs.append((ours, theirs))
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return ours, theirs, statistics.median(a / b for a, b in pairs)


def main() -> int:
    """Print lab, plain and their ratio for each case; 1 where one is off."""
    import tensorflow as tf

    worst = 0.0
    print(f"{'workload':16}{'variant':14}{'lab':>10}{'plain':>10}{'ratio':>8}")
    for workload, variant in (
        ("training", "resident"),
        ("training", "serial"),
        ("training", "prefetched"),
        ("input_pipeline", "serial"),
        ("input_pipeline", "prefetched"),
    ):
        ours, theirs, ratio = compare(tf, workload, variant)
        worst = max(worst, abs(ratio - 1))
        print(f"{workload:16}{variant:14}{ours * 1e3:7.2f} ms{theirs * 1e3:7.2f} ms{ratio:8.3f}", flush=True)
    print(f"worst: {worst:.1%} off; limit {LIMIT:.0%}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
