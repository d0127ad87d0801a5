"""Cleans text from outside, once on entry: a line, a block, or every string of a message."""

import re
from typing import Any, TypeVar

import msgspec

ELLIPSIS = "…"

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # two-byte escapes, or a lone ESC
    r"|\x9b[0-?]*[ -/]*[@-~]"  # C1 CSI
    r"|[\x90\x98\x9d-\x9f][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # C1 strings
)
# The zero-width joiner is removed too: terminals and libraries disagree about the width of joined characters.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad"
    "\u061c\u180e\u200b\u200d\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def sanitize_line(text: str, limit: int = 2_000) -> str:
    """Return one line of printable text, without escape sequences, control characters, bidi overrides or line
    breaks.

    Text longer than `limit` characters is cut and ends with an ellipsis, so that hostile input takes no more
    time than normal input.
    """
    return sanitize_block(text, limit).replace("\n", " ")


def sanitize_block(text: str, limit: int = 200_000) -> str:
    """Clean text as `sanitize_line` does, but keep line breaks; tabs become four spaces."""
    if len(text) <= limit and text.isprintable():
        return text
    cut = len(text) > limit
    # Cut before cleaning: the cut may split an escape sequence, and cleaning must remove the rest of it.
    text = text[:limit].replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    text = _CONTROLS.sub("", _ESCAPES.sub("", text))
    return text + ELLIPSIS if cut else text


LONGEST_TEXT = 200_000

_SUSPECT = re.compile(rb"[\x7f-\xff]|\\[ubfrt]")
"""Bytes in JSON that may need cleaning. All other bytes are printable, or line ends, which may stay."""

T = TypeVar("T", bound=msgspec.Struct)


def sanitize_error(error: BaseException | None, most: int = 200) -> str:
    return sanitize_line(f"{type(error).__name__}: {error}", most)


def sanitize(message: T, limit: int = LONGEST_TEXT) -> T:
    """Return the message with every string cleaned by `sanitize_block`; the same object if nothing changed.

    limit: maximum number of characters in a string; a struct class may set a smaller `longest_text`.
    """
    changed, limit = {}, getattr(message, "longest_text", limit)
    for name in message.__struct_fields__:
        value = getattr(message, name)
        new = _sanitize(value, limit)
        if new is not value:
            changed[name] = new
    return msgspec.structs.replace(message, **changed) if changed else message


def _sanitize(value: Any, limit: int = LONGEST_TEXT) -> Any:
    if isinstance(value, str):
        text = sanitize_block(value, limit)
        return value if text == value else text
    if isinstance(value, msgspec.Raw):
        return _sanitize_raw(value)
    if isinstance(value, list):
        return [_sanitize(part, limit) for part in value]
    if isinstance(value, msgspec.Struct):
        return sanitize(value, limit)
    if isinstance(value, tuple):
        parts = [_sanitize(part, limit) for part in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else tuple(parts)
    if isinstance(value, dict):
        entries = {_sanitize(key, limit): _sanitize(entry, limit) for key, entry in value.items()}
        return value if entries == value else entries
    return value


def _sanitize_raw(raw: msgspec.Raw) -> msgspec.Raw:
    """Clean every string in raw JSON."""
    if not _SUSPECT.search(raw):
        return raw
    value = msgspec.json.decode(raw)
    new = _sanitize(value)
    return raw if new == value else msgspec.Raw(msgspec.json.encode(new))
