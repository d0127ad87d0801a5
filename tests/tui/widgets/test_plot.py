"""The plot: what a drawing says without colour, and what it costs to repaint."""

from array import array

import pytest
from rich.color import ColorSystem
from textual.color import Color

from tests.tui.data import ARMS, arm_results, run_result, run_state
from tests.tui.widgets.bench import bench, press, rows, shown
from tuilab.model import events as e
from tuilab.model.run import RunState
from tuilab.tui.widgets.chart import Axis, Chart, Series, Thinned
from tuilab.tui.widgets.from_run import live_chart, rounded, sweep_chart
from tuilab.tui.widgets.look import Mark, hue_color, marks_for
from tuilab.tui.widgets.plot import Plot, raster

MARKS = marks_for(ARMS)


@pytest.mark.parametrize(
    ("x", "y", "found"),
    [
        ([0.0, 1.0], [0.0, 1.0], [9, -1, -1, 0]),
        ([-1.0, 0.5, 2.0], [0.5, 7.0, 0.5], [-1] * 4),
    ],
    ids=["corners", "beyond"],
)
def test_raster_puts_the_corners_into_the_corners_and_cuts_off_what_lies_beyond(x, y, found):
    lines = raster(10, 4, x, y, False, "x")
    assert [line.find("x") for line in lines] == found and {len(line) for line in lines} == {10}


def test_raster_connects_points_with_dots_of_braille():
    drawn = "".join(raster(10, 4, [0.0, 1.0], [0.0, 1.0], True, "braille")).replace(" ", "")
    assert drawn and all("\u2800" < character <= "\u28ff" for character in drawn)


async def test_every_series_is_there_by_marker_and_label():
    figures = {arm.id: arm for arm in arm_results()}
    plot = Plot(live_chart(run_state(60), MARKS, figures=figures))
    async with bench(plot, 100, 30):
        text = shown(plot)
        for arm in arm_results():
            assert f"{MARKS[arm.id].marker} {arm.label} " in text
        for arm in arm_results():
            assert text.count(MARKS[arm.id].marker) > 2, arm.label
        assert "█" in text, "each arm's distribution stands beside its name"
        assert "478 µs" in text and "ms" in text


async def test_a_missing_arm_says_why_in_the_legend():
    plot = Plot(live_chart(run_state(20, gpu=False), MARKS))
    async with bench(plot, 120, 24):
        assert "GPU eager unavailable" in shown(plot)


async def test_a_sweep_shows_its_crossover_and_powers_of_two():
    plot = Plot(sweep_chart(run_result(), MARKS))
    async with bench(plot, 100, 30):
        text = shown(plot)
        assert "crossover 18k" in text and "┊" in text
        assert "256" in text and "16k" in text and "samples" in text


async def test_without_points_a_sentence_says_why():
    plot = Plot(empty="Press r to measure.")
    async with bench(plot, 80, 12):
        assert "Press r to measure." in shown(plot)


async def test_ghosts_lie_under_the_run_and_out_of_the_legend():
    ghost, live = run_state(30, run="old"), run_state(30, run="old")
    live.run = "new"
    alone, both = Plot(live_chart(live, MARKS)), Plot(live_chart(live, MARKS, ghosts=[ghost]))
    async with bench(alone, 100, 24):
        before = rows(alone)
    async with bench(both, 100, 24):
        after = rows(both)
    assert "faint: earlier runs" in after[0]
    assert before[1:] == after[1:]


def warming(*events) -> RunState:
    state = run_state(0)
    for event in (e.FirstCalls(run="r1", arm=ARMS[0].id, point=0, first_s=0.2, second_s=2e-3), *events):
        state.apply(event)
    return state


async def test_the_warm_up_is_seen_before_the_first_round_and_gone_after_it():
    state = warming(e.WarmUp(run="r1", arm=ARMS[0].id, point=0, samples_s=(1.5e-3, 1.2e-3)))
    plot = Plot(live_chart(state, MARKS))
    async with bench(plot, 100, 24) as pilot:
        text = shown(plot)
        assert "warming up: not counted" in text and "block" in text
        assert text.count(MARKS[ARMS[0].id].marker) >= 1 + 1, "the trace's last sample and the legend"
        block = e.Block(ARMS[0].id, 0, 8, 8e-3)
        state.apply(e.Round(run="r1", index=0, blocks=(block,), elapsed_s=0.1))
        plot.chart = live_chart(state, MARKS)
        await pilot.pause()
        text = shown(plot)
        assert "warming up" not in text and "round" in text
        assert text.count(MARKS[ARMS[0].id].marker) == 1 + 1


async def test_the_second_call_is_the_first_sample_and_earlier_runs_stay_under_it():
    plot = Plot(live_chart(warming(), MARKS, ghosts=[run_state(30, run="old")]))
    async with bench(plot, 100, 24):
        assert "warming up: not counted · faint: earlier runs" in rows(plot)[0]


def test_a_run_that_ended_before_its_first_round_shows_no_warm_up():
    state = warming(e.Finished(run="r1", status="cancelled"))
    assert not any(len(series.x) for series in live_chart(state, MARKS).series)


async def test_axes_stay_while_data_grows_inside_and_start_afresh_with_another_run():
    x: list[float] = [0, 1, 2]
    y: list[float] = [1e-3, 1.1e-3, 1.2e-3]
    chart = Chart("run", [Series("a", "a", Mark("h0", "•"), x, y)], Axis("round", low=0.0), Axis(kind="time"))
    plot = Plot(chart)
    async with bench(plot, 80, 20) as pilot:
        foot = rows(plot)[-1]
        for i in range(3, 20):
            x.append(i)
            y.append(1.15e-3)
            plot.chart = chart
            await pilot.pause()
        grown = rows(plot)[-1]
        assert grown != foot and "20" in grown
        plot.chart = Chart("other", [Series("a", "a", Mark("h0", "•"), x[:3], y[:3])], chart.x, chart.y)
        await pilot.pause()
        assert rows(plot)[-1] == foot


async def test_a_hidden_plot_is_not_painted_until_it_shows(monkeypatch):
    painted = []
    original = Plot.paint
    monkeypatch.setattr(Plot, "paint", lambda self, w, h: (painted.append(1), original(self, w, h))[1])
    plot = Plot(live_chart(run_state(10), MARKS))
    async with bench(plot, 80, 20) as pilot:
        plot.display = False
        await pilot.pause()
        painted.clear()
        for n in (20, 30, 40):
            plot.chart = live_chart(run_state(n, run=f"r{n}"), MARKS)
            await pilot.pause()
        assert painted == []
        plot.display = True
        await pilot.pause()
        assert painted
        assert "40" in rows(plot)[-1]


def test_sizes_are_rounded_to_two_digits():
    assert [rounded(v) for v in (18_340.0, 977.0, 15.2, 1_260_000.0)] == ["18k", "980", "15", "1.3M"]


async def test_the_cursor_reads_points_out_by_keys_and_by_mouse():
    state = run_state(30)
    figures = {arm.id: arm for arm in arm_results()}
    plot = Plot(live_chart(state, MARKS, figures=figures))
    async with bench(plot, 110, 24) as pilot:
        await press(pilot, "home right right")
        assert "round 0" not in rows(plot)[0] and "the median" in rows(plot)[0]
        first = rows(plot)[0]
        await press(pilot, "up " * 10 + "down")
        assert rows(plot)[0] != first, "another series"
        await press(pilot, "escape")
        assert "round " not in rows(plot)[0]
        await pilot.hover(Plot, offset=(20, 10))
        await pilot.pause()
        said = rows(plot)[0]
        assert "round " in said
        await pilot.click(Plot, offset=(20, 10))
        await pilot.hover(Plot, offset=(30, 4))
        await pilot.pause()
        assert rows(plot)[0] == said, "a click keeps the point"


def test_a_ghost_never_moves_the_axes():
    live, ghost = run_state(10), run_state(40, run="old")
    for arm in ghost.arms.values():
        for cell in arm.cells.values():
            cell.samples = type(cell.samples)(cell.samples.typecode, (100 * s for s in cell.samples))
    alone, both = Plot(live_chart(live, MARKS)), Plot(live_chart(live, MARKS, ghosts=[ghost]))
    ends = []
    for plot in (alone, both):
        points = {s.key: plot._points(s.key, s.x, s.y, 80) for s in plot.chart.series}
        ends.append(plot._limits(points))
    assert ends[0] == ends[1]


def test_a_trace_of_a_long_run_goes_through_the_medians():
    y = array("d", (1.0 + (10.0 if i % 50 == 0 else 0.0) for i in range(10_000)))
    thinned = Thinned(range(len(y)), y)
    xs, ys = thinned.middles(80)
    assert len(xs) == len(ys) <= 161 and set(ys) == {1.0}
    assert max(thinned.points(80)[1]) == 11.0, "spikes survive as extremes"


@pytest.mark.parametrize("dark", [True, False])
def test_cpu_and_gpu_hues_are_two_families_and_modes_differ_in_256_colours(dark):
    hues = {
        name: Color.parse(hue_color(name, dark)) for name in ("cpu0", "cpu1", "cpu2", "gpu0", "gpu1", "gpu2")
    }
    for name, color in hues.items():
        red, _, blue = color.rgb
        assert (blue > red) == name.startswith("cpu"), name
    near = {name: color.rich_color.downgrade(ColorSystem.EIGHT_BIT).number for name, color in hues.items()}
    assert len(set(near.values())) == 6
