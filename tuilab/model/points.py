"""The points of a sweep."""

import itertools

from tuilab.model.events import Point
from tuilab.model.scenario import Sweep


def grid(sweep: Sweep | None) -> tuple[Point, ...]:
    """Return the points of a sweep, first axis slowest; one empty point without a sweep."""
    if sweep is None:
        return (Point(0),)
    names = [axis.parameter for axis in sweep.axes]
    every = itertools.product(*(axis.values for axis in sweep.axes))
    return tuple(Point(index, dict(zip(names, values, strict=True))) for index, values in enumerate(every))
