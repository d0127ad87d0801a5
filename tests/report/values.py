"""Random values of any type of the model, to compare whole texts that are made from them."""

import random
import types
import typing
from dataclasses import MISSING, is_dataclass
from dataclasses import fields as fields_of
from typing import Any, Literal

import msgspec

WORDS = (
    "alpha",
    "a longer phrase",
    "beta, gamma",
    "train.py",
    "γ <b>",
    "A sentence. And more",
    "/x/y/model.py",
)
NUMBERS = (0, 1, 2, 3, 7, 40, 1_234, 5_000_000)
LENGTHS = (0, 1, 2, 2, 3, 14)
ACCEPTED = {"launch_s": ("eager", "graph", "xla"), "lane": (0, 1)}
"""Values of fields that accept only some values of their type, and keys of dictionaries, by the field's name."""


def value(kind: Any, *key: object) -> Any:
    """Return a random value of a type. The same key gives the same value.

    Each field has its own key, so a new field does not change the values of the others.
    """
    draw = random.Random(repr(key))
    name = next((part for part in reversed(key) if isinstance(part, str)), "")
    if name in ACCEPTED and kind in (str, int):
        return draw.choice(ACCEPTED[name])
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return value(parts[0], *key)
    if origin is Literal:
        return draw.choice(parts)
    if origin in (typing.Union, types.UnionType):
        return value(draw.choice(parts), *key)
    if origin is tuple and parts[-1] is not ...:
        made = tuple(value(part, *key, i) for i, part in enumerate(parts))
        return tuple(sorted(made)) if set(parts) == {float} else made
    if origin is not None and issubclass(origin, dict | typing.Mapping):
        return {value(parts[0], *key, i): value(parts[1], *key, i) for i in range(draw.choice(LENGTHS[:-1]))}
    if origin is not None:
        return origin(value(parts[0], *key, i) for i in range(draw.choice(LENGTHS)))
    if isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or is_dataclass(kind)):
        return _filled(kind, *key)
    if kind is bool:
        return draw.random() < 0.4
    if kind is int:
        return draw.choice(NUMBERS)
    if kind is float:
        if "share" in name or name in ("ci95", "others", "least"):
            number = draw.choice((draw.random(), draw.random(), 0.0))
        elif name.endswith(("_s", "seconds")):
            number = 10 ** draw.uniform(-5, 2)
        else:
            number = draw.choice((draw.uniform(0.5, 1.1), draw.uniform(1, 9), 10 ** draw.uniform(1, 10)))
        return float(f"{number:.3g}")
    return draw.choice(WORDS) if kind is str else None


def _filled(kind: Any, *key: object) -> Any:
    """Return a struct or dataclass in which some fields keep their defaults."""
    hints = typing.get_type_hints(kind, include_extras=True)
    given = {}
    for field in msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else fields_of(kind):
        at = (*key, field.name)
        required = field.default in (msgspec.NODEFAULT, MISSING) and field.default_factory in (
            msgspec.NODEFAULT,
            MISSING,
        )
        if getattr(field, "init", True) and (required or random.Random(f"default {at}").random() < 0.7):
            given[field.name] = value(hints[field.name], *at)
    return kind(**given)
