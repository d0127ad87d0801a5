"""Reports the graphs of tf.functions that ran: each op's user line, and the devices with kernels for the
op.
"""

from __future__ import annotations

import sys

from .own import Own
from .places import is_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .functions import Functions
    from .process import Process

MOST_NODES, MOST_GRAPHS, MOST_LAYERS, MOST_DEPTH = 20_000, 200, 2_000, 6
FEW_CALLS, FEW_CONCRETE = 3, 3
ACTIVATIONS = {"activation": "tanh", "recurrent_activation": "sigmoid"}
ATTRIBUTES = ("transpose_a", "adj_x", "equation", "ksize", "is_training")
SHAPELESS = frozenset(("Const", "Identity", "NoOp", "VarHandleOp", "Shape", "StridedSlice", "Reshape"))
PLACELESS = frozenset(("Const", "NoOp", "Placeholder", "VarIsInitializedOp"))
"""Ops whose lines are never shown. They make up a third of a training step's graph."""
PLAIN = (type(None), str, bytes, int, float, type, type(sys))


class Graphs:
    def __init__(self, process: Process, functions: Functions) -> None:
        self.process, self.functions = process, functions
        self._seen: set[int] = set()
        self._ops: set[str] = set()
        self._gpus = False

    def send(self) -> None:
        """Send the graph of each called function once, with the devices that have kernels for the graph's
        ops.
        """
        functions = self.functions
        devices = self.process.tf.config.get_visible_devices()
        self._gpus = any(":GPU:" in device.name for device in devices)
        for number, reference in list(functions.known.items()):
            function = reference()
            if function is None or self.process.leaving.is_set():
                continue
            if functions.totals.get(number, (0, 0.0))[0] < FEW_CALLS:
                continue
            try:
                concrete = function._list_all_concrete_functions()
            except Exception:
                continue
            for each in concrete[:FEW_CONCRETE]:
                graphs, layers = [each.graph], None
                for graph in graphs:
                    if id(graph) in self._seen or len(graphs) > MOST_GRAPHS:
                        continue
                    self._seen.add(id(graph))
                    layers = layers_of(function) if layers is None else layers
                    self._send_graph(number, function, graph, layers)
                    for inner in list(getattr(graph, "_functions", {}).values()):
                        more = getattr(inner, "graph", None) or getattr(inner, "_graph", None)
                        if more is not None and id(more) not in self._seen:
                            graphs.append(more)
        self._send_kernels()

    def _send_graph(self, number: int, function: Any, graph: Any, layers: list[str]) -> None:
        nodes, shapes = [], []
        for index, op in enumerate(graph.get_operations()[:MOST_NODES]):
            where = None if op.type in PLACELESS else own_line(op)
            dtype = op.outputs[0].dtype.name if op.outputs else ""
            self._ops.add(op.type)
            nodes.append([op.name, op.type, dtype, *(where or ["", 0])])
            shapes.append([] if op.type in SHAPELESS else shapes_of(op))
            if index % 50 == 49:
                Own.sleep(0.001)  # let the program's own threads run first
        name = getattr(graph, "name", "")
        self.process.channel.send(
            "graph",
            number=number,
            name=name,
            nodes=nodes,
            shapes=[] if self._gpus else shapes,
            layers=layers,
            recurrent=without_cudnn(function),
        )

    def _send_kernels(self) -> None:
        if not self._ops:
            return
        from tensorflow.python.framework import dtypes, kernels

        found: dict[str, dict[str, set[str]]] = {}
        for op in sorted(self._ops):
            by_device = found[op] = {}
            for kernel in kernels.get_registered_kernels_for_op(op).kernel:
                types = by_device.setdefault(kernel.device_type, set())
                for constraint in kernel.constraint:
                    if constraint.name in ("T", "dtype", "SrcT", "Tparams"):
                        types.update(dtypes.as_dtype(t).name for t in constraint.allowed_values.list.type)
        self._ops.clear()
        rows = {op: {name: sorted(t) for name, t in types.items()} for op, types in found.items()}
        self.process.channel.send("kernels", ops=rows)


def own_line(op: Any) -> list[Any] | None:
    """Return the file and line of the user code that made an op.

    Starts with TensorFlow's list of user frames, which is three times as fast as searching all frames. This
    list is empty if the name of the user's folder looks like TensorFlow's own.
    """
    try:
        trace = op.traceback
        for frames in (trace.get_user_frames(), trace):
            # Use a list, because converting the frames to a tuple would read and cache each frame's source
            # file.
            for frame in reversed(list(frames)):
                if is_own(frame.filename):
                    return [frame.filename, frame.lineno]
    except Exception:
        pass
    return None


def layers_of(function: Any) -> list[str]:
    """Return the names of the Keras layers that a function can reach through its closure, globals or object.

    A graph appends numbers to repeated scope names. Only the layers' names show whether `conv2d_1` is a layer
    of that name or the second scope of the layer `conv2d`.
    """
    return sorted({str(layer.name) for layer in reached(function)})[:MOST_LAYERS]


def reached(function: Any) -> list[Any]:
    """Return the Keras layers that a function can reach through its closure, globals or object."""
    kind = getattr(sys.modules.get("keras"), "Layer", None)
    found: list[Any] = []
    seen: set[int] = set()
    waiting: list[tuple[Any, int]] = [(function, 0)]
    while kind is not None and waiting and len(seen) < MOST_LAYERS:
        thing, depth = waiting.pop()
        if id(thing) in seen or depth > MOST_DEPTH:
            continue
        seen.add(id(thing))
        try:
            if issubclass(type(thing), kind):
                found += thing._flatten_layers()
                continue
            python = getattr(thing, "_python_function", None) or getattr(thing, "func", None)
            code = getattr(thing, "__code__", None)
            parts = [python, getattr(thing, "__wrapped__", None), getattr(thing, "__self__", None)]
            if code is not None:
                names = getattr(thing, "__globals__", {})
                parts += [names[name] for name in code.co_names if name in names]
                parts += [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
            elif python is None and depth:
                parts = list(getattr(thing, "__dict__", {}).values()) if depth < MOST_DEPTH else []
            waiting += [(part, depth + 1) for part in parts if not isinstance(part, PLAIN)]
        except Exception:
            continue  # an empty cell, or an object that raises an error
    return found[:MOST_LAYERS]


def without_cudnn(function: Any) -> list[list[str]]:
    """Return name, class and reason for each reachable LSTM and GRU layer whose settings rule out cuDNN."""
    out = []
    for layer in reached(function):
        cell, kind = getattr(layer, "cell", None), type(layer).__name__
        if kind not in ("LSTM", "GRU") or cell is None:
            continue
        name = {key: getattr(getattr(cell, key, None), "__name__", "") for key in ACTIVATIONS}
        why = [
            "recurrent_dropout" if getattr(cell, "recurrent_dropout", 0) else "",
            "unroll=True" if getattr(layer, "unroll", False) else "",
            "" if getattr(cell, "use_bias", True) else "use_bias=False",
            "" if getattr(cell, "reset_after", True) else "reset_after=False",
            "use_cudnn=False" if getattr(layer, "use_cudnn", "auto") is False else "",
            *("%s=%r" % (key, name[key]) for key, usual in ACTIVATIONS.items() if name[key] != usual),
        ]
        if found := ", ".join(word for word in why if word):
            out.append([str(layer.name), kind, found])
    return out[:100]


def shapes_of(op: Any) -> list[Any]:
    """Return the shapes and dtypes of an op's inputs and outputs, and the attributes that determine
    its work.
    """
    sides = [
        [[None if t.shape.rank is None else t.shape.as_list(), t.dtype.name] for t in some]
        for some in (op.inputs, op.outputs)
    ]
    words, there = {}, op.node_def.attr  # each access to `node_def` parses it
    for name in ATTRIBUTES:
        if name in there:
            value = op.get_attr(name)
            words[name] = value.decode() if isinstance(value, bytes) else value
    return [*sides, words]
