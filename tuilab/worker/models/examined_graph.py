"""Examines a graph of a SavedModel before TensorFlow loads it, and finds the ops that need the user's
trust.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tuilab.model.ops import PLACEHOLDERS
from tuilab.worker.models.allowed_ops import COMPUTES, SAVING, TABLES_OF_FILES

_PASSES = frozenset(("Identity", "StringJoin", "Pack", "ShardedFilename", "MergeV2Checkpoints"))
"""Ops that derive a file name from other file names."""
_ENDS = frozenset(("_Arg", "_Retval"))
"""Op types of the inputs and outputs in a function's graph."""
_GIVEN = PLACEHOLDERS | {"PlaceholderV2"}


def nodes_of(graph: Any) -> Iterator[tuple[str, Any]]:
    """Yield the nodes of a `GraphDef` (with name "") and of each function in its library."""
    yield "", graph.node
    for function in graph.library.function:
        yield function.signature.name, function.node_def


class Examined:
    """Examines a `MetaGraphDef`.

    of_objects: True if TensorFlow runs the functions of the SavedModel's objects, rather than the nodes of
    the main graph.
    """

    def __init__(self, graph: Any, of_objects: bool) -> None:
        self._graph, self._of_objects = graph, of_objects
        self._bodies = dict(nodes_of(graph.graph_def))
        self._nodes = {node.name: node for node in graph.graph_def.node}
        saver = graph.saver_def
        ends = (saver.save_tensor_name, saver.filename_tensor_name, saver.restore_op_name)
        self._saver = {_node_of(end) for end in ends if end}

    def refused(self) -> Counter[str]:
        """Return the number of ops of each type that may do more than compute."""
        found = self._ambiguous()
        saves = self._idle_functions() if self._of_objects else set[str]()
        assets = self._assets()
        for name, nodes in nodes_of(self._graph.graph_def):
            for node in nodes:
                if node.op == "DatasetFromGraph":
                    found += _of_nested(node, nodes)
                if node.op in self._bodies and node.op:
                    continue  # a call of a function by its name; the function's body is examined separately
                if node.op in SAVING:
                    allowed = name in saves if name else self._saves(node)
                elif node.op in TABLES_OF_FILES:
                    allowed = self._reads_asset(name, node, assets)
                else:
                    allowed = node.op in COMPUTES
                found[node.op] += not allowed
                for called in _called(node):
                    found[called] += called not in self._bodies
        for gradient in self._graph.graph_def.library.gradient:
            found[gradient.gradient_func] += gradient.gradient_func not in self._bodies
        return +found

    def _ambiguous(self) -> Counter[str]:
        """Count the functions that share their name with another function or with a TensorFlow op.

        TensorFlow never writes such a graph. Loading it might run a function that was not examined.
        """
        from tensorflow.python.framework import op_def_registry

        named = Counter(each.signature.name for each in self._graph.graph_def.library.function)
        return Counter(
            {name: n for name, n in named.items() if n > 1 or op_def_registry.get(name) is not None}
        )

    def _idle_functions(self) -> set[str]:
        """Return the functions that never run, because only the saver's nodes refer to them."""
        objects = self._graph.object_graph_def
        used = set(objects.concrete_functions)
        for each in objects.nodes:  # nodes may refer to functions that `concrete_functions` lacks
            used.update(
                (*each.function.concrete_functions, each.bare_concrete_function.concrete_function_name)
            )
        for node in self._graph.graph_def.node:
            if node.name not in self._saver:
                used.update((*_called(node), node.op))
        for graph in self._graph.graph_def.library.gradient:
            used.update((graph.function_name, graph.gradient_func))
        waiting = [name for name in used if name and name in self._bodies]
        while waiting:
            for node in self._bodies[waiting.pop()]:
                new = {*_called(node), node.op} & self._bodies.keys() - used
                used |= new
                waiting += new
        return self._bodies.keys() - used - {""}

    def _saves(self, node: Any) -> bool:
        """Return True if the node only saves or restores the model's own variables on request."""
        if self._of_objects:
            return False
        names = 1 if node.op != "MergeV2Checkpoints" else 2
        return node.name not in self._run() and all(
            self._is_of_the_saver(each) for each in _inputs(node)[:names]
        )

    def _is_of_the_saver(self, name: str, depth: int = 0) -> bool:
        """Return True if the file name is derived from the name that TensorFlow passes to the saver."""
        node = self._nodes.get(name)
        if node is None or depth > 20:
            return False
        if name == _node_of(self._graph.saver_def.filename_tensor_name):
            return node.op in _GIVEN
        made_of = _inputs(node)
        if node.op == "Pack":
            return all(self._is_of_the_saver(each, depth + 1) for each in made_of)
        if node.op == "StringJoin":
            plain = all(self._is_plain_text(each) for each in made_of[1:])
            return plain and self._is_of_the_saver(made_of[0], depth + 1)
        return node.op in _PASSES and bool(made_of) and self._is_of_the_saver(made_of[0], depth + 1)

    def _is_plain_text(self, name: str) -> bool:
        """Return True for a constant part of a path, or for an op that chooses between constant parts, as
        TensorFlow writes it to support S3 paths.
        """
        node = self._nodes.get(name)
        if node is not None and node.op in ("Select", "SelectV2"):
            return all(self._is_plain_text(each) for each in _inputs(node)[1:])
        return node is not None and node.op == "Const" and b".." not in _text(node)

    def _run(self) -> set[str]:
        """Return the nodes needed by a signature, an initializer or a variable's initial value."""
        from tensorflow.core.framework.variable_pb2 import VariableDef

        starts: list[str] = []
        for signature in self._graph.signature_def.values():
            for info in signature.outputs.values():
                starts += [info.name, *(part.name for part in _parts(info))]
        for collection in self._graph.collection_def.values():
            starts += collection.node_list.value
            for value in collection.bytes_list.value:
                try:
                    variable = VariableDef.FromString(value)
                except Exception:  # the bytes do not describe a variable
                    continue
                starts += [variable.initializer_name, variable.initial_value_name, variable.snapshot_name]
        found: set[str] = set()
        waiting = [_node_of(each) for each in starts if each]
        while waiting:
            at = waiting.pop()
            if at not in found and at in self._nodes:
                found.add(at)
                waiting += [_node_of(each) for each in self._nodes[at].input]
        return found

    def _assets(self) -> set[str]:
        files = self._graph.asset_file_def
        return {_node_of(each.tensor_info.name) for each in files if _is_plain(each.filename)}

    def _reads_asset(self, function: str, node: Any, assets: set[str]) -> bool:
        if any(not _is_plain(each.filename) for each in self._graph.asset_file_def):
            return False
        source = _inputs(node)[1] if len(_inputs(node)) > 1 else ""
        if not function:
            return source in assets
        if not self._of_objects or function not in self._graph.object_graph_def.concrete_functions:
            return False
        others = (each for name, nodes in self._bodies.items() if name for each in nodes)
        if any(function in (*_called(each), each.op) for each in others):
            return False
        objects, library = self._graph.object_graph_def, self._graph.graph_def.library.function
        signature = next(each.signature for each in library if each.signature.name == function)
        arguments = [each.name for each in signature.input_arg]
        bound = objects.concrete_functions[function].bound_inputs
        given = dict(zip(arguments[len(arguments) - len(bound) :], bound, strict=False))
        return source in given and objects.nodes[given[source]].WhichOneof("kind") == "asset"


def _of_nested(node: Any, nodes: Any) -> Counter[str]:
    """Count the disallowed ops in the constant graph of a `DatasetFromGraph`.

    The `DatasetFromGraph` itself is always refused, because the graph in it may be the result of other ops
    instead of a constant.
    """
    from google.protobuf.message import DecodeError
    from tensorflow.core.framework.graph_pb2 import GraphDef

    inside: Counter[str] = Counter()
    for each in nodes:
        if each.name in _inputs(node) and each.op == "Const":
            with contextlib.suppress(DecodeError):
                inside.update(n.op for _, body in nodes_of(GraphDef.FromString(_text(each))) for n in body)
    return Counter({op: n for op, n in inside.items() if op not in COMPUTES | _ENDS})


def _called(node: Any) -> Iterable[str]:
    for value in node.attr.values():
        if value.func.name:
            yield value.func.name
        yield from (each.name for each in value.list.func if each.name)


def _inputs(node: Any) -> list[str]:
    return [_node_of(each) for each in node.input if not each.startswith("^")]


def _node_of(tensor: str) -> str:
    return tensor.removeprefix("^").partition(":")[0]


def _parts(info: Any) -> list[Any]:
    sparse = info.coo_sparse
    names = (sparse.values_tensor_name, sparse.indices_tensor_name, sparse.dense_shape_tensor_name)
    return [type(info)(name=name) for name in names] + list(info.composite_tensor.components)


def _text(constant: Any) -> bytes:
    return b"".join(constant.attr["value"].tensor.string_val)


def _is_plain(name: str) -> bool:
    return bool(name) and not name.startswith("/") and ".." not in name.split("/") and "\0" not in name
