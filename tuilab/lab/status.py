"""What the lab is doing, in a few words, with how long and how to stop it. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tuilab.analysis.words import percent, plural
from tuilab.lab.state import LabState
from tuilab.model.events import Progress
from tuilab.model.machine import Machine
from tuilab.model.quantity import count
from tuilab.model.run import RunState

Tone = Literal["quiet", "busy", "good", "doubtful", "bad"]


@dataclass(frozen=True)
class Status:
    """What the lab is doing."""

    tone: Tone
    """How it is to be taken."""
    text: str
    """The state in a few words."""
    stop: str = ""
    """The key that ends it, "" where there is nothing to end."""
    share: float | None = None
    """How much of it is done, 0 … 1; null where that is not known."""


def status(lab_state: LabState) -> Status:
    """The state of worker and run, the more pressing first."""
    now = lab_state.clock()
    worker, state = lab_state.worker, lab_state.shown
    if lab_state.replay:
        said = f"{lab_state.replay}, {plural(state.rounds, 'round')}"
        return Status("busy", said, "x") if state.running else Status("quiet", said)
    if lab_state.wanted is not None or (lab_state.asked and lab_state.asked != state.run):
        if worker.phase == "starting":
            return Status("busy", f"{worker.stage}… {now - worker.since:.0f} s, then runs", "x")
        return Status("busy", f"waiting for the worker… {now - lab_state.asked_at:.0f} s", "x")
    if state.running:
        return Status("busy", run_stage(state, lab_state.held_s), "x", share_done(state))
    if worker.phase == "down":
        return Status("bad", worker.message or "the worker has exited")
    if worker.phase == "starting":
        return Status("busy", f"{worker.stage}… {now - worker.since:.0f} s")
    if state.status == "failed":
        return Status("bad", "the run failed")
    if lab_state.stale:
        return Status("quiet", "settings changed, r measures")
    if state.status == "cancelled":
        return Status("quiet", f"stopped after {plural(state.rounds, 'round')}")
    if state.status == "ok" and not state.rounds:
        return Status("bad", "no arm could be measured")
    if state.status == "ok":
        result = lab_state.result()
        sure = result.confidence if result else None
        done = f"done, {plural(state.rounds, 'round')}" + (
            f" of {state.workers} processes" if state.workers > 1 else ""
        )
        if sure is not None and sure.badge:
            return Status("doubtful", f"{done} · {sure.badge}")
        reached = sure.half_width if sure is not None else None
        return Status("good", done if reached is None else f"{done} · ± {percent(reached)}")
    return Status("quiet", "ready, r measures")


def run_stage(state: RunState, held_s: float = 0.0) -> str:
    """What the run is at: its stage and how far it is. held_s: how long already, 0 not to say it."""
    progress, budget = state.progress, state.budget
    if state.rounds and progress is None:
        limit = f" of {budget.limit_s:.0f}" if budget else ""
        points = f", {len(state.points)} sizes" if state.sweep else ""
        said = f"round {state.rounds:,}{points} · {state.elapsed_s:.0f}{limit} s"
        return f"{said} · round {state.rounds + 1:,}: {held_s:.0f} s so far" if held_s else said
    said = progress_text(progress, state) if progress else "preparing"
    if not held_s:
        return said
    # Beside the seconds of a measurement: those are of all its blocks, these of the one that goes on.
    block = "block " if progress and progress.unit == "s" and progress.total else ""
    return f"{said} · {block}{held_s:.0f} s"


def why_empty(lab_state: LabState) -> str:
    """Why there is nothing to draw yet, in a sentence."""
    state = lab_state.shown
    if state.run and state.running:
        return f"{run_stage(state)}… x stops."
    if lab_state.running:
        now = status(lab_state)
        return f"{now.text}. x stops."
    if state.run and state.status == "failed":
        return f"The run failed: {state.message}"
    if state.run and state.status == "cancelled":
        return "The run was stopped before its first sample. r measures again."
    if state.run and state.status == "ok" and not state.rounds:
        return "No arm of this run could be measured; the answer says why, the log (9) has the details."
    if lab_state.settings is None:
        return "Nothing is open. p shows the presets."
    return "Nothing is measured yet. r measures; s looks for the crossover."


def why_no_phases(lab_state: LabState) -> str:
    """Why there are no phases to draw, in a sentence."""
    state, result = lab_state.shown, lab_state.result()
    if result is None or not lab_state.drawn:
        return why_empty(lab_state)
    if state.running:
        return "The phases are measured after the rounds, so as not to disturb them."
    refused = next((arm.phases_note for arm in result.arms if arm.phases_note), "")
    if refused:
        return f"Phases were measured, but are {refused}."
    if state.status == "cancelled":
        return "The run was stopped before its phases were measured. r measures again."
    return "No phases were measured in this run; r measures with them."


def share_done(state: RunState) -> float | None:
    """How much of the stage that the run is at is done; null where that is not known."""
    progress, limit = state.progress, state.budget.limit_s if state.budget else 0.0
    done, total = (progress.done, progress.total) if progress else (state.elapsed_s, limit)
    return min(1.0, done / total) if total and (progress or state.rounds) else None


def progress_text(progress: Progress, state: RunState) -> str:
    """`warming up, 0.4 of 1.0 s · CPU graph`."""
    text = progress.stage
    if progress.total:
        if progress.unit == "s":
            text += f", {progress.done:.1f} of {progress.total:.1f} s"
        elif progress.unit in ("", "share"):
            text += f", {100 * progress.done / progress.total:.0f} %"
        else:
            text += f", {count(progress.done)} of {count(progress.total)} {progress.unit}"
    arm = state.arms.get(progress.arm)
    return f"{text} · {arm.label}" if arm else text


def machine_words(machine: Machine | None) -> Sequence[str]:
    """GPUs, host, processor and TensorFlow, each in a few words; what has no room goes from the end."""
    if machine is None:
        return ()
    gpus = [short_gpu(d.description or d.name) for d in machine.gpus]
    gpu = f"{len(gpus)} × {gpus[0]}" if len(gpus) > 1 and len(set(gpus)) == 1 else ", ".join(gpus)
    return (
        gpu or "no GPU",
        f"host {machine.host}",
        f"{short_cpu(machine.cpu)} {plural(machine.cores, 'core')}",
        "TF " + ".".join(machine.tensorflow.split(".")[:2]),
    )


def short_cpu(name: str) -> str:
    """`Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz` → `Intel Xeon Platinum 8481C`."""
    name = re.sub(r"\((R|TM|tm|r)\)|\bCPU\b|\bProcessor\b|\b\d+-Core\b|@.*$", " ", name)
    return " ".join(name.split())[:28].strip()


def short_gpu(description: str) -> str:
    """`NVIDIA H200 141GB HBM3e` → `NVIDIA H200`."""
    match = re.search(r"name: ([^,]+)", description)
    words = (match[1] if match else description).split()
    return " ".join(words[:3])
