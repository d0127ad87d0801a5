"""Checks the pieces of a screen before they are sent to the terminal. Only text and colors are allowed."""

import re
import unicodedata

from rich.segment import Segment
from textual.app import App

from tests.tui.picture import lines

FORBIDDEN = {"Cc", "Cs", "Zl", "Zp"}
OWN = re.compile(r"screen\.view\('[a-z]+'\)|grab|release|scroll_(?:up|down)")
"""Matches the allowed actions of a click: on a tab or on a scroll bar."""
BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_forbidden(character: str) -> bool:
    return character in BIDI or unicodedata.category(character) in FORBIDDEN


def faults_of(text: str) -> str:
    if not text.isprintable() and any(map(is_forbidden, text)):
        return f"control characters: {text!r}"
    return ""


def segment_faults(segment: Segment) -> str:
    """Return the fault of a piece of a line: a control, a link, an action or a character; "" if there is
    none.
    """
    text, style, control = segment
    if control:
        return f"a control segment: {segment!r}"
    if style is not None and style.link:
        return f"a link to {style.link!r}"
    for name, action in (style.meta if style is not None else {}).items():
        if name.startswith("@") and not OWN.fullmatch(str(action)):
            return f"an action in text: {name} {action!r}"
    return faults_of(text)


def shown(app: App[object]) -> tuple[str, list[str]]:
    texts, faults = [], []
    for segments in lines(app):
        texts.append("".join(segment.text for segment in segments))
        faults += [fault for segment in segments if (fault := segment_faults(segment))]
        length = sum(segment.cell_length for segment in segments)
        if length != app.size.width:
            faults.append(f"{length} cells, not {app.size.width}: {texts[-1]!r}")
    return "\n".join(texts), faults
