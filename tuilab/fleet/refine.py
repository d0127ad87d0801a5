"""Which size a sweep on a fleet should measure next."""

from collections.abc import Callable

from tuilab.analysis.crossover import next_size
from tuilab.analysis.sweeps import crossovers, series_of
from tuilab.model.run import RunState

MOST_ADDED = 8


def next_value(state: RunState, allowed: Callable[[float], int]) -> int | None:
    """The next size along a sweep's only axis, null where its crossovers are known well or there are none.

    allowed: the nearest size that the parameter may take.
    """
    found = series_of(state)
    if len(found) != 1:
        return None
    series = found[0]
    for crossing in crossovers(state):
        a, b = state.arms[crossing.a], state.arms[crossing.b]
        size = next_size(series.timings(a), series.timings(b), allowed=allowed).size
        if size is not None and size not in series.points:
            return size
    return None
