"""A point that needs more memory than is free is rejected before it is built."""

from dataclasses import replace

import pytest

from tests.worker.measure.simulated import Simulation
from tuilab.model.arms import Arm
from tuilab.worker.measure import prepare
from tuilab.workloads.base import Unavailable, Workload


def workload(needed: int | None) -> Workload:
    plain = Simulation().bench.workload
    return Workload(plain.declaration, plain.build, None if needed is None else lambda values: needed)


def test_fitting_and_unknown_memory_needs_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "free_memory", lambda: 10**9)
    prepare.refuse(workload(None), {})
    prepare.refuse(workload(int(prepare.MEMORY_SHARE * 10**9)), {})


def test_needs_above_free_memory_are_refused_with_both_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "free_memory", lambda: 10**9)
    with pytest.raises(Unavailable, match=r"needs about 4.00 GB of memory; 1.00 GB are free"):
        prepare.refuse(workload(4 * 10**9), {})


def test_the_limit_of_a_control_group_counts(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    before = prepare.free_memory()
    assert before > 0
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    monkeypatch.setattr(prepare, "_GROUP", tmp_path)
    assert prepare.free_memory() == 2_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert prepare.free_memory() > 2_000_000


def test_the_total_need_of_all_arms_is_reported_before_the_last_is_refused(monkeypatch):
    monkeypatch.setattr(prepare, "free_memory", lambda: 10**9)
    arm = Arm("CPU:0", "graph")
    assert prepare.tight(workload(4 * 10**8), {}, [arm] * 2) == ""
    told = prepare.tight(workload(4 * 10**8), {}, [arm] * 3)
    assert "all 3 arms need up to 1.2 GB" in told.replace("1.20", "1.2")
    assert prepare.tight(workload(None), {}, [arm] * 9) == ""


def test_a_variant_that_needs_less_is_allowed_where_another_is_refused(monkeypatch):
    monkeypatch.setattr(prepare, "free_memory", lambda: 10**9)
    needs = {"inference": 10**8, "training": 4 * 10**9}
    either = replace(workload(4 * 10**9), memory_of=lambda values, variant: needs[variant])
    prepare.refuse(either, {}, "inference")
    with pytest.raises(Unavailable, match="needs about 4.00 GB"):
        prepare.refuse(either, {}, "training")
    mode = Arm("CPU:0", "graph", variant="inference")
    assert prepare.tight(either, {}, [mode] * 5) == ""
