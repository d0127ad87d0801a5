"""The plot without color, and the cost of repainting it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from textual.color import Color

from tests.tui.data import ARMS, arm_results, run_result, run_state
from tests.tui.widgets.bench import bench, press, rows, shown
from tuilab.model import events as e
from tuilab.model.run import RunState
from tuilab.report.axes import PlotAxis
from tuilab.report.chart import Chart, Series, live_chart
from tuilab.report.sweep import sweep_chart
from tuilab.tui.widgets.look import hue_color, marks_for
from tuilab.tui.widgets.plot import Plot, raster, spread

MARKS = marks_for(ARMS)


def plotted(chart: Chart) -> Plot:
    plot = Plot()
    plot.show_chart(chart, MARKS)
    return plot


@pytest.mark.parametrize(
    ("x", "y", "found"),
    [
        ([0.0, 1.0], [0.0, 1.0], [9, -1, -1, 0]),
        ([-1.0, 0.5, 2.0], [0.5, 7.0, 0.5], [-1] * 4),
    ],
    ids=["corners", "beyond"],
)
def test_raster_places_corners_exactly_and_clips_the_rest(x, y, found):
    lines = raster(10, 4, (x, y), False, "x")
    assert [line.find("x") for line in lines] == found and {len(line) for line in lines} == {10}


def test_raster_connects_points_with_braille_dots():
    drawn = "".join(raster(10, 4, ([0.0, 1.0], [0.0, 1.0]), True, "braille")).replace(" ", "")
    assert drawn and all("\u2800" < character <= "\u28ff" for character in drawn)


async def test_every_series_has_marker_and_label():
    figures = {arm.id: arm for arm in arm_results()}
    plot = plotted(live_chart(run_state(60), figures=figures))
    async with bench(plot, 100, 30):
        text = shown(plot)
        for arm in arm_results():
            assert f"{MARKS[arm.id].marker} {arm.label} " in text
        for arm in arm_results():
            assert text.count(MARKS[arm.id].marker) > 2, arm.label
        assert "█" in text, "each arm's distribution is next to its name"
        assert "478 µs" in text and "ms" in text


async def test_a_missing_arm_says_why_in_the_legend():
    plot = plotted(live_chart(run_state(20, gpu=False)))
    async with bench(plot, 120, 24):
        assert "GPU eager unavailable" in shown(plot)


async def test_a_sweep_shows_its_crossover_and_powers_of_two():
    plot = plotted(sweep_chart(run_result()))
    async with bench(plot, 100, 30):
        text = shown(plot)
        assert "crossover 18k" in text and "┊" in text
        assert "256" in text and "16k" in text and "samples" in text


async def test_without_points_a_sentence_says_why():
    plot = Plot(empty="Press r to measure.")
    async with bench(plot, 80, 12):
        assert "Press r to measure." in shown(plot)


async def test_ghosts_are_drawn_under_the_run_and_not_in_the_legend():
    ghost, live = run_state(30, run="old"), run_state(30, run="old")
    live.run = "new"
    alone, both = plotted(live_chart(live)), plotted(live_chart(live, ghosts=[ghost]))
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


async def test_the_warm_up_is_shown_only_before_the_first_round():
    state = warming(e.WarmUp(run="r1", arm=ARMS[0].id, point=0, samples_s=(1.5e-3, 1.2e-3)))
    plot = plotted(live_chart(state))
    async with bench(plot, 100, 24) as pilot:
        text = shown(plot)
        assert "warming up: not counted" in text and "block" in text
        assert text.count(MARKS[ARMS[0].id].marker) >= 1 + 1, "the trace's last sample and the legend"
        block = e.Block(ARMS[0].id, 0, 8, 8e-3)
        state.apply(e.Round(run="r1", index=0, blocks=(block,), elapsed_s=0.1))
        plot.show_chart(live_chart(state), MARKS)
        await pilot.pause()
        text = shown(plot)
        assert "warming up" not in text and "round" in text
        assert text.count(MARKS[ARMS[0].id].marker) == 1 + 1


async def test_during_the_warm_up_waiting_arms_are_counted():
    warm, now, *rest = ARMS
    state = warming(e.WarmUp(run="r1", arm=warm.id, point=0, samples_s=(1.5e-3, 1.2e-3)))
    state.apply(e.Progress(run="r1", stage="building", arm=now.id))
    async with bench(plotted(live_chart(state)), 100, 24) as pilot:
        said = shown(pilot.app.query_one(Plot))
        assert state.arms[warm.id].label in said and state.arms[now.id].label in said
        assert f"{len(rest)} arms to follow" in said
        assert not any(state.arms[arm.id].label in said for arm in rest)


def test_input_on_a_gpu_is_explained_if_there_is_one():
    assert "on the GPU" in live_chart(run_state(1)).title
    host = live_chart(run_state(1, gpu=False), shown=lambda arm: arm.startswith("cpu"))
    assert "on the GPU" not in host.title
    state = run_state(1, gpu=False)
    for known in state.arms.values():
        known.label = f"{known.label} resident"  # a variant may be named "resident"
    assert "on the GPU" not in live_chart(state, shown=lambda arm: arm.startswith("cpu")).title


async def test_the_second_call_is_the_first_sample_and_ghosts_stay_below():
    plot = plotted(live_chart(warming(), ghosts=[run_state(30, run="old")]))
    async with bench(plot, 100, 24):
        assert "warming up: not counted · faint: earlier runs" in rows(plot)[0]


def test_a_run_that_ended_before_its_first_round_shows_no_warm_up():
    state = warming(e.Finished(run="r1", status="cancelled"))
    assert not any(len(series.x) for series in live_chart(state).series)


async def test_axes_stay_while_data_fits_and_reset_with_another_run():
    x: list[float] = [0, 1, 2]
    y: list[float] = [1e-3, 1.1e-3, 1.2e-3]
    chart = Chart("run", [Series("a", "a", x, y, "curve")], PlotAxis("round", low=0.0), PlotAxis(kind="time"))
    plot = plotted(chart)
    async with bench(plot, 80, 20) as pilot:
        foot = rows(plot)[-1]
        for i in range(3, 20):
            x.append(i)
            y.append(1.15e-3)
            plot.show_chart(chart, MARKS)
            await pilot.pause()
        grown = rows(plot)[-1]
        assert grown != foot and "20" in grown
        plot.show_chart(Chart("other", [Series("a", "a", x[:3], y[:3], "curve")], chart.x, chart.y), MARKS)
        await pilot.pause()
        assert rows(plot)[-1] == foot


async def test_a_hidden_plot_is_not_painted(monkeypatch):
    painted = []
    original = Plot.paint
    monkeypatch.setattr(Plot, "paint", lambda self, w, h: (painted.append(1), original(self, w, h))[1])
    plot = plotted(live_chart(run_state(10)))
    async with bench(plot, 80, 20) as pilot:
        plot.display = False
        await pilot.pause()
        painted.clear()
        for n in (20, 30, 40):
            plot.show_chart(live_chart(run_state(n, run=f"r{n}")), MARKS)
            await pilot.pause()
        assert painted == []
        plot.display = True
        await pilot.pause()
        assert painted
        assert "40" in rows(plot)[-1]


@given(st.lists(st.floats(0, 19), max_size=20))
def test_labels_have_rows_in_the_order_of_their_values(wanted):
    rows = spread(wanted, 20)
    assert len(set(rows)) == len(rows) and all(0 <= row < 20 for row in rows)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert [rows[i] for i in order] == sorted(rows)


async def test_the_cursor_reads_out_points_by_keys_and_mouse():
    state = run_state(30)
    figures = {arm.id: arm for arm in arm_results()}
    plot = plotted(live_chart(state, figures=figures))
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
        assert rows(plot)[0] == said, "a click pins the point"


async def test_new_samples_leave_the_cursor_on_a_drawn_point():
    grown = [3.0, 4.0]
    chart = Chart(series=(Series("a", "CPU graph", range(2), grown),))
    plot = plotted(chart)
    async with bench(plot, 110, 24) as pilot:
        grown += [5.0, 6.0]
        await press(pilot, "up end right")
        assert "CPU graph, " in rows(plot)[0] and "4" in rows(plot)[0]


async def test_a_ghost_never_moves_the_axes():
    live, ghost = run_state(10), run_state(40, run="old")
    for arm in ghost.arms.values():
        for cell in arm.cells.values():
            cell.samples = type(cell.samples)(cell.samples.typecode, (100 * s for s in cell.samples))
    alone, both = plotted(live_chart(live)), plotted(live_chart(live, ghosts=[ghost]))
    ends = []
    for plot in (alone, both):
        async with bench(plot, 100, 24):
            *body, foot = rows(plot)
            ends.append([*(row[:5] for row in body[1:]), foot])
    assert ends[0] == ends[1]


@pytest.mark.parametrize("dark", [True, False])
def test_cpu_and_gpu_hues_form_two_families_and_modes_differ_in_256_colours(dark):
    hues = {
        name: Color.parse(hue_color(name, dark)) for name in ("cpu0", "cpu1", "cpu2", "gpu0", "gpu1", "gpu2")
    }
    for name, color in hues.items():
        red, _, blue = color.rgb
        assert (blue > red) == name.startswith("cpu"), name
    near = {name: color.rich_color.downgrade(ColorSystem.EIGHT_BIT).number for name, color in hues.items()}
    assert len(set(near.values())) == 6
