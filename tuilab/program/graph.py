"""Lists the ops of a step, with their lines, layers, and reasons for running on the CPU. Pure functions."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tuilab.analysis.operations import computes
from tuilab.profile.classify import Key
from tuilab.program.fold import Process

_INLINED = re.compile(r"^(?:StatefulPartitionedCall|PartitionedCall)(?:_\d+)?/")
_AGAIN = re.compile(r"_\d+$")
_SCOPES = (
    "gradient_tape",
    "gradients",
    "while",
    "body",
    "cond",
    "StatefulPartitionedCall",
    "PartitionedCall",
)
_MODELS = ("sequential", "functional", "model")
LAYERS = 6
"""Minimum number of inner scopes by which a model's scope is recognized. A layer has only a few, such as
`moments`.
"""
_OPTIMIZERS = ("adam", "sgd", "rmsprop", "adamw", "adagrad", "lion", "nadam", "optimizer")


@dataclass(frozen=True)
class Op:
    """An op of a step, with its seconds per step and, if known, its dtype and place.

    kind: the op's type in the graph.
    """

    op: str
    name: str
    device: str
    seconds: float
    dtype: str = ""
    file: str = ""
    line: int = 0
    layer: str = ""
    kind: str = ""


def ops_of(of: Process) -> list[Op]:
    spent: dict[Key, float] = defaultdict(float)
    for _, seen in of.profiled:
        for key, value in seen.ops.items():
            spent[key] += value * len(seen.steps) / len(of.seen)
    merged: dict[tuple[str, str, str, str, int, str, str], float] = defaultdict(float)
    names: dict[tuple[str, str, str, str, int, str, str], str] = {}
    models, layers = models_of(of.nodes), LayerNames(of.layers, of.nodes)
    for key, value in spent.items():
        kind, dtype, file, line = node_of(of, key)
        row = (
            computes(key.op),
            key.device,
            dtype,
            file,
            line,
            layers.of(key.name) or layer_of(key.name, models),
            kind,
        )
        merged[row] += value
        names.setdefault(row, key.name)
    out = [
        Op(op, names[row], device, value, dtype, file, line, layer, kind)
        for row, value in merged.items()
        for op, device, dtype, file, line, layer, kind in (row,)
    ]
    return sorted(out, key=lambda op: -op.seconds)


def node_of(of: Process, key: Key) -> tuple[str, str, str, int]:
    """Return the op's name in the graph, its dtype, file and line.

    The profile prefixes the names of inlined ops with the names of the calling functions. The prefixes are
    removed.
    """
    name = key.name
    while True:
        if name in of.nodes:
            return of.nodes[name]
        shorter = _INLINED.sub("", name)
        if shorter == name:
            break
        name = shorter
    # The optimizer derives the names of new nodes from existing ones.
    for part in (name.rpartition("/")[0], name.partition("-")[0]):
        if part in of.nodes:
            return of.nodes[part]
    return key.op, "", "", 0


def _scopes(name: str) -> list[str]:
    while (shorter := _INLINED.sub("", name)) != name:
        name = shorter
    return [part for part in name.split("/")[:-1] if part not in _SCOPES]


def models_of(names: Iterable[str]) -> set[str]:
    """Return the scopes that have too many inner scopes to be layers."""
    inner: dict[str, set[str]] = defaultdict(set)
    for outer, *rest in filter(None, map(_scopes, names)):
        inner[outer].update(rest[:1])
    return {outer for outer, some in inner.items() if len(some) >= LAYERS}


def layer_of(name: str, models: Collection[str] = ()) -> str:
    """Return the Keras layer whose scope contains the node, if any."""
    outer, inner = [*_scopes(name), "", ""][:2]
    if outer.startswith(_OPTIMIZERS):
        return ""
    return inner if inner and (outer in models or outer.startswith(_MODELS)) else outer


class LayerNames:
    """Maps scopes to layers, because a graph appends numbers to repeated scope names.

    known: names of the program's layers. nodes: names of the graph nodes.
    """

    def __init__(self, known: Collection[str], nodes: Iterable[str]) -> None:
        self._known = known
        scopes = {scope for name in nodes for scope in _scopes(name)} if known else set()
        numbered = [(scope, _AGAIN.sub("", scope)) for scope in scopes if _AGAIN.search(scope)]
        # `dense_1` may be a layer of that name or the second use of `dense`. Choose the reading that explains
        # more scopes.
        self._as_named = sum((scope in known) - (plain in known) for scope, plain in numbered) > 0

    def of(self, name: str) -> str:
        """Return the innermost known layer whose scope contains the node, if any."""
        found = ""
        for scope in _scopes(name):
            plain = _AGAIN.sub("", scope)
            order = (scope, plain) if self._as_named else (plain, scope)
            found = next((each for each in order if each in self._known), found)
        return found


def reason_of(op: Op, of: Process) -> str:
    """Return why an op does not run on a GPU; "" if the op runs on a GPU or the reason is unknown."""
    facts = of.facts
    if not op.device.startswith("CPU"):
        return ""
    if facts is None or not any(":GPU:" in name for name in facts.visible):
        return "TensorFlow sees no GPU"
    kernels = of.kernels.get(op.kind)
    if kernels is None:
        return ""
    if "GPU" not in kernels:
        return f"TensorFlow has no GPU kernel for {op.kind}"
    types = kernels["GPU"]
    if types and op.dtype and op.dtype not in types:
        return f"TensorFlow has no {op.dtype} GPU kernel for {op.kind}"
    return "it has a GPU kernel, but a device scope or a colocation constraint placed it on the CPU"
