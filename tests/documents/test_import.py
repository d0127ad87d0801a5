"""A preset made from a document measures what its author meant, or the preset's summary names the omitted
parts.
"""

from tuilab.documents import read
from tuilab.documents.api.tables import shipped

HEAD = "import time\nimport numpy as np\nimport tensorflow as tf\n"
TIMED = "t = time.perf_counter()\n{}\nprint(time.perf_counter() - t)\n"


def presets(code: str):
    return read((HEAD + code).encode(), shipped(), name="x.py").presets


def test_a_loop_that_calls_a_graph_of_one_op_is_no_chain():
    code = "x = tf.ones((10, 10))\nf = tf.function(lambda v: v + v)\n"
    assert presets(code + TIMED.format("for _ in range(1000):\n    y = f(x)\ny.numpy()")) == ()


def test_a_loop_inside_of_a_graph_is_one():
    code = "@tf.function\ndef f(v):\n    for _ in range(1000):\n        v = v + v\n    return v\nx = tf.ones((10, 10))\n"
    (made,) = presets(code + TIMED.format("for _ in range(7):\n    y = f(x)\ny.numpy()"))
    assert made.parameters["ops"] == 1000 and made.arms.modes == ("graph",)


def test_eager_calls_in_a_loop_say_what_a_graph_makes_of_them():
    (made,) = presets(
        "x = tf.ones((10, 10))\n" + TIMED.format("for _ in range(1000):\n    y = x + x\ny.numpy()")
    )
    assert made.parameters["ops"] == 1000
    assert "1,000 ops one after the other" in made.summary and "run them as one graph" in made.summary


def test_a_network_that_is_more_than_one_convolution_says_so_in_its_summary():
    layers = ", ".join(f"tf.keras.layers.Conv2D({n}, 3)" for n in (64, 128, 256))
    code = (
        f"m = tf.keras.Sequential([{layers}, tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])\n"
        "m.compile('adam', 'mse')\na, b = np.zeros((64, 32, 32, 3), 'float32'), np.zeros((64, 10))\n"
    )
    (made,) = presets(code + TIMED.format("m.fit(a, b)"))
    assert "one Conv2D, not 3" in made.summary


def test_a_network_of_keras_own_makes_no_preset():
    code = "m = tf.keras.applications.VGG16()\nm.compile('adam', 'mse')\na = np.zeros((8, 224, 224, 3), 'float32')\n"
    assert presets(code + TIMED.format("m.fit(a, np.zeros((8, 1000)))")) == ()


def test_placement_that_is_shown_without_a_clock_is_no_benchmark():
    product = "a = tf.random.normal((300, 300))\nb = tf.matmul(a, a)\n"
    scoped = "with tf.device('/GPU:0'):\n    a = tf.ones((90, 90))\n    b = tf.matmul(a, a)\nprint(b)\n"
    assert presets(product + "print(b.device)\n") == presets(scoped) == ()
    assert presets("tf.debugging.set_log_device_placement(True)\n" + product) == ()
    assert [p.workload for p in presets(product)] == ["matmul"]


def test_what_each_iteration_waits_for_is_repeated_and_no_part_of_the_chain():
    code = (
        "def adds(v):\n    s = tf.zeros_like(v)\n    for _ in range(100):\n        s = s + v\n    return s\n"
        "g = tf.function(adds)\nx = tf.ones((500, 500))\n"
    )
    calls = [TIMED.format(f"for _ in range(7):\n    {name}(x).numpy()") for name in ("adds", "g")]
    (made,) = presets(code + "".join(calls))
    assert made.parameters == {"side": 500, "ops": 100, "dtype": "float32"}
    assert (made.arms.modes, made.arms.variants) == (("eager", "graph"), ("sums",))
    assert "run them as one graph" not in made.summary


def test_a_loop_over_sizes_is_one_preset_with_a_sweep_and_both_devices_do_the_same():
    loop = (
        "with tf.device('/{0}:0'):\n    for n in [10, 50, 100]:\n        a = tf.ones([n, n])\n"
        "        t = time.perf_counter()\n        tf.matmul(a, a).numpy()\n"
        "        print('{0}', n, time.perf_counter() - t)\n"
    )
    report = read((HEAD + loop.format("CPU") + loop.format("GPU")).encode(), shipped(), name="x.py")
    (made,) = report.presets
    (axis,) = made.sweep.axes
    assert (axis.names, axis.values) == (("m", "k", "n"), (10, 50, 100))
    assert made.marks["k"] == (10, 50, 100) and made.parameters["n"] == 100
    assert "different work" not in made.wrong
