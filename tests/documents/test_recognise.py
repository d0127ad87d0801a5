"""Different ways to write a computation become the same workload. Calls that match no workload are reported."""

import pytest

from tuilab.catalogue.validate import validate
from tuilab.documents import read
from tuilab.documents.api.tables import shipped

HEAD = "import time, zlib\nimport numpy as np\nimport tensorflow as tf\n"
START, STOP = "t = time.perf_counter()\n", "\nprint(time.perf_counter() - t)\n"


def report(code: str):
    return read((HEAD + code).encode(), shipped(), name="x.py", validate=validate)


def presets(code: str):
    return report(code).presets


def reasons(code: str) -> str:
    return "\n".join(u.reason for e in report(code).examples for u in e.unresolved)


STFT = {
    "samples": 8192, "batch": 2, "frame_length": 1024, "frame_step": 256, "fft_length": 1024, "window": "hann",
    "pad_end": False, "filter": False, "dtype": "float32",
}  # fmt: skip


@pytest.mark.parametrize(
    "code, differs",
    [
        ("x = tf.zeros((2, 8192))\ntf.signal.stft(x, 1024, 256)", {}),
        ("x = tf.zeros((2, 8192))\ntf.signal.stft(frame_step=256, signals=x, frame_length=1024)", {}),
        ("from tensorflow.signal import stft as s\ns(tf.zeros((2, 8192)), *(1024, 256))", {}),
        ("kw = dict(frame_length=1000, frame_step=256)\ntf.signal.stft(tf.zeros((2, 8192)), **kw)",
         {"frame_length": 1000}),
        ("x = tf.zeros((2, 8192), tf.float64)\ntf.signal.stft(x, 1024, 256, window_fn=None, pad_end=True)",
         {"dtype": "float64", "window": "none", "pad_end": True}),
        ("k = tf.ones((5, 1, 1))\nx = tf.nn.conv1d(tf.zeros((2, 8192, 1)), k, 1, 'SAME')[..., 0]\n"
         "tf.signal.stft(x, 1024, 256)", {"filter": True}),
        ("class S(tf.Module):\n    def __init__(self, n): self.n = n\n    def __call__(self, x):\n"
         "        return tf.signal.stft(x, self.n, self.n // 4)\nS(1024)(tf.zeros((2, 8192)))", {}),
    ],
)  # fmt: skip
def test_stft_in_any_form(code, differs):
    (preset,) = presets(code)
    assert (preset.workload, preset.parameters) == ("stft", STFT | differs)


def test_arms_are_those_of_the_code_and_open_where_it_says_nothing():
    (preset,) = presets(
        "a = tf.ones((64, 64))\n@tf.function\ndef f(): return a @ a\nwith tf.device('/GPU:0'): f()"
    )
    assert (preset.arms.devices, preset.arms.modes) == (("GPU",), ("graph",))
    (preset,) = presets("a = tf.ones((64, 64))\nf = tf.function(lambda: a @ a, jit_compile=True)\nf()\na @ a")
    assert (preset.arms.devices, preset.arms.modes) == (("CPU", "GPU"), ("eager", "xla"))
    (preset,) = presets("a = tf.ones((64, 64))\na @ a")
    assert preset.arms.modes == ("eager", "graph", "xla")
    (preset,) = presets("for d in (tf.float16, tf.float32):\n    a = tf.ones((64, 64), d)\n    a @ a")
    assert preset.arms.dtypes == ("float16", "float32")


def test_copies():
    code = f"h = np.ones(1024, np.float32)\n{START}for _ in range(50):\n    tf.convert_to_tensor(h){STOP}"
    (preset,) = presets(code)
    assert preset.parameters == {"bytes": 50 * 4096, "pieces": 50, "direction": "to device"}


def test_elementwise_counts_the_ops_that_a_figure_covers():
    code = f"x = tf.ones((32, 32))\n{START}for _ in range(500):\n    y = x + x * x{STOP}"
    (preset,) = presets(code)
    assert (preset.workload, preset.parameters) == (
        "elementwise",
        {"side": 32, "ops": 1000, "dtype": "float32"},
    )
    (preset,) = presets(
        code.replace("print(time.perf_counter() - t)", "print((time.perf_counter() - t) / 500)")
    )
    assert preset.parameters["ops"] == 2


CHAIN = (
    "import timeit\na = tf.ones((10, 10))\ndef chain(a):\n    for _ in range(50):\n        a = a + a\n"
    "    return a\nf = tf.function(chain)\nf(a)\n"
)
LOOP = START + "for _ in range({}):\n    {}" + STOP


@pytest.mark.parametrize(
    "timed",
    [
        "timeit.timeit(lambda: chain(a), number=100)\ntimeit.timeit(lambda: f(a), number=100)",
        "timeit.timeit('chain(a)', globals=globals(), number=100) / 100\ntimeit.repeat(lambda: f(a), number=7)",
        LOOP.format(100, "chain(a)") + LOOP.format(100, "f(a)"),
        LOOP.format(30, "chain(a)") + LOOP.format(1000, "f(a)"),
        f"{START}for _ in range(100):\n    chain(a)\nprint((time.perf_counter() - t) / 100)",
    ],
)
def test_repeated_calls_of_a_function_are_not_ops_of_one_call(timed):
    (preset,) = presets(CHAIN + timed)
    assert preset.parameters == {"side": 10, "ops": 50, "dtype": "float32"}
    assert preset.sweep is None and "eager" in preset.arms.modes


def test_an_iteration_of_eager_ops_is_compared_with_a_call_of_a_graph():
    ops = "    for _ in range(100):\n        y = a * a\n        y = a * y\n"
    code = (
        f"a = tf.ones((10, 10))\n@tf.function\ndef f(a):\n    y = a * a\n    return a * y\nf(a)\n{START}{ops}"
    )
    code = (
        code.replace("    for", "for").replace("        y =", "    y =")
        + STOP
        + "\n"
        + LOOP.format(100, "f(a)")
    )
    (preset,) = presets(code)
    assert preset.parameters["ops"] == 2 and preset.arms.modes == ("eager", "graph")


def test_a_timer_repeats_copies_and_allocations_without_making_them_larger():
    head = "import timeit\nh = np.ones(1024, np.float32)\n"
    (copy,) = presets(head + "timeit.timeit(lambda: tf.convert_to_tensor(h), number=50)")
    assert copy.parameters == {"bytes": 4096, "pieces": 1, "direction": "to device"}
    (memory,) = presets(head + "timeit.timeit(lambda: tf.zeros((1024, 1024, 512)), number=50)")
    assert memory.parameters == {"bytes": 2**31}


@pytest.mark.parametrize("timed, made", [(False, ["memory"]), (True, [])])
def test_an_allocation_in_a_try_that_catches_memory_errors(timed: bool, made: list[str]):
    """A timed allocation of 512 MiB is the benchmark's work, not a test of the memory."""
    body = "    x = tf.zeros((8192, 16384))\n"
    body = f"    t = time.perf_counter()\n{body}    print(time.perf_counter() - t)\n" if timed else body
    code = f"try:\n{body}except tf.errors.ResourceExhaustedError:\n    pass"
    assert [preset.workload for preset in presets(code) if preset.workload == "memory"] == made


def test_memory_detours_and_compression():
    (preset,) = presets("tf.zeros((1024, 1024, 512), tf.float32)")
    assert (preset.workload, preset.parameters) == ("memory", {"bytes": 2**31})
    (preset,) = presets(
        "a = tf.ones((16, 16))\nwith tf.device('GPU:0'):\n    b = a @ a\n    with tf.device('CPU:0'):\n"
        "        c = b + 1.0\n    d = c @ b"
    )
    assert (preset.workload, preset.parameters) == (
        "pingpong",
        {"side": 16, "length": 2, "detours": 1, "dtype": "float32"},
    )
    (preset,) = presets("x = np.zeros(5000, np.float32)\nzlib.compress(x.tobytes(), 1)")
    assert (preset.workload, preset.parameters) == ("compression", {"elements": 5000, "level": 1})


def test_a_product_in_the_set_up_is_not_what_the_document_times():
    setup = "a = tf.random.normal((256, 256))\ns = a @ tf.transpose(a)\ntf.linalg.expm(s)\n"
    assert presets(setup + START + "tf.linalg.expm(s).numpy()" + STOP) == ()
    (preset,) = presets(setup + START + "(s @ s).numpy()" + STOP)
    assert preset.workload == "matmul"


PIPELINE = "x = np.zeros((100, 32, 32, 3), np.uint8)\nd = tf.data.Dataset.from_tensor_slices(x)\n"


def test_pipelines_by_their_steps():
    code = PIPELINE + (
        "def slow(i):\n    tf.py_function(lambda: time.sleep(0.002), [], [])\n"
        "    return tf.image.random_brightness(i, .1)\n"
        "for b in d.map(slow, 3).batch(10): pass"
    )
    (preset,) = presets(code)
    assert preset.workload == "input_pipeline"
    assert preset.parameters == {
        "source": "memory", "images": 100, "pixels": "uint8", "side": 32, "batch": 10, "host_cost": 2000,
        "augment": "brightness", "workers": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    "code, gap",
    [
        (f"a = tf.ones((64, 64))\n{START}tf.linalg.svd(a){STOP}", "no workload measures tf.linalg.svd"),
        (f"{START}model(x){STOP}", "the timed code is not recognized: model is not defined"),
        ("tf.signal.stft(load(), 256, 128)", "the signal of tf.signal.stft: load is not defined"),
        ("tf.signal.stft(tf.zeros(512), n, 128)", "frame_length of tf.signal.stft: n is not defined"),
        (
            "tf.signal.stft(tf.zeros(512), 256, 128, window_fn=tf.signal.kaiser_window)",
            "is not hann, hamming or none",
        ),
        (
            "tf.matmul(tf.ones((4, 8, 8)), tf.ones((4, 8, 8)))",
            "no workload measures a batch of matrix products",
        ),
        ("tf.signal.stft(tf.zeros(100), 64, 32)", "samples=100"),
        (
            "m = tf.keras.Sequential([tf.keras.layers.Dense(3)])\nm.fit(np.zeros((9, 8, 8, 3), np.uint8))",
            "no Conv2D",
        ),
        ("tf.config.experimental.get_memory_info('GPU:0')", "reads a counter"),
        (PIPELINE.replace("32, 32, 3", "32, 16, 3") + "for b in d.map(lambda i: i): pass", "square images"),
        (f"{START}for b in tf.data.TextLineDataset('f'): pass{STOP}", "read images from memory or TFRecord"),
        (
            f"x = tf.complex(tf.ones(8), tf.ones(8))\n{START}tf.signal.fft(x){STOP}",
            "no workload measures tf.signal.fft",
        ),
    ],
)
def test_gaps_are_named_with_their_line(code, gap):
    assert gap in reasons(code)
    assert presets(code) == ()


def test_models_in_any_form():
    data = "x = np.zeros((64, 16, 16, 3), np.float32)\ny = np.zeros(64)\n"
    functional = (
        "i = tf.keras.Input((16, 16, 3))\nh = tf.keras.layers.Conv2D(8, 3)(i)\n"
        "m = tf.keras.Model(i, tf.keras.layers.Dense(1)(h))\n"
    )
    added = "m = tf.keras.models.Sequential()\nm.add(tf.keras.layers.Conv2D(filters=8, kernel_size=3))\n"
    own = (
        "class M(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.c = tf.keras.layers.Conv2D(8, 3)\n    def call(self, x): return self.c(x)\nm = M()\n"
    )
    for model in (functional, added, own):
        (preset,) = presets(data + model + "m.fit(x, y, 16)")
        assert (preset.workload, preset.parameters["filters"], preset.parameters["batch"]) == (
            "training",
            8,
            16,
        )


def test_numbers_that_a_graph_adds_up_in_advance_are_not_measured_with_tensors() -> None:
    code = (
        "import timeit\na = tf.ones((10, 10))\ndef chain(a):\n    for _ in range(50):\n        a = a {}\n"
        "    return a\nf = tf.function(chain)\nf(a)\n"
        "timeit.timeit(lambda: chain(a), number=9)\ntimeit.timeit(lambda: f(a), number=9)"
    )
    assert not presets(code.format("+ 1.0")) and not presets(code.format("* 0.5"))
    assert presets(code.format("+ a"))
