"""Opening untrusted model files does no harm."""

import json
import os
import re
import shutil
import uuid
import zipfile
from pathlib import Path

import pytest

from tests.attack.hostile_models import KINDS, Made
from tests.attack.strangers import LIMIT_S, SECRET, SHARED, Field
from tests.calling import run
from tests.conftest import Worker
from tuilab import landlock
from tuilab.model import events, requests
from tuilab.model.errors import InputError
from tuilab.model.ops import names
from tuilab.model.scenario import Opening

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]

UNGUARDED = """
from tuilab.worker.models import keras_file, saved_model

saved_model._examine = lambda *given: ()
keras_file.examine = lambda *given: None
"""
"""Code that turns off the allow lists of the worker that loads it."""


def opened(worker: Worker, file: Path, opening: Opening) -> str:
    """Return the reason why the worker rejects the file, or a phrase for how the worker ended; "" if the file
    opens.
    """
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
        # An unconfined worker lets the file do its damage, which proves that the attack works.
        if function is not reads:
            assert opened(worker, model, Opening(trust=True)) == ""
            for each in outside.iterdir():
                each.unlink()


WRITE = names("writefile cache torecord etorecord sql fromgraph summary v1_write_saver v1_write_restore")
READ = names("readfile csv immutable")
HANG_OR_END = names("forever mem40g fill20g abort exit0 pipe image_bomb constant_bomb")
"""Files that stop the worker or make it hang. Testing them takes a long time; `test_opening_matrix.py` covers
these files.
"""


@pytest.mark.long
@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/cases/models")
@pytest.mark.timeout(1_200)
def test_sandbox_alone_stops_every_file(tmp_path):
    worker = Worker(environment={"TUILAB_OPENING_S": str(LIMIT_S)})
    field = Field(tmp_path / "field")
    field.make_own()
    field.make_shared()
    unguarded = tmp_path / "code" / "unguarded.py"
    unguarded.parent.mkdir()
    unguarded.write_text(UNGUARDED)
    wrong, before = [], field.contents()
    for name in (each for each in field.names if each not in HANG_OR_END):
        said = opened(worker, field.models / name, Opening(code=str(unguarded)))
        print(f"| {name} | {said[:150]} |", flush=True)
        after, read = field.contents(), name in READ and "ermission" not in said
        if after != before or read or SECRET in said or field.connections:
            wrong.append((name, said, after.keys() ^ before.keys(), field.connections))
            before, field.connections = after, 0
    assert not wrong
    idle = []
    for name in sorted(WRITE & set(field.names)):
        opened(worker, field.models / name, Opening(trust=True))
        if (after := field.contents()) == before and not field.connections:
            idle.append(name)
        before, field.connections = after, 0
    assert not idle
    worker.end()
    field.close()


STATIC = {
    name: named
    for name, named in KINDS.items()
    if name not in ("recursive", "image_bomb", "constant_bomb", "pipe", "escapes")
}
"""Files that are rejected because of their description, before TensorFlow or Keras reads them."""


@pytest.mark.parametrize("name", STATIC)
def test_further_kinds_are_refused_by_name(tf, tmp_path, name):
    from tuilab.worker.models.keras_file import _described, examine
    from tuilab.worker.models.saved_model import _examine

    secret, outside, models = tmp_path / "secret", tmp_path / "outside", tmp_path / "models"
    secret.write_text(SECRET)
    models.mkdir()
    getattr(Made(models, outside, secret, 1), name.partition(".")[0])()
    path = models / name
    with pytest.raises(InputError, match=re.escape(STATIC[name])) as refused:
        if path.is_dir():
            _examine(path, name, Opening())
        else:
            config, weighs = _described(path)
            examine(config, name, Opening(), weighs)
    assert SECRET not in str(refused.value)


def test_given_code_allows_only_the_names_that_it_registers(tf, tmp_path):
    """With `--code`, a model file may call only the functions that the given code registers."""
    import keras

    from tuilab.worker.models.keras_file import examine

    @keras.saving.register_keras_serializable("own")
    class Scale(keras.layers.Layer):
        pass

    def described(module, kind, config, registered):
        return {"module": module, "class_name": kind, "config": config, "registered_name": registered}

    try:
        examine(described("mine", "Scale", {}, "own>Scale"), "model.keras", Opening(), 0)
        examine({"class_name": "own>Scale", "config": {}}, "model.h5", Opening(), 0)
        for module, kind, config, registered in (
            ("keras.utils", "function", "get_file", "Scale"),
            ("keras.utils", "function", "get_file", "own>Scale"),
            ("keras", "layers.TFSMLayer", {"filepath": "/x"}, "Scale"),
            ("os", "Scale", {}, None),
        ):
            with pytest.raises(InputError, match=re.escape(module)):
                examine(described(module, kind, config, registered), "model.keras", Opening(), 0)
    finally:
        keras.saving.get_custom_objects().pop("own>Scale")


def test_links_in_the_cache_of_hugging_face_can_be_followed(tf, worker, tmp_path):
    """Hugging Face's cache stores a model as a folder of links into `blobs`, which a confined worker may
    read.
    """
    made = saved(tf, tmp_path, "made", lambda x: {"y": x * 2})
    blobs, model = tmp_path / "models--a--b" / "blobs", tmp_path / "models--a--b" / "snapshots" / "1"
    blobs.mkdir(parents=True)
    for number, file in enumerate(sorted(each for each in made.rglob("*") if each.is_file())):
        link = model / file.relative_to(made)
        link.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, blobs / str(number))
        link.symlink_to(blobs / str(number))
    assert opened(worker, model, Opening()) == ""


def packed(folder: Path, name: str, edit=lambda config: None, more=()) -> Path:
    """Write a small Keras model with an edited description and further archive members; return its path."""
    import keras

    whole = folder / "whole.keras"
    if not whole.exists():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, name="d")])
        model.compile("adam", "mse")
        model.save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(folder / f"{name}.keras", "w") as new:
        for member in old.namelist():
            data = old.read(member)
            if member == "config.json":
                config = json.loads(data)
                edit(config)
                data = json.dumps(config).encode()
            new.writestr(member, data)
        for member, data in more:
            new.writestr(member, data)
    return folder / f"{name}.keras"


def adding(module, kind, config, **more):
    layer = {"module": module, "class_name": kind, "config": config, "registered_name": None, **more}
    return lambda described: described["config"]["layers"].append(layer)


KERAS = {
    "a Lambda by its package": (adding("keras", "layers.Lambda", {"function": "relu"}), "layers.Lambda"),
    "a graph by its package": (adding("keras", "layers.TFSMLayer", {"filepath": "/x"}), "layers.TFSMLayer"),
    "a class of Python": (adding("os", "system", {"command": "true"}), "system of os"),
    "a function of Keras": (adding("keras.utils", "function", "get_file"), "get_file of keras.utils"),
    "a type's name": (adding("os", "__typespec__", [], spec_name="system"), "__typespec__ of os"),
    "a loss of Python": (
        lambda described: described["compile_config"].update(
            loss={"module": "os", "class_name": "function", "config": "system", "registered_name": "system"}
        ),
        "system of os",
    ),
    "a vocabulary in bytes": (
        adding(
            "keras.layers",
            "StringLookup",
            {"vocabulary": {"class_name": "__bytes__", "config": {"value": "/etc/passwd"}}},
        ),
        "reads the file",
    ),
}


@pytest.mark.parametrize("name", KERAS)
def test_a_keras_file_may_name_only_listed_classes(tf, tmp_path, name):
    from tuilab.worker.models.keras_file import _described, examine

    edit, says = KERAS[name]
    path = packed(tmp_path, "edited", edit)
    config, weighs = _described(path)
    with pytest.raises(InputError, match=re.escape(says)) as refused:
        examine(config, path.name, Opening(), weighs)
    assert "--trust" in str(refused.value)


@pytest.mark.parametrize(
    ("member", "data"), [("model.weights.npz", b"a pickle"), ("x.py", b"1"), ("assets/../../x", b"x")]
)
def test_an_archive_may_hold_only_what_keras_writes(tf, tmp_path, member, data):
    """Keras 3.8 would unpickle an `.npz` file, and would extract members to paths outside its folder."""
    from tuilab.worker.models.keras_file import _described

    with pytest.raises(InputError, match=re.escape(f"{member} in it")):
        _described(packed(tmp_path, "more", more=[(member, data)]))


@pytest.mark.parametrize("kind", ["external", "link", "virtual", "huge", "training"])
def test_the_tables_of_an_hdf5_file_must_lie_inside_it(tf, tmp_path, kind):
    import h5py
    import keras

    from tuilab.worker.models.keras_file import _described, examine

    secret, path = tmp_path / "secret", tmp_path / "model.h5"
    secret.write_bytes(b"0123456789abcdef")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    model.compile("adam", "mse")
    model.save(path)
    with h5py.File(path, "r+") as file:
        tables = file["model_weights"]
        if kind == "external":
            tables.create_dataset("x", shape=(4,), dtype="f4", external=[(str(secret), 0, 16)])
        elif kind == "link":
            tables["x"] = h5py.ExternalLink(str(secret), "/x")
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape=(4,), dtype="f4")
            layout[:] = h5py.VirtualSource(str(secret), "x", shape=(4,))
            tables.create_virtual_dataset("x", layout)
        elif kind == "huge":
            tables.create_dataset("x", shape=(2**40,), dtype="f4", chunks=(1024,))
        else:
            loss = {"module": "os", "class_name": "function", "config": "system", "registered_name": "system"}
            training = {**json.loads(file.attrs["training_config"]), "loss": loss}
            file.attrs["training_config"] = json.dumps(training)
    with pytest.raises(InputError, match="in the file|times its|system of os"):
        config, weighs = _described(path)
        examine(config, path.name, Opening(), weighs)


def test_every_place_for_ops_in_a_graph_is_examined(tf, tmp_path):
    from tuilab.worker.models.saved_model import _examine

    raw, zero = tf.raw_ops, tf.constant(0, tf.int64)
    with tf.Graph().as_default() as inner:
        tf.io.write_file(str(tmp_path / "written"), "x")
    serialized = inner.as_graph_def().SerializeToString()

    def nested(x):
        held = raw.DatasetFromGraph(graph_def=tf.constant(serialized))
        return {"y": x + tf.cast(raw.DatasetCardinality(input_dataset=held), tf.float32)}

    def mapped(x):
        data = tf.data.Dataset.from_tensors("a").map(tf.io.read_file)
        return {"y": x + tf.cast(data.reduce(zero, lambda n, s: n + 1), tf.float32)}

    def branch(x):
        return {"y": tf.cond(x[0, 0] > 0, lambda: tf.strings.length(tf.io.read_file("a")), lambda: 1)}

    def sampled(x):
        return {"y": raw.FixedUnigramCandidateSampler(
            true_classes=tf.constant([[0]], tf.int64), num_true=1, num_sampled=1, unique=False, range_max=2,
            vocab_file="/etc/passwd")[0]}  # fmt: skip

    def mapping(x):
        return {"y": raw.ImmutableConst(dtype=tf.uint8, shape=[5], memory_region_name="/etc/hostname")}

    for function, op in (
        (nested, "write files: WriteFile × 2; ops that carry a graph or a program: DatasetFromGraph × 2"),
        (mapped, "read files: ReadFile"),
        (branch, "read files: ReadFile"),
        (sampled, "read files: FixedUnigramCandidateSampler"),
        (mapping, "read files: ImmutableConst"),
    ):
        folder = saved(tf, tmp_path, function.__name__, function)
        with pytest.raises(InputError, match=re.escape(op)) as refused:
            _examine(folder, folder.name, Opening())
        assert "--trust" in str(refused.value)
        assert _examine(folder, folder.name, Opening(trust=True))


def test_the_saver_and_assets_of_a_graph_are_judged_by_their_effects(tf, tmp_path):
    """The file itself names the node that restores its variables. An earlier allow list accepted any node
    with the usual name.
    """
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    from tuilab.worker.models.saved_model import _examine

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = x * v1.get_variable("v", (), use_resource=False)
        tf.raw_ops.WriteFile(filename=str(tmp_path / "written"), contents="x", name="evil")
        tf.raw_ops.RestoreV2(
            prefix="/elsewhere", tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32], name="taken"
        )
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "v1"), {"x": x}, {"y": y})
    file = tmp_path / "v1" / "saved_model.pb"
    whole = SavedModel.FromString(file.read_bytes())
    whole.meta_graphs[0].saver_def.restore_op_name = "evil"
    file.write_bytes(whole.SerializeToString())
    with pytest.raises(InputError, match="WriteFile × 1; ops that read files: RestoreV2 × 1"):
        _examine(file.parent, "v1", Opening())

    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_text("a\nb\n")
    root = tf.Module()
    root.asset = tf.saved_model.Asset(str(vocabulary))
    line, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    made = tf.lookup.TextFileInitializer(root.asset, tf.string, line, tf.int64, number)
    root.table = tf.lookup.StaticHashTable(made, -1)
    spec = [tf.TensorSpec([None], tf.string, name="x")]
    root.f = tf.function(lambda x: {"y": root.table.lookup(x)}, input_signature=spec)
    folder = tmp_path / "table"
    tf.saved_model.save(root, str(folder), signatures=root.f.get_concrete_function())
    assert _examine(folder, "table", Opening()) == ("It reads its vocabulary when it is loaded: 1 table.",)
    whole = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    whole.meta_graphs[0].asset_file_def[0].filename = "../../secret"
    (folder / "saved_model.pb").write_bytes(whole.SerializeToString())
    with pytest.raises(InputError, match="InitializeTableFromTextFileV2 × 1"):
        _examine(folder, "table", Opening())

    good = saved(tf, tmp_path, "good", lambda x: {"y": x * 2})
    assert _examine(good, "good", Opening()) == ()
    shutil.move(good / "variables" / "variables.index", tmp_path / "elsewhere")
    (good / "variables" / "variables.index").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="a file outside the folder"):
        _examine(good, "good", Opening())


def test_models_that_never_end_or_take_all_memory_are_stopped_with_a_reason(tf, tmp_path, monkeypatch):
    def forever(x):
        n = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 7, [tf.constant(0)])
        return {"y": x * tf.cast(n[0], tf.float32)}

    def grows(x):
        return {"y": x * tf.reduce_sum(tf.fill([100_000 + tf.shape(x)[0], 50_000], 1.0))}

    for function, limit_s, says in (
        (forever, "10", "it did not finish within 10 s"),
        (grows, "100", "GB of memory"),
    ):
        monkeypatch.setenv("TUILAB_OPENING_S", limit_s)
        folder = saved(tf, tmp_path, function.__name__, function)
        done = run(tmp_path / "data", "explain", str(folder))
        assert done.returncode == 3, done.stderr
        assert says in done.stderr and "opening the model was stopped" in done.stderr
