import itertools

from tuilab.model.events import Point
from tuilab.model.scenario import Sweep


def grid(sweep: Sweep | None) -> tuple[Point, ...]:
    """Return the points of a sweep, the first axis varying slowest; one empty point if there is no sweep."""
    if sweep is None:
        return (Point(0),)
    every = itertools.product(*([axis.at(value) for value in axis.values] for axis in sweep.axes))
    return tuple(
        Point(index, {k: v for part in parts for k, v in part.items()}) for index, parts in enumerate(every)
    )
