"""Numbers as users type and read them: `64k`, `1Mi`, `0.48 ms`, `400 MB`."""

import math
import re

_SUFFIXES = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
}
_NUMBER = re.compile(r"^([0-9][0-9_,]*(?:\.[0-9]+)?|\.[0-9]+)\s*([kKmMgG]i?)?$")


LEAST, GREATEST = 1e-9, 1e18
"""Numbers of a magnitude outside this range are shown with an exponent."""
EXACT = 18
"""Maximum digits of an integer that is parsed exactly; no parameter allows more."""


def parse_integer(text: str, *, binary: bool = False) -> int:
    """Parse `65536`, `65_536`, `64k`, `1.5M`, `64Ki`.

    `k`, `M` and `G` are powers of 1,000, or of 1,024 if `binary`. Raises ValueError if the text is not a
    whole number.
    """
    match = _NUMBER.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a whole number such as 4096, 64k or 1M")
    suffix = (match[2] or "").lower()
    if binary and suffix in ("k", "m", "g"):
        suffix += "i"
    if not suffix and len(match[1]) <= EXACT and match[1].isdigit():
        return int(match[1])
    value = float(match[1].replace("_", "").replace(",", "")) * _SUFFIXES[suffix]
    if not math.isfinite(value) or value != int(value):
        raise ValueError(f"{text!r} is not a whole number")
    return int(value)


def significant(value: float, digits: int) -> str:
    """Round to `digits` significant digits, with an exponent for very large or small values."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if not LEAST <= abs(value) < GREATEST:
        return f"{value:.{digits - 1}e}"
    rounded, decimals = _rounded(value, digits)
    return f"{rounded:,.{max(decimals, 0)}f}"


def _rounded(value: float, digits: int) -> tuple[float, int]:
    if value == 0 or not math.isfinite(value):
        return value, 0
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    # If rounding turned 9.997 into 10.00, use one decimal fewer.
    return rounded, digits - 1 - math.floor(math.log10(abs(rounded)))


def digits_for(value: float, half_width: float | None) -> int:
    """Return how many significant digits (2 to 4) to show for an interval of ± `half_width`.

    The last digit shown is the first one that the half-width affects.
    """
    if not half_width or value == 0 or not math.isfinite(half_width / value):
        return 3
    return min(4, max(2, 1 - math.floor(math.log10(abs(half_width / value)))))


Units = tuple[tuple[float, str], ...]
"""The size and name of each unit, in ascending order; each unit is a thousand times the previous one."""
_TIME_UNITS: Units = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_PREFIXES: Units = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"))


def unit_for(value: float, digits: int, units: Units = _PREFIXES) -> tuple[float, str]:
    """Return the size and name of the unit in which the rounded `value` is below 1,000, or of the largest
    unit.

    Rounding first turns 999.6 k into 1.00 M instead of 1,000 k.
    """
    return next((unit for unit in units if abs(_rounded(value / unit[0], digits)[0]) < 1_000), units[-1])


def time_unit(seconds: float, digits: int = 3) -> tuple[float, str]:
    """Return the best unit for `seconds`: its size in seconds, and its name."""
    return unit_for(seconds, digits, _TIME_UNITS)


def seconds(value: float, half_width: float | None = None) -> str:
    """Format seconds in a fitting unit, such as 0.000483 as `483 µs`, with as many digits as the half-width
    allows.
    """
    digits = digits_for(value, half_width)
    scale, name = time_unit(value, digits)
    return f"{significant(value / scale, digits)} {name}"


def rough(seconds: float) -> str:
    """Format a rough duration in whole seconds, minutes or hours: `3 min`."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5_970 else f"{round(seconds / 3_600)} h"


def median_of(value: float, half_width: float | None = None) -> str:
    """Format a median in seconds with as many digits as its half-width allows; without a half-width, with two
    digits.
    """
    return seconds(value, abs(value) / 10 if half_width is None else half_width)


def as_shown(value: float, half_width: float | None = None) -> float:
    """Round `value` to the digits that `median_of` shows."""
    return _rounded(value, digits_for(value, abs(value) / 10 if half_width is None else half_width))[0]


def half_of(ends: tuple[float, float] | None) -> float | None:
    return (ends[1] - ends[0]) / 2 if ends else None


def interval(low: float, high: float, like: float) -> str:
    """Format an interval in seconds, `[0.47 0.50]`, in the unit that fits `like`."""
    digits = digits_for(like, (high - low) / 2)
    scale, _ = time_unit(like, digits)
    return f"[{significant(low / scale, digits)} {significant(high / scale, digits)}]"


def count(value: float) -> str:
    """Format a count: `65536` → `65,536`; from 100,000 up, rounded with a prefix: `262 k`, `16.8 M`."""
    return f"{value:,.0f}" if abs(round(value)) < 100_000 else prefixed(value)


def size(count_of_bytes: float) -> str:
    """Format bytes in decimal units: `400 MB`."""
    few = abs(round(count_of_bytes)) < 1_000
    return f"{count_of_bytes:.0f} B" if few else prefixed(count_of_bytes, unit="B")


def rate(value: float, unit: str) -> str:
    """Format a rate in decimal units: `199 GFLOP/s`, `43.6 GB/s`."""
    return prefixed(value, unit=unit)


def prefixed(value: float, digits: int = 3, unit: str = "") -> str:
    """Format a number with a decimal prefix: `262 k`, `16.8 MB`; below 1,000, without one: `12 B`."""
    scale, prefix = unit_for(value, digits)
    return f"{significant(value / scale, digits)} {prefix}{unit}".rstrip()


def share_words(share: float) -> str:
    """Format a share: `53%`; below 10% with one decimal; below 0.1% as `<0.1%`."""
    if share < 0.001:
        return "<0.1%"
    return f"{100 * share:.0f}%" if share >= 0.0995 else f"{100 * share:.1f}%"


def limited_share(share: float, *, least: bool, most: bool) -> str:
    """Return `share_words` with `≥` if the share is a lower limit, `≤` for an upper limit, `≈` for both.

    A lower limit near zero says nothing, so it is `–`.
    """
    words = share_words(share)
    sign = {(True, False): "≥ ", (False, True): "≤ ", (True, True): "≈ "}.get((least, most), "")
    if not words[0].isdigit():
        return "–" if least else words
    return sign + words


def suffixed(value: int, *, binary: bool = True) -> str:
    """Format an integer as users type it: `16777216` → `16M`, `10240` → `10k`. An integer without such a
    short form gets separators.
    """
    base = 2**10 if binary else 10**3
    for power, suffix in ((3, "G"), (2, "M"), (1, "k")):
        if value and value % base**power == 0:
            return f"{value // base**power:,}{suffix}"
    return f"{value:,}"


def plural(number: int, noun: str) -> str:
    """Format a count with its noun: `1 op`, `80 ops`, `2 processes`."""
    ending = "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {noun}{'' if number == 1 else ending}"


HELD = "\ue000"
"""Placeholder for a non-breaking space in text that will be wrapped."""
_UNITS = r"ns|µs|ms|s|min|%|×|[kMGT]?B|[kMGT]"
_FIGURE = re.compile(rf"\[[\d.,]+ [\d.,]+\]|(?:± )?\d[\d.,]*(?: (?:{_UNITS})(?!\w))*")


def keep_on_line(text: str) -> str:
    """Replace the spaces between a figure and its unit, and within an interval, by `HELD`."""
    return _FIGURE.sub(lambda figure: figure[0].replace(" ", HELD), text)
