"""Model files of strangers: what they may do when they are opened."""

import os
import uuid
from pathlib import Path

import pytest

from tests.conftest import Worker
from tuilab import landlock
from tuilab.model import events, requests
from tuilab.model.scenario import Opening

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]

UNGUARDED = """
from tuilab.worker.models import keras_file, saved_model

saved_model._examine = lambda *given: ()
keras_file.examine = lambda *given: None
"""
"""Own code that switches the allow lists off in its worker."""


def opened(worker: Worker, file: Path, opening: Opening) -> str:
    """Why the worker refuses the file; "" if it opens it, and how it ended if it did."""
    identity = uuid.uuid4().hex
    worker.send(requests.Declare(id=identity, file=str(file), opening=opening))
    try:
        while True:
            event = worker.next()
            if isinstance(event, events.Refused):
                return event.message
            if isinstance(event, events.Declared):
                return ""
    except pytest.fail.Exception as ended:
        return str(ended)


def saved(tf, folder: Path, name: str, function) -> Path:
    root = tf.Module()
    root.f = tf.function(function, input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    tf.saved_model.save(root, str(folder / name), signatures=root.f.get_concrete_function())
    return folder / name


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_sandbox_alone_stops_files_from_acting(tf, worker, tmp_path):
    outside, secret, unguarded = tmp_path / "outside", tmp_path / "secret", tmp_path / "code" / "unguarded.py"
    unguarded.parent.mkdir()
    outside.mkdir()
    unguarded.write_text(UNGUARDED)
    secret.write_text("a secret")

    def writes(x):
        with tf.control_dependencies([tf.io.write_file(str(outside / "written"), "x")]):
            return {"y": x * 2}

    def caches(x):
        counted = tf.data.Dataset.range(3).cache(str(outside / "cached"))
        return {"y": x * tf.cast(counted.reduce(tf.constant(0, tf.int64), lambda a, b: a + b), tf.float32)}

    def records(x):
        data = tf.data.Dataset.from_tensors(tf.constant("x"))._variant_tensor
        name = str(outside / "recorded")
        done = tf.raw_ops.DatasetToTFRecord(input_dataset=data, filename=name, compression_type="")
        with tf.control_dependencies([done]):
            return {"y": x * 2}

    def reads(x):
        return {"y": x * tf.cast(tf.strings.length(tf.io.read_file(str(secret))), tf.float32)}

    for function in (writes, caches, records, reads):
        model = saved(tf, tmp_path / "models", function.__name__, function)
        said = opened(worker, model, Opening(code=str(unguarded)))
        assert "Permission" in said, (function.__name__, said)
        assert os.listdir(outside) == []
        # The same file does what it says where nothing holds it.
        if function is not reads:
            assert opened(worker, model, Opening(trust=True)) == ""
            for each in outside.iterdir():
                each.unlink()
