"""The list of runs is loaded page by page. Searching, sorting and pruning never read the whole list."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.test_store import keep
from tests.made import MACHINE, started
from tuilab.history import browse
from tuilab.history.recorder import Recorder
from tuilab.history.runs import PruneCandidates
from tuilab.history.search import condition
from tuilab.history.store import Store
from tuilab.lab.history import History, ghosts
from tuilab.model import events as e
from tuilab.model.brief import Brief
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Scenario


def runs(store, search="", limit=100, **how):
    return [entry.run for entry in browse.page(store, search, limit=limit, **how)]


def day(number):
    return f"2026-01-{number:02}T00:00:00Z"


def test_pages_of_the_history_contain_every_run_once(store):
    for number in range(1, 26):
        keep(store, f"r{number:02}", at=day(number))
    seen = [run for offset in range(0, 30, 10) for run in runs(store, limit=10, offset=offset)]
    assert seen == [f"r{number:02}" for number in range(25, 0, -1)]
    assert runs(store, rising=True, limit=2) == ["r01", "r02"]
    assert browse.extent(store).runs == 25


def test_without_a_limit_a_list_has_only_the_latest_runs(store):
    latest = [f"r{number:02}" for number in range(24, 0, -1)]
    for number, run in enumerate(reversed(latest), 1):
        keep(store, run, at=day(number))
        store.pin(run, "ghost")
    assert [entry.run for entry in History(store).entries()] == latest[:20]
    assert [state.run for state in ghosts(History(store))] == latest[:6]


def test_a_run_larger_than_16_mib_is_not_read_to_draw_a_ghost(store):
    for run, size in (("r1", 2**24), ("r2", 2**24 + 1)):
        keep(store, run)
        store.pin(run, "ghost")
        store.connection.execute("UPDATE runs SET size = ? WHERE run = ?", (size, run))
    assert [state.run for state in ghosts(History(store))] == ["r1"]


def test_a_page_lists_what_was_measured_and_the_fastest_arm(store):
    keep(store)
    store.answer("r1", "words", Brief(3, "CPU graph", 1e-3, "GPU graph", 1.4, 1.3, 1.5))
    (entry,) = browse.page(store, limit=2)
    assert entry.parameters == {"samples": 256} and entry.name == "stft-small"
    assert entry.brief.fastest == "CPU graph" and entry.brief.leads


def test_a_brief_of_fewer_rounds_is_not_used(store):
    keep(store)
    store.keep_brief("r1", Brief(2, "CPU graph", 1e-3))
    assert browse.entry(store, "r1").brief is None
    store.keep_brief("r1", Brief(3, "CPU graph", 1e-3))
    assert browse.entry(store, "r1").brief.fastest == "CPU graph"


def test_similar_runs_have_the_same_settings_and_budget_and_machine(store):
    like = {"brief": Brief(3, "CPU graph", 2e-3)}
    other = {
        "b": {"scenario": Scenario("stft", {"samples": 512})},
        "c": {"budget": BUDGET["standard"]},
        "d": {"machine": msgspec.structs.replace(MACHINE, tensorflow="2.20.0")},
        "e": {"preset": "stft-large"},
        "f": {"brief": Brief(3, "CPU eager", 2e-3)},
        "g": {"brief": Brief(2, "CPU graph", 2e-3)},
    }
    for run, about in {"a": {}, **other}.items():
        fields = {**like, **about}
        line = fields.pop("brief")
        keep(store, run, **fields)
        store.keep_brief(run, line)
    state = RunState()
    state.apply(started("z"))
    assert browse.medians_alike(store, state, "CPU graph") == [2e-3]


def test_the_recorder_stores_the_brief_with_the_answer(store):
    recorder = keep(store)
    recorder.conclude("r1", "the answer", Brief(3, "CPU graph", 2e-3))
    entry = browse.entry(store, "r1")
    assert (entry.line.answer, entry.brief.median_s) == ("the answer", 2e-3)


def test_runs_are_ordered_by_the_figure_that_the_list_shows(store):
    """The list shows the fastest median and its ratio, not an end of the ratio's interval."""
    for run, median, ratio, low in (("r1", 3e-3, 1.2, 1.15), ("r2", 1e-3, 1.4, 1.1), ("r3", 2e-3, 1.3, 1.0)):
        keep(store, run)
        store.keep_brief(run, Brief(3, "CPU graph", median, "GPU graph", ratio, low, 2.0 - ratio))
    assert runs(store, order="ratio") == ["r2", "r3", "r1"]
    assert runs(store, order="ratio", rising=True) == ["r1", "r3", "r2"]
    assert runs(store, order="fastest", rising=True) == ["r2", "r3", "r1"]


@pytest.mark.parametrize("order", browse.ORDERS)
@pytest.mark.parametrize("rising", [True, False])
def test_every_order_lists_every_run_with_missing_values_last(store, order, rising):
    for number in (1, 2, 3):
        keep(store, f"r{number}", at=day(number), preset=f"p{number}")
        if number > 1:
            store.pin(f"r{number}", "ghost")
            brief = Brief(3, "a", number * 1.0, "b", number * 2.0)
            store.keep_brief(f"r{number}", brief)
    found = runs(store, order=order, rising=rising)
    assert sorted(found) == ["r1", "r2", "r3"]
    if order in ("pinned", "fastest", "ratio"):
        assert found[-1] == "r1"
    if order in ("name", "fastest", "ratio"):
        assert [run for run in found if run != "r1"] == (["r2", "r3"] if rising else ["r3", "r2"])


@pytest.mark.parametrize("broken", ["", "{", "[1,2", b"\xff\xfe", "[]", 7, "[3,{}]"])
def test_invalid_briefs_and_scenarios_are_left_out(store, broken):
    keep(store)
    store.connection.execute("UPDATE runs SET brief = ?, scenario = ?", (broken, broken))
    (entry,) = browse.page(store, order="fastest", limit=2)
    assert entry.brief is None and entry.parameters == {}


def test_texts_of_the_store_are_clean(store):
    keep(store)
    hostile = "a\x1b]52;c;aGk=\x07b\u202e[red]"
    store.connection.execute("UPDATE runs SET preset = ?, note = ?", (hostile, hostile))
    brief = msgspec.json.encode(Brief(3, hostile, 1.0, hostile, swept=hostile)).decode()
    store.connection.execute("UPDATE runs SET brief = ?", (brief,))
    (entry,) = browse.page(store, limit=2)
    texts = [entry.name, entry.line.note, entry.brief.fastest, entry.brief.next, entry.brief.swept]
    assert texts == ["ab[red]"] * 5
    store.append("r1", store.next_number("r1"), [e.encode(e.Log(run="r1", text=hostile)).rstrip()])
    assert [event.text for event in store.events("r1") if isinstance(event, e.Log)] == ["ab[red]"]


def test_a_search_can_be_limited_to_one_field(store):
    keep(store, "r1", preset="nightly")
    keep(store, "r2")
    store.tag("r2", "nightly")
    store.pin("r2", "baseline")
    wanted = {
        "nightly": ["r1", "r2"], "#nightly": ["r2"], "tag:night": ["r2"], "preset:night": ["r1"],
        "machine:h": ["r1", "r2"], "pinned:base": ["r2"], "#": [], "x:y": [], "machine:": ["r1", "r2"],
        "nightly pinned:": ["r1", "r2"],
    }  # fmt: skip
    assert {word: sorted(runs(store, word)) for word in wanted} == wanted


def test_a_run_is_found_by_words_of_its_preset_title(store):
    keep(store, "r1", preset="stft-crossover")
    keep(store, "r2", preset="other")
    titles = {"stft-crossover": "Where the GPU overtakes the CPU", "other": "A loop"}
    for search, found in (
        ("overtakes", {"r1"}),
        ("a", {"r1", "r2"}),
        ("gpu crossover", {"r1"}),
        ("preset:overtakes", {"r1"}),
        ("machine:overtakes", set()),
        ("overtakes loop", set()),
    ):
        assert {line.run for line in store.runs(search, titles=titles)} == found, search
        assert browse.extent(store, search, titles).runs == len(found)
        assert set(runs(store, search, titles=titles)) == found
    assert not store.runs("overtakes")


@given(st.text(max_size=40))
def test_no_typed_text_breaks_the_search(search):
    store = Store.in_memory("a test")
    keep(store, "r1")
    where, values = condition(search, titles={"small": "Small STFT, “fast” and 'slow'"})
    assert where.count("?") == len(values)
    assert browse.extent(store, search).runs == len(runs(store, search)) == len(store.runs(search))


def test_a_prune_can_be_previewed(store):
    for number in range(1, 5):
        keep(store, f"r{number}", at=day(number))
    store.pin("r1", "baseline")
    Recorder(store).record(started("running", at=day(1)))
    sizes = {line.run: line.size for line in store.runs()}
    old = store.prune_candidates(days=30)
    assert set(old.runs) == {"r2", "r3", "r4"} and old.size == sum(sizes[run] for run in old.runs)
    newest = store.prune_candidates(size=sizes["r4"] + sizes["r3"])
    assert set(newest.runs) == {"r2"}
    assert store.prune_candidates() == PruneCandidates()
    for days, size in ((-1.0, None), (math.inf, None), (math.nan, 10**9), (None, -1), (30.0, -1)):
        with pytest.raises(ValueError):
            store.prune_candidates(days, size)
    assert store.soft_delete(store.prune_candidates(size=sizes["r4"] + sizes["r3"]).runs) == ["r2"]


def test_a_prune_is_undone_as_a_whole_except_runs_pinned_since(store):
    for number in range(1, 5):
        keep(store, f"r{number}", at=day(number))
    found = store.prune_candidates(days=1)
    store.pin("r2", "ghost")
    hidden = store.soft_delete(found.runs)
    assert set(hidden) == {"r1", "r3", "r4"} and runs(store) == ["r2"]
    assert set(store.undo_delete()) == set(hidden) and browse.extent(store).runs == 4
    assert store.undo_delete() == []


def test_undo_restores_the_last_deletion_first_from_any_program(store, tmp_path):
    for number in range(1, 5):
        keep(store, f"r{number}", at=day(number))
    store.pin("r1", "ghost")
    assert store.soft_delete(["r1", "r2", "gone"], asked=True) == ["r1", "r2"]
    store.soft_delete(["r3"], asked=True)
    other = Store.open(tmp_path)
    assert other.undo_delete() == ["r3"]
    assert set(other.undo_delete()) == {"r1", "r2"}
    other.close()


def test_a_purge_can_be_stopped(store):
    for number in range(5):
        keep(store, f"r{number}")
        store.soft_delete([f"r{number}"], asked=True)
    assert store.purge(days=-1, going=lambda done, total: done < 2) == 2
    assert store.connection.execute("SELECT count(*) FROM runs").fetchone() == (3,)
    assert store.purge(days=-1) == 3


def test_pinned_runs_latest_first(store):
    for number in range(1, 5):
        keep(store, f"r{number}", at=day(number))
    for run, kind in (("r1", "ghost"), ("r3", "baseline"), ("r2", "ghost")):
        store.pin(run, kind)
    assert [entry.run for entry in browse.pinned(store, 2)] == ["r3", "r2"]
