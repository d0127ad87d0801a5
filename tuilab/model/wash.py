"""Cleaning every text of a message at once, where it enters the program."""

import re
from typing import Any, TypeVar

import msgspec

from tuilab.model.text import clean_block

LONGEST_TEXT = 200_000

_SUSPECT = re.compile(rb"[\x7f-\xff]|\\[ubfrt]")
"""Whatever else JSON holds is printable, but for line ends, which may stay."""

T = TypeVar("T", bound=msgspec.Struct)


def washed(message: T) -> T:
    """The message with every text in it cleaned as by `clean_block`; itself where nothing changed."""
    changed = {}
    for name in message.__struct_fields__:
        value = getattr(message, name)
        new = _wash(value)
        if new is not value:
            changed[name] = new
    return msgspec.structs.replace(message, **changed) if changed else message


def _wash(value: Any) -> Any:
    match value:
        case str():
            new: Any = clean_block(value, LONGEST_TEXT)
            return value if new == value else new
        case msgspec.Raw():
            return _wash_raw(value)
        case list():
            return [_wash(part) for part in value]
        case msgspec.Struct():
            return washed(value)
        case tuple():
            parts = [_wash(part) for part in value]
            same = all(new is old for new, old in zip(parts, value, strict=True))
            return value if same else tuple(parts)
        case dict():
            entries = {_wash(key): _wash(entry) for key, entry in value.items()}
            return value if entries == value else entries
        case _:
            return value


def _wash_raw(raw: msgspec.Raw) -> msgspec.Raw:
    """JSON that is decoded later, with every text in it cleaned."""
    if not _SUSPECT.search(raw):
        return raw
    value = msgspec.json.decode(raw)
    new = _wash(value)
    return raw if new == value else msgspec.Raw(msgspec.json.encode(new))
