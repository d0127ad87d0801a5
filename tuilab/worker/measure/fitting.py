"""Finds the largest batch of a model that fits into the memory of the device that computes it."""

import gc
import time
from collections.abc import Iterator
from itertools import product
from typing import Literal

import msgspec

from tuilab import nvml
from tuilab.model.arms import Arm, family
from tuilab.model.models import Fit, ModelInfo, Source
from tuilab.model.parameters import LogInteger
from tuilab.model.scenario import BudgetName
from tuilab.worker.build import ArmBuild
from tuilab.worker.machine import buses
from tuilab.worker.measure.bench import Bench
from tuilab.worker.measure.prepare import MEMORY_SHARE, free_memory
from tuilab.worker.tracebacks import text_of
from tuilab.workloads.base import Workload

SECONDS: dict[BudgetName, float] = {"quick": 8.0, "standard": 20.0, "publish": 40.0}
"""Seconds for measuring one arm's memory. Larger batches are extrapolated from what was measured by then."""
LONGEST_CALL_S = 4.0
"""Do not try a batch whose call would take longer, in seconds."""
GROWTH, TELLING = 4, 0.05
"""Multiply the batch by GROWTH until it takes TELLING of the memory more, which determines the line."""
CALLED, REPORTED = 0.97, 0.905
"""Shares of the extrapolated batch: the batch to call, and the batch to report. The allocator rounds and
splits its chunks, so it cannot use the last of the memory. A process that takes all memory at its start
splits it in another way than this one, whose memory grows, and refuses batches a few per cent smaller."""
LONGEST_TRIAL_S = 20.0
"""Do not call the largest batch if making its input and calling it twice would take longer, in seconds."""
RECENT_S = 10.0
"""Do not call the largest batch if another process used the GPU in this time, in seconds."""
SMALLER, REFUSALS = 0.94, 3
"""Multiply the batch by SMALLER after each refusal, at most REFUSALS times: each refusal waits ten seconds
(`max_millis_to_wait` of TensorFlow's allocator)."""


def by_shapes(bench: Bench, model: ModelInfo) -> ModelInfo:
    """Return the model with the batches that fit, estimated from the shapes that its calls produce."""
    batch = _batch(bench.workload, model)
    if batch is None:
        return model

    def largest(variant: str, free: int) -> int:
        low, high = 0, batch.high
        while low < high:
            middle = (low + high + 1) // 2
            fits = bench.workload.needs({**bench.values, batch.name: middle}, variant) <= MEMORY_SHARE * free
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    found = []
    for device, variant in _asked(bench):
        free = _memory(bench, device)
        most = largest(variant, free)
        found.append(_fit(device, variant, most, batch.high, free, "shapes"))
    return _with(model, found)


def by_trying(bench: Bench, model: ModelInfo) -> ModelInfo:
    """Return the model with the batches that fit on its GPUs, as measured by calling it. Raises Cancelled."""
    batch = _batch(bench.workload, model)
    if batch is None or not any(family(arm.device) == "GPU" for arm in bench.request.arms):
        return model
    arms = [state.arm for state in bench.state.arms.values() if state.status == "ok"]
    found = {(fit.device, fit.variant): fit for fit in model.fits_on}
    for device, variant in _asked(bench):
        alike = [arm for arm in arms if (arm.device, arm.variant) == (device, variant)]
        if family(device) != "GPU" or not alike:
            continue
        arm = next((arm for arm in alike if arm.mode == "graph"), alike[0])
        bench.progress("finding the largest batch that fits", arm=arm.id)
        try:
            fit = _Search(bench, arm, batch).largest()
        except Exception as error:  # the estimate from shapes stays
            bench.context.log(f"{arm.id}: no largest batch: {text_of(error)}", bench.run)
            continue
        if fit is not None:
            found[device, variant] = fit
    return _with(model, list(found.values()))


def _batch(workload: Workload, model: ModelInfo) -> LogInteger | None:
    parameter = workload.declaration.parameter(model.batch) if model.batch else None
    return parameter if workload.memory is not None and isinstance(parameter, LogInteger) else None


def _asked(bench: Bench) -> Iterator[tuple[str, str]]:
    """Return each available device with each variant of the run."""
    here = {device.name for device in bench.context.machine.devices}
    devices = dict.fromkeys(arm.device for arm in bench.request.arms if arm.device in here)
    return product(devices, dict.fromkeys(arm.variant for arm in bench.request.arms))


def _memory(bench: Bench, device: str) -> int:
    """Return the bytes that a call may use; for a GPU, what TensorFlow found free when it opened it."""
    limit = next((d.memory for d in bench.context.machine.gpus if d.name == device), 0)
    return limit or free_memory()


def _others_compute(bench: Bench, device: str) -> bool:
    """Whether other processes computed on a GPU just now: its memory is not to be taken from them."""
    bus = buses(bench.context.gpus).get(device)
    return bus is not None and bool(nvml.busy_processes(bus, time.time() - RECENT_S))


def _fit(device: str, variant: str, most: int, high: int, free: int, source: Source) -> Fit:
    ended: Literal["memory", "maximum"] = "maximum" if most >= high else "memory"
    return Fit(device=device, variant=variant, batch=most, ended_by=ended, memory=free, source=source)


def _with(model: ModelInfo, found: list[Fit]) -> ModelInfo:
    of: dict[str, int] = {}
    for fit in found:
        of[fit.variant] = min(fit.batch, of.get(fit.variant, fit.batch))
    return msgspec.structs.replace(
        model, fits=min(of.values(), default=None), fits_of=of, fits_on=tuple(found)
    )


class _Search:
    """Calls growing batches, fits a line through their peak memory, and solves for the batch at the limit."""

    def __init__(self, bench: Bench, arm: Arm, batch: LogInteger) -> None:
        self._bench, self._arm, self._batch = bench, arm, batch
        self._limit = _memory(bench, arm.device)
        self._tf = bench.context.tf
        self._until = time.monotonic() + SECONDS[bench.budget.name]
        self._call_s = self._trial_s = 0.0

    def largest(self) -> Fit | None:
        """Return the largest batch that fits; None if the memory of a call cannot be measured."""
        high = self._batch.high
        begin = int(self._bench.values.get(self._batch.name, self._batch.default))
        small, one = min(begin, high), None
        while small and (one := self._peak(small)) is None:
            small //= 2
        if one is None:
            return self._found(0, "tried")
        large, two, growth = small, one, float(GROWTH)
        while large < high and two - one < TELLING * self._limit:
            more = min(high, max(large + 1, int(large * growth)))
            if self._slow(more, large):
                break
            peak = self._peak(more)
            if peak is None:
                growth = 1 + (growth - 1) / 4
                continue
            small, one = (small, one) if two == one else (large, two)
            large, two = more, peak
        if two <= one:
            return self._found(large, "tried") if large == high else None
        each = (two - one) / (large - small)
        worked_out = large + (self._limit - two) / each
        return self._settle(large, min(high, worked_out * REPORTED), min(high, worked_out * CALLED))

    def _settle(self, fits: int, careful: float, batch: float) -> Fit:
        """Call the batch that was worked out, and smaller ones until one fits. fits: one that does."""
        tries = 0 if _others_compute(self._bench, self._arm.device) else REFUSALS
        while tries and batch > fits and self._can_try(int(batch), fits):
            if self._peak(int(batch)) is not None:
                return self._found(max(fits, int(min(careful, batch))), "tried")
            batch, tries = batch * SMALLER, tries - 1
        if batch <= fits:
            return self._found(fits, "tried")
        return self._found(max(fits, int(min(careful, batch))), "measured")

    def _can_try(self, batch: int, known: int) -> bool:
        """Return True if the host has memory and time for a call of the batch."""
        values = {**self._bench.values, self._batch.name: batch}
        needs = self._bench.workload.needs(values, self._arm.variant)
        return self._trial_s * batch / known <= LONGEST_TRIAL_S and needs <= MEMORY_SHARE * free_memory()

    def _slow(self, batch: int, known: int) -> bool:
        return self._call_s * batch / known > LONGEST_CALL_S or time.monotonic() > self._until

    def _found(self, batch: int, source: Source) -> Fit:
        return _fit(self._arm.device, self._arm.variant, batch, self._batch.high, self._limit, source)

    def _peak(self, batch: int) -> int | None:
        """Return the peak bytes on the device over two calls; None if they did not fit."""
        bench, memory = self._bench, self._tf.config.experimental
        bench.check()
        gc.collect()
        memory.reset_memory_stats(self._arm.device)
        started = time.monotonic()
        values, case = {**bench.values, self._batch.name: batch}, None
        try:
            case = bench.workload.build(ArmBuild(bench.context, bench.run, self._arm, values, point=0))
            built_s = time.monotonic() - started
            with case.scope():
                case.call()
                begun = time.monotonic()
                case.call()
                bench.stopwatch.sync()
            self._call_s = time.monotonic() - begun
            self._trial_s = built_s + 2 * self._call_s
            return int(memory.get_memory_info(self._arm.device)["peak"])
        except self._tf.errors.ResourceExhaustedError:
            return None
        finally:
            if case is not None:
                case.close()
            del case
            gc.collect()
