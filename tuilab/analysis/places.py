"""The places at which runs were measured, named so that those of several runs can be matched."""

from collections.abc import Sequence

from tuilab.analysis.reading import axes, value_at
from tuilab.analysis.words import listed, on_axis, size
from tuilab.model.events import Point
from tuilab.model.parameters import Value
from tuilab.model.run import RunState

Place = tuple[tuple[str, Value], ...]
"""The parameters that any of the runs sweeps, each with its value; empty where none sweeps."""


def swept(states: Sequence[RunState]) -> tuple[str, ...]:
    """The names of the parameters that any of the runs sweeps."""
    return tuple(dict.fromkeys(name for state in states for name in axes(state)))


def places(state: RunState, names: Sequence[str]) -> dict[Place, int]:
    """The index of each of a run's points, by its place; a run without a sweep has one, at its own values."""
    return {place_of(state, point, names): point.index for point in state.points or (Point(0),)}


def place_of(state: RunState, point: Point, names: Sequence[str]) -> Place:
    """A point's values of the named parameters."""
    return tuple((name, value_at(state, point, name)) for name in names)


def ordered(found: Sequence[Place]) -> list[Place]:
    """Each place once, ascending; words go after numbers."""
    return sorted(set(found), key=lambda place: [(isinstance(v, str), v) for _, v in place])


def words(place: Place) -> str:
    """`1,024 samples and frame length 256`; "" for the one place of runs that sweep nothing."""
    return listed([on_axis(name, size(v) if type(v) is int else str(v)) for name, v in place])
