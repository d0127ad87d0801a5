"""Inputs for fuzzing: noise, broken documents, and Python that looks like benchmarks."""

from hypothesis import strategies as st

from tests.documents.expected import documents

SOURCES = [document.read_bytes() for document in documents()]
NAMES = ("x.md", "x.txt", "x.py", "x.ipynb", "", "000_x.txt", "x.rst")

IMPORTS = (
    "import tensorflow as tf", "import numpy as np", "import time, timeit", "from tensorflow import keras",
    "import tuilab_canary_never_imported", "from tuilab_canary_never_imported import *", "import zlib",
    "from time import perf_counter as now",
)  # fmt: skip
VALUES = (
    "tf.random.normal((n, n))", "np.random.rand(n, 8)", "n ** n ** n", "-n << 4096", "'%1000000000d' % n",
    "f'{n:>999999999}'", "[0] * 10 ** 9", "'a' * 10 ** 9", "range(10 ** 12)", "tf.zeros([2] * 40)", "x @ x",
    "x[..., None, 1:n:-1]", "x[10 ** 9]", "tf.function(f, jit_compile=True)",
    "tf.data.Dataset.from_tensor_slices((x, y)).map(f).batch(n).prefetch(-1)",
    "tf.signal.stft(x, n, n // 2, pad_end=True)", "time.time()", "now() - x", "time.time() - x", "x.numpy()",
    "f(*x, **y)", "lambda *a, **k: f(*a, **k)", "{'a': x, **y}", "[f(i) for i in x if i]", "(yield x)",
    "timeit.timeit('f(x)', number=n)", "timeit.repeat(f)", "zlib.compress(x.numpy().tobytes())",
    "open('tuilab-canary', 'w').write('no')", "exec('raise SystemExit')",
    "__import__('tuilab_canary_never_imported')",
    "tf.keras.Sequential([tf.keras.layers.Conv2D(n, 3)]).fit(x, y)",
    "tf.config.experimental.get_memory_info('GPU:0')['used']", "x if n else y", "not x", "n / 0",
    "iter(next(x))", "x.y.z", "super().f()", "1j * n", "b'\\xff' + b''", "x == y != n", "x and y or n",
    "tf.reshape(x, [-1, n])", "tf.transpose(x, [9, 9])", "np.zeros(-5)", "tf.linspace(0., 1., n)",
)  # fmt: skip
TARGETS = ("x", "y", "n", "x, y", "*x, y", "x[0]", "x.a", "x[n:]", "f", "(x, (y, n))")
# First lines of compound statements, which a body follows.
COMPOUND = (
    ("for i in range(n):",),
    ("for x in y:", "else:"),
    ("for n in (1, 2, 4):",),
    ("for i, (x, y) in enumerate(zip(x, y)):",),
    ("while x:",),
    ("with tf.device('/GPU:0'):",),
    ("with tf.device('/CPU:0'), x as y:",),
    ("if x:", "elif y > n:", "else:"),
    ("if n:",),
    ("def f(x, y=n, *z, k=1, **w):",),
    ("@tf.function\ndef f(x):",),
    ("@contextlib.contextmanager\ndef f(x):",),
    ("class A(keras.Model):\n  def __init__(self, n=3):", "  def call(self, x):"),
    ("class B:\n  def __enter__(self):", "  def __exit__(self, *x):"),
    ("try:", "except RuntimeError:"),
    ("try:", "except (MemoryError, ValueError) as x:", "finally:"),
    ("match x:\n  case [a, *b]:",),
    ("async def f():",),
)
LINES = (
    "pass", "return x", "break", "continue", "raise", "global n", "nonlocal x", "del x", "assert x",
    "print(x, n)", "%timeit f(x)", "%%timeit", "!rm -rf /", "x += 1", "f()", "A().fit(x)", "```", "```python",
    "\x1b]0;title\x07", "# GPU \u202e",
)  # fmt: skip


simple = st.one_of(
    st.tuples(st.sampled_from(TARGETS), st.sampled_from(VALUES)).map(" = ".join),
    st.sampled_from(VALUES),
    st.sampled_from(LINES),
    st.sampled_from(("t = time.time()", "t = now()", "print(time.time() - t)", "x = (now() - t) / n")),
)


def _under(head: str, body: str) -> str:
    last = head.split("\n")[-1]
    margin = " " * (len(last) - len(last.lstrip()) + 4)
    return head + "\n" + "\n".join(margin + line for line in body.split("\n"))


def _block(draw: st.DrawFn, depth: int) -> str:
    out = []
    for _ in range(draw(st.integers(1, 4 - depth))):
        if depth < 3 and draw(st.integers(0, 2)) == 0:
            heads = draw(st.sampled_from(COMPOUND))
            out += [_under(head, _block(draw, depth + 1)) for head in heads]
        else:
            out.append(draw(simple))
    return "\n".join(out)


@st.composite
def programs(draw: st.DrawFn) -> bytes:
    imports = draw(st.permutations(IMPORTS))[: draw(st.integers(4, len(IMPORTS)))]
    head = [*imports, f"n = {draw(st.integers(-3, 5000))}", "x = y = tf.ones((n, 4))", "f = tf.tanh"]
    text = "\n".join([*head, _block(draw, 0)])
    if draw(st.booleans()):
        text = f"Text\n\n```python\n{text}\n```\nThe GPU is faster than the CPU."
    return text.encode()


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    data = draw(st.sampled_from(SOURCES))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 400)))
        piece = data[start:stop]
        action = draw(st.integers(0, 3))
        if action == 0:
            data = data[:start] + data[stop:]
        elif action == 1:
            data = data[:stop] + piece + data[stop:]
        elif action == 2:
            data = data[:start] + draw(st.binary(max_size=12)) + data[start:]
        else:
            data = data[stop:] + data[:stop]
    return data


inputs = st.one_of(
    st.binary(max_size=400),
    st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass")),
    broken(),
    programs(),
    programs(),
)
names = st.sampled_from(NAMES)
