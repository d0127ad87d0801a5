import json
import os
import subprocess
import sys

import pytest

from tests.attack.test_attack import linux, table
from tests.remote.server import REPOSITORY

AGAIN = """
import os, resource, sys
import tensorflow as tf
from tuilab.captured import capture

folder, limits = sys.argv[1], [int(word) for word in sys.argv[2:]]
weights = tf.Variable(tf.random.normal((4, 4)))

@tf.function
def step(x):
    return x @ weights

def tree():
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as stream:
                found[os.path.relpath(os.path.join(place, name), folder)] = stream.read()
    return found

x = tf.ones((2, 4))
capture(step, x, folder=folder)
failed = lost = left = 0
for limit in limits:
    before, most = tree(), resource.getrlimit(resource.RLIMIT_FSIZE)
    weights.assign(tf.random.normal((4, 4)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most[1]))
    try:
        capture(step, x, folder=folder)
    except Exception:
        failed += 1
        lost += tree() != before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    tf.saved_model.load(folder)
    left += len(os.listdir(os.path.dirname(folder))) - 1
print(failed, lost, left)
"""


def tree(folder):
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def test_a_failed_capture_keeps_the_previous_one(tf, tmp_path, monkeypatch):
    from tuilab.captured import MANIFEST, _held, capture

    folder = tmp_path / "captured" / "step"

    def step(*given):
        return tf.add_n(given)

    capture(step, tf.ones((2, 3)), folder=folder)
    before = tree(folder)
    real = tf.saved_model.save

    def half(*given, **more):
        real(*given, **more)
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(tf.saved_model, "save", half)
        with pytest.raises(tf.errors.ResourceExhaustedError):
            capture(step, tf.ones((2, 3)), folder=folder)
    with monkeypatch.context() as patch:
        patch.setattr("json.dumps", lambda *_, **__: 1 / 0)  # this file is written last
        with pytest.raises(ZeroDivisionError):
            capture(step, tf.ones((2, 3)), folder=folder)
    assert tree(folder) == before and os.listdir(folder.parent) == ["step"]
    killed, alive = (folder.parent / f".step.{number}.part" for number in (1, 2))
    for left in (killed, alive, folder.parent / ".step.1.old"):
        left.mkdir()
    with _held(alive):
        capture(step, tf.ones((2, 3)), tf.ones((2, 3)), folder=folder)
        assert sorted(os.listdir(folder.parent)) == [alive.name, "step"]
    alive.rmdir()
    found = json.loads((folder / MANIFEST).read_bytes())
    assert len(found["arguments"]) == 2 and os.listdir(folder.parent) == ["step"]


@linux
@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_write_that_fails_at_any_byte_leaves_a_whole_capture(tmp_path):
    folder = tmp_path / "place" / "step"
    folder.parent.mkdir()
    limits = list(range(0, 8_000, 200))
    words = [sys.executable, "-c", AGAIN, str(folder), *map(str, limits)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2_000:]
    failed, lost, left = map(int, done.stdout.split())
    table("captures on a full disk", trials=len(limits), failed=failed, lost=lost, orphans=left)
    assert failed
