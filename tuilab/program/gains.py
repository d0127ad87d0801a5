"""The maximum speedup of a finding's fix, for the step and the program. Pure functions."""

from dataclasses import dataclass

from tuilab.model.program import Bottleneck


@dataclass(frozen=True)
class AtMost:
    """Maximum speedup of the program and the step; None if unknown."""

    program: float | None = None
    step: float | None = None


def at_most(finding: Bottleneck) -> AtMost | None:
    """Return the maximum gain of a fix; None without a bound.

    The program gains what its steps gain, weighted by the steps' share of its time (Amdahl's law).
    """
    if finding.gain_at_most is None:
        return None
    most = max([finding.gain_at_most, *(finding.gain_ci95 or ())])
    if finding.share is None or finding.gain_at_most <= 1:
        return AtMost(program=most)
    if finding.program_share is None:
        return AtMost(step=most)
    share, usual = 1 - 1 / most, 1 - 1 / finding.gain_at_most
    of_program = min(1.0, finding.program_share / usual) * share
    program = 1 / (1 - min(of_program, LARGEST))
    return AtMost(program=program, step=most if finding.code not in OF_THE_PROGRAM else None)


LARGEST = 0.99
"""Maximum share of the program that a fix can save: something always remains."""
OF_THE_PROGRAM = frozenset(("retraced", "xla-recompiles"))
"""Findings whose share is of the time since the first call, not of a step."""
