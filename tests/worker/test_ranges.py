"""The valid ranges of a call's inputs, inferred from its graph."""

from pathlib import Path
from typing import Any

import pytest

from tests.worker.test_models import arm_build
from tuilab.model.shapes import checked, parse
from tuilab.worker.arguments import find
from tuilab.worker.models.inputs import Given, Spec
from tuilab.worker.ranges import PER_BUCKET, Range, read
from tuilab.worker.user import load

pytestmark = pytest.mark.real_worker
ROWS = 400_000


def found(tf: Any, call: Any, shape: Any = (None, 4), dtype: str = "int32", name: str = "ids") -> Range:
    (range_,) = read(tf, call, [tf.TensorSpec(shape, dtype)], [name])
    return range_


def test_a_table_gives_its_rows_through_casts_reshapes_and_called_functions(tf: Any) -> None:
    table = tf.Variable(tf.zeros((ROWS, 1)))
    inner = tf.function(lambda ids: tf.gather(table, tf.reshape(tf.cast(ids, tf.int64), [-1])))
    assert found(tf, inner) == Range(below=ROWS)
    looped = tf.function(
        lambda ids: tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x + tf.reduce_sum(inner(ids))), (0, 0.0)
        )
    )
    assert found(tf, looped) == Range(below=ROWS)
    assert found(tf, lambda ids: tf.gather(table, tf.cast(ids, tf.int32)), dtype="float32").below == ROWS


def test_an_offset_before_the_table_moves_the_range(tf: Any) -> None:
    table = tf.zeros((10, 2))
    assert found(tf, lambda ids: tf.gather(table, ids - 1)) == Range(low=1, below=11)
    assert found(tf, lambda ids: tf.gather(table, ids + 3)) == Range(below=7)


def test_each_column_has_the_range_of_its_own_table(tf: Any) -> None:
    user, item = tf.zeros((50, 2)), tf.zeros((7, 2))
    both = found(tf, lambda ids: tf.gather(user, ids[:, 0]) + tf.gather(item, ids[:, 2]))
    assert dict(both.columns) == {0: 50, 2: 7}
    unpacked = found(tf, lambda ids: tf.gather(user, tf.unstack(ids, axis=1)[3]))
    assert dict(unpacked.columns) == {3: 50}


@pytest.mark.parametrize(
    ("call", "range_"),
    [
        (lambda tf, x: tf.one_hot(x, 12), Range(below=12)),
        (lambda tf, x: tf.math.unsorted_segment_sum(tf.ones((4,)), x[0], 9), Range(below=9)),
        (lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(x, tf.ones((2, 4, 5))), Range(below=5)),
        (lambda tf, x: x % 30, Range(below=30 * PER_BUCKET)),
        (lambda tf, x: tf.strings.to_hash_bucket_fast(tf.strings.as_string(x), 8), Range(below=8 * PER_BUCKET)),
        (lambda tf, x: tf.cast(x, tf.bool), Range(flags=True)),
        (lambda tf, x: (1.0 - tf.cast(x, tf.float32)) * -1e9, Range(flags=True)),
        (lambda tf, x: tf.RaggedTensor.from_row_splits(tf.ones((6,)), x[0]).row_lengths(), Range(splits=True)),
        (lambda tf, x: tf.cast(x, tf.float32) * 2.0, Range()),
    ],
)  # fmt: skip
def test_ops_on_integers_give_their_range(tf: Any, call: Any, range_: Range) -> None:
    assert found(tf, lambda x: call(tf, x), shape=(2, 4)) == range_


def test_floats_are_no_masks_unless_they_are_named_so(tf: Any) -> None:
    assert found(tf, lambda x: 1.0 - x, dtype="float32", name="x") == Range()
    assert found(tf, lambda x: 1.0 - x, dtype="float32", name="padding_mask") == Range(flags=True)


def test_a_functions_integers_cover_the_table_that_its_sizes_give(tf: Any) -> None:
    def lookup(table: Any, ids: Any) -> Any:
        return tf.gather(table, ids)

    given = checked([parse("table=float32[rows=5000,2]"), parse("ids=int32[4000]")])
    arguments = find(lookup, "lookup", given, {})
    assert arguments is not None
    for rows in (5_000, 20):
        arguments.learn(tf, lookup, {"rows": rows})
        (_, ids), _ = arguments.filled(tf, {"rows": rows})
        assert 0.9 * rows < ids.max() + 1 <= rows


def test_a_models_ids_in_a_file_cover_its_table(tf: Any, tmp_path: Path) -> None:
    text = "import keras\nnet = keras.Sequential([keras.Input((8,), dtype='int32'), keras.layers.Embedding(300, 2)])"
    (tmp_path / "own.py").write_text(text)
    workload = load(f"{tmp_path}/own.py:net")
    (ids,) = workload.build(arm_build(tf, workload, batch=64)).arguments
    assert 250 < int(tf.reduce_max(ids)) < 300


def test_the_scale_of_an_integer_image_does_not_end_the_search_for_other_limits(tf: Any) -> None:
    """Only a call shows the limit of these ids, because a graph cannot read them."""
    table = tf.ones((50, 2))
    specs: list[Spec] = [("image", "uint8", (None, 4)), ("ids", "int32", (None,))]
    scaled = {"image": Range(most=255.0)}
    given = Given(tf, specs, "", lambda image, ids: tf.gather(table, ids.numpy()), scaled)
    given.probe()
    assert [each.values for each in given.described()] == ["integers from 0 to 255", "integers from 0 to 49"]
