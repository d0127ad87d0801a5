"""What a parameter may be at present, given the others, and the reason where it may not. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuilab.model.parameters import (
    AtMost,
    Constraint,
    Integer,
    LogInteger,
    MultipleOf,
    Parameter,
    Value,
    bounds,
)


@dataclass(frozen=True)
class Reach:
    """The range and step that are allowed now. reasons: why it goes no lower and no higher."""

    low: int = 0
    high: int = 0
    reasons: tuple[str, str] = ("", "")
    multiple: int = 1
    multiple_reason: str = ""

    def why_not(self, value: Value) -> str:
        """Why `value` cannot be taken; empty where it can."""
        if isinstance(value, bool | str):
            return ""
        if value < self.low:
            return self.reasons[0] or f"{self.low:,} is the least"
        if value > self.high:
            return self.reasons[1] or f"{self.high:,} is the most"
        return self.multiple_reason if value % self.multiple else ""

    def held(self, value: int, direction: int) -> int:
        """The allowed number nearest to `value`, rounded in `direction` where there are steps."""
        value = min(self.high, max(self.low, value))
        if self.multiple > 1:
            value = (value // self.multiple if direction < 0 else -(-value // self.multiple)) * self.multiple
            if value > self.high:
                value -= self.multiple
        return value


def declared(parameter: Parameter) -> Reach:
    """The reach where no other parameter has a say."""
    if isinstance(parameter, Integer | LogInteger):
        return Reach(parameter.low, parameter.high)
    return Reach()


def reach(parameter: Parameter, constraints: Sequence[Constraint], values: Mapping[str, Value]) -> Reach:
    """The reach that the present values of the other parameters leave."""
    if not isinstance(parameter, Integer | LogInteger):
        return Reach()
    low, high = bounds(parameter, constraints, values)
    below = above = multiple_reason = ""
    multiple = 1
    for constraint in constraints:
        other, first = values.get(constraint.other), values.get(constraint.parameter)
        if isinstance(constraint, AtMost):
            if constraint.other == parameter.name and first == low:
                below = f"at least {constraint.parameter} = {low:,}: {constraint.reason}"
            if constraint.parameter == parameter.name and other == high:
                above = f"at most {constraint.other} = {high:,}: {constraint.reason}"
        elif isinstance(constraint, MultipleOf) and constraint.parameter == parameter.name and other:
            multiple = int(other)
            multiple_reason = f"a multiple of {constraint.other} = {multiple:,}: {constraint.reason}"
    return Reach(low, high, (below, above), multiple, multiple_reason)
