"""The maximum gain of a fix, if the pipeline uses the same processors as the step."""

import msgspec
import pytest

from tests.tui.watched import events, seen
from tuilab.model.program import Bottleneck, Function, Hello, Steps, Traces, Window
from tuilab.presentation.program import gain
from tuilab.program.findings import Beside, Case, findings
from tuilab.program.fold import Process
from tuilab.report.program import gained


def found(processors: int, on: str = "compute on CPU") -> dict[str, Bottleneck]:
    """Return the findings for a `fit` that waits 30% of the time, while its map works 80% of the time."""
    process = Process()
    for told in events():
        process.apply(
            msgspec.structs.replace(told, processors=processors) if isinstance(told, Hello) else told
        )
    window = seen()
    window.steps = [{"waiting for input": 0.030, on: 0.065, "python": 0.005}] * 12
    window.stages = {
        "Root::Prefetch": 0.1,
        "Root::Prefetch::Batch": 0.002,
        "Root::Prefetch::Batch::Map": 0.078,
    }
    process.windows.append((Window(start=2.0, end=3.0, steps=len(window.steps)), window))
    return {each.code: each for each in findings(Case(process, {}, Beside()))}


def test_gains_include_the_processor_time_of_the_pipeline() -> None:
    for code in ("input-bound", "python-in-map"):
        of = found(16)[code]
        assert of.share == pytest.approx(0.3)
        assert of.gain_at_most == pytest.approx(1 / (1 - 0.3 - (0.8 - 0.3) / 16))
    assert "3.1% of the processors" in found(16)["input-bound"].message


def test_a_step_on_a_gpu_can_gain_its_waiting_time() -> None:
    for of in (found(16, "compute on GPU")["input-bound"], found(0)["input-bound"]):
        assert of.gain_at_most == pytest.approx(1 / (1 - 0.3)) and "processors" not in of.message


@pytest.mark.parametrize(("cpu_s", "told"), [(11.6, True), (5.8, False)])
def test_python_in_a_map_is_reported_if_it_takes_processors_from_the_step(cpu_s: float, told: bool) -> None:
    """A map that only sleeps is not reported, because a prefetch hides its time."""
    process = Process()
    for message in events():
        if isinstance(message, Hello):
            message = msgspec.structs.replace(message, processors=2)
        process.apply(message)
    process.apply(
        Steps(now=process.last + 5.8, cpu=cpu_s, calls=((0, process.last, process.last + 0.1, False),))
    )
    window = seen()
    window.steps = [{"waiting for input": 0.005, "compute on CPU": 0.095}] * 12
    window.stages = {"Root::Prefetch": 0.1, "Root::Prefetch::Batch::Map": 0.09}
    process.windows.append((Window(start=2.0, end=3.0, steps=len(window.steps)), window))
    found = {each.code: each for each in findings(Case(process, {}, Beside()))}
    assert ("python-in-map" in found) is told and "input-bound" not in found
    if told:
        assert found["python-in-map"].gain_at_most == pytest.approx(1 / (1 - 0.05 - (0.9 - 0.05) / 2))


def test_time_of_retraced_calls_can_be_gained_too() -> None:
    """Each of 20 rates causes a trace of 0.1 s; the first call after each trace takes 50 ms, and the next
    nine take 10 ms each.

    After the fix, one trace remains, which may take only 60 ms in another process.
    """
    process, calls, at = Process(), [], 2.0
    for _ in range(20):
        for length in (0.1, 0.05, *[0.01] * 9):
            calls.append((0, at, at + length, length == 0.1))
            at += length
    rates = tuple((0.1, [["number", str(n), "float"]]) for n in range(20))
    process.apply(Hello(pid=7, parent=1, now=1.0))
    process.apply(Function(number=0, name="step", file="train.py", line=3, own=True))
    process.apply(Traces(number=0, traces=rates))
    process.apply(Steps(now=at, calls=tuple(calls)))
    (of,) = (each for each in findings(Case(process, {}, Beside())) if each.code == "retraced")
    total = at - 2.0
    assert of.gain_at_most == pytest.approx(total / (total - 18 * 0.1))
    assert of.gain_ci95 is not None
    assert of.gain_ci95[1] == pytest.approx(total / (total - 19 * 0.1 - 0.04 - 20 * 0.04))


def test_profiling_does_not_reduce_the_time_between_calls() -> None:
    """The step takes 1 ms, or 2 ms when profiled, and the callback 5 ms."""
    process = Process()
    calls = tuple((0, 2.0 + n * 0.006, 2.001 + n * 0.006, False) for n in range(200))
    process.apply(Hello(pid=7, parent=1, now=1.0))
    process.apply(Function(number=0, name="step", file="train.py", line=3, own=True, caller=("train.py", 9)))
    process.apply(Steps(now=3.2, calls=calls, samples=(("train.py", 12, "on_train_batch_end", "", -1, 20),)))
    window = seen()
    window.steps = [{"python": 0.005, "compute on CPU": 0.002}] * 12
    process.windows.append((Window(start=2.0, end=2.1, steps=12), window))
    (of,) = (each for each in findings(Case(process, {}, Beside())) if each.code == "between-steps")
    assert of.gain_at_most == pytest.approx(7 / 2)
    assert of.gain_ci95 is not None and of.gain_ci95[1] == pytest.approx(6 / 1, rel=0.01)


def test_ops_after_a_pause_may_start_sooner_without_it() -> None:
    """The step takes 2 ms, of which launching ops takes 1.5 ms. The threads that these ops wake have slept
    for 5 ms during a callback.
    """
    process = Process()
    calls = tuple((0, 2.0 + n * 0.007, 2.002 + n * 0.007, False) for n in range(200))
    process.apply(Hello(pid=7, parent=1, now=1.0))
    process.apply(Function(number=0, name="step", file="train.py", line=3, own=True, caller=("train.py", 9)))
    process.apply(Steps(now=3.5, calls=calls, samples=(("train.py", 12, "on_train_batch_end", "", -1, 20),)))
    window = seen()
    window.steps = [{"python": 0.005, "dispatch": 0.001, "scheduling": 0.0005, "compute on CPU": 0.0005}] * 12
    process.windows.append((Window(start=2.0, end=2.1, steps=12), window))
    (of,) = (each for each in findings(Case(process, {}, Beside())) if each.code == "between-steps")
    assert of.gain_at_most == pytest.approx(7 / 2, rel=0.01)
    assert of.gain_ci95 is not None and of.gain_ci95[1] == pytest.approx(7 / 0.5, rel=0.01)
    assert "starting ops (21% of a step) may also become faster" in of.message


def test_gains_of_the_same_time_say_so_and_follow_each_other() -> None:
    """Together, fixing the Python code in the map and adding a prefetch gain no more than the whole wait."""
    process = Process()
    for told in events():
        process.apply(told)
    window = seen()
    window.steps = [{"waiting for input": 0.030, "compute on CPU": 0.065, "python": 0.005}] * 12
    window.stages = {"Root::Batch": 0.001, "Root::Batch::Map": 0.03}
    process.windows.append((Window(start=2.0, end=3.0, steps=len(window.steps)), window))
    first, *parts = (each for each in findings(Case(process, {}, Beside())) if each.code != "retraced")
    assert first.code == "input-bound" and first.part_of is None and "parallel" not in first.remedy
    assert [each.code for each in parts] == ["python-in-map", "no-prefetch"]
    for each in parts:
        assert each.part_of == "input-bound"
        assert gained(each).endswith("×, part of input-bound")
    assert [gain(each, [first, *parts]) for each in (first, *parts)] == ["1.43×", "the same", "the same"]
    assert "the same" not in gain(parts[0], parts)  # the finding with the same gain is not in the list
