"""Parses a program's output to a terminal. Each sequence that the lab is not known to send is a fault."""

import re
from collections import Counter
from collections.abc import Iterator

from tests.hostile.strips import is_forbidden

CSI = re.compile(r"\x1b\[([<=>?]?)([0-9;:]*)([ -/]*)([@-~])")
MODES = {"25", "1000", "1003", "1004", "1006", "1015", "1016", "1049", "2004", "2026", "2048", "7"}
"""Known modes: cursor, mouse, focus, alternate screen, paste, synchronized output, resize, wrapping."""
POINTER = re.compile(r"\x1b\]22;[a-z-]{1,20}\x07")
CLIPBOARD = re.compile(r"\x1b\]52;c;[A-Za-z0-9+/]*={0,2}(?:\x07|\x1b\\)")


def faults(sent: bytes, size: tuple[int, int], *, clipboard: bool = False) -> list[str]:
    """Return the sequences that a terminal must not receive from the lab. clipboard: the test has copied a
    command, so a clipboard sequence is allowed.
    """
    return [f"{what} at {at}: …{sent.decode('utf-8', 'replace')[max(0, at - 60) : at + 60]!r}"
            for at, what in _faults(sent, size, clipboard)]  # fmt: skip


def _faults(sent: bytes, size: tuple[int, int], clipboard: bool) -> Iterator[tuple[int, str]]:
    try:
        text = sent.decode("utf-8")
    except UnicodeDecodeError as error:
        yield error.start, f"no UTF-8: {error.reason}"
        return
    at = 0
    inside = False
    while at < len(text):
        character = text[at]
        if character == "\x1b":
            match = CSI.match(text, at)
            copied = POINTER.match(text, at) or (CLIPBOARD.match(text, at) if clipboard else None)
            if match is not None:
                why = _wrong(match, size)
                if why:
                    yield at, why
                inside = inside or match[0] == "\x1b[?1049h"
                at = match.end()
                continue
            if copied is not None:
                at = copied.end()
                continue
            yield at, f"an escape that is none of ours: {text[at : at + 12]!r}"
        elif character in "\r\n" and (not inside or text[at + 1 : at + 2] in ("\n", "\x1b")):
            pass  # Textual ends each line of a full screen in this way, and then moves the cursor
        elif is_forbidden(character):
            yield at, f"a control character {character!r}"
        at += 1


def _wrong(found: re.Match[str], size: tuple[int, int]) -> str:
    """Return the fault of a control sequence; "" if the lab is known to send it."""
    private, given, between, final = found.groups()
    numbers = [int(n) for n in re.split("[;:]", given) if n]
    match private, between, final:
        case "", "", "m":
            return ""
        case "", "", "H":
            width, height = size
            fine = len(numbers) in (0, 2) and (not numbers or (numbers[0] <= height and numbers[1] <= width))
            return "" if fine else f"a move off the screen: {found[0]!r}"
        case "", "", "n":
            return "" if given == "6" else f"a question: {found[0]!r}"
        case "?", "", "h" | "l":
            return "" if given in MODES else f"a mode: {found[0]!r}"
        case "?", "$", "p":
            return "" if given in MODES else f"a question about a mode: {found[0]!r}"
        case ">" | "<" | "=", "", "u":
            return ""
    return f"a sequence that is none of ours: {found[0]!r}"


def kinds(sent: bytes) -> Counter[str]:
    return Counter("".join((m[1], m[3], m[4])) for m in CSI.finditer(sent.decode("utf-8", "replace")))
