"""Computes the maximum speedup from a finding's fix, for the step and the program. Pure functions."""

from dataclasses import dataclass

from msgspec.structs import replace

from tuilab.model.program import Bottleneck, Page, Tried


@dataclass(frozen=True)
class AtMost:
    """Maximum speedup of the program and the step; None if unknown."""

    program: float | None = None
    step: float | None = None


def factor(share: float) -> float:
    """Return the maximum speedup from removing that share of the time."""
    return 1 / (1 - min(share, LARGEST))


def at_most(finding: Bottleneck) -> AtMost | None:
    """Return the maximum gain of a fix; None without a bound.

    The program gains what its steps gain, weighted by the steps' share of its time (Amdahl's law).
    """
    if finding.gain_at_most is None:
        return None
    most = max([finding.gain_at_most, *(finding.gain_ci95 or ())])
    if finding.share is None or finding.gain_at_most <= 1:
        return AtMost(program=most)
    # If the interval of the share reaches the whole step, there is no limit for the step's speedup.
    step = most if most < factor(1.0) else None
    if finding.program_share is None:
        return AtMost(step=step)
    return AtMost(
        program=of_program(finding, most), step=step if finding.code not in OF_THE_PROGRAM else None
    )


def expected_gain(finding: Bottleneck) -> float | None:
    """Return how many times as fast the program would run without the time that the finding takes; None if
    unknown, if the change has been tried, or if it may gain nothing.
    """
    if finding.saves_s is None or finding.tried or not finding.program_share or finding.code in UNCERTAIN:
        return None
    return factor(finding.program_share)


def of_program(finding: Bottleneck, step: float) -> float | None:
    """Return how many times as fast the program runs if its steps run `step` times as fast."""
    if finding.program_share is None or not finding.gain_at_most or finding.gain_at_most <= 1:
        return None
    in_steps = min(1.0, finding.program_share / (1 - 1 / finding.gain_at_most))
    return factor(in_steps * (1 - 1 / step))


def with_trial(finding: Bottleneck, tried: Tried | None, lasted_s: float) -> Bottleneck:
    """Return the finding with its trial, and with the gain of the program, which lasted `lasted_s` so far.

    A trial may begin before the finding's share of the program is known from the profiler.
    """
    if tried is None or tried.step is None:
        return replace(finding, tried=tried)
    program = of_program(finding, tried.step)
    if program is None or lasted_s <= 0:
        return replace(finding, tried=replace(tried, program=None))
    left_s = lasted_s / program + (tried.compile_s or 0.0)
    tried = replace(tried, program=lasted_s / left_s)
    return replace(finding, tried=tried, saves_s=max(0.0, lasted_s - left_s))


def gain_of_step(page: Page, ratio: float, steps: int = 1) -> float:
    """Return how many times as fast a step runs if its call takes `ratio` times as long.

    steps: the number of steps in one changed call. Python and input outside the call stay the same.
    """
    inside = sum(part.share for part in page.parts if not part.name.startswith(OUTSIDE))
    return steps / (inside * ratio + 1 - inside)


OUTSIDE = ("python", "waiting for input")
"""Parts of a step that are outside the call of its function."""
LARGEST = 0.99
"""Maximum share of the program that a fix can save, because some time always remains."""
UNCERTAIN = frozenset(("xla-off",))
"""Findings whose change may also make the program slower: on a CPU, XLA's kernels may be slower."""
OF_THE_PROGRAM = frozenset(("retraced", "xla-recompiles"))
"""Findings whose share refers to the time since the first call, not to a step."""
