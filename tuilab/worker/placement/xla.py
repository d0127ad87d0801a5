"""Reads the operations of the program that XLA compiled for a function."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2, prod
from typing import Any

from tuilab.worker.placement.watch import FunctionCall

_ENTRY = re.compile(r"^ENTRY .*?\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^\s+(?:ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>\(.*?\)|\S+) (?P<op>[a-z][\w\-]*)\(")
_TARGET = re.compile(r'custom_call_target="([^"]*)"')
_FROM = re.compile(r'op_type="([^"]*)"(?: op_name="([^"]*)")?')
_NOT_WORK = frozenset(("parameter", "constant", "tuple", "get-tuple-element", "bitcast"))
_MOVES = _NOT_WORK | {"fusion", "call", "copy", "reshape", "broadcast", "transpose", "iota", "map", "domain"}
_HIDES = ("while", "conditional", "custom-call", "async-start", "cholesky", "triangular-solve")
_WINDOW = re.compile(r"window=\{size=([\dx]+)")
_SIDES = re.compile(r"\[([\d,]*)\]")
_OPERANDS = re.compile(r"%([\w.\-]+)")
_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    "pred": "bool",
    **{f"s{n}": f"int{n}" for n in (4, 8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (4, 8, 16, 32, 64)},
}


@dataclass(frozen=True)
class HloOp:
    name: str
    op: str
    dtype: str
    came_from: str


def operations(hlo: str) -> Iterator[HloOp]:
    """Yield the operations of the entry computation in an optimized HLO text. A fusion counts as one
    operation.
    """
    entry = _ENTRY.search(hlo)
    for line in entry[1].splitlines() if entry else ():
        match = _LINE.match(line)
        if match is None or match["op"] in _NOT_WORK:
            continue
        op, target, origin = match["op"], _TARGET.search(line), _FROM.search(line)
        yield HloOp(
            name=match["name"],
            op=f"{op} {target[1]}" if target else op,
            dtype=_DTYPES.get(match["type"].lstrip("(").partition("[")[0], ""),
            came_from=_name_op(*origin.groups()) if origin else "",
        )


def _name_op(op_type: str | None, name: str | None) -> str:
    return f"{op_type} ({name})" if op_type and name and op_type != name else op_type or name or ""


def arithmetic(hlo: str) -> float | None:
    """Return the estimated number of operations in an optimized HLO text; None if a loop, branch or library
    call hides some.

    Counts two operations per output element and contracted position of a matrix product or convolution, fifty
    per element of a Fourier transform, log₂ n per element of a sort, one per element of each window, one per
    input element of a reduction or scatter, and one per output element of any other op. Ops that only move or
    rename values do not count.
    """
    shapes: dict[str, list[int]] = {}
    total = 0.0
    for line in hlo.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        op, made = match["op"], [_sides(each) for each in _SIDES.findall(match["type"])]
        shapes[match["name"]] = made[0] if made else []
        if op in _HIDES:
            return None
        if op in _MOVES:
            continue
        given = [shapes.get(name, []) for name in _OPERANDS.findall(line[match.end() :].partition(")")[0])]
        size = float(sum(prod(each) for each in made))
        if op == "dot" and given:
            size *= 2 * prod(given[0][place] for place in _places(line, "lhs_contracting_dims"))
        elif op == "convolution" and len(given) > 1:
            kernel = line.partition("dim_labels=")[2].partition("_")[2].partition("-")[0]
            size *= 2 * prod(given[1]) / max(1, given[1][kernel.index("o")])
        elif op == "fft":
            size *= 50
        elif op == "sort":
            size *= log2(max(2.0, size))
        elif op == "reduce-window":
            size *= _window(line)
        elif op == "select-and-scatter":
            size = float(prod(given[1]) if len(given) > 1 else size) * _window(line)
        elif op.startswith(("reduce", "scatter")):
            size = float(max(size, *map(prod, given)))
        total += size
    return total


def _sides(text: str) -> list[int]:
    return [int(side) for side in text.split(",") if side]


def _window(line: str) -> int:
    found = _WINDOW.search(line)
    return prod(map(int, found[1].split("x"))) if found else 1


def _places(line: str, name: str) -> list[int]:
    return _sides(line.partition(name + "={")[2].partition("}")[0])


def compiled(call: FunctionCall) -> tuple[tuple[HloOp, ...], float | None]:
    """Return the operations of a function that XLA compiled, and its `arithmetic`; () and None if it exports
    no program.

    Compiles the function once more.
    """
    import tensorflow as tf
    from tensorflow.python.eager import context as eager

    ctx = eager.context()
    device = next((t.device for t in call.outputs or call.inputs if t.device), "CPU:0")
    captured = tuple(t for t in call.arguments if t.dtype == tf.resource)
    plain = tuple(t for t in call.arguments if t.dtype != tf.resource)
    try:
        text: Any = ctx.get_compiler_ir(
            device_name=f"/job:localhost/replica:0/task:0/device:{device}",
            platform_name=None,
            function_name=call.name,
            flat_args=list(plain),
            captured_inputs=list(captured),
            stage="optimized_hlo",
        )
    except (ValueError, TypeError, RuntimeError, tf.errors.OpError):
        return (), None
    hlo = text.decode() if isinstance(text, bytes) else str(text)
    return tuple(operations(hlo)), arithmetic(hlo)
