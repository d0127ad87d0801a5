import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from tests.profile.synthetic import call, event, node, stream, sync, thread
from tests.worker.measure.simulated import Simulation
from tuilab.model.arms import Arm
from tuilab.profile.sums import sums
from tuilab.profile.threads import activity
from tuilab.profile.xplane import Recording, XLine
from tuilab.worker.measure.bench import TimedArm
from tuilab.worker.measure.counting import Counted, Part
from tuilab.worker.measure.phases import OwnClock, account_of, measure_account, own_python
from tuilab.workloads.base import Case


def of(*lines: XLine, device: str, **about: Any) -> Any:
    found = sums(activity(lines))
    return account_of(
        Recording(lines), found, sum(found.phases.values()) * 1e-12, device=device, drained=False, **about
    )


def test_a_profiled_gpu_computes_while_the_host_waits() -> None:
    main = thread("python", call(0, 100), event("TFE_Py_Execute", 0, 20), sync(40, 100))
    found = of(main, stream(event("sgemm", 10, 90)), device="GPU:0")
    assert found.share("compute") == pytest.approx(0.8) and not found.not_known


def test_waiting_for_a_gpu_without_a_profile_has_no_reason() -> None:
    found = of(thread("python", call(0, 100), event("TFE_Py_Execute", 0, 20), sync(40, 100)), device="GPU:0")
    assert found.not_known == pytest.approx(0.6) and "could not record the device" in found.note


def test_calls_lost_by_the_profiler_are_unknown() -> None:
    assert of(thread("python", event("TFE_Py_Execute", 0, 20)), device="CPU:0").not_known == 0
    found = account_of(Recording(()), sums(activity(())), 1e-3, device="CPU:0", drained=False)
    assert found.not_known == 1 and "recorded no calls" in found.note


def test_python_time_is_only_measured_if_there_is_some() -> None:
    asked: list[int] = []

    def own() -> list[float]:
        asked.append(1)
        return [10e-6]

    found = of(
        thread("python", call(0, 100), event("TFE_Py_Execute", 50, 100)), device="CPU:0", own_python=own
    )
    assert asked and found.seconds("python") == pytest.approx(10e-6)
    of(thread("python", call(0, 100), node("m", "MatMul", 1, 100)), device="CPU:0", own_python=own)
    assert len(asked) == 1


def busy(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def test_the_python_clock_stops_inside_tensorflow_code(tmp_path: Path) -> None:
    theirs = {"busy": busy}
    code = (
        "def work(seconds, back=None):\n    (back or (lambda s: None))(seconds)\n    sorted(range(300_000))\n"
    )
    exec(compile(code, str(tmp_path / "tensorflow" / "ops.py"), "exec"), theirs)
    work: Any = theirs["work"]
    clock = OwnClock((str(tmp_path),))
    whole = OwnClock(("/nowhere",))
    assert whole.time(lambda: work(0.0)) > 3 * clock.time(lambda: work(0.0))
    # Time in a function that TensorFlow calls back counts as user code again.
    assert clock.time(lambda: work(0.02, busy)) >= 0.02
    assert clock.time(lambda: busy(0.02)) >= 0.02


def test_the_python_clock_stops_inside_a_py_function(tf: Any) -> None:
    """A profile shows this time as an op's, in eager mode too, where the same thread runs it."""
    inside = Case(call=lambda: tf.py_function(lambda x: [busy(0.02), x][1], [1.0], tf.float32))
    outside = Case(call=lambda: [busy(0.02), tf.py_function(lambda x: x, [1.0], tf.float32)])
    assert statistics.median(own_python(tf, inside, lambda: None)) < 0.01
    assert statistics.median(own_python(tf, outside, lambda: None)) >= 0.02


def test_a_call_too_long_to_be_profiled_is_not_called_computing(tf: Any) -> None:
    simulation = Simulation()
    simulation.bench.context.tf = tf
    case = Case(call=lambda: simulation.clock.spend(9.0), copy_in=lambda: simulation.clock.spend(3.0))
    cell = TimedArm(Arm("CPU:0", "graph"), 0, case, device="CPU:0", call_s=9.0)
    found = next(measure_account(simulation.bench, cell)).account
    assert found.share("copy_in") == pytest.approx(1 / 3) and found.share("compute") == 0
    assert found.not_known > 0.6 and "too long to profile" in found.note


@pytest.mark.parametrize(("op", "profiled"), [("MatMul", True), ("While", False)])
def test_a_long_call_of_a_graph_with_few_ops_is_profiled(tf: Any, op: str, profiled: bool) -> None:
    """A graph with a data-dependent loop is not profiled, because its loop's trip count, and so its number of
    ops, is unknown.
    """
    simulation = Simulation()
    simulation.bench.context.tf = tf
    case = Case(call=lambda: tf.linalg.matmul([[1.0]], [[1.0]]))
    cell = TimedArm(Arm("CPU:0", "graph"), 0, case, device="CPU:0", call_s=9.0)
    cell.of_graph = Counted(parts=[Part("op", op, "float32", 1, None, {}, {})])
    found = next(measure_account(simulation.bench, cell)).account
    assert (found.calls > 0) is profiled
