"""Describes in a few words what the lab is doing, for how long, and how to stop it."""

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import mul
from statistics import median
from typing import Literal

from tuilab.analysis.roofline import arm_floor
from tuilab.analysis.words import percent
from tuilab.lab.state import LabState, sizes_begun, sizes_to_measure
from tuilab.model.events import Progress
from tuilab.model.machine import Machine
from tuilab.model.quantity import count, plural, rough
from tuilab.model.run import ArmSamples, ArmState, RunState
from tuilab.model.verdicts import EMULATED
from tuilab.presentation.view_options import ViewOptions

Tone = Literal["quiet", "busy", "good", "doubtful", "bad"]


@dataclass(frozen=True)
class Status:
    tone: Tone
    """How urgent the state is. Screens show each tone in its own color."""
    text: str
    stop: bool = False
    """Whether the user can stop the activity."""
    share: float | None = None
    """The finished share, from 0 to 1; None if unknown."""
    short: str = ""
    """The main part of the text, for narrow screens; "" if the text cannot be shortened."""
    alarm: str = ""
    """Where to find the data of a run that could not be saved; shown in red before the text."""
    badge: str = ""
    """The number of runs in the background, or the name of a run that has finished there."""


def status(lab_state: LabState) -> Status:
    """Return the state of the worker or of the run, whichever is more urgent, and whether every run is
    saved.
    """
    now = replace(_activity(lab_state), alarm=lab_state.unkept, badge=background(lab_state))
    machine = lab_state.shown.machine if lab_state.replay else lab_state.machine
    if machine is None or not machine.emulated or "emulated GPU" in now.short:
        return now
    return replace(now, text=f"{EMULATED} {now.text}", short=f"{EMULATED} {now.short}" if now.short else "")


def background(lab_state: LabState) -> str:
    """Return how many runs continue in the background, or which background run has finished; "" if there are
    no such runs.
    """
    if many := len(lab_state.background):
        return f"{plural(many, 'run')} in the background"
    name = lab_state.from_background
    return f"{name} finished in the background" if name else ""


def _activity(lab_state: LabState) -> Status:
    now = lab_state.clock()
    worker, state = lab_state.worker, lab_state.shown
    if lab_state.replay:
        rounds = plural(state.rounds, "round")
        text, short = f"{lab_state.replay}, {rounds}", f"replay, {rounds}"
        tone: Tone = "busy" if state.running else "quiet"
        return Status(tone, text, stop=state.running, short=short)
    if lab_state.wanted is not None or (lab_state.asked and not state.running):
        if lab_state.asked == state.run and state.progress is not None:  # a resumed run
            return Status("busy", run_stage(state, lab_state.held_s), stop=True)
        if worker.phase == "starting":
            return Status(
                "busy", f"{worker.stage}… {now - worker.since:.0f} s, then the run starts", stop=True
            )
        return Status("busy", f"waiting for the worker… {now - lab_state.asked_at:.0f} s", stop=True)
    if state.running:
        text = run_stage(state, lab_state.held_s)
        short, *_ = text.split(" · ")
        began = max(lab_state.asked_at, lab_state.sized.since)
        if left := time_left(state, began - lab_state.asked_at, now - began):
            text, short = f"{text} · {left}", f"{short} · {left}"
        return Status("busy", text, True, share_done(state), short)
    if worker.phase == "down":
        return Status("bad", worker.message or "the worker has exited")
    if worker.phase == "starting":
        return Status("busy", f"{worker.stage}… {now - worker.since:.0f} s")
    if state.status == "failed":
        return Status("bad", "the run failed")
    if lab_state.guessing and not state.run:
        return Status("quiet", "ready")
    if lab_state.stale:
        return Status("quiet", "settings changed, {run} measures")
    if state.status == "cancelled":
        return Status("quiet", f"stopped after {plural(state.rounds, 'round')}")
    if state.status == "ok" and not state.rounds:
        return Status("bad", "nothing could be measured")
    if state.status == "ok":
        result = lab_state.result()
        sure = result.confidence if result else None
        done = f"done, {plural(state.rounds, 'round')}" + (
            f" of {state.workers} processes" if state.workers > 1 else ""
        )
        if sure is not None and sure.badge:
            return Status("doubtful", f"{done} · {sure.badge}", short=f"done, {sure.badge}")
        if sure is None or sure.half_width is None:
            return Status("good", done)
        reached = f"± {percent(sure.half_width)}"
        return Status("good", f"{done} · {reached}", short=f"done, {reached}")
    return Status("quiet", "ready, {run} measures")


def run_stage(state: RunState, held_s: float = 0.0) -> str:
    """Describe the stage of the run and its progress. held_s: seconds of this stage to show; 0 to show
    none.
    """
    progress, budget = state.progress, state.budget
    sizes = ""
    if state.sweep and state.points:
        sizes = f"size {sizes_begun(state)} of {len(sizes_to_measure(state))} · "
    if 1 < state.workers <= most_processes(state) and not sizes:
        # Show the number of a further process instead of its rounds: it is short-lived, so its rounds
        # say little about the progress of the whole run.
        return f"process {state.workers} of {most_processes(state)}" + (
            f" · {held_s:.0f} s" if held_s else ""
        )
    if state.rounds and progress is None:
        # A sweep's seconds cover all its sizes, not only the current one.
        limit = f" · {state.elapsed_s:.0f} of {budget.limit_s:.0f} s" if budget and not sizes else ""
        text = f"{sizes}round {state.rounds:,}{limit}"
        return f"{text} · round {state.rounds + 1:,}: {held_s:.0f} s so far" if held_s else text
    text = sizes + (progress_text(progress, state) if progress else "preparing")
    if not held_s:
        return text
    # The seconds of this stage cover all its blocks, so also show the seconds of the current block.
    block = "block " if progress and progress.unit == "s" and progress.total else ""
    return f"{text} · {block}{held_s:.0f} s"


def under_way(lab_state: LabState) -> str:
    """Describe a run in several processes that is in progress, so that the user does not start it again;
    "" if there is none.
    """
    if not lab_state.in_processes:
        return ""
    return f"Already measuring: {status(lab_state).text}. {{stop}} stops the run and keeps its data."


def why_empty(lab_state: LabState) -> str:
    state = lab_state.shown
    if state.run and state.running:
        return f"{run_stage(state)}… {{stop}} stops."
    if lab_state.running:
        now = status(lab_state)
        return f"{now.text}. {{stop}} stops."
    if state.run and state.status == "failed":
        return f"The run failed: {state.message}"
    if state.run and state.status == "cancelled":
        return "The run was stopped before its first sample. {run} measures again."
    if state.run and state.status == "ok" and not state.rounds:
        return "Nothing could be measured; the answer gives the reason, the log ({view-log}) has details."
    if lab_state.guessing:
        return "Nothing has been measured yet. Guess, or press {demo.next} to measure."
    if lab_state.settings is None:
        return "No preset is open. {presets} shows the presets."
    return "Nothing has been measured yet. {run} measures; {sweep} looks for the crossover."


def why_no_phases(lab_state: LabState, viewing: ViewOptions) -> str:
    state, result = lab_state.shown, lab_state.result()
    if result is None or not viewing.drawn_arms(state):
        return why_empty(lab_state)
    if state.running:
        return "The phases are measured after the rounds, to avoid disturbing them."
    if state.status == "cancelled":
        return "The run was stopped before its phases were measured. {run} measures again."
    return "No phases were measured in this run; {run} measures again, with phases."


def most_processes(state: RunState) -> int:
    """Return the maximum number of processes of a run.

    The maximum is larger on a machine without a GPU, because processes can be forked there. A resumed
    run may exceed the maximum, because resuming the run starts another process.
    """
    if state.budget is None or state.machine is None:
        return 0
    return max(state.budget.workers, 0 if state.machine.gpus else state.budget.forks)


def time_left(state: RunState, passed_s: float, on_this_s: float = 0.0) -> str:
    """Estimate the remaining time of a sweep; "" before its first size is complete.

    After one size, the estimate is a minimum, because the growth of the time is unknown. A search for the
    crossover may add sizes. passed_s: seconds from the request to the start of the current size.
    on_this_s: seconds since that start.
    """
    sizes, done = sizes_to_measure(state), sizes_begun(state) - 1
    if state.sweep is None or not done or done >= len(sizes):
        return ""
    measured, left = sizes[:done], sizes[done:]
    calling = [_calling_s(state, arm, left) for arm in state.arms.values()]
    each = [math.fsum(of_size) for of_size in zip(*calling, strict=True)]
    if len(set(_measured_sizes(state, left))) < 2:
        each = [max(passed_s, least) for least in each]
        return f"at least {rough(_from_now(each, on_this_s))} left"
    # Assume that the time outside the counted calls, such as for building and profiling arms, is
    # proportional to the time of the calls in the current process.
    cells = [cell for arm in state.arms.values() for index, cell in arm.cells.items() if index in measured]
    spent = sum(_spent_s(cell, state.process_began) for cell in cells)
    each = [passed_s * calling / spent for calling in each] if spent else []
    return f"about {rough(_from_now(each, on_this_s))} left" if each else ""


def _measured_sizes(state: RunState, left: Sequence[int]) -> list[int]:
    """Return the index of each measured size, once for each arm that was measured there.

    Includes the sizes that must be measured again because an earlier process measured them too imprecisely.
    """
    return [i for arm in state.arms.values() for i in _known_of(state, arm, left)]


def _known_of(state: RunState, arm: ArmState, left: Sequence[int]) -> list[int]:
    known = [
        i
        for i, cell in arm.cells.items()
        if cell.samples and (i not in left or cell.rounds[0] < state.process_began) and _extent(state, i) > 0
    ]
    return sorted(known, key=lambda i: _extent(state, i))


def _from_now(each: Sequence[float], on_this_s: float) -> float:
    """Return the remaining seconds of a sweep.

    each: estimated seconds of each unfinished size; the first of these sizes has been in progress for
    `on_this_s` seconds.
    """
    return max(0.0, each[0] - on_this_s) + math.fsum(each[1:])


def _spent_s(cell: ArmSamples, since: int = 0) -> float:
    """Return the seconds that an arm's calls at one size have taken. since: the first round to count."""
    first = bisect_left(cell.rounds, since)
    if since and first == len(cell.samples):
        return 0.0
    timed: float = sum(map(mul, cell.samples[first:], cell.calls[first:]))
    return (0.0 if first else cell.first_s or 0.0) + cell.warm_s + timed


MOST_POWER = 3.0
"""Maximum exponent for the growth of a call's time with a size. The time of a matrix product, for example,
grows with the third power of the matrices' side.
"""
FEWEST_CALLS = 5
"""Number of calls that every arm makes, even if they exceed the budget: the first two, one to observe the
placement, one in a round, and one for the phases.
"""


def _calling_s(state: RunState, arm: ArmState, left: Sequence[int]) -> list[float]:
    """Estimate the seconds that an arm's calls will take at each remaining size.

    A size that must be measured again takes as long as in the earlier process. At other sizes, the time of
    one call grows as a power of the size. The exponent comes from the two largest measured sizes, and is at
    most the exponent of the counted work. The time of a call is never below the minimum time for this work.
    If the work is unknown and a single call fills a block, the time grows at least linearly.

    The total of all calls stays the same as long as one call is shorter than the last block. Longer calls
    increase the total in proportion, until the budget allows only FEWEST_CALLS calls.
    """
    most, least = _estimate_growth(state, arm, left)
    known = _known_of(state, arm, left)
    if not known:
        return [FEWEST_CALLS * each for each in least]
    last, size_then = arm.cells[known[-1]], _extent(state, known[-1])
    took, block = float(median(last.samples)), float(median(map(mul, last.samples, last.calls)))
    power = 0.0 if max(last.calls) > 1 or len(known) < 2 or any(least) else 1.0
    if len(known) > 1:
        power = max(power, min(most, _power(state, known, [median(arm.cells[i].samples) for i in known])))
    spent, out = _spent_s(last), []
    enough = max(spent, state.budget.limit_s / len(state.arms)) if state.budget else math.inf
    for index, at_least in zip(left, least, strict=True):
        if index in known:
            out.append(_spent_s(arm.cells[index]))
            continue
        call = max(took * (_extent(state, index) / size_then) ** power, at_least)
        out.append(min(spent * max(1.0, call / block), enough + FEWEST_CALLS * call))
    return out


def _estimate_growth(state: RunState, arm: ArmState, left: Sequence[int]) -> tuple[float, list[float]]:
    """Return the exponent with which the work of a call grows, and the minimum seconds of a call at each
    remaining size.

    The exponent comes from the two largest sizes with known work; it is MOST_POWER if the work is unknown.
    The work at the current size is known before any call. The minimum follows from the machine's roofs.
    """
    there = [i for i in arm.work if i not in left[1:] and _extent(state, i) > 0]
    known = sorted(there, key=lambda i: _extent(state, i))
    least = arm_floor(state, arm, known[-1]) if known else None
    flop = [arm.work[i].flop or 0.0 for i in known]
    if least is None or len(known) < 2 or min(flop[-2:]) <= 0:
        return MOST_POWER, [0.0] * len(left)
    power, size_then = _power(state, known, flop), _extent(state, known[-1])
    return power, [least.arithmetic_s * (_extent(state, index) / size_then) ** power for index in left]


def _power(state: RunState, at: Sequence[int], values: Sequence[float]) -> float:
    """Return the exponent with which `values` grow between the last two sizes, from 0 to MOST_POWER."""
    before, after = (_extent(state, index) for index in at[-2:])
    if not 0 < before < after:
        return 0.0
    grown = math.log(values[-1] / values[-2]) / math.log(after / before)
    return min(MOST_POWER, max(0.0, grown))


def _extent(state: RunState, index: int) -> float:
    """Return the product of the sizes at a point; 0 if the run lacks the point."""
    if index >= len(state.points):  # the run has not announced this size yet
        return 0.0
    return math.prod(float(v) for v in state.points[index].values.values() if isinstance(v, int | float))


def share_done(state: RunState) -> float | None:
    """Return the finished share of the stage or, in a sweep, of the sizes (0 to 1); None if unknown."""
    if state.sweep is not None and state.points:
        return (sizes_begun(state) - 1) / len(sizes_to_measure(state))
    if 1 < state.workers <= most_processes(state):
        return (state.workers - 1) / most_processes(state)
    progress, limit = state.progress, state.budget.limit_s if state.budget else 0.0
    done, total = (progress.done, progress.total) if progress else (state.elapsed_s, limit)
    return min(1.0, done / total) if total and (progress or state.rounds) else None


def progress_text(progress: Progress, state: RunState) -> str:
    """Return progress such as `warming up, 0.4 of 1.0 s · CPU graph`."""
    text = progress.stage
    if progress.total:
        if progress.unit == "s":
            text += f", {min(progress.done, progress.total):.1f} of {progress.total:.1f} s"
        elif progress.unit in ("", "share"):
            text += f", {100 * progress.done / progress.total:.0f}%"
        else:
            text += f", {count(progress.done)} of {count(progress.total)} {progress.unit}"
    arm = state.arms.get(progress.arm)
    return f"{text} · {arm.label}" if arm else text


def machine_words(machine: Machine | None) -> Sequence[str]:
    """Return short descriptions of GPUs, host, processor and TensorFlow, least important last."""
    if machine is None:
        return ()
    gpus = [short_gpu(name) for name in machine.gpu_names]
    gpu = f"{len(gpus)} × {gpus[0]}" if len(gpus) > 1 and len(set(gpus)) == 1 else ", ".join(gpus)
    return (
        gpu or "no GPU",
        f"host {machine.host}",
        f"{short_cpu(machine.cpu)} {plural(machine.cores, 'core')}",
        "TF " + ".".join(machine.tensorflow.split(".")[:2]),
    )


def short_cpu(name: str) -> str:
    """Shorten a processor's name: `Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz` →
    `Intel Xeon Platinum 8481C`.
    """
    name = re.sub(r"\((R|TM|tm|r)\)|\bCPU\b|\bProcessor\b|\b\d+-Core\b|@.*$", " ", name)
    return " ".join(name.split())[:28].strip()


def short_gpu(description: str) -> str:
    """Return the GPU's name from its description: `device: 0, name: NVIDIA H200, …` → `NVIDIA H200`."""
    match = re.search(r"name: ([^,]+)", description)
    words = (match[1] if match else description).split()
    return " ".join(words[:3])
