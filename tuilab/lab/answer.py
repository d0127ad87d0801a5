"""What the answer panel says when there is no answer yet, and when there is. Pure."""

import re
from dataclasses import dataclass

from tuilab.analysis.roofline import expectation
from tuilab.lab import roofs
from tuilab.lab.state import LabState
from tuilab.lab.status import status
from tuilab.model.arms import family
from tuilab.model.claims import VerdictWord
from tuilab.workloads import find

SUMMARY = 150
"""Characters of a preset's summary that leave room for what to do next."""


@dataclass(frozen=True)
class Said:
    """What the answer panel says."""

    sentence: str
    """The answer."""
    verdict: VerdictWord | None = None
    """Of the preset's first claim."""
    detail: str = ""
    """Stands under it, muted."""


def opening(text: str, most: int = 0) -> str:
    """The first sentence of a text, and those after it as long as all of them have `most` characters."""
    sentences = re.split(r"(?<=[.!?]) +", " ".join(text.split()))
    kept = sentences[0]
    for sentence in sentences[1:]:
        if len(kept) + 1 + len(sentence) > most:
            break
        kept += " " + sentence
    return kept


def answer(lab_state: LabState) -> Said:
    """The answer of the run on the screen; before one, what would be measured; and always what to do next."""
    state, settings = lab_state.shown, lab_state.settings
    if lab_state.worker.phase == "down" and lab_state.worker.message and not state.rounds:
        return Said(
            lab_state.worker.message, detail="r starts a fresh worker; the log (9) has its last output."
        )
    if settings is None:
        return Said(
            "Choose a preset: p, arrows, enter.", detail="Or press D: guess first, then see it measured."
        )
    about = opening(settings.preset.summary, SUMMARY) or settings.preset.title
    if not state.run or (lab_state.asked and lab_state.asked != state.run and not state.rounds):
        return Said(
            first_words(lab_state), detail=f"{_next(lab_state)} {about} {expected(lab_state)}".strip()
        )
    if state.status == "failed" and not state.rounds:
        return Said(f"The run failed: {state.message}", detail="The log (9) has the details; r tries again.")
    result = lab_state.result()
    if result is None or not result.answer:
        return Said(about, detail=_next(lab_state))
    claim = result.claims[0] if result.claims else None
    detail = claim.text if claim else ""
    if state.status == "failed":
        detail = f"The run failed after {state.rounds} rounds: {state.message}"
    elif lab_state.stale:
        detail = "These figures are for other settings; r measures the current ones."
    return Said(result.answer, claim.verdict if claim else None, detail)


QUESTION = "Why isn't this using my GPU, and would it be faster if it did?"


def first_words(lab_state: LabState) -> str:
    """The lab's question, and in a sentence what enter does to answer it for the preset that is open."""
    settings, machine = lab_state.settings, lab_state.machine
    assert settings is not None
    kinds = sorted({family(arm.device) for arm in settings.arms_on(machine)})
    where = " and ".join(kinds) or "it"
    if machine is not None and not machine.gpus:
        where = "the CPU (no GPU is visible; g says why)"
    told = "from which size on which wins" if settings.preset.sweep else "which wins, by how much"
    return f"{QUESTION} Enter times {where} and says {told}, how surely."


def expected(lab_state: LabState) -> str:
    """What a call of the present settings has to do, and which roof will bind it; "" where nobody knows."""
    settings, machine = lab_state.settings, lab_state.machine
    if settings is None or settings.file:
        return ""
    workload = find(settings.preset.workload)
    arms = settings.arms_on(machine)
    arm = min(arms, key=lambda a: (family(a.device) != "CPU", a.mode != "graph"), default=None)
    if workload.work is None or arm is None:
        return ""
    return expectation(
        workload.work(settings.scenario.parameters, arm), roofs.of(machine) if machine else None
    )


def next_steps(lab_state: LabState) -> str:
    """What a person would do next, each with its key: at most two things."""
    state, now, settings = lab_state.shown, status(lab_state), lab_state.settings
    if lab_state.replay:
        return "r measures these settings on this machine"
    if now.stop:
        return f"{now.stop} stops"
    if settings is None:
        return "p lists the presets"
    if state.status == "failed" or lab_state.worker.phase == "down":
        return "r tries again, the log (9) says why"
    if not state.run or lab_state.stale:
        return "r measures"
    steps = []
    result = lab_state.result()
    if now.tone == "doubtful":
        steps.append("A says what to doubt")
        if result is not None and result.confidence is not None and not result.confidence.precise:
            steps[-1] = "b, then r measures longer"
    if state.sweep is not None:
        steps.append("on the curve, enter measures a size")
    elif settings.declaration.axis:
        steps.append("s finds the size where it turns")
    if lab_state.machine is not None and not lab_state.machine.gpus:
        steps.append("g says why no GPU is visible")
    steps.append("d compares it with the document" if settings.preset.source else "e exports it")
    return ", ".join(steps[:2])


def _next(lab_state: LabState) -> str:
    now = status(lab_state)
    if lab_state.newcomer and not lab_state.running:
        return "First time here? enter measures; D plays a guided demo; ? explains the screen; q quits."
    if now.tone == "busy":
        return f"{now.text}" + (f"; {now.stop} stops" if now.stop else "")
    return "r measures it, s looks for the crossover."
