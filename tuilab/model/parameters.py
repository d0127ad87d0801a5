"""Parameters of a workload. A parameter's slider, option, validation, help and sweep axis come from one
declaration.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Union, cast

import msgspec

from tuilab.model.errors import InputError
from tuilab.model.quantity import parse_integer

Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Value = Union[Whole, bool, str]
Values = dict[str, Value]


class _Base(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    name: str
    help: str
    label: str = ""
    """The name on the screen; derived from `name` if ""."""
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            msgspec.structs.force_setattr(self, "label", self.name.replace("_", " "))


class Integer(_Base, frozen=True, kw_only=True, tag="integer"):
    """A whole number from low to high, in steps of `step`."""

    default: int
    low: int
    high: int
    step: int = 1


class LogInteger(_Base, frozen=True, kw_only=True, tag="log-integer"):
    """A whole number from low to high, on a logarithmic slider.

    With `binary`, suffixes such as `64k` mean powers of 1,024, and the slider stops at powers of two.
    """

    default: int
    low: int
    high: int
    binary: bool = True
    multiple: int = 1
    """Only multiples of this number are allowed; `low`, `high` and `default` must be multiples too."""


class Choice(_Base, frozen=True, kw_only=True, tag="choice"):
    """A parameter whose value is one of a fixed set of words."""

    default: str
    options: tuple[str, ...]


class Boolean(_Base, frozen=True, kw_only=True, tag="flag"):
    """A switch that is on or off."""

    default: bool


Parameter = Integer | LogInteger | Choice | Boolean


class AtMost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="at-most"):
    """`parameter` must not exceed `other`: a frame cannot be longer than its signal."""

    parameter: str
    other: str
    reason: str


class MultipleOf(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="multiple-of"
):
    """`parameter` must be a multiple of `other`."""

    parameter: str
    other: str
    reason: str


Constraint = AtMost | MultipleOf


def shown(value: Value) -> str:
    """Format a number with all its digits (`10,240`), because "10k" could also mean 10,000."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def is_numeric(parameter: Parameter) -> bool:
    return isinstance(parameter, Integer | LogInteger)


def expectation(parameter: Parameter) -> str:
    """Return the allowed values in words, for error messages."""
    if isinstance(parameter, Choice):
        return "one of " + ", ".join(parameter.options)
    if isinstance(parameter, Boolean):
        return "true or false"
    if isinstance(parameter, Integer) and parameter.step != 1:
        return f"a whole number from {parameter.low:,} to {parameter.high:,}, in steps of {parameter.step:,}"
    whole = f"a whole number from {parameter.low:,} to {parameter.high:,}"
    if isinstance(parameter, LogInteger) and parameter.multiple != 1:
        return f"{whole}, a multiple of {parameter.multiple:,}"
    return whole


def check_value(parameter: Parameter, value: object) -> Value:
    """Return the value if the parameter allows it; raise InputError otherwise."""
    ok = False
    if isinstance(parameter, Choice):
        ok = isinstance(value, str) and value in parameter.options
    elif isinstance(parameter, Boolean):
        ok = isinstance(value, bool)
    elif isinstance(value, int) and not isinstance(value, bool):
        ok = parameter.low <= value <= parameter.high
        step = parameter.step if isinstance(parameter, Integer) else parameter.multiple
        ok = ok and (value - parameter.low) % step == 0
    if not ok:
        raise InputError(parameter.name, value, expectation(parameter))
    return cast(Value, value)


def parse_value(parameter: Parameter, text: str) -> Value:
    """Parse a value that the user typed. Raises InputError."""
    value: Value = text.strip()
    if isinstance(parameter, Boolean):
        words = {"true": True, "on": True, "yes": True, "1": True}
        words |= {"false": False, "off": False, "no": False, "0": False}
        value = words.get(text.strip().lower(), text)
    elif isinstance(parameter, Integer | LogInteger):
        binary = isinstance(parameter, LogInteger) and parameter.binary
        word = text.strip()
        if parameter.unit and word.lower().endswith(parameter.unit.lower()):
            word = word[: -len(parameter.unit)]
        try:
            value = parse_integer(word, binary=binary)
        except ValueError:
            raise InputError(parameter.name, text, expectation(parameter)) from None
    return check_value(parameter, value)


def defaults(parameters: Sequence[Parameter]) -> Values:
    return {p.name: p.default for p in parameters}


def nearest(parameter: Integer | LogInteger, value: float) -> int:
    if isinstance(parameter, LogInteger):
        whole = round(value) if parameter.multiple == 1 else round(value / parameter.multiple)
        return min(parameter.high, max(parameter.low, whole * parameter.multiple))
    steps = (parameter.high - parameter.low) // parameter.step
    return parameter.low + parameter.step * min(
        steps, max(0, round((value - parameter.low) / parameter.step))
    )


def check_values(
    parameters: Sequence[Parameter], constraints: Sequence[Constraint], given: Mapping[str, object]
) -> Values:
    """Return the defaults updated with `given`, after checking values and constraints.

    Raises InputError for an unknown name, a value out of range, or a broken constraint.
    """
    known = {p.name: p for p in parameters}
    values = defaults(parameters)
    for name, value in given.items():
        if name not in known:
            raise InputError(name, value, "one of the parameters " + ", ".join(known))
        values[name] = check_value(known[name], value)
    for constraint in constraints:
        check_constraint(constraint, values)
    return values


def check_constraint(constraint: Constraint, values: Mapping[str, Value]) -> None:
    """Raise InputError if the values violate the constraint."""
    value, other = values.get(constraint.parameter), values.get(constraint.other)
    if not isinstance(value, int) or not isinstance(other, int):
        return
    if isinstance(constraint, AtMost):
        holds, expected = value <= other, "at most"
    else:
        holds, expected = not other or value % other == 0, "a multiple of"
    if not holds:
        expected += f" {constraint.other} = {other:,} ({constraint.reason})"
        raise InputError(constraint.parameter, value, expected)
