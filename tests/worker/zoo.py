"""Thirty kinds of model files that the module `twenty` lacks. tuilab must measure each file, or reject it
with a message.

`python -m tests.worker.zoo FOLDER` writes the files. `tests/worker/keras_2` contains files written by Keras
2, and the script that wrote them.
"""

import inspect
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.worker.twenty import Save, saved

OLD = Path(__file__).with_name("keras_2")
OWN = """
import keras


@keras.saving.register_keras_serializable("own")
class Net(keras.Model):
    def __init__(self, width=8, **kwargs):
        super().__init__(**kwargs)
        self.width, self.first, self.second = width, keras.layers.Dense(width, "relu"), keras.layers.Dense(2)

    def call(self, x):
        return self.second(self.first(x))

    def get_config(self):
        return {**super().get_config(), "width": self.width}


@keras.saving.register_keras_serializable("own")
def cubic(y, predicted):
    return keras.ops.mean(keras.ops.abs(y - predicted) ** 3)


@keras.saving.register_keras_serializable("own")
def swish2(x):
    return x * keras.ops.sigmoid(2 * x)
"""
"""A user's own classes and functions, passed with `--code`."""


@dataclass(frozen=True)
class Kind:
    """A kind of model file. If `refused` is set, tuilab must reject the file with a message that contains
    these words; otherwise it measures the file with `values`.

    says: words from a sentence about the measured model. inputs: a description of each input's contents.
    code: the file for `--code`. given: the arguments of `--input`.
    """

    save: Save
    values: tuple[tuple[str, int], ...] = (("batch", 4),)
    refused: str = ""
    says: str = ""
    inputs: tuple[str, ...] = ()
    code: bool = False
    given: tuple[str, ...] = ()


def with_layers(*inputs: tuple[tuple[int | None, ...], str, str]) -> Callable[[Callable[..., Any]], Save]:
    """Return a decorator that turns a function of Keras and the inputs into a functional model. inputs:
    shape, dtype and name of each.
    """

    def decorate(make: Callable[..., Any]) -> Save:
        def model(keras: Any) -> Any:
            given = [keras.Input(shape, dtype=dtype, name=name) for shape, dtype, name in inputs]
            return keras.Model(given if len(given) > 1 else given[0], make(keras, *given))

        return saved(model)

    return decorate


@with_layers(((6,), "int32", "ids"))
def large_table(keras: Any, ids: Any) -> Any:
    return keras.layers.Flatten()(keras.layers.Embedding(400_000, 4)(ids))


@with_layers(((6,), "float32", "ids"))
def float_ids(keras: Any, ids: Any) -> Any:
    return keras.layers.Flatten()(keras.layers.Embedding(5_000, 4)(ids))


@with_layers(((3,), "int32", "ids"))
def two_columns(keras: Any, ids: Any) -> Any:
    user, item = keras.layers.Embedding(3_000, 4)(ids[:, 0]), keras.layers.Embedding(7, 4)(ids[:, 1])
    return keras.layers.Dot(-1)([user, item])


@with_layers(((6,), "int32", "ids"), ((6,), "int32", "attention_mask"), ((6,), "int32", "segments"))
def with_mask(keras: Any, ids: Any, mask: Any, segments: Any) -> Any:
    x = keras.layers.Embedding(3_000, 4)(ids) + keras.layers.Embedding(2, 4)(segments)
    return x * keras.ops.expand_dims(keras.ops.cast(mask, "float32"), -1)


@with_layers(((6,), "int32", "tags"))
def multi_hot(keras: Any, tags: Any) -> Any:
    return keras.layers.CategoryEncoding(12, output_mode="multi_hot")(tags)


@with_layers(((6,), "int32", "ids"))
def hashed(keras: Any, ids: Any) -> Any:
    return keras.layers.Flatten()(keras.layers.Embedding(500, 2)(keras.layers.Hashing(500)(ids)))


@with_layers(((6,), "string", "names"))
def hashed_words(keras: Any, names: Any) -> Any:
    return keras.layers.Flatten()(keras.layers.Embedding(500, 2)(keras.layers.Hashing(500)(names)))


@with_layers(((6,), "int64", "codes"))
def integer_lookup(keras: Any, codes: Any) -> Any:
    looked = keras.layers.IntegerLookup(vocabulary=[1_001, 2_001, 70_000])(codes)
    return keras.layers.Flatten()(keras.layers.Embedding(4, 2)(looked))


@with_layers(((1,), "string", "text"))
def text_vectors(keras: Any, text: Any) -> Any:
    words = keras.layers.TextVectorization(vocabulary=["red", "blue", "green"], output_sequence_length=5)(
        text
    )
    return keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(5, 2)(words))


def adapted(keras: Any) -> Any:
    layers = keras.layers
    text, name, age = keras.Input((1,), dtype="string"), keras.Input((2,), dtype="string"), keras.Input((3,))
    words, key = layers.TextVectorization(output_sequence_length=5), layers.StringLookup()
    scale, bins = layers.Normalization(), layers.Discretization(num_bins=4)
    words.adapt(["red blue", "green blue"])
    key.adapt(["Ann", "Bo", "Cy"])
    scale.adapt(np.array([[1.0, 2.0, 30.0], [3.0, 4.0, 90.0]]))
    bins.adapt(np.array([1.0, 2.0, 4.0, 9.0, 16.0]))
    parts = [layers.Flatten()(layers.Embedding(9, 2)(each)) for each in (words(text), key(name), bins(age))]
    inner = keras.Sequential([keras.Input((3,)), scale])
    return keras.Model([text, name, age], layers.Dense(1)(layers.Concatenate()([*parts, inner(age)])))


@with_layers(((1,), "float32", "age"))
def buckets(keras: Any, age: Any) -> Any:
    binned = keras.layers.Discretization(bin_boundaries=[0.2, 0.5, 0.8])(age)
    return keras.layers.Flatten()(keras.layers.Embedding(4, 2)(binned))


@with_layers(((6, 6, 6, 1), "float32", "volume"))
def volumes(keras: Any, volume: Any) -> Any:
    return keras.layers.GlobalAveragePooling3D()(keras.layers.Conv3D(2, 3)(volume))


@with_layers(((3, 8, 8, 1), "float32", "frames"))
def conv_lstm(keras: Any, frames: Any) -> Any:
    return keras.layers.Flatten()(keras.layers.ConvLSTM2D(2, 3)(frames))


@with_layers(((16, 16, 3), "float32", "image"))
def separable(keras: Any, image: Any) -> Any:
    x = keras.layers.SeparableConv2D(8, 3, dilation_rate=2)(image)
    return keras.layers.GlobalMaxPooling2D()(keras.layers.DepthwiseConv2D(3)(x))


@with_layers(((10, 4), "float32", "series"))
def bidirectional(keras: Any, series: Any) -> Any:
    x = keras.layers.Masking(0.0)(series)
    return keras.layers.Dense(1)(keras.layers.Bidirectional(keras.layers.GRU(6))(x))


@with_layers(((10, 8), "float32", "query"), ((12, 8), "float32", "value"))
def attention(keras: Any, query: Any, value: Any) -> Any:
    return keras.layers.AdditiveAttention()([query, value])


@with_layers(((10, 8), "float32", "series"))
def over_time(keras: Any, series: Any) -> Any:
    return keras.layers.TimeDistributed(keras.layers.Dense(3))(series)


def stateful(keras: Any) -> Any:
    given = keras.Input(batch_shape=(2, 5, 3))
    return keras.Model(given, keras.layers.LSTM(4, stateful=True)(given))


def nested(keras: Any) -> Any:
    block = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8), keras.layers.BatchNormalization()])
    given = keras.Input((8,))
    return keras.Model(given, {"mean": block(block(given)), "logit": keras.layers.Dense(1)(given)})


def half(keras: Any) -> Any:
    return keras.Sequential([keras.Input((8,), dtype="float16"), keras.layers.Dense(4, dtype="float16")])


def low_rank(keras: Any) -> Any:
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(16)])
    model.layers[0].enable_lora(2)
    return model


def ragged(keras: Any) -> Any:
    ids = keras.Input((None,), dtype="int32", ragged=True, name="ids")
    return keras.Model(ids, keras.ops.mean(keras.layers.Embedding(500, 4)(ids), axis=1))


def sparse(keras: Any) -> Any:
    given = keras.Input((10,), sparse=True, name="counts")
    return keras.Model(given, keras.layers.Dense(2)(given))


def weights_only(tf: Any, folder: Path) -> Path:
    tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)]).save_weights(
        folder / "m.weights.h5"
    )
    return folder / "m.weights.h5"


def _own(folder: Path) -> dict[str, Any]:
    """Write a file with the user's own code, and return the names that the code defines.

    The code registers its objects in Keras under the folder's name, which must be unique, because a worker
    keeps the classes that an earlier `--code` registered.
    """
    text = OWN.replace('"own"', f'"{folder.name}"')
    (folder / "own.py").write_text(text)
    room: dict[str, Any] = {}
    exec(text, room)
    return room


def own_class(tf: Any, folder: Path) -> Path:
    model = _own(folder)["Net"](6)
    model(tf.zeros((1, 5)))
    model.save(folder / "model.keras")
    return folder / "model.keras"


def own_class_unbuilt(tf: Any, folder: Path) -> Path:
    _own(folder)["Net"](6).save(folder / "model.keras")
    return folder / "model.keras"


def own_loss(tf: Any, folder: Path) -> Path:
    model = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(2)])
    model.compile("adam", _own(folder)["cubic"])
    model.save(folder / "model.keras")
    return folder / "model.keras"


def own_activation(tf: Any, folder: Path) -> Path:
    own = _own(folder)["swish2"]
    tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(2, own)]).save(folder / "model.keras")
    return folder / "model.keras"


def graph(*signature: Any) -> Callable[[Callable[..., Any]], Save]:
    """Return a decorator that saves a function as a SavedModel. The function receives TensorFlow, a lookup
    table (a variable) and the inputs.
    """

    def decorate(make: Callable[..., Any]) -> Save:
        def save(tf: Any, folder: Path) -> Path:
            root = tf.Module()
            root.table = tf.Variable(tf.random.stateless_normal((600, 8), (1, 2)))
            specs = [each(tf) if callable(each) else tf.TensorSpec(*each) for each in signature]

            def call(*inputs: Any) -> Any:
                return {"out": make(tf, root.table, *inputs)}

            # TensorFlow names the inputs of a signature after the function's parameters.
            own = inspect.signature(make)
            names = [each.replace(annotation=own.empty) for each in own.parameters.values()][2:]
            call.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
            made = tf.function(call, input_signature=specs).get_concrete_function()
            tf.saved_model.save(root, str(folder / "graph"), signatures=made)
            return folder / "graph"

        return save

    return decorate


@graph(lambda tf: tf.RaggedTensorSpec([None, None], tf.int32))
def ragged_graph(tf: Any, table: Any, ids: Any) -> Any:
    return tf.reduce_sum(tf.ragged.map_flat_values(tf.gather, table, ids), 1)


@graph(lambda tf: tf.SparseTensorSpec([None, 600], tf.float32))
def sparse_graph(tf: Any, table: Any, counts: Any) -> Any:
    return tf.sparse.sparse_dense_matmul(counts, table)


@graph(([None], "string"))
def examples(tf: Any, table: Any, records: Any) -> Any:
    found = tf.io.parse_example(records, {"id": tf.io.FixedLenFeature([], tf.int64, 0)})
    return tf.gather(table, found["id"])


@graph(([None, 4], "int64"), ([None], "int32"))
def classes(tf: Any, table: Any, ids: Any, labels: Any) -> Any:
    logits = tf.reduce_sum(tf.gather(table, ids), 1)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


@graph(([4, 8], "float32"))
def fixed(tf: Any, table: Any, x: Any) -> Any:
    return tf.linalg.matmul(x, table, transpose_b=True)


@graph((None, "float32"))
def any_rank(tf: Any, table: Any, x: Any) -> Any:
    return x * 2.0


def no_signature(tf: Any, folder: Path) -> Path:
    root = tf.Module()
    root.v = tf.Variable(1.0)
    tf.saved_model.save(root, str(folder / "graph"))
    return folder / "graph"


def of_tf_1(tf: Any, folder: Path) -> Path:
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 6], name="x")
        w = v1.get_variable("w", initializer=v1.ones((6, 3)), use_resource=False)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder / "graph"), {"x": x}, {"y": tf.matmul(x, w)})
    return folder / "graph"


def of_keras_2(name: str) -> Save:
    def save(tf: Any, folder: Path) -> Path:
        source = OLD / name
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        return Path(copy(source, folder / name))

    return save


BATCHLESS: tuple[tuple[str, int], ...] = ()
KINDS: dict[str, Kind] = {
    "large table": Kind(large_table, inputs=("integers from 0 to 399,999",)),
    "ids as floats": Kind(float_ids, inputs=("integers from 0 to 4,999",)),
    "a table for each column": Kind(
        two_columns, inputs=("integers from 0 to 6, up to 2,999 in column 0, up to 6 in column 1",)
    ),
    "ids, mask and segments": Kind(
        with_mask, inputs=("integers from 0 to 2,999", "random zeros and ones", "integers from 0 to 1")
    ),
    "multi-hot": Kind(multi_hot, inputs=("integers from 0 to 11",)),
    "hashed integers": Kind(hashed, inputs=("integers from 0 to 7,999",)),
    "hashed words": Kind(hashed_words, inputs=("8,000 different words",)),
    "integer lookup": Kind(integer_lookup, inputs=("keys from its table",)),
    "text vectorization": Kind(text_vectors, inputs=("words from its vocabulary",)),
    "discretization": Kind(buckets),
    "adapted layers": Kind(saved(adapted)),
    "3-D convolution": Kind(volumes),
    "ConvLSTM": Kind(conv_lstm),
    "separable and dilated": Kind(separable),
    "masked bidirectional": Kind(bidirectional),
    "additive attention": Kind(attention),
    "time distributed": Kind(over_time),
    "stateful LSTM": Kind(saved(stateful), BATCHLESS),
    "nested and shared, outputs by name": Kind(saved(nested)),
    "float16 layers": Kind(saved(half)),
    "LoRA": Kind(saved(low_rank)),
    "ragged": Kind(saved(ragged), inputs=("integers from 0 to 499", "row splits of ids")),
    "sparse": Kind(saved(sparse), says="measured with dense numbers"),
    "weights alone": Kind(weights_only, refused="weights alone"),
    "subclassed, with its class": Kind(own_class, code=True),
    "subclassed, of no known shape": Kind(own_class_unbuilt, code=True, refused="--input NAME="),
    "subclassed, given a shape": Kind(own_class_unbuilt, code=True, given=("x=float32[batch=4,5]",)),
    "subclassed, without its class": Kind(own_class, refused="--code"),
    "own loss, without it": Kind(own_loss, says="compile settings in the file cannot be restored"),
    "own loss, with it": Kind(own_loss, code=True),
    "own activation": Kind(own_activation, code=True),
    "ragged signature": Kind(ragged_graph, inputs=("integers from 0 to 599", "row splits of ids")),
    "sparse signature": Kind(sparse_graph, refused="--data FILE.npz"),
    "serialized examples": Kind(examples, refused="--data"),
    "labels of classes": Kind(classes, inputs=("integers from 0 to 599", "integers from 0 to 7")),
    "fixed batch": Kind(fixed, BATCHLESS),
    "unknown rank": Kind(any_rank, refused="--input"),
    "unknown rank, given one": Kind(any_rank, given=("x=float32[batch=4,3]",)),
    "a shape that is stated": Kind(fixed, refused="no shape: the model defines", given=("x=float32[2]",)),
    "no signature": Kind(no_signature, refused="no signature"),
    "of TensorFlow 1": Kind(of_tf_1),
    "Keras 2 .h5, convolutions": Kind(of_keras_2("convolutions.h5")),
    "Keras 2 .h5, LSTM": Kind(of_keras_2("lstm.h5"), refused="saved by Keras 2"),
    "Keras 2 .keras": Kind(of_keras_2("functional.keras"), refused="saved by Keras 2"),
    "Keras 2 SavedModel": Kind(of_keras_2("saved"), says="Keras 2"),
}


def write(folder: Path) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    for number, (name, kind) in enumerate(KINDS.items()):
        place = folder / f"{number:02}"
        place.mkdir(parents=True)
        print(f"{kind.save(tf, place)}: {name}")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
