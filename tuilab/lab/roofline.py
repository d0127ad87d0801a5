"""A run under its machine's roofs, as data for whoever draws it: arms as paths over sizes, roofs as lines."""

from collections.abc import Callable
from dataclasses import dataclass

from tuilab.analysis.reading import device_of, roofs_of, summary_point
from tuilab.analysis.roofline import against_roof, peak, work_of
from tuilab.model.arms import family
from tuilab.model.quantity import rate, share_words
from tuilab.model.roofline import DeviceRoofs
from tuilab.model.run import ArmState, RunState

MARGIN = 3.0
"""How far the roofs reach beyond the leftmost and the rightmost point, as a factor."""
MOST_PEAKS = 3

Points = tuple[tuple[float, float], ...]
"""FLOP a byte, FLOP a second."""


@dataclass(frozen=True)
class Path:
    """An arm at each size that was measured, from the least intense on; empty where nothing is counted."""

    arm: str
    label: str
    points: Points
    note: str
    """Its share of the roof, and what it is bound by."""


@dataclass(frozen=True)
class Roof:
    """A line that no arm of the device can pass."""

    key: str
    label: str
    points: Points


def paths(state: RunState, shown: Callable[[str], bool] = lambda arm: True) -> list[Path]:
    """Every arm that has figures and whose work is known."""
    point, out = summary_point(state), []
    for arm in state.arms.values():
        roof = against_roof(state, arm, point)
        points = _path(state, arm)
        if not shown(arm.arm.id) or (roof is None and not points):
            continue
        share = f"{share_words(roof.share)}, " if roof is not None and roof.share is not None else ""
        by = roof.bound_by if roof is not None else ""
        note = f"{share}{by}" if points else f"no arithmetic counted; {by}"
        out.append(Path(arm.arm.id, arm.label, points, note))
    return out


def roofs(state: RunState, drawn: list[Path]) -> list[Roof]:
    """The roofs of the devices that computed these arms, as far as the arms reach."""
    point, found = summary_point(state), dict[str, tuple[DeviceRoofs, set[str]]]()
    for path in drawn:
        arm = state.arms[path.arm]
        known, work = roofs_of(state, arm), work_of(state, arm, point)
        name = device_of(arm, point) or ""
        name = name if family(name) == "GPU" else "CPU:0"
        if path.points and known is not None and work is not None and name in known.devices:
            found.setdefault(name, (known.devices[name], set()))[1].add(work.dtype)
    reach = [x for path in drawn for x, _ in path.points]
    return [
        roof
        for name, (device, dtypes) in found.items()
        for roof in _roofs(name, device, dtypes, min(reach) / MARGIN, max(reach) * MARGIN)
    ]


def _path(state: RunState, arm: ArmState) -> Points:
    found = [against_roof(state, arm, point.index) for point in state.points]
    every = (
        (roof.flop / roof.bytes, roof.flop_per_s)
        for roof in found
        if roof is not None and roof.flop and roof.bytes and roof.flop_per_s
    )
    return tuple(sorted(every))


def _roofs(name: str, device: DeviceRoofs, dtypes: set[str], low: float, high: float) -> list[Roof]:
    """Memory's slope up to the highest peak in use, the fastest cache's, and the peaks."""
    tops = dict(found for dtype in sorted(dtypes) if (found := peak(device, dtype)))
    by_height = sorted(tops.items(), reverse=True)[:MOST_PEAKS]
    if not by_height or not device.memory:
        return []
    memory = device.memory[-1].bytes_per_s
    cache = max(level.bytes_per_s for level in device.memory)
    highest = by_height[0][0]
    high = max(high, highest / memory * MARGIN)
    out = [_slope(f"{name} memory", f"memory {rate(memory, 'B/s')}", memory, highest, low)]
    if cache > memory:
        out.append(_slope(f"{name} cache", f"cache {rate(cache, 'B/s')}", cache, highest, low))
    for top, dtype in by_height:
        level = (max(low, top / cache), top), (high, top)
        out.append(Roof(f"{name} {dtype}", f"{dtype} {rate(top, 'FLOP/s')}", level))
    return out


def _slope(key: str, label: str, bytes_per_s: float, top: float, low: float) -> Roof:
    """What so many bytes a second can feed, up to the top."""
    ends = low, max(low, top / bytes_per_s)
    return Roof(key, label, tuple((x, min(top, bytes_per_s * x)) for x in ends))
