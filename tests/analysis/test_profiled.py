import msgspec
import pytest

from tests import made
from tuilab.analysis.profiled import by_type, copying, diagnose
from tuilab.model.profile import OpTime, Phase, PhaseTime, Profile


def op(name: str, seconds: float, phase: Phase = "compute", count: float = 1, busy: float = 0.0) -> OpTime:
    return OpTime(
        op=name, name=name, device="CPU", phase=phase, count=count, seconds=seconds, busy_s=busy or seconds
    )


def profile(ops: tuple[OpTime, ...], arm: str = "cpu0.graph.resident.float32", **phases: float) -> Profile:
    step = sum(phases.values())
    shares = tuple(PhaseTime(phase=name, seconds=spent, share=spent / step) for name, spent in phases.items())
    return made.profile(arm, step_s=step, measured_s=step, phases=shares, ops=ops)


def test_eager_dispatch_is_named_with_its_ops() -> None:
    ops = (op("RFFT", 1e-3), op("Mul", 0.9e-3, count=79))
    told = diagnose(profile(ops, "cpu0.eager.resident.float32", compute=1.9e-3, dispatch=6e-3, python=2.1e-3))
    assert told[0] == (
        "81% of the eager time goes to Python and dispatch, for 80 ops that compute for 1.90 ms; "
        "one graph would remove most of it."
    )
    assert told[-1].startswith("RFFT on CPU computes for 1.00 ms")


def test_serial_and_parallel_pipelines_are_distinguished() -> None:
    serial = (op("IteratorGetNext", 3e-3, "input"), op("DecodeJpeg", 0.0, "input", busy=2.9e-3))
    told = diagnose(profile(serial, input_wait=3e-3, compute=1e-3))
    assert told[0].startswith(
        "3.00 ms of 4.00 ms is spent waiting for input (75%): the call is highly input-bound"
    )
    assert "DecodeJpeg" in told[0] and "one element at a time" in told[0]
    parallel = (op("IteratorGetNext", 3e-3, "input"), op("DecodeJpeg", 0.0, "input", busy=7.5e-3))
    told = diagnose(profile(parallel, input_wait=3e-3, compute=1e-3))
    assert "1.9 processors" in told[0] and "one element at a time" not in told[0]


@pytest.mark.parametrize(
    ("waits", "words"),
    [(0.14, ""), (0.16, "moderately"), (0.196, "(20%): the call is highly"), (0.21, "highly")],
)
def test_input_bound_is_reported_from_the_thresholds(waits: float, words: str) -> None:
    text = " ".join(diagnose(profile((op("A", 1 - waits),), input_wait=waits, compute=1 - waits)))
    assert ("input-bound" in text) == bool(words)
    assert words in text


def test_copies_are_compared_with_the_compute() -> None:
    told = diagnose(profile((op("A", 1e-3),), copy_in=2.1e-3, compute=1e-3))
    assert "Copies take 2.10 ms of 3.10 ms, 2.10× the compute time; keep the data on the device." in told


def test_copy_time_outside_the_link_is_accounted_for() -> None:
    copy = msgspec.structs.replace(op("MemcpyH2D", 10e-6, "copy"), device="GPU:0")
    said = copying(profile((op("A", 1e-3), copy), copy_in=116e-6, compute=1e-3))
    assert said.startswith(
        "Copying takes 116 µs. The link transfers data for 10.0 µs of it (MemcpyH2D); the rest"
    )
    assert not copying(profile((op("A", 1e-3), copy), copy_in=11e-6, compute=1e-3))
    assert not copying(profile((op("A", 1e-3),), compute=1e-3))


def test_a_call_that_only_runs_python_says_so() -> None:
    assert diagnose(profile((), python=1e-3)) == ("No TensorFlow op ran in the call, which took 1.00 ms.",)


def test_ops_add_up_by_type() -> None:
    rows = by_type((op("Mul", 1.0), op("Mul", 2.0, count=3), op("Add", 5.0)))
    assert [(row.op, row.seconds, row.count) for row in rows] == [("Add", 5.0, 1), ("Mul", 3.0, 4)]
