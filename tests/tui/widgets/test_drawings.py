import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.containers import VerticalScroll

from tests.made import account
from tests.tui.data import (
    ARMS,
    arm_results,
    device_sample,
    map_result,
    profile,
    run_result,
)
from tests.tui.widgets.bench import bench, press, rows, shown
from tuilab.model.account import NOT_KNOWN
from tuilab.model.result import ArmResult, Ratio, RunResult
from tuilab.model.telemetry import GpuProcess
from tuilab.presentation.answer import Said
from tuilab.presentation.devices import devices
from tuilab.report import rows as rows_of
from tuilab.report.rows import to_fastest
from tuilab.report.sweep import heat_of
from tuilab.tui.filters import asciify
from tuilab.tui.widgets import bars, heatmap, phases
from tuilab.tui.widgets.answer import AnswerPanel, lay_out, numbers_strong
from tuilab.tui.widgets.bars import Bars
from tuilab.tui.widgets.device_panel import DevicePanel, level
from tuilab.tui.widgets.heatmap import HeatMap
from tuilab.tui.widgets.look import BLOCKS, MUTED, STRONG, Mark, gauge, marks_for
from tuilab.tui.widgets.numbers import Numbers
from tuilab.tui.widgets.phases import Phases
from tuilab.tui.widgets.timeline import HUES, Timeline

MARKS = marks_for(ARMS)
MARK = Mark("h0", "•")


def arm(median: float | None, **fields):
    return msgspec.structs.replace(
        arm_results()[0], **{"id": "a", "label": "a", "median_s": median, "ci95_s": None, **fields}
    )


def phased(total: float, parts: dict[str, float], halves: dict[str, float] | None = None) -> ArmResult:
    found = account(total, halves, **parts)
    return arm(total, account=found, phases_s={part.phase: part.seconds for part in found.parts})


def text_of(lines) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


# Bars


def barred(result: RunResult) -> Bars:
    widget = Bars()
    widget.show_result(result, MARKS)
    return widget


def result_of(*arms) -> RunResult:
    return msgspec.structs.replace(run_result(), arms=arms, ratios=())


def test_bars_are_ordered_with_ratios_to_the_fastest():
    wide, narrow = (text_of(barred(run_result()).paint(width, 8)[:6]) for width in (80, 60))
    medians = sorted(arm_results(), key=lambda arm: arm.median_s)
    assert all(arm.label in line for arm, line in zip(medians, wide, strict=True))
    assert wide[0].endswith("fastest") and wide[-1].endswith("9.04× [8.89 9.20]")
    assert narrow[-1].endswith(" 9.04×")


def test_a_ratio_of_arms_in_reverse_order_is_inverted():
    fast, slow = arm(1.0, id="a"), arm(4.0, id="b")
    turned = msgspec.structs.replace(result_of(slow, fast), ratios=(Ratio("a", "b", 0.25, (0.2, 0.5)),))
    found = to_fastest(turned)["b"]
    assert (found.ratio, found.interval) == (4.0, (2.0, 5.0))
    found = to_fastest(result_of(slow, fast))["b"]
    assert (found.ratio, found.interval) == (4.0, None) and to_fastest(result_of()) == {}


def test_a_ratio_of_rounds_is_labelled_and_decides_which_arm_is_fastest():
    least, other = arm(1.0, id="a"), arm(1.2, id="b")
    result = msgspec.structs.replace(result_of(least, other), ratios=(Ratio("b", "a", 0.863, (0.8, 0.9)),))
    drawn = text_of(barred(result).paint(80, 4))
    assert "fastest" not in "".join(drawn) and drawn[0].endswith("smallest median")
    assert drawn[1].endswith("0.863× [0.800 0.900]") and drawn[2].endswith("round by round")
    assert text_of(barred(result).paint(60, 4))[2].endswith("of rounds")
    apart = msgspec.structs.replace(result, ratios=(Ratio("b", "a", 1.25, (1.2, 1.3), paired=False),))
    assert text_of(barred(apart).paint(80, 4))[2].endswith("of means")
    assert "round" not in "".join(text_of(barred(result_of(least, other)).paint(80, 4)))


def test_an_arm_that_did_not_run_shows_its_reason_instead_of_a_bar():
    assert "no GPU is visible" in text_of(barred(run_result(gpu=False)).paint(80, 20))[-1 - 2]


@given(st.lists(st.floats(1e-7, 10.0), min_size=1, max_size=8), st.integers(40, 160))
def test_bars_are_as_long_as_their_values(values, width):
    arms = [arm(value, id=f"{number}") for number, value in enumerate(sorted(values))]
    scale = bars.scale_for(arms, width, log=False)
    lengths = []
    for one in arms:
        line = "".join(text for text, _ in scale.drawn(one, MARK))
        lengths.append(sum(BLOCKS.index(c) / 8 for c in line))
        exact = one.median_s / scale.ends[1] * width
        assert abs(lengths[-1] - exact) <= 0.51 / 8 or (lengths[-1] == 1 / 8 and exact < 1)
    assert lengths == sorted(lengths)


def test_only_wide_intervals_have_whiskers():
    wide, narrow = (msgspec.structs.replace(arm(1.0), ci95_s=ends) for ends in ((0.5, 1.4), (0.999, 1.001)))
    assert "├" in text_of(barred(result_of(wide)).paint(80, 4))[0]
    assert "├" not in text_of(barred(result_of(narrow)).paint(80, 4))[0]


async def test_keys_and_clicks_move_the_cursor():
    widget = barred(run_result())
    async with bench(widget, 80, 20) as pilot:
        await press(pilot, "down percent_sign")
        assert widget.picked.id == ARMS[2].id
        assert "●" in shown(widget)
        await pilot.click(Bars, offset=(4, 0))
        await pilot.pause()
        assert widget.picked.id == ARMS[1].id


# Phases


@given(
    st.dictionaries(st.sampled_from(["dispatch", "copy_in", "compute", "mine"]), st.floats(0, 1), min_size=1),
    st.floats(1e-6, 2.0),
    st.integers(1, 120),
)
def test_segments_have_exactly_their_share(parts, more, cells):
    row = phased(sum(parts.values()) + more, parts)
    looks, length = phases.looks_of([row]), row.median_s
    runs = phases.stacked(row, looks, length, cells)
    assert sum(len(text) for text, _ in runs) == cells
    half = phases.stacked(row, looks, 2 * length, cells)
    assert abs(sum(len(text) for text, _ in half) - cells / 2) <= 1


def test_phases_in_words_add_up_to_the_whole():
    timed = phased(483e-6, {"dispatch": 110e-6, "copy_in": 60e-6}, {"dispatch": 4e-6})
    words = rows_of.phase_line(timed)
    assert (
        words == "a: 480 µs = dispatch 110 µs ± 4.0 µs (23%) + copy in 60.0 µs (12%) + not known 313 µs (65%)"
    )
    assert rows_of.phases_known_from(timed) == "Profiled: dispatch, copy in."


def test_phases_say_why_something_is_unknown_and_what_profiling_cost():
    row = phased(1e-3, {"compute": 4e-4})
    text = msgspec.structs.replace(row.account, note="the profiler recorded no calls", cost_s=0.21)
    said = rows_of.phases_known_from(msgspec.structs.replace(row, account=text))
    assert said == (
        "The profiler recorded no calls. Profiled: compute. Profiling took 210 ms after the rounds."
    )


def test_known_phases_keep_their_style_and_unknown_ones_get_their_own():
    looks = phases.looks_of([phased(1.0, dict.fromkeys(["mine", "compute", "yours", "dispatch"], 0.1))])
    assert list(looks) == ["dispatch", "compute", "mine", "yours", NOT_KNOWN]
    assert len({(style.name, fill) for style, fill in looks.values()}) == 5
    assert phases.looks_of([phased(1.0, {"compute": 0.1})])["compute"] == looks["compute"]


def test_known_phases_differ_without_colours_and_in_ascii():
    fills = [fill for _, fill in phases.KNOWN.values()]
    assert len(set(fills)) == len(set(map(asciify, fills))) == len(fills)


async def test_phases_that_were_not_measured_say_why():
    widget = Phases(empty="Switched off.")
    widget.show_arms([arm(None, account=None, phases_s={})], {})
    async with bench(widget, 80, 10):
        assert "Switched off." in shown(widget)


async def test_every_part_of_an_account_comes_before_its_source():
    measured = next(arm for arm in arm_results() if arm.phases_s)
    whole = " ".join(rows_of.phase_line(measured).split())
    for height in (4, 12):
        widget = Phases()
        widget.show_arms([measured], MARKS)
        async with bench(widget, len(whole) * 2 // 3, height):
            text = " ".join(" ".join(rows(widget)).split())
            assert whole in text
            assert ("Profiled: " in text) == (height == 12)


async def test_a_click_selects_the_arm_under_it():
    widget = Phases()
    arms = [arm for arm in arm_results() if arm.phases_s]
    widget.show_arms(arms, MARKS)
    async with bench(widget, 100, 24) as pilot:
        for chosen in (arms[2], arms[0]):
            (line,) = (
                y for y, text in enumerate(rows(widget)) if f" {chosen.label} " in text[:40] and "█" in text
            )
            await pilot.click(Phases, offset=(5, line))
            await pilot.pause()
            assert widget.picked == chosen


# Heat map


def test_a_map_names_the_fastest_arm_in_each_cell_and_in_words():
    heat = heat_of(map_result(), ARMS[4].id, ARMS[1].id)
    assert heat is not None
    marks, first, last = heatmap.marks_of(heat, MARKS), heat.cells[0][0], heat.cells[0][-1]
    assert first.ratio > 1 > last.ratio and heat.cells[-1][-1].ratio is None
    assert heatmap.cell_text(first, marks, 9).strip() == "× 1.69×"
    assert heatmap.cell_text(last, marks, 8).strip() == f"{marks[0].marker} 12×"
    assert heatmap.cell_text(last, marks, 1) == marks[0].marker
    assert heat.cells[3][6].words == "samples 1M, batch 64: out of memory"
    assert "GPU graph is 12.5× faster" in last.words
    assert heat_of(run_result(), "a", "b") is None


def test_cells_equal_within_the_noise_are_neutral_and_fastest_arms_have_their_own_hues():
    result = map_result()
    points = list(result.points)
    first = [c for c in points[0].arms if c.id in (ARMS[1].id, ARMS[4].id)]
    wide = tuple(msgspec.structs.replace(c, ci95_s=(1e-9, 1.0)) for c in first)
    points[0] = msgspec.structs.replace(points[0], arms=wide, ratios=())  # without common rounds
    heat = heat_of(msgspec.structs.replace(result, points=tuple(points)), ARMS[4].id, ARMS[1].id)
    assert heat is not None
    even, marks = heat.cells[0][0], heatmap.marks_of(heat, MARKS)
    assert even.even and not heat.cells[0][6].even and "cannot be told apart" in even.words
    assert heatmap.cell_text(even, marks, 9).strip() == "≈"
    assert heatmap.cell_style(even, marks).on == "text/12"
    assert marks[0].hue != marks[1].hue
    alike = heatmap.marks_of(heat_of(result, ARMS[0].id, ARMS[1].id), MARKS)
    assert alike[0].hue[:3] != "cpu" and alike[0].hue != alike[1].hue


async def test_the_cursor_of_a_map_stays_on_it():
    widget = HeatMap()
    widget.show_heat(heat_of(map_result(), ARMS[4].id, ARMS[1].id), MARKS)
    async with bench(widget, 80, 24) as pilot:
        await pilot.press("left", "down", "right", "up", *["up"] * 9)
        await pilot.pause()
        assert widget.cursor == (1, 3)
        assert "samples 1k, batch 64" in shown(widget)


# Timeline


async def test_a_timeline_pans_and_zooms_and_steps():
    widget = Timeline()
    widget.show_profile(profile(400))
    async with bench(widget, 100, 12) as pilot:
        whole = widget.window
        await press(pilot, "equals_sign")
        assert widget.window[1] - widget.window[0] < whole[1] - whole[0]
        await pilot.press("left", "left", "left", "left", "left")
        assert widget.window[0] == pytest.approx(whole[0])
        await pilot.press("home")
        assert widget.window == pytest.approx(whole)
        await press(pilot, "down down enter")
        assert widget.span.name == "stft/rfft"
        assert "stft/rfft: " in rows(widget)[-1] and "on host python; dispatch" in rows(widget)[-1]
        assert widget.window[1] - widget.window[0] == pytest.approx(3 * widget.span.duration_s)


# Gauges


@pytest.mark.parametrize("height", [4, 6, 12])
async def test_a_timeline_of_any_height_has_a_legend(height):
    widget = Timeline()
    widget.show_profile(profile(40))
    async with bench(widget, 80, height):
        lines = rows(widget)
        assert "█ dispatch" in "".join(lines[-2:]) and "on GPU:0" in lines[-1]
        lanes = [line for line in lines if "stream 7" in line[:16] or "host python" in line[:16]]
        assert "GPU:0 stream 7" in lanes[0], "the GPU's stream has a row on every screen"


async def test_without_colours_a_timeline_keeps_no_row_for_a_legend(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    known = profile(40)
    nested = [msgspec.structs.replace(known.spans[0], start_s=n, duration_s=20 - 2 * n) for n in range(9)]
    widget = Timeline()
    widget.show_profile(msgspec.structs.replace(known, spans=tuple(nested)))
    async with bench(widget, 80, 7):
        assert all(line.strip() for line in rows(widget)), "\n".join(rows(widget))


async def test_the_timelines_legend_names_every_colour_that_is_drawn():
    known = profile(40)
    spans = [msgspec.structs.replace(known.spans[0], phase=phase) for phase in (*HUES, "elsewhere")]
    spans = [msgspec.structs.replace(span, lane=0, start_s=n, duration_s=0.9) for n, span in enumerate(spans)]
    widget = Timeline()
    widget.show_profile(msgspec.structs.replace(known, spans=tuple(spans)))
    async with bench(widget, 78, 12):
        painted = widget.paint(78, 12)
        grounds = {style.on.partition("/")[0] for line in painted for _, style in line if style.on}
        named = {style.name for text, style in painted[-2] if "█" in text}
        assert len(grounds) == len(HUES) and grounds <= named, (grounds, named)
        assert "other" in rows(widget)[-2]


@given(st.floats(0, 1), st.integers(1, 60))
def test_the_length_of_a_gauge_is_its_share(share, cells):
    runs = gauge(share, cells, MUTED)
    assert sum(len(text) for text, _ in runs) == cells
    assert abs(sum(BLOCKS.index(c) / 8 for c in runs[0][0]) - share * cells) <= 0.5 / 8
    assert level(share) == " " or share > 0.01


async def test_the_device_panel_counts_logical_cpus_and_scrolls():
    widget = DevicePanel()
    widget.show_samples([device_sample()])
    async with bench(VerticalScroll(widget), 80, 10) as pilot:
        assert "Host 96 logical CPUs" in rows(widget)[0]
        assert "no processes: a container does not see them" in rows(widget)[-1]
        await press(pilot, "pagedown")
        assert widget.parent.scroll_y > 0


@pytest.mark.parametrize("width", [80, 120])
async def test_the_device_panel_lists_processes_on_a_gpu(width):
    listed = [
        GpuProcess(4711, "python3", 60 * 10**9, 0.35, "ada", "python3 -m tuilab.worker"),
        GpuProcess(99, "ray::train", 10**9, None),
        *(GpuProcess(100 + n, "python3", 10**6, 0.0, "bob", "python3 train.py") for n in range(9)),
    ]
    sample = device_sample()
    gpu = msgspec.structs.replace(sample.gpus[0], processes=tuple(listed))
    widget = DevicePanel()
    widget.show_samples([msgspec.structs.replace(sample, gpus=(gpu,))])
    async with bench(VerticalScroll(widget), width, 50):
        lines = rows(widget)
        head = next(number for number, line in enumerate(lines) if line.startswith(" on it"))
        assert lines[head].split() == ["on", "it", "pid", "user", "memory", "use", "command"]
        assert lines[head + 1].split()[:6] == ["4711", "ada", "60.0", "GB", "35%", "this"]
        assert "this lab's worker: python3 -m tuilab" in lines[head + 1]
        assert lines[head + 2].split() == ["99", "–", "1.00", "GB", "–", "ray::train"]
        assert lines[head + 9].strip() == "and 3 more"


async def test_the_device_panel_is_never_mostly_empty():
    widget = DevicePanel()
    widget.show_samples([msgspec.structs.replace(device_sample(), at=float(second)) for second in range(120)])
    async with bench(VerticalScroll(widget), 120, 60):
        lines = rows(widget)
        assert len(lines) >= 50 and sum(not line for line in lines) <= 2
        for name in ("host use", "host memory", "GPU:0 use", "GPU:0 memory", "GPU:0 clock", "GPU:0 copies"):
            assert any(name in line for line in lines), f"{name} has a history"


def test_the_device_panel_can_be_drawn_at_any_width():
    widget = DevicePanel()
    widget._read = {0.0: devices(device_sample())}
    assert all(widget.paint(width, 60) for width in range(40))


# Answer and numbers


def test_numbers_are_bright_and_intervals_dim():
    runs = numbers_strong("CPU graph: 0.48 ms [0.47 0.50]; GPU:0 is 1.27× slower, 71% of it.")
    assert [text for text, style in runs if style == STRONG] == ["0.48 ms", "1.27×", "71%"]
    assert [text for text, style in runs if style == MUTED] == ["[0.47 0.50]"]
    assert "".join(text for text, _ in runs).endswith("71% of it.")


@given(st.text("ab 12", max_size=200), st.text("cd ", max_size=80), st.integers(30, 100), st.integers(1, 5))
def test_an_answer_fits_and_ends_with_its_verdict(sentence, detail, width, height):
    lines = lay_out(sentence, detail, [("✓ confirmed", MUTED)], width, height)
    assert len(lines) == height
    assert all(len(line) <= width for line in text_of(lines))
    assert text_of(lines)[-1].endswith("✓ confirmed")


async def test_the_verdict_keeps_its_place():
    widget = AnswerPanel()
    async with bench(widget, 80, 3) as pilot:
        places = set()
        for sentence in ("Short.", "A much longer answer that takes more than one line of the panel. " * 3):
            widget.show(Said(sentence, verdict="undecided"))
            await pilot.pause()
            places.add(rows(widget)[-1].index("claim: ≈ undecided"))
        assert len(places) == 1


async def test_a_cut_answer_hints_at_the_quotient_of_the_medians():
    widget, head = AnswerPanel(), "One graph is 14× faster than eager [13 15]."
    clause = "; the quotient of the medians is 8.3×, because the medians combine rounds of different speeds"
    said = Said(f"{head} On the CPU 480 µs against 4.0 ms{clause}.", aside=clause, hint="medians: 8.3×")
    for width, told in ((46, True), (160, False)):
        async with bench(widget, width, 2) as pilot:
            widget.show(said)
            await pilot.pause()
            text = " ".join(rows(widget))
            assert ("medians: 8.3×" in text) is told, text
            assert ("because the medians" in text) is not told
        widget = AnswerPanel()


async def test_the_numbers_list_every_arm_with_interval_and_doubts():
    widget = Numbers()
    widget.update_arms(arm_results(gpu=False), MARKS)
    async with bench(widget, 120, 12) as pilot:
        text = rows(widget)
        assert "× CPU graph" in text[2] and "478 µs" in text[2] and "[472 485]" in text[2]
        assert "unavailable" in text[4] and "⚑ 1" in text[1]
        await press(pilot, "down down down")
        assert " 4 of 6 rows " in rows(widget)[-1], "a row can stand for several arms"
        assert "no GPU is visible" in rows(widget)[-1]
