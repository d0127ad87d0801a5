"""The store computes each machine's summary once, keeps it up to date, and drops outdated summaries."""

from typing import Any

import msgspec

from tests.made import CPU, GRAPH, machine, run_of
from tuilab.history.machine_summaries import keep, latest, unsummed
from tuilab.history.recorder import Recorder
from tuilab.history.store import Store
from tuilab.lab.machines import sum_up
from tuilab.model import events as e


def record(store: Store, run: str, host: str = "h", **about: Any) -> None:
    recorder = Recorder(store)
    for event in run_of(run, machine=machine(host=host, devices=(CPU,)), **about):
        recorder.record(event)
    assert recorder.flush()


def standing(store: Store) -> list[tuple[str, str]]:
    assert sum_up(store) == ""
    return [(s.machine, s.run) for s in latest(store)]


def test_a_finished_run_is_summed_up_once(store):
    record(store, "r1")
    assert unsummed(store) == ["r1"]
    assert standing(store) == [("h", "r1")]
    assert unsummed(store) == []
    assert [s.on_cpu.median_s for s in latest(store)] == [1e-3]


def test_a_running_run_is_not_summed_up_yet(store):
    record(store, "r1")
    store.connection.execute("UPDATE runs SET status = NULL")
    assert unsummed(store) == []


def test_a_run_that_has_gained_rounds_is_summed_up_again(store):
    record(store, "r1")
    standing(store)
    block = (e.Block(GRAPH.id, 0, 1, 5e-3),)
    more = [e.encode(e.Round(run="r1", index=i, blocks=block, elapsed_s=1.0)).rstrip() for i in range(9)]
    store.append("r1", store.next_number("r1"), more)
    assert standing(store) == [("h", "r1")]
    assert latest(store)[0].on_cpu.median_s == 5e-3


def test_the_latest_run_of_a_machine_counts_in_any_order(store):
    record(store, "new", at="2026-11-22T00:00:00Z")
    record(store, "old", at="2026-11-20T00:00:00Z")
    record(store, "other", host="g")
    assert sorted(standing(store)) == [("g", "other"), ("h", "new")]


def test_deleting_the_latest_run_makes_the_previous_one_count(store):
    record(store, "old", at="2026-11-20T00:00:00Z")
    record(store, "new", at="2026-11-22T00:00:00Z")
    assert standing(store) == [("h", "new")]
    store.soft_delete(["new"], asked=True)
    assert standing(store) == [("h", "old")]
    store.undelete("new")
    assert standing(store) == [("h", "new")]
    store.soft_delete(["new"], asked=True)
    store.soft_delete(["old"], asked=True)
    assert standing(store) == []


def test_a_purged_run_leaves_no_summary(store):
    record(store, "r1")
    standing(store)
    store.soft_delete(["r1"], asked=True)
    store.purge(days=-1)
    assert store.connection.execute("SELECT count(*) FROM standings").fetchone() == (0,)


def test_runs_with_other_parameters_have_their_own_summaries(store):
    record(store, "r1")
    standing(store)
    (one,) = latest(store)
    keep(store, "r1", [msgspec.structs.replace(one, parameters='{"samples":512}')])
    assert {s.parameters for s in latest(store)} == {'{"samples":256}', '{"samples":512}'}


def test_a_summary_of_another_version_is_left_out(store):
    record(store, "r1")
    standing(store)
    store.connection.execute("UPDATE standings SET standing = x'00'")
    assert latest(store) == []


def test_a_read_only_store_is_reported(store):
    record(store, "r1")
    store.connection.execute("PRAGMA query_only = ON")
    assert "is not writable" in sum_up(store)
