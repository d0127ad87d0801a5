"""Measures the cost of watching for the watched program.

python -m tests.benchmarks.watching [pairs] [--only NAME]... [--write]

The programs are a Keras `fit` and three custom loops. Each runs in a fresh process, alone and under
`tuilab watch --plain`, in random order. Each program reports the total time of its steps and the time from
its start to the end of the first step, by its own clock, and its peak memory. The time ratios are medians
over the pairs of runs, with 95% intervals. The memory figures are the median and the maximum of the
differences.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks import still, written
from tests.benchmarks.budget import Row
from tests.benchmarks.disturbance import ratio_of

PAIRS = 20
SLOWER, LATER, MEMORY = 1.03, 1.02, 60.0
HOW = "a program by itself and under `tuilab watch --plain`, in turn, each in a fresh process"
BEGIN = """\
import json, os, resource, time

def begun():
    ticks = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")

import tensorflow as tf
tf.random.set_seed(1)
"""
END = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
steps, cpu = time.perf_counter() - at, time.process_time() - cpu
print(json.dumps({"first": first, "steps": steps, "cpu": cpu, "peak": peak}))
"""
LOOP = """
for number in range({steps}):
    {step}
    if not number:
        first, at, cpu = begun(), time.perf_counter(), time.process_time()
"""
LAYERS = """
w = [tf.Variable(tf.random.normal((256, 256)) * 0.05) for _ in range(6)]

def train(x, y):
    with tf.GradientTape() as tape:
        h = x
        for each in w:
            h = tf.nn.relu(h @ each)
        loss = tf.reduce_mean((h - y) ** 2)
    for each, gradient in zip(w, tape.gradient(loss, w)):
        each.assign_sub(1e-3 * gradient)
    return loss

x, y = tf.random.normal((64, 256)), tf.random.normal((64, 256))
"""
PROGRAMS = {
    "fit": """
import keras
import numpy as np

class Clock(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        global first, at, cpu
        if first is None:
            first, at, cpu = begun(), time.perf_counter(), time.process_time()

first = None
x = np.random.rand(2560, 28, 28, 1).astype("float32")
y = np.random.randint(0, 10, 2560)
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2560).batch(64).prefetch(tf.data.AUTOTUNE)
layers = [keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.Conv2D(32, 3, activation="relu")]
layers += [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)]
model = keras.Sequential([keras.Input((28, 28, 1)), *layers])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data, epochs=20, verbose=0, callbacks=[Clock()])
""",
    "function": LAYERS + "step = tf.function(train)\n" + LOOP.format(steps=6000, step="step(x, y)"),
    "dataset": LAYERS
    + """
step = tf.function(train)
data = tf.data.Dataset.from_tensors((x, y)).repeat()
data = iter(data.map(lambda x, y: (x * 0.5, y), num_parallel_calls=tf.data.AUTOTUNE).prefetch(2))
"""
    + LOOP.format(steps=5000, step="step(*next(data))"),
    "eager": LAYERS + LOOP.format(steps=2000, step="train(x, y)"),
}
Figures = dict[str, float]


def run(folder: Path, name: str, *, watched: bool) -> Figures:
    file = folder / f"{name}.py"
    file.write_text(BEGIN + PROGRAMS[name] + END)
    command = [sys.executable, str(file)]
    if watched:
        page = str(folder / "page.txt")
        command = [sys.executable, "-m", "tuilab", "watch", "--plain", "-o", page, "--", *command]
    environment = {**os.environ, "TUILAB_DATA": str(folder / "data"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def pairs(name: str, count: int) -> list[tuple[Figures, Figures]]:
    rng, out = random.Random(name), []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            found = {way: run(Path(folder), name, watched=way) for way in rng.sample([False, True], 2)}
            out.append((found[False], found[True]))
            alone, watched = (found[way] for way in (False, True))
            text = ", ".join(f"{key} {alone[key]:.2f} → {watched[key]:.2f}" for key in alone)
            print(f"{name}, pair {number + 1} of {count}: {text}", file=sys.stderr, flush=True)
    return out


def rows_of(name: str, found: list[tuple[Figures, Figures]]) -> list[Row]:
    """Return a program's rows: its time, first step and memory, each with its limit.

    With only one pair of runs, the rows have no verdict. The rows also show the processor time, which other
    programs affect less.
    """
    rows = []
    for key, words, limit in (
        ("steps", "own time", SLOWER),
        ("cpu", "processors' time", None),
        ("first", "first step", LATER),
    ):
        ratio, low, high = ratio_of([math.log(watched[key] / alone[key]) for alone, watched in found])
        known = limit is not None and not math.isnan(low) and not low <= limit < high
        met = ratio <= limit if known and limit is not None else None
        shown, most = f"{ratio:.3f} [{low:.3f} {high:.3f}]×", f"≤ {limit}×" if limit is not None else "–"
        rows.append(Row(f"watching {name}, {words}", most, shown, met, HOW, ratio, limit))
    more = [watched["peak"] - alone["peak"] for alone, watched in found]
    middle, most = statistics.median(more), max(more)
    shown = f"{middle:.0f}, at most {most:.0f} MB more"
    rows.append(
        Row(
            f"watching {name}, memory",
            f"≤ {MEMORY:.0f} MB more",
            shown,
            middle <= MEMORY,
            HOW,
            middle,
            MEMORY,
        )
    )
    return rows


def measure(count: int = 0, names: list[str] | None = None) -> list[Row]:
    count = count or int(os.environ.get("TUILAB_BENCH_PAIRS", PAIRS))
    return [row for name in names or PROGRAMS for row in rows_of(name, pairs(name, count))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.watching", description=__doc__)
    parser.add_argument("pairs", nargs="?", type=int, default=PAIRS)
    parser.add_argument("--only", action="append", choices=list(PROGRAMS))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    watch = still.Watch()
    rows = ["| what | limit | measured | met |", "|---|---|---|---|"]
    words = {True: "yes", False: "**no**", None: "not judged"}
    for row in measure(given.pairs, given.only):
        rows.append(f"| {row.budget} | {row.limit} | {row.measured} | {words[row.met]} |")
    shown = "\n".join(rows) + f"\n\n{given.pairs} pairs each. {watch.said()}\n"
    written.show(shown, "What watching costs", __file__, __doc__)


if __name__ == "__main__":
    main()
