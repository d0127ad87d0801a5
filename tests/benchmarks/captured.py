"""Compares a step in the process that captured it with the same step opened by tuilab in another process.

python -m tests.benchmarks --only captured

The program defines a step, captures it, and continues to call it. This process opens the captured folder
with tuilab. In each round, both processes time two blocks of equally many calls, in random order. The figure
is the median of the rounds' ratios.
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.budget import Row
from tuilab.analysis.statistics import MIN_SAMPLES, estimate
from tuilab.model.arms import Arm
from tuilab.model.parameters import check_values
from tuilab.model.scenario import Opening
from tuilab.worker.build import ArmBuild
from tuilab.worker.context import Context
from tuilab.worker.measure.bench import TimedArm
from tuilab.worker.measure.stopwatch import LEAD_IN_FROM, Stopwatch
from tuilab.worker.measure.warmup import warm_up
from tuilab.worker.models import open_model

LIMIT = 0.05
BLOCK_S, WHOLE_S, PRECISE, LEAST_ROUNDS = 0.05, 45.0, 0.03, 15

PROGRAM = """
import gc, json, sys, time
import numpy as np
import tensorflow as tf
import tuilab

keras, folder, which = tf.keras, sys.argv[1], sys.argv[2]
layers = keras.layers
keras.utils.set_random_seed(1)
if which == "dense":
    net = keras.Sequential([keras.Input((256,)), layers.Dense(512, "relu"), layers.Dense(10)])
    x, y = np.random.rand(256, 256).astype("float32"), np.arange(256) % 10
elif which == "convolution":
    net = keras.Sequential([keras.Input((32, 32, 3)), layers.Conv2D(16, 3, activation="relu"),
                            layers.Conv2D(32, 3, 2, activation="relu"), layers.Flatten(), layers.Dense(10)])
    x, y = np.random.rand(64, 32, 32, 3).astype("float32"), np.arange(64) % 10
else:
    net = keras.Sequential([keras.Input((20, 32)), layers.LSTM(64), layers.Dense(10)])
    x, y = np.random.rand(32, 20, 32).astype("float32"), np.arange(32) % 10
optimizer = keras.optimizers.Adam()
optimizer.build(net.trainable_variables)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

@tf.function(reduce_retracing=True)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, net(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss

x, y = tf.constant(x), tf.constant(y)
step(x, y)
tuilab.capture(step, x, y, folder=folder + "/step")
np.savez(folder + "/data.npz", x=x, y=y)
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    calls = int(line)
    if calls >= LEAD_IN_FROM:
        step(x, y)
    gc.disable()
    begun = time.perf_counter()
    for _ in range(calls):
        kept = step(x, y)
    tf.test.experimental.sync_devices()
    took = time.perf_counter() - begun
    gc.enable()
    print(json.dumps(took / calls), flush=True)
""".replace("LEAD_IN_FROM", str(LEAD_IN_FROM))


@dataclass
class Program:
    process: "subprocess.Popen[str]"

    @classmethod
    def start(cls, folder: Path, which: str) -> "Program":
        (folder / "program.py").write_text(PROGRAM)
        command = [sys.executable, str(folder / "program.py"), str(folder), which]
        found = cls(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        found._answer()
        return found

    def time(self, calls: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)


class _Silent:
    def send(self, *events: object) -> None: ...


def compare(tf: Any, folder: Path, which: str) -> Row:
    program = Program.start(folder, which)
    workload = open_model(str(folder / "step"), Opening(data=str(folder / "data.npz")))
    declaration, context = workload.declaration, Context(_Silent())  # type: ignore[arg-type]
    context.tf = tf
    values = check_values(declaration.parameters, declaration.constraints, {})
    arm = Arm("CPU:0", "graph", dtype="")
    case = workload.build(ArmBuild(context, "run", arm, values))
    timed, stopwatch = TimedArm(arm, 0, case), Stopwatch(tf.test.experimental.sync_devices, block_s=BLOCK_S)
    with case.scope():
        case.call()
        timed.call_s = stopwatch.time(case.call)
    warm_up(timed, stopwatch, busy_s=0.5, limit_s=3.0, check=lambda: None)
    calls, order, begun = timed.calls, random.Random(1), time.perf_counter()
    program.time(calls)
    ratios, ours, theirs = list[float](), list[float](), list[float]()
    while not _enough(ratios, time.perf_counter() - begun):
        here, there = [], []
        for now in (True, False, False, True) if order.random() < 0.5 else (False, True, True, False):
            if now:
                here.append(stopwatch.visit(case, calls, latency=False)[0] / calls)
            else:
                there.append(program.time(calls))
        ours += here
        theirs += there
        ratios.append(sum(here) / sum(there))
    program.end()
    found = estimate(ratios)
    assert found is not None and found.interval is not None
    low, high = found.interval
    met = None if (high - low) / 2 > LIMIT else not (low > 1 + LIMIT or high < 1 / (1 + LIMIT))
    return Row(
        f"a captured step of {which}, batch {values['batch']}",
        f"1 ± {LIMIT}",
        f"{found.median:.3f} [{low:.3f} {high:.3f}], {statistics.median(ours) * 1e3:.3g} ms a call, "
        f"{len(ratios)} rounds",
        met,
        "the lab's figure of the folder over that of the process which captured it, rounds shared",
        found.median,
        1 + LIMIT,
        {"lab_s": statistics.median(ours), "program_s": statistics.median(theirs), "interval": [low, high]},
    )


def _enough(ratios: list[float], elapsed_s: float) -> bool:
    if elapsed_s > WHOLE_S and len(ratios) >= MIN_SAMPLES:
        return True
    found = estimate(ratios) if len(ratios) >= LEAST_ROUNDS else None
    return found is not None and (found.relative_half_width or 1.0) < PRECISE


def found(tf: Any) -> Iterator[Row]:
    for which in ("dense", "convolution", "LSTM"):
        with tempfile.TemporaryDirectory() as folder:
            yield compare(tf, Path(folder), which)


def measure() -> list[Row]:
    import tensorflow as tf

    return list(found(tf))
