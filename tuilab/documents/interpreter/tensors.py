"""Shapes and dtypes through operators and the common functions of tensors and arrays."""

import ast
from collections.abc import Sequence
from typing import Literal

from tuilab.documents.interpreter.interpreter import Interpreter
from tuilab.documents.interpreter.values import (
    Known,
    Listing,
    Many,
    OpaqueObject,
    Shape,
    Tensor,
    Value,
    truth,
)

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "tf.add",
    ast.Sub: "tf.subtract",
    ast.Mult: "tf.multiply",
    ast.Div: "tf.divide",
    ast.FloorDiv: "tf.floordiv",
    ast.Mod: "tf.math.mod",
    ast.Pow: "tf.pow",
    ast.MatMult: "tf.matmul",
    ast.BitAnd: "tf.bitwise.bitwise_and",
    ast.BitOr: "tf.bitwise.bitwise_or",
    ast.BitXor: "tf.bitwise.bitwise_xor",
    ast.LShift: "tf.bitwise.left_shift",
    ast.RShift: "tf.bitwise.right_shift",
}


def operator(interpreter: Interpreter, op: ast.operator, left: Value, right: Value, line: int) -> Value:
    """Apply a Python operator where a tensor or an array takes part."""
    name = OPERATORS[type(op)]
    if name == "tf.matmul":
        return matmul(interpreter, {"a": left, "b": right}, line)
    result = elementwise(interpreter, name, [left, right], line)
    if isinstance(op, ast.Div) and result.dtype and result.dtype.startswith(("int", "uint")):
        result.dtype = "float64"
    return result


def library(values: Sequence[Value]) -> Literal["tf", "np"]:
    """Return whose operation it is: TensorFlow's as soon as one of its tensors takes part."""
    found = [v.library for v in values if isinstance(v, Tensor)]
    return "np" if found and "tf" not in found else "tf"


def elementwise(
    interpreter: Interpreter, name: str, values: Sequence[Value], line: int, dtype: str | None = None
) -> Tensor:
    """Apply an operation element by element, broadcasting its operands."""
    whose = library(values)
    tensors = [v for v in values if isinstance(v, Tensor)]
    shape = broadcast_values(values)
    result = Tensor(shape, dtype or _promoted(tensors), whose, inside=any(t.inside for t in tensors))
    arguments = dict(zip(("x", "y", "z"), values, strict=False))
    name = name if whose == "tf" else f"np.{name.rpartition('.')[2]}"
    interpreter.event("op" if whose == "tf" else "host-op", name, line, arguments, result)
    return result


def broadcast_values(values: Sequence[Value]) -> Shape | None:
    """Return the shape of tensors and numbers broadcast together; None where one is not known."""
    return broadcast([v.shape if isinstance(v, Tensor) else _plain_shape(v) for v in values])


def _plain_shape(value: Value) -> Shape | None:
    if isinstance(value, Known):
        return ()
    if isinstance(value, Listing) and not value.open:
        return nested_shape(value)
    return None


def _promoted(tensors: Sequence[Tensor]) -> str | None:
    kinds = {t.dtype for t in tensors}
    if len(kinds) == 1:
        return kinds.pop()
    order = ("complex128", "complex64", "float64", "float32", "bfloat16", "float16", "int64", "int32")
    if None in kinds:
        return None
    return next((dtype for dtype in order if dtype in kinds), None)


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """Return the shape of operands broadcast together; None where one is not known."""
    out: list[int | None] = []
    for shape in shapes:
        if shape is None:
            return None
        ones: list[int | None] = [1] * abs(len(out) - len(shape))
        padded = list(shape) if len(shape) >= len(out) else ones + list(shape)
        out = out if len(out) >= len(shape) else ones + out
        out = [_wider(a, b) for a, b in zip(out, padded, strict=True)]
    return tuple(out)


def _wider(a: int | None, b: int | None) -> int | None:
    if a == 1:
        return b
    if b == 1 or a == b:
        return a
    # One of them is not known, or they do not fit: the known one that is not 1 decides.
    return a if b is None else b if a is None else None


def nested_shape(value: Value, depth: int = 0) -> Shape | None:
    """Return the shape of a nested list of numbers, as `tf.constant` would see it."""
    if isinstance(value, Known):
        return ()
    if isinstance(value, Tensor):
        return value.shape
    if isinstance(value, Many) and value.count is not None and depth <= 8:
        inner = nested_shape(value.element, depth + 1)
        return None if inner is None else (value.count, *inner)
    if not isinstance(value, Listing) or value.open or depth > 8:
        return None
    if not value.items:
        return (0,)
    inner = nested_shape(value.items[0], depth + 1)
    return None if inner is None else (len(value.items), *inner)


def nested_dtype(value: Value, library: str = "tf") -> str | None:
    """Return the dtype of a nested list of numbers: float32 and int32 in TensorFlow, 64 bits in NumPy."""
    if isinstance(value, Tensor):
        return value.dtype
    words: set[type] = set()
    _kinds(value, words, 0)
    if not words or words - {int, float, bool, complex, str, bytes}:
        return None
    if complex in words:
        return "complex128"
    if float in words:
        return "float32" if library == "tf" else "float64"
    if int in words:
        return "int32" if library == "tf" else "int64"
    return "bool" if words == {bool} else "string"


def _kinds(value: Value, into: set[type], depth: int) -> None:
    match value:
        case Known():
            into.add(type(value.value))
        case Many() if depth <= 8:
            _kinds(value.element, into, depth + 1)
        case Listing() if depth <= 8:
            for item in value.items[:50]:
                _kinds(item, into, depth + 1)
        case _:
            into.add(object)


def matmul(
    interpreter: Interpreter,
    arguments: dict[str, Value],
    line: int,
    called: Literal["tf", "np"] | None = None,
) -> Value:
    """Multiply two matrices, transposed where asked; arguments as `tf.matmul` names them.

    called: by whose function, whatever it is given; None for `@`.
    """
    a, b = arguments.get("a"), arguments.get("b")
    operands = [v for v in (a, b) if isinstance(v, Tensor)]
    shape: Shape | None = None
    left, right = matrix(arguments, "a"), matrix(arguments, "b")
    if left is not None and right is not None:
        batch = broadcast([left[:-2], right[:-2]])
        shape = None if batch is None else (*batch, left[-2], right[-1])
    whose = called or library(operands)
    dtype = _promoted(operands) if operands or a is None else nested_dtype(a, whose)
    result = Tensor(shape, dtype, whose, inside=any(t.inside for t in operands))
    interpreter.event("op" if whose == "tf" else "host-op", "tf.matmul", line, arguments, result)
    return result


def matrix(arguments: dict[str, Value], side: str) -> Shape | None:
    """Return the shape of a product's side `a` or `b`, transposed where asked. None for what is no matrix."""
    value = arguments.get(side)
    shape = value.shape if isinstance(value, Tensor) else None
    if isinstance(value, Listing):
        shape = nested_shape(value)
    if shape is None or len(shape) < 2:
        return None
    flipped = any(truth(arguments.get(f"{kind}_{side}")) for kind in ("transpose", "adjoint"))
    return (*shape[:-2], shape[-1], shape[-2]) if flipped else shape


def sliced(tensor: Tensor, index: Value) -> Shape | None:
    """Return the shape of `tensor[index]` where index is made of numbers, slices, None and `...`."""
    if tensor.shape is None:
        return None
    parts = index.items if isinstance(index, Listing) and index.kind == "tuple" else [index]
    sides = list(tensor.shape)
    named = sum(1 for p in parts if not (isinstance(p, Known) and p.value in (None, Ellipsis)))
    out: list[int | None] = []
    for part in parts:
        if isinstance(part, Known) and part.value is Ellipsis:
            for _ in range(len(sides) - named):
                out.append(sides.pop(0))
            continue
        if isinstance(part, Known) and part.value is None:
            out.append(1)
            continue
        if not sides:
            return None
        side, named = sides.pop(0), named - 1
        if isinstance(part, Known):
            continue
        if not isinstance(part, OpaqueObject):
            return None
        out.append(side if part.data else None)
    return (*out, *sides)
