"""Each rule reports its wrong example on the right line, and does not report its corrected example."""

import re
import textwrap

import pytest

from tuilab.documents import RULES, read
from tuilab.documents.api.tables import shipped
from tuilab.documents.rules import rule

HEAD = "import time\nimport numpy as np\nimport tensorflow as tf\n\n"
CHECKED = "print(tf.config.list_physical_devices('GPU'))\n"
TENSORS = "x = tf.random.normal((512, 512))\ny = tf.random.normal((512, 512))\n"

# By rule: text on the line that the rule reports in its docstring's wrong example. For prose, the text is
# the sentence.
AT = {
    "TL001": "lfilter", "TL002": "transpose", "TL003": "get_memory_info", "TL004": "info['used']", "TL005": "except",
    "TL006": "%timeit", "TL007": "tf.placeholder", "TL008": "tf.matmul(X", "TL009": "m.fit", "TL310": "ONEDNN", "TL101": "for _", "TL102": "z = tf.matmul", "TL103": "took",
    "TL104": "t = time", "TL105": "t = time", "TL106": "for _", "TL107": "t = time.time()", "TL108": "w = ",
    "TL109": "for b", "TL110": "for b in d:", "TL111": "u = ", "TL112": "a = s @ s", "TL113": "m.predict(x[:8])", "TL114": "h).numpy()", "TL115": "print('took'",
    "TL116": "for i", "TL117": "t = ", "TL118": "t = ", "TL119": "print('PyTorch'", "TL201": "time.sleep",
    "TL202": "tf.function", "TL301": "with tf.device", "TL302": "with tf.device", "TL303": ".map(f)",
    "TL304": "tf.constant", "TL305": "z = d @ d", "TL309": "with tf.device", "TL401": "TFRecordDataset",
}  # fmt: skip
PROSE = ("TL306", "TL307", "TL308")
# Rules that report only whole programs, because an article may omit code.
SCRIPTS = ("TL008",)


def document(code: str, after: str = "") -> bytes:
    """Return a document that contains this code, after a preamble that all tests share."""
    code = code.replace("START", "t = time.perf_counter()").replace("STOP", "print(time.perf_counter() - t)")
    return f"Text.\n\n```python\n{HEAD}{TENSORS}{code}\n```\n\n{after}\n".encode()


def findings(code: str, after: str = ""):
    report = read(document(code, after), shipped(), name="x.md")
    assert not [u for e in report.examples for u in e.unresolved if "not Python" in u.reason]
    return report


def codes(report) -> list[str]:
    return [f.code for example in report.examples for f in example.findings]


def example_of(known, text: str):
    if known.code in SCRIPTS:
        return read(f"{HEAD}{TENSORS}{text}\n".encode(), shipped(), name="x.py")
    return findings("z = tf.matmul(x, y)", text) if known.code in PROSE else findings(text)


def test_every_rule_has_a_line_to_be_found_on():
    assert {r.code for r in RULES} == set(AT) | set(PROSE)
    assert len({r.code for r in RULES}) == len(RULES)


@pytest.mark.parametrize("known", RULES, ids=lambda r: r.code)
def test_it_finds_its_wrong_example_on_its_line(known):
    report = example_of(known, known.wrong)
    found = [f for example in report.examples for f in example.findings if f.code == known.code]
    assert [AT.get(known.code, known.wrong) in report.lines[f.line - 1] for f in found] == [True]
    assert found[0].message and found[0].remedy


@pytest.mark.parametrize("known", RULES, ids=lambda r: r.code)
def test_it_is_silent_on_its_right_example(known):
    assert known.code not in codes(example_of(known, known.right))


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
    assert name in found.message and re.search(rf"(?:name is|renamed to) {re.escape(near)}$", found.message)
    assert near in shipped().names


def test_without_a_table_names_are_reported_as_not_checked():
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


def test_a_finding_in_a_helper_is_on_the_helpers_line():
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


@pytest.mark.parametrize(
    "code",
    [
        # a time limit, a lap, and a timer whose two readings are in different methods
        "end = time.perf_counter() + 5\nwhile time.perf_counter() < end:\n    tf.matmul(x, y)",
        "START\nwhile time.perf_counter() - t < 5:\n    tf.matmul(x, y)",
        "START\nfor q in jobs:\n    left = 300 - (time.perf_counter() - t)\n    q.join(left)",
        "class Bar:\n    def __init__(self): self.t = time.perf_counter()\n"
        "    def update(self): print(time.perf_counter() - self.t)\nb = Bar()",
        # timers that are defined in this file and used in others
        "def timed(f):\n    def g(*a):\n        START\n        r = f(*a)\n        STOP\n        return r\n    return g",
        "import contextlib\n@contextlib.contextmanager\ndef timed():\n    START\n    yield\n    STOP",
        # a robust statistic, so the first sample may come from a first call
        "s = []\nfor _ in range(50):\n    START\n    tf.matmul(x, y).numpy()\n    s.append(time.perf_counter() - t)\n"
        "print(np.median(s))",
        # Python code without TensorFlow is work too
        "START\nn = sum(i * i for i in range(10 ** 6))\nSTOP",
        "START\nrows = sorted(open('f'))\nSTOP",
        # one function per device, each created once
        "for g in tf.config.list_logical_devices('GPU'):\n    with tf.device(g.name):\n"
        "        f = tf.function(lambda v: v * 2.0)\n        f(x)",
        # this code shows tracing on purpose
        "@tf.function\ndef f(v):\n    print('Tracing with', v)\n    return v * 2.0\nf(x)",
        # this Python code really runs for every element
        "d = tf.data.Dataset.range(9).map(lambda i: tf.py_function(lambda: time.sleep(1), [], tf.int64))",
        # With hidden GPUs, no wait is needed. An earlier training call warms up, and making labels from
        # zeros takes negligible time.
        "m = tf.keras.Sequential([tf.keras.layers.Dense(3)])\nm.compile(loss='mse')\nm.fit(x, y)\nSTART\n"
        "m.fit(x, tf.zeros((512, 3)))\nSTOP",
        "try:\n    tf.config.experimental.set_memory_growth(gpu, True)\nexcept RuntimeError as e:\n    print(e)",
        "from keras.src import backend\nbackend.nothing()",
    ],
)  # fmt: skip
def test_correct_code_has_no_findings(code):
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


@pytest.mark.parametrize(
    "code, late",
    [
        ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'", True),
        ("import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'", False),
        ("import os, subprocess\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\nsubprocess.run('x')", False),
        ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\nos.system('python x.py')", False),
    ],
)
def test_late_environment_variable_is_reported(code, late):
    assert ("TL310" in codes(findings(code))) == late
