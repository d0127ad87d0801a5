"""Checks a preset against its workload."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tuilab.model.arms import ArmSelection
from tuilab.model.claims import Crosses, SamePlacement, ShareGrows
from tuilab.model.errors import InputError
from tuilab.model.parameters import Choice, Integer, LogInteger, check_value, check_values, is_numeric
from tuilab.model.preset import Preset
from tuilab.model.sanitize import sanitize_block, sanitize_line
from tuilab.model.scenario import Sweep
from tuilab.model.workload import Declaration
from tuilab.workloads import find

MOST_POINTS = 400


def validate(preset: Preset) -> Preset:
    """Return the preset with sanitized texts. Raises InputError if the preset is invalid."""
    declaration = find(preset.workload).declaration
    with keyed("parameters"):
        check_values(declaration.parameters, declaration.constraints, preset.parameters)
    for name, values in preset.marks.items():
        parameter = numeric(declaration, name, f"marks.{name}")
        for value in values:
            with keyed("marks"):
                check_value(parameter, value)
    check_arms(preset.arms, declaration)
    if preset.sweep is not None:
        check_sweep(preset.sweep, declaration)
    for index, claim in enumerate(preset.claims):
        if isinstance(claim.when, Crosses | SamePlacement | ShareGrows):
            numeric(declaration, claim.when.axis, f"claims[{index}].when.axis")
    return _cleaned(preset)


@contextmanager
def keyed(key: str) -> Iterator[None]:
    """Prepend `key` to the key of any InputError raised inside the block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{key}.{error.where}", error.value, error.expected) from None


def numeric(declaration: Declaration, name: str, where: str) -> Integer | LogInteger:
    parameter = declaration.parameter(name)
    if not isinstance(parameter, Integer | LogInteger):
        names = ", ".join(p.name for p in declaration.parameters if is_numeric(p))
        raise InputError(where, name, f"a numeric parameter of {declaration.name}: {names}")
    return parameter


def check_arms(arms: ArmSelection, declaration: Declaration) -> None:
    """Raise InputError for an invalid device, or a dtype or variant that the workload lacks."""
    for device in arms.devices:
        if not re.fullmatch(r"[CG]PU(:([0-9]+|\*))?", device):
            expected = "CPU, GPU for the first GPU, GPU:* for every GPU, or a device such as GPU:1"
            raise InputError("arms.devices", device, expected)
    known = [v.name for v in declaration.variants]
    for variant in arms.variants:
        if variant not in known:
            raise InputError("arms.variants", variant, "one of " + ", ".join(known) if known else "none")
    dtype = declaration.parameter(declaration.dtype) if declaration.dtype else None
    for word in arms.dtypes:
        if not isinstance(dtype, Choice) or word not in dtype.options:
            options = ", ".join(dtype.options) if isinstance(dtype, Choice) else "none for this workload"
            raise InputError("arms.dtypes", word, options)


def check_sweep(sweep: Sweep, declaration: Declaration) -> None:
    """Raise InputError unless the sweep has one or two numeric axes, ascending values in range, and few
    enough points to draw.
    """
    if not 1 <= len(sweep.axes) <= 2:
        raise InputError("sweep.axes", len(sweep.axes), "one or two axes")
    points = 1
    for axis in sweep.axes:
        for name in axis.names:
            parameter = numeric(declaration, name, "sweep.axes.parameter")
            for value in axis.values:
                with keyed("sweep.axes"):
                    check_value(parameter, value)
        if len(axis.values) < 2 or list(axis.values) != sorted(set(axis.values)):
            given = ", ".join(map(str, axis.values))
            expected = f"two or more ascending values, such as {axis.parameter}=256:1M:x4"
            raise InputError(f"sweep.axes.{axis.parameter}", given, expected)
        points *= len(axis.values)
    if points > MOST_POINTS:
        raise InputError("sweep.axes", points, f"at most {MOST_POINTS} points")


def _cleaned(preset: Preset) -> Preset:
    replace = msgspec.structs.replace
    source = preset.source and replace(
        preset.source,
        document=sanitize_line(preset.source.document, 64),
        title=sanitize_line(preset.source.title, 200),
    )
    claims = tuple(
        replace(
            c,
            text=sanitize_line(c.text, 500),
            quoted=sanitize_line(c.quoted, 500),
            advice=sanitize_line(c.advice, 1_000),
            said=sanitize_line(c.said, 80),
            hedged=sanitize_line(c.hedged, 80),
        )
        for c in preset.claims
    )
    return replace(
        preset,
        title=sanitize_line(preset.title, 120),
        summary=sanitize_block(preset.summary, 2_000),
        wrong=sanitize_block(preset.wrong, 4_000),
        advice=sanitize_block(preset.advice, 4_000),
        source=source,
        claims=claims,
    )
