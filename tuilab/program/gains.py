"""Computes the maximum speedup of the step and of the program from fixing a finding. Pure functions."""

from dataclasses import dataclass

from msgspec.structs import replace

from tuilab.model.program import Bottleneck, Page, StepTimes, Tried


@dataclass(frozen=True)
class AtMost:
    """Maximum speedup of the program and of the step, if known."""

    program: float | None = None
    step: float | None = None


def factor(share: float) -> float:
    return 1 / (1 - min(share, LARGEST))


def limited_by_input(
    finding: Bottleneck, waits: float, pace: float | None, serial: bool = False
) -> Bottleneck:
    """Return the finding with the limits that the input sets.

    waits: share of a step spent waiting for input. pace: the pipeline's work for a batch in other threads, as
    a share of a step; None if it prepares no batch during a step. If it does, a faster step may only wait
    longer, so the fix may save nothing. A fix that does not concern the input leaves the wait as it is.
    serial: True if the pipeline prepares one batch at a time, so that a step cannot take less than its work
    until the input is faster.
    """
    if finding.code in OF_INPUT or (finding.share is None and finding.code in BETWEEN_PIPELINES):
        return finding
    if pace is not None and (finding.gain_at_most or 0.0) > 1:
        finding = replace(finding, if_input_keeps_up=waits >= NEGLIGIBLE or exceeds(finding, pace))
    later = _at_most(finding, waits)
    if not serial or not pace:
        return later
    now, later_s = _at_most(finding, max(waits, pace)), most_saved(later)
    limited = finding.if_input_keeps_up and later_s > CLEARLY * most_saved(now)
    return replace(now, saves_later_s=later_s) if limited else now


def _at_most(finding: Bottleneck, remains: float) -> Bottleneck:
    """Return the finding limited to what its fix can save if this share of a step remains."""
    if finding.share is None or not finding.gain_at_most or not remains or finding.code in OF_THE_PROGRAM:
        return finding
    left = max(0.0, 1 - remains)
    most, ends = factor(left), finding.gain_ci95
    of = min(1.0, left / share_of(finding.gain_at_most)) if finding.gain_at_most > 1 else 1.0
    return replace(
        finding,
        share=min(finding.share, left),
        gain_at_most=min(finding.gain_at_most, most),
        gain_ci95=(min(ends[0], most), min(ends[1], most)) if ends else None,
        program_share=finding.program_share * of if finding.program_share is not None else None,
        saves_s=finding.saves_s * of if finding.saves_s is not None else None,
    )


def exceeds(finding: Bottleneck, pace: float) -> bool:
    """Return True if the input of a step takes longer to prepare than a step would take after the fix.

    pace: the pipeline's work for a batch in other threads as a share of a step.
    """
    return finding.share is not None and pace > 1 - finding.share


def share_of(gain: float) -> float:
    return 1 - 1 / gain


def at_most(finding: Bottleneck) -> AtMost:
    """Return the maximum speedup from fixing a finding.

    The program's speedup follows from the speedup of its steps and the steps' share of the program's time
    (Amdahl's law).
    """
    if finding.gain_at_most is None:
        return AtMost()
    most = max([finding.gain_at_most, *(finding.gain_ci95 or ())])
    if finding.share is None:
        return AtMost(program=most)
    if finding.gain_at_most <= 1:  # the steps' share of the program is unknown
        return AtMost(step=most)
    # A trial on a busy host may measure a speedup that is too small.
    if finding.tried is not None and finding.tried.step_ci95 is not None and not finding.tried.doubts:
        most = min(most, max(1.0, *finding.tried.step_ci95))
    # The step's speedup has no limit if the interval of the share includes the whole step.
    step = most if most < factor(1.0) else None
    if finding.program_share is None:
        return AtMost(step=step)
    program = of_program(finding, most)
    if program is not None and finding.beyond:
        program = factor(min(1.0, share_of(program) + finding.beyond))
    return AtMost(program=program, step=step if finding.code not in OF_THE_PROGRAM else None)


def expected_gain(finding: Bottleneck) -> float | None:
    """Return the program's speedup if the fix saves all of the finding's time.

    Returns None if unknown, if a trial has measured the change, or if the change might not help.
    """
    if finding.saves_s is None or finding.tried or not finding.program_share or not is_certain(finding):
        return None
    return factor(finding.program_share)


def most_saved(finding: Bottleneck) -> float:
    """Return the maximum seconds that the fix may save, which the program's maximum speedup implies; 0 if
    unknown.
    """
    most, saved = at_most(finding), finding.saves_s or 0.0
    if not most.program or not finding.program_share:
        return saved
    return max(saved, saved / finding.program_share * share_of(most.program))


def is_certain(finding: Bottleneck) -> bool:
    """Return True if the fix surely helps, so that its saving is an estimate and not only a maximum."""
    calls_of_a_model = finding.code == "eager-step" and finding.share is None  # a graph also needs some time
    return finding.code not in UNCERTAIN and not calls_of_a_model and not finding.if_input_keeps_up


def of_program(finding: Bottleneck, step: float, most: float = 1.0) -> float | None:
    """Return the program's speedup if its steps run `step` times as fast; None if unknown.

    most: maximum share of the program's time that these steps take.
    """
    if finding.program_share is None or not finding.gain_at_most or finding.gain_at_most <= 1:
        return None
    in_steps = min(most, finding.program_share / share_of(finding.gain_at_most))
    return factor(in_steps * share_of(step))


def with_trial(
    finding: Bottleneck, tried: Tried | None, lasted_s: float, steps: StepTimes | None = None
) -> Bottleneck:
    """Return the finding with its trial's result and the resulting speedup of the program.

    lasted_s: duration of the program so far. steps: the program's steps; the trial measured a typical one,
    so the change does not shorten what only some steps contain, such as a validation. A trial may begin
    before the profiler knows the finding's share of the program. If the trial's speedup of the step exceeds
    the finding's maximum, the change has also saved other time, so the maximum is removed. A speedup whose
    interval includes 1 saves an unknown time.
    """
    if tried is None or tried.step is None:
        return replace(finding, tried=tried)
    typical_s = steps.n * (steps.median_s or 0.0) if steps is not None else 0.0
    most = min(1.0, typical_s / lasted_s) if typical_s and lasted_s > 0 else 1.0
    program = of_program(finding, tried.step, most)
    if program is None or lasted_s <= 0:
        return replace(finding, tried=replace(tried, program=None, if_input_keeps_up=False))
    left_s = lasted_s / program + (tried.compile_s or 0.0)
    program, limit = lasted_s / left_s, at_most(finding).step
    tried = replace(tried, program=program, if_input_keeps_up=finding.if_input_keeps_up and program > 1)
    if limit is not None and limit < (tried.step or 0.0):
        finding = replace(finding, gain_at_most=None, gain_ci95=None)
    ends = tried.step_ci95
    undecided = ends is not None and ends[0] <= 1 <= ends[1]
    return replace(finding, tried=tried, saves_s=None if undecided else max(0.0, lasted_s - left_s))


def gain_of_step(page: Page, ratio: float, steps: int = 1) -> float:
    """Return the speedup of a step whose call takes `ratio` times as long after a change.

    steps: number of steps in one call after the change. Each step waits for input as before; the Python time
    outside the call occurs once per call, and ops that Python starts outside it take as long as before.
    """
    waits, python = (sum(p.share for p in page.parts if p.name.startswith(name)) for name in OUTSIDE)
    changed = (1 - waits - python) * (1 - _beside(page))
    return 1 / (waits + (1 - waits - changed + changed * ratio) / steps)


def _beside(page: Page) -> float:
    """Return the share of the computing time that individual ops take outside a step's function, according to
    the account; 0 if a step is not a function of the user's own loop.
    """
    spent = {
        kind: sum(row.seconds for row in page.account if row.kind == kind) for kind in ("eager", "graphs")
    }
    if page.steps.kind != "tf.function" or not spent["graphs"]:
        return 0.0
    return spent["eager"] / (spent["eager"] + spent["graphs"])


CLEARLY = 1.05
"""A sentence names both of two figures if the larger one exceeds the other by more than this factor."""
NEGLIGIBLE = 0.05
"""The input may already set the program's pace if waiting for input takes at least this share of a step."""
SAVES_WAITING = frozenset(("input-bound", "python-in-map", "serial-map", "no-prefetch"))
"""Findings whose fix shortens the steps' wait for input."""
OF_INPUT = SAVES_WAITING | {"input-elsewhere"}
"""Findings whose fix shortens a wait for input."""
BETWEEN_PIPELINES = frozenset(("between-steps", "rebuilt", "saving"))
"""Findings about the program's time outside its steps, in which no pipeline runs."""
OUTSIDE = ("waiting for input", "python")
LARGEST = 0.99
"""Maximum share of the time that a fix can save. Some time always remains."""
UNCERTAIN = frozenset(("xla-off", "input-elsewhere", "python-called"))
"""Findings whose advice may not help. On a CPU, XLA's kernels may be slower than TensorFlow's, a pipeline may
need its time even in parallel, and so may ops instead of Python.
"""
OF_THE_PROGRAM = frozenset(("retraced", "xla-recompiles"))
"""Findings whose share refers to the time since the first call, not to a step."""
