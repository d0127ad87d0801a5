"""A point that needs more memory than is free is rejected before it is built."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.worker.measure.simulated import Simulation
from tuilab.model.arms import Arm
from tuilab.model.events import Point
from tuilab.model.scenario import Axis, Sweep
from tuilab.worker.measure import memory, prepare, sweep
from tuilab.workloads.base import Unavailable, Workload


def workload(needed: int | None) -> Workload:
    plain = Simulation().bench.workload
    return Workload(plain.declaration, plain.build, None if needed is None else lambda values: needed)


def test_fitting_and_unknown_memory_needs_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "free_memory", lambda: 10**9)
    prepare.refuse(workload(None), {}, Arm("CPU:0", "graph"))
    prepare.refuse(workload(int(prepare.MEMORY_SHARE * 10**9)), {}, Arm("CPU:0", "graph"))


def test_needs_above_free_memory_are_refused_with_both_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "free_memory", lambda: 10**9)
    with pytest.raises(Unavailable, match=r"needs about 4.00 GB of memory; 1.00 GB is free"):
        prepare.refuse(workload(4 * 10**9), {}, Arm("CPU:0", "graph"))


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


def test_a_variant_that_fits_in_memory_runs_although_another_does_not(monkeypatch):
    monkeypatch.setattr(prepare, "free_memory", lambda: 10**9)
    needs = {"inference": 10**8, "training": 4 * 10**9}
    either = replace(workload(4 * 10**9), memory_of=lambda values, arm: needs[arm.variant])
    mode = Arm("CPU:0", "graph", variant="inference")
    prepare.refuse(either, {}, mode)
    with pytest.raises(Unavailable, match="needs about 4.00 GB"):
        prepare.refuse(either, {}, Arm("CPU:0", "graph", variant="training"))
    assert prepare.tight(either, {}, [mode] * 5) == ""


def test_a_sweep_stops_before_memory_ends_and_says_so(monkeypatch):
    """Attention needs memory for tokens² numbers: 64 MB, 1 GB, then 17 GB, but only 15 GB is free."""
    free, base = 15 * 10**9, 10**9
    most, lines, measured = [2 * base], [], []

    def at(bench, point, arms, limit_s):
        measured.append(point.values["tokens"])
        most[0] = base + 4 * point.values["tokens"] ** 2
        return {}

    monkeypatch.setattr(memory, "free_memory", lambda: free)
    monkeypatch.setattr(memory, "process_memory", lambda: base)
    monkeypatch.setattr(memory, "peak", lambda: most[0])
    monkeypatch.setattr(memory, "reset_peak", lambda: None)
    monkeypatch.setattr(sweep, "_measure", at)
    sizes = (256, 1024, 4096, 16_384, 65_536, 262_144)
    points = [Point(index, {"tokens": tokens}) for index, tokens in enumerate(sizes)]
    arms = (Arm("CPU:0", "graph"), Arm("CPU:0", "xla"))
    request = SimpleNamespace(sweep=Sweep(axes=(Axis("tokens", sizes),), refine=False), worker=0, points=())
    reporter = SimpleNamespace(say=lambda *events: lines.extend(events))
    bench = SimpleNamespace(request=request, reporter=reporter, run="r", elapsed_s=0.0, ran=lambda arm: True)
    sweep.measure_points(bench, points, arms, 4.0)
    assert measured == [256, 1024, 4096, 16_384]
    assert [(status.point, status.status) for status in lines] == [(4, "unavailable")] * 2 + [
        (5, "unavailable")
    ] * 2
    assert lines[0].reason == (
        "needs about 17.2 GB of memory, extrapolated from smaller sizes; 15.0 GB is free"
    ), lines[0].reason


def test_a_peak_is_of_the_time_since_its_reset():
    memory.reset_peak()
    before = memory.process_memory()
    taken = bytearray(b"x" * 2**27)
    assert memory.peak() - before >= 2**27
    del taken
    memory.reset_peak()
    assert memory.peak() - before < 2**27
