"""Which arms of a run a claim speaks of, and why there may be none."""

from tuilab.analysis.reading import (
    arm_status,
    device_of,
    elsewhere,
    has_gpu,
    measured,
    no_gpu_sentence,
    summary_point,
)
from tuilab.analysis.words import listed
from tuilab.model.arms import ArmPattern, family
from tuilab.model.claims import VerdictWord
from tuilab.model.run import ArmState, RunState
from tuilab.model.sanitize import sanitize_line

Finding = tuple[VerdictWord, str]
"""A verdict and its evidence."""


def matching(state: RunState, pattern: ArmPattern) -> list[ArmState]:
    """The arms that the pattern names, whatever became of them."""
    return [arm for arm in state.arms.values() if pattern.matches(arm.arm)]


def timed(state: RunState, pattern: ArmPattern, point: int) -> list[ArmState]:
    """Those measured at a point, fastest first; none that computed on another device than the pattern's."""
    found = [arm for arm in measured(state, point) if pattern.matches(arm.arm)]
    return [arm for arm in found if not (pattern.device and elsewhere(arm, point))]


def reason(text: str) -> str:
    """A reason from outside as part of a sentence."""
    return sanitize_line(text, 160).strip().rstrip(".")


def missing(state: RunState, pattern: ArmPattern) -> Finding:
    """Why none of the pattern's arms gave a figure: cannot here (untestable), or did not (undecided)."""
    arms, point = matching(state, pattern), summary_point(state)
    wants_gpu = family(pattern.device) == "GPU" or (bool(arms) and all(_gpu(arm) for arm in arms))
    if wants_gpu and not has_gpu(state):
        return "untestable", no_gpu_sentence(state)
    if not arms:
        return "untestable", f"The run has no arm that is {pattern}."
    moved = [arm for arm in arms if arm in measured(state, point) and elsewhere(arm, point)]
    if moved:
        return (
            "untestable",
            f"{moved[0].label} computed on {device_of(moved[0], point)}, not on {pattern.device}.",
        )
    stopped = [(arm, *arm_status(state, arm, point)) for arm in arms]
    words = {"failed": "failed", "unavailable": "cannot run here"}
    told = [(arm.label, words[status], why) for arm, status, why in stopped if status in words]
    if len(told) < len(arms):
        return "undecided", f"{listed([arm.label for arm in arms][:3])} was not measured."
    label, verb, why = told[0]
    others = f" (and {len(told) - 1} more arms)" if len(told) > 1 else ""
    return "untestable", f"{label}{others} {verb}{': ' + reason(why) if why else ''}."


def _gpu(arm: ArmState) -> bool:
    return family(arm.arm.device) == "GPU"
