"""Files from older versions lack newer fields, so a field's default must keep the old meaning."""

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

import tuilab.model
from tuilab.model.verdicts import VERDICTS

KEPT = Path(__file__).with_name("absent.json")


def absent() -> dict[str, str]:
    return dict(sorted(_found()))


def _found() -> Iterator[tuple[str, str]]:
    for module in pkgutil.iter_modules(tuilab.model.__path__):
        loaded = importlib.import_module(f"tuilab.model.{module.name}")
        for name, kind in vars(loaded).items():
            if isinstance(kind, type) and kind.__module__ == loaded.__name__:
                for field, value in _defaults(kind):
                    shown = bytes(value) if isinstance(value, msgspec.Raw) else value
                    yield f"{module.name}.{name}.{field}", repr(shown)


def _defaults(kind: type) -> Iterator[tuple[str, Any]]:
    if issubclass(kind, msgspec.Struct):
        for field in msgspec.structs.fields(kind):
            if field.default is not msgspec.NODEFAULT:
                yield field.name, field.default
            elif field.default_factory is not msgspec.NODEFAULT:
                yield field.name, field.default_factory()
    elif dataclasses.is_dataclass(kind):
        for one in dataclasses.fields(kind):
            if one.default is not dataclasses.MISSING and not callable(one.default):
                yield one.name, one.default


def test_verdicts_have_the_same_mark_and_word_everywhere() -> None:
    assert {word: (look.mark, look.tone, look.words) for word, look in VERDICTS.items()} == {
        "confirmed": ("✓", "success", "confirmed"),
        "refuted": ("✗", "error", "refuted"),
        "undecided": ("≈", "warning", "undecided"),
        "untestable": ("?", "muted", "untestable here"),
        "impossible": ("⊘", "error", "impossible on any known GPU"),
    }


def test_omitted_fields_keep_their_meaning() -> None:
    """To add optional fields, record their defaults with `python -m tests.model.test_absent`."""
    now, kept = absent(), json.loads(KEPT.read_text())
    assert {name: now.get(name, "no default") for name in kept} == kept
    assert len(kept) > 100


if __name__ == "__main__":
    KEPT.write_text(json.dumps(absent(), indent=1) + "\n")
