"""Tries a finding's advice on a captured step of the program: measures the step with and without the
change.
"""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tuilab import guest
from tuilab.analysis.words import percent
from tuilab.model.program import Bottleneck, Code, Page, Tried
from tuilab.model.quantity import plural
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import STEPS_AT_ONCE
from tuilab.program.gains import gain_of_step


@dataclass(frozen=True)
class Change:
    """A change to a captured step.

    name: name of the change in `tuilab.worker.changed_step`. agrees: largest relative difference of the
    results that counts as rounding. steps: number of training steps in one call of the changed step.
    """

    name: str
    agrees: float
    how: str
    steps: int = 1


CHANGES: dict[Code, Change] = {
    "xla-off": Change("xla", 1e-3, "the step under XLA"),
    "launch-bound": Change("xla", 1e-3, "the step under XLA"),
    "eager-step": Change("graph", 1e-3, "the step as a graph, compared with the original"),
    "float64": Change("float32", 1e-3, "the step in float32"),
    "mixed-precision": Change("mixed", 3e-2, "the step under TensorFlow's automatic mixed precision"),
    "small-batches": Change("many", 1e-3, f"{STEPS_AT_ONCE} steps in each call", STEPS_AT_ONCE),
}
WRITTEN = ("float32", "mixed", "many")
"""Changes for which `changed_step` writes a changed copy of the step to another folder."""


class _Arm(msgspec.Struct):
    mode: str
    status: str
    reason: str = ""
    median_s: float | None = None
    ci95_s: tuple[float, float] | None = None
    n: int = 0
    first_call_s: float | None = None


class _Confidence(msgspec.Struct):
    reasons: tuple[str, ...] = ()


class _Run(msgspec.Struct):
    arms: list[_Arm]
    confidence: _Confidence | None = None


class TrialError(Exception):
    """The step could not be measured, with or without the change. The message gives the reason."""


def can_try(finding: Bottleneck) -> bool:
    return finding.code in CHANGES


def refusal(finding: Bottleneck, page: Page) -> str:
    """Explain why the change cannot be applied to the program in its present form; "" if it can.

    Tracing an eager step is refused, because this would run its Python code again, with all side effects.
    """
    if finding.first and (not finding.preset or finding.code == "eager-step"):
        return finding.first[0]
    if finding.code == "eager-step" and page.steps.kind not in ("eager", "keras"):
        return "these ops run outside the step: move them into its function"
    return ""


async def attempt(folder: str, finding: Bottleneck, page: Page, python: str = "") -> Tried:
    """Measure a captured step with and without the finding's change. Cancelling this coroutine ends its
    processes.

    python: the Python interpreter for measuring; "" for the lab's own.
    """
    devices = [part.name.removeprefix("compute on ") for part in page.parts if "compute on" in part.name]
    words = ["--device", "GPU" if devices and devices[0].startswith("GPU") else "CPU"]
    words += ["--python", python] if python else []
    try:
        return await _changed(folder, words, finding, page)
    except TrialError as error:
        return Tried(said=f"could not be measured: {error}")


async def _changed(folder: str, words: list[str], finding: Bottleneck, page: Page) -> Tried:
    change = CHANGES[finding.code]
    with tempfile.TemporaryDirectory(prefix="tuilab-trial-") as scratch:
        out = [str(Path(scratch) / Path(folder).name)] if change.name in WRITTEN else []
        compared = json.loads(
            await _output(guest.command("tuilab.worker.changed_step", folder, change.name, *out))
        )
        if compared["problem"]:
            raise TrialError(f"{change.how} fails: {sanitize_line(compared['problem'], 200)}")
        if change.name == "mixed" and compared["apart"] == 0:
            raise TrialError(
                f"{change.how} changes nothing: TensorFlow runs none of the step's ops in lower precision "
                "here"
            )
        how = f"{change.how}; {_agreement(compared['apart'], change.agrees)}"
        if change.name == "xla":
            run = await _run(folder, words)
            usual, changed = _of(run.arms, "graph"), _of(run.arms, "xla")
            tried = _doubted(_tried(usual, changed, 1, page, how), run)
            if usual.first_call_s is None or changed.first_call_s is None:
                return tried
            compile_s = max(0.0, changed.first_call_s - usual.first_call_s)
            return msgspec.structs.replace(tried, compile_s=compile_s)
        words = [*words, "--mode", "graph"]
        runs = [await _run(each, words) for each in (folder, *out)]
        arms = [_of(run.arms, "graph") for run in runs]
        if len(arms) == 1:
            return _doubted(_against_program(arms[0], page, how), *runs)
        return _doubted(_tried(arms[0], arms[1], change.steps, page, how), *runs)


def _doubted(tried: Tried, *runs: _Run) -> Tried:
    """Return the trial with the reasons to doubt its runs, such as `busy host`."""
    reasons = dict.fromkeys(why for run in runs if run.confidence for why in run.confidence.reasons)
    return msgspec.structs.replace(tried, doubts=tuple(reasons))


def _agreement(apart: float | None, agrees: float) -> str:
    if apart is None:
        return "the step draws random numbers, so its results cannot be compared"
    if apart > agrees:
        return f"the results differ by up to {percent(apart)}: check them before you use the change"
    return f"the results agree to within {apart:.0e}" if apart else "the results are the same"


def _against_program(graph: _Arm, page: Page, how: str) -> Tried:
    """Compare the program's own eager steps with the step as a graph. Assumes that the wait for input and the
    sleeps between the ops do not change.
    """
    assert graph.median_s
    steps, waits = page.steps, sum(p.share for p in page.parts if p.name == "waiting for input")
    if not steps.median_s:
        raise TrialError("the program's own step has not been timed yet")
    left = min(1.0, waits + steps.asleep) * steps.median_s
    ends = None
    if graph.ci95_s and steps.ci95_s:
        ends = steps.ci95_s[0] / (graph.ci95_s[1] + left), steps.ci95_s[1] / (graph.ci95_s[0] + left)
    step = steps.median_s / (graph.median_s + left)
    return Tried(step=step, step_ci95=ends, said=how if ends else f"{how}; {_few(min(graph.n, steps.n))}")


def _tried(usual: _Arm, changed: _Arm, steps: int, page: Page, how: str) -> Tried:
    assert usual.median_s and changed.median_s
    ratio = changed.median_s / usual.median_s
    ends = None
    if usual.ci95_s and changed.ci95_s:
        low, high = changed.ci95_s[0] / usual.ci95_s[1], changed.ci95_s[1] / usual.ci95_s[0]
        ends = gain_of_step(page, high, steps), gain_of_step(page, low, steps)
    step = gain_of_step(page, ratio, steps)
    said = how if ends else f"{how}; {_few(min(usual.n, changed.n))}"
    return Tried(step=step, step_ci95=ends, said=said)


def _few(n: int) -> str:
    return f"{plural(n, 'sample')} {'is' if n == 1 else 'are'} too few for an interval"


def _of(arms: Iterable[_Arm], mode: str) -> _Arm:
    arm = next((arm for arm in arms if arm.mode == mode), None)
    if arm is None or not arm.median_s:
        raise TrialError(sanitize_line(arm.reason, 200) if arm is not None else f"no {mode} arm was measured")
    return arm


async def _run(folder: str, words: list[str]) -> _Run:
    out = await _output(guest.command("tuilab", "run", folder, "--json", "-q", "--budget", "quick", *words))
    try:
        return msgspec.json.decode(out, type=_Run)
    except msgspec.DecodeError as error:
        raise TrialError(f"the run printed no result: {error}") from None


async def _output(command: list[str]) -> bytes:
    """Run a process in its own process group and return its output. Raises TrialError if there is no
    output.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True
    )
    try:
        out, errors = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if not out.strip():
        last = (errors.decode(errors="replace").strip().splitlines() or ["the run printed nothing"])[-1]
        raise TrialError(sanitize_line(last, 200))
    return out
