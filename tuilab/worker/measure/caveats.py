"""Writes the caveats: reasons to doubt a measured figure."""

import os
from collections.abc import Iterable

from tuilab.analysis.caveats import Pressure, contention, drift, levels, outliers
from tuilab.analysis.statistics import MIN_SAMPLES, estimate
from tuilab.analysis.words import percent
from tuilab.model.found import Found
from tuilab.model.quantity import plural, seconds, size
from tuilab.model.scenario import Budget
from tuilab.worker.machine import built_for, from_ptx
from tuilab.worker.measure.bench import Bench, TimedArm

CANARY_SHARE = 0.05
CLOCK_STEP_S = 1.0
KEPT_SHARE = 0.25
"""If TensorFlow keeps at least this share of a GPU's memory reserved, a caveat is reported."""


def of_cell(cell: TimedArm, budget: Budget) -> list[Found]:
    samples = cell.samples
    of_samples = [outliers(samples), levels(samples), drift(samples)]
    return [each for each in (*of_samples, _not_warm(cell), _precision(cell, budget)) if each]


def of_run(pressures: Iterable[Pressure], rounds: int, disturbed: int) -> list[Found]:
    """Return the caveats about the whole run: shared processors, and changes of the machine's speed.

    disturbed: number of accepted rounds during which the canary (see `interference`) showed a changed speed.
    """
    found = [_contention(list(pressures))]
    if rounds and disturbed / rounds > CANARY_SHARE:
        words = f"the machine's own speed changed by more than 5% in {disturbed} of {plural(rounds, 'round')}"
        found.append(Found("canary", words))
    return [each for each in found if each]


def of_gpus(bench: Bench) -> list[Found]:
    """Return the caveats about the run's GPUs that are known before the first round."""
    out: list[Found] = []
    arms = {arm.device for arm in bench.request.arms}
    for gpu in bench.context.machine.gpus:
        if gpu.name not in arms:
            continue
        if gpu.emulated:
            words = f"{gpu.name} is emulated by test software: its figures are not from a real GPU"
            out.append(Found("emulated", words))
        if from_ptx(built_for(bench.context.tf), gpu.compute_capability):
            words = (
                f"TensorFlow has no machine code for {gpu.name} (compute capability {gpu.compute_capability})"
                ": each kernel is compiled from PTX on first use and cached, which lengthens first calls"
            )
            out.append(Found("ptx", words))
        dtypes = {arm.dtype for arm in bench.request.arms if arm.device == gpu.name}
        if {"float32", "tf32"} <= dtypes:
            words = (
                f"float32 and tf32 were measured in one process on {gpu.name}: TensorFlow may reuse one "
                "dtype's convolution or product plan for the other; run each alone to avoid this (--dtype)"
            )
            out.append(Found("tf32-shared-plan", words))
    return out


def kept_memory(bench: Bench) -> list[Found]:
    out: list[Found] = []
    sizes = {device.name: device.memory for device in bench.context.machine.gpus if device.memory}
    used = {arm.device for arm in bench.request.arms}
    for name in sorted(used & sizes.keys()):
        peak = bench.context.tf.config.experimental.get_memory_info(name)["peak"]
        if peak >= KEPT_SHARE * sizes[name]:
            words = f"TensorFlow reserves at least {size(peak)} on {name} until this worker ends"
            out.append(Found("gpu-memory-kept", words))
    return out


def of_clock(wall_s: float, steady_s: float) -> list[Found]:
    """Return a caveat if the wall clock was changed during the run, as shown by a monotonic clock."""
    step = wall_s - steady_s
    if abs(step) < CLOCK_STEP_S:
        return []
    way = "forward" if step > 0 else "back"
    words = f"the wall clock was set {way} by {seconds(abs(step))} during the run; no figure depends on it"
    return [Found("clock-stepped", words)]


def _contention(seen: list[Pressure]) -> Found | None:
    if not seen:
        return None

    def total(name: str) -> float | None:
        values = [getattr(pressure, name) for pressure in seen]
        return None if None in values else sum(values)

    switches = total("switches")
    return contention(
        Pressure(
            wall_s=sum(pressure.wall_s for pressure in seen),
            cores=seen[0].cores,
            switches=None if switches is None else int(switches),
            waited_s=total("waited_s"),
            throttled_s=total("throttled_s"),
            others_s=total("others_s"),
            load=os.getloadavg()[0],
        )
    )


def _not_warm(cell: TimedArm) -> Found | None:
    warmth = cell.warmth
    if warmth.warm:
        return None
    if warmth.calls == 1:
        words = f"one call takes {seconds(cell.call_s)}: measured after two calls, without a warm-up"
        return Found("not-warm", words)
    return Found("not-warm", f"not yet stable after {seconds(warmth.seconds)} of warm-up")


def _precision(cell: TimedArm, budget: Budget) -> Found | None:
    known, n = estimate(cell.samples), len(cell.samples)
    half = known.relative_half_width if known else None
    if half is not None and half <= budget.precision and n >= budget.rounds:
        return None
    reached = f"at ± {percent(half)}" if half is not None else "without an interval"
    why = ", because the times drift too slowly for an interval" if half is None and n >= MIN_SAMPLES else ""
    target = f"target ± {percent(budget.precision)} and {budget.rounds} rounds"
    words = f"time ran out {reached} after {plural(n, 'round')}{why} ({target})"
    return Found("precision", words)
