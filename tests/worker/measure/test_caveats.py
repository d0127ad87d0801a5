"""Caveats are reported only if they are justified, and every caveat has a sentence."""

from unittest.mock import MagicMock

import pytest

from tests.worker.measure.simulated import QUICK, Simulation
from tuilab.analysis.caveats import Pressure
from tuilab.model.events import Caveat
from tuilab.model.requests import Measure
from tuilab.model.scenario import Scenario
from tuilab.model.telemetry import GpuProcess
from tuilab.worker.measure import interference, run
from tuilab.worker.measure.bench import TimedArm, Warmth
from tuilab.worker.measure.caveats import of_cell, of_run
from tuilab.worker.measure.interference import GpuWatch

WARM = Warmth(1.0, 100, True)


def cell(samples: list[float], warmth: Warmth = WARM) -> TimedArm:
    made = Simulation().cell("a", samples[0] if samples else 1.0)
    made.samples, made.warmth = samples, warmth
    return made


def codes(made: TimedArm) -> list[str]:
    return [flag.code for flag in of_cell(made, QUICK)]


STEADY = [1.0 + 0.001 * (i % 3) for i in range(24)]


def test_a_sound_cell_has_no_caveats() -> None:
    assert codes(cell(STEADY)) == []


def test_each_doubt_has_its_code() -> None:
    assert codes(cell([*STEADY, 9.0])) == ["outliers"]
    assert "drift" in codes(cell([1.0 + 0.001 * i for i in range(40)]))
    assert codes(cell(STEADY, Warmth(3.0, 50, False))) == ["not-warm"]
    assert codes(cell(STEADY[:5])) == ["precision"]


def test_flags_name_the_arm_the_point_and_the_figures() -> None:
    there, made = Simulation(), cell(STEADY[:1])
    there.bench.flag(of_cell(made, QUICK), made.arm.id, 3)
    (flag,) = there.channel.of(Caveat)
    assert flag.arm == made.arm.id and flag.point == 3
    assert flag.message == ("time ran out without an interval after 1 round (target ± 5% and 20 rounds)")


def test_enough_rounds_without_an_interval_say_why() -> None:
    (flag,) = [f for f in of_cell(cell([1.0 + 0.01 * i for i in range(31)]), QUICK) if f.code == "precision"]
    assert (
        "without an interval after 31 rounds, because the times drift too slowly for an interval (target"
        in flag.message
    )


def test_a_call_too_long_to_warm_up_is_reported() -> None:
    (flag, _) = of_cell(cell([20.0], Warmth(20.0, 1, False)), QUICK)
    assert flag.code == "not-warm" and "one call takes 20.0 s" in flag.message


def pressed(**more: float) -> Pressure:
    return Pressure(wall_s=1.0, cores=2, switches=0, waited_s=0.0, throttled_s=0.0, others_s=0.0, **more)  # type: ignore[arg-type]


def test_pressures_of_all_points_are_judged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.1, 0.1))
    busy = Pressure(wall_s=1.0, cores=2, others_s=1.9, switches=0)
    assert of_run([], 20, 0) == []
    assert of_run([pressed()] * 9, 20, 0) == []
    (flag,) = of_run([busy, busy], 20, 0)
    assert flag.code == "cpu-contention" and "95% of 2 logical CPUs" in flag.message


def test_a_canary_that_moved_in_many_kept_rounds_is_reported() -> None:
    assert of_run([], 100, 5) == []
    (flag,) = of_run([], 100, 6)
    assert flag.code == "canary" and "in 6 of 100 rounds" in flag.message


def test_counters_increase_by_the_time_of_a_busy_thread() -> None:
    before = interference.read_counters()
    while interference.read_counters().at < before.at + 0.25:
        pass
    seen = interference.pressure_since(before)
    assert seen is not None and seen.wall_s >= 0.25 and seen.cores >= 1
    assert seen.switches is not None and seen.switches >= 0
    assert seen.others_s is None or seen.others_s >= 0


def test_a_very_short_period_is_not_judged() -> None:
    assert interference.pressure_since(interference.read_counters()) is None


def test_gpu_throttling_is_reported_with_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures come from the driver's counters, because a query after the run would find an idle GPU that
    is not throttled.
    """
    clock, counted = [100.0], {"at its power limit": 40.0, "slowed down by heat": 7.0}
    monkeypatch.setattr(interference.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(interference.nvml, "slowed", lambda bus: dict(counted))
    busy = [GpuProcess(pid=7, name="python", memory=2 * 10**9)]
    monkeypatch.setattr(interference.nvml, "busy_processes", lambda bus, since: busy)
    watch = GpuWatch({"GPU:0": "0000:04:00.0", "GPU:1": "0000:05:00.0"}, ["CPU:0", "GPU:0", "GPU:0"])
    clock[0], counted["at its power limit"] = 110.0, 42.0
    throttled, shared = watch.flags()
    assert (throttled.code, throttled.message) == (
        "throttled",
        "GPU:0 was at its power limit for 20% of the time",
    )
    assert shared.message == "GPU:0 is shared: python (2.00 GB) used it during the run"


def test_measuring_the_roofs_does_not_count_as_throttling(monkeypatch: pytest.MonkeyPatch) -> None:
    """An H100 was idle during the run, but reached its power limit during the matrix products that measure
    the roofs.
    """
    order: list[str] = []
    silent = ("_start_event", "_present", "grid", "of_gpus", "of_run", "kept_memory", "of_clock", "reached")
    for name in silent:
        monkeypatch.setattr(run, name, lambda *_: [])
    for name in ("measure_points", "measure_roofs"):
        monkeypatch.setattr(run, name, lambda *_, name=name: order.append(name))
    bench = MagicMock(starts=None, state=MagicMock(model=None))
    bench.gpus.flags = lambda: order.append("flags")
    monkeypatch.setattr(run, "_bench", lambda *_: bench)
    monkeypatch.setattr(run, "_wanting", lambda *_: True)
    request = Measure(id="r", scenario=Scenario("stft", {}), arms=(), budget=QUICK, roofs=())
    run.measure(MagicMock(), request)
    assert order == ["measure_points", "flags", "measure_roofs"]


def test_without_a_gpu_no_throttling_is_examined() -> None:
    watch = GpuWatch({}, ["CPU:0"])
    assert watch.flags() == []
