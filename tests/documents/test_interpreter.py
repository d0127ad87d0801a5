import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.documents import read
from tuilab.documents.api.tables import shipped
from tuilab.documents.interpreter import read_program
from tuilab.documents.interpreter.program import Code
from tuilab.documents.interpreter.values import Known, Tensor, Unknown
from tuilab.documents.reading.parse import parse

HEAD = "import numpy as np, time\nimport tensorflow as tf\n"


def trace_of(code: str):
    parsed = parse((HEAD + code).split("\n"), 1)
    assert not parsed.broken
    return read_program([Code(1, parsed.statements, "", 1, parsed.size)], shipped())


def shown(expression: str, before: str = ""):
    trace = trace_of(f"{before}\ntf.no_op(name=({expression}))")
    (event,) = [e for e in trace.events if e.name == "tf.no_op"]
    return event.arguments["name"]


def shape(expression: str, before: str = "") -> tuple:
    value = shown(expression, before)
    assert isinstance(value, Tensor), value
    return value.shape, value.dtype


@pytest.mark.parametrize(
    "expression, before, value",
    [
        ("2 ** 10 // 3 + 1", "", 342),
        ("n * m", "n, (m, *rest) = 3, [4, 5, 6]", 12),
        ("f'{a}-{b:>9}'", "a = 1; b = 'x'", "1-x"),
        ("size('large')", "def size(kind, *, base=64): return base * 2 if kind == 'large' else base", 128),
        ("C(3).area()", "class C:\n    k = 2\n    def __init__(self, n): self.n = n\n"
                        "    def area(self): return self.n ** self.k", 9),
        ("cfg['b'][1]", "cfg = {'a': 1, **{'b': (2, 3)}}", 3),
        ("x.shape[0] * x.shape[-1]", "x = tf.zeros((4, 5, 6))", 24),
        ("len(xs) + max(xs)", "xs = [1, 2, 3]", 6),
        ("(lambda a, b=2: a + b)(1)", "", 3),
        ("p(y=4)", "from functools import partial\ndef f(x, y): return x + y\np = partial(f, 3)", 7),
        ("w", "if True:\n    w = 1\nelse:\n    w = 2", 1),
        ("int(1e3)", "", 1000),
        ("a or 5", "a = None", 5),
        ("a and 5", "a = 0", 0),
        ("g()", "k = 1\ndef g():\n    global k\n    k = 7\n    return k", 7),
        ("'AbC'.lower()", "", "abc"),
        ("'GPU:0'.startswith('GPU')", "", True),
        ("'a-b'.replace('-', '_')", "", "a_b"),
        ("'a b'.split()[1]", "", "b"),
        ("d.get('x', 5)", "d = {'y': 1}", 5),
        ("len(d)", "d = {'y': 1}\nd.update({'z': 2})", 2),
        ("[v for _, v in d.items()][0]", "d = {'y': 3}", 3),
        ("len(xs)", "xs = [1]\nxs.append(2)\nxs.extend([3, 4])\nys = xs.copy()", 4),
        ("getattr(c, 'n')", "class C:\n    def __init__(self): self.n = 4\nc = C()", 4),
        ("isinstance(3, int)", "", True),
        ("dict(a=1)['a']", "", 1),
        ("tuple(zip([1, 2], [3, 4]))[1][0]", "", 2),
        ("next(iter([7, 8]))", "", 7),
        ("sum([1, 2, 3]) + min(4, 2)", "", 8),
        ("with_state", "class T:\n    def __enter__(self): return 6\n    def __exit__(self, *a): pass\n"
                       "with T() as with_state: pass", 6),
    ],
)  # fmt: skip
def test_constants(expression, before, value):
    assert shown(expression, before) == Known(value)


@pytest.mark.parametrize(
    "expression, before, reason",
    [
        ("nowhere", "", "nowhere is not defined"),
        ("x", "import sys\nx = int(sys.argv[1])", ""),
        ("w", "import random\nif random.random() > .5:\n    w = 1\nelse:\n    w = 2", "condition"),
        ("f(1)", "def f(n): return n * f(n - 1)", ""),
        ("2 ** 2 ** 2 ** 2 ** 9", "", "the checker does not compute"),
        ("'a' * 10 ** 9", "", "the checker does not compute"),
        ("i", "for i in range(100): pass", "changes"),
        ("os.environ['X']", "import os", "environment"),
    ],
)
def test_an_unknown_value_has_a_reason(expression, before, reason):
    value = shown(expression, before)
    assert isinstance(value, Unknown) and reason in value.reason


@pytest.mark.parametrize(
    "expression, before, expected",
    [
        ("tf.random.normal([2, 3])", "", ((2, 3), "float32")),
        ("tf.constant([[1, 2], [3, 4]])", "", ((2, 2), "int32")),
        ("tf.constant(1.5, shape=(4,), dtype=tf.half)", "", ((4,), "float16")),
        ("np.random.rand(3, 4).astype('float32')", "", ((3, 4), "float32")),
        ("np.random.rand(n, *s)", "n, s = 5, (6, 7)", ((5, 6, 7), "float64")),
        ("tf.zeros((2, 3)) @ tf.zeros((3, 5))", "", ((2, 5), "float32")),
        ("tf.linalg.matmul(a, a, transpose_a=True)", "a = tf.zeros((2, 3))", ((3, 3), "float32")),
        ("tf.matmul(a, a, False, True)", "a = tf.zeros((2, 3))", ((2, 2), "float32")),
        ("tf.zeros((4, 1)) + tf.zeros((3,))", "", ((4, 3), "float32")),
        ("tf.cast(tf.zeros(3), tf.float64) * 2", "", ((3,), "float64")),
        ("tf.reshape(tf.zeros((4, 6)), [-1, 3])", "", ((8, 3), "float32")),
        ("tf.zeros((4, 6))[..., None]", "", ((4, 6, 1), "float32")),
        ("tf.zeros((4, 6))[0]", "", ((6,), "float32")),
        ("tf.zeros((9, 6))[2:5]", "", ((3, 6), "float32")),
        ("tf.transpose(tf.zeros((2, 3, 4)), perm=[0, 2, 1])", "", ((2, 4, 3), "float32")),
        ("tf.concat([tf.zeros((2, 3)), tf.ones((4, 3))], 0)", "", ((6, 3), "float32")),
        ("np.asarray([[1.0] * 4096])", "", ((1, 4096), "float64")),
        (
            "f(tf.zeros((8, 2)))",
            "@tf.function\ndef f(x):\n    return tf.reduce_sum(x, axis=1)",
            ((8,), "float32"),
        ),
        ("np.random.default_rng(1).standard_normal((3, 2), dtype=np.float32)", "", ((3, 2), "float32")),
    ],
)
def test_shapes_and_dtypes(expression, before, expected):
    assert shape(expression, before) == expected


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4), st.lists(st.integers(1, 9), min_size=1, max_size=4)
)
def test_broadcasting_is_numpys(one, other):
    """Compares the result with NumPy's if the two shapes can be broadcast."""
    import numpy as np

    try:
        wanted = np.broadcast_shapes(tuple(one), tuple(other))
    except ValueError:
        return
    assert shape(f"tf.zeros({one}) + tf.zeros({other})")[0] == wanted


@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-5, 5))
def test_ranges_count_as_pythons(start, stop, step):
    if step:
        assert shown(f"len(range({start}, {stop}, {step}))") == Known(len(range(start, stop, step)))


@given(
    st.recursive(
        st.integers(0, 50).map(str),
        lambda inner: st.tuples(inner, st.sampled_from("+-*%"), inner).map(lambda t: f"({' '.join(t)})"),
        max_leaves=8,
    )
)
def test_arithmetic_is_pythons(expression):
    try:
        wanted = eval(expression)
    except ZeroDivisionError:
        assert isinstance(shown(expression), Unknown)
        return
    assert shown(expression) == Known(wanted)


def ops(code: str) -> list:
    return [e for e in trace_of(code).events if e.kind in ("op", "graph")]


def test_device_scopes_reach_into_calls_and_not_beyond():
    code = (
        "def f(): return tf.exp(tf.zeros(3))\n"
        "with tf.device('/GPU:0'):\n    f()\n    with tf.device('CPU:0'):\n        f()\nf()\n"
        "for d in ('/CPU:0', '/device:GPU:1'):\n    with tf.device(d): f()\n"
        "d = 'GPU:0' if tf.config.list_physical_devices('GPU') else 'CPU:0'\nwith tf.device(d): f()\n"
    )
    exps = [e.place.families for e in ops(code) if e.name == "tf.exp"]
    assert exps == [("GPU",), ("CPU",), (), ("CPU",), ("GPU",), ("GPU", "CPU")]


def test_loops_multiply_and_few_known_items_are_read_one_by_one():
    code = "for i in range(100):\n    for n in [2, 3]:\n        tf.exp(tf.zeros((n, n)))\n"
    found = [e for e in ops(code) if e.name == "tf.exp"]
    assert [(e.result.shape, e.place.repeats) for e in found] == [((2, 2), 100), ((3, 3), 100)]


def test_both_branches_of_an_unknown_condition_are_read():
    code = "if tf.config.list_physical_devices():\n    tf.exp(tf.zeros(1))\nelse:\n    tf.sin(tf.zeros(2))\n"
    assert [e.name for e in ops(code)] == ["tf.exp", "tf.sin"]


def test_a_traced_function_and_its_graph():
    code = "@tf.function(jit_compile=True)\ndef f(x): return tf.exp(x)\nf(tf.zeros(3))\n"
    exp, graph = ops(code)
    assert exp.place.traced.by == "tf.function" and exp.place.traced.graph.jit is True
    assert (graph.kind, graph.place.traced) == ("graph", None)


def test_decorators_wrap():
    code = (
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(*a, **k):\n        f(*a, **k)\n"
        "        return f(*a, **k)\n    return g\n@twice\ndef h(x): return tf.exp(x)\nh(tf.zeros(3))\n"
    )
    assert [e.name for e in ops(code)] == ["tf.exp", "tf.exp"]


def test_context_managers_of_both_kinds_time_their_body():
    code = (
        "from contextlib import contextmanager as cm\n@cm\ndef timed():\n    t = time.time()\n    yield\n"
        "    print(time.time() - t)\n"
        "class Timer:\n    def __enter__(self):\n        self.t = time.perf_counter()\n        return self\n"
        "    def __exit__(self, *a):\n        self.took = time.perf_counter() - self.t\n"
        "with timed(): tf.exp(tf.zeros(3))\nwith Timer() as t: tf.sin(tf.zeros(3))\n"
    )
    trace = trace_of(code)
    assert [[e.name for e in trace.inside(r) if e.kind == "op"] for r in trace.regions] == [
        ["tf.exp"],
        ["tf.sin"],
    ]
    assert [r.clock for r in trace.regions] == ["time.time", "time.perf_counter"]


def test_a_time_limit_is_no_measurement():
    code = "t = time.time()\nwhile time.time() - t < 5:\n    tf.exp(tf.zeros(3))\n"
    assert trace_of(code).regions == []


def test_functions_that_nothing_calls_are_read_too():
    code = "class A:\n    def go(self, x):\n        with tf.device('/GPU:0'):\n            return tf.exp(x)\n"
    assert [e.name for e in ops(code)] == ["tf.exp"]


def test_state_carries_from_example_to_example():
    text = "```python\nx = tf.zeros((70, 70))\n```\n\n```python\ny = tf.matmul(x, x)\n```\n"
    report = read(text.encode(), shipped(), name="x.md")
    assert [(e.number, [p.parameters["m"] for p in e.presets]) for e in report.examples] == [
        (1, []),
        (2, [70]),
    ]


def test_shortened_examples_know_the_usual_names():
    assert [e.name for e in ops("")] == []
    report = read(
        b"```python\ny = tf.matmul(tf.ones((30, 30)), tf.ones((30, 30)))\n```", shipped(), name="x.md"
    )
    assert [p.workload for p in report.presets] == ["matmul"]


@pytest.mark.parametrize(
    "expression, before, made",
    [
        ("x.reshape(3, -1)", "x = np.zeros((60,), np.float32)", ((3, 20), "float32")),
        ("x.transpose()", "x = np.zeros((3, 4))", ((4, 3), "float64")),
        ("x.astype(np.float32)", "x = np.zeros((3, 4))", ((3, 4), "float32")),
        ("x.numpy().copy()", "x = tf.zeros((2, 5))", ((2, 5), "float32")),
        ("x.get_shape()[1] * tf.ones((2,))", "x = tf.zeros((2, 5))", ((2,), "float32")),
        ("x.gpu()", "x = tf.zeros((2, 5))", ((2, 5), "float32")),
        ("next(iter(d))", "d = tf.data.Dataset.from_tensor_slices(tf.zeros((9, 4))).batch(3)", ((3, 4), "float32")),
        ("next(iter(d))[1]", "d = tf.data.Dataset.range(9).enumerate().batch(2)", ((2,), "int64")),
        ("next(iter(d))[0]", "d = tf.data.Dataset.zip((tf.data.Dataset.from_tensors(tf.ones((3,))), tf.data.Dataset.range(2)))",
         ((3,), "float32")),
        ("next(iter(d))['a']", "d = tf.data.Dataset.from_tensor_slices({'a': tf.zeros((9, 4))}).batch(3)", ((3, 4), "float32")),
        ("next(iter(d))", "d = tf.data.Dataset.range(9).map(lambda v: tf.cast(v, tf.float32)).filter(lambda v: v > 0).batch(4)",
         ((4,), "float32")),
    ],
)  # fmt: skip
def test_methods_of_tensors_and_what_pipelines_yield(expression, before, made):
    assert shape(expression, before) == made
