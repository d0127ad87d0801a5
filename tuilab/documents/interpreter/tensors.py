"""Shapes and dtypes of the results of operators and common functions on tensors and arrays."""

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
from tuilab.documents.words import words

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
    """Return the result of a Python operator with at least one tensor or array as an operand."""
    name = OPERATORS[type(op)]
    if name == "tf.matmul":
        return matmul(interpreter, {"a": left, "b": right}, line)
    result = elementwise(interpreter, name, [left, right], line)
    if isinstance(op, ast.Div) and result.dtype and result.dtype.startswith(("int", "uint")):
        result.dtype = "float64"
    return result


# Functions that make tensors whose dtype and shape are certain.
_SURE = ("tf.zeros", "tf.ones", "tf.eye", "tf.random.normal", "tf.random.uniform", "tf.cast")
_COPIES = ("tf.constant", "tf.convert_to_tensor", "tf.Variable")
_SURE_ARRAYS = words(
    "np.random.rand np.random.randn np.random.normal np.random.uniform np.random.random np.zeros np.ones",
    "astype",
)


def _is_sure(interpreter: Interpreter, tensor: Tensor, graph: bool = False) -> bool:
    """Return True if the tensor's dtype and shape are certain.

    graph: accept a tensor from outside of the function that is being traced.
    """
    if tensor.made < 0 or tensor.inside or (interpreter.in_graph() is not None and not graph):
        return False
    event = interpreter.trace.events[tensor.made]
    if event.result is not tensor or event.place.traced is not None:
        return False
    if event.name in (_SURE if tensor.library == "tf" else _SURE_ARRAYS):
        return True
    if event.name not in _COPIES:
        return False
    value = next((event.arguments[k] for k in ("value", "initial_value", "0") if k in event.arguments), None)
    if isinstance(value, Tensor):
        return _is_sure(interpreter, value)
    return isinstance(value, Known | Listing)


def _check(
    interpreter: Interpreter,
    name: str,
    values: Sequence[Value],
    line: int,
    sides: tuple[Shape, Shape] | None = None,
) -> None:
    """Record a mistake if the dtypes or shapes of TensorFlow operands do not match.

    sides: shapes of the two matrices of a matrix product; None for an element-wise operation.
    """
    _check_number(interpreter, name, values, line)
    pair = [v for v in values[:2] if isinstance(v, Tensor)]
    if (
        len(pair) < 2
        or any(v.library != "tf" for v in pair)
        or not all(_is_sure(interpreter, v) for v in pair)
    ):
        return
    one, other = pair
    if None not in (one.dtype, other.dtype) and one.dtype != other.dtype:
        detail = f"{name} gets {one.dtype} and {other.dtype}, and TensorFlow converts neither: this fails"
        interpreter.misfit("state", line, detail, f"Convert both to {one.dtype}, with dtype= or tf.cast.")
    elif sides is not None:
        if sides[0][-1] != sides[1][-2] and None not in (sides[0][-1], sides[1][-2]):
            detail = f"{name} gets {sides[0]} and {sides[1]}, whose inner dimensions differ: this fails"
            interpreter.misfit(
                "state", line, detail, "Transpose one of them, or make the inner dimensions equal."
            )
    elif one.shape is not None and other.shape is not None and _clash(one.shape, other.shape):
        detail = f"{name} gets shapes {one.shape} and {other.shape}, which do not broadcast: this fails"
        interpreter.misfit("state", line, detail, "Use tensors whose dimensions are equal, or 1.")


def _check_number(interpreter: Interpreter, name: str, values: Sequence[Value], line: int) -> None:
    """Record a mistake for an integer tensor combined with a Python float, which TensorFlow rejects."""
    whole = next((v for v in values[:2] if isinstance(v, Tensor)), None)
    number = next((v for v in values[:2] if isinstance(v, Known)), None)
    if whole is None or number is None or whole.library != "tf" or not isinstance(number.value, float):
        return
    if whole.dtype not in ("int32", "int64") or not _is_sure(interpreter, whole, graph=True):
        return
    detail = f"{name} gets {whole.dtype} and {number.value}, which is not an integer: this fails"
    interpreter.misfit(
        "state", line, detail, f"Write {number.value:g} without a decimal point, or cast the tensor."
    )


def _clash(one: Shape, other: Shape) -> bool:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return any(a != b and None not in (a, b) and 1 not in (a, b) for a, b in pairs)


def library(values: Sequence[Value]) -> Literal["tf", "np"]:
    found = [v.library for v in values if isinstance(v, Tensor)]
    return "np" if found and "tf" not in found else "tf"


def elementwise(
    interpreter: Interpreter, name: str, values: Sequence[Value], line: int, dtype: str | None = None
) -> Tensor:
    """Return the result of an element-wise operation, which broadcasts its operands."""
    whose = library(values)
    tensors = [v for v in values if isinstance(v, Tensor)]
    shape = broadcast_values(values)
    result = Tensor(shape, dtype or _promote(tensors), whose, inside=any(t.inside for t in tensors))
    arguments = dict(zip(("x", "y", "z"), values, strict=False))
    if whose == "tf":
        _check(interpreter, name, values, line)
    name = name if whose == "tf" else f"np.{name.rpartition('.')[2]}"
    return interpreter.make(result.kind, name, line, arguments, result)


def broadcast_values(values: Sequence[Value]) -> Shape | None:
    return broadcast([v.shape if isinstance(v, Tensor) else _plain_shape(v) for v in values])


def _plain_shape(value: Value) -> Shape | None:
    if isinstance(value, Known):
        return ()
    if isinstance(value, Listing) and not value.open:
        return nested_shape(value)
    return None


def _promote(tensors: Sequence[Tensor]) -> str | None:
    kinds = {t.dtype for t in tensors}
    if len(kinds) == 1:
        return kinds.pop()
    order = ("complex128", "complex64", "float64", "float32", "bfloat16", "float16", "int64", "int32")
    if None in kinds:
        return None
    return next((dtype for dtype in order if dtype in kinds), None)


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
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
    # If one size is unknown, use the other, which is not 1. If the sizes do not match, the result is unknown.
    return a if b is None else b if a is None else None


def nested_shape(value: Value, depth: int = 0) -> Shape | None:
    """Return the shape of a nested list of numbers, as `tf.constant` would infer it."""
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
    """Evaluate a matrix product. `arguments` are those of `tf.matmul`, including the transpose flags.

    called: the library whose function is called; None for `@`.
    """
    a, b = arguments.get("a"), arguments.get("b")
    operands = [v for v in (a, b) if isinstance(v, Tensor)]
    shape: Shape | None = None
    left, right = matrix(arguments, "a"), matrix(arguments, "b")
    if left is not None and right is not None:
        batch = broadcast([left[:-2], right[:-2]])
        shape = None if batch is None else (*batch, left[-2], right[-1])
    whose = called or library(operands)
    if whose == "tf" and left is not None and right is not None:
        _check(interpreter, "tf.matmul", operands, line, (left, right))
    dtype = _promote(operands) if operands or a is None else nested_dtype(a, whose)
    result = Tensor(shape, dtype, whose, inside=any(t.inside for t in operands))
    return interpreter.make(result.kind, "tf.matmul", line, arguments, result)


def matrix(arguments: dict[str, Value], side: str) -> Shape | None:
    """Return the shape of the operand `a` or `b` of a matrix product, transposed if requested; None if it is
    not a matrix.
    """
    value = arguments.get(side)
    shape = value.shape if isinstance(value, Tensor) else None
    if isinstance(value, Listing):
        shape = nested_shape(value)
    if shape is None or len(shape) < 2:
        return None
    flipped = any(truth(arguments.get(f"{kind}_{side}")) for kind in ("transpose", "adjoint"))
    return (*shape[:-2], shape[-1], shape[-2]) if flipped else shape


def sliced(tensor: Tensor, index: Value) -> Shape | None:
    """Return the shape of `tensor[index]`, for an index that consists of numbers, slices, None and `...`."""
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
