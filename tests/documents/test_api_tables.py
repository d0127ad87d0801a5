"""A worker creates the table of TensorFlow's names, a cache stores it for each version, and tuilab ships it
for the pinned version.
"""

import lzma
import sys

import msgspec
import pytest

from tests.conftest import Worker
from tuilab.documents.api import tables
from tuilab.model.api import ApiTable, Signature

TABLE = ApiTable(
    version="9.8.7",
    names=("tf.a", "tf.a.b"),
    signatures={"tf.a.b": Signature(("x",), 1)},
    renames={"tf.old": "tf.a"},
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "folder", lambda: tmp_path)
    return tmp_path


def test_a_table_is_kept_for_its_version(cache):
    assert tables.load("9.8.7") is None
    target = tables.save(TABLE)
    assert target.parent == cache and "9.8.7" in target.name
    assert tables.load("9.8.7") == TABLE
    assert tables.load("9.8.6") is None


def test_a_damaged_or_foreign_file_is_no_table(cache):
    target = tables.file_for("9.8.7")
    for data in (b"", b"junk", lzma.compress(b"{}"), lzma.compress(msgspec.json.encode(TABLE))[:-20]):
        target.write_bytes(data)
        assert tables.load("9.8.7") is None
    target.write_bytes(tables.pack(msgspec.structs.replace(TABLE, version="1.2.3")))
    assert tables.load("9.8.7") is None


def test_a_version_is_no_path():
    for version in ("../../x", "", "a/b", "2.21.0\n"):
        with pytest.raises(ValueError):
            tables.file_for(version)
        assert tables.load(version) is None


def test_the_shipped_table_serves_its_version_only():
    assert tables.load(tables.SHIPPED_VERSION) is tables.shipped()
    assert tables.shipped().version == tables.SHIPPED_VERSION


def test_the_shipped_table_knows_what_articles_use():
    table = tables.shipped()
    names = set(table.names)
    there = (
        "signal.stft data.Dataset.map io.decode_compressed test.experimental.sync_devices keras.layers.Conv2D"
    )
    there += " compat.v1.Session errors.ResourceExhaustedError compat.v1.keras"
    assert {f"tf.{name}" for name in there.split()} <= names
    assert not names & {"tf.signal.lfilter", "tf.io.compress", "tf.Session", "tf.contrib"}
    assert table.signatures["tf.signal.stft"].parameters[:3] == ("signals", "frame_length", "frame_step")
    assert table.signatures["tf.data.Dataset.map"].parameters[0] == "map_func"
    assert "tensorflow.python.ops.math_ops" in table.modules
    assert list(table.names) == sorted(table.names)


MADE_WITH = (3, 11)
"""The Python version that made the shipped table. unittest's methods and the signatures of enums depend
on the version.
"""
OF_PYTHON = ("tf.test.TestCase.", "tf.types.experimental.FunctionType.")


def of_tensorflow(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not name.startswith(OF_PYTHON)]


@pytest.mark.real_worker
def test_the_shipped_table_is_what_a_worker_makes():
    """Runs only with the TensorFlow and Keras versions of the shipped table.

    Uses a new worker, because an imported Keras replaces `tf.saved_model` with its own module.
    """
    worker = Worker()
    try:
        (answer,) = worker.ask("api-table")
    finally:
        worker.close()
    made = msgspec.json.decode(answer.body, type=ApiTable)
    assert len(made.names) > 5_000
    known = tables.shipped()
    if (made.version, made.keras) != (known.version, known.keras):
        pytest.skip(f"TensorFlow {made.version} with Keras {made.keras} is not the shipped table's")
    assert of_tensorflow(made.names) == of_tensorflow(known.names)
    if sys.version_info[:2] == MADE_WITH:
        assert made.names == known.names and made.signatures == known.signatures
    # files and GPU kernels differ between wheels
    if made.gpu_dtypes:
        assert made.gpu_dtypes == known.gpu_dtypes
