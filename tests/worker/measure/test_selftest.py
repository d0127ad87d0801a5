"""The self-test tolerates chance, reacts to load, and fails for broken engines."""

import math
import random
from contextlib import nullcontext
from types import SimpleNamespace

import msgspec
import pytest

from tests.conftest import Worker
from tests.made import MACHINE
from tuilab.analysis.caveats import Pressure
from tuilab.analysis.summary import summarise
from tuilab.model.roofline import DeviceRoofs, MemoryRoof, Roofs, Work
from tuilab.model.selftest import NAMES, Check, SelftestSummary
from tuilab.worker.measure.bench import TimedArm
from tuilab.worker.selftest import clock, decisions, forks, run, surroundings
from tuilab.worker.selftest.bench import bench, by_round, cell, spin

QUIET = Pressure(wall_s=2.0, cores=2, switches=3, waited_s=0.0, others_s=0.02)
HOGGED = Pressure(wall_s=2.0, cores=2, switches=400, waited_s=0.9, others_s=1.9)


def context() -> SimpleNamespace:
    tf = SimpleNamespace(device=nullcontext, raw_ops=SimpleNamespace(SyncDevice=lambda: None))
    return SimpleNamespace(tf=tf, machine=SimpleNamespace(gpus=()))


@pytest.mark.parametrize(("runs", "most"), [(200, 17), (1_000, 66), (20, 3)])
def test_the_allowance_for_chance_holds_in_99_of_100_tests(runs: int, most: int) -> None:
    assert decisions.allowed(0.05, runs) == most


def test_no_more_is_demanded_than_the_noise_allows() -> None:
    assert decisions.wanted(None, 40, 0) == decisions.wanted(1.0, 40, 40) == 36
    assert 8 < decisions.wanted(0.5, 40, 40) < decisions.wanted(0.5, 40, 10_000) < 20


@pytest.mark.parametrize(
    ("spread", "grows", "slows", "passes"),
    [
        (0.005, 0.06, 0.0, True),
        (0.06, 0.06, 0.0, True),  # uneven times, so few drifts are detected, as expected
        (0.005, 0.0, 0.0, False),  # faulty: the engine does not detect that the times grow
        (0.03, 0.01, 0.0, False),
        (0.005, 0.06, 0.05, False),  # faulty: steady spins seem to become slower
    ],
)
def test_the_demanded_drift_detection_follows_the_noise_of_the_machine(
    spread: float, grows: float, slows: float, passes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(1)

    def by_round(_: object, cells: list[TimedArm]) -> None:
        for one, moved in zip(cells, (grows, slows), strict=True):
            one.samples.extend((1 + moved * i / 40) * math.exp(draw.gauss(0, spread)) for i in range(40))

    monkeypatch.setattr(decisions, "by_round", by_round)
    found = decisions.drifting(context(), long=False)  # type: ignore[arg-type]
    assert found.passed == passes, found.message


def check(name: str, passed: bool) -> Check:
    return Check(name=name, figure=1.0, limit="1", passed=passed, message="")


def test_the_summary_names_what_failed() -> None:
    good = run.summary([check("a-a", True), check("drift", True)], 1.0)
    assert good.passed and good.idle and good.message == "all 2 checks passed"
    bad = run.summary([check("a-a", True), check("drift", False)], 1.0)
    assert not bad.passed and bad.idle and "drift" in bad.message


@pytest.mark.parametrize("name", ["idle", "still-idle"])
def test_a_busy_machine_makes_the_self_test_inconclusive(name: str) -> None:
    summary = run.summary([check("a-a", True), check(name, False)], 1.0)
    assert not summary.passed and not summary.idle
    assert summary.message.startswith("the machine was not idle")


def test_idle_and_hogged_machines_are_distinguished() -> None:
    assert surroundings.idle(QUIET).passed
    hogged = surroundings.idle(HOGGED)
    assert (
        not hogged.passed and hogged.message.startswith("NOT IDLE") and hogged.figure == pytest.approx(0.475)
    )


def test_a_hog_during_one_check_is_named() -> None:
    assert surroundings.still_idle({"a-a": QUIET}).passed
    spoilt = surroundings.still_idle({"a-a": QUIET, "drift": HOGGED})
    assert not spoilt.passed and "during drift" in spoilt.message


def test_spins_are_measured_with_their_set_length() -> None:
    assert clock.fitted([1.0, 2.0, 4.0], [1.1, 2.2, 4.4]) == pytest.approx((1.1, 0))
    assert clock.fitted([1.0, 2.0, 4.0], [1.5, 2.5, 4.5]) == pytest.approx((1, 0.5))
    own = bench(context(), rounds=6, limit_s=5.0)  # type: ignore[arg-type]
    (rounds,) = by_round(own, [cell("a", lambda: spin(200e-6), 10, 200e-6)])
    assert len(rounds) == 6 and min(rounds.values()) == pytest.approx(200e-6, rel=0.05)


def test_a_check_that_raises_is_reported_as_failed() -> None:
    found = run._run("a-a", lambda: 1 / 0)  # type: ignore[arg-type,return-value]
    assert found is not None and not found.passed and "ZeroDivisionError" in found.message


def test_no_call_exceeds_a_roof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call can exceed a roof that was measured at a busy moment. Reports show no share for such a call."""
    device = DeviceRoofs(memory=(MemoryRoof(2**28, 1e9),), triad=1e9, peaks={"float32": 1e9})
    slow = Roofs(machine=MACHINE.key, at="2026", seconds=1.0, sync_s=0.0, devices={"CPU:0": device})
    works = {"a": Work(flop=1e9, inputs=1e3, outputs=1e3), "b": Work(flop=1e3, inputs=1e9, outputs=1e3)}
    state = surroundings.under(slow, MACHINE, works, [dict.fromkeys(range(9), 0.8)] * 2)
    roofs = [arm.roof for arm in summarise(state).arms]
    assert [roof and roof.share for roof in roofs] == [None, None]
    assert all(roof is not None and "reached" in roof.roof for roof in roofs)

    def check_share(share: float) -> Check:
        for name, value in {"measure_roofs": slow, "by_round": [{0: 1.0}], "under": state}.items():
            monkeypatch.setattr(surroundings, name, lambda *_, value=value: value)
        roof = SimpleNamespace(share=share, roof="1 GB/s memory")
        monkeypatch.setattr(surroundings, "against_roof", lambda *_: roof)
        tf = SimpleNamespace(
            device=nullcontext, ones=lambda _: 0, reduce_sum=lambda x: x, matmul=lambda x, y: x,
            raw_ops=SimpleNamespace(SyncDevice=lambda: None),
        )  # fmt: skip
        return surroundings.shares(SimpleNamespace(tf=tf, machine=MACHINE, check_question=None))  # type: ignore[arg-type]

    assert check_share(0.97).passed and not check_share(1.01).passed
    assert check_share(5.57).figure == 5.57 and "at most 557% of a roof" in check_share(5.57).message


@pytest.mark.parametrize(("apart", "passes"), [(0.0, True), (0.3, False), (-0.3, False)])
def test_forks_that_differ_from_fresh_processes_fail(apart: float, passes: bool) -> None:
    draw = random.Random(1)
    fresh = [draw.gauss(-8.0, 0.03) for _ in range(forks.FRESH)]
    found = forks.judged([draw.gauss(-8.0 + apart, 0.03) for _ in range(forks.FORKS)], fresh)
    assert found.passed is passes
    assert found.figure == pytest.approx(math.exp(apart), rel=0.05)


def test_forks_like_fresh_processes_fail_in_one_self_test_of_a_hundred() -> None:
    draw = random.Random(2)
    drawn = ([draw.gauss(-8.0, 0.1) for _ in range(forks.FRESH + forks.FORKS)] for _ in range(2_000))
    failed = sum(not forks.judged(logs[: forks.FORKS], logs[forks.FORKS :]).passed for logs in drawn)
    assert 5 <= failed <= 40


def test_the_self_test_forks_only_if_runs_do() -> None:
    for about in ({"gpus": ("a GPU",), "environment": ""}, {"gpus": (), "environment": "/home/me/venv"}):
        assert forks.forked(SimpleNamespace(machine=SimpleNamespace(**about))) is None  # type: ignore[arg-type]


def test_every_name_has_a_check() -> None:
    asked = run.Selftest()
    assert tuple(run._checks(context(), asked, {})) == NAMES  # type: ignore[arg-type]


@pytest.mark.real_worker
@pytest.mark.long
def test_a_real_worker_tests_itself(worker: Worker) -> None:
    *checks, end = worker.ask("selftest")
    assert {answer.kind for answer in checks} == {"Check"} and end.kind == "SelftestSummary"
    found = {c.name: c for c in (msgspec.json.decode(answer.body, type=Check) for answer in checks)}
    assert list(found) == [name for name in NAMES if name != ("forked" if worker.machine.gpus else "link")]
    summary = msgspec.json.decode(end.body, type=SelftestSummary)
    assert summary.seconds < 120
    assert found["hog"].passed and found["spin-slope"].passed
    if summary.idle:
        assert summary.passed, summary.message


def runs_of(spread: float, seed: int = 1) -> decisions.Noise:
    draw = random.Random(seed)

    def made() -> dict[int, float]:
        return {i: 1e-3 * math.exp(draw.gauss(0, spread)) for i in range(20)}

    return decisions.Noise([(made(), made()) for _ in range(200)], run_s=0.1)


def test_the_limits_of_a_machine_follow_from_its_noise() -> None:
    quiet, uneven = runs_of(0.01), runs_of(0.06)
    assert quiet.least() < 0.02 < 0.05 < uneven.least()  # type: ignore[operator]
    assert quiet.detection_rate(0.05) > 0.99 > 0.85 > uneven.detection_rate(0.05)  # type: ignore[operator]
    assert 0.8 < uneven.detection_rate(uneven.least()) < 0.97  # type: ignore[operator,arg-type]
    assert uneven.seconds_for(0.02) > 5 * uneven.run_s  # type: ignore[operator]
    assert "detects a difference of" in decisions.resolution(uneven).message  # type: ignore[union-attr]
    assert decisions.Noise().least() is None and decisions.resolution(decisions.Noise()) is None
