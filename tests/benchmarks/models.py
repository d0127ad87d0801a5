"""Compares tuilab's figures for model files with hand-written scripts: inference and training of eleven
models.

  python -m tests.benchmarks --only models

Each round times tuilab and the script, as in `fidelity`. The script loads the file with Keras, or the
graph with TensorFlow, and calls it as a user would.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.benchmarks.budget import Row
from tests.benchmarks.fidelity import Found, Scenario, compare, in_mode, rows_of
from tests.worker.twenty import MODELS
from tuilab.model.arms import Mode
from tuilab.model.scenario import AS_IT_IS
from tuilab.worker.models import open_model
from tuilab.worker.models.keras_file import INFERENCE, TRAINING

_SIZES: dict[str, dict[str, int]] = {
    "dense": {"batch": 256},
    "autoencoder": {"batch": 256},
    "LSTM": {"batch": 16, "length": 40},
    "GRU": {"batch": 16, "length": 20},
    "transformer": {"batch": 8, "length": 64},
    "U-Net": {"batch": 2, "height": 64, "width": 64},
    "embedding": {"batch": 64, "length": 64},
    "two inputs, three outputs": {"batch": 128},
    "two heads": {"batch": 128},
    "MobileNetV3": {"batch": 4},
    "ResNet50": {"batch": 2},
}
CASES: tuple[tuple[str, str, Mode, dict[str, int]], ...] = (
    *(
        (name, variant, "graph", values)
        for name, values in _SIZES.items()
        for variant in (INFERENCE, TRAINING)
    ),
    ("autoencoder", INFERENCE, "eager", {"batch": 64}),
    ("embedding", INFERENCE, "xla", {"batch": 64, "length": 64}),
    ("exported", "", "graph", {"batch": 256}),
    ("loop", "", "graph", {"batch": 64}),
)

LOSSES = {
    "U-Net": "binary_crossentropy",
    **dict.fromkeys(("embedding", "MobileNetV3", "ResNet50"), "categorical_crossentropy"),
}
"""The loss that a user would choose for the model's last layer, for files without a loss. The default is
the mean squared error.
"""


def script(
    file: str, variant: str, mode: Mode, arrays: list[Any], loss: str
) -> Callable[[Any, dict[str, Any]], Callable[[], object]]:
    def written(tf: Any, v: dict[str, Any]) -> Callable[[], object]:
        given = [tf.constant(each) for each in arrays]
        if not variant:
            held = tf.saved_model.load(file)
            signature = held.signatures["serving_default"]
            names = sorted(signature.structured_input_signature[1])
            run = in_mode(
                tf, lambda *x: held.signatures["serving_default"](**dict(zip(names, x, strict=True))), mode
            )
            return lambda: run(*given)
        model = tf.keras.models.load_model(file)
        count = len(model.inputs)
        x = given[0] if count == 1 else given[:count]
        if variant == INFERENCE:
            predict = in_mode(tf, lambda x: model(x, training=False), mode)
            return lambda: predict(x)
        if getattr(model, "optimizer", None) is None:
            model.compile("adam", loss, auto_scale_loss=False)
        y = (
            given[count]
            if len(given) == count + 1
            else tf.keras.tree.pack_sequence_as(model.output, given[count:])
        )
        model.optimizer.build(model.trainable_variables)
        model.train_step((x, y))
        step = in_mode(tf, lambda x, y: model.train_step((x, y)), mode)
        return lambda: step(x, y)

    return written


def found(tf: Any, folder: Path) -> Iterator[Found]:
    for number, (name, variant, mode, values) in enumerate(CASES):
        tf.keras.backend.clear_session()
        (folder / str(number)).mkdir()
        file = str(MODELS[name].save(tf, folder / str(number)))
        workload = open_model(file, AS_IT_IS)
        arrays: list[Any] = []

        def kept(b: Any, build: Any = workload.build, into: list[Any] = arrays) -> Any:
            case = build(b)
            into[:] = [each.numpy() for each in case.arguments]
            return case

        title = f"{name}, {variant or 'signature'}, {mode}"
        loss = LOSSES.get(name, "mse")
        scenario = Scenario(title, "", variant, mode, script(file, variant, mode, arrays, loss), dict(values))
        workload = replace(workload, build=kept)
        yield compare(tf, scenario, workload)


def measure() -> list[Row]:
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        return rows_of(found(tf, Path(folder)))
