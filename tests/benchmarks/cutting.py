"""Compares two shares of a layer that contains a loop: the share that tuilab reports, and the time that
removing the layer saves.

python -m tests.benchmarks --only cutting

tuilab measures each model with its layers. The benchmark itself alternates calls of the model with calls of a
copy without the layer, in which a cheap op keeps the output shape. The budget is met if the two shares differ
by at most 10 points. Run it on an idle machine, because other programs disturb the saved time more than
tuilab's share.
"""

import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.budget import Row
from tests.benchmarks.fidelity import BLOCK_S
from tuilab.analysis.summary import summarise
from tuilab.model.arms import Arm
from tuilab.model.requests import Measure
from tuilab.model.scenario import BUDGET, Scenario
from tuilab.worker.models.keras_file import INFERENCE

POINTS, ROUNDS, WIDTH, STEPS, BATCH = 0.10, 25, 32, 24, 16
Make = Callable[[Any, Any, bool], Any]


def one(kind: str, **options: Any) -> Make:
    """Return a function that builds a model: a layer that contains a loop, between two dense layers."""

    def make(keras: Any, x: Any, cut: bool) -> Any:
        layers = keras.layers
        x = layers.Dense(WIDTH, "relu", name="before")(x)
        x = x[:, -1] if cut else getattr(layers, kind)(WIDTH, name="measured", **options)(x)
        return layers.Dense(64, name="after")(x)

    return make


def bidirectional(kind: str) -> Make:
    def make(keras: Any, x: Any, cut: bool) -> Any:
        layers = keras.layers
        x = layers.Dense(WIDTH, "relu", name="before")(x)
        inner = getattr(layers, kind)(WIDTH)
        x = x[:, -1] if cut else layers.Bidirectional(inner, merge_mode="sum", name="measured")(x)
        return layers.Dense(64, name="after")(x)

    return make


def stacked(keras: Any, x: Any, cut: bool) -> Any:
    x = keras.layers.GRU(WIDTH, return_sequences=True, name="before")(x)
    x = x if cut else keras.layers.LSTM(WIDTH, return_sequences=True, name="measured")(x)
    return keras.layers.GRU(WIDTH, name="after")(x)


def attended(keras: Any, x: Any, cut: bool) -> Any:
    layers = keras.layers
    x = x if cut else layers.LSTM(WIDTH, return_sequences=True, name="measured")(x)
    x = layers.MultiHeadAttention(4, 16, name="attention")(x, x)
    return layers.Dense(8, name="after")(layers.GlobalAveragePooling1D()(x))


def masked(keras: Any, x: Any, cut: bool) -> Any:
    x = keras.layers.Masking(0.0, name="before")(x)
    x = x[:, -1] if cut else keras.layers.LSTM(WIDTH, name="measured")(x)
    return keras.layers.Dense(64, name="after")(x)


def of_cells(keras: Any, x: Any, cut: bool) -> Any:
    layers = keras.layers
    x = layers.Dense(WIDTH, "relu", name="before")(x)
    cells = [layers.LSTMCell(WIDTH), layers.GRUCell(WIDTH)]
    x = x[:, -1] if cut else layers.RNN(cells, name="measured")(x)
    return layers.Dense(64, name="after")(x)


def convolved(keras: Any, x: Any, cut: bool) -> Any:
    layers = keras.layers
    x = layers.TimeDistributed(layers.Conv2D(8, 3, padding="same"), name="before")(x)
    x = x[:, -1] if cut else layers.ConvLSTM2D(8, 3, padding="same", name="measured")(x)
    return layers.Conv2D(4, 3, name="after")(x)


def decoded(keras: Any, x: Any, cut: bool) -> Any:
    layers = keras.layers
    state = layers.GRU(WIDTH, name="before")(x)
    x = layers.RepeatVector(STEPS)(state)
    x = x if cut else layers.GRU(WIDTH, return_sequences=True, name="measured")(x)
    return layers.TimeDistributed(layers.Dense(16), name="after")(x)


SERIES, FRAMES = (STEPS, WIDTH), (8, 16, 16, 3)
MODELS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "LSTM": (one("LSTM"), SERIES),
    "LSTM, wide": (one("LSTM", use_bias=False), (64, 256)),
    "GRU": (one("GRU"), SERIES),
    "SimpleRNN": (one("SimpleRNN"), SERIES),
    "bidirectional LSTM": (bidirectional("LSTM"), SERIES),
    "bidirectional GRU": (bidirectional("GRU"), SERIES),
    "stacked": (stacked, SERIES),
    "attention over time": (attended, SERIES),
    "masked LSTM": (masked, SERIES),
    "cells": (of_cells, SERIES),
    "ConvLSTM": (convolved, FRAMES),
    "decoder": (decoded, SERIES),
}


def saved_share(tf: Any, make: Make, shape: tuple[int, ...]) -> float:
    """Return the share of a call that removing the layer saves: the median over rounds that time both
    models.
    """
    x = tf.random.normal((BATCH, *shape))
    calls = []
    for cut in (False, True):
        given = tf.keras.Input(shape)
        model = tf.keras.Model(given, make(tf.keras, given, cut))
        run = tf.function(lambda x, model=model: model(x, training=False))
        for _ in range(5):
            run(x)
        calls.append(lambda run=run: run(x))
    begun = time.perf_counter()
    calls[0]()
    many = max(1, round(BLOCK_S / (time.perf_counter() - begun)))

    def timed(call: Callable[[], object]) -> float:
        begun = time.perf_counter()
        for _ in range(many):
            call()
        return time.perf_counter() - begun

    rounds = [(timed(calls[0]), timed(calls[1]), timed(calls[1]), timed(calls[0])) for _ in range(ROUNDS)]
    return statistics.median(1 - (b + c) / (a + d) for a, b, c, d in rounds)


def reported_share(tf: Any, worker: Any, folder: Path, make: Make, shape: tuple[int, ...]) -> float:
    """Return the share that tuilab reports for the layer in the model's file."""
    from tests.conftest import fold

    given = tf.keras.Input(shape)
    file = folder / "model.keras"
    tf.keras.Model(given, make(tf.keras, given, False)).save(file)
    arm = Arm("CPU:0", "graph", "resident", "float32", INFERENCE)
    request = Measure(
        id=uuid.uuid4().hex, scenario=Scenario("model", {"batch": BATCH}, str(file)), arms=(arm,),
        budget=BUDGET["quick"], latency=False, phases=True,
    )  # fmt: skip
    result = summarise(fold(worker.measure(request)))
    layers = result.model.layers if result.model else ()
    return sum(layer.share for layer in layers if layer.name.split("/")[0] == "measured")


def measure() -> list[Row]:
    import tensorflow as tf

    from tests.conftest import Worker

    worker, rows = Worker(cpus=1), []
    for name, (make, shape) in MODELS.items():
        tf.keras.backend.clear_session()
        with TemporaryDirectory() as folder:
            reported = reported_share(tf, worker, Path(folder), make, shape)
        saved = saved_share(tf, make, shape)
        print(f"{name}: {reported:.0%} reported, {saved:.0%} saved by cutting", file=sys.stderr, flush=True)
        rows.append(
            Row(
                f"share of a layer, {name}",
                f"±{POINTS:.0%}",
                f"{reported:.0%} reported, {saved:.0%} saved",
                abs(reported - saved) <= POINTS,
                "the report's share of the layer, and the time that removing it saves",
                reported - saved,
                POINTS,
            )
        )
    worker.end()
    return rows
