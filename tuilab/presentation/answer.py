"""Writes the text of the answer panel."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tuilab.analysis.answer import failures
from tuilab.analysis.bound_words import bound_words
from tuilab.analysis.reading import QUOTIENT_CLAUSE, summary_point
from tuilab.analysis.roofline_words import expectation
from tuilab.lab import roofs
from tuilab.lab.resume import describe_rest, is_interrupted
from tuilab.lab.settings import Settings
from tuilab.lab.state import LabState, overall
from tuilab.model.arms import family
from tuilab.model.claims import Verdict, VerdictWord
from tuilab.model.quantity import plural
from tuilab.model.verdicts import verdict_words
from tuilab.presentation.status import status
from tuilab.workloads import find

SUMMARY = 150
"""Maximum characters of a preset's summary, so that the next steps fit below it."""


@dataclass(frozen=True)
class Said:
    sentence: str
    detail: str = ""
    """Muted text below the answer's sentence."""
    verdict: VerdictWord | None = None
    """The verdict that the preset's mark in the list shows."""
    called: str = ""
    """The verdict in words."""
    undecided: str = ""
    """Why there is no verdict yet."""
    gpu: str = ""
    """The best case on a GPU, or why no GPU is used, in a few words; shown if the answer is cut off before
    its sentence on the GPU.
    """
    aside: str = ""
    """The answer's clause that explains why the quotient of two medians differs from their ratio; "" if the
    quotient is within the ratio's interval.
    """
    hint: str = ""
    """A short form of `aside`, such as `medians: 8.3×`, shown if `aside` does not fit."""


def opening(text: str, most: int = 0) -> str:
    """Return the first sentence of a text, and as many more as fit in `most` characters."""
    sentences = re.split(r"(?<=[.!?]) +", " ".join(text.split()))
    kept = sentences[0]
    for sentence in sentences[1:]:
        if len(kept) + 1 + len(sentence) > most:
            break
        kept += " " + sentence
    return kept


def answer(lab_state: LabState, *, newcomer: bool = False) -> Said:
    """Return the answer of the run on the screen, or what a run would measure, and the next steps.

    newcomer: also explain how to begin.
    """
    state, settings = lab_state.shown, lab_state.settings
    if lab_state.worker.phase == "down" and lab_state.worker.message and not state.rounds:
        return Said(
            lab_state.worker.message,
            detail="{run} starts a fresh worker; the log ({view-log}) shows the last output of the old one.",
        )
    if settings is None:
        return Said(
            "Choose a preset: {presets}, arrows, {presets.open}.",
            detail="Or press {demo}: guess first, then see the measurement.",
        )
    about = opening(settings.preset.summary, SUMMARY) or settings.preset.title
    about = f"{MOVED.format(settings.moved)} {about}" if settings.moved else about
    if not state.run or (lab_state.asked and lab_state.asked != state.run and not state.rounds):
        return Said(
            first_words(lab_state),
            detail=f"{_next(lab_state, newcomer)} {about} {expected(lab_state)}".strip(),
        )
    if state.status == "failed" and not state.rounds:
        return Said(
            f"The run failed: {state.message}",
            detail="The log ({view-log}) has details; {run} tries again.",
        )
    result = lab_state.result()
    if result is None or not result.answer:
        return Said(about, detail=_next(lab_state, newcomer))
    claim = _deciding(result.claims)
    detail = f"{claimant(settings)} {claim.text}" if claim else ""
    if claim and len(result.claims) > 1:
        detail += f" (claim {result.claims.index(claim) + 1} of {len(result.claims)})"
    if state.status == "failed":
        detail = f"The run failed after {state.rounds} rounds: {state.message}"
    elif lab_state.stale:
        detail = "These figures are for other settings; {run} measures the current ones."
    text = result.answer
    if (state.rounds or state.running) and (failed := failures(state, summary_point(state))):
        count = sum(arm.status == "failed" for arm in result.arms)
        short = (
            f"{plural(count, 'arm')} failed ({{answer}})."
            if count
            else "Some arms cannot run here ({answer})."
        )
        text = text.replace(failed, short)
    gpu = "" if state.running else bound_words(state)
    aside, hint = _aside(result.answer)
    if claim is None:
        return Said(text, detail, gpu=gpu, aside=aside, hint=hint)
    undecided = lab_state.undecided
    if undecided:
        return Said(text, detail, undecided=undecided, gpu=gpu, aside=aside, hint=hint)
    words = verdict_words(claim.verdict, claim.emulated, claim.apart)
    alike = sum(each.verdict == claim.verdict for each in result.claims)
    if alike < len(result.claims):  # other claims of the preset have other verdicts
        words += f" ({alike} of {len(result.claims)} claims)"
    return Said(text, detail, claim.verdict, words, gpu=gpu, aside=aside, hint=hint)


def _aside(text: str) -> tuple[str, str]:
    """Return the fields `aside` and `hint` of `Said` for an answer."""
    clause = QUOTIENT_CLAUSE.search(text)
    return (clause[0], f"medians: {clause[1]}") if clause else ("", "")


def _deciding(claims: Sequence[Verdict]) -> Verdict | None:
    """Return the first claim with the verdict that the preset's mark in the list shows."""
    word = overall([claim.verdict for claim in claims]) if claims else None
    return next((claim for claim in claims if claim.verdict == word), None)


MOVED = "Changed: {}. The preset's description:"
"""Introduces a preset's description if the user has changed the preset's values."""


def claimant(settings: Settings) -> str:
    """Return the words that introduce a claim: who makes it, and which settings the user changed."""
    whose = "The document claims" if settings.preset.source else "The preset claims"
    return f"{whose} (but you set {settings.moved}):" if settings.moved else f"{whose}:"


QUESTION = "Why isn't this using my GPU, and would it be faster if it did?"


def first_words(lab_state: LabState) -> str:
    """Return the lab's question, and how measuring the preset helps to answer it."""
    settings, machine = lab_state.settings, lab_state.machine
    assert settings is not None
    kinds = sorted({family(arm.device) for arm in settings.arms_on(machine)})
    where = " and ".join(kinds) or "it"
    if machine is not None and not machine.gpus:
        where = "the CPU (no GPU is visible; {why} explains why)"
    if lab_state.guessing:
        return QUESTION
    if len(kinds) < 2 or (machine is not None and not machine.gpus):
        return f"{QUESTION} {{presets.open}} measures {where} and shows how long a call takes, and why."
    text = "which wins at which size" if settings.preset.sweep else "which wins and by how much"
    return f"{QUESTION} {{presets.open}} times {where} and reports {text}, with its uncertainty."


def expected(lab_state: LabState) -> str:
    """Describe the work of a call with these settings and the hardware limit that it reaches first; "" if
    unknown.
    """
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


def next_steps(lab_state: LabState) -> Sequence[str]:
    """Return at most two next steps with their actions, the more important one first."""
    state, now, settings = lab_state.shown, status(lab_state), lab_state.settings
    if lab_state.guessing and not now.stop:
        return ("guess, or {demo.next} measures",)
    if lab_state.replay:
        if more := describe_continuation(lab_state, brief=True):
            return (more,)
        if lab_state.replay_is_here and state.sweep is not None:
            return ("{sweep} repeats the sweep on this machine",)
        if lab_state.replay_is_here:
            return ("{run} measures these settings on this machine",)
        return ("{stop} ends the replay",)
    if now.stop:
        return ("{stop} stops",)
    if settings is None:
        return ("{presets} lists the presets",)
    if state.status == "failed" or lab_state.worker.phase == "down":
        return ("{run} tries again; the log ({view-log}) has the reason",)
    if not state.run or lab_state.stale:
        return ("{run} measures",)
    steps = []
    result = lab_state.result()
    if now.tone == "doubtful":
        steps.append("{answer} lists the caveats")
        if result is not None and result.confidence is not None and not result.confidence.precise:
            again = "{run}" if state.sweep is None else "{sweep}"
            steps[-1] = f"{{budget}}, then {again} measures longer"
    if more := describe_continuation(lab_state, brief=True):
        steps = [more]
    if state.sweep is not None:
        steps.append("{sweep.measure} on the curve ({view-sweep}) measures a size")
    elif settings.declaration.axis:
        steps.append("{sweep} finds the crossover")
    if lab_state.machine is not None and not lab_state.machine.gpus:
        steps.append("{why} explains why no GPU is visible")
    steps.append("{document} shows the document's claim" if settings.preset.source else "{export} exports it")
    return steps[:2]


def describe_continuation(lab_state: LabState, brief: bool = False) -> str:
    """Return what continuing the run would achieve, such as `{run} continues: ± 2% in about 1 min`; "" if
    the run cannot be continued.
    """
    more, machine = lab_state.further(), lab_state.machine
    if more is None or machine is None:
        return ""
    if is_interrupted(lab_state.shown):
        if not more.points:
            return "{run} continues this run"
        begun = lab_state.shown.sampled_points
        rough = sum(point.index in begun for point in more.points)
        left = [f"the {plural(len(more.points) - rough, 'size')} left"] if rough < len(more.points) else []
        left += [f"{rough} imprecise {'size' if rough == 1 else 'sizes'}"] if rough else []
        return f"{{run}} measures {' and '.join(left)}"
    return describe_rest(lab_state.shown, more, machine, "{run} continues", lab_state.import_s, brief)


def _next(lab_state: LabState, newcomer: bool) -> str:
    now = status(lab_state)
    if lab_state.guessing and now.tone != "busy":
        return "Guess first, then see the measurement."
    if newcomer and not lab_state.running:
        return (
            "First time here? {run} measures; {demo} plays a guided demo; "
            "{help} explains the screen; {quit} quits."
        )
    if now.tone == "busy":
        return f"{now.text}" + ("; {stop} stops." if now.stop else ".")
    return "{run} measures this preset; {sweep} looks for the crossover."
