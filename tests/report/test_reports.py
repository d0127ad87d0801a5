"""Every format of a report has the same content, and hostile text in it acts neither as markup nor as a
formula.
"""

import csv
import io
import json
import re
from array import array

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made import EAGER, GPU_GRAPH, GRAPH, account, folded, rounds, started
from tuilab.analysis.summary import summarise
from tuilab.analysis.words import size
from tuilab.model import events as e
from tuilab.model.models import Layer, ModelInfo
from tuilab.model.quantity import median_of
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis, Scenario, Sweep
from tuilab.report.axes import PlotAxis
from tuilab.report.chart import Chart, Series, Vertical
from tuilab.report.csv import safe
from tuilab.report.formats import FORMATS
from tuilab.report.markdown import escape
from tuilab.report.rows import cut, sweep_rows, wrapped
from tuilab.report.svg import svg
from tuilab.report.text import table

HOSTILE = "<script>alert(1)</script>[x](javascript:1)|=cmd"


def run(preset: str = "stft-small", sizes: tuple[int, ...] = ()) -> RunState:
    points = tuple(e.Point(i, {"samples": size}) for i, size in enumerate(sizes)) or (e.Point(0),)
    scenario = Scenario("stft", {"samples": 256, "window": preset})
    sweep = Sweep(axes=(Axis("samples", sizes),)) if sizes else None
    arms = (EAGER, GRAPH, GPU_GRAPH)
    state = folded(started("abc", *arms, scenario=scenario, points=points, preset=preset, sweep=sweep))
    for arm in (EAGER, GRAPH):
        state.apply(e.ArmStatus(run="abc", arm=arm.id, status="ok", device="CPU:0"))
    state.apply(e.ArmStatus(run="abc", arm=GPU_GRAPH.id, status="unavailable", reason="no GPU is visible"))
    for index in range(30):
        blocks = []
        for point in points:
            noise = 1 + 0.01 * (index % 5)
            blocks.append(e.Block(EAGER.id, point.index, 10, 0.02 * noise * (point.index + 1)))
            blocks.append(e.Block(GRAPH.id, point.index, 10, 0.005 * noise * (point.index + 1)))
        state.apply(e.Round(run="abc", index=index, blocks=tuple(blocks), elapsed_s=index / 10))
    state.apply(e.Caveat(run="abc", code="drift", message=preset, arm=EAGER.id))
    state.apply(e.Finished(run="abc", status="ok"))
    return state


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("sizes", [(), (256, 1024, 4096)])
def test_every_format_is_made_of_a_run_and_of_a_sweep(name, sizes):
    state = run(sizes=sizes)
    text = FORMATS[name][1](summarise(state), state)
    assert GRAPH.id in text or "CPU graph" in text


def test_json_is_the_result():
    state = run()
    result = summarise(state)
    assert json.loads(FORMATS["json"][1](result, state)) == json.loads(msgspec.json.encode(result))


def test_csv_has_every_sample_at_full_precision():
    state = run(sizes=(256, 1024))
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"][1](summarise(state), state))))
    assert len(rows) == 30 * 2 * 2
    for row in rows:
        point = 0 if row["samples"] == "256" else 1
        assert float(row["seconds_per_call"]) in state.arms[row["arm"]].cells[point].samples


def test_csv_headers_are_not_formulas():
    point = e.Point(0, {"=1+1": 2})
    state = folded(started("r1", GRAPH, points=(point,)), *rounds("r1", 1, GRAPH))
    header = next(csv.reader(io.StringIO(FORMATS["csv"][1](summarise(state), state))))
    assert "'=1+1" in header and not any(name.startswith("=") for name in header)


def test_csv_names_the_observed_device_or_none():
    state = run()
    state.arms[GRAPH.id].device = None
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"][1](summarise(state), state))))
    seen = {(row["arm"], row["observed_device"], row["device"]) for row in rows}
    assert seen == {(EAGER.id, "CPU:0", "CPU:0"), (GRAPH.id, "", "CPU:0")}


def test_a_table_writes_the_sizes_of_a_sweep_as_its_sentences_do():
    rows = sweep_rows(summarise(run(sizes=(65_536, 262_144, 262_145))))[1]
    assert [row[0] for row in rows] == [size(65_536), size(262_144), "262,145"]
    assert rows[1][0] == "256k"


def test_medians_of_a_sweep_have_the_digits_that_their_intervals_allow():
    result = summarise(run(sizes=(256, 1024)))
    head, rows = sweep_rows(result)
    assert head == ["samples", "CPU eager", "CPU graph"] and [row[0] for row in rows] == [
        "256",
        "1,024",
    ]
    for row, point in zip(rows, result.points, strict=True):
        for cell, arm in zip(row[1:3], point.arms, strict=False):
            low, high = arm.ci95_s
            assert (
                cell == median_of(arm.median_s, (high - low) / 2) != median_of(arm.median_s, (high + low) / 2)
            )
        assert len(row) == len(head), "an arm without any figure has no column"


def test_a_size_without_a_figure_says_why_in_every_document():
    state = run(sizes=(256, 1024, 4096))
    for arm, point, reason in (
        (EAGER, 1, "needs 9 GB, and 8 GB are free"),
        (EAGER, 2, "needs 40 GB, and 8 GB are free"),
        (GRAPH, 2, "needs 40 GB, and 8 GB are free"),
    ):
        cell = state.arms[arm.id].cells[point]
        cell.samples, cell.rounds, cell.calls = array("d"), array("i"), array("q")
        state.apply(e.ArmStatus(run="abc", arm=arm.id, point=point, status="unavailable", reason=reason))
    result = summarise(state)
    for text in (table(result), *(FORMATS[name][1](result, state) for name in ("markdown", "html"))):
        assert "No figure for CPU eager at 1,024 samples: needs 9 GB, and 8 GB are free." in text
        assert "No figure at 4,096 samples: needs 40 GB, and 8 GB are free." in text
        assert text.count("No figure") == 2, "a missing GPU gets no line for each size"


def test_a_page_is_self_contained_and_runs_no_script():
    state = run(sizes=(256, 1024, 4096))
    page = FORMATS["html"][1](summarise(state), state)
    assert "<svg" in page and "polyline" in page
    assert not re.search(r"<script|<link|<img|@import|url\(|\son\w+=", page)
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_a_document_shows_the_parts_of_a_call_with_intervals(name):
    state = run()
    median = next(arm.median_s for arm in summarise(state).arms if arm.id == GRAPH.id)
    assert median is not None
    parts = {"dispatch": 0.4 * median, "compute": 0.5 * median}
    found = account(median, {"dispatch": 0.02 * median}, **parts)
    state.apply(e.Accounted(run="abc", arm=GRAPH.id, point=0, account=found))
    made = FORMATS[name][1](summarise(state), state)
    assert "time goes" in made and "(40%)" in made and "not known" in made and " ± " in made


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_a_document_says_how_devices_slow_each_other_down(name):
    together = msgspec.structs.replace(GRAPH, together=True)
    state = folded(started("abc", GRAPH, together))
    for i in range(9):
        blocks = e.Block(GRAPH.id, 0, 10, 0.05 + i / 1000), e.Block(together.id, 0, 10, 0.1 + i / 1000)
        state.apply(e.Round(run="abc", index=i, blocks=blocks, elapsed_s=i / 10))
    result = summarise(state)
    (slowdown,) = result.contention
    assert "While the other devices compute" in (made := FORMATS[name][1](result, state))
    assert slowdown.sentence in made or escape(slowdown.sentence) in made


def test_hostile_text_stays_text():
    state = run(HOSTILE)
    result = summarise(state)
    page = FORMATS["html"][1](result, state)
    assert "<script" not in page and "&lt;script&gt;" in page
    document = FORMATS["markdown"][1](result, state)
    assert not re.search(r"(?<!\\)(\[x|<script|\|=cmd)", document)
    heads = [line for line in document.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in heads}) == 1


@given(st.text(max_size=40))
def test_markdown_escapes_markup(text):
    escaped = escape(text)
    assert re.sub(r"\\([\\`*_\[\]|<>~&#+!-])", r"\1", escaped) == re.sub(r"[\r\n]+", " ", text)
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]|<>]", escaped)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_a_spreadsheet_reads_no_text_as_a_formula(text):
    assert safe(text) == "'" + text
    assert safe("CPU") == "CPU"
    assert safe(-1.5) == -1.5


def test_a_terminal_table_is_aligned_and_lists_the_doubts():
    text = table(summarise(run()))
    assert "! CPU eager: stft-small" in text
    figures = [line for line in text.splitlines() if line.endswith("CPU:0")]
    assert len(figures) == 2
    assert len({len(line) for line in figures}) == 1


def test_a_short_report_gives_time_and_bottleneck_of_each_layer():
    layer = Layer(name="head", kind="Dense", flop=2e9, bytes=4e6, share=0.75, bound_by="memory", of_roof=0.12)
    model = ModelInfo(kind="keras", parameters=7, inputs=(), layers=(layer,), layers_of=GRAPH.id)
    result = msgspec.structs.replace(summarise(run()), model=model)
    head, row = (
        re.split(" {2,}", line)
        for line in table(result, details=False).splitlines()
        if "of the call" in line or "75%" in line
    )
    assert dict(zip(head, row, strict=True)) == {
        "layer": "head", "of the call": "75%", "FLOP": "2.00 GFLOP", "of the roof": "12%", "bound by": "memory"
    }  # fmt: skip
    assert {"Dense", "4.00 MB"} <= set(re.split(" {2,}", table(result, details=True).partition("head  ")[2]))


def test_a_plot_without_data_is_empty():
    assert svg(Chart()) == ""
    assert "circle" in svg(Chart(series=[Series("a", "a", [1.0], [1.0])]))


def test_every_crossover_has_its_mark_its_label_and_its_band():
    chart = Chart(
        series=[Series("a", "a", [10.0, 1e4], [1.0, 2.0])],
        x=PlotAxis("size", "count", log=True),
        verticals=[
            Vertical(100.0, (50.0, 300.0), "crossover 100"),
            Vertical(9e3, (1.0, 1e9), "crossover 9 k"),
        ],
    )
    picture = svg(chart)
    marks = [float(x) for x in re.findall(r'<line x1="([\d.]+)"[^>]*class="mark"', picture)]
    bands = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', picture)
    assert len(marks) == len(bands) == 2
    for at, (x, width) in zip(marks, bands, strict=True):
        assert 0 <= float(x) < at < float(x) + float(width) <= 760
    assert "crossover 100</text>" in picture and "crossover 9 k</text>" in picture
    heights = re.findall(r'y="([\d.]+)">crossover', picture)
    assert len(set(heights)) == 2, "the labels of nearby crossovers do not overlap"


def test_many_lines_look_different_and_keep_whole_names():
    labels = [f"GPU graph training resident {number}" for number in range(18)]
    picture = svg(Chart(series=[Series(label, label, [1.0, 2.0], [number + 1.0] * 2)
                                for number, label in enumerate(labels)]))  # fmt: skip
    groups = re.findall(r'<g stroke="(#\w+)".*?<polyline.*?/>(.*?)<text x="(\d+)" y="([\d.]+)"', picture)
    marks = {(hue, re.sub(r"[\d.]+ |[\d.]+\"", "", drawn)) for hue, drawn, _, _ in groups}
    assert len(groups) == len(marks) == 18
    assert all(int(x) + 6.5 * len(labels[-1]) <= 760 and float(y) <= 340 for _, _, x, y in groups)


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_doubts_about_the_figures_are_printed_below_the_answer(name):
    state = run()
    state.apply(e.Caveat(run="abc", code="emulated", message="GPU:0 is emulated"))
    result = summarise(state)
    before, _, after = FORMATS[name][1](result, state).partition("⚠ emulated GPU, drifting")
    assert "CPU graph" in after and "GPU:0 is emulated" not in before


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [("abcdefghij", 5, "abcd…"), ("abc defgh", 7, "abc…"), ("abc defgh", 4, "abc…"), ("abc", 3, "abc")],
)
def test_a_cell_is_cut_after_a_word_if_it_has_more_than_one(text: str, width: int, short: str) -> None:
    assert cut(text, width) == short


def test_a_wrapped_line_keeps_names_with_hyphens_whole() -> None:
    lines = list(wrapped(["a cell of the preset stft-small-of-this-long-name is slow"], 40))
    assert len(lines) > 1 and any("stft-small-of-this-long-name" in line for line in lines)
