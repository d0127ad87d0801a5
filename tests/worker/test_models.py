"""A model file in a real worker: declared correctly, measured in each arm, rejected if it would run
Python.
"""

import json
import os
import shutil
import subprocess
import sys
import uuid
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import fold
from tuilab.analysis.summary import summarise
from tuilab.model.arms import MODES, Arm, ArmSelection
from tuilab.model.errors import InputError
from tuilab.model.events import Declared, Refused
from tuilab.model.expand import expand
from tuilab.model.parameters import check_value, check_values
from tuilab.model.requests import Declare, Measure
from tuilab.model.scenario import AS_IT_IS, Axis, Budget, Opening, Scenario, Sweep
from tuilab.worker.build import ArmBuild
from tuilab.worker.context import Context
from tuilab.worker.models import open_model

pytestmark = pytest.mark.real_worker
SHORT = Budget(name="quick", warm_s=0.1, warm_limit_s=1.0, precision=0.05, rounds=20, limit_s=1.0)
TOUCH = Budget(name="quick", warm_s=0.0, warm_limit_s=0.05, precision=1.0, rounds=2, limit_s=0.2)

PEAK = """
import sys
from pathlib import Path

import tensorflow as tf


def resident(which):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(which + ":"))


net = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
name = next(iter(net.structured_input_signature[1]))
x = tf.zeros([int(size) for size in sys.argv[2:]])
net(**{name: x[:1]})
before = resident("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
net(**{name: x})
print(resident("VmHWM") - before)
"""
"""Program that prints the additional peak memory, in bytes, of a call of a SavedModel with an input of this
shape.
"""

MAKE = """
import keras
import numpy as np
import tensorflow as tf
import tuilab

layers = keras.layers
folder = FOLDER
net = keras.Sequential(
    [
        keras.Input((8, 8, 3), name="image"),
        layers.Rescaling(1 / 255),
        layers.Conv2D(4, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(5, activation="softmax"),
    ],
    name="net",
)
net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
net.save(folder + "/net.keras")
net.save(folder + "/net.h5")
ids = keras.Input((None,), dtype="int32", name="ids")
state = layers.GRU(4)(layers.Embedding(11, 6)(ids))
keras.Model(ids, layers.Dense(1, activation="sigmoid")(state), name="gru").save(folder + "/gru.keras")
keras.Model(ids, state).export(folder + "/gru_saved", verbose=False)
a, b = keras.Input((4,), name="a"), keras.Input((6,), name="b")
both = layers.Concatenate()([a, b])
keras.Model([a, b], [layers.Dense(2)(both), layers.Dense(1)(a), layers.Dense(3)(b)]).save(folder + "/many.keras")
leaves = lambda x: (open(RAN, "w").close(), x * 2)[1]
for kind in ("keras", "h5"):
    keras.Sequential([keras.Input((4,)), layers.Lambda(leaves)]).save(f"{folder}/lambda.{kind}")
x = keras.Input((None, None, 3))
halved = layers.UpSampling2D((4, 1))(layers.MaxPooling2D((4, 1))(x))
keras.Model(x, layers.Conv2D(1, (1, 3))(layers.Add()([x, halved]))).save(folder + "/pooled.keras")
q, mask = keras.Input((None, 8), name="q"), keras.Input((None, None), dtype="bool", name="mask")
keras.Model([q, mask], layers.MultiHeadAttention(2, 4)(q, q, attention_mask=mask)).save(folder + "/masked.keras")
optimizer = keras.optimizers.Adam()
optimizer.build(net.trainable_variables)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, net(x, training=True)))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


tuilab.capture(step, tf.zeros((2, 8, 8, 3)), tf.zeros((2,), tf.int32), folder=folder + "/step")


class Python(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def python(self, x):
        return tf.ensure_shape(tf.py_function(leaves, [x], tf.float32), [None])


class Writes(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def writes(self, x):
        tf.io.write_file(RAN, "x")
        return x


class Reads(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def reads(self, x):
        return x * tf.cast(tf.strings.length(tf.io.read_file(folder + "/net.h5")), tf.float32)


class Alone(tf.Module):
    @tf.function(input_signature=[])
    def alone(self):
        return tf.matmul(tf.ones((32, 32)), tf.random.normal((32, 32)))


python, writes, reads, alone = Python(), Writes(), Reads(), Alone()
tf.saved_model.save(alone, folder + "/alone", signatures={"f": alone.alone})
tf.saved_model.save(reads, folder + "/reads", signatures={"f": reads.reads})
tf.saved_model.save(python, folder + "/python", signatures={"f": python.python})
tf.saved_model.save(writes, folder + "/writes", signatures={"f": writes.writes})


def made(n: int = 1):
    return tf.ones((n,))
"""


def declare(worker, file, opening=AS_IT_IS):
    request = Declare(id=uuid.uuid4().hex, file=str(file), opening=opening)
    worker.send(request)
    while True:
        event = worker.next()
        if isinstance(event, Declared | Refused) and event.request == request.id:
            return event


def run(
    worker,
    file,
    opening=AS_IT_IS,
    modes=("graph",),
    variants=(),
    dtypes=(),
    phases=False,
    budget=TOUCH,
    sweep=None,
    **given,
):
    declaration = declare(worker, file, opening).declaration
    values = check_values(declaration.parameters, declaration.constraints, given)
    selection = ArmSelection(devices=("CPU",), modes=modes, variants=variants, dtypes=dtypes)
    request = Measure(
        id=uuid.uuid4().hex,
        scenario=Scenario(declaration.name, values, str(file), opening),
        arms=expand(selection, declaration, values, ("CPU:0",)),
        budget=budget,
        phases=phases,
        latency=False,
        sweep=sweep,
    )
    return fold(worker.measure(request))


@pytest.fixture(scope="module")
def models(worker, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    text = MAKE.replace("FOLDER", repr(str(folder))).replace("RAN", repr(str(folder / "ran")))
    (folder / "make.py").write_text(text)
    answer = declare(worker, f"{folder}/make.py:made")
    assert isinstance(answer, Declared), answer
    (folder / "ran").unlink()
    return folder


def test_a_compiled_model_runs_in_every_arm_and_describes_itself(worker, models):
    state = run(worker, models / "net.keras", modes=MODES, batch=3)
    assert {(a.arm.mode, a.arm.variant) for a in state.arms.values()} == {
        (mode, variant) for mode in ("eager", "graph", "xla") for variant in ("inference", "training")
    }
    for arm in state.arms.values():
        assert arm.status == "ok", f"{arm.label}: {arm.reason}\n{arm.detail}"
    assert state.model.parameters == 3 * 3 * 3 * 4 + 4 + 4 * 5 + 5
    (image,) = state.model.inputs
    assert (image.shape, image.dtype, image.values) == (
        ("batch", 8, 8, 3),
        "float32",
        "numbers from 0 to 255",
    )


@pytest.mark.parametrize(
    ("file", "parameters", "variants"),
    [
        ("net.h5", ["batch", "dtype"], 2),
        ("gru.keras", ["batch", "length", "dtype"], 2),
        ("gru_saved", ["batch", "length"], 0),
        ("gru_saved:serving_default", ["batch", "length"], 0),
        ("many.keras", ["batch", "dtype"], 2),
        ("masked.keras", ["batch", "length", "dtype"], 2),
        ("step", ["batch"], 0),
    ],
)
def test_open_dimensions_become_parameters(worker, models, file, parameters, variants):
    state = run(worker, models / file, batch=2)
    assert [p.name for p in declare(worker, models / file).declaration.parameters] == parameters
    assert len({a.arm.variant for a in state.arms.values()} - {""}) == variants
    for arm in state.arms.values():
        assert arm.status == "ok", f"{arm.label}: {arm.reason}\n{arm.detail}"
    if "gru" in file:
        assert state.model.inputs[0].values == "integers from 0 to 10"
    if "masked" in file:
        assert state.model.inputs[1].shape == ("batch", "length", "length")
        assert "Length also sets features: they must be equal." in state.model.said


def test_only_sizes_that_the_model_accepts_are_declared(worker, models):
    declared = {p.name: p for p in declare(worker, models / "pooled.keras").declaration.parameters}
    height, width = declared["height"], declared["width"]
    assert (height.multiple, height.low, height.default) == (4, 4, 224)
    assert (width.multiple, width.low) == (1, 2)
    with pytest.raises(InputError, match="a multiple of 4"):
        check_value(height, 18)


def test_a_signature_without_inputs_is_measured(worker, models):
    state = run(worker, models / "alone")
    assert [arm.status for arm in state.arms.values()] == ["ok"], state


def test_a_captured_step_names_its_origin(worker, models):
    state = run(worker, models / "step", modes=("graph", "xla"))
    assert (state.scenario.workload, state.scenario.parameters) == ("step", {"batch": 2}), (
        "name and batch size of the captured call"
    )
    assert {arm.status for arm in state.arms.values()} == {"ok"}
    assert state.model.kind == "captured" and [i.name for i in state.model.inputs] == ["x", "y"]
    assert state.model.inputs[1].values == "integers from 0 to 4"
    assert any("A batch of 2 runs the program's own graph" in said for said in state.model.said)


def test_given_inputs_are_used_and_checked(worker, models):
    np.savez(models / "ids.npz", ids=np.full((4, 70), 3))
    opening = Opening(data=str(models / "ids.npz"))
    assert run(worker, models / "gru.keras", opening).model.inputs[0].values == "given"
    np.savez(models / "short.npz", ids=np.full((4, 5), 3))
    short = run(worker, models / "gru.keras", Opening(data=str(models / "short.npz")))
    assert short.scenario.parameters["length"] == 5 and {a.status for a in short.arms.values()} == {"ok"}
    np.savez(models / "wrong.npz", ids=np.ones((4, 8, 8)))
    refused = declare(worker, models / "gru.keras", Opening(data=str(models / "wrong.npz")))
    assert isinstance(refused, Refused) and "the shape of ids" in refused.message


def hostile(folder, models, name):
    path = folder / f"{name}.keras"
    sound = (models / "net.keras").read_bytes()
    if name == "truncated":
        path.write_bytes(sound[: len(sound) // 2])
        return path
    if name == "empty":
        path.write_bytes(b"")
        return path
    with zipfile.ZipFile(models / "net.keras") as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    config = json.loads(members["config.json"])
    dense = config["config"]["layers"][-1]
    if name == "bomb":
        members["bomb"] = bytes(50_000_000)
    elif name == "climbs":
        members["../../climbs"] = b"x"
    elif name == "huge":
        dense["config"]["units"] = 10**12
    elif name == "module":
        dense |= {"module": "os", "class_name": "system", "registered_name": None}
    elif name == "custom":
        dense |= {"module": None, "class_name": "Mine", "registered_name": "me>Mine"}
    elif name == "newer":
        dense["class_name"] = "Hologram"
    elif name == "deep":
        members["config.json"] = b"[" * 200_000
    if name != "deep":
        members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, data in members.items():
            archive.writestr(each, data)
    return path


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("truncated", "a damaged archive"),
        ("empty", "a damaged archive"),
        ("bomb", "unpacks from"),
        ("climbs", "names inside the archive"),
        ("huge", "asks for"),
        ("module", "not among the Keras parts"),
        ("custom", "--code FILE.py"),
        ("newer", "Hologram"),
        ("deep", "config.json"),
    ],
)
def test_a_hostile_file_is_refused_in_a_sentence_and_leaves_nothing(worker, models, tmp_path, name, says):
    path = hostile(tmp_path, models, name)
    before = sorted(tmp_path.iterdir())
    refused = declare(worker, path)
    assert isinstance(refused, Refused) and says in refused.message, refused
    assert not refused.detail and "\n" not in refused.message
    assert sorted(tmp_path.iterdir()) == before and not (path / "../../../climbs").resolve().exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lambda.keras", "--trust"),
        ("lambda.h5", "--trust"),
        ("python", "call Python"),
        ("writes", "WriteFile"),
        ("reads", "ReadFile × 1"),
    ],
)
def test_models_that_run_python_or_write_need_trust(worker, models, name, says):
    refused = declare(worker, models / name)
    assert isinstance(refused, Refused) and says in refused.message
    assert not (models / "ran").exists()
    if name in ("lambda.keras", "lambda.h5", "reads"):
        assert isinstance(declare(worker, models / name, Opening(trust=True)), Declared)
    if name == "lambda.keras":
        assert (models / "ran").exists(), "with trust, the lambda runs"
    (models / "ran").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("graph", "damaged"),
        ("weights", "Error"),
        ("manifest", "written by tuilab.capture"),
        ("h5", "not a readable HDF5 file"),
        ("pickle", "a .npz file"),
    ],
)
def test_damaged_folders_and_data_are_refused_in_a_sentence(worker, models, tmp_path, name, says):
    folder, opening = Path(shutil.copytree(models / "step", tmp_path / "step")), AS_IT_IS
    if name == "graph":
        (folder / "saved_model.pb").write_bytes(b"\xff" * 100)
    elif name == "weights":
        (weights,) = folder.glob("variables/variables.data*")
        weights.write_bytes(weights.read_bytes()[:40])
    elif name == "manifest":
        (folder / "tuilab.json").write_text('{"version": 1, "name": [], "arguments": 7}')
    elif name == "h5":
        folder = tmp_path / "damaged.h5"
        folder.write_bytes((models / "net.h5").read_bytes()[:500])
    else:
        np.savez(tmp_path / "x.npz", x=np.array([Leaves(tmp_path)], dtype=object))
        opening = Opening(data=str(tmp_path / "x.npz"))
    refused = declare(worker, folder, opening)
    assert isinstance(refused, Refused) and says in refused.message, refused
    assert not refused.detail and "\n" not in refused.message and not (tmp_path / "ran").exists()


class Leaves:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return (Path.touch, (self.folder / "ran",))


def test_a_sweep_names_the_batch_that_pays_and_the_largest_that_fits(worker, models):
    sweep = Sweep(axes=(Axis("batch", (1, 64, 512)),), refine=False)
    result = summarise(run(worker, models / "net.keras", variants=("inference",), sweep=sweep))
    assert result.batch.pays in (64, None)
    assert result.batch.fits > 64 and result.model.fits_of == {"inference": result.batch.fits}
    assert all(arm.examples_per_s for arm in result.arms)


@pytest.mark.parametrize(
    ("file", "layer", "kind"), [("net.keras", "conv2d", "Conv2D"), ("gru_saved", "gru", "")]
)
def test_shares_of_the_layers_add_up_to_the_call(worker, models, file, layer, kind):
    state = run(worker, models / file, batch=256, phases=True, budget=SHORT)
    result = summarise(state)
    layers = {each.name: each for each in result.model.layers}
    assert result.model.layers_of in state.arms
    assert 0 < sum(each.share for each in layers.values()) <= 1.0 + 1e-9
    of = result.model.layers_of
    placed = {row.layer for row in result.placement if row.kind == "op" and row.arm == of}
    assert placed - {""} <= layers.keys()
    found = next(each for name, each in layers.items() if name.startswith(layer) and name in placed)
    assert found.flop > 0 and found.bytes > 0 and found.share > 0 and (not kind or found.kind == kind)


def opened(path, **given):
    """Return the workload in a model file, and its checked parameters."""
    workload = open_model(str(path), AS_IT_IS)
    return workload, check_values(workload.declaration.parameters, (), given)


def peak(folder, *shape):
    """Return the bytes that a call takes. A fresh process, because memory that earlier tests freed would hide
    the memory that the call takes.
    """
    command = [sys.executable, "-c", PEAK, str(folder), *map(str, shape)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_the_estimated_memory_of_a_graph_is_close_to_its_use(tf, tmp_path):
    """Uses a SavedModel whose ops are in functions that its signature calls."""
    layers = tf.keras.layers
    net = tf.keras.Sequential(
        [
            tf.keras.Input((64, 64, 3)),
            layers.Conv2D(32, 3, padding="same"),
            layers.Conv2D(32, 3, padding="same"),
            layers.GlobalAveragePooling2D(),
        ]
    )
    net.export(str(tmp_path / "graph"), verbose=False)
    workload, values = opened(tmp_path / "graph", batch=256)
    took = peak(tmp_path / "graph", 256, 64, 64, 3)
    assert took / 1.5 < workload.memory(values) < 1.5 * took


def test_the_estimated_memory_includes_tensors_inside_layers(tf, tmp_path):
    """The attention scores of 8 heads are 64 times as large as any layer's output."""
    layers = tf.keras.layers
    words = tf.keras.Input((512, 64))
    attended = layers.MultiHeadAttention(8, 8)(words, words)
    net = tf.keras.Model(words, layers.Dense(2)(layers.GlobalAveragePooling1D()(attended)))
    net.save(tmp_path / "attention.keras")
    workload, values = opened(tmp_path / "attention.keras", batch=4)
    scores = 4 * 8 * 512 * 512 * 4
    for variant, least in (("inference", 1), ("training", 2)):  # a softmax overwrites the scores
        assert least * scores <= workload.needs(values, Arm("CPU:0", "graph", variant=variant)) < 5 * scores


def test_keras_keeps_each_layers_output_in_eager_mode(tf, tmp_path):
    """By hand, the process's peak grows by 2.3 MB per example in eager mode, and by 0.28 MB in a graph, in
    addition to the 0.13 MB of the example.
    """
    layers = tf.keras.layers
    net = tf.keras.Sequential([tf.keras.Input((32, 32, 32)), *(layers.Conv2D(32, 1) for _ in range(16))])
    net.save(tmp_path / "deep.keras")
    workload, values = opened(tmp_path / "deep.keras", batch=1000)
    eager, graph = (
        workload.needs(values, Arm("CPU:0", mode, variant="inference")) for mode in ("eager", "graph")
    )
    assert eager == pytest.approx(2.3e9, rel=0.1) and graph == pytest.approx(0.41e9, rel=0.2)


def test_a_graph_needs_the_tensors_that_later_ops_use(tf, tmp_path):
    """An exact GELU needs its input again after other ops have used it."""
    layers = tf.keras.layers
    wide = tf.keras.Sequential([tf.keras.Input((96, 96)), layers.Dense(384, "gelu"), layers.Dense(96)])
    wide.export(str(tmp_path / "wide"), verbose=False)
    workload, values = opened(tmp_path / "wide", batch=4096)
    took = peak(tmp_path / "wide", 4096, 96, 96)
    assert took <= workload.memory(values) < 2 * took


def test_weights_of_a_graph_count_by_their_dtype(tf):
    from tuilab.worker.models.memory import of_graph

    def needs(dtype):
        table = tf.Variable(tf.ones((1_000, 1_000), dtype))
        lookup = tf.function(lambda ids: tf.gather(table, ids))
        return of_graph(lookup.get_concrete_function(tf.TensorSpec((None,), tf.int32)).graph)({"batch": 1})

    assert [needs(dtype) // 10**6 for dtype in ("float16", "float32", "float64")] == [2, 4, 8]


def test_results_that_overwrite_their_input_take_no_memory(tf):
    """A convolution, its bias and its activation share one buffer, unless the program also returns another
    of the three.
    """
    from tuilab.worker.models.memory import of_graph

    kernel, size = tf.ones((3, 3, 1, 64)), 4 * 32 * 32 * 64

    def chain(x, all_three):
        product = tf.nn.conv2d(x, kernel, 1, "SAME")
        biased = tf.nn.bias_add(product, tf.ones(64))
        return (product, biased, tf.nn.relu(biased)) if all_three else tf.nn.relu(biased)

    def needs(all_three):
        concrete = tf.function(chain).get_concrete_function(tf.TensorSpec((None, 32, 32, 1)), all_three)
        return of_graph(concrete.graph)({"batch": 1}, training=True)

    assert 2 * size <= needs(False) < 3.5 * size  # the activation and two gradients
    assert needs(True) >= 5 * size


def test_training_keeps_what_gradients_need_of_each_element_of_a_sequence(tf, tmp_path):
    """By hand, the process's peak grows by 0.76 MB per example in a graph, and by 1.62 MB in eager mode."""
    layers = tf.keras.layers
    net = tf.keras.Sequential(
        [
            tf.keras.Input((128, 32)),
            layers.Bidirectional(layers.LSTM(64, return_sequences=True)),
            layers.Dense(10, "softmax"),
        ]
    )
    net.save(tmp_path / "lstm.keras")
    workload, values = opened(tmp_path / "lstm.keras", batch=1000)
    for mode, by_hand in (("graph", 0.76e9), ("eager", 1.62e9)):
        needed = workload.needs(values, Arm("CPU:0", mode, variant="training"))
        assert by_hand <= needed < 1.7 * by_hand


def test_progress_of_reading_weights_is_reported(tf, tmp_path, monkeypatch):
    monkeypatch.setattr("tuilab.worker.models.TELL_S", 0.001)
    monkeypatch.setattr("tuilab.worker.models.LEAST_TOLD", 1_000_000)
    net = tf.keras.Sequential([tf.keras.Input((2_000,)), tf.keras.layers.Dense(1_000)])
    net.save(tmp_path / "net.keras")
    told = []
    open_model(str(tmp_path / "net.keras"), AS_IT_IS, lambda *words: told.append(words))
    assert told[0][0] == "reading 8.02 MB", told[:3]
    done = [done for _, done, _ in told]
    assert done == sorted(done) and 0 < done[-1] <= told[-1][2]


@pytest.mark.parametrize("loss", ["", "mse"])
def test_a_training_step_needs_no_output_as_long_as_the_input(tf, tmp_path, loss):
    layers = tf.keras.layers
    sound = tf.keras.Input((None, 8))
    net = tf.keras.Model(sound, layers.Dense(3)(layers.Conv1D(4, 3, strides=2)(sound)))
    if loss:
        net.compile("adam", loss)
    net.save(tmp_path / "strided.keras")
    workload = open_model(str(tmp_path / "strided.keras"), AS_IT_IS)
    training = Arm("CPU:0", "graph", variant="training")
    assert workload.build(arm_build(tf, workload, training, batch=2, length=16)).call()


CAPTURE = """
import sys
import keras
import numpy as np
import tensorflow as tf
import tuilab

keras.utils.set_random_seed(3)
layers, folder = keras.layers, sys.argv[1]
net = keras.Sequential([keras.Input((12,)), layers.Dense(16, "tanh"), layers.Dense(4, "softmax")])
optimizer = keras.optimizers.Adam(0.1)
optimizer.build(net.trainable_variables)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = keras.losses.sparse_categorical_crossentropy(y, net(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


x, y = np.random.rand(6, 12).astype("float32"), np.arange(6, dtype="int32") % 4
step(x, y)
tuilab.capture(step, tf.constant(x), tf.constant(y), folder=folder + "/step")
np.savez(folder + "/data.npz", x=x, y=y)
np.savez(folder + "/own.npz", first=step(x, y), second=step(x, y))
"""


def test_a_captured_step_gives_equal_bits_in_another_process(tf, tmp_path):
    """Includes the second step, which depends on how the first step changed the weights and the state of
    Adam.
    """
    (tmp_path / "capture.py").write_text(CAPTURE)
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run([sys.executable, tmp_path / "capture.py", tmp_path], check=True, env=env, timeout=120)
    workload = open_model(str(tmp_path / "step"), Opening(data=str(tmp_path / "data.npz")))
    case = workload.build(arm_build(tf, workload, batch=6))
    own = np.load(tmp_path / "own.npz")
    for name in ("first", "second"):
        (found,) = case.call().values()
        np.testing.assert_array_equal(found.numpy(), own[name])
    counts = {}
    for batch in (6, 5):
        case = workload.build(arm_build(tf, workload, batch=batch))
        assert next(iter(case.call().values())).shape == (batch,)
        whole = case.function.get_concrete_function(*case.arguments).graph.as_graph_def()
        counts[batch] = sum(len(each.node_def) for each in whole.library.function)
    assert counts[6] < counts[5], "constants that follow from the shapes are not recomputed in each call"


def arm_build(tf, workload, arm=Arm("CPU:0", "graph"), **given):  # noqa: B008
    declaration, context = workload.declaration, Context(Silent())
    context.tf = tf
    values = check_values(declaration.parameters, declaration.constraints, given)
    return ArmBuild(context, "run", arm, values)


class Silent:
    def send(self, *events): ...
