"""Thirty programs that time their own sections, assembled from parts, for testing the account of a watched
program.

A program prints one line of JSON at its end: the seconds of each section, and of the whole file.
"""

from pathlib import Path

BEGIN = """\
import time
BEGUN = time.perf_counter()
"""
HEAD = """\
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
def in_thread(run):
    thread = threading.Thread(target=lambda: [run() for _ in range(10)])
    thread.start()
    thread.join()
"""
KIND = {
    "sleep": "waiting", "numpy": "python", "python": "python", "save": "saving", "child": "waiting",
    "lock": "waiting", "generator": "python", "socket": "waiting",
}  # fmt: skip
"""The kind of time that a thread spends in each section."""
HELPER = "def help_{name}():\n    {code}\n"
STYLES = {
    "plain": "section({name!r}, lambda: {code}, {least})  # {name}",
    "class": (
        "class Work_{name}:\n    def go(self):\n        {code}\n"
        "section({name!r}, Work_{name}().go, {least})  # {name}"
    ),
    "helper": HELPER + "section({name!r}, help_{name}, {least})  # {name}",
    "files": "section({name!r}, help_{name}, {least})  # {name}",
    "notebook": (
        "# In[ ]:\n\n\nbegun = CLOCK()\nwhile CLOCK() - begun < {least}:  # {name}\n    {code}  # {name}\n"
        "SPENT[{name!r}] = CLOCK() - begun\n"
    ),
    "thread": HELPER + "section({name!r}, lambda: in_thread(help_{name}), {least})  # {name}",
}
"""Templates for the code of a section. A comment with the section's name marks the lines that spend its
time.
"""


def programs() -> list[tuple[str, tuple[str, ...]]]:
    """Return the style and the sections of thirty programs. Each section occurs in eight of them."""
    names, styles = list(SECTIONS), list(STYLES)
    starts = [start for start in range(len(names)) for _ in range(2)]
    return [
        (
            styles[number % len(styles)],
            tuple(names[(start + (4 + 3 * (number % 2)) * n) % len(names)] for n in range(4)),
        )
        for number, start in enumerate(starts)
    ]


def write(folder: Path, style: str, names: tuple[str, ...]) -> Path:
    filled = [{"name": name, "code": SECTIONS[name], "least": 0.6 + 0.3 * n} for n, name in enumerate(names)]
    body = [STYLES[style].format(**each) for each in filled]
    head = HEAD + EXTRA
    if style == "files":
        (folder / "parts.py").write_text(head + "".join(HELPER.format(**each) for each in filled))
        head = "from parts import *\n"
    end = "SPENT['whole'] = CLOCK() - BEGUN\nprint(json.dumps(SPENT))\n"
    program = folder / "timed.py"
    program.write_text("\n".join([BEGIN + head, *body, end]))
    return program


def kind_of(style: str, name: str) -> str:
    """Return the kind of time that the section spends in the main thread; "" if it spends several kinds."""
    return "waiting" if style == "thread" else KIND.get(name, "")
