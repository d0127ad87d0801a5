"""JSON Schemas for the data that scripts read and write, from the Python types and their docstrings."""

import ast
import functools
import inspect
import operator
import re
import sys
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from tuilab.model.doctor import DoctorReport
from tuilab.model.events import Event
from tuilab.model.explain import OpExplanation, ScenarioExplanation
from tuilab.model.preset import Preset
from tuilab.model.program import Page, Together
from tuilab.model.requests import Ask, Request
from tuilab.model.result import RunResult

SCHEMAS: dict[str, Any] = {
    "run": RunResult,
    "watch": Page,
    "watch-several": Together,
    "explain": ScenarioExplanation,
    "explain-op": OpExplanation,
    "doctor": DoctorReport,
    "preset": Preset,
    "event": Event,
    "request": Request,
}
"""The type that each schema describes, by the schema's name."""


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) with that name."""
    of = _without_raw(SCHEMAS[name])
    parts = {part.__name__: part for part in structs(of)}
    document = msgspec.json.schema(of)
    for title, part in document.get("$defs", {}).items():
        below = meanings(parts[title]) if title in parts else {}
        for field, about in part.get("properties", {}).items():
            if below.get(field):
                about["description"] = below[field]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"tuilab {name}", **document}


def _without_raw(of: Any) -> Any:
    """Replace `Ask` in a union by a type whose body is any object, because msgspec cannot serialize the
    default value of a raw JSON field.
    """
    if Ask not in get_args(of):
        return of
    body: tuple[str, Any, Any] = ("body", dict[str, Any], msgspec.field(default_factory=dict))
    ask = msgspec.defstruct("Ask", [body], bases=(Ask,), kw_only=True, frozen=True, tag="ask")
    return functools.reduce(operator.or_, (ask if each is Ask else each for each in get_args(of)))


def structs(*roots: Any) -> Iterator[type]:
    """Yield each struct type that these types contain, once, in order of appearance."""
    seen: dict[type, None] = {}

    def visit(info: Any) -> None:
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls in seen:
                return
            seen[info.cls] = None
            for field in info.fields:
                visit(field.type)
        for part in ("item_type", "value_type"):
            if hasattr(info, part):
                visit(getattr(info, part))
        for part in ("types", "item_types"):
            for each in getattr(info, part, ()):
                visit(each)

    for root in roots:
        visit(msgspec.inspect.type_info(root))
    return iter(seen)


def meanings(struct: type) -> dict[str, str]:
    """Return the docstring of each field of a struct, including its bases, by JSON name; "" for a field
    without a docstring.
    """
    texts: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        node = _tree(base.__module__).get(base.__name__) if base.__module__.startswith("tuilab") else None
        for field, below in zip(node.body, [*node.body[1:], None], strict=True) if node else ():
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                texts[field.target.id] = in_json(" ".join(_text(below).split()))
    names = {each.name: each.encode_name for each in msgspec.structs.fields(struct)}
    return {names.get(field, field): about for field, about in texts.items()}


def in_json(text: str) -> str:
    return re.sub(r"\bNone\b", "null", text)


def _text(node: ast.stmt | None) -> str:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value
    return text if isinstance(text, str) else ""


@functools.cache
def _tree(module: str) -> dict[str, ast.ClassDef]:
    source = inspect.getsource(sys.modules[module])
    return {each.name: each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.ClassDef)}
