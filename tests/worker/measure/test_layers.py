"""Each op of a graph is assigned to its layer by the op's name, and each layer's work equals a count by
hand.
"""

from typing import Any

import pytest

from tuilab.profile.classify import Key
from tuilab.profile.sums import Sums
from tuilab.worker.measure.counting import PRODUCTS, Part, flop, uncounted
from tuilab.worker.measure.layers import Layers, layers_of
from tuilab.worker.measure.work import of_function
from tuilab.worker.models.keras_file import layers_by_name

pytestmark = pytest.mark.real_worker
BATCH, WIDTH = 4, 32


def counted(tf: Any, function: Any, *inputs: Any) -> Any:
    return of_function(tf.function(function).get_concrete_function(*inputs), inputs)


def timed(found: Any, *spent: tuple[str, str, float]) -> Sums:
    """Return a profile of computing ops. spent: name, type and time of each op."""
    out = Sums([(0, 100)], calls=[{"compute": sum(each for _, _, each in spent), "dispatch": 10.0}])
    out.each = [{Key(op, name, "CPU"): each for name, op, each in spent}]
    out.computed |= set(out.each[0])
    return out


@pytest.fixture(scope="module")
def net(tf: Any) -> Any:
    layers = tf.keras.layers
    inner = tf.keras.Sequential([layers.Dense(8, name="dense"), layers.ReLU(name="relu")], name="inner")
    shared = layers.Dense(WIDTH, name="dense_1")
    x = given = tf.keras.Input((WIDTH,))
    x = shared(shared(layers.Dense(WIDTH, name="dense")(x)))
    return tf.keras.Model(given, inner(x), name="net")


def test_work_is_assigned_to_its_layer_for_each_call(tf, net):
    x = tf.ones((BATCH, WIDTH))
    found = counted(tf, lambda x: net(x), x)
    layers = {each.name: each for each in layers_of(found, timed(found), layers_by_name(net))}
    product = 2 * BATCH * WIDTH * WIDTH + BATCH * WIDTH
    assert layers["dense"].work.flop == product
    assert layers["dense_1"].work.flop == 2 * product
    assert layers["inner/dense"].work.flop == 2 * BATCH * WIDTH * 8 + BATCH * 8
    assert (layers["inner/relu"].kind, layers["inner/relu"].work.flop) == ("ReLU", BATCH * 8)
    # the bytes of the layer's weights, its input and its output
    assert layers["dense"].work.bytes == 4 * (WIDTH * WIDTH + WIDTH + 2 * BATCH * WIDTH)
    assert sum(each.work.flop for each in layers.values()) == sum(flop(found.parts).values())


def test_gradients_belong_to_their_layer_and_optimizer_reads_to_the_optimizer(tf, net):
    x, y = tf.ones((BATCH, WIDTH)), tf.ones((BATCH, 8))
    net.compile("adam", "mse")
    net.optimizer.build(net.trainable_variables)
    net.train_step((x, y))
    found = counted(tf, lambda x, y: net.train_step((x, y)), x, y)
    layers = {each.name: each for each in layers_of(found, timed(found), layers_by_name(net))}
    # Three products: the forward product, and the gradients with respect to input and weights.
    assert layers["dense_1"].work.flop == pytest.approx(3 * 2 * 2 * BATCH * WIDTH * WIDTH, rel=0.05)
    name = net.optimizer.name
    assert (layers[name].kind, layers["compile_loss"].kind) == ("optimizer", "loss")
    whose = Layers(layers_by_name(net), found.parts)
    assert whose.of(f"{name}/Cast_3/ReadVariableOp", "ReadVariableOp") == (name, "optimizer")


def test_a_fused_kernel_belongs_to_the_layer_of_its_product(tf, net):
    x = tf.ones((BATCH, WIDTH))
    found = counted(tf, lambda x: net(x), x)
    relu = next(part.name for part in found.parts if part.op == "Relu")
    spent = timed(
        found, (relu, "_FusedMatMul", 30.0), ("StatefulPartitionedCall/" + relu, "_FusedMatMul", 20.0)
    )
    layers = {each.name: each for each in layers_of(found, spent, layers_by_name(net))}
    assert layers["inner/dense"].computing == 1.0 and layers["inner/relu"].computing == 0.0


def test_names_without_numbers_are_not_changed():
    tree = {"dense": "Dense", "dense_1": "Dense", "conv": "Conv2D"}

    def whose(*names: str) -> list[str]:
        parts = [Part(f"{name}/MatMul", "MatMul", "float32", 1, 1.0, {}, {}) for name in names]
        return [Layers(tree, parts).of(part.name, part.op)[0] for part in parts]

    assert whose("net/dense", "net/dense_1", "net/conv") == ["dense", "dense_1", "conv"]
    assert whose("net_1/dense_1", "net_1/dense_1_1", "net_1/conv_1") == ["dense", "dense_1", "conv"]
    assert whose("gradient_tape/net/conv", "net/conv", "compile_loss/conv") == [
        "conv",
        "conv",
        "compile_loss",
    ]


def test_a_graph_without_layers_is_split_by_its_scopes(tf, net, tmp_path):
    net.export(str(tmp_path), verbose=False)
    held = tf.saved_model.load(str(tmp_path))
    loaded = held.signatures["serving_default"]
    name = next(iter(loaded.structured_input_signature[1]))
    x = tf.ones((BATCH, WIDTH))
    found = counted(tf, lambda x: loaded(**{name: x}), x)
    assert not uncounted(found.parts), "the size of a SavedModel's variables is known when they are read"
    layers = {each.name.removesuffix("_1"): each for each in layers_of(found, timed(found), None)}
    assert layers["inner"].kind == "MatMul"
    assert layers["inner"].work.flop == 2 * BATCH * WIDTH * 8 + 2 * BATCH * 8
    assert sum(each.work.flop for each in layers.values()) == pytest.approx(
        3 * (2 * BATCH * WIDTH * WIDTH + BATCH * WIDTH) + layers["inner"].work.flop
    )


def test_the_layers_of_a_transformer_match_the_count_by_hand(tf):
    layers, width, length = tf.keras.layers, 128, 20
    given = tf.keras.Input((length, width))
    x = layers.MultiHeadAttention(4, width // 4, name="attend")(given, given)
    x = layers.LayerNormalization(name="norm")(layers.Add(name="sum")([x, given]))
    model = tf.keras.Model(given, layers.Dense(4 * width, activation="relu", name="up")(x), name="encoder")
    x = tf.ones((BATCH, length, width))
    found = counted(tf, lambda x: model(x), x)
    told = {each.name: each for each in layers_of(found, timed(found), layers_by_name(model))}
    tokens = BATCH * length
    assert told["attend"].work.flop == pytest.approx(
        4 * 2 * tokens * width * width + 2 * 2 * tokens * length * width, rel=0.05
    )
    assert told["up"].work.flop == pytest.approx(2 * tokens * width * 4 * width, rel=0.05)
    assert {each.kind for each in told.values()} >= {
        "MultiHeadAttention",
        "LayerNormalization",
        "Add",
        "Dense",
    }


def test_resnet_50_matches_the_published_count(tf):
    """He et al. 2015, table 1: 3.8 · 10⁹ multiply-adds per image of 224 × 224."""
    model = tf.keras.applications.ResNet50(weights=None)
    x = tf.zeros((1, 224, 224, 3))
    found = counted(tf, lambda x: model(x), x)
    told = layers_of(found, timed(found), layers_by_name(model))
    assert sum(each.work.flop or 0.0 for each in told) == pytest.approx(2 * 3.8e9, rel=0.05)
    assert sum(each.work.flop or 0.0 for each in told) == pytest.approx(
        sum(flop(found.parts).values()), rel=1e-6
    )
    first = next(each for each in told if each.name == "conv1_conv")
    assert first.work.flop == pytest.approx(2 * 112 * 112 * 7 * 7 * 3 * 64, rel=0.01)
    assert not any(each.work.uncounted for each in told)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("MobileNetV3Small", 56e6),
        pytest.param("MobileNetV3Large", 219e6, marks=pytest.mark.long),
        pytest.param("EfficientNetB0", 0.39e9, marks=pytest.mark.long),
    ],
)
def test_products_match_the_published_counts(tf, name, published):
    """Howard et al. 2019, table 3, and Tan and Le 2019, table 2: multiply-adds, without elementwise work."""
    model = getattr(tf.keras.applications, name)(weights=None, input_shape=(224, 224, 3))
    x = tf.zeros((1, 224, 224, 3))
    found = counted(tf, lambda x: model(x), x)
    products = sum(part.flop or 0.0 for part in found.parts if part.op in PRODUCTS)
    assert products == pytest.approx(2 * published, rel=0.05)
    told = layers_of(found, timed(found), layers_by_name(model))
    whole = sum(each.work.flop or 0.0 for each in told)
    assert products < whole < 1.1 * products and whole == pytest.approx(
        sum(flop(found.parts).values()), rel=1e-6
    )


def test_an_encoder_matches_the_count_by_hand(tf):
    """Matrix products per token and layer: the four projections of the attention, its scores and its weighted
    sum, and the two dense layers after it.
    """
    layers, width, wide, length, depth = tf.keras.layers, 256, 1024, 128, 4
    x = given = tf.keras.Input((length, width))
    for _ in range(depth):
        x = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(4, width // 4)(x, x)]))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dense(width)(layers.Dense(wide, "relu")(x))]))
    model = tf.keras.Model(given, x)
    x = tf.zeros((2, length, width))
    found = counted(tf, lambda x: model(x), x)
    told = layers_of(found, timed(found), layers_by_name(model))
    by_hand = 2 * length * depth * (4 * 2 * width**2 + 2 * 2 * length * width + 2 * 2 * width * wide)
    assert sum(each.work.flop or 0.0 for each in told) == pytest.approx(by_hand, rel=0.05)


def test_a_saved_recurrent_layer_runs_once_for_each_input_step(tf, tmp_path):
    layers = tf.keras.layers
    given = tf.keras.Input((None, WIDTH))
    tf.keras.Model(given, layers.GRU(WIDTH)(given)).export(str(tmp_path), verbose=False)
    held = tf.saved_model.load(str(tmp_path))
    loaded = held.signatures["serving_default"]
    name = next(iter(loaded.structured_input_signature[1]))
    x = tf.ones((BATCH, 20, WIDTH))
    found = counted(tf, lambda x: loaded(**{name: x}), x)
    products = [part for part in found.parts if part.op == "MatMul"]
    assert [part.runs for part in products] == [20, 20]


def test_launches_of_a_loop_belong_to_its_layer(tf: Any) -> None:
    layers = tf.keras.layers
    stack = [layers.LSTM(4, return_sequences=True, name="first"), layers.LSTM(4, name="second")]
    model = tf.keras.Sequential([tf.keras.Input((10, 4)), *stack, layers.Dense(2, name="dense")])
    x = tf.ones((1, 10, 4))
    found = counted(tf, lambda x: model(x), x)
    told = {each.name: each.looping for each in layers_of(found, timed(found), layers_by_name(model), 0.8)}
    assert told["first"] == pytest.approx(told["second"], rel=0.1) and told["dense"] == 0.0
    assert 0.6 < told["first"] + told["second"] < 0.8


def test_an_interrupted_call_does_not_change_a_layers_share(tf, net):
    """Another program held up `dense` in one of seven calls."""
    x = tf.ones((BATCH, WIDTH))
    found = counted(tf, lambda x: net(x), x)
    names = [part.name for part in found.parts if part.op == "MatMul"]
    first, second = (Key("MatMul", name, "CPU") for name in (names[0], names[-1]))
    each = [{first: 10.0, second: 90.0} for _ in range(6)] + [{first: 300.0, second: 90.0}]
    spent = Sums([(0, 100)] * 7, calls=[{"compute": sum(ops.values())} for ops in each], each=each)
    spent.computed |= {first, second}
    layers = {layer.name: layer for layer in layers_of(found, spent, layers_by_name(net))}
    assert (layers["dense"].computing, layers["inner/dense"].computing) == pytest.approx((0.1, 0.9))
    assert layers["dense"].computing_ends == pytest.approx((0.1, 300 / 390)), "seven calls have wide limits"
