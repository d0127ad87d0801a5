"""Measures a Keras model from a `.keras` or `.h5` file: inference and training, in three precisions."""

import importlib
import io
import json
import math
import re
import struct
import tempfile
import time
import weakref
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from msgspec.structs import replace

from tuilab.model.arms import Arm
from tuilab.model.errors import InputError
from tuilab.model.files import open_regular, read_regular
from tuilab.model.models import ModelInfo
from tuilab.model.parameters import Choice, Value
from tuilab.model.quantity import size
from tuilab.model.sanitize import sanitize_error, sanitize_line
from tuilab.model.scenario import Opening
from tuilab.model.shapes import Constant, Shape
from tuilab.model.workload import Variant
from tuilab.worker.arguments import ShapesNeededError, find, mapped
from tuilab.worker.models import memory
from tuilab.worker.models.allowed_keras import CLASSES, FUNCTIONS, ROOMS_OF_FUNCTIONS
from tuilab.worker.models.inputs import BATCH, Given, Made, Spec, declaration, parameters, stated
from tuilab.worker.ranges import Range
from tuilab.workloads.base import Build, Case, Unavailable, Workload

FLOAT32 = "float32"
POLICIES = (FLOAT32, "mixed_bfloat16", "mixed_float16")
INFERENCE, TRAINING = "inference", "training"
HOST = "/CPU:0"
LARGEST_METADATA = 100_000
"""Maximum size of the JSON that contains the Keras version, in bytes."""
LARGEST_CONFIG = 50_000_000
"""Maximum size of the JSON that describes the layers, in bytes."""
_VERSION = re.compile(rb'"keras_version": ?"(2\.[\w.]{1,20})"')
"""Matches the version in the `keras_metadata.pb` of a Keras 2 SavedModel."""
LARGEST_RATIO = 200
"""Maximum compression ratio of a zip member of at least a megabyte, because weights hardly compress."""
ROOMY = 64 * 2**20
"""Bytes that a layer may need in addition to twice the size of the file's weights."""

_COMPILED = ("compile_config", "training")
_CODE = frozenset(("Lambda", "__lambda__", "TFSMLayer", "TorchModuleWrapper", "FlaxLayer", "JaxLayer"))
_QUANTISED = ("QuantizedDTypePolicy", "QuantizedFloat8DTypePolicy")
_TABLES = ("vocabulary", "idf_weights")
_VALUES = frozenset(("__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"))
"""Class names that denote a value rather than an object."""
_LOWER = {name.lower() for room in ("optimizers", "losses", "metrics") for name in CLASSES[room]}
"""Lower-case names of optimizers, losses and metrics, which Keras also accepts."""
_MEMBERS = re.compile(r"(config|metadata)\.json|[\w.-]+\.weights\.(h5|json)|assets/.*|[\w./-]+/")
"""Matches the archive members that `model.save` writes. Excludes `.npz` members, because Keras 3.8 would
unpickle them.
"""
MOST_MEMBERS = 10_000
MOST_UNPACKED = 50
"""Maximum size of an HDF5 file's tables, as a multiple of the file size. The multiple is large because
weights of zeros compress well.
"""


class CustomObjectError(InputError):
    """Raised if the file uses a custom object that `--code` could register."""


@dataclass
class _Opened:
    """A model file's description and the loaded model. Arms measure copies of the model, except for float32
    inference on the host, which uses the loaded model.
    """

    name: str
    config: Any
    loaded: Any
    trust: bool
    live: "weakref.WeakValueDictionary[tuple[str, ...], Any]" = field(
        default_factory=weakref.WeakValueDictionary
    )

    def model(self, tf: Any, device: str, policy: str, use: str) -> Any:
        """Return the model on the device, with its own copy of the weights unless it is the loaded model.

        Arms that differ only in their mode share the model.
        """
        key = device, policy, use
        model = self.loaded if key == (HOST, FLOAT32, INFERENCE) else self.live.get(key)
        if model is None:
            config = with_policy(self.config, policy)  # a copy, because Keras modifies the dictionary
            with tf.device(device):
                model = _keras().saving.deserialize_keras_object(config, safe_mode=not self.trust)
                _set(model, self.loaded)
            self.live[key] = model
        return model


def workload(path: Path, opening: Opening) -> Workload:
    """Return the file as a workload. Raises InputError, or Keras' error for a damaged file."""
    import tensorflow as tf

    name = sanitize_line(path.name, 200)
    config, weighs = _described(path)
    compiles, lost = config is not None, ""
    if config is not None:
        how = {key: config.pop(key, None) for key in _COMPILED}
        examine(config, name, opening, weighs)
        compiles = any(how.values())
        try:
            examine(how, name, opening, weighs)
        except CustomObjectError as error:
            lost = sanitize_line(str(error), 300)
    begun = time.perf_counter()
    with tf.device(HOST):
        model, lost = _load(path, opening, lost)
    load_s = time.perf_counter() - begun
    if compiles and not lost and getattr(model, "optimizer", None) is None:
        lost = f"{type(model).__name__} restores none"
    functional = bool(getattr(model, "inputs", None))
    if opening.inputs and functional:
        stated(opening.inputs[0].name, ", ".join(_input_name(each, i) for i, each in enumerate(model.inputs)))
    own_step = not functional and type(model).train_step is not _keras().Model.train_step
    model = model if functional else _functional(tf, model, opening, name)
    opened = _Opened(name, _keras().saving.serialize_keras_object(model), model, opening.trust)
    specs, hints = inputs_of(tf, model)

    def call(*arrays: Any, **options: bool) -> Any:
        return model(packed(tf, model, arrays), **options)

    # Skip AutoGraph, because Keras's own layers do not need it, and it takes longer than tracing.
    own = opening.code or opening.trust
    plain = call if own else tf.autograph.experimental.do_not_convert(call)
    given = Given(tf, specs, opening.data, plain, hints)
    given.probe()
    loss, lines = _loss(model, lost)
    model.optimizer = None  # its state would double the memory; each training arm creates its own
    outputs = [(tuple(t.shape), tf.as_dtype(t.dtype).name) for t in model.outputs]
    needs = memory.of_keras(tf, model, plain, specs)
    axes = parameters(given)
    info = ModelInfo(
        kind="keras",
        parameters=model.count_params(),
        inputs=given.described(),
        load_s=load_s,
        batch=BATCH if any(p.name == BATCH for p in axes) else "",
        said=(*given.said, *lines, *_sparse(model)),
    )
    variants = [Variant(INFERENCE, "The model's call, as in predict().", does="predicting")]
    trains = all(dtype.startswith(("float", "bfloat")) for _, dtype in outputs) and model.trainable_weights
    if own_step:
        lines = ("Training is not measured, because the class has its own train_step.",)
    elif trains:
        step = "One training step: forward, loss, gradients, optimizer."
        variants.append(Variant(TRAINING, step, does="training"))
    policy = Choice(
        name="dtype",
        label="precision",
        help="Keras dtype policy for every layer that computes in float32.",
        default=FLOAT32,
        options=POLICIES,
    )
    declared = replace(
        declaration("A Keras model", sanitize_line(path.stem, 100), path.stem, info, axes),
        parameters=(*axes, policy),
        variants=tuple(variants),
        dtype=policy.name,
    )

    def build(b: Build) -> Case:
        return _build(b, opened, given, loss, outputs)

    def needed(values: Mapping[str, Value], arm: Arm) -> int:
        return needs(given.sizes(values), training=arm.variant == TRAINING, eager=arm.mode == "eager")

    return Workload(declared, build, info=info, layers=layers_by_name(model), memory_of=needed)


def _keras() -> Any:
    import keras

    return keras


def layers_by_name(model: Any) -> dict[str, Any]:
    """Return the kind of each layer by name; for a nested model, the dict of its layers."""
    inner = _keras().Model
    return {
        str(each.name): layers_by_name(each) if isinstance(each, inner) else type(each).__name__
        for each in model.layers
        if type(each).__name__ != "InputLayer"
    }


def _build(
    b: Build, opened: _Opened, given: Given, loss: str, outputs: list[tuple[tuple[int | None, ...], str]]
) -> Case:
    tf, policy, training = b.tf, b.arm.dtype, b.arm.variant == TRAINING
    if b.arm.mode == "xla" and any(i.dtype == "string" for i in given.described()):
        raise Unavailable("XLA cannot compile strings, and this model takes strings")
    given.copied(b.arm.input)
    if policy != FLOAT32 and any(part["class_name"] in _QUANTISED for part in _parts(opened.config)):
        if policy == "mixed_float16":
            raise Unavailable("Keras computes quantized layers only in float32 and bfloat16")
        if training:
            raise Unavailable("the gradients of quantized layers are float32 only")
    b.progress(f"building the model, {size(memory.of_weights(tf, opened.loaded))} of weights")
    model = opened.model(tf, b.device, policy, TRAINING if training else INFERENCE)
    arrays = given.arrays(b.values)
    if not training:

        def predict(*inputs: Any) -> Any:
            return model(packed(tf, model, inputs), training=False)

        return b.tensors(predict, *arrays)
    known = given.sizes(b.values)
    one = given.arrays({**b.values, **({BATCH: 1} if BATCH in b.values else {})})
    with tf.device(b.device):
        outputs = _sized(tf, model, one, outputs)
    targets = Made(tf).targets(model, loss, outputs, known)
    with tf.device(b.device):
        _compile(tf, model, loss, policy)
        # Create every variable before tracing a graph.
        few = Made(tf).targets(model, loss, outputs, {**known, BATCH: 1})
        model.train_step(_step_data(tf, model, [*map(tf.convert_to_tensor, (*one, *few))], len(one)))

    def step(*parts: Any) -> Any:
        return model.train_step(_step_data(tf, model, list(parts), len(arrays)))

    return b.tensors(step, *arrays, *targets)


def _sized(
    tf: Any, model: Any, arrays: Sequence[Any], outputs: list[tuple[tuple[int | None, ...], str]]
) -> list[tuple[tuple[int | None, ...], str]]:
    """Return the shapes of the outputs without unknown sizes except the batch.

    An output may have another length than the input, for example after a convolution with strides. So the
    sizes come from one call of the model.
    """
    if all(None not in shape[1:] for shape, _ in outputs):
        return outputs
    called = model(packed(tf, model, [*map(tf.convert_to_tensor, arrays)]), training=False)
    found = _keras().tree.flatten(called)
    if len(found) != len(outputs) or not all(isinstance(each, tf.Tensor) for each in found):
        return outputs
    return [
        ((*shape[:1], *each.shape[1:]), dtype) for each, (shape, dtype) in zip(found, outputs, strict=True)
    ]


def _step_data(tf: Any, model: Any, parts: list[Any], count: int) -> tuple[Any, Any]:
    y = parts[count:]
    targets = _keras().tree.pack_sequence_as(model.output, y) if len(y) > 1 else y[0]
    return packed(tf, model, parts[:count]), targets


def packed(tf: Any, model: Any, inputs: Any) -> Any:
    """Return the inputs in the form that the model takes, with ragged tensors built from values and row
    splits.
    """
    given, parts = iter(inputs), []
    for each in model.inputs:
        part = next(given)
        parts.append(tf.RaggedTensor.from_row_splits(part, next(given), False) if _is_ragged(each) else part)
    return parts[0] if len(parts) == 1 else _keras().tree.pack_sequence_as(model.input, parts)


def inputs_of(tf: Any, model: Any) -> tuple[list[Spec], dict[str, Range]]:
    specs: list[Spec] = []
    hints = _hints(model)
    for index, each in enumerate(model.inputs):
        name, dtype, shape = _input_name(each, index), tf.as_dtype(each.dtype).name, tuple(each.shape)
        specs.append((name, dtype, shape[:1] + shape[2:] if _is_ragged(each) else shape))
        if _is_ragged(each):
            specs.append((f"{name}_1", "int64", (None,)))
            hints[f"{name}_1"] = Range(splits=True)
    return specs, hints


def _is_ragged(tensor: Any) -> bool:
    return bool(getattr(tensor, "ragged", False))


def _compile(tf: Any, model: Any, loss: str, policy: str) -> None:
    """Compile a model that has no optimizer. For float16, add loss scaling to the optimizer."""
    keras = _keras()
    scaled = policy == "mixed_float16"
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        optimizer = keras.optimizers.Adam()
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer) if scaled else optimizer
        model.compile(optimizer=optimizer, loss=loss, auto_scale_loss=False)
    elif scaled and not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        model.optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)


def _load(path: Path, opening: Opening, lost: str) -> tuple[Any, str]:
    """Return the model, and the reason why its compile configuration is not restored ("" if it is). lost:
    that reason, if it is already known.
    """
    load = partial(_keras().models.load_model, path, safe_mode=not opening.trust)
    if lost:
        return load(compile=False), lost
    try:
        return load(), ""
    except Exception as error:
        try:
            return load(compile=False), sanitize_error(error, 300)
        except Exception:
            raise error from None


def _functional(tf: Any, model: Any, opening: Opening, name: str) -> Any:
    """Return a subclassed model as a functional model, with the inputs of `--input` or of its build config.

    Raises InputError if the shapes are unknown, or if Keras cannot trace the call.
    """
    keras = _keras()
    try:
        found = find(model, name, opening.inputs, {})
    except ShapesNeededError:
        found = None
    if found is None:
        raise InputError(
            name,
            "a subclassed model built without known shapes",
            "--input NAME=DTYPE[SIZES] for each argument of its call, or its SavedModel, written by "
            "model.export(folder)",
        )

    def put(leaf: Any) -> Any:
        if isinstance(leaf, Constant):
            return leaf.value
        if not isinstance(leaf, Shape):
            return leaf
        sizes = [None if each.name or not i else each.size for i, each in enumerate(leaf.shape)]
        made = keras.Input(batch_shape=sizes, dtype=leaf.dtype, name=leaf.name.replace(".", "_"))
        inputs.append(made)
        return made

    inputs: list[Any] = []
    args, kwargs = mapped(put, found.args), mapped(put, found.kwargs)
    try:
        outputs = model(*args, **kwargs)
    except Exception as error:
        output = sanitize_error(error, 300)
        text = (
            f"its call cannot be traced ({output}); save it with model.export(folder) and open that "
            "SavedModel"
        )
        raise InputError(name, output, "a call that consists of Keras ops", text) from error
    whole = keras.Model(inputs if len(inputs) > 1 else inputs[0], outputs, name=str(model.name))
    if _is_compiled(model):
        whole.compile(type(model.optimizer).from_config(model.optimizer.get_config()), model.loss)
    return whole


def _is_compiled(model: Any) -> bool:
    return getattr(model, "optimizer", None) is not None and getattr(model, "loss", None) is not None


def _loss(model: Any, lost: str) -> tuple[str, tuple[str, ...]]:
    """Return the loss for a model that has none, with a note about it; "" if the model has its own loss.

    lost: why the file's own loss could not be restored.
    """
    if _is_compiled(model):
        return "", ()
    last = [getattr(t._keras_history.operation, "activation", None) for t in model.outputs]
    names = {getattr(a, "__name__", "") for a in last}
    chosen = {"softmax": "categorical_crossentropy", "sigmoid": "binary_crossentropy"}
    loss = chosen.get(names.pop() if len(names) == 1 else "", "mean_squared_error")
    why = f"The compile settings in the file cannot be restored ({lost})" if lost else "The file has no loss"
    return loss, (f"{why}: a training step uses {loss.replace('_', ' ')} and Adam.",)


def _set(model: Any, loaded: Any) -> None:
    """Copy the weights of `loaded` into `model` one by one; copying all at once would double the memory."""
    taken, there = len(model.weights), len(loaded.weights)
    if taken != there:
        raise InputError("weights", there, f"the {taken} that the layers have")
    for weight, value in zip(model.weights, loaded.weights, strict=True):
        weight.assign(value.value)
    # Copying the weights is not enough: a vocabulary is not a weight, and a normalization layer uses its
    # statistics only after `load_own_variables`.
    for own, other in zip(_adapted(model), _adapted(loaded), strict=True):
        variables: dict[str, Any] = {}
        other.save_own_variables(variables)
        own.load_own_variables(variables)
        if hasattr(other, "save_assets"):
            with tempfile.TemporaryDirectory() as folder:
                other.save_assets(folder)
                own.load_assets(folder)


def _adapted(model: Any) -> Iterator[Any]:
    """Yield the layers that learn a vocabulary or statistics from data, also inside nested models."""
    for each in model.layers:
        if isinstance(each, _keras().Model):
            yield from _adapted(each)
        elif hasattr(each, "adapt"):
            yield each


def _sparse(model: Any) -> tuple[str, ...]:
    names = [_input_name(each, i) for i, each in enumerate(model.inputs) if getattr(each, "sparse", False)]
    return tuple(f"{name} may be sparse; it is measured with dense numbers." for name in names)


def _input_name(tensor: Any, index: int) -> str:
    return sanitize_line(str(tensor.name), 100) or f"input_{index}"


def with_policy(config: Any, policy: str) -> Any:
    """Return the config with this dtype policy in each layer that computes in float32, quantized layers
    included.
    """
    if isinstance(config, list):
        return [with_policy(each, policy) for each in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "DTypePolicy" and config.get("config", {}).get("name") == FLOAT32:
        return {**config, "config": {"name": policy}}
    if config.get("class_name") in _QUANTISED and config.get("config", {}).get("source_name") == FLOAT32:
        return {**config, "config": {**config["config"], "source_name": policy}}
    return {key: with_policy(value, policy) for key, value in config.items()}


def saved_by_keras_2(path: Path) -> str:
    """Return a version such as `Keras 2.15.0` if Keras 2 wrote the model; "" otherwise."""
    found: object = ""
    try:
        if path.is_dir():
            layers = path / "keras_metadata.pb"
            named = _VERSION.search(read_regular(layers, LARGEST_CONFIG)) if layers.exists() else None
            found = named[1] if named else b""
        elif path.suffix.lower() == ".keras" and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                if archive.getinfo("metadata.json").file_size < LARGEST_METADATA:
                    found = json.loads(archive.read("metadata.json")).get("keras_version", "")
        elif path.is_file() and path.suffix.lower() != ".keras":
            import h5py

            with h5py.File(path, "r") as file:
                found = file.attrs.get("keras_version", "")
    except (OSError, ValueError, KeyError, AttributeError, RecursionError, zipfile.BadZipFile, zlib.error):
        return ""
    version = found.decode(errors="replace") if isinstance(found, bytes) else str(found)
    return f"Keras {sanitize_line(version, 20)}" if version.startswith("2.") else ""


def _hints(model: Any) -> dict[str, Range]:
    hints: dict[str, Range] = {}
    for operation in getattr(model, "operations", None) or model.layers:
        scale = getattr(operation, "scale", None)
        if type(operation).__name__ != "Rescaling" or not isinstance(scale, float) or not 0 < scale < 0.1:
            continue
        for node in operation._inbound_nodes:
            for tensor in node.input_tensors:
                hints[str(tensor._keras_history.operation.name)] = Range(most=1.0 / scale)
    return hints


# Checks of what a file may do, before Keras reads it


def _described(path: Path) -> tuple[Any, int]:
    """Return the descriptions of the model and its training, and the bytes of the weights.

    Raises InputError for a damaged file, or for weights in another file.
    """
    name = sanitize_line(path.name, 200)
    if path.suffix.lower() != ".keras":
        return _described_h5(path, name)
    with open_regular(path) as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                members = archive.infolist()
                if len(members) > MOST_MEMBERS:
                    raise InputError(name, f"{len(members):,} members", f"at most {MOST_MEMBERS:,}")
                for member in members:
                    _check_member(name, member)
                names = {member.filename for member in members}
                if "config.json" not in names:
                    raise InputError(
                        name, "no config.json in the archive", "a model written by model.save(…)"
                    )
                config = json.loads(archive.read("config.json"))
                for member in members:
                    if member.filename.endswith(".h5"):
                        where = f"{name}/{sanitize_line(member.filename, 100)}"
                        check_tables(_seekable(archive, stream, member), where, path.stat().st_size)
        except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError) as error:
            raise InputError(name, f"a damaged archive ({error})", "a complete .keras file") from None
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                name, f"config.json cannot be read ({error})", "a complete .keras file"
            ) from None
    if not isinstance(config, dict):
        raise InputError(name, "config.json does not describe a model", "a complete .keras file")
    return config, sum(member.file_size for member in members)


class _Within(io.RawIOBase):
    def __init__(self, whole: BinaryIO, start: int, length: int) -> None:
        self._whole, self._start, self._length, self._at = whole, start, length, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        self._whole.seek(self._start + self._at)
        data = self._whole.read(max(0, min(len(buffer), self._length - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _seekable(archive: zipfile.ZipFile, stream: BinaryIO, member: zipfile.ZipInfo) -> BinaryIO:
    """Return the zip member as a stream that seeks backward quickly. `ZipFile.open` would re-read from the
    start.
    """
    if member.compress_type != zipfile.ZIP_STORED:
        return io.BytesIO(archive.read(member))
    stream.seek(member.header_offset + 26)
    start = member.header_offset + 30 + sum(struct.unpack("<HH", stream.read(4)))
    return cast(BinaryIO, _Within(stream, start, member.file_size))


def _check_member(name: str, member: zipfile.ZipInfo) -> None:
    shown = sanitize_line(member.filename, 100)
    if member.filename.startswith("/") or ".." in Path(member.filename).parts:
        raise InputError(name, f"{shown} in it", "only names inside the archive")
    if member.file_size > max(2**20, LARGEST_RATIO * member.compress_size):
        unpacks = f"{shown} unpacks from {size(member.compress_size)} to {size(member.file_size)}"
        raise InputError(name, unpacks, f"at most {LARGEST_RATIO} times its size")
    if member.filename == "config.json" and member.file_size > LARGEST_CONFIG:
        raise InputError(name, f"config.json of {size(member.file_size)}", f"at most {size(LARGEST_CONFIG)}")
    if not _MEMBERS.fullmatch(member.filename):
        raise InputError(name, f"{shown} in it", "the members written by model.save(…)")


def _described_h5(path: Path, name: str) -> tuple[Any, int]:
    import h5py

    with open_regular(path):
        pass
    try:
        with h5py.File(path, "r") as file:
            text = file.attrs.get("model_config")
            if text is None:
                raise InputError(name, "weights alone", "a complete model, written by model.save('m.h5')")
            config = json.loads(text)
            training = json.loads(file.attrs.get("training_config") or "null")
        if not isinstance(config, dict):
            raise InputError(name, "model_config does not describe a model", "a model's .h5 file")
        check_tables(path, name, path.stat().st_size)
    except OSError as error:
        raise InputError(name, f"not a readable HDF5 file ({error})", "a model's .h5 file") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(name, f"its description cannot be read ({error})", "a model's .h5 file") from None
    return {"model": config, "training": training}, path.stat().st_size


def check_tables(file: Any, name: str, weighs: int) -> None:
    """Raise InputError if the HDF5 file refers to other files, or if its tables are too large for its size.

    file: a path or a stream. Does not read values.
    """
    import h5py

    held, elsewhere = 0, list[str]()

    def look(place: str, link: Any) -> None:
        nonlocal held
        if isinstance(link, h5py.ExternalLink):
            elsewhere.append(f"{place}, in {link.filename}")
        elif isinstance(link, h5py.HardLink) and isinstance(table := whole[place], h5py.Dataset):
            held += table.nbytes
            if table.external or table.is_virtual:
                elsewhere.append(f"{place}, outside the file")

    with h5py.File(file, "r") as whole:
        whole.visititems_links(look)
    if elsewhere:
        raise InputError(name, sanitize_line(elsewhere[0], 200), "weights stored in the file")
    if held > max(ROOMY, MOST_UNPACKED * weighs):
        raise InputError(name, f"tables of {size(held)}", f"at most {MOST_UNPACKED} times its {size(weighs)}")


def examine(config: Any, name: str, opening: Opening, weighs: int) -> None:
    """Raise InputError if the description would run Python, read files, or need more memory than the file
    justifies.

    weighs: unpacked bytes of the file's members.
    """
    known = frozenset(_keras().saving.get_custom_objects())
    for part in _parts(config):
        shown = sanitize_line(str(part["class_name"]), 100)
        inner = part.get("config")
        asked = _asks(part, inner) if isinstance(inner, dict) else 0
        if asked > 2 * weighs + ROOMY:
            expected = f"layers no larger than the file's weights, {size(weighs)}"
            raise InputError(name, f"{shown} asks for {size(asked)}", expected)
        if not opening.trust:
            _check_part(part, name, shown, known)


def _check_part(part: Mapping[str, Any], name: str, shown: str, known: frozenset[str]) -> None:
    """Raise InputError for an object in the description that neither belongs to Keras nor is registered."""
    kind, inner = part["class_name"], part.get("config")
    module, registered = part.get("module"), part.get("registered_name")
    if kind in _CODE:
        what, expected = f"a {shown} layer, which runs code from the file", "Keras' own layers, or --trust"
        raise InputError(name, what, expected, f"it has {what}. If you trust the file, add --trust")
    if isinstance(inner, dict):
        table = next((inner[key] for key in _TABLES if not _is_table(inner.get(key))), None)
        if table is not None:
            text = f"{shown} reads the file {sanitize_line(str(table), 100)}"
            raise InputError(name, text, "a table inside the model, or --trust")
    # Keras finds a registered function by its `config`, but a class by its registered name.
    named = inner if kind == "function" else part.get("registered_name", kind)
    if kind in _VALUES or (isinstance(named, str) and named in known) or (module is None and kind in known):
        return
    if module is None and registered and registered != kind:
        raise CustomObjectError(
            name,
            f"the custom object {sanitize_line(str(registered), 100)}",
            "--code FILE.py that registers it (keras.saving.register_keras_serializable)",
        )
    if not (_is_function(inner, module, registered) if kind == "function" else _is_class(kind, module)):
        what = sanitize_line(str(inner), 100) if kind == "function" else shown
        of = f" of {sanitize_line(str(module), 100)}" if module is not None else ""
        # Keras finds `Package>Name` among registered objects only, and Keras 2 writes `Custom>Adam` for its
        # own Adam.
        packaged = isinstance(kind, str) and ">" in kind
        own = module in (None, "builtins") and (kind == "function" or packaged)
        raise (CustomObjectError if own else InputError)(
            name,
            f"{what}{of}, which is not among the Keras parts that only compute",
            "--code FILE.py that registers it, or --trust",
        )


def _is_table(value: Any) -> bool:
    """Return True if the description contains the lookup table itself, not the name of a file."""
    if isinstance(value, dict):
        inner = value.get("config")
        value = inner.get("value") if isinstance(inner, dict) else inner
    return value is None or isinstance(value, list)


def _is_class(kind: Any, module: Any) -> bool:
    """Return True if Keras would use one of its own classes, and this class is allowed."""
    if not isinstance(kind, str) or "." in kind:
        return False
    rooms = [room for room, names in CLASSES.items() if kind in names]
    if module is None:  # a legacy description: Keras searches its own classes by this name only
        return bool(rooms) or kind.lower() in _LOWER
    found = _find_object(module, kind)
    if found is None:
        return False
    return any(str(getattr(found, "__module__", "")).startswith(f"keras.src.{room}.") for room in rooms)


def _is_function(function: Any, module: Any, registered: Any) -> bool:
    """Return True if Keras would use one of its own functions, and this function is allowed."""
    if not isinstance(function, str) or function not in FUNCTIONS or registered not in (None, function):
        return False
    rooms = [f"{root}.{room}" for root in ("keras", "keras.src") for room in ROOMS_OF_FUNCTIONS]
    return module in (None, "builtins") or any(f"{module}.".startswith(f"{room}.") for room in rooms)


def _find_object(module: Any, kind: str) -> Any:
    if not isinstance(module, str) or not re.fullmatch(r"keras(\.\w+)*", module):
        return None
    try:
        return getattr(importlib.import_module(module), kind, None)
    except ImportError:
        return None


def _parts(config: Any) -> Iterator[dict[str, Any]]:
    waiting = [config]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if "class_name" in each:
                yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _asks(part: Mapping[str, Any], inner: Mapping[str, Any]) -> int:
    """Return the bytes of the layer's main weight; 0 if the description does not show its shape."""
    made = next((inner[k] for k in ("units", "filters", "output_dim") if isinstance(inner.get(k), int)), 0)
    if not made:
        return 0
    build = part.get("build_config")
    shape = build.get("input_shape") if isinstance(build, dict) else None
    taken = inner.get("input_dim")
    if not isinstance(taken, int):
        taken = shape[-1] if isinstance(shape, list) and shape and isinstance(shape[-1], int) else 1
    kernel = inner.get("kernel_size")
    around = [k for k in kernel if isinstance(k, int)] if isinstance(kernel, list) else []
    return 4 * made * taken * math.prod(around)
