"""Text from outside, made safe once at the door."""

import re

ELLIPSIS = "…"

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # two-byte escapes, or a lone ESC
    r"|\x9b[0-?]*[ -/]*[@-~]"  # C1 CSI
    r"|[\x90\x98\x9d-\x9f][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # C1 strings
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad"
    "\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def clean(text: str, limit: int = 2_000) -> str:
    """One line of printable text: no escapes, controls, bidi overrides or line breaks.

    Longer text is cut to `limit` characters with an ellipsis, so that a hostile line costs no more
    than an honest one.
    """
    return clean_block(text, limit).replace("\n", " ")


def clean_block(text: str, limit: int = 200_000) -> str:
    """As `clean`, but line breaks stay; tabs become four spaces."""
    if len(text) <= limit and text.isprintable():
        return text
    cut = len(text) > limit
    # An escape could straddle the cut, so cut before cleaning.
    text = text[:limit].replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    text = _CONTROLS.sub("", _ESCAPES.sub("", text))
    return text + ELLIPSIS if cut else text
