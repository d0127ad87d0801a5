"""Typed arguments of a user's function: `a=float32[batch=32,64]`, `axis=1`."""

import ast
import re
from collections.abc import Sequence

import msgspec

from tuilab.model.errors import InputError
from tuilab.model.quantity import parse_integer

ITEM_BYTES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "uint16": 2,
    "float32": 4,
    "int32": 4,
    "uint32": 4,
    "float64": 8,
    "int64": 8,
    "uint64": 8,
    "complex64": 8,
    "complex128": 16,
}
"""Bytes of one element, by dtype."""
DTYPES = frozenset((*ITEM_BYTES, "string"))
EXAMPLE = "float32[batch=32,64]"
EXPECTED = (
    f"a shape such as {EXAMPLE}, with a range such as int32[32]:0..999, or a Python value such as 5 or 'same'"
)
MOST_DIMENSIONS, LARGEST_SIZE = 8, 2**40
_TENSOR = re.compile(
    r"(?P<dtype>[a-z]+\d*)(\[(?P<shape>[^\]]*)\])?(:(?P<low>[^.:]+(\.\d+)?)\.\.(?P<high>.+))?$"
)
_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*$", re.ASCII)


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One dimension of a tensor. A named dimension becomes a slider, and has one size in all arguments."""

    size: int
    """Initial size; 0 if another argument gives the size of the named dimension."""
    name: str = ""
    """The dimension's name; empty for a fixed dimension."""


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="tensor"):
    """A tensor argument, filled with random numbers."""

    name: str
    """Name of the function's parameter, with `.0` or `.key` appended for a part of a nested value."""
    dtype: str
    """The dtype, as TensorFlow names it: `float32`."""
    shape: tuple[Size, ...] = ()
    """The tensor's dimensions; empty for a scalar."""
    low: float | None = None
    """Smallest random value; None means 0."""
    high: float | None = None
    """Largest random value. None means 1 in a float tensor, and in an integer tensor the largest value
    that causes no error.
    """


class Constant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="constant"):
    """A Python value as an argument. An integer becomes a slider."""

    name: str
    """Name of the function's parameter."""
    value: bool | int | float | str | None
    """The value to pass to the function."""


Argument = Shape | Constant


def parse(text: str) -> Argument:
    """Parse `NAME=SHAPE` or `NAME=VALUE`. Raises InputError."""
    name, equals, words = (part.strip() for part in text.partition("="))
    if not equals or not _NAME.match(name):
        raise InputError("--input", text, f"NAME=SHAPE, as in a={EXAMPLE}")
    match = _TENSOR.match(words)
    if match is None or match["dtype"] not in DTYPES:
        return Constant(name, _literal(text, words))
    shape = _sizes(text, match["shape"] or "")
    low, high = (_number(text, match[end]) for end in ("low", "high"))
    if low is not None and high is not None and low > high:
        raise InputError("--input", text, "a range with the lower number first")
    return Shape(name, match["dtype"], shape, low, high)


def _literal(text: str, words: str) -> bool | int | float | str | None:
    try:
        value = ast.literal_eval(words)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise InputError("--input", text, EXPECTED) from None
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise InputError("--input", text, EXPECTED)
    return value


def _sizes(text: str, words: str) -> tuple[Size, ...]:
    parts = [part.strip() for part in words.split(",") if part.strip()]
    if len(parts) > MOST_DIMENSIONS:
        raise InputError("--input", text, f"at most {MOST_DIMENSIONS} dimensions")
    return tuple(_size(text, part) for part in parts)


def _size(text: str, words: str) -> Size:
    name, equals, size = (part.strip() for part in words.partition("="))
    if not equals:
        name, size = ("", words) if words[0].isdigit() else (words, "")
    if name and not name.isidentifier():
        raise InputError("--input", text, EXPECTED)
    if not size and not equals:
        return Size(0, name)
    try:
        number = parse_integer(size, binary=True)
    except ValueError:
        number = 0
    if not 0 < number <= LARGEST_SIZE:
        raise InputError("--input", text, EXPECTED)
    return Size(number, name)


def _number(text: str, words: str | None) -> float | None:
    if words is None:
        return None
    try:
        return float(words)
    except ValueError:
        raise InputError("--input", text, EXPECTED) from None


def text_of(argument: Argument) -> str:
    """Return the argument in the syntax of `parse`."""
    if isinstance(argument, Constant):
        return f"{argument.name}={argument.value!r}"
    sizes = ",".join(
        f"{each.name}={each.size}" if each.name and each.size else each.name or str(each.size)
        for each in argument.shape
    )
    ends = (argument.low, argument.high)
    limits = ":" + "..".join(f"{end or 0:g}" for end in ends) if ends != (None, None) else ""
    return f"{argument.name}={argument.dtype}[{sizes}]{limits}"


def checked(arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """Return the arguments with all sizes filled in.

    Raises InputError if a named dimension has two sizes or none.
    """
    sizes: dict[str, int] = {}
    for argument in arguments:
        for each in argument.shape if isinstance(argument, Shape) else ():
            if each.name and each.size and sizes.setdefault(each.name, each.size) != each.size:
                raise InputError("--input", text_of(argument), f"{each.name}={sizes[each.name]}, as before")
    names = [argument.name for argument in arguments]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise InputError("--input", twice, "each name once")
    return tuple(_sized(argument, sizes) for argument in arguments)


def _sized(argument: Argument, sizes: dict[str, int]) -> Argument:
    if isinstance(argument, Constant):
        return argument
    for each in argument.shape:
        if not each.size and each.name not in sizes:
            raise InputError("--input", text_of(argument), f"a size for {each.name}, such as {each.name}=64")
    shape = tuple(Size(each.size or sizes[each.name], each.name) for each in argument.shape)
    return msgspec.structs.replace(argument, shape=shape)
