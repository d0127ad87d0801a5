"""Statistics of samples that have not changed are not computed again."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

from tuilab.model.run import ArmSamples

P = ParamSpec("P")
T = TypeVar("T")

LONGEST = 500
"""Samples. Longer tuples are computed anew: keeping them would cost more memory than they take time."""


def once(cell: ArmSamples, what: object, call: Callable[[], T], *others: ArmSamples) -> T:
    """What `call` works out of the cells' samples, kept with the first of them until a sample comes.

    One summary asks for the same figure in several places. what: its name among the figures of `cell`.
    others: the further cells that it depends on.
    """
    counts = [(len(each.samples), len(each.latencies)) for each in (cell, *others)]
    kept = cell.known.get(what)
    if kept is None or kept[0] != counts or any(a is not b for a, b in zip(kept[1], others, strict=True)):
        kept = cell.known[what] = counts, others, call()
    return cast(T, kept[2])


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """The same function of tuples, which must be pure, with its last 1,024 results kept.

    For what no cell is at hand: most of a sweep's samples are as they were when it is looked at again.
    """
    kept = lru_cache(maxsize=1024)(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if any(isinstance(arg, tuple) and len(arg) > LONGEST for arg in args):
            return function(*args, **kwargs)
        return cast(Callable[P, T], kept)(*args, **kwargs)

    return call
