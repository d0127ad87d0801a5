"""A run under its machine's roofs: arms as paths over sizes, roofs as lines that none of them can pass."""

from collections.abc import Callable, Sequence

from tuilab.analysis.reading import device_of, roofs_of, summary_point
from tuilab.analysis.roofline import against_roof, peak, work_of
from tuilab.model.arms import family
from tuilab.model.quantity import rate, share_words
from tuilab.model.roofline import DeviceRoofs
from tuilab.model.run import ArmState, RunState
from tuilab.report.axes import Axis
from tuilab.report.chart import Chart, Series

MARGIN = 3.0
"""How far the roofs reach beyond the leftmost and the rightmost point, as a factor."""
MOST_PEAKS = 3


def roofline_chart(state: RunState, shown: Callable[[str], bool] = lambda arm: True) -> Chart:
    """FLOP a byte against FLOP a second, on log scales; in a sweep an arm's path over all of its sizes.

    An arm that computes nothing that is counted (a copy) stands in the legend alone, with its share of the
    roof and what it is bound by; one without figures or whose work is not known is left out.
    """
    arms = [path for arm in state.arms.values() if shown(arm.arm.id) and (path := _path(state, arm))]
    return Chart(
        key=f"{state.run} roofline",
        series=[*arms, *_roofs(state, arms)],
        x=Axis("FLOP a byte", "plain", log=True),
        y=Axis("FLOP a second", "rate", log=True),
    )


def _path(state: RunState, arm: ArmState) -> Series | None:
    """An arm at each size that was measured, from the least intense on; None where nothing is known."""
    found = [against_roof(state, arm, point.index) for point in state.points]
    points = sorted(
        (roof.flop / roof.bytes, roof.flop_per_s)
        for roof in found
        if roof is not None and roof.flop and roof.bytes and roof.flop_per_s
    )
    here = against_roof(state, arm, summary_point(state))
    if here is None and not points:
        return None
    share = f"{share_words(here.share)}, " if here is not None and here.share is not None else ""
    by = here.bound_by if here is not None else ""
    note = f"{share}{by}" if points else f"no arithmetic counted; {by}"
    xs, ys = zip(*points, strict=True) if points else ((), ())
    return Series(arm.arm.id, arm.label, xs, ys, "curve", arm.arm.id, note=note)


def _roofs(state: RunState, drawn: Sequence[Series]) -> list[Series]:
    """The roofs of the devices that computed these arms, as far as the arms reach."""
    point, found = summary_point(state), dict[str, tuple[DeviceRoofs, set[str]]]()
    for path in drawn:
        arm = state.arms[path.arm]
        known, work = roofs_of(state, arm), work_of(state, arm, point)
        name = device_of(arm, point) or ""
        name = name if family(name) == "GPU" else "CPU:0"
        if path.x and known is not None and work is not None and name in known.devices:
            found.setdefault(name, (known.devices[name], set()))[1].add(work.dtype)
    reach = [x for path in drawn for x in path.x]
    return [
        roof
        for name, (device, dtypes) in found.items()
        for roof in _device(name, device, dtypes, min(reach) / MARGIN, max(reach) * MARGIN)
    ]


def _device(name: str, device: DeviceRoofs, dtypes: set[str], low: float, high: float) -> list[Series]:
    """Memory's slope up to the highest peak in use, the fastest cache's, and the peaks."""
    tops = dict(found for dtype in sorted(dtypes) if (found := peak(device, dtype)))
    by_height = sorted(tops.items(), reverse=True)[:MOST_PEAKS]
    if not by_height or not device.memory:
        return []
    memory = device.memory[-1].bytes_per_s
    cache = max(level.bytes_per_s for level in device.memory)
    highest = by_height[0][0]
    high = max(high, highest / memory * MARGIN)

    def line(what: str, label: str, *ends: tuple[float, float]) -> Series:
        (x, y), (until, top) = ends
        return Series(f"{name} {what}", label, (x, until), (y, top), "line")

    def slope(what: str, bytes_per_s: float) -> Series:
        """What so many bytes a second can feed, up to the highest peak."""
        ends = ((x, min(highest, bytes_per_s * x)) for x in (low, max(low, highest / bytes_per_s)))
        return line(what, f"{what} {rate(bytes_per_s, 'B/s')}", *ends)

    out = [slope("memory", memory), *([slope("cache", cache)] if cache > memory else [])]
    for top, dtype in by_height:
        out.append(line(dtype, f"{dtype} {rate(top, 'FLOP/s')}", (max(low, top / cache), top), (high, top)))
    return out
