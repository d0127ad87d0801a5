"""Draws the roofline chart of a run: the roofs as lines, and each arm as a point or as a path over sizes."""

from collections.abc import Callable, Sequence

from tuilab.analysis.reading import device_of, summary_point
from tuilab.analysis.roofline import Raised, needed, peak, raised, work_of
from tuilab.analysis.roofline_words import against_roof, level_name
from tuilab.model.arms import family
from tuilab.model.quantity import rate
from tuilab.model.roofline import DeviceRoofs, MemoryRoof, binding
from tuilab.model.run import ArmState, RunState
from tuilab.report.axes import PlotAxis
from tuilab.report.chart import Chart, Series

MARGIN = 3.0
"""Factor by which the roofs extend beyond the outermost points of the arms."""
MOST_PEAKS = 3


def roofline_chart(state: RunState, shown: Callable[[str], bool] = lambda arm: True) -> Chart:
    """Return a log-log chart of FLOP per second against FLOP per byte. In a sweep, each arm is a path over
    its sizes.

    An arm without counted arithmetic, such as a copy, appears only in the legend. An arm that was not
    measured, or whose work is unknown, does not appear.
    """
    arms = [path for arm in state.arms.values() if shown(arm.arm.id) and (path := _path(state, arm))]
    return Chart(
        key=f"{state.run} roofline",
        series=[*arms, *_roofs(state, arms)],
        x=PlotAxis("FLOP per byte", "plain", log=True),
        y=PlotAxis("FLOP per second", "rate", log=True),
    )


def _path(state: RunState, arm: ArmState) -> Series | None:
    """Return an arm's points at all measured sizes, in order of FLOP per byte; None if the arm's work is
    unknown.
    """
    here = summary_point(state)
    roofs = raised(state, arm, here)
    reached = [against_roof(state, arm, point.index, roofs) for point in state.points]
    points = sorted(
        (roof.flop / roof.bytes, roof.flop_per_s)
        for roof in reached
        if roof is not None and roof.flop and roof.bytes and roof.flop_per_s
    )
    named = against_roof(state, arm, here, roofs)
    if named is None and not points:
        return None
    share = f"{named.share_words}, " if named is not None and named.share is not None else ""
    by = binding(named.bound_by) if named is not None else ""
    note = f"{share}{by}" if points else f"no arithmetic counted; {by}"
    xs, ys = zip(*points, strict=True) if points else ((), ())
    return Series(arm.arm.id, arm.label, xs, ys, "curve", arm.arm.id, note=note)


def _roofs(state: RunState, drawn: Sequence[Series]) -> list[Series]:
    point, roofs = summary_point(state), dict[str, tuple[Raised, set[str]]]()
    for path in drawn:
        arm = state.arms[path.arm]
        known, work = raised(state, arm, point), work_of(state, arm, point)
        name = device_of(arm, point) or ""
        name = name if family(name) == "GPU" else "CPU:0"
        if path.x and known is not None and work is not None:
            roofs.setdefault(name, (known, set()))[1].update(needed(work) or {work.dtype: 0.0})
    reach = [x for path in drawn for x in path.x]
    return [
        roof
        for name, (device, dtypes) in roofs.items()
        for roof in _device(name, device.roofs, dtypes, min(reach) / MARGIN, max(reach) * MARGIN)
    ]


def _device(name: str, device: DeviceRoofs, dtypes: set[str], low: float, high: float) -> list[Series]:
    """Return a device's roofs as lines: its peak rates, and the slopes of its memory and its fastest
    cache.
    """
    tops = dict(found for dtype in sorted(dtypes) if (found := peak(device, dtype)))
    by_height = sorted(tops.items(), reverse=True)[:MOST_PEAKS]
    if not by_height or not device.memory:
        return []
    memory = device.memory[-1].bytes_per_s
    fastest = max(device.memory, key=lambda level: level.bytes_per_s)
    cache = fastest.bytes_per_s
    highest = by_height[0][0]
    high = max(high, highest / memory * MARGIN)

    def line(what: str, label: str, *ends: tuple[float, float]) -> Series:
        (x, y), (until, top) = ends
        return Series(f"{name} {what}", label, (x, until), (y, top), "line")

    def slope(level: MemoryRoof) -> list[Series]:
        """Return the line on which a memory bandwidth limits the FLOP rate, up to the highest peak; [] if it
        is outside of the plot.
        """
        per_s, what = level.bytes_per_s, level_name(device.memory, level)
        if per_s * low >= highest:
            return []
        ends = (low, per_s * low), (highest / per_s, highest)
        return [line(what.partition(" ")[0], f"{what} {rate(per_s, 'B/s')}", *ends)]

    out = [*slope(device.memory[-1]), *(slope(fastest) if cache > memory else [])]
    for top, dtype in by_height:
        out.append(line(dtype, f"{dtype} {rate(top, 'FLOP/s')}", (max(low, top / cache), top), (high, top)))
    return out
