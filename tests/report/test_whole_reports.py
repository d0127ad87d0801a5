"""Whole reports equal the stored ones in every word and digit.

`--snapshot-update` updates the stored reports; review them.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.analysis.test_h100 import NAMES, state_of
from tests.contradictions.test_contradictions import RECORDINGS
from tests.made import folded
from tests.report.drawn import claims, drawn, drawn_events
from tests.workloads.test_presets import PRESETS
from tuilab.analysis.summary import summarise
from tuilab.analysis.sweeps import size_to_add
from tuilab.history.recording import read
from tuilab.model.claims import Claim
from tuilab.model.datasheets import SHEETS
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.report.chart import Chart, live_chart
from tuilab.report.formats import FORMATS
from tuilab.report.roofline import roofline_chart
from tuilab.report.svg import svg
from tuilab.report.sweep import describe_point, heat_of, pair, sweep_chart
from tuilab.report.text import lines, table


class Text(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


@pytest.mark.parametrize("seed", range(36))
def test_of_a_drawn_run(seed, snapshot):
    state = drawn(seed)
    assert told(state, claims(state)) == snapshot(extension_class=Text)


def test_the_answers_of_many_drawn_runs(snapshot):
    """The snapshot has digests of each run's full report and JSON. Every second run is unfinished."""
    out = []
    for seed in range(36, 300):
        events = drawn_events(seed)
        state = folded(*events[: len(events) * (1 + seed % 2 * seed % 7) // 8 if seed % 2 else None])
        result = summarise(state, claims(state), against=list(SHEETS)[seed % len(SHEETS)])
        added = size_to_add(state, round) if state.sweep and len(state.sweep.axes) == 1 else None
        out.append(f"{seed} {digest(table(result))} {digest(rounded(result))} {added or ''} {result.answer}")
    assert "\n".join(out) == snapshot(extension_class=Text)


def test_the_charts_of_many_drawn_runs(snapshot):
    """The snapshot has digests of each run's curves and points. Every second run is unfinished."""
    out = []
    for seed in range(0, 300, 4):
        events = drawn_events(seed)
        state = folded(*events[: len(events) * (1 + seed % 7) // 8 if seed % 8 else None])
        result = summarise(state, claims(state))
        charts = [live_chart(state, figures={arm.id: arm for arm in result.arms})]
        charts += [sweep_chart(result)] if len(result.axis) == 1 else []
        said: list[object] = [heat_of(result, *pair(result)), [in_words(chart) for chart in charts]]
        for name in result.axis:
            values = sorted({point.values[name] for point in state.points})
            said += [describe_point(state, arm, (name, value)) for arm in state.arms for value in values]
        out.append(f"{seed} {' '.join(digest(significant(each)) for each in said)}")
    assert "\n".join(out) == snapshot(extension_class=Text)


def in_words(chart: Chart) -> list[object]:
    """Return all that a chart shows, with the text of each series' first and last point."""
    series = [replace(each, tell=None) for each in chart.series]
    points = [each.tell(index) for each in chart.series if each.tell and len(each.y) for index in (0, -1)]
    return [replace(chart, series=series), points]


def significant(part: object) -> str:
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.9g}", repr(part))


@pytest.mark.parametrize("name", NAMES)
def test_of_a_run_on_an_h100(name, snapshot):
    assert told(*with_claims(state_of(name))) == snapshot(extension_class=Text)


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: f"{file.parent.parent.name}-{file.stem}")
def test_of_a_recorded_run(file, snapshot):
    assert told(*with_claims(folded(*read(file)))) == snapshot(extension_class=Text)


def with_claims(state: RunState) -> tuple[RunState, Sequence[Claim]]:
    return state, PRESETS[state.preset].claims if state.preset in PRESETS else ()


def told(state: RunState, claims: Sequence[Claim]) -> str:
    """Return the full and the brief text report, and digests of the JSON's fields and of all other formats.

    The complete JSON and the other formats would be a hundred times as long.
    """
    result = summarise(state, claims)
    brief = "\n".join(line for _, line in lines(result, details=False, most=80))
    said = rounded(result)
    documents = {name: writer(result, state) for name, (_, writer) in FORMATS.items() if name != "json"}
    documents["roofline"] = svg(roofline_chart(state))
    digests = (f"{name} {digest(part)}" for name, part in (said | documents).items() if part)
    return "\n\n".join([table(result), brief, "\n".join(digests)])


def rounded(result: RunResult) -> dict[str, object]:
    """Return the JSON's fields, rounded because their last digits may differ between processors."""
    return json.loads(msgspec.json.encode(result), parse_float=lambda digits: f"{float(digits):.9g}")


def digest(part: object) -> str:
    return hashlib.sha256(json.dumps(part).encode()).hexdigest()[:8]
