"""Bounded arithmetic on constants, so that a hostile expression takes no longer than a normal one."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

LARGEST_BITS = 256
LONGEST_TEXT = 10_000
LONGEST_LIST = 1_000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_ERRORS = (TypeError, ValueError, ArithmeticError, AttributeError, MemoryError)


class NotComputed(Exception):
    """Raised if an operation is undefined, or if its result is implausibly large for a benchmark
    parameter.
    """


def binary(op: ast.operator, a: Any, b: Any) -> Any:
    function = _BINARY.get(type(op))
    if function is None:
        raise NotComputed
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    if isinstance(op, ast.Pow) and not (numbers and _power_is_small(a, b)):
        raise NotComputed
    if isinstance(op, ast.LShift) and not (numbers and 0 <= b <= LARGEST_BITS):
        raise NotComputed
    if isinstance(op, ast.Mult) and not numbers:
        _check_repetition(a, b)
    # A `%` format may request an arbitrary width, so the result could be huge.
    if isinstance(op, ast.Mod) and not numbers:
        raise NotComputed
    try:
        return bounded(function(a, b))
    except _ERRORS:
        raise NotComputed from None


def unary(op: ast.unaryop, a: Any) -> Any:
    try:
        return bounded(_UNARY[type(op)](a))
    except _ERRORS:
        raise NotComputed from None


def compare(op: ast.cmpop, a: Any, b: Any) -> bool:
    try:
        return bool(_COMPARE[type(op)](a, b))
    except _ERRORS:
        raise NotComputed from None


def bounded(value: Any) -> Any:
    """Return the value. Raises NotComputed if the value is implausibly large for a benchmark parameter."""
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        raise NotComputed
    if isinstance(value, str | bytes) and len(value) > LONGEST_TEXT:
        raise NotComputed
    if isinstance(value, float) and not math.isfinite(value):
        raise NotComputed
    return value


def _power_is_small(a: float, b: float) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return abs(a) < 1e100 and abs(b) < 1_000
    return 0 <= b <= LARGEST_BITS and a.bit_length() * max(1, b) <= 2 * LARGEST_BITS


def _check_repetition(a: Any, b: Any) -> None:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, str | bytes) and isinstance(other, int) and len(one) * other > LONGEST_TEXT:
            raise NotComputed
