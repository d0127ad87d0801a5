"""What a model's batch is worth: from which size on a larger one hardly brings more."""

from collections.abc import Sequence

from tuilab.model.models import BatchAnswer
from tuilab.model.result import Crossover, PointResult
from tuilab.model.run import RunState

ENOUGH = 0.9
"""Of the best throughput: a batch that reaches it pays."""


def batch_answer(
    state: RunState, points: Sequence[PointResult], crossovers: Sequence[Crossover]
) -> BatchAnswer | None:
    """Return the batch that pays, the largest that fits, and from which on a GPU wins; None without a
    model."""
    model = state.model
    if model is None or not model.batch:
        return None
    along = state.sweep is not None and [axis.parameter for axis in state.sweep.axes] == [model.batch]
    pays = paying(points, model.batch) if along else None
    found = [c.at for c in crossovers if along and c.a.startswith("gpu") and c.b.startswith("cpu")]
    gpu = next((at for at in found if at is not None), None)
    fits = model.fits
    words = []
    if pays is not None:
        words.append(f"A batch of {pays:,} reaches {ENOUGH:.0%} of the best throughput.")
    if fits is not None:
        each = " and ".join(f"{n:,} ({variant})" for variant, n in model.fits_of.items() if variant)
        shown = each if len(set(model.fits_of.values())) > 1 else f"{fits:,}"
        words.append(f"Batches of up to about {shown} fit into the memory that is free, by their shapes.")
    return BatchAnswer(pays=pays, fits=fits, crossover=gpu, sentence=" ".join(words))


def paying(points: Sequence[PointResult], batch: str) -> int | None:
    """Return the least batch at which some arm reaches nine tenths of the most examples a second of any."""
    best: dict[int, float] = {}
    for point in points:
        size = point.values.get(batch)
        times = [arm.median_s for arm in point.arms if arm.median_s]
        if isinstance(size, int) and times and point.finished:
            best[size] = size / min(times)
    if len(best) < 2:
        return None
    return min(size for size, rate in best.items() if rate >= ENOUGH * max(best.values()))
