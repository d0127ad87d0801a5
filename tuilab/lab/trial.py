"""Try a finding's advice on the program's own step: a captured step, measured as it is and changed."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Iterable

import msgspec

from tuilab import guest
from tuilab.analysis.words import percent
from tuilab.model.parameters import Value
from tuilab.model.program import Bottleneck, Page, Tried
from tuilab.model.sanitize import sanitize_line
from tuilab.program.advice import STEPS_AT_ONCE
from tuilab.program.gains import gain_of_step, of_program

XLA = frozenset(("xla-off", "launch-bound"))
BATCHES = frozenset(("small-batches",))
AGREES = 1e-3
"""Largest relative difference of results in float32 that counts as rounding."""


class _Arm(msgspec.Struct):
    mode: str
    status: str
    reason: str = ""
    median_s: float | None = None
    ci95_s: tuple[float, float] | None = None


class _Scenario(msgspec.Struct):
    parameters: dict[str, Value]


class _Run(msgspec.Struct):
    scenario: _Scenario
    arms: list[_Arm]


class TrialError(Exception):
    """The step could not be measured as it is or changed; the message is why."""


def can_try(finding: Bottleneck) -> bool:
    """Return whether a trial exists for the finding. One whose conditions do not hold has no preset."""
    return finding.code in XLA | BATCHES and bool(finding.preset)


async def attempt(folder: str, finding: Bottleneck, page: Page, python: str = "") -> Tried:
    """Measure a captured step as it is and with the finding's change.

    python: of the environment that measures; "" for the lab's own. Cancelling it ends its processes.
    """
    devices = [part.name.removeprefix("compute on ") for part in page.parts if "compute on" in part.name]
    words = ["--device", "GPU" if devices and devices[0].startswith("GPU") else "CPU"]
    words += ["--python", python] if python else []
    try:
        if finding.code in XLA:
            return await _with_xla(folder, words, finding, page)
        return await _with_larger_batch(folder, words, finding, page)
    except TrialError as error:
        return Tried(said=f"could not be measured: {error}")


async def _with_xla(folder: str, words: list[str], finding: Bottleneck, page: Page) -> Tried:
    compared = json.loads(await _output(guest.command("tuilab.worker.xla_agrees", folder)))
    if compared["problem"]:
        raise TrialError(f"XLA cannot compile the step: {sanitize_line(compared['problem'], 200)}")
    arms = (await _run(folder, words)).arms
    far = compared["apart"]
    if far is None:
        results = "the step draws random numbers, so its results cannot be compared"
    elif far <= AGREES:
        results = f"the results agree to {far:.0e}" if far else "the results are the same"
    else:
        results = f"the results differ by up to {percent(far)}: check them before you use it"
    return _tried(_of(arms, "graph"), _of(arms, "xla"), 1, finding, page, f"the step under XLA; {results}")


async def _with_larger_batch(folder: str, words: list[str], finding: Bottleneck, page: Page) -> Tried:
    words = [*words, "--mode", "graph"]
    run = await _run(folder, words)
    batch = int(run.scenario.parameters.get("batch", 0))
    if not batch:
        raise TrialError("the step has no open batch dimension")
    larger, usual = batch * STEPS_AT_ONCE, _of(run.arms, "graph")
    changed = _of((await _run(folder, [*words, "--set", f"batch={larger}"])).arms, "graph")
    how = f"each sample in batches of {larger:,} instead of {batch:,}; they train differently"
    return _tried(usual, changed, STEPS_AT_ONCE, finding, page, how)


def _tried(usual: _Arm, changed: _Arm, steps: int, finding: Bottleneck, page: Page, how: str) -> Tried:
    assert usual.median_s and changed.median_s
    ratio = changed.median_s / usual.median_s
    ends = None
    if usual.ci95_s and changed.ci95_s:
        low, high = changed.ci95_s[0] / usual.ci95_s[1], changed.ci95_s[1] / usual.ci95_s[0]
        ends = gain_of_step(page, high, steps), gain_of_step(page, low, steps)
    step = gain_of_step(page, ratio, steps)
    return Tried(step=step, step_ci95=ends, program=of_program(finding, step), said=how)


def _of(arms: Iterable[_Arm], mode: str) -> _Arm:
    arm = next((arm for arm in arms if arm.mode == mode), None)
    if arm is None or not arm.median_s:
        raise TrialError(sanitize_line(arm.reason, 200) if arm is not None else f"no {mode} was measured")
    return arm


async def _run(folder: str, words: list[str]) -> _Run:
    out = await _output(guest.command("tuilab", "run", folder, "--json", "-q", "--budget", "quick", *words))
    try:
        return msgspec.json.decode(out, type=_Run)
    except msgspec.DecodeError as error:
        raise TrialError(f"the run printed no result: {error}") from None


async def _output(command: list[str]) -> bytes:
    """Return what a process in a group of its own prints. Raises TrialError if it prints nothing."""
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
        last = (errors.decode(errors="replace").strip().splitlines() or ["it printed nothing"])[-1]
        raise TrialError(sanitize_line(last, 200))
    return out
