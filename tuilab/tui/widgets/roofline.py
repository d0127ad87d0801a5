"""From a run to its roofline plot: arms as points under the roofs of the device that computed. Pure."""

from collections.abc import Callable, Mapping

from tuilab.lab.roofline import paths, roofs
from tuilab.model.run import RunState
from tuilab.report.axes import Axis
from tuilab.tui.widgets.chart import Chart, Series
from tuilab.tui.widgets.look import Mark

ROOF = Mark("muted", "─")


def roofline_chart(
    state: RunState, marks: Mapping[str, Mark], *, shown: Callable[[str], bool] = lambda arm: True
) -> Chart:
    """FLOP a byte against FLOP a second, on log scales; in a sweep an arm's path over all of its sizes.

    An arm that computes nothing that is counted (a copy) stands in the legend alone; one without figures or
    whose work is not known is left out.
    """
    drawn = paths(state, lambda arm: arm in marks and shown(arm))
    series = [
        Series(
            path.arm,
            path.label,
            marks[path.arm],
            [x for x, _ in path.points],
            [y for _, y in path.points],
            "linepoints" if len(path.points) > 1 else "points",
            note=path.note,
        )
        for path in drawn
    ]
    for roof in roofs(state, drawn):
        xs, ys = zip(*roof.points, strict=True)
        series.append(Series(roof.key, roof.label, ROOF, xs, ys, "line"))
    return Chart(
        key=f"{state.run} roofline",
        series=series,
        x=Axis("FLOP a byte", "plain", log=True),
        y=Axis("FLOP a second", "rate", log=True),
    )
