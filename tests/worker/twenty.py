"""Creates twenty-one typical models without downloading weights, and saves each to a file or folder."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Save = Callable[[Any, Path], Path]
"""Takes TensorFlow and an empty folder, saves a model there, and returns the model's file or folder."""

SCALE = """
import keras


@keras.saving.register_keras_serializable("own")
class Scale(keras.layers.Layer):
    def build(self, shape):
        self.by = self.add_weight(shape=(shape[-1],), initializer="ones", name="by")

    def call(self, x):
        return x * self.by
"""
"""A user's own layer, passed with `--code`."""


@dataclass(frozen=True)
class Made:
    """A model and the expected results.

    parameters: names of the model's parameters except the dtype. lacks: for each mode or combination that
    cannot run, such as `("xla", "training")`, words from the reason. trains: True if the model has a training
    step. signature: appended to the folder's name. small: True if the model is quick to measure.
    """

    save: Save
    parameters: tuple[str, ...] = ("batch",)
    trains: bool = True
    lacks: dict[tuple[str, ...], str] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=lambda: {"batch": 4})
    signature: str = ""
    code: str = ""
    small: bool = False


def saved(make: Callable[[Any], Any]) -> Save:
    def save(tf: Any, folder: Path) -> Path:
        tf.keras.utils.set_random_seed(1)
        path = folder / "model.keras"
        make(tf.keras).save(path)
        return path

    return save


def dense(keras: Any) -> Any:
    layers = keras.layers
    given = keras.Input((20,))
    model = keras.Model(
        given, layers.Dense(3, activation="softmax")(layers.Dense(16, activation="relu")(given))
    )
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def application(name: str) -> Callable[[Any], Any]:
    return lambda keras: getattr(keras.applications, name)(weights=None, input_shape=(64, 64, 3), classes=10)


def recurrent(kind: str) -> Callable[[Any], Any]:
    def make(keras: Any) -> Any:
        given = keras.Input((None, 8))
        return keras.Model(given, keras.layers.Dense(1)(getattr(keras.layers, kind)(12)(given)))

    return make


def transformer(keras: Any) -> Any:
    layers = keras.layers
    x = given = keras.Input((None, 32))
    for _ in range(2):
        x = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(4, 8)(x, x)]))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dense(32)(layers.Dense(64, "gelu")(x))]))
    return keras.Model(given, layers.Dense(4)(x))


def u_net(keras: Any) -> Any:
    layers = keras.layers
    x = given = keras.Input((None, None, 3))
    kept = []
    for width in (8, 16):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    for width in (16, 8):
        x = layers.Conv2DTranspose(width, 2, strides=2)(x)
        x = layers.Conv2D(width, 3, padding="same")(layers.Concatenate()([x, kept.pop()]))
    return keras.Model(given, layers.Conv2D(1, 1, activation="sigmoid")(x))


def autoencoder(keras: Any) -> Any:
    layers = keras.layers
    encoder = keras.Sequential(
        [keras.Input((64,)), layers.Dense(16, "relu"), layers.Dense(4)], name="encoder"
    )
    decoder = keras.Sequential(
        [keras.Input((4,)), layers.Dense(16, "relu"), layers.Dense(64)], name="decoder"
    )
    model = keras.Sequential([keras.Input((64,)), encoder, decoder])
    model.compile("adam", "mse")
    return model


def embedding(keras: Any) -> Any:
    given = keras.Input((None,), dtype="int32", name="ids")
    x = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(17, 8)(given))
    return keras.Model(given, keras.layers.Dense(2, activation="softmax")(x))


def many(keras: Any) -> Any:
    layers = keras.layers
    a, b = keras.Input((4,), name="a"), keras.Input((6,), name="b")
    both = layers.Concatenate()([a, b])
    return keras.Model(
        [a, b], [layers.Dense(2, name="p")(both), layers.Dense(1, name="q")(a), layers.Dense(3)(b)]
    )


def heads(keras: Any) -> Any:
    layers = keras.layers
    given = keras.Input((10,))
    body = layers.Dense(16, activation="relu")(given)
    kind, age = layers.Dense(5, activation="softmax", name="kind")(body), layers.Dense(1, name="age")(body)
    model = keras.Model(given, {"kind": kind, "age": age})
    model.compile("adam", {"kind": "sparse_categorical_crossentropy", "age": "mse"})
    return model


def shared(keras: Any) -> Any:
    layers = keras.layers
    tower = layers.Dense(8, name="tower")
    a, b = keras.Input((6,), name="left"), keras.Input((6,), name="right")
    return keras.Model([a, b], layers.Dot(1)([tower(a), tower(b)]))


def augmenting(keras: Any) -> Any:
    layers = keras.layers
    scale = layers.Normalization(mean=[0.4, 0.5, 0.6], variance=[0.1, 0.1, 0.1])
    model = keras.Sequential(
        [keras.Input((16, 16, 3)), layers.Rescaling(1 / 255), scale, layers.RandomFlip(), layers.RandomRotation(0.1),
         layers.Conv2D(4, 3), layers.GlobalMaxPooling2D(), layers.Dense(2)]
    )  # fmt: skip
    model.compile("adam", "mse")
    return model


def strings(keras: Any) -> Any:
    layers = keras.layers
    given = keras.Input((), dtype="string", name="word")
    x = layers.StringLookup(vocabulary=["cat", "dog", "house"])(given)
    return keras.Model(given, layers.Dense(2)(layers.Embedding(4, 3)(x)))


def quantised(keras: Any) -> Any:
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(3)])
    model.quantize("int8")
    return model


def custom(tf: Any, folder: Path) -> Path:
    (folder / "own.py").write_text(SCALE)
    room: dict[str, Any] = {}
    exec(SCALE, room)
    layers = tf.keras.layers
    given = tf.keras.Input((12,))
    tf.keras.Model(given, layers.Dense(2)(room["Scale"](name="scale")(given))).save(folder / "model.keras")
    return folder / "model.keras"


def subclassed(tf: Any, folder: Path) -> Path:
    class Own(tf.keras.Model):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(2)

        def call(self, x: Any) -> Any:
            return self.second(self.first(x))

    model = Own()
    model(tf.zeros((1, 5)))
    tf.saved_model.save(
        model,
        str(folder / "graph"),
        signatures=tf.function(lambda x: {"y": model(x)}).get_concrete_function(
            tf.TensorSpec([None, 5], tf.float32)
        ),
    )
    return folder / "graph"


def several(tf: Any, folder: Path) -> Path:
    root = tf.Module()
    root.table = tf.Variable(tf.random.stateless_normal((30, 6), (1, 2)))
    spec = tf.TensorSpec([None], tf.int64)
    embed = tf.function(lambda ids: {"vector": tf.gather(root.table, ids % 30)}).get_concrete_function(spec)
    near = tf.function(
        lambda ids: {"scores": tf.gather(root.table, ids % 30) @ tf.transpose(root.table)}
    ).get_concrete_function(spec)
    tf.saved_model.save(root, str(folder / "graph"), signatures={"embed": embed, "near": near})
    return folder / "graph"


def looping(tf: Any, folder: Path) -> Path:
    root = tf.Module()
    root.by = tf.Variable(tf.linalg.qr(tf.random.stateless_normal((16, 16), (1, 2)))[0])

    def powers(x: Any) -> Any:
        i = tf.constant(0)
        return {"y": tf.while_loop(lambda i, x: i < 7, lambda i, x: (i + 1, x @ root.by), (i, x))[1]}

    concrete = tf.function(powers).get_concrete_function(tf.TensorSpec([None, 16], tf.float32))
    tf.saved_model.save(root, str(folder / "graph"), signatures=concrete)
    return folder / "graph"


def exported(tf: Any, folder: Path) -> Path:
    dense(tf.keras).export(str(folder / "graph"), verbose=False)
    return folder / "graph"


NO_HALF = {
    ("inference", "mixed_float16"): "only in float32 and bfloat16",
    ("training", "mixed_float16"): "only in float32 and bfloat16",
    ("training", "mixed_bfloat16"): "gradients",
}
NO_STRINGS = {("xla",): "takes strings"}
LONG = {"batch": 4, "length": 12}
GRAPH = {"trains": False}

MODELS: dict[str, Made] = {
    "dense": Made(saved(dense), small=True),
    "ResNet50": Made(saved(application("ResNet50"))),
    "MobileNetV3": Made(saved(application("MobileNetV3Small"))),
    "EfficientNet": Made(saved(application("EfficientNetB0"))),
    "LSTM": Made(saved(recurrent("LSTM")), ("batch", "length"), values=LONG),
    "GRU": Made(saved(recurrent("GRU")), ("batch", "length"), values=LONG),
    "transformer": Made(saved(transformer), ("batch", "length"), values=LONG),
    "U-Net": Made(saved(u_net), ("batch", "height", "width"), values={"batch": 2, "height": 16, "width": 16}),
    "autoencoder": Made(saved(autoencoder)),
    "embedding": Made(saved(embedding), ("batch", "length"), values=LONG),
    "two inputs, three outputs": Made(saved(many), small=True),
    "two heads": Made(saved(heads)),
    "shared": Made(saved(shared)),
    "augmenting": Made(saved(augmenting), lacks={("xla", "training"): "XLA has no ImageProjectiveTransformV3"}),
    "strings": Made(saved(strings), lacks=NO_STRINGS, small=True),
    "quantised": Made(saved(quantised), lacks=NO_HALF),
    "own layer": Made(custom, code="own.py"),
    "subclassed": Made(subclassed, **GRAPH),
    "several signatures": Made(several, signature="near", **GRAPH),
    "loop": Made(looping, small=True, **GRAPH),
    "exported": Made(exported, small=True, **GRAPH),
}  # fmt: skip
