"""The trace file follows the rules of the Trace Event format."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests import made
from tuilab.model.profile import Lane, Profile, Span
from tuilab.report.trace import nested, trace, trace_json

LANES = (Lane("python", "CPU"), Lane("tf_Compute/1", "CPU"), Lane("Stream #7", "GPU:0"))


def profile(*spans: Span) -> Profile:
    return made.profile(lanes=LANES, spans=spans, spans_left=3, notes=("a note",))


def complete(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["ph"] == "X"]


def check_rules(text: bytes) -> list[dict[str, Any]]:
    """Assert the rules that viewers rely on, and return the events."""
    told = json.loads(text)
    assert told["displayTimeUnit"] in ("ms", "ns")
    events: list[dict[str, Any]] = told["traceEvents"]
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    for event in events:
        assert event["ph"] in ("X", "M")
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
            assert set(event["args"]) <= {"name", "sort_index"}
        else:
            assert event["ts"] >= 0 and event["dur"] >= 0
            assert (event["pid"], event["tid"]) in named
    for lane in {(e["pid"], e["tid"]) for e in complete(events)}:
        _check_nesting([e for e in complete(events) if (e["pid"], e["tid"]) == lane])
    return events


def _check_nesting(events: list[dict[str, Any]]) -> None:
    ends: list[int] = []
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        start, end = round(event["ts"] * 1000), round(event["ts"] * 1000) + round(event["dur"] * 1000)
        while ends and ends[-1] <= start:
            ends.pop()
        assert not ends or end <= ends[-1], "events of one thread overlap without nesting"
        ends.append(end)


def test_a_trace_has_events_in_microseconds_on_named_lanes() -> None:
    spans = (Span(0, 0.0, 1e-3, "tuilab call", "python"), Span(2, 2e-4, 5e-4, "sgemm", "compute"))
    events = check_rules(trace_json(profile(*spans)))
    first, second = complete(events)
    assert (first["ts"], first["dur"], first["cat"]) == (0, 1_000, "python")
    assert (second["ts"], second["dur"]) == (200, 500)
    assert first["pid"] != second["pid"]
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {"host", "GPU:0"}


def test_omitted_events_are_reported() -> None:
    assert trace(profile())["otherData"]["spans_left_out"] == 3
    assert trace(profile())["otherData"]["notes"] == ["a note"]


def test_names_in_a_trace_are_only_data() -> None:
    name = 'a"\\\n\u2028</script>\U0001f600 é'
    [event] = complete(check_rules(trace_json(profile(Span(0, 0.0, 1.0, name)))))
    assert event["name"] == name


SPANS = st.builds(
    Span,
    st.integers(0, 2),
    st.floats(-1e-3, 1.0),
    st.floats(0, 1e-1),
    st.text(max_size=8),
    st.sampled_from(("", "compute", "python")),
)


@given(st.lists(SPANS, max_size=40))
def test_any_spans_give_a_valid_file(spans: list[Span]) -> None:
    check_rules(trace_json(profile(*spans)))


@given(st.lists(SPANS, max_size=40))
def test_nesting_only_shortens_events(spans: list[Span]) -> None:
    out = list(nested(spans))
    assert len(out) <= len(spans)
    assert sum(s.duration_s for s in out) <= sum(s.duration_s for s in spans) + 1e-9
