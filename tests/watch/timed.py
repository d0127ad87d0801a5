"""Thirty programs that time their own sections, assembled from parts, for testing the account of a watched
program.

A program prints one line of JSON at its end: the seconds of each section, and of the whole file.
"""

HEAD = """\
import time
BEGUN = time.perf_counter()
import json, os, socket, subprocess, sys, tempfile, threading, time
import numpy as np
import tensorflow as tf
import keras
CLOCK, SPENT = time.perf_counter, {}
def section(name, run, least):
    begun = CLOCK()
    while CLOCK() - begun < least:
        run()
    SPENT[name] = CLOCK() - begun
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256), keras.layers.Dense(8)])
model.compile("sgd", "mse")
x, y = np.random.rand(256, 64).astype("float32"), np.random.rand(256, 8).astype("float32")
weights = tf.Variable(tf.random.normal((256, 256)))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
step = tf.function(lambda a: tf.reduce_sum(tf.matmul(a, weights)))
folder = tempfile.mkdtemp()
"""
SECTIONS = {
    "fit": "model.fit(x, y, verbose=0)",
    "evaluate": "model.evaluate(x, y, verbose=0)",
    "predict": "model.predict(x[:32], verbose=0)",
    "sleep": "time.sleep(0.05)",
    "numpy": "np.sort(np.random.rand(200_000))",
    "python": "sum(i * i for i in range(50_000))",
    "eager": "[tf.reduce_sum(weights * i) for i in range(50)]",
    "graph": "[step(weights) for _ in range(50)]",
    "save": "model.save(os.path.join(folder, 'm.keras'))",
    "child": "subprocess.run(['sleep', '0.05'])",
    "lock": "threading.Event().wait(0.05)",
    "batches": "[None for _ in data]",
    "generator": "[None for _ in (np.sort(np.random.rand(50_000)) for _ in range(5))]",
    "socket": "wait_for_data()",
    "rl": "[model.train_on_batch(x[:8], y[:8]) for _ in range(5)]",
}
EXTRA = """\
def wait_for_data():
    one, other = socket.socketpair()
    threading.Timer(0.05, one.send, (b"x",)).start()
    other.recv(1)
    one.close(); other.close()
"""
KIND = {
    "sleep": "waiting", "numpy": "python", "python": "python", "save": "saving", "child": "waiting",
    "lock": "waiting", "generator": "python", "socket": "waiting",
}  # fmt: skip
"""The kind of time that each kind of section spends."""
STYLES = {
    "plain": "section({name!r}, lambda: {code}, {least})",
    "class": (
        "class Work_{name}:\n    def go(self):\n        {code}\nsection({name!r}, Work_{name}().go, {least})"
    ),
    "helper": "def help_{name}():\n    {code}\nsection({name!r}, help_{name}, {least})",
}


def programs() -> list[tuple[str, tuple[str, ...]]]:
    """Return the style and the sections of thirty programs. Each section occurs in eight of them."""
    names, styles = list(SECTIONS), list(STYLES)
    starts = [start for start in range(len(names)) for _ in range(2)]
    return [
        (
            styles[number % 3],
            tuple(names[(start + (4 + 3 * (number % 2)) * n) % len(names)] for n in range(4)),
        )
        for number, start in enumerate(starts)
    ]


def text(style: str, names: tuple[str, ...]) -> str:
    """Return the program's source. Its sections last from 0.6 s to 1.5 s."""
    body = [
        STYLES[style].format(name=name, code=SECTIONS[name], least=0.6 + 0.3 * number)
        for number, name in enumerate(names)
    ]
    return HEAD + EXTRA + "\n".join(body) + "\nSPENT['whole'] = CLOCK() - BEGUN\nprint(json.dumps(SPENT))\n"
