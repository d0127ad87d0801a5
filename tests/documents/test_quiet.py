"""The checker reports mistakes, but is quiet about calls that it does not know."""

import json

import pytest

from tuilab.documents import read
from tuilab.documents.api.tables import shipped

HEAD = "import time, timeit, logging\nimport tensorflow as tf\nfrom tensorflow.keras import backend as K\n"
HEAD += "from helpers import loader, run, unknown_writer\n"
TENSORS = "x = tf.random.normal((512, 512))\nf = tf.function(lambda v: v @ v)\nf(x)\ntf.matmul(x, x)\n"
TIMED = "t = time.perf_counter()\n{}\nprint(time.perf_counter() - t)\n"


def found(code: str, name: str = "x.py", severe: bool = True) -> list[str]:
    report = read((HEAD + TENSORS + code).encode(), shipped(), name=name, preview=False)
    return [f.code for e in report.examples for f in e.findings if not severe or f.severity != "note"]


@pytest.mark.parametrize(
    "waits",
    [
        "y = f(x)\ny.numpy()",
        "y = f(x)\nprint('{}'.format(y))",
        "y = f(x)\nprint(f'{y}')",
        "y = f(x)\nprint('%s' % y)",
        "y = f(x)\nassert tf.reduce_all(y > 0)",
        "y = f(x)\nlogging.info('value %s', y)",
        "y = f(x)\nprint(y)",
        "m = tf.keras.metrics.Mean()\nm(f(x))\nprint(m.result())",
        "m = tf.keras.metrics.Mean()\nm(f(x))\nprint('{:.3f}'.format(m.result()))",
        "y = f(x)\nK.get_value(y)",
        "y = f(x)\nfloat(tf.reduce_sum(y))",
        "y = f(x)\nif tf.reduce_sum(y) > 0:\n    pass",
        "y = [f(x), f(x)]\nprint(y)",
        "y = f(x)\ntf.test.experimental.sync_devices()",
        "y = f(x)\nunknown_writer.add(y)",
        "y = f(x)\ntf.print(y)",
    ],
)
def test_calls_that_wait_for_the_result_are_recognized(waits):
    assert found(TIMED.format(waits)) == []


@pytest.mark.parametrize(
    "code",
    [
        # the checker does not know this function, so a call may compute, warm up and wait
        "import helper\n" + TIMED.format("helper.step(x)"),
        "def bench(step):\n    t = time.perf_counter()\n    step(x)\n    return time.perf_counter() - t\n",
        "def batches():\n    yield x\n" + TIMED.format("for b in batches():\n    pass"),
        "def step(v):\n    return tf.raw_ops.MatMul(a=v, b=v)\n" + TIMED.format("step(x)"),
        "g = tf.function(lambda v: v + 1)\nimport helper\nhelper.warm(g)\n" + TIMED.format("g(x).numpy()"),
        # the first calls' figures are labeled as warm-up, or discarded
        "g = tf.function(lambda v: v + 1)\n# warm up\nrun(g)\n" + TIMED.format("g(x).numpy()"),
        "g = tf.function(lambda v: v + 1)\ntimes = []\nfor i in range(20):\n    t = time.perf_counter()\n"
        "    g(x).numpy()\n    if i > 5:  # skip the first steps\n        times.append(time.perf_counter() - t)\n",
        "g = tf.function(lambda v: v + 1)\ntimes = []\nfor i in range(20):\n    t = time.perf_counter()\n"
        "    g(x).numpy()\n    times.append(time.perf_counter() - t)\nprint(sum(times[1:]) / 19)\n",
        # Python code in the middle of a graph
        "@tf.py_function(Tout=tf.float32)\ndef look(v):\n    print(v)\n    return v\n\n"
        "g = tf.function(lambda v: look(v))\ng(x)\n",
        # names of modules that exist
        "from tensorflow.python.data.experimental import AUTOTUNE\nfrom tensorflow.python.client import device_lib\n",
        "import keras\nkeras.saving.get_registered_name(1)\nkeras.losses.mean_squared_error(x, x)\n",
        # a single clock reading, a time limit, and a counter
        "total = 0\nfor batch in loader:\n    total += len(batch)\n",
        # the unit of an earlier time
        "t = time.perf_counter()\nf(x).numpy()\nprint(1000 * (time.perf_counter() - t), 'ms')\n"
        "t = time.perf_counter()\nf(x).numpy()\ntook = time.perf_counter() - t\nprint(took)\n",
    ],
)
def test_code_that_is_not_understood_gets_no_findings(code):
    assert found(code) == []


def test_a_training_log_gets_only_notes():
    code = (
        "model = tf.keras.Sequential([tf.keras.layers.Dense(3)])\nmodel.compile('adam', 'mse')\n"
        "t = time.time()\nmodel.fit(x, x, epochs=25)\nprint('took', time.time() - t)\n"
    )
    report = read((HEAD + TENSORS + code).encode(), shipped(), name="x.py")
    findings = [f for e in report.examples for f in e.findings]
    assert findings and {f.severity for f in findings} == {"note"}
    assert not any("later call" in f.remedy for f in findings)


@pytest.mark.parametrize(
    "code, wrong",
    [
        ("print(timeit.timeit('f', globals=globals()))\n", "TL101"),
        ("print(timeit.timeit(lambda: f(x), number=9))\n", "TL103"),
        ("print(timeit.timeit('f(x)', globals=globals(), number=9))\n", "TL103"),
        ("%timeit f(x)\n", "TL006"),
        ("%timeit f(x)\n", "TL103"),
        ("%timeit f\n", "TL101"),
        (
            "class T:\n    def __enter__(self):\n        self.t = time.perf_counter()\n        return self\n"
            "    def __exit__(self, *e):\n        print(time.perf_counter() - self.t)\nwith T():\n    f(x)\n",
            "TL103",
        ),
    ],
)
def test_wrong_code_is_found(code, wrong):
    assert wrong in found(code)


def test_a_docstring_with_prompts_hides_nothing():
    code = f'"""Adds.\n\n>>> 1 + 1\n2\n"""\n{HEAD}{TENSORS}' + TIMED.format("f(x)")
    report = read(code.encode(), shipped(), name="x.py")
    assert [f.code for e in report.examples for f in e.findings] == ["TL103"]


def test_a_notebook_shows_its_cells_last_value_and_takes_magics():
    cells = [HEAD, TENSORS, "t = time.perf_counter()\nf(x)\ntime.perf_counter() - t", "%matplotlib inline"]
    text = json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells], "nbformat": 4})
    report = read(text.encode(), shipped(), name="x.ipynb")
    assert [f.code for e in report.examples for f in e.findings] == ["TL103"]


def test_names_print_as_the_source_spells_them():
    report = read((HEAD + "K.get_valu(1)\n").encode(), shipped(), name="x.py")
    (finding,) = [f for e in report.examples for f in e.findings]
    assert finding.message.startswith("K.get_valu (tf.keras.backend.get_valu) does not exist")
    assert finding.column == 1


@pytest.mark.parametrize("old, new", [("tf.assign", "tf.compat.v1.assign"), ("tf.log", "tf.math.log")])
def test_remedies_are_tensorflows_own_and_not_by_likeness(old, new):
    report = read(f"{HEAD}{old}(1, 2)\n".encode(), shipped(), name="x.py")
    (finding,) = [f for e in report.examples for f in e.findings]
    assert new in finding.remedy and "sign." not in finding.remedy.replace("assign", "")


def test_fifty_products_are_matmuls():
    code = TIMED.format("c = x\nfor _ in range(50):\n    c = c @ x\ntf.reduce_mean(c + 1.0).numpy()")
    report = read((HEAD + TENSORS + code).encode(), shipped(), name="x.py")
    assert {p.workload for p in report.presets} == {"matmul"}


def test_training_on_a_known_data_set_makes_a_preset_and_a_toy_product_does_not():
    code = (
        "(a, b), _ = tf.keras.datasets.cifar10.load_data()\na = a / 255.0\n"
        "model = tf.keras.Sequential([tf.keras.layers.Conv2D(16, 3), tf.keras.layers.Flatten()])\n"
        "model.compile('adam', 'mse')\nmodel.fit(a, b, batch_size=64, epochs=2)\n"
        "print(tf.constant([[1.0, 2.0]]) @ tf.constant([[3.0], [4.0]]))\n"
    )
    (preset,) = read((HEAD + code).encode(), shipped(), name="x.py").presets
    assert preset.workload == "training"
    assert preset.parameters["images"] == 50_000 and preset.parameters["side"] == 32
    assert preset.parameters["batch"] == 64 and preset.parameters["filters"] == 16
