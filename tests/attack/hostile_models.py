"""Writes hostile model files: python -m tests.attack.hostile_models MODELS OUTSIDE SECRET PORT

Each file shows a published vulnerability of Keras or TensorFlow, or a gap that tuilab's tests found. OUTSIDE
is a folder that must stay empty. SECRET is a file whose text must appear nowhere. PORT is a port on this host
to which no model may connect.
"""

import base64
import io
import json
import marshal
import os
import pickle
import shutil
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

HUGE = 2**31


class Made:
    """Writes the hostile files to `folder`. The other fields are the targets of the attacks: a folder, a
    file and a port.
    """

    def __init__(self, models: Path, outside: Path, secret: Path, port: int) -> None:
        self.models, self.outside, self.secret, self.port = models, outside, secret, port

    # SavedModels

    def saved(
        self, name: str, function: Callable[[Any], Any], edit: Callable[[Any], None] | None = None
    ) -> Path:
        """Save a model that is a function of four numbers; return its folder. edit: changes the model's
        `MetaGraphDef`.
        """
        import tensorflow as tf
        from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

        root, folder = tf.Module(), self.models / name
        root.f = tf.function(function, input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        tf.saved_model.save(root, str(folder), signatures=root.f.get_concrete_function())
        if edit is not None:
            whole = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
            edit(whole.meta_graphs[0])
            (folder / "saved_model.pb").write_bytes(whole.SerializeToString())
        return folder

    def writes(self, x: Any) -> Any:
        import tensorflow as tf

        with tf.control_dependencies([tf.io.write_file(str(self.outside / "written"), "x")]):
            return {"y": x * 2}

    def recursive(self) -> None:
        """CVE-2022-23591: a function calls itself until the stack overflows."""

        def edit(graph: Any) -> None:
            library = graph.graph_def.library.function
            function = next(f for f in library if any(n.op == "Mul" for n in f.node_def))
            node = next(n for n in function.node_def if n.op == "Mul")
            del node.input[1:]
            node.op = "PartitionedCall"
            node.attr.clear()
            node.attr["Tin"].list.type.append(1)
            node.attr["Tout"].list.type.append(1)
            node.attr["f"].func.name = function.signature.name
            for each in function.node_def:
                each.input[:] = [i.replace(f"{node.name}:z:", f"{node.name}:output:") for i in each.input]

        self.saved("recursive", lambda x: {"y": x * 2}, edit)

    def image_bomb(self) -> None:
        import tensorflow as tf

        side = 20_000

        def chunk(kind: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
        pixels = zlib.compress(b"\0" * (side // 8 + 1) * side, 9)
        png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")

        def decodes(x: Any) -> Any:
            image = tf.io.decode_png(tf.constant(png), channels=4, dtype=tf.uint16)
            return {"y": x * tf.reduce_sum(tf.cast(image, tf.float32) + x[0, 0])}

        self.saved("image_bomb", decodes)

    def constant_bomb(self) -> None:
        """A constant contains one number but claims to have billions."""

        def edit(graph: Any) -> None:
            for function in graph.graph_def.library.function:
                for node in function.node_def:
                    node.attr.pop("_output_shapes", None)
                    if node.op == "Const" and node.attr["value"].tensor.dtype == 1:
                        tensor = node.attr["value"].tensor
                        tensor.tensor_content = b""
                        tensor.float_val[:] = [1.5]
                        del tensor.tensor_shape.dim[:]
                        tensor.tensor_shape.dim.add().size = HUGE
                        tensor.tensor_shape.dim.add().size = 4

        def adds(x: Any) -> Any:
            import tensorflow as tf

            return {"y": tf.reduce_sum(x[:1] + tf.constant([[1.5] * 4] * 2))}

        self.saved("constant_bomb", adds, edit)

    def unlisted(self) -> None:
        """The graph's function list lacks functions that the model's objects use."""
        import tensorflow as tf

        def saves(x: Any) -> Any:
            name, one = str(self.outside / "saved"), [tf.constant("x")]
            done = tf.raw_ops.SaveV2(prefix=name, tensor_names=["a"], shape_and_slices=[""], tensors=one)
            with tf.control_dependencies([done]):
                return {"y": x * 2}

        def edit(graph: Any) -> None:
            for name in list(graph.object_graph_def.concrete_functions):
                del graph.object_graph_def.concrete_functions[name]
            kept = [n for n in graph.graph_def.node if n.name != "StatefulPartitionedCall"]
            del graph.graph_def.node[:]
            graph.graph_def.node.extend(kept)

        self.saved("unlisted", saves, edit)

    def named_as_an_op(self) -> None:
        """A function is named `WriteFile`, so a call of this function looks like the op."""

        def edit(graph: Any) -> None:
            other = graph.graph_def.library.function.add()
            other.CopyFrom(graph.graph_def.library.function[0])
            other.signature.name = "WriteFile"
            del other.node_def[:], other.signature.output_arg[:]
            other.ret.clear()

        self.saved("named_as_an_op", self.writes, edit)

    def twice(self) -> None:
        def edit(graph: Any) -> None:
            library = graph.graph_def.library.function
            for function in list(library):
                if any(node.op == "WriteFile" for node in function.node_def):
                    other = library.add()
                    other.CopyFrom(function)
                    nodes = [n for n in other.node_def if n.op != "WriteFile"]
                    del other.node_def[:]
                    other.node_def.extend(nodes)

        self.saved("twice", self.writes, edit)

    def pipe(self) -> None:
        """The variables' index is a named pipe without a writer."""
        folder = self.saved("pipe", lambda x: {"y": x * 2})
        (folder / "variables" / "variables.index").unlink()
        os.mkfifo(folder / "variables" / "variables.index")

    def asset_link(self) -> None:
        import tensorflow as tf

        words, folder = self.models / "words.txt", self.models / "asset_link"
        words.write_text("a\nb\n")
        root = tf.Module()
        root.asset = tf.saved_model.Asset(str(words))
        line, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
        made = tf.lookup.TextFileInitializer(root.asset, tf.string, line, tf.int64, number)
        root.table = tf.lookup.StaticHashTable(made, -1)
        spec = [tf.TensorSpec([None], tf.string, name="x")]
        root.f = tf.function(lambda x: {"y": root.table.lookup(x)}, input_signature=spec)
        tf.saved_model.save(root, str(folder), signatures=root.f.get_concrete_function())
        words.unlink()
        (folder / "assets" / "words.txt").unlink()
        (folder / "assets" / "words.txt").symlink_to(self.secret)

    def escapes(self) -> None:
        import tensorflow as tf

        def fails(x: Any) -> Any:
            words = "\x1b[31m\x1b]0;owned\x07\u202e[@click=app.quit]here[/]"
            with tf.control_dependencies([tf.debugging.Assert(tf.reduce_sum(x) < -1e9, [words])]):
                return {"y": x * 2}

        self.saved("escapes", fails)

    # Keras files

    def packed(
        self, name: str, edit: Callable[[Any], None] = lambda config: None, **members: bytes | None
    ) -> Path:
        """Save a small `.keras` file with an edited description; return its path.

        members: contents of archive members by file name, with `_` for the dot; None omits the member.
        """
        import keras

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, name="d")])
        model.compile("adam", "mse")
        path, whole = self.models / f"{name}.keras", self.models / "whole.keras"
        model.save(whole)
        given = {key.replace("_", "."): value for key, value in members.items()}
        with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
            for member in old.namelist():
                data = old.read(member)
                if member == "config.json":
                    config = json.loads(data)
                    edit(config)
                    data = json.dumps(config).encode()
                if member not in given:
                    new.writestr(member, data)
            for member, value in given.items():
                if value is not None:
                    new.writestr(member, value)
        whole.unlink()
        return path

    @staticmethod
    def adding(module: str, kind: str, config: Any, registered: str | None = None) -> Callable[[Any], None]:
        layer = {"module": module, "class_name": kind, "config": config, "registered_name": registered}
        return lambda described: described["config"]["layers"].append(layer)

    @staticmethod
    def code() -> dict[str, Any]:
        compiled = compile("import os; os.system('true')", "x", "exec")
        return {"code": base64.b64encode(marshal.dumps(compiled)).decode(), "defaults": None, "closure": None}

    def unsafe_switch(self) -> None:
        """CVE-2025-9906: the description turns off safe mode before it loads code."""
        function = "enable_unsafe_deserialization"

        def edit(described: Any) -> None:
            self.adding("keras.config", "function", function, function)(described)
            code = {"class_name": "__lambda__", "config": {"value": self.code()}}
            self.adding("keras.layers", "Lambda", {"function": code})(described)

        self.packed("unsafe_switch", edit)

    def vocabulary_url(self) -> None:
        """CVE-2025-12058: a vocabulary is downloaded from a URL."""
        words = {"vocabulary": f"http://127.0.0.1:{self.port}/words"}
        self.packed("vocabulary_url", self.adding("keras.layers", "StringLookup", words))

    def torch_pickle(self) -> None:
        """CVE-2025-49655: a PyTorch module is unpickled."""
        data = base64.b64encode(pickle.dumps({"x": 1})).decode()
        self.packed("torch_pickle", self.adding("keras.layers", "TorchModuleWrapper", {"module": data}))

    def nested_graph(self) -> None:
        inner = {"module": "keras.layers", "class_name": "TFSMLayer", "registered_name": None}
        inner["config"] = {"filepath": str(self.models / "twice"), "call_endpoint": "serving_default"}
        self.packed("nested_graph", self.adding("keras.layers", "TimeDistributed", {"layer": inner}))

    def evaluates(self) -> None:
        metric = {"module": "builtins", "class_name": "function", "config": "eval", "registered_name": "eval"}
        self.packed("evaluates", lambda described: described["compile_config"].update(metrics=[metric]))

    def regularizer(self) -> None:
        """A layer's regularizer is code in the file."""

        def edit(described: Any) -> None:
            code = {"class_name": "__lambda__", "config": {"value": self.code()}}
            described["config"]["layers"][1]["config"]["kernel_regularizer"] = code

        self.packed("regularizer", edit)

    def pickled_weights(self) -> None:
        """Keras 3.8 unpickles weights in NumPy's format."""
        import numpy as np

        stream = io.BytesIO()
        np.savez(stream, d=np.array([{"x": 1}], dtype=object))
        self.packed("pickled_weights", model_weights_h5=None, model_weights_npz=stream.getvalue())

    def weights(self, name: str, change: Callable[[Any, str], None]) -> None:
        """Save a `.keras` file after changing the HDF5 dataset of one weight."""
        import h5py

        path = self.packed(name)
        with zipfile.ZipFile(path) as archive:
            stream = io.BytesIO(archive.read("model.weights.h5"))
        with h5py.File(stream, "r+") as file:
            tables: list[str] = []
            file.visititems(lambda at, held: tables.append(at) if isinstance(held, h5py.Dataset) else None)
            del file[tables[0]]
            change(file, tables[0])
        self.packed(name, model_weights_h5=stream.getvalue())

    def shape_bomb(self) -> None:
        """CVE-2026-0897: the dataset of a weight claims to contain terabytes."""
        self.weights("shape_bomb", lambda f, at: f.create_dataset(at, (2**40,), "f4", chunks=(1024,)))

    def external_weights(self) -> None:
        """CVE-2026-1669: the dataset of a weight is in another file."""
        where = [(str(self.secret), 0, 16)]
        self.weights("external_weights", lambda f, at: f.create_dataset(at, (4,), "f4", external=where))

    def linked_group(self) -> None:
        """All weights of an `.h5` file are behind a link to another file."""
        import h5py
        import keras

        path = self.models / "linked_group.h5"
        keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)]).save(path)
        with h5py.File(path, "r+") as file:
            del file["model_weights"]
            file["model_weights"] = h5py.ExternalLink(str(self.secret), "/x")


KINDS = {
    "recursive": "cyclic",
    "image_bomb": "GB of memory",
    "constant_bomb": "GB of memory",
    "unlisted": "SaveV2",
    "named_as_an_op": "WriteFile",
    "twice": "WriteFile",
    "pipe": "not finished after",
    "asset_link": "words.txt",
    "escapes": "assertion failed",
    "unsafe_switch.keras": "a Lambda layer",
    "vocabulary_url.keras": "StringLookup",
    "torch_pickle.keras": "TorchModuleWrapper",
    "nested_graph.keras": "TFSMLayer",
    "evaluates.keras": "eval of builtins",
    "regularizer.keras": "__lambda__",
    "pickled_weights.keras": "model.weights.npz",
    "shape_bomb.keras": "tables of",
    "external_weights.keras": "outside the file",
    "linked_group.h5": "model_weights",
}
"""For each file, a part of the message with which tuilab rejects it."""


def make(models: Path, outside: Path, secret: Path, port: int) -> None:
    made = Made(models, outside, secret, port)
    for name in KINDS:
        getattr(made, name.partition(".")[0])()


if __name__ == "__main__":
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    Path(sys.argv[1]).mkdir(parents=True)
    make(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
