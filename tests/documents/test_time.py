"""The time to check a document is proportional to its size. Each test compares two sizes."""

import time

import pytest

from tests.documents.expected import documents
from tuilab.documents import read
from tuilab.documents.api.tables import shipped

ARTICLES = "\n\n".join(d.read_text() for d in documents() if d.suffix == ".md")
USES = "x = tf.zeros((3, 3))\nwith tf.device('/GPU:0'):\n    y = tf.matmul(x, x)\n"
# A file name, and a text to repeat. The repetition adds lines, blocks, events or timings, or none of these.
GROWING = {
    "articles": (ARTICLES, "x.md"),
    "prose": ("TensorFlow chooses the CPU by cost. The GPU is faster than the CPU when small.\n", "x.md"),
    "one long line": ("if the transfer dominates a cpu map runs not on the gpu ", "x.md"),
    "fences": ("```python\nx = 1\n```\n", "x.md"),
    "unclosed fences": ("```python\n", "x.md"),
    "indented": ("text\n\n    x = f(1)\n\n", "x.md"),
    "script": (USES, "x.py"),
    "timings": ("t = time.time()\ny = tf.exp(tf.zeros(3))\nprint(time.time() - t)\n", "x.py"),
    "overlapping timings": ("print(time.time() - now)\n", "x.py"),
    "broken": ("x = = 1\n", "x.py"),
    "missing names": ("tf.foo.bar(1)\n", "x.py"),
    "pipelines": ("d = tf.data.Dataset.range(3).map(lambda v: v).batch(2)\nfor b in d: pass\n", "x.py"),
    "punctuation": ("#*`~> ", "x.md"),
}
HEAD = {"overlapping timings": "now = time.time()\n"}


def seconds(data: bytes, name: str, times: int = 2) -> float:
    took = []
    for _ in range(times):
        start = time.process_time()
        read(data, shipped(), name=name)
        took.append(time.process_time() - start)
    return min(took)


@pytest.mark.parametrize("kind", GROWING)
def test_four_times_the_text_takes_about_four_times_as_long(kind):
    piece, name = GROWING[kind]
    piece = "import time\nimport tensorflow as tf\n" * (name == "x.py") + HEAD.get(kind, "") + piece * 1
    unit = GROWING[kind][0]
    small = piece + unit * (8_000 // len(unit))
    large = piece + unit * (32_000 // len(unit))
    one, four = seconds(small.encode(), name), seconds(large.encode(), name)
    # Quadratic work would take sixteen times as long for four times the input. The limit allows 20 ms of
    # noise.
    assert four < 8 * one + 0.02, (one, four)


def test_ten_times_the_articles_take_no_longer_in_proportion():
    small, large = (ARTICLES * (size // len(ARTICLES)) for size in (25_000, 250_000))
    # Quadratic work would take a hundred times as long for ten times the input. Linear work may take up
    # to twenty times as long, because larger inputs need slower memory.
    assert seconds(large.encode(), "x.md", times=1) < 40 * seconds(small.encode(), "x.md") + 0.02
