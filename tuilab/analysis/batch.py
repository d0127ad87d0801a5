"""Assesses the batch size of a model: the size above which a larger batch adds little throughput."""

import math
from collections.abc import Sequence

from tuilab.analysis.reading import axes
from tuilab.analysis.words import listed
from tuilab.model.models import BatchAnswer, Fit
from tuilab.model.quantity import size
from tuilab.model.result import Crossover, PointResult
from tuilab.model.run import RunState

ENOUGH = 0.9
"""A batch size is worthwhile if it reaches at least this share of the best throughput."""


def batch_answer(
    state: RunState, points: Sequence[PointResult], crossovers: Sequence[Crossover]
) -> BatchAnswer | None:
    """Return the smallest worthwhile batch size of a model, the largest that fits, and the size above which a
    GPU is faster.

    Returns None unless the run measured a model with a variable batch size.
    """
    model = state.model
    if model is None or not model.batch:
        return None
    along = axes(state) == (model.batch,)
    pays = paying(points, model.batch) if along else None
    crossing_batches = [c.at for c in crossovers if along and c.a.startswith("gpu") and c.b.startswith("cpu")]
    gpu = next((at for at in crossing_batches if at is not None), None)
    words = []
    if pays is not None:
        words.append(f"A batch of {pays:,} reaches {ENOUGH:.0%} of the best throughput.")
    elif along and (largest := growing(points, model.batch)):
        words.append(f"Throughput still grows at a batch of {largest:,}, the largest measured.")
    words += fitting(model.fits_on)
    return BatchAnswer(pays=pays, fits=model.fits, crossover=gpu, sentence=" ".join(words))


HOW = {
    "shapes": "estimated from tensor shapes; a recurrent layer may need more",
    "measured": "estimated from the peak memory of smaller batches",
    "tried": "as measured",
}


LARGEST = "the largest batch on the slider"


def _in_brackets(*words: str) -> str:
    inner = ", ".join(filter(None, words))
    return f" ({inner})" if inner else ""


def _stated(fit: Fit) -> int:
    """Return the batch, rounded down to two digits if it is only an estimate from shapes."""
    if fit.source != "shapes" or fit.ended_by == "maximum":
        return fit.batch
    digit = int(10 ** max(0, len(str(fit.batch)) - 2))
    return fit.batch // digit * digit


def fitting(fits: Sequence[Fit]) -> list[str]:
    """Return one sentence per device: the largest batch of each variant that fits, and why the search for a
    larger batch ended.
    """
    out = []
    for device in dict.fromkeys(fit.device for fit in fits):
        own = [fit for fit in fits if fit.device == device]
        alike = len({(fit.batch, fit.ended_by) for fit in own}) == 1
        shown = [
            f"{_stated(fit):,}"
            + _in_brackets("" if alike else fit.variant, LARGEST if fit.ended_by == "maximum" else "")
            for fit in own[: 1 if alike else None]
        ]
        about = "about " if any(fit.source == "shapes" for fit in own) else ""
        how = listed(list(dict.fromkeys(HOW[fit.source] for fit in own)), "or")
        how += "; in eager mode, Keras keeps each layer's output" if any(fit.eager for fit in own) else ""
        limited = " Larger batches may not fit." if all(fit.ended_by == "memory" for fit in own) else ""
        out.append(
            f"On {device}, batches of up to {about}{listed(shown)} fit into the "
            f"{size(own[0].memory)} of free memory, {how}.{limited}"
        )
    return out


def growing(points: Sequence[PointResult], batch: str) -> int | None:
    """Return the largest measured batch if throughput still grows at that size; else None."""
    best = _throughput(points, batch)
    if len(best) < 2 or paying(points, batch) is not None:
        return None
    return max(best)


def paying(points: Sequence[PointResult], batch: str) -> int | None:
    """Return the smallest batch at which some arm reaches 90% of the highest throughput.

    Returns None if that is the largest batch, or if each doubling from there still adds more than about 10%
    on average.
    """
    best = _throughput(points, batch)
    if len(best) < 2:
        return None
    largest = max(best)
    pays = min(size for size, rate in best.items() if rate >= ENOUGH * max(best.values()))
    doublings = math.log2(largest / pays)
    return pays if doublings and ENOUGH * (best[largest] / best[pays]) ** (1 / doublings) <= 1 else None


def _throughput(points: Sequence[PointResult], batch: str) -> dict[int, float]:
    """Return the highest throughput of any arm at each batch size, in examples per second."""
    best: dict[int, float] = {}
    for point in points:
        size_of = point.values.get(batch)
        times = [arm.median_s for arm in point.arms if arm.median_s]
        if isinstance(size_of, int) and times and point.finished:
            best[size_of] = size_of / min(times)
    return best
