"""Reads a user's function into a declaration, from its annotations or decorators.

@tuilab.workload(title="Forward pass")
def forward(batch: Annotated[int, tuilab.between(1, 512)] = 32, wide: bool = False): ...
"""

import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tuilab.model.arms import MODES, Mode
from tuilab.model.errors import InputError
from tuilab.model.parameters import Boolean, Choice, Integer, LogInteger, Parameter, check_value
from tuilab.model.workload import Declaration

F = TypeVar("F", bound=Callable[..., Any])

SPEC = "__tuilab__"
LARGEST = 2**40
WIDEN = 1_024
"""Default maximum of an integer parameter, as a multiple of its default value."""


@dataclass(frozen=True)
class Range:
    """The allowed range of an integer parameter. log: True for a logarithmic slider."""

    low: int
    high: int
    log: bool = True
    unit: str = ""
    help: str = ""


def between(low: int, high: int, *, log: bool | None = None, unit: str = "", help: str = "") -> Range:
    """Return the range low … high for a parameter. By default, the slider is logarithmic if `low` is
    positive.
    """
    if not (isinstance(low, int) and isinstance(high, int) and low <= high):
        raise InputError("between", (low, high), "two whole numbers, lower first")
    return Range(low, high, low > 0 if log is None else log, unit, help)


@dataclass
class Spec:
    title: str = ""
    summary: str = ""
    unit: str = ""
    axis: str = ""
    modes: tuple[Mode, ...] = MODES
    ranges: dict[str, Range | tuple[str, ...] | str] = field(default_factory=dict)


def workload(
    *, title: str = "", summary: str = "", unit: str = "", axis: str = "", modes: Sequence[Mode] = MODES
) -> Callable[[F], F]:
    """Declare a function as a workload: its title and summary, the unit of one call's work, the parameter to
    sweep (`axis`) and its modes.
    """

    def decorate(function: F) -> F:
        spec = _spec(function)
        spec.title, spec.summary, spec.unit = title, summary, unit
        spec.axis, spec.modes = axis, tuple(modes)
        return function

    return decorate


def parameter(
    name: str,
    low: int | None = None,
    high: int | None = None,
    *,
    options: Sequence[str] = (),
    log: bool | None = None,
    unit: str = "",
    help: str = "",
) -> Callable[[F], F]:
    """Declare the range, the options or the help text of a parameter without an annotation."""

    def decorate(function: F) -> F:
        if options:
            _spec(function).ranges[name] = tuple(options)
        elif low is not None and high is not None:
            _spec(function).ranges[name] = between(low, high, log=log, unit=unit, help=help)
        else:
            _spec(function).ranges[name] = help
        return function

    return decorate


def _spec(function: Any) -> Spec:
    if not hasattr(function, SPEC):
        setattr(function, SPEC, Spec())
    spec: Spec = getattr(function, SPEC)
    return spec


def declaration(
    function: Callable[..., Any],
    name: str,
    signature: inspect.Signature | None = None,
    hints: Mapping[str, Any] | None = None,
    tensors: Collection[str] = (),
) -> Declaration:
    """Return a function's declaration, read from its signature. Raises an InputError that names the parameter
    at fault.

    signature, hints: replace the signature and type hints that Python reports. tensors: parameters that are
    tensors, not sliders.
    """
    spec = getattr(function, SPEC, None) or Spec()
    accepts = inspect.signature(function) if signature is None else signature
    given = _hints(function) if hints is None else hints
    parameters = tuple(_parameters(accepts, given, spec, tensors))
    names = [p.name for p in parameters]
    unknown = [given for given in (*spec.ranges, *filter(None, [spec.axis])) if given not in names]
    if unknown:
        raise InputError(f"{name}: parameter", unknown[0], "one of " + ", ".join(names or ["none"]))
    axes = [p.name for p in parameters if isinstance(p, Integer | LogInteger)]
    dtype = next((p.name for p in parameters if p.name == "dtype" and isinstance(p, Choice)), "")
    summary = spec.summary or (inspect.getdoc(function) or "").partition("\n\n")[0]
    return Declaration(
        name=name,
        title=spec.title or name,
        summary=summary,
        unit=spec.unit or "call",
        parameters=parameters,
        modes=spec.modes,
        axis=spec.axis or (axes[0] if axes else ""),
        dtype=dtype,
    )


def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return inspect.get_annotations(function, eval_str=True)
    except NameError as error:
        raise InputError("annotation", error.name, "a name defined or imported in the file") from None


def _parameters(
    accepts: inspect.Signature, hints: Mapping[str, Any], spec: Spec, tensors: Collection[str]
) -> typing.Iterator[Parameter]:
    for each in accepts.parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) or each.name in tensors:
            continue
        if each.kind is each.POSITIONAL_ONLY:
            raise InputError(each.name, "positional only", "a parameter that can be given by name")
        if each.default is each.empty:
            needed = f"a default, as in {each.name}=32"
            raise InputError(each.name, "no default", needed, f"needs {needed}")
        hint = hints.get(each.name)
        said = each.name in spec.ranges or typing.get_origin(hint) in (typing.Annotated, typing.Literal)
        if not said and not isinstance(each.default, int):
            continue  # a float, a string or None is not a parameter: the call uses this default
        yield _parameter(each.name, hint, each.default, spec.ranges.get(each.name))


def _parameter(name: str, hint: Any, default: Any, said: Range | tuple[str, ...] | str | None) -> Parameter:
    options, found, help_ = _read(hint)
    if isinstance(said, Range):
        found = said
    elif isinstance(said, tuple):
        options = said
    elif said:
        help_ = said
    base: dict[str, Any] = {"name": name, "help": help_}
    made: Parameter
    if options:
        made = Choice(**base, default=str(default), options=options)
    elif isinstance(default, bool):
        made = Boolean(**base, default=default)
    elif isinstance(default, int):
        made = _number(base, default, found or _guess(default))
    else:
        raise InputError(name, default, "a whole number, true or false, or words listed with Literal")
    check_value(made, made.default)
    return made


def _read(hint: Any) -> tuple[tuple[str, ...], Range | None, str]:
    found, help_ = None, ""
    if typing.get_origin(hint) is typing.Annotated:
        hint, *extras = typing.get_args(hint)
        found = next((e for e in extras if isinstance(e, Range)), None)
        help_ = next((e for e in extras if isinstance(e, str)), "")
    options: tuple[Any, ...] = ()
    if typing.get_origin(hint) is typing.Literal:
        options = typing.get_args(hint)
        if not all(isinstance(option, str) for option in options):
            raise InputError("Literal", options, "words; for a number, use Annotated with tuilab.between")
    return options, found, help_


def whole(name: str, default: int, help: str) -> Parameter:
    return _number({"name": name, "help": help}, default, _guess(default))


def guessed(parameter: Integer | LogInteger) -> bool:
    range_ = _guess(int(parameter.default))
    return parameter.default > 0 and (parameter.low, parameter.high) == (range_.low, range_.high)


def _guess(default: int) -> Range:
    if default > 0:
        return Range(1, min(LARGEST, default * WIDEN))
    return Range(min(0, default * 2), max(WIDEN, -default), log=False)


def _number(base: dict[str, Any], default: int, found: Range) -> Parameter:
    base = base | {"unit": found.unit, "help": found.help or base["help"]}
    if found.log and found.low > 0:
        return LogInteger(**base, default=default, low=found.low, high=found.high)
    return Integer(**base, default=default, low=found.low, high=found.high)
