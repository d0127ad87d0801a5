"""The parts of a watched step agree with the program's own timers. The measured gain of a fix agrees with
its estimate.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.watch.running import BUSY, PROGRAMS, watched, watched_text
from tuilab.lab.watch import Watched
from tuilab.model.account import PY_FUNCTION
from tuilab.model.program import Code, Page

pytestmark = [pytest.mark.slow, pytest.mark.long]

BEGIN = """
import json, time
import keras
import numpy as np
import tensorflow as tf

clock, spent, steps = time.perf_counter, 0.0, 0
a = tf.random.normal((700, 700)) / 700

@tf.function
def step(x):
    return tf.reduce_sum(a @ a @ a @ a) + tf.reduce_sum(tf.cast(x, tf.float32))

@tf.function
def short(x):
    return tf.reduce_sum(x)

def end():
    print(json.dumps(spent / steps))
"""
OVER_DATA = """
made = step if hidden else short
made(tf.zeros((4,)))
batches = iter(data)
for number in range(120):
    begun = clock()
    x = next(batches)
    took = clock() - begun
    made(x)
    if number >= 20:
        spent, steps = spent + took, steps + 1
end()
"""
AROUND = """
x = tf.zeros((4,))
for number in range(150):
    before(x)
    begun = clock()
    timed(x)
    if number >= 20:
        spent, steps = spent + clock() - begun, steps + 1
end()
"""
FIT = """
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""
WAITING, CPU, PYTHON = "waiting for input", "compute on CPU", "python"
TRUTHS = {
    "a sleep in a map": (
        WAITING,
        "hidden = False\ndef slow(x):\n    time.sleep(0.02)\n    return x\n"
        "data = tf.data.Dataset.from_tensors(np.zeros(4, 'float32')).repeat()\n"
        "data = data.map(lambda x: tf.numpy_function(slow, [x], tf.float32))\n" + OVER_DATA,
    ),
    "a sleep in a map of which a prefetch hides a part": (
        WAITING,
        "hidden = True\ndef slow(x):\n    time.sleep(0.06)\n    return x\n"
        "data = tf.data.Dataset.from_tensors(np.zeros(4, 'float32')).repeat()\n"
        "data = data.map(lambda x: tf.numpy_function(slow, [x], tf.float32)).prefetch(1)\n" + OVER_DATA,
    ),
    "a sleep in a generator": (
        WAITING,
        "hidden = False\ndef each():\n    while True:\n        time.sleep(0.02)\n        yield np.zeros(4, 'float32')\n"
        "spec = tf.TensorSpec((4,), tf.float32)\n"
        "data = tf.data.Dataset.from_generator(each, output_signature=spec)\n" + OVER_DATA,
    ),
    "a sleep in a PyDataset of fit": (
        WAITING,
        FIT + "class Data(keras.utils.PyDataset):\n"
        "    def __len__(self):\n        return 120\n"
        "    def __getitem__(self, index):\n"
        "        global spent, steps\n"
        "        begun = clock()\n        time.sleep(0.02)\n"
        "        spent, steps = spent + clock() - begun, steps + 1\n"
        "        return np.zeros((8, 4), 'float32'), np.zeros((8, 1), 'float32')\n"
        "model.fit(Data(), epochs=1, verbose=0)\nend()\n",
    ),
    "a sleep in the loop": (
        PYTHON,
        "before = step\ntimed = lambda x: time.sleep(0.01)\n" + AROUND,
    ),
    "a sleep in a callback of fit": (
        PYTHON,
        FIT + "class Sleeps(keras.callbacks.Callback):\n"
        "    def on_train_batch_end(self, batch, logs=None):\n"
        "        global spent, steps\n"
        "        begun = clock()\n        time.sleep(0.02)\n"
        "        spent, steps = spent + clock() - begun, steps + 1\n"
        "x, y = np.zeros((960, 4), 'float32'), np.zeros((960, 1), 'float32')\n"
        "model.fit(x, y, batch_size=8, epochs=1, verbose=0, callbacks=[Sleeps()])\nend()\n",
    ),
    "NumPy in the loop": (
        PYTHON,
        "many = np.random.rand(1_000_000)\nbefore = step\ntimed = lambda x: np.sort(many)\n" + AROUND,
    ),
    "products in the step": (
        CPU,
        "before = lambda x: time.sleep(0.01)\ntimed = lambda x: step(x)\n" + AROUND,
    ),
    "products op by op": (
        CPU,
        "mark = tf.function(lambda x: x + 1.0)\n"
        "def before(x):\n    time.sleep(0.01)\n    mark(x)\n"
        "timed = lambda x: a @ a @ a @ a @ a @ a\n" + AROUND,
    ),
    "a sleep in a py_function of the step": (
        PY_FUNCTION,
        "def sleeps(x):\n"
        "    global spent, steps\n"
        "    begun = clock()\n    time.sleep(0.01)\n"
        "    spent, steps = spent + clock() - begun, steps + 1\n    return x\n"
        "asleep = tf.function(lambda x: tf.numpy_function(sleeps, [x], tf.float32))\n"
        "for number in range(150):\n    time.sleep(0.01)\n    asleep(tf.zeros((4,)))\nend()\n",
    ),
}  # fmt: skip
LENGTH_S = 0.02
ON_GPU = f"""
import json
import numpy as np
import tensorflow as tf

step = tf.function(tf.math.digamma)
many = np.ones(2**18, "float32")
for number in range(100):
    step(many).numpy()
print(json.dumps({LENGTH_S}))
"""
"""A program with a copy to the device, a kernel and a copy back, each taking `LENGTH_S` seconds."""
Environment = Callable[..., dict[str, str]]


def compared(page: Page, printed: str, part: str, times: float = 1.0) -> None:
    """Assert that the part takes `times` times as long as the program itself measured, within 10%."""
    assert page.exit_code == 0, printed
    own = times * json.loads(printed.splitlines()[-1])
    seen = {each.name: each.seconds for each in page.parts}.get(part, 0.0)
    assert seen == pytest.approx(own, rel=0.1), page.parts


@pytest.mark.parametrize("name", TRUTHS)
def test_parts_agree_with_the_clock_of_the_program(tmp_path: Path, name: str) -> None:
    part, text = TRUTHS[name]
    page, printed = watched_text(tmp_path, BEGIN + text)
    compared(page, printed, part)


def test_copies_and_kernels_have_their_known_length(tmp_path: Path, emulated_gpu: Environment) -> None:
    made = emulated_gpu(1, kernel_us=LENGTH_S * 1e6, copy_us=LENGTH_S * 1e6, pace_ns=1.0)
    page, printed = watched_text(tmp_path, ON_GPU, environment=tuple(sorted(made.items())))
    compared(page, printed, "copies", 2)
    compared(page, printed, "compute on GPU:0", 1)


MENDED: dict[str, tuple[Code, tuple[tuple[str, str], ...]]] = {
    "fit_numpy_function_in_map": ("python-in-map", (("data.map(prepare)", "data.map(prepare).cache()"),)),
    "loop_serial_map": ("serial-map", (("map(augment)", "map(augment, num_parallel_calls=tf.data.AUTOTUNE)"),)),
    "loop_no_prefetch": ("no-prefetch", (("with_options(options)", "with_options(options).prefetch(2)"),)),
    "many_files": (
        "input-bound",
        (
            ('"*.png")).repeat()', '"*.png"))'),
            ("data.map(load)", "data.map(load).cache().repeat()"),
            # with only 120 steps, the steps that fill the cache would dominate
            ("take(120)", "take(3_000)"),
        ),
    ),
    "loop_eager": (
        "eager-step",
        (("for _ in range(300):\n", "@tf.function\ndef step():\n"), ("", "\nfor _ in range(300):\n    step()\n")),
    ),
    "fit_run_eagerly": ("eager-step", (("run_eagerly=True", "run_eagerly=False"),)),
    "loop_eager_functions": ("eager-functions", (("eagerly(True)", "eagerly(False)"),)),
    "loop_numpy_fed": (
        "numpy-fed",
        (("step(images[", "step(copied["), ("@tf.function", "copied = tf.constant(images)\n\n\n@tf.function")),
    ),
    "fit_small_batches": ("small-batches", (('"mse")', '"mse", steps_per_execution=30)'),)),
    "fit_callback": ("between-steps", (("time.sleep(0.005)", "pass"),)),
    "loop_float64": ("float64", ((".rand(512, 512)", ".rand(512, 512).astype('float32')"),)),
    "loop_tiny_ops": ("xla-off", (("@tf.function", "@tf.function(jit_compile=True)"),)),
    "loop_python_number": ("retraced", (("        step(x, rate)", "        step(x, tf.constant(rate))"),)),
    "class_new_object": (
        "retraced",
        (("Settings(0.01))", "settings)"), ("for _ in", "settings = Settings(0.01)\nfor _ in")),
    ),
}  # fmt: skip
WHOLE = {"retraced", "small-batches"}
"""Findings whose gain is a share of the whole program's time, not of a step's."""


@pytest.mark.parametrize("name", MENDED)
def test_fixing_a_fault_gains_no_more_than_predicted(tmp_path: Path, name: str) -> None:
    code, changes = MENDED[name]
    text = (PROGRAMS / f"{name}.py").read_text()
    mended = text
    for old, new in changes:
        assert old in text
        mended = mended.replace(old, new) if old else mended + new
    pages, lasted = [], []
    for number, each in enumerate((text, mended)):
        file = tmp_path / f"{number}.py"
        file.write_text(each)
        page, printed = watched(file, beside=lambda program: lasted.append(whole(program)))
        assert page.exit_code == 0, printed
        pages.append(page)
    if any(BUSY in note for page in pages for note in page.notes):
        pytest.skip(
            "other processes used the processors: findings then report less, and what fixing gains is theirs"
        )
    found = next(each for each in pages[0].findings if each.code == code)
    assert code not in {each.code for each in pages[1].findings}
    assert found.gain_at_most is not None
    most = max([found.gain_at_most, *(found.gain_ci95 or ())])
    if code in WHOLE:
        assert lasted[0] / lasted[1] <= most
    else:
        before, after = pages[0].steps, pages[1].steps
        assert before.median_s is not None and after.median_s is not None
        least, longest = before.ci95_s or (before.median_s,), after.ci95_s or (after.median_s,)
        assert least[0] / longest[-1] <= most, (before, after, found)


def whole(program: Watched) -> float:
    (process,) = program.processes.values()
    return process.steps.ends[-1] - process.steps.starts[0]
