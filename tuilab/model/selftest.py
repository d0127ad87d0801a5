"""The self-test: the question, and one line per check."""

from typing import ClassVar

import msgspec


class Selftest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The question."""

    long: bool = False
    """More repetitions, for publication."""
    seed: int = 1
    only: tuple[str, ...] = ()
    """Names of the checks to run; empty for all."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check."""

    more: ClassVar[bool] = True

    name: str
    figure: float | None
    """The result; None if there is none."""
    limit: str
    """The limit, in words."""
    passed: bool
    message: str
    seconds: float = 0.0


class SelftestSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The last answer."""

    more: ClassVar[bool] = False

    passed: bool
    idle: bool
    """Nothing else used the processor meanwhile; otherwise no check passes."""
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
"""The checks in order; `link` only with a GPU, `forked` only if runs fork."""
