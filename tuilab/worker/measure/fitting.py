"""Finds the largest batch of a model that fits into the memory of the device that computes it."""

import gc
import time
from collections.abc import Iterator
from itertools import product
from typing import Literal

import msgspec

from tuilab.model.arms import Arm, family
from tuilab.model.models import Fit, ModelInfo, Source
from tuilab.model.parameters import LogInteger
from tuilab.model.scenario import BudgetName
from tuilab.worker.build import ArmBuild
from tuilab.worker.measure.bench import Bench
from tuilab.worker.measure.prepare import MEMORY_SHARE, free_memory
from tuilab.worker.tracebacks import lacks_memory, text_of
from tuilab.workloads.base import Workload

SECONDS: dict[BudgetName, float] = {"quick": 8.0, "standard": 20.0, "publish": 40.0}
"""Seconds for measuring the memory of one arm. Larger batches are extrapolated from the
measurements so far.
"""
LONGEST_CALL_S = 4.0
"""Seconds. A batch whose call would take longer is not tried."""
GROWTH, TELLING = 4, 0.05
"""Multiply the batch by GROWTH until it takes TELLING (a share of the memory) more, enough to fit the line.
"""
KEPT = 0.97
"""Share of the extrapolated limit to use, because the allocator cannot use all of the memory. That batch is
not tried: if it does not fit, the call waits ten seconds (`max_millis_to_wait` of TensorFlow's allocator),
and if it fits, no memory of the GPU is left for other users.
"""


def by_shapes(bench: Bench, model: ModelInfo) -> ModelInfo:
    """Return the model with the largest batches that fit, estimated from the shapes that its calls
    produce.
    """
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
    for device, variant in _devices_and_variants(bench):
        free = _memory(bench, device)
        most = largest(variant, free)
        found.append(_fit(device, variant, most, batch.high, free, "shapes"))
    return _with(model, found)


def by_trying(bench: Bench, model: ModelInfo) -> ModelInfo:
    """Return the model with the largest batches that fit on its GPUs, measured by calling it. Raises
    Cancelled.
    """
    batch = _batch(bench.workload, model)
    if batch is None or not any(family(arm.device) == "GPU" for arm in bench.request.arms):
        return model
    arms = [state.arm for state in bench.state.arms.values() if state.status == "ok"]
    found = {(fit.device, fit.variant): fit for fit in model.fits_on}
    for device, variant in _devices_and_variants(bench):
        alike = [arm for arm in arms if (arm.device, arm.variant) == (device, variant)]
        if family(device) != "GPU" or not alike:
            continue
        arm = next((arm for arm in alike if arm.mode == "graph"), alike[0])
        bench.progress("finding the largest batch that fits", arm=arm.id)
        try:
            fit = _Search(bench, arm, batch).largest()
        except Exception as error:  # keep the estimate from shapes
            bench.context.log(f"{arm.id}: no largest batch: {text_of(error)}", bench.run)
            continue
        if fit is not None:
            found[device, variant] = fit
    return _with(model, list(found.values()))


def _batch(workload: Workload, model: ModelInfo) -> LogInteger | None:
    parameter = workload.declaration.parameter(model.batch) if model.batch else None
    return parameter if workload.memory is not None and isinstance(parameter, LogInteger) else None


def _devices_and_variants(bench: Bench) -> Iterator[tuple[str, str]]:
    """Return each available device with each variant of the run."""
    here = {device.name for device in bench.context.machine.devices}
    devices = dict.fromkeys(arm.device for arm in bench.request.arms if arm.device in here)
    return product(devices, dict.fromkeys(arm.variant for arm in bench.request.arms))


def _memory(bench: Bench, device: str) -> int:
    """Return the bytes that a call may use. For a GPU, that is the memory that was free when TensorFlow
    opened it.
    """
    limit = next((d.memory for d in bench.context.machine.gpus if d.name == device), 0)
    return limit or free_memory()


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
        self._call_s = 0.0

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
        worked_out = int(large + (self._limit - two) / ((two - one) / (large - small)))
        if worked_out >= high:
            return self._found(high, "measured")
        return self._found(max(large, int(worked_out * KEPT)), "measured")

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
        values, case = {**bench.values, self._batch.name: batch}, None
        try:
            case = bench.workload.build(ArmBuild(bench.context, bench.run, self._arm, values, point=0))
            with case.scope():
                case.call()
                begun = time.monotonic()
                case.call()
                bench.stopwatch.sync()
            self._call_s = time.monotonic() - begun
            return int(memory.get_memory_info(self._arm.device)["peak"])
        except self._tf.errors.OpError as error:
            if not lacks_memory(self._tf, error):
                raise
            return None
        finally:
            if case is not None:
                case.close()
            del case
            gc.collect()
