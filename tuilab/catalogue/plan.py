"""Reads the settings and sweeps that a user types."""

from collections.abc import Callable, Sequence
from functools import partial

from tuilab.catalogue.validate import MOST_POINTS, numeric
from tuilab.model.errors import InputError
from tuilab.model.parameters import Integer, LogInteger, Value, nearest, parse_value
from tuilab.model.preset import Preset
from tuilab.model.scenario import Axis, Sweep
from tuilab.model.workload import Declaration
from tuilab.workloads.declare import guessed

MOST_RUNGS = 9


def parse_settings(declaration: Declaration, settings: Sequence[str], own: bool = False) -> dict[str, Value]:
    """Return the values in `name=value` settings. own: True for a user's function, whose other arguments are
    set in another way. Raises InputError.
    """
    out: dict[str, Value] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        parameter = declaration.parameter(name.strip())
        if not equals or parameter is None:
            names = ", ".join(p.name for p in declaration.parameters)
            other = f"; an argument of your function is set with --input {setting}" if own and equals else ""
            raise InputError("--set", setting, f"name=value with one of {names}{other}")
        out[parameter.name] = parse_value(parameter, text)
    return out


def usual_sweep(preset: Preset, declaration: Declaration) -> Sweep:
    """Return the preset's own sweep, or else geometrically spaced sizes along the workload's axis.

    Raises InputError if the workload has no axis.
    """
    if preset.sweep is not None:
        return preset.sweep
    parameter = declaration.parameter(declaration.axis)
    if not isinstance(parameter, Integer | LogInteger):
        raise InputError("--axis", "", f"a parameter name: {declaration.name} has no default axis")
    return Sweep(axes=(Axis(parameter.name, near(parameter) if guessed(parameter) else ladder(parameter)),))


def near(parameter: Integer | LogInteger) -> tuple[int, ...]:
    """Return five sizes from a sixteenth of the default to 16 times the default, for a parameter whose useful
    range is unknown.
    """
    sizes = (parameter.default * 4.0**power for power in range(-2, 3))
    return tuple(sorted({nearest(parameter, size) for size in sizes}))


def ladder(parameter: Integer | LogInteger) -> tuple[int, ...]:
    """Return at most `MOST_RUNGS` allowed values with roughly constant ratios, from the lowest value to the
    highest.
    """
    start = max(parameter.low, parameter.step if isinstance(parameter, Integer) else 1)
    ratio = (parameter.high / start) ** (1 / (MOST_RUNGS - 1))
    return tuple(sorted({parameter.low, *(nearest(parameter, start * ratio**i) for i in range(MOST_RUNGS))}))


def parse_axis(declaration: Declaration, text: str) -> Axis:
    """Parse an axis: `samples=256:1M:x4` (a factor), `samples=256:4096:256` (a step) or `samples=256,512,1k`;
    `m,k,n=64:1024:x4` gives several parameters the same values.

    Always includes the upper limit of a range, even if the steps skip it. Raises InputError.
    """
    name, equals, values = text.partition("=")
    if not equals:
        raise InputError(
            "--axis", text, "parameter=from:to:xFACTOR, parameter=from:to:STEP or a list of values"
        )
    first, *also = (word.strip() for word in name.split(","))
    for word in also:
        numeric(declaration, word, "--axis")
    parameter = numeric(declaration, first, "--axis")
    parts = values.split(":")
    if len(parts) == 1:
        listed = sorted({int(parse_value(parameter, word)) for word in values.split(",")})
        return Axis(parameter.name, tuple(listed), tuple(also))
    if len(parts) not in (2, 3):
        raise InputError("--axis", text, "from:to:xFACTOR or from:to:STEP")
    low, high = (int(parse_value(parameter, word)) for word in parts[:2])
    if low >= high:
        raise InputError("--axis", text, "a first value below the last")
    stride = parts[2] if len(parts) == 3 else "x4"
    return Axis(parameter.name, _between(low, high, stride, text, partial(nearest, parameter)), tuple(also))


def _between(low: int, high: int, stride: str, text: str, allowed: Callable[[float], int]) -> tuple[int, ...]:
    """Return the values from `low` to `high`. A `stride` such as `x4` is a factor: `allowed` rounds each
    product to an allowed value. Any other `stride` is a step, and each sum is rounded to a whole number.
    """
    by_factor = stride[:1] in ("x", "*", "×")
    try:
        amount = float(stride[1:]) if by_factor else float(stride)
    except ValueError:
        amount = 0.0
    if not (1.01 <= amount <= 1e6 if by_factor else 1 <= amount <= 1e12):
        raise InputError("--axis", text, "a factor such as x4 (at least x1.01) or a step of at least 1")
    values, value = [low], float(low)
    while (value := value * amount if by_factor else value + amount) < high:
        if len(values) == MOST_POINTS:
            hint = "" if by_factor else f"; {stride} is a step, x{stride} a factor"
            raise InputError("--axis", text, f"at most {MOST_POINTS} values{hint}")
        values.append(allowed(value) if by_factor else round(value))
    return tuple(dict.fromkeys([*values, high]))
