"""Formats ratios, shares, sizes and lists for sentences."""

from collections.abc import Sequence

from tuilab.model.quantity import as_shown, digits_for, prefixed, significant, suffixed
from tuilab.model.quantity import plural as plural  # re-exported until all packages import it from `quantity`
from tuilab.model.sanitize import sanitize_line

REASON_LENGTH = 160


def times(ratio: float, half_width: float | None = None) -> str:
    """Return `1.27×`, with as many digits as ± `half_width` justifies, at most three; near 1, with two
    decimals.
    """
    if abs(ratio - 1) < 0.1:
        return f"{ratio:.2f}×"
    return f"{significant(ratio, min(3, digits_for(ratio, half_width)))}×"


def quotient(one: float, one_half: float | None, other: float, other_half: float | None) -> str:
    """Return the quotient of two medians, computed from the displayed digits: `1.27×`."""
    shown = as_shown(one, one_half) / as_shown(other, other_half)
    if abs(shown - 1) < 0.1:
        return f"{shown:.2f}×"
    digits = min(
        digits_for(value, value / 10 if half is None else half)
        for value, half in ((one, one_half), (other, other_half))
    )
    return f"{significant(shown, min(3, digits))}×"


def percent(share: float) -> str:
    """Format a share: `0.71` → `71%`; below 10% with one decimal; `<0.1%` for tiny shares."""
    value = 100 * share
    if 0 < value < 0.05:
        return "<0.1%"
    return f"{value:.0f}%" if abs(value) >= 9.95 or round(value, 1) == round(value) else f"{value:.1f}%"


def size(value: float, half_width: float | None = None) -> str:
    """Format a size on a sweep's axis: `1,024`, `150 k`; a large power of two as on the slider, `256k`, `1M`.
    half_width: show only as many digits as this uncertainty allows.
    """
    if half_width is None and value >= 100_000 and value == int(value) and int(value).bit_count() == 1:
        return suffixed(int(value))
    digits = digits_for(value, half_width)
    if value < (100_000 if half_width is None else 10_000):
        return f"{value:,.0f}" if half_width is None else significant(value, digits)
    return prefixed(value, digits)


def size_interval(low: float, high: float) -> str:
    """Return `[15 k 22 k]`, with both ends rounded to the same digit."""
    digits = digits_for((low + high) / 2, (high - low) / 2)
    ends = [significant(end, digits) if end < 10_000 else prefixed(end, digits) for end in (low, high)]
    return f"[{' '.join(ends)}]"


def on_axis(axis: str, amount: str, interval: str = "") -> str:
    """Return `18 k samples [15 k 22 k]` for a plural axis name, else `frame length 512`."""
    name = axis.replace("_", " ")
    words = [amount, name] if name.endswith("s") and not name.endswith("ss") else [name, amount]
    return " ".join(word for word in (*words, interval) if word)


def listed(words: Sequence[str], joint: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def first_few(words: Sequence[str], most: int) -> str:
    """Return `a, b and 2 more`: at most `most` of the words, and the number of the others."""
    left = len(words) - most
    return listed([*words[:most], f"{left:,} more"] if left > 0 else words)


def capitalized(text: str) -> str:
    """Return the text with its first letter in upper case and the rest unchanged."""
    return text[:1].upper() + text[1:]


def short(text: str) -> str:
    """Format a reason from TensorFlow or another program for use within a sentence: one short line without a
    full stop.
    """
    line = sanitize_line(text, REASON_LENGTH).strip().rstrip(".")
    if len(text) <= REASON_LENGTH or not line.endswith("…"):
        return line
    whole, _, cut = line[:-1].rpartition(" ")
    return f"{whole or cut} […]"
