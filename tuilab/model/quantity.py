"""Numbers as people type and read them: `64k`, `1Mi`, `0.48 ms`, `400 MB`."""

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


def parse_integer(text: str, *, binary: bool = False) -> int:
    """Read `65536`, `65_536`, `64k`, `1.5M`, `64Ki`.

    `k`, `M` and `G` are decimal, or powers of 1,024 when `binary` is set (sizes that are counted in
    powers of two, such as samples and matrix sides). Raises ValueError when it is not a whole number.
    """
    match = _NUMBER.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a whole number such as 4096, 64k or 1M")
    suffix = (match[2] or "").lower()
    if binary and suffix in ("k", "m", "g"):
        suffix += "i"
    value = float(match[1].replace("_", "").replace(",", "")) * _SUFFIXES[suffix]
    if not math.isfinite(value) or value != int(value):
        raise ValueError(f"{text!r} is not a whole number")
    return int(value)


def significant(value: float, digits: int) -> str:
    """`value` rounded to `digits` significant digits, without an exponent."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    return f"{rounded:,.{max(decimals, 0)}f}"


def digits_for(value: float, half_width: float | None) -> int:
    """Significant digits that an interval of ± `half_width` around `value` leaves meaningful: 2 to 4.

    The last digit shown is the first one that the half-width touches.
    """
    if not half_width or value == 0 or not math.isfinite(half_width / value):
        return 3
    return min(4, max(2, 1 - math.floor(math.log10(abs(half_width / value)))))


_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def time_unit(seconds: float) -> tuple[float, str]:
    """The unit in which `seconds` reads best, as (seconds per unit, name)."""
    for scale, name in _TIME_UNITS:
        if abs(seconds) >= scale:
            return scale, name
    return _TIME_UNITS[-1]


def seconds(value: float, half_width: float | None = None) -> str:
    """`0.000483` → `483 µs`: as many digits as the interval allows."""
    scale, name = time_unit(value)
    return f"{significant(value / scale, digits_for(value, half_width))} {name}"


def median_of(value: float, half_width: float | None = None) -> str:
    """A measured median: the digits that its interval allows, and two where it has none."""
    return seconds(value, abs(value) / 10 if half_width is None else half_width)


def interval(low: float, high: float, like: float) -> str:
    """`[0.47 0.50]` in the unit in which `like` is shown."""
    scale, _ = time_unit(like)
    digits = digits_for(like, (high - low) / 2)
    return f"[{significant(low / scale, digits)} {significant(high / scale, digits)}]"


def count(value: float) -> str:
    """`65536` → `65,536`; from 100,000 on a rounded `262 k`, `16.8 M`."""
    if abs(value) < 100_000:
        return f"{value:,.0f}"
    for scale, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{significant(value / scale, 3)} {name}"
    raise AssertionError("unreachable")


def size(count_of_bytes: float) -> str:
    """Bytes in decimal units: `400 MB`."""
    for scale, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(count_of_bytes) >= scale:
            return f"{significant(count_of_bytes / scale, 3)} {name}"
    return f"{count_of_bytes:.0f} B"


def rate(value: float, unit: str) -> str:
    """`199 GFLOP/s`, `43.6 GB/s`."""
    for scale, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{significant(value / scale, 3)} {prefix}{unit}"
    return f"{significant(value, 3)} {unit}"


def share_words(share: float) -> str:
    """A share of a roof, `53 %`; the smallest are as good as none."""
    if share < 0.001:
        return "<0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"
