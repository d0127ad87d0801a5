"""Finds the largest batch of a model that fits into the memory of the device that computes it."""

import gc
import math
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

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
"""Seconds for measuring the memory of one arm, by budget."""
LONGEST_CALL_S = 4.0
GROWTH, TELLING, POINTS = 4, 0.25, 2
"""The batch grows by the factor GROWTH until POINTS batches have each used at least the share TELLING of the
free memory.
"""
SAFE = 0.6
"""Maximum expected memory of a trial call, as a share of the free memory.

The allocator may take a chunk of nearly twice a tensor's size, and a call that does not fit waits ten seconds
before it fails.
"""
STRAIGHT = 0.1
"""Three memory peaks count as collinear if the two slopes between them differ by at most this share."""
KEPT = 0.97
"""Share of the extrapolated largest batch to report, because the allocator cannot use all of the memory.

The reported batch is not tried. If it did not fit, the call would wait ten seconds (`max_millis_to_wait` of
TensorFlow's allocator); if it fitted, no GPU memory would be left for other users.
"""


def by_shapes(bench: Bench, model: ModelInfo) -> ModelInfo:
    """Return the model with the largest batches that fit, estimated from the shapes in its calls."""
    batch = _batch(bench.workload, model)
    if batch is None:
        return model

    def largest(arm: Arm, free: int) -> int:
        low, high = 0, batch.high
        while low < high:
            middle = (low + high + 1) // 2
            fits = bench.workload.needs({**bench.values, batch.name: middle}, arm) <= MEMORY_SHARE * free
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    found = []
    for (device, variant), arms in _by_device_and_variant(bench).items():
        free = _memory(bench, device)
        most = min(largest(arm, free) for arm in arms)
        fit = _fit(device, variant, most, batch.high, free, "shapes")
        found.append(replace(fit, eager=most < largest(replace(arms[0], mode="graph"), free)))
    return _with(model, found)


def by_trying(bench: Bench, model: ModelInfo) -> ModelInfo:
    """Return the model with the largest batches that fit on the run's GPUs, found by calling the model.

    Raises Cancelled.
    """
    batch = _batch(bench.workload, model)
    if batch is None or not any(family(arm.device) == "GPU" for arm in bench.request.arms):
        return model
    arms = [state.arm for state in bench.state.arms.values() if state.status == "ok"]
    found = {(fit.device, fit.variant): fit for fit in model.fits_on}
    for device, variant in _by_device_and_variant(bench):
        alike = [arm for arm in arms if (arm.device, arm.variant) == (device, variant)]
        if family(device) != "GPU" or not alike:
            continue
        arm = next((arm for arm in alike if arm.mode == "graph"), alike[0])
        bench.progress("finding the largest batch that fits", arm=arm.id)
        try:
            fit = _Search(bench, arm, batch).largest()
        except Exception as error:  # fall back to the estimate from shapes
            bench.context.log(f"{arm.id}: the largest batch was not found: {text_of(error)}", bench.run)
            continue
        if fit is not None:
            found[device, variant] = fit
    return _with(model, list(found.values()))


def _batch(workload: Workload, model: ModelInfo) -> LogInteger | None:
    parameter = workload.declaration.parameter(model.batch) if model.batch else None
    return parameter if isinstance(parameter, LogInteger) else None


def _by_device_and_variant(bench: Bench) -> dict[tuple[str, str], list[Arm]]:
    here = {device.name for device in bench.context.machine.devices}
    found: dict[tuple[str, str], list[Arm]] = {}
    for arm in bench.request.arms:
        if arm.device in here:
            found.setdefault((arm.device, arm.variant), []).append(arm)
    return found


def _memory(bench: Bench, device: str) -> int:
    """Return the bytes that a call may use. On a GPU, this is the memory that was free when TensorFlow opened
    the GPU.
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
    return replace(model, fits=min(of.values(), default=None), fits_of=of, fits_on=tuple(found))


class Tried(NamedTuple):
    batch: int
    peak: int
    held: int


def weights(tried: Sequence[Tried]) -> float:
    """Return the bytes held at batch 0, extrapolated with a line through the first two batches."""
    one, two = tried[0], tried[min(1, len(tried) - 1)]
    grows = (two.held - one.held) / (two.batch - one.batch) if two is not one else 0.0
    return min(one.held, max(0.0, one.held - grows * one.batch))


def line_of(tried: Sequence[Tried]) -> tuple[float, float]:
    """Fit a line to the memory of a call; return its bytes at batch 0 and its bytes per example.

    A peak also contains memory that does not grow with the batch (copies of weights), and chunks of up to
    twice a tensor's size. So a line through two peaks may be too flat or too steep, and is used only if a
    third peak lies on it. Otherwise, the line goes from the weights to the lowest peak per example.
    """
    base = weights(tried)
    slope = min((each.peak - base) / each.batch for each in tried)
    for one, two, three in [tried[at : at + 3] for at in range(len(tried) - 2)]:
        before, last = ((q.peak - p.peak) / (q.batch - p.batch) for p, q in ((one, two), (two, three)))
        if last > 0 and abs(before - last) <= STRAIGHT * last:
            slope, base = last, three.peak - last * three.batch
    return base, slope


def largest_by_peaks(tried: Sequence[Tried], limit: float) -> float:
    """Return the batch size whose call takes `limit` bytes, extrapolated from the measured peaks.

    Infinite if no call took more memory than is held between calls. If the smallest batch takes more memory
    than the line predicts, the excess counts as unusable: copies leave holes that are too small for the
    tensors of a large batch.
    """
    base, slope = line_of(tried)
    base = max(base, tried[0].peak - slope * tried[0].batch)
    return (limit - base) / slope if slope > 0 else math.inf


class _Search:
    """Finds the largest batch by calling the model with growing batches and extrapolating the peak memory."""

    def __init__(self, bench: Bench, arm: Arm, batch: LogInteger) -> None:
        self._bench, self._arm, self._batch = bench, arm, batch
        self._limit = _memory(bench, arm.device)
        self._tf = bench.context.tf
        self._until = time.monotonic() + SECONDS[bench.budget.name]
        self._call_s = self._trial_s = 0.0

    def largest(self) -> Fit | None:
        """Return the largest batch that fits; None if the memory of a call cannot be measured."""
        high = self._batch.high
        small, first = min(int(self._bench.values.get(self._batch.name, self._batch.default)), high), None
        while small and (first := self._try(small)) is None:
            small //= 2
        if first is None:
            return self._found(0, "tried")
        tried, growth, free = [first], float(GROWTH), self._limit - first.held
        while (large := tried[-1].batch) < high and self._telling(tried) < POINTS:
            base, slope = line_of(tried)
            safe = (first.held + SAFE * free - base) / slope if slope > 0 else math.inf
            more = int(min(high, large * growth, safe))
            if more <= large or self._slow(more, large):
                break
            if (found := self._try(more)) is None:
                growth = 1 + (growth - 1) / 4
            else:
                tried.append(found)
        if large == high:
            return self._found(high, "tried")
        most = largest_by_peaks(tried, self._limit)
        if math.isinf(most):
            return None
        if most >= high:
            return self._found(high, "measured")
        return self._found(max(large, int(most * KEPT)), "measured")

    def _telling(self, tried: Sequence[Tried]) -> int:
        base = tried[0].held
        return sum(each.peak - base >= TELLING * (self._limit - base) for each in tried)

    def _slow(self, batch: int, known: int) -> bool:
        growth, left_s = batch / known, self._until - time.monotonic()
        needs = self._bench.workload.needs({**self._bench.values, self._batch.name: batch}, self._arm)
        return (
            self._call_s * growth > LONGEST_CALL_S
            or self._trial_s * growth > left_s
            or needs > MEMORY_SHARE * free_memory()
        )

    def _found(self, batch: int, source: Source) -> Fit:
        return _fit(self._arm.device, self._arm.variant, batch, self._batch.high, self._limit, source)

    def _try(self, batch: int) -> Tried | None:
        """Call the model twice with this batch and return the device memory used; None if the batch did not
        fit.
        """
        bench, memory = self._bench, self._tf.config.experimental
        bench.check()
        gc.collect()
        memory.reset_memory_stats(self._arm.device)
        values, case, started = {**bench.values, self._batch.name: batch}, None, time.monotonic()
        try:
            case = bench.workload.build(ArmBuild(bench.context, bench.run, self._arm, values, point=0))
            with case.scope():
                case.call()
                begun = time.monotonic()
                case.call()
                bench.stopwatch.sync()
            self._call_s, self._trial_s = time.monotonic() - begun, time.monotonic() - started
            found = memory.get_memory_info(self._arm.device)
            return Tried(batch, int(found["peak"]), int(found["current"]))
        except self._tf.errors.OpError as error:
            if not lacks_memory(self._tf, error):
                raise
            return None
        finally:
            if case is not None:
                case.close()
            del case
            gc.collect()
