"""Reads a function's graph as the runtime partitioned it: ops, copies between devices, folded nodes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tuilab.analysis.operations import computes, plain
from tuilab.model.ops import ARGUMENTS, CALLS, HIDDEN, PASSING_ON, RECEIVES, SENDS, SHAPES
from tuilab.worker.placement.kernels import HOST, Types
from tuilab.worker.placement.names import short
from tuilab.worker.placement.registry import dtype_name
from tuilab.worker.placement.shapes import Sizes, constant_bytes

# Name suffix that the optimizer gives to the last of several unary ops that it merged.
_COMPOSED = "/unary_ops_composition"
LOOPED = re.compile(r"/(?:body|cond)/_\d+/")
"""Matches the part of a node's name, after the loop's own name, that marks the node as inside a loop."""
_BRANCH = re.compile(r"/(?:then|else|branch\d*)/_\d+/")


@dataclass(frozen=True)
class GraphOp:
    """A node that runs.

    written: types of the original ops that the node replaces; () for a node that the optimizer added.
    """

    name: str
    op: str
    device: str
    requested: str
    types: Types
    written: tuple[str, ...] = ()
    resource_on: str = ""
    colocated_with: str = ""
    xla: bool = False


@dataclass(frozen=True)
class GraphCopy:
    """A matched send and receive. bytes: None if the shape depends on the data.

    source, to: the devices whose memory is read and written. The argument or result of a GPU op may be in
    host memory; the host is then the source or target. on_host: True if a GPU op takes part, but both ends
    are in host memory. Nothing crosses the bus in this case, and `source` and `to` are the ops' devices.
    """

    name: str
    op: str
    source: str
    to: str
    dtype: str
    bytes: int | None
    on_host: bool


@dataclass(frozen=True)
class Folded:
    """A node of the original function that the optimized graph no longer contains, and the reason."""

    name: str
    op: str
    requested: str
    types: Types
    why: str


def types_of(node: Any) -> dict[str, str]:
    return {
        name: dtype_name(value.type)
        for name, value in node.attr.items()
        if value.WhichOneof("value") == "type" and not name.startswith("_")
    }


@dataclass(frozen=True)
class Written:
    """A node of the original function. inputs: the full names of the nodes whose outputs it reads."""

    node: Any
    inputs: tuple[str, ...]


def flattened(graph: Any) -> dict[str, Written]:
    """Return every node of the original function, with calls inlined as the runtime inlines them."""
    return flatten(graph.node, {f.signature.name: f for f in graph.library.function}.get)


def flatten(body: Iterable[Any], library: Callable[[str], Any]) -> dict[str, Written]:
    """Return a body's nodes by name, with calls inlined: an inlined node's name starts with the call's name.

    library: returns the FunctionDef of a name, or None.
    """
    nodes: dict[str, Written] = {}

    def add(body: Iterable[Any], prefix: str, depth: int) -> None:
        for node in body:
            inputs = tuple(prefix + i.partition(":")[0] for i in node.input if not i.startswith("^"))
            nodes[prefix + node.name] = Written(node, inputs)
            called = library(node.attr["f"].func.name) if node.op in CALLS and depth < 20 else None
            if called is not None:
                add(called.node_def, f"{prefix}{node.name}/", depth + 1)

    add(body, "", 0)
    return nodes


def ops(graph: Any, written: Mapping[str, Written]) -> Iterator[GraphOp]:
    for partition in graph.partition_graphs:
        resources = {
            n.name: short(n.device)
            for n in partition.node
            if n.op in (*ARGUMENTS, "VarHandleOp") and types_of(n).get("T", "resource") == "resource"
        }
        for node in partition.node:
            before = written.get(node.name.removesuffix(_COMPOSED))
            if node.op not in HIDDEN:
                yield _op(node, before.node if before else None, resources)


def loops(graph: Any) -> bool:
    return any(LOOPED.search(node.name) for p in graph.partition_graphs for node in p.node)


def is_in_branch(name: str) -> bool:
    """Return True if the data decides whether the node runs."""
    return _BRANCH.search(name) is not None


def executions(name: str, loops: Mapping[str, float]) -> int:
    """Return how often a node runs in a call; 1 if unknown. loops: trip counts (`counting.Counted.loops`)."""
    last = max((found.start() for found in LOOPED.finditer(name)), default=0)
    around = LOOPED.sub("/body/", _BRANCH.sub("/branch/", name[:last]))
    return max(1, round(loops.get(around, 1.0))) if last else 1


def _op(node: Any, before: Any, resources: Mapping[str, str]) -> GraphOp:
    source = node if before is None else before
    classes = [c.decode() for c in source.attr["_class"].list.s] if "_class" in source.attr else []
    colocated = [c.removeprefix("loc:@") for c in classes]
    inputs = (name.partition(":")[0] for name in node.input if not name.startswith("^"))
    return GraphOp(
        name=node.name,
        op=node.op,
        device=short(node.device),
        requested=short(source.device) if before is not None else "",
        types=types_of(node),
        written=_stands_for(node, before),
        resource_on=next((resources[name] for name in inputs if name in resources), ""),
        colocated_with=next((name for name in colocated if name != node.name), ""),
        xla="_XlaMustCompile" in node.attr and node.attr["_XlaMustCompile"].b,
    )


def pipelines(graph: Any) -> Iterator[str]:
    for partition in graph.partition_graphs:
        for node in partition.node:
            if "Dataset" in node.op:
                yield from (v.func.name for v in node.attr.values() if v.WhichOneof("value") == "func")


def _stands_for(node: Any, before: Any) -> tuple[str, ...]:
    if "op_names" in node.attr:
        return tuple(name.decode() for name in node.attr["op_names"].list.s)
    own = () if before is None else (before.op,)
    work = computes(node.op)
    return own if work == plain(node.op) else (work, *own)


def copies(graph: Any, sizes: Sizes) -> Iterator[GraphCopy]:
    receives = {_edge(node): node for p in graph.partition_graphs for node in p.node if node.op in RECEIVES}
    for partition in graph.partition_graphs:
        constants = {node.name: node for node in partition.node if node.op == "Const"}
        for node in partition.node:
            if node.op in SENDS:
                yield _copy(node, receives.get(_edge(node)), sizes, constants)


def _edge(node: Any) -> tuple[bytes, bytes, bytes]:
    return node.attr["send_device"].s, node.attr["recv_device"].s, node.attr["tensor_name"].s


def _copy(send: Any, receive: Any, sizes: Sizes, constants: Mapping[str, Any]) -> GraphCopy:
    source, to = (short(send.attr[name].s.decode()) for name in ("send_device", "recv_device"))
    start, _, output = send.input[0].partition(":") if send.input else ("", "", "")
    origin = send.attr["_src"].s.decode() or start
    target = send.attr["_dst"].s.decode()
    size = constant_bytes(constants[start]) if start in constants else sizes.of(start, int(output or 0))
    if size is None:
        size = sizes.of(origin, int(output or 0))
    leaves_host = send.op == "_HostSend" or source.startswith("CPU")
    reaches_host = receive is not None and (receive.op == "_HostRecv" or to.startswith("CPU"))
    on_host = leaves_host and reaches_host and "GPU" in source + to
    if not on_host:
        source = HOST if send.op == "_HostSend" else source
        to = HOST if receive is not None and receive.op == "_HostRecv" else to
    return GraphCopy(
        name=f"{origin} → {target}",
        op="/".join([send.op, receive.op if receive is not None else "?"]),
        source=source,
        to=to,
        dtype=dtype_name(send.attr["T"].type),
        bytes=size,
        on_host=on_host,
    )


def folded(graph: Any, written: Mapping[str, Written]) -> Iterator[Folded]:
    """Yield the nodes of the original function that no partition contains, because the optimizer removed
    them.
    """
    left = {n.name.removesuffix(_COMPOSED): n.op for p in graph.partition_graphs for n in p.node}
    programs = tuple(name + "/" for name, op in left.items() if op in CALLS)
    around = {other[:at] for other in left for at, letter in enumerate(other) if letter == "/"}
    constant = _constants(written)
    for name, before in written.items():
        node = before.node
        if node.op in HIDDEN or left.get(name, "Const") != "Const" or name.startswith(programs):
            continue
        if node.op in CALLS or (name not in left and name in around):
            continue  # an inlined call is not folded: its parts run
        if name in left or name in constant:
            why = "computed once, when the graph was optimized"
        elif node.op in PASSING_ON:
            why = "only returned its input"
        else:
            why = "merged into another op, or its result is not used"
        yield Folded(name, node.op, short(node.device), types_of(node), why)


def _constants(written: Mapping[str, Written]) -> set[str]:
    known: dict[str, bool] = {}

    def constant(name: str, depth: int = 0) -> bool:
        if name not in known:
            before = written.get(name)
            known[name] = False  # a cycle is a loop, never constant
            if before is not None and depth < 500:
                known[name] = before.node.op in ("Const", *SHAPES) or (
                    bool(before.inputs) and all(constant(i, depth + 1) for i in before.inputs)
                )
        return known[name]

    return {name for name in written if constant(name)}
