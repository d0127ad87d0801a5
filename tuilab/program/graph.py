"""The ops of a watched program's step, with their lines, layers and reasons. Pure."""

import re
from collections import defaultdict
from dataclasses import dataclass

from tuilab.analysis.operations import computes
from tuilab.profile.classify import Key
from tuilab.program.fold import Process

_INLINED = re.compile(r"^(?:StatefulPartitionedCall|PartitionedCall)(?:_\d+)?/")
_SCOPES = (
    "gradient_tape",
    "gradients",
    "while",
    "body",
    "cond",
    "StatefulPartitionedCall",
    "PartitionedCall",
)
_OPTIMIZERS = ("adam", "sgd", "rmsprop", "adamw", "adagrad", "lion", "nadam", "optimizer")


@dataclass(frozen=True)
class Op:
    """An op of a step: its seconds in it, its dtype and place where they are known. kind: as the graph has
    it."""

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
    """Ops by kind, line and layer, the longest first: the mean of the windows."""
    spent: dict[Key, float] = defaultdict(float)
    for _, seen in of.windows:
        for key, value in seen.ops.items():
            spent[key] += value / len(of.windows)
    merged: dict[tuple[str, str, str, str, int, str, str], float] = defaultdict(float)
    names: dict[tuple[str, str, str, str, int, str, str], str] = {}
    for key, value in spent.items():
        kind, dtype, file, line = node_of(of, key)
        row = computes(key.op), key.device, dtype, file, line, layer_of(key.name), kind
        merged[row] += value
        names.setdefault(row, key.name)
    out = [
        Op(op, names[row], device, value, dtype, file, line, layer, kind)
        for row, value in merged.items()
        for op, device, dtype, file, line, layer, kind in (row,)
    ]
    return sorted(out, key=lambda op: -op.seconds)


def node_of(of: Process, key: Key) -> tuple[str, str, str, int]:
    """The graph's op, its dtype, file and line; the profile names ops of inlined functions with their
    callers' names."""
    name = key.name
    while True:
        if name in of.nodes:
            return of.nodes[name]
        shorter = _INLINED.sub("", name)
        if shorter == name:
            break
        name = shorter
    # The optimiser names what it makes of a node after it.
    for part in (name.rpartition("/")[0], name.partition("-")[0]):
        if part in of.nodes:
            return of.nodes[part]
    return key.op, "", "", 0


def layer_of(name: str) -> str:
    """The Keras layer in whose scope a node is, "" for none."""
    while (shorter := _INLINED.sub("", name)) != name:
        name = shorter
    parts = [part for part in name.split("/")[:-1] if part not in _SCOPES]
    if not parts or parts[0].startswith(_OPTIMIZERS):
        return ""
    return (
        parts[1]
        if len(parts) > 1 and parts[0].startswith(("sequential", "functional", "model"))
        else parts[0]
    )


def reason_of(op: Op, of: Process) -> str:
    """Why an op is not on a GPU; "" where it is on one, or nothing is known."""
    facts = of.facts
    if not op.device.startswith("CPU"):
        return ""
    if facts is None or not any(":GPU:" in name for name in facts.visible):
        return "TensorFlow sees no GPU"
    kernels = of.kernels.get(op.kind)
    if kernels is None:
        return ""
    if "GPU" not in kernels:
        return f"TensorFlow has no GPU kernel of {op.kind}"
    types = kernels["GPU"]
    if types and op.dtype and op.dtype not in types:
        return f"TensorFlow has no GPU kernel of {op.kind} for {op.dtype}"
    return (
        "it has a GPU kernel, but was placed on the CPU: by a device scope, or with what it is colocated with"
    )
