"""Opens a SavedModel's signature: a graph with its variables, written by TensorFlow or `tuilab.capture`."""

import json
import math
import time
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tuilab.captured import AS_CALLED, MANIFEST, Manifest, repeat
from tuilab.model.arms import family
from tuilab.model.errors import InputError
from tuilab.model.files import read_regular
from tuilab.model.models import ModelInfo
from tuilab.model.parameters import Value
from tuilab.model.quantity import plural
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import Opening
from tuilab.model.shapes import Argument, Shape
from tuilab.worker.confinement import blobs
from tuilab.worker.models import memory
from tuilab.worker.models.allowed_ops import ACTS, TABLES_OF_FILES
from tuilab.worker.models.examined_graph import Examined, nodes_of
from tuilab.worker.models.inputs import BATCH, Given, Spec, declaration, parameters, stated
from tuilab.worker.models.keras_file import saved_by_keras_2
from tuilab.workloads.base import Build, Case, Unavailable, Workload

USUAL = "serving_default"
LARGEST_GRAPH = 2**31
MOST_NAMED = 20
REFERENCES = frozenset({"Variable", "VariableV2"})
"""TensorFlow 1's reference variables. TensorFlow loads their values on the CPU, whatever the device scope."""
ON_CPU_ONLY = (
    "TensorFlow loads the values of TensorFlow 1's reference variables on the CPU only; "
    "save the model with use_resource=True"
)


def workload(folder: Path, signature: str, opening: Opening) -> Workload:
    """Return the signature as a workload. Raises InputError, or TensorFlow's error for a damaged folder."""
    import tensorflow as tf

    name = sanitize_line(folder.name, 200)
    written = _manifest(folder, name)
    captured, manifest = written is not None, written or Manifest("", ())
    said = _examine(folder, name, opening)
    if manifest.mixed:
        tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})
    begun = time.perf_counter()
    live: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()

    def loaded(device: str) -> Any:
        found = live.get(device)
        if found is None:
            with tf.device(device):
                found = live[device] = tf.saved_model.load(str(folder))
        return found

    root = loaded("/CPU:0")
    load_s = time.perf_counter() - begun
    chosen = _chosen(root, signature, name)
    concrete = root.signatures[chosen]
    as_called = root.signatures.get(AS_CALLED) if captured else None
    known = {chosen} if as_called is None else {chosen, AS_CALLED}
    others = sorted(each for each in root.signatures if each not in known)
    specs = _specs(concrete, written, name, opening.inputs)
    names = [each[0] for each in specs]

    def called(held: Any, *inputs: Any, of: str = chosen) -> Any:
        named = dict(zip(names, inputs, strict=True))
        return repeat(tf, lambda: held.signatures[of](**named), manifest.steps)

    def graph_for(arrays: Sequence[Any]) -> str:
        if as_called is None:
            return chosen
        own = as_called.structured_input_signature[1]
        fits = (n in own and tuple(own[n].shape) == a.shape for n, a in zip(names, arrays, strict=True))
        return AS_CALLED if all(fits) else chosen

    of_cpu = any(op.type in REFERENCES for op in concrete.graph.get_operations())
    # A captured step changes its variables. Restore them, so that measuring starts from the program's state.
    kept = [(each, each.numpy()) for each in concrete.variables if captured]
    plain = tf.autograph.experimental.do_not_convert(lambda *inputs: called(root, *inputs))
    given = Given(tf, specs, opening.data, plain, {})
    with tf.device("/CPU:0") if of_cpu else nullcontext():
        given.probe()
    for variable, value in kept:
        variable.assign(value)
    axes = parameters(given, manifest.batch)
    needs = memory.of_graph(concrete.graph)
    info = ModelInfo(
        kind="captured" if captured else "saved_model",
        parameters=sum(math.prod(v.shape) for v in concrete.variables),
        inputs=given.described(),
        load_s=load_s,
        batch=BATCH if any(p.name == BATCH for p in axes) else "",
        said=(
            *said,
            *_of_keras_2(folder),
            *given.said,
            *((f"It is measured on the CPU: {ON_CPU_ONLY}.",) if of_cpu else ()),
            *_others(folder.name, chosen, others),
            *manifest.said,
            *(_of_the_call(manifest) if as_called is not None else ()),
        ),
    )

    def build(b: Build) -> Case:
        if of_cpu and family(b.arm.device) != "CPU":
            raise Unavailable(ON_CPU_ONLY)
        given.copied(b.arm.input)
        held, arrays = loaded(b.device), given.arrays(b.values)
        graph = graph_for(arrays)
        return b.tensors(lambda *inputs: called(held, *inputs, of=graph), *arrays)

    def needed(values: Mapping[str, Value]) -> int:
        return needs(given.sizes(values), training=captured)

    title = manifest.name if captured else f"{folder.name}: {chosen}"
    own = manifest.name if captured else sanitize_line(folder.name, 100)
    declared = declaration("A graph", own or "model", title, info, axes)
    return Workload(replace(declared, modes=("graph", "xla")), build, needed, info=info, holds=root)


def _manifest(folder: Path, name: str) -> Manifest | None:
    """Return the manifest that `tuilab.capture` wrote; None for other models. Raises InputError."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        return Manifest.read(json.loads(read_regular(path, 1_000_000)))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}/{MANIFEST}", "something else", "written by tuilab.capture") from None


def _chosen(root: Any, signature: str, name: str) -> str:
    there = [str(each) for each in getattr(root, "signatures", {})]
    if not there:
        raise InputError(name, "no signature", "a SavedModel saved with signatures=…")
    if signature and signature not in there:
        raise InputError(
            f"{name}: signature", signature, "one of " + ", ".join(map(sanitize_line, there[:20]))
        )
    return signature or (USUAL if USUAL in there else there[0])


def _others(folder: str, chosen: str, others: Sequence[str]) -> tuple[str, ...]:
    if not others:
        return ()
    shown = ", ".join(sanitize_line(each, 100) for each in others[:10])
    how = sanitize_line(f"{folder}:{others[0]}", 200)
    return (
        f"The signature {sanitize_line(chosen, 100)} is measured; the model also has {shown}. "
        f"To measure another one, open {how}.",
    )


def _of_keras_2(folder: Path) -> tuple[str, ...]:
    if not (version := saved_by_keras_2(folder)):
        return ()
    return (
        f"It was saved by {version}, so its signature is measured. For training and other precisions, build "
        "the model in Keras 3, load the weights and save a .keras file.",
    )


def _of_the_call(manifest: Manifest) -> tuple[str, ...]:
    return (
        f"A batch of {manifest.batch:,} runs the program's own graph; other batch sizes run a general graph, "
        "which may be slower.",
    )


def _specs(concrete: Any, manifest: Manifest | None, name: str, given: Sequence[Argument]) -> list[Spec]:
    """Return the signature's inputs; those of a captured function are in the order of its arguments.

    given: shapes for inputs of unknown rank.
    """
    found = concrete.structured_input_signature[1]
    order = [each for each in manifest.arguments if each in found] if manifest else sorted(found)
    shapes = {each.name: each for each in given if isinstance(each, Shape)}
    specs: list[Spec] = []
    for key in order:
        spec, own = found[key], shapes.pop(str(key), None)
        if spec.shape.rank is not None:
            specs.append((str(key), spec.dtype.name, tuple(spec.shape)))
        elif own is not None:
            specs.append((str(key), spec.dtype.name, tuple(None if n.name else n.size for n in own.shape)))
        else:
            shown = sanitize_line(key, 100)
            raise InputError(
                f"{name}: input {shown}",
                "of unknown rank",
                f"an input of known rank: --input {shown}={spec.dtype.name}[SIZES]",
            )
        if spec.shape.rank is not None and own is not None:
            stated(str(key), f"{key} {spec.shape}")
    for left in shapes:
        stated(left, f"it takes {', '.join(map(str, order))}")
    return specs


def _examine(folder: Path, name: str, opening: Opening) -> tuple[str, ...]:
    """Return notes on what the graph does besides computing. Raises InputError if the graph needs the user's
    trust.
    """
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    path = folder / "saved_model.pb"
    try:
        graphs = SavedModel.FromString(read_regular(path, LARGEST_GRAPH)).meta_graphs
    except DecodeError:
        raise InputError(f"{name}/saved_model.pb", "damaged", "a complete SavedModel") from None
    if not graphs:
        raise InputError(f"{name}/saved_model.pb", "empty", "a SavedModel with a graph")
    found: Counter[str] = Counter()
    for graph in graphs:
        # If a SavedModel has a single graph with objects, TensorFlow runs the functions of these objects.
        # Otherwise, it runs the graph's nodes.
        found += Examined(graph, of_objects=len(graphs) == 1 and graph.HasField("object_graph_def")).refused()
    if found and not opening.trust:
        raise InputError(name, _acts(found), "ops that only compute, or --trust to run these")
    if not opening.trust and (outside := leads_outside(folder)):
        raise InputError(
            f"{name}/{sanitize_line(outside, 200)}",
            "a file outside the folder",
            "a folder with its own files, or --trust",
        )
    said = [f"Its graph contains {_acts(found)}."] if found else []
    every = (node for graph in graphs for _, nodes in nodes_of(graph.graph_def) for node in nodes)
    if tables := sum(node.op in TABLES_OF_FILES for node in every):
        said.append(f"It reads its vocabulary when it is loaded: {plural(tables, 'table')}.")
    return tuple(said)


def _acts(found: Counter[str]) -> str:
    """Format the counts of ops by effect, as in `ops that write files: WriteFile × 1; …`."""
    left, words = dict(found), []
    for does, kinds in {**ACTS, "are not known to be safe": frozenset(found)}.items():
        listed = [f"{sanitize_line(op, 100)} × {left.pop(op)}" for op in sorted(kinds & left.keys())]
        if listed:
            words.append(f"ops that {does}: {', '.join(listed[:MOST_NAMED])}")
    return "; ".join(words)


def leads_outside(folder: Path) -> str:
    """Return a link in the folder that leads outside the folder; "" if there is none."""
    inside = [folder.resolve(), *blobs(folder)]
    for path in folder.rglob("*"):
        if path.is_symlink() and not any(path.resolve().is_relative_to(place) for place in inside):
            return str(path.relative_to(folder))
    return ""
