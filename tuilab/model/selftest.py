"""The messages of the self-test: the request, and one line per check."""

from typing import ClassVar

import msgspec


class Selftest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    long: bool = False
    """True to repeat the checks more often, for figures that are published."""
    seed: int = 1
    only: tuple[str, ...] = ()
    """Names of the checks to run; empty for all of them."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    more: ClassVar[bool] = True

    name: str
    figure: float | None
    limit: str
    """The limit that the measured figure must meet, in words."""
    passed: bool
    message: str
    seconds: float = 0.0


class SelftestSummary(msgspec.Struct, frozen=True, kw_only=True):
    more: ClassVar[bool] = False

    passed: bool
    idle: bool
    """True if no other program used the processor during the test; if False, no check passes."""
    checks: int
    failed: int
    seconds: float
    message: str


NAMES = (
    "idle",
    "clock-resolution",
    "clock-rate",
    "spin-slope",
    "a-a",
    "slowdown",
    "least-difference",
    "drift",
    "coverage-median",
    "coverage-ratio",
    "coverage-crossover",
    "roofline",
    "shares",
    "link",
    "still-idle",
    "forked",
    "hog",
)
"""Names of the checks, in order. `link` needs a GPU; `forked` needs a system on which runs fork processes."""
