"""Each rule fires where it should, on its line, and stays silent on the mended code."""

import re
import textwrap
from pathlib import Path

import pytest

from tuilab.documents import RULES, read
from tuilab.documents.api_tables import shipped
from tuilab.documents.rules import reference, rule

HEAD = "import time\nimport numpy as np\nimport tensorflow as tf\n\n"
CHECKED = "print(tf.config.list_physical_devices('GPU'))\n"
TENSORS = "x = tf.random.normal((512, 512))\ny = tf.random.normal((512, 512))\n"

# code → (what is wrong, the text on whose line the finding stands, the same without the fault).
# START and STOP stand for the readings of a good clock.
CASES = {
    "TL001": ("z = tf.signal.lfilter(1, 2)", "lfilter", "z = tf.signal.rfft(x)"),
    "TL002": ("z = tf.matmul(x, y, transpose=True)", "transpose", "z = tf.matmul(x, y, transpose_b=True)"),
    "TL003": (
        "g = tf.config.list_physical_devices('GPU')[0]\ntf.config.experimental.get_memory_info(g)",
        "get_memory_info",
        "g = tf.config.list_physical_devices('GPU')[0]\ntf.config.experimental.get_memory_info('GPU:0')",
    ),
    "TL004": (
        "info = tf.config.experimental.get_memory_info('GPU:0')\nprint(info['used'])",
        "info['used']",
        "info = tf.config.experimental.get_memory_info('GPU:0')\nprint(info['current'], info['peak'])",
    ),
    "TL005": (
        "try:\n    z = tf.matmul(x, y)\nexcept RuntimeError:\n    pass",
        "except",
        "try:\n    z = tf.matmul(x, y)\nexcept tf.errors.ResourceExhaustedError:\n    pass",
    ),
    "TL006": ("%timeit tf.matmul(x, y).numpy()", "%timeit", "print(tf.matmul(x, y).numpy())"),
    "TL007": (
        "a = tf.placeholder(tf.float32)\nw = tf.get_variable('w', (8, 8))\nwith tf.Session() as s:\n    s.run(a)",
        "tf.placeholder",
        "a = tf.Variable(tf.zeros((8, 8)))",
    ),
    "TL101": (
        "z = tf.matmul(x, y)\nSTART\nfor _ in range(9):\n    w = z\nSTOP",
        "for _",
        "z = tf.matmul(x, y)\nSTART\nfor _ in range(9):\n    w = tf.matmul(x, y)\nw.numpy()\nSTOP",
    ),
    "TL102": (
        "z = tf.matmul(x, y)\nSTART\nz.numpy()\nSTOP",
        "z = tf.matmul",
        "z = tf.matmul(x, y)\nSTART\ntf.matmul(x, y).numpy()\nSTOP",
    ),
    "TL103": (
        "tf.matmul(x, y)\nSTART\nz = tf.matmul(x, y)\ntook = time.perf_counter() - t",
        "took",
        "tf.matmul(x, y)\nSTART\nz = tf.matmul(x, y)\ntf.test.experimental.sync_devices()\n"
        "took = time.perf_counter() - t",
    ),
    "TL104": (
        "START\nfor _ in range(20):\n    z = tf.matmul(x, y)\nz.numpy()\nSTOP",
        "t = time",
        "tf.matmul(x, y)\nSTART\nfor _ in range(20):\n    z = tf.matmul(x, y)\nz.numpy()\nSTOP",
    ),
    "TL105": (
        "f = tf.function(tf.matmul)\nSTART\nf(x, y).numpy()\nSTOP",
        "t = time",
        "f = tf.function(tf.matmul)\nf(x, y)\nSTART\nf(x, y).numpy()\nSTOP",
    ),
    "TL106": (
        "z = tf.matmul(x, y)\nfor _ in range(3):\n    w = z\nSTART\ntf.matmul(x, y).numpy()\nSTOP",
        "for _",
        "for _ in range(3):\n    w = tf.matmul(x, y)\nSTART\ntf.matmul(x, y).numpy()\nSTOP",
    ),
    "TL107": (
        "tf.matmul(x, y)\nt = time.time()\ntf.matmul(x, y).numpy()\nprint(time.time() - t)",
        "t = time.time()",
        "print(time.time())\ntf.matmul(x, y)\nSTART\ntf.matmul(x, y).numpy()\nSTOP",
    ),
    "TL108": (
        "tf.matmul(x, y)\nSTART\nw = tf.random.normal((512, 512))\ntf.matmul(x, w).numpy()\nSTOP",
        "w = ",
        "tf.matmul(x, y)\nw = tf.random.normal((512, 512))\nSTART\ntf.matmul(x, w).numpy()\nSTOP",
    ),
    "TL109": (
        "d = tf.data.Dataset.range(999).batch(8)\nSTART\nfor b in d:\n    b.numpy()\nSTOP",
        "for b",
        "d = tf.data.Dataset.range(999).batch(8)\nfor b in d:\n    b.numpy()\nSTART\nfor b in d:\n"
        "    b.numpy()\nSTOP",
    ),
    "TL110": (
        "d = tf.data.Dataset.range(999).batch(8)\nfor b in d: pass\nSTART\nfor b in d:\n"
        "    pass  # train here\nSTOP",
        "for b in d:",
        "d = tf.data.Dataset.range(999).batch(8)\nfor b in d: pass\nSTART\nfor b in d:\n"
        "    pass  # only the input\nSTOP",
    ),
    "TL111": (
        "tf.matmul(x, y)\nwith tf.device('CPU:0'):\n    START\n    tf.matmul(x, y).numpy()\n"
        "    a = time.perf_counter() - t\nwith tf.device('GPU:0'):\n    u = time.perf_counter()\n"
        "    tf.matmul(x, tf.exp(y)).numpy()\n    b = time.perf_counter() - u",
        "u = ",
        "tf.matmul(x, y)\nwith tf.device('CPU:0'):\n    START\n    tf.matmul(x, y).numpy()\n"
        "    a = time.perf_counter() - t\nwith tf.device('GPU:0'):\n    u = time.perf_counter()\n"
        "    tf.matmul(x, y).numpy()\n    b = time.perf_counter() - u",
    ),
    "TL112": (
        "s = tf.ones((4, 4))\nSTART\nfor _ in range(10):\n    a = s + s\na.numpy()\n"
        "one = time.perf_counter() - t\nSTART\nfor _ in range(10):\n    a = s @ s\na.numpy()\n"
        "two = time.perf_counter() - t",
        "a = s @ s",
        "START\nfor _ in range(10):\n    a = x + x\na.numpy()\n"
        "one = time.perf_counter() - t\nSTART\nfor _ in range(10):\n    a = x @ x\na.numpy()\n"
        "two = time.perf_counter() - t",
    ),
    "TL201": (
        "@tf.function\ndef f(v):\n    time.sleep(1)\n    return v * 2.0\nf(x)",
        "time.sleep",
        "def f(v):\n    time.sleep(1)\n    return v * 2.0\nf(x)",
    ),
    "TL202": (
        "for _ in range(20):\n    f = tf.function(lambda v: v * 2.0)\n    f(x)",
        "tf.function",
        "f = tf.function(lambda v: v * 2.0)\nfor _ in range(20):\n    f(x)",
    ),
    "TL301": (
        "with tf.device('/GPU:0'):\n    print('on the GPU')\nz = tf.matmul(x, y)",
        "with tf.device",
        "with tf.device('/GPU:0'):\n    z = tf.matmul(x, y)",
    ),
    "TL302": (
        "tf.matmul(x, y)\nwith tf.device('/GPU:0'):\n    START\n    tf.matmul(x, y).numpy()\n    STOP",
        "with tf.device",
        "tf.config.set_soft_device_placement(False)\ntf.matmul(x, y)\nwith tf.device('/GPU:0'):\n"
        "    START\n    tf.matmul(x, y).numpy()\n    STOP",
    ),
    "TL303": (
        "def f(v):\n    return v * 2  # runs on the GPU\nd = tf.data.Dataset.range(9).map(f)",
        ".map(f)",
        "def f(v):\n    return v * 2  # on the host, not on the GPU\nd = tf.data.Dataset.range(9).map(f)",
    ),
    "TL304": (
        "t = tf.constant([1.0, 2.0])  # stays on the CPU",
        "tf.constant",
        "with tf.device('/CPU:0'):\n    t = tf.constant([1.0, 2.0])  # stays on the CPU",
    ),
    "TL305": (
        "d = tf.cast(x, tf.float64)  # float64 lacks a GPU kernel\nz = d @ d",
        "z = d @ d",
        "d = tf.cast(x, tf.int32)  # int32 lacks a GPU kernel\nz = d @ d",
    ),
    "TL401": (
        "w = tf.io.TFRecordWriter('f')\nd = tf.data.TFRecordDataset('f').batch(8)\nfor b in d: pass\n"
        "START\nfor b in d:\n    b.numpy()\nSTOP",
        "TFRecordDataset",
        "d = tf.data.TFRecordDataset('f').batch(8)\nfor b in d: pass\nSTART\nfor b in d:\n"
        "    b.numpy()\nSTOP",
    ),
}
# Rules about what the prose says: (a wrong sentence, a right one).
PROSE = {
    "TL306": (
        "TensorFlow chooses the device by a cost analysis.",
        "TensorFlow chooses the device by its kernels; a small tensor is often faster on the CPU.",
    ),
    "TL307": (
        "When memory is exhausted TensorFlow falls back to the CPU.",
        "When memory is exhausted TensorFlow raises, it does not fall back to the CPU.",
    ),
    "TL308": (
        "Under contention TensorFlow moves operations to the CPU.",
        "Under contention the GPU is slower and noisier than the CPU.",
    ),
}


def document(code: str, after: str = "") -> bytes:
    """Code as it stands in an article, with the same head for all."""
    code = code.replace("START", "t = time.perf_counter()").replace("STOP", "print(time.perf_counter() - t)")
    return f"Text.\n\n```python\n{HEAD}{TENSORS}{code}\n```\n\n{after}\n".encode()


def findings(code: str, after: str = ""):
    report = read(document(code, after), shipped(), name="x.md")
    assert not [u for e in report.examples for u in e.unresolved if "not Python" in u.reason]
    return report


def codes(report) -> list[str]:
    return [f.code for example in report.examples for f in example.findings]


def test_every_rule_has_its_cases():
    assert {r.code for r in RULES} == set(CASES) | set(PROSE)
    assert len({r.code for r in RULES}) == len(RULES)


@pytest.mark.parametrize("code", CASES)
def test_it_fires_on_its_line(code):
    wrong, at, _ = CASES[code]
    report = findings(wrong)
    found = [f for example in report.examples for f in example.findings if f.code == code]
    assert [at in report.lines[f.line - 1] for f in found] == [True]
    assert found[0].message and found[0].remedy


@pytest.mark.parametrize("code", CASES)
def test_it_is_silent_where_the_fault_is_mended(code):
    assert code not in codes(findings(CASES[code][2]))


@pytest.mark.parametrize("code", PROSE)
def test_prose(code):
    wrong, right = PROSE[code]
    report = findings("z = tf.matmul(x, y)", wrong)
    found = [f for example in report.examples for f in example.findings if f.code == code]
    assert [report.lines[f.line - 1] for f in found] == [wrong]
    assert code not in codes(findings("z = tf.matmul(x, y)", right))


@pytest.mark.parametrize("known", RULES, ids=lambda r: r.code)
def test_rules_say_what_why_and_what_to_do(known):
    assert rule(known.code) is known
    for text in (known.title, known.why, known.remedy):
        assert text and (text[0].isupper() or text.startswith("tf."))
    assert known.check.__doc__


@pytest.mark.parametrize(
    "name, near",
    [
        ("tf.io.compress", "tf.io.decode_compressed"),
        ("tf.signal.lfilter", "tf.nn.conv1d"),
        ("tf.Session", "tf.compat.v1.Session"),
        ("tf.random.norml", "tf.random.normal"),
        ("tf.log", "tf.math.log"),
        ("tf.config.list_physical_device", "tf.config.list_physical_devices"),
        ("tf.keras.layers.Conv2d", "tf.keras.layers.Conv2D"),
    ],
)
def test_the_nearest_real_name_is_given(name, near):
    report = findings(f"z = {name}(x)")
    (found,) = [f for example in report.examples for f in example.findings if f.code == "TL001"]
    assert name in found.message and re.search(
        rf"(?:nearest real name|name) is (?:now )?{re.escape(near)}$", found.message
    )
    assert near in shipped().names


def test_without_a_table_names_are_not_judged_and_that_is_said():
    report = read(document("z = tf.signal.lfilter(1, 2)"), None, name="x.md")
    assert codes(report) == []
    assert any("names and arguments are not checked" in u.reason for u in report.examples[0].unresolved)


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    z = tf.old_name(x)\nexcept AttributeError:\n    z = x",
        "if hasattr(tf, 'old_name'):\n    z = tf.old_name(x)",
        "z = tf.float32.anything",
        "z = tf.__private__",
        "from tensorflow.python.framework import ops\nz = ops.anything",
        "import tensorflow_probability as tfp\nz = tfp.nothing",
        "from tensorflow.keras.layers import Dense\nz = Dense(3)",
        "z = tf.compat.v1.keras.layers.Dense(3)",
        "z = tf.raw_ops.MatMul(a=x, b=y)",
        "z = tf.data.Dataset.range(3).map(lambda v: v, num_parallel_calls=tf.data.AUTOTUNE)",
    ],
)
def test_names_that_are_real_guarded_or_not_known_are_not_findings(code):
    assert not {"TL001", "TL002"} & set(codes(findings(code)))


def test_a_finding_in_a_helper_stands_where_the_helper_does():
    text = (
        "```python\n"
        + HEAD
        + TENSORS
        + textwrap.dedent(
            """\
        def bench(f):
            start = time.time()
            f()
            return time.time() - start
        ```

        Then:

        ```python
        print(bench(lambda: tf.matmul(x, y)))
        ```
        """
        )
    )
    report = read(text.encode(), shipped(), name="x.md")
    first, second = report.examples
    assert {f.code for f in first.findings} == {"TL103", "TL105", "TL107"}
    assert second.findings == ()
    assert [p.workload for p in second.presets] == ["matmul"]


ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_the_rules_own_words():
    """`python -m tuilab.documents.rules.reference` writes it."""
    assert (ROOT / "docs" / "checker.md").read_text(encoding="utf-8") == reference.document()


@pytest.mark.parametrize("known", RULES, ids=lambda r: r.code)
def test_the_examples_in_the_reference_are_true(known):
    if known.code in PROSE:
        wrong, right = (
            findings("z = tf.matmul(x, y)", known.wrong),
            findings("z = tf.matmul(x, y)", known.right),
        )
    else:
        wrong, right = findings(known.wrong), findings(known.right)
    assert known.code in codes(wrong)
    assert known.code not in codes(right)


@pytest.mark.parametrize(
    "code",
    [
        # A time limit, a lap, and a timer whose two readings stand in different methods.
        "end = time.perf_counter() + 5\nwhile time.perf_counter() < end:\n    tf.matmul(x, y)",
        "START\nwhile time.perf_counter() - t < 5:\n    tf.matmul(x, y)",
        "START\nfor q in jobs:\n    left = 300 - (time.perf_counter() - t)\n    q.join(left)",
        "class Bar:\n    def __init__(self): self.t = time.perf_counter()\n"
        "    def update(self): print(time.perf_counter() - self.t)\nb = Bar()",
        # Timers that are defined here and used elsewhere.
        "def timed(f):\n    def g(*a):\n        START\n        r = f(*a)\n        STOP\n        return r\n    return g",
        "import contextlib\n@contextlib.contextmanager\ndef timed():\n    START\n    yield\n    STOP",
        # Robust statistics over samples, the first of which is a first call.
        "s = []\nfor _ in range(50):\n    START\n    tf.matmul(x, y).numpy()\n    s.append(time.perf_counter() - t)\n"
        "print(np.median(s))",
        # Python alone is work too.
        "START\nn = sum(i * i for i in range(10 ** 6))\nSTOP",
        "START\nrows = sorted(open('f'))\nSTOP",
        # One function for each device is made once for each.
        "for g in tf.config.list_logical_devices('GPU'):\n    with tf.device(g.name):\n"
        "        f = tf.function(lambda v: v * 2.0)\n        f(x)",
        # Watching the tracing is what this is for.
        "@tf.function\ndef f(v):\n    print('Tracing with', v)\n    return v * 2.0\nf(x)",
        # Python that does run for every element.
        "d = tf.data.Dataset.range(9).map(lambda i: tf.py_function(lambda: time.sleep(1), [], tf.int64))",
        # Hidden GPUs need no waiting.
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\ntf.matmul(x, y)\nSTART\ntf.matmul(x, y)\nSTOP",
        "tf.config.set_visible_devices([], 'GPU')\ntf.matmul(x, y)\nSTART\ntf.matmul(x, y)\nSTOP",
        # A training that was warmed by another one; labels from zeros are no work.
        "m = tf.keras.Sequential([tf.keras.layers.Dense(3)])\nm.compile(loss='mse')\nm.fit(x, y)\nSTART\n"
        "m.fit(x, tf.zeros((512, 3)))\nSTOP",
        "try:\n    tf.config.experimental.set_memory_growth(gpu, True)\nexcept RuntimeError as e:\n    print(e)",
        "from keras.src import backend\nbackend.nothing()",
    ],
)  # fmt: skip
def test_what_is_right_has_no_findings(code):
    assert codes(findings(code)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "While the map function runs on 4 threads, the GPU trains.",
        "The map runs on the CPU so that the GPU only trains.",
        "You should prefer the CPU for small tensors, as TensorFlow moves them at a cost.",
        "By default TensorFlow is faster on the CPU for small tensors.",
        "If the data exceeds GPU memory you have to fall back to the CPU.",
        "Contention arises when moving data between CPU and GPU.",
        "If an op lacks a GPU kernel, TensorFlow falls back to the CPU.",
        "TensorFlow does not choose the CPU by a cost analysis.",
    ],
)
def test_true_sentences_have_no_findings(sentence):
    code = "d = tf.data.Dataset.range(9).map(lambda i: i * 2)\nz = tf.matmul(x, y)"
    assert codes(findings(code, sentence)) == []
