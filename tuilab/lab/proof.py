"""Proves a finding: measures a preset that was recognized in the document, and compares the time that the
document's method reports with the actual time. Never runs the document's code.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from tuilab.documents import DocumentReport
from tuilab.documents.rules import Finding
from tuilab.model.arms import MODES, ArmSelection, family
from tuilab.model.preset import Preset
from tuilab.model.quantity import plural, seconds
from tuilab.model.result import ArmResult, RunResult
from tuilab.model.scenario import BudgetName
from tuilab.workloads import find

if TYPE_CHECKING:
    from tuilab.lab.lab import Lab

Pattern = Literal["empty", "no wait", "first call", "start", "host map"]
PATTERNS: dict[str, Pattern] = {
    "TL101": "empty",
    "TL102": "empty",
    "TL103": "no wait",
    "TL104": "first call",
    "TL105": "first call",
    "TL109": "start",
    "TL303": "host map",
}
# Workloads that show a pattern, best first. Other recognized workloads rank after these.
_BEST: dict[Pattern, tuple[str, ...]] = {
    "start": ("input_pipeline", "parsing"),
    "host map": ("training",),
    "first call": ("training",),
}
# Variants that a pattern requires, for workloads that have variants.
_VARIANTS: dict[Pattern, tuple[str, ...]] = {
    "start": ("serial",),
    "first call": ("serial", "plain"),
    "no wait": ("plain",),
    "empty": ("plain",),
    "host map": ("serial", "parallel", "in-step"),
}
_FIRST: tuple[Pattern, ...] = ("first call", "start")
# Largest parameter values to measure. Larger values would show nothing new and would take minutes.
_MOST = {"images": 1_024, "ops": 1_000}
ON_CPU = "Without a GPU, on the CPU:"
"""Prefix of figures measured on the CPU, although the document's code runs only on a GPU."""
# Phases of a call on a GPU before the call returns, if the program does not wait for the result.
_BEFORE_RETURN = ("python", "dispatch", "copy_in", "input_wait")
# Maximum ratio of two times that are reported as equal.
ALIKE = 1.05


@dataclass(frozen=True)
class Proof:
    """A finding, the pattern of its mistake, and a preset that shows this pattern (None if there is none).

    less: how the preset is smaller than the document's code. calls: number of calls that the document's
    figure includes, first call included; None if unknown.
    """

    finding: Finding
    pattern: Pattern
    preset: Preset | None
    less: str = ""
    calls: int | None = None


class Proven(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of the document's way of timing with the actual time on this machine."""

    code: str
    line: int
    preset: str
    """Name of the measured preset; "" if nothing was measured."""
    said_s: float | None = None
    """Seconds per call that code with this mistake reports; None if it reports no time."""
    true_s: float | None = None
    factor: float | None = None
    """The larger of `said_s` and `true_s` divided by the smaller one; None if either time is None."""
    factor_ci95: tuple[float, float] | None = None
    """The 95% interval of `factor`; None if unknown, for example if `said_s` includes a first call, which
    happens only once.
    """
    compared: str = ""
    """The two compared times in words, with the measured arm."""
    reduced: str = ""
    """How the measured work is smaller than the document's, such as `1,000 of the 5,000 ops`; "" if it is not
    smaller. If the work is smaller, the times are not those of the document's code.
    """
    sentence: str
    run: str = ""


def proofs(report: DocumentReport) -> Iterator[Proof]:
    """Yield each finding whose mistake can be measured, with the preset to measure."""
    for example in report.examples:
        for finding in example.findings:
            pattern = PATTERNS.get(finding.code)
            if pattern is not None:
                preset, less, steps = _preset(example.presets, finding, pattern)
                part = example.parts.get(preset.name, "") if preset else ""
                yield Proof(finding, pattern, preset, part or less, finding.calls * steps or None)


def _preset(presets: Sequence[Preset], finding: Finding, pattern: Pattern) -> tuple[Preset | None, str, int]:
    """Return the preset that best shows the pattern, preferring presets that were recognized near the
    finding. Also returns how the preset is smaller than the document's code, and the document's number of
    steps per call.
    """
    best, line = _BEST.get(pattern, ()), finding.line

    def order(preset: Preset) -> tuple[int, int]:
        kind = best.index(preset.workload) if preset.workload in best else len(best)
        lines = preset.source.lines if preset.source and preset.source.lines else (line, line)
        return kind, max(lines[0] - line, line - lines[1], 0)

    found = min(presets, key=order, default=None)
    if found is None or (best and pattern != "first call" and found.workload not in best):
        return None, "", 1
    declaration = find(found.workload).declaration
    known = {variant.name for variant in declaration.variants}
    variants = tuple(name for name in _VARIANTS[pattern] if name in known)
    # Use the mode of the timed work, and graph mode for training, because Keras trains in graph mode.
    mode = "graph" if found.workload == "training" else finding.mode
    modes = sorted(found.arms.modes, key=lambda each: each != mode)
    arms = msgspec.structs.replace(found.arms, modes=tuple(modes[:1]), inputs=found.arms.inputs[:1])
    if variants:
        arms = msgspec.structs.replace(arms, variants=variants)
    parameters = dict(found.parameters)
    for name, most in _MOST.items():
        given = parameters.get(name)
        if isinstance(given, int):
            parameters[name] = min(given, most)
    less = ", ".join(
        f"{parameters[name]:,} of the {given:,} {name}"
        for name in _MOST
        if isinstance(given := found.parameters.get(name), int) and given != parameters[name]
    )
    shown = msgspec.structs.replace(found, arms=arms, parameters=parameters, sweep=None, claims=())
    images, batch = found.parameters.get("images"), found.parameters.get("batch")
    trains = found.workload == "training" and pattern == "first call"
    steps = (
        ceil(images / batch) if trains and isinstance(images, int) and isinstance(batch, int) and batch else 1
    )
    return shown, less, steps


async def prove(
    lab: "Lab", wanted: Sequence[Proof], budget: BudgetName, told: Callable[[Proven], None]
) -> list[Proven]:
    """Measure each preset once, with the arms that its findings need. Returns a result for each finding.
    Raises WorkerError.

    A first call is measured with its own mode alone, and the earliest one in a fresh process, because oneDNN
    compiles its kernels in the process's first product of any mode. told: called with each result. On a
    machine without a GPU, measures on the CPU, even if the document's code runs only on a GPU.
    """
    machines = await lab.ready() if wanted else {}
    gpu = any(machine.gpus for machine in machines.values())
    results: dict[tuple[str, str], RunResult] = {}  # by preset, and by mode for first calls
    out: list[Proven] = []
    for proof in wanted:
        preset = proof.preset
        if preset is None:
            shown = _unproven(proof, "no workload does the timed ops, or their shapes could not be read")
        else:
            here = preset if gpu else on_cpu(preset)
            arms = [each.preset.arms for each in wanted if each.preset and each.preset.name == preset.name]
            key = preset.name, ""
            if proof.pattern in _FIRST:
                arms, key = [preset.arms], (preset.name, preset.arms.modes[0])
                if not any(mode for _, mode in results):
                    await lab.runner.renew()
            if key not in results:
                results[key] = await lab.measure(_with_arms(here, arms), budget=budget)
            shown = proven(proof, results[key])
            if here is not preset and shown.true_s is not None:
                shown = msgspec.structs.replace(
                    shown,
                    sentence=f"{ON_CPU} {shown.sentence}",
                    compared=f"{ON_CPU} {shown.compared}",
                )
            if results[key].status == "cancelled":
                break
        out.append(shown)
        told(shown)
    return out


def _with_arms(preset: Preset, arms: Sequence[ArmSelection]) -> Preset:
    """Return the preset with the modes and variants of all these arms, so that one run measures all of
    them.
    """
    modes = tuple(mode for mode in MODES if any(mode in each.modes for each in arms))
    variants = tuple(dict.fromkeys(variant for each in arms for variant in each.variants))
    return msgspec.structs.replace(
        preset, arms=msgspec.structs.replace(preset.arms, modes=modes, variants=variants)
    )


def on_cpu(preset: Preset) -> Preset:
    """Return the preset for a machine without a GPU. If no arm runs on the CPU, all arms are moved to the
    CPU.
    """
    if "CPU" in preset.arms.devices:
        return preset
    return msgspec.structs.replace(preset, arms=msgspec.structs.replace(preset.arms, devices=("CPU",)))


def _unproven(proof: Proof, why: str) -> Proven:
    found, name = proof.finding, proof.preset.name if proof.preset else ""
    return Proven(code=found.code, line=found.line, preset=name, compared=why, sentence=why)


def proven(proof: Proof, result: RunResult) -> Proven:
    """Return the result of a run for a finding. Uses the times on a GPU if the run has any, else the times on
    the CPU.
    """
    arms = [arm for arm in result.arms if arm.status == "ok" and arm.median_s]
    if not arms:
        reasons = [arm.reason for arm in result.arms if arm.reason]
        return _unproven(proof, f"nothing could be measured: {reasons[0] if reasons else result.status}")
    best = max(family(arm.device or "") == "GPU" for arm in arms)
    arms = [arm for arm in arms if (family(arm.device or "") == "GPU") is best]
    if proof.preset is not None:  # the run may also contain arms for other findings
        own = proof.preset.arms
        arms = [a for a in arms if a.mode in own.modes and a.variant in ("", *own.variants)] or arms
        arms = [a for a in arms if a.dtype == proof.finding.dtype] or arms
    said, true, sentence, compared, interval = _SHOWN[proof.pattern](arms, proof.calls)
    less = f"; measured with {proof.less}" if proof.less else ""
    factor = max(said, true) / min(said, true) if said and true else None
    return Proven(
        code=proof.finding.code,
        line=proof.finding.line,
        preset=result.preset or (proof.preset.name if proof.preset else ""),
        said_s=said,
        true_s=true,
        factor=factor,
        factor_ci95=interval,
        compared=f"{compared} ({arms[0].label}){less}",
        reduced=proof.less,
        sentence=sentence + less,
        run=result.run,
    )


class Shown(NamedTuple):
    """Times in seconds of code with the mistake (`said`) and without it (`true`), and their descriptions.
    `interval` is `Proven.factor_ci95`.
    """

    said: float | None
    true: float | None
    sentence: str
    compared: str
    interval: tuple[float, float] | None = None


def _interval(
    said: tuple[float, float] | None, true: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return the interval of the larger time divided by the smaller one, from the intervals of the two
    times.
    """
    if said is None or true is None or min(*said, *true) <= 0:
        return None
    low, high = said[0] / true[1], said[1] / true[0]
    return (low, high) if low * high >= 1 else (1 / high, 1 / low)


def _empty(arms: Sequence[ArmResult], calls: int | None = None) -> Shown:
    arm = arms[0]
    true = arm.median_s or 0.0
    words = f"the figure includes no work: a call takes {seconds(true)} ({arm.label})"
    return Shown(None, true, words, "no work, compared with a call")


def _no_wait(arms: Sequence[ArmResult], calls: int | None = None) -> Shown:
    """Compare the time until a call returns with the time until its work is done. On a CPU, the two times are
    equal.
    """
    arm = arms[0]
    true = arm.median_s or 0.0
    if family(arm.device or "") != "GPU":
        words = (
            f"no GPU ran the call: on the CPU, a call returns when its work is done, after {seconds(true)}"
        )
        same = "no GPU ran the call, and on the CPU a call returns when its work is done"
        return Shown(true, true, f"{words} ({arm.label})", same)
    if arm.account is None:
        words = f"a call takes {seconds(true)}; the time until it returned was not measured ({arm.label})"
        return Shown(None, true, words, "the time until the call returned was not measured")
    said = arm.account.seconds(*_BEFORE_RETURN)
    parts = [part for part in arm.account.parts if part.phase in _BEFORE_RETURN]
    known = [part.ci95_s for part in parts if part.ci95_s is not None]
    ends = (sum(low for low, _ in known), sum(high for _, high in known))
    return Shown(
        said,
        true,
        f"{_are(said, true)}; without a wait, a call returns early ({arm.label})",
        "the time until a call returns, compared with the time until its work is done",
        _interval(ends, arm.ci95_s) if len(known) == len(parts) else None,
    )


def _first_call(arms: Sequence[ArmResult], calls: int | None) -> Shown:
    return _with_first(arms[0], calls, "call")


def _start(arms: Sequence[ArmResult], calls: int | None) -> Shown:
    arm = arms[0]
    true, said = arm.median_s or 0.0, arm.first_call_s
    if said and said <= ALIKE * true:
        words = f"the start-up is negligible here: the first batch takes {seconds(said)}, a later batch"
        compared = "the first batch compared with a later batch"
        return Shown(said, true, f"{words} {seconds(true)} ({arm.label})", compared)
    return _with_first(arm, calls, "batch")


def _with_first(arm: ArmResult, calls: int | None, what: str) -> Shown:
    """Compare the mean time of `calls` calls, the first call included, with the time of a later call."""
    true, first = arm.median_s or 0.0, arm.first_call_s
    if not first:
        words = f"a later {what} takes {seconds(true)}; the first was not timed ({arm.label})"
        return Shown(None, true, words, f"the first {what} was not timed")
    if calls is None:
        words = f"the first {what} takes {seconds(first)}, a later {what} {seconds(true)}"
        unknown = "the document does not show whether the figure covers only the first"
        return Shown(None, true, f"{words}; {unknown} ({arm.label})", f"{words}; {unknown}")
    said = (first + (calls - 1) * true) / calls
    if calls == 1:
        words = f"{_are(said, true)}; the figure is for the first {what}, not for a later one ({arm.label})"
        return Shown(said, true, words, f"the first {what} compared with a later {what}")
    shows = " and is negligible" if said <= ALIKE * true else ""
    words = f"{_are(said, true)}; the first of {calls:,} takes {seconds(first)}{shows}"
    compared = f"the mean of the first {plural(calls, what)} compared with a later {what}"
    return Shown(said, true, f"{words} ({arm.label})", compared)


def _host_map(arms: Sequence[ArmResult], calls: int | None = None) -> Shown:
    """Compare a step fed by a mapped function on the host with a step that does the function's work
    itself.
    """
    by_variant = {arm.variant: arm for arm in arms}
    fed = by_variant.get("parallel") or by_variant.get("serial")
    inside = by_variant.get("in-step")
    if fed is None or inside is None or not fed.median_s or not inside.median_s:
        words = "the cost of the mapped function could not be separated from that of the step"
        return Shown(None, None, words, words)
    where = inside.device or "the device"
    words = (
        f"the map runs on the host: a step that it feeds takes {seconds(fed.median_s)}, "
        f"a step that does the same work on {where} takes {seconds(inside.median_s)}"
    )
    compared = f"a step fed by the map on the host against one that does the same work on {where}"
    return Shown(fed.median_s, inside.median_s, words, compared, _interval(fed.ci95_s, inside.ci95_s))


_SHOWN: dict[Pattern, Callable[[Sequence[ArmResult], int | None], Shown]] = {
    "empty": _empty,
    "no wait": _no_wait,
    "first call": _first_call,
    "start": _start,
    "host map": _host_map,
}


def _are(said: float, true: float) -> str:
    """Return a sentence such as `this method gives 0.3 ms, not 9 ms: 30× too small`."""
    if max(said, true) <= ALIKE * min(said, true):
        return f"this method gives {seconds(said)}, which is correct here"
    off = max(said, true) / min(said, true)
    word = "small" if true > said else "large"
    return f"this method gives {seconds(said)}, not {seconds(true)}: {off:.3g}× too {word}"
