import pytest

from tests import made
from tests.analysis.made_runs import GPU_COPIED, SIZES, begun, failed, finish, measure, phases, placed
from tests.made import EAGER, GPU_GRAPH, GRAPH, XLA
from tuilab.analysis.diagnosis import Diagnosis, diagnose
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.roofline import Work
from tuilab.model.run import RunState


def found(state: RunState, code: str) -> list[Diagnosis]:
    return [d for d in diagnose(state) if d.code == code]


def test_without_measurements_nothing_is_diagnosed() -> None:
    assert diagnose(RunState()) == []
    assert diagnose(begun([GRAPH])) == []
    assert diagnose(measure(begun([GRAPH]), {GRAPH: 1e-3})) == []


def test_a_dispatch_bound_eager_arm_is_reported() -> None:
    state = measure(begun([EAGER, GRAPH]), {EAGER: 4.5e-3, GRAPH: 4.8e-4})
    phases(state, EAGER, dispatch=3.645e-3, compute=0.855e-3)
    placed(state, EAGER, e.Node("m", "Mul", "CPU:0", count=80))
    placed(state, GRAPH, e.Node("m", "RFFT", "CPU:0", count=4))
    (one,) = found(state, "dispatch-bound")
    assert (one.severity, one.arm) == ("error", EAGER.id)
    assert one.message.startswith(
        "CPU eager spends 81% of each call in Python and dispatching its 80 ops; one graph launches 4, "
        "and CPU graph is 9."
    )
    assert one.message.endswith("× faster.")
    assert "tf.function" in one.remedy


def test_the_advice_names_the_setting_that_gave_the_stated_gain() -> None:
    state = measure(begun([EAGER, XLA]), {EAGER: 4.5e-3, XLA: 4.8e-4})
    phases(state, EAGER, dispatch=3.645e-3, compute=0.855e-3)
    placed(state, EAGER, e.Node("m", "Mul", "CPU:0", count=80))
    placed(state, XLA, e.Node("m", "RFFT", "CPU:0"))
    (one,) = found(state, "dispatch-bound")
    assert "XLA launches one program, and CPU xla is 9." in one.message
    assert one.remedy == "Put the whole step into one tf.function with jit_compile=True."


def test_advice_refuted_by_other_arms_of_the_run_is_withheld() -> None:
    state = measure(begun([EAGER, GRAPH]), {EAGER: 1e-3, GRAPH: 2e-3})
    assert not found(phases(state, EAGER, dispatch=9e-4, compute=1e-4), "dispatch-bound")
    state = measure(begun([GPU_GRAPH, GPU_COPIED]), {GPU_GRAPH: 3e-3, GPU_COPIED: 1e-3})
    assert not found(phases(state, GPU_COPIED, copy_in=8e-4, compute=2e-4), "copy-bound")
    same = measure(begun([EAGER, GRAPH]), {EAGER: 1e-3, GRAPH: 1e-3})
    assert not found(phases(same, EAGER, dispatch=9e-4, compute=1e-4), "dispatch-bound")


def test_an_arm_traced_in_each_call_is_not_compared_with_others() -> None:
    state = measure(begun([EAGER, GRAPH]), {EAGER: 2e-2, GRAPH: 1e-3})
    state.apply(e.Caveat(run="r", code="retraced", message="it is retraced; pass tensors", arm=EAGER.id))
    (one,) = found(phases(state, EAGER, dispatch=1.9e-2, compute=1e-3), "dispatch-bound")
    assert "faster" not in one.message and one.message.endswith("it is retraced.")


def test_code_that_failed_as_a_graph_is_not_advised_to_be_one() -> None:
    state = failed(measure(begun([EAGER, GRAPH]), {EAGER: 1e-3}), GRAPH, "no graph holds it")
    (one,) = found(phases(state, EAGER, dispatch=9e-4, compute=1e-4), "dispatch-bound")
    assert one.remedy == "Give each call more work: a larger batch."


def test_without_a_known_part_no_shares_are_mentioned() -> None:
    state = phases(measure(begun([GRAPH]), {GRAPH: 1e-3}), GRAPH, residual=9e-1, compute=1e-1)
    (one,) = found(state, "not-known")
    assert "cannot be split into parts" in one.message and "other shares" not in one.remedy
    assert "quiet machine" in one.remedy, "the profiled calls took longer than the others"
    state = phases(measure(begun([XLA]), {XLA: 12.0}), XLA, residual=12.0)
    (one,) = found(state, "not-known")
    assert "cannot be split into parts" in one.message and "smaller size" in one.remedy


def test_advice_for_a_step_agrees_with_other_arms_of_the_run() -> None:
    serial, prefetched, cached = (
        Arm("CPU:0", "graph", variant=v) for v in ("serial", "prefetched", "cached")
    )
    costs = {serial: 9e-3, prefetched: 9e-3, cached: 3e-3}
    state = measure(begun([serial, prefetched, cached]), costs)
    for arm, cost in costs.items():
        phases(state, arm, input_wait=0.8 * cost, compute=0.2 * cost)
    told = {d.arm: d.remedy for d in found(state, "input-bound")}
    assert told == {
        serial.id: "Map in parallel, cache the elements that stay the same or move the work into the step.",
        prefetched.id: "Cache the elements that stay the same or move the work into the step.",
        cached.id: "Move the work into the step.",
    }
    step = Arm("CPU:0", "graph", variant="in-step")
    both = measure(begun([cached, step]), {cached: 3e-3, step: 3e-3})
    (one,) = found(phases(both, step, input_wait=2e-3, compute=1e-3), "input-bound")
    assert one.remedy.startswith("No other variant in this run is faster")


@pytest.mark.parametrize(
    ("share", "severity"),
    [(0.14, None), (0.15, "warning"), (0.19, "warning"), (0.2, "error"), (0.9, "error")],
)
def test_input_bound_is_reported_from_the_threshold_share(share: float, severity: str | None) -> None:
    state = phases(measure(begun([GRAPH]), {GRAPH: 1.0}), GRAPH, input_wait=share, compute=1 - share)
    assert [d.severity for d in found(state, "input-bound")] == ([severity] if severity else [])


@pytest.mark.parametrize(("share", "severity"), [(0.1, None), (0.2, "warning"), (0.35, "error")])
def test_launch_bound_is_reported_from_the_threshold_share(share: float, severity: str | None) -> None:
    state = phases(
        measure(begun([GPU_GRAPH]), {GPU_GRAPH: 2**-11}),
        GPU_GRAPH,
        dispatch=share * 2**-11,
        compute=(1 - share) * 2**-11,
    )
    placed(state, GPU_GRAPH, e.Node("m", "MatMul", "GPU:0"))
    launch = found(state, "launch-bound")
    assert [d.severity for d in launch] == ([severity] if severity else [])
    if launch:
        assert launch[0].message.endswith("% of each call launching its 1 op.")
    assert not found(state, "dispatch-bound")


@pytest.mark.parametrize(("half", "reported"), [(5e-5, True), (2e-4, False)])
@pytest.mark.parametrize(("arm", "code"), [(EAGER, "dispatch-bound"), (GPU_GRAPH, "launch-bound")])
def test_a_share_whose_interval_reaches_below_the_threshold_is_not_reported(
    arm: Arm, code: str, half: float, reported: bool
) -> None:
    state = measure(begun([arm]), {arm: 1e-3})
    account = made.account(halves={"dispatch": half}, dispatch=3e-4, compute=7e-4)
    state.apply(e.Accounted(run="r", arm=arm.id, point=0, account=account))
    placed(state, arm, e.Node("m", "MatMul", "GPU:0"))
    assert bool(found(state, code)) == reported


def test_advice_on_launching_is_withheld_on_a_contended_host() -> None:
    state = phases(measure(begun([GRAPH]), {GRAPH: 1e-3}), GRAPH, dispatch=5e-4, compute=5e-4)
    placed(state, GRAPH, e.Node("m", "MatMul", "CPU:0"))
    assert found(state, "launch-bound") and not found(state, "contended")
    state.apply(e.Caveat(run="r", code="cpu-contention", message="the processor was shared"))
    assert not found(state, "launch-bound")
    (one,) = found(state, "contended")
    assert one.severity == "note" and one.remedy == "Measure again on a quiet host."
    assert one.message.startswith("CPU graph spends 50% of each call starting its ops, but other processes")


def test_on_a_contended_host_dispatch_is_reported_only_if_a_graph_was_measured_to_be_faster() -> None:
    for graph_s, reported in ((1e-4, True), (1e-3, False)):
        state = measure(begun([EAGER, GRAPH]), {EAGER: 1e-3, GRAPH: graph_s})
        state.apply(e.Caveat(run="r", code="cpu-contention", message="the processor was shared"))
        phases(state, EAGER, dispatch=9e-4, compute=1e-4)
        assert bool(found(state, "dispatch-bound")) is reported


def test_a_single_op_is_not_advised_to_become_a_graph() -> None:
    """A graph would launch a single op just as eager mode does."""
    state = measure(begun([EAGER, XLA]), {EAGER: 1e-3, XLA: 0.9e-3})
    phases(placed(state, EAGER, e.Node("m", "MatMul", "CPU:0")), EAGER, dispatch=4e-4, compute=6e-4)
    (one,) = found(placed(state, XLA, e.Node("m", "MatMul", "CPU:0")), "dispatch-bound")
    assert one.message.endswith("dispatching its 1 op.") and one.remedy.startswith("Give each call more work")


def test_time_too_long_for_starting_one_op_is_not_called_launching() -> None:
    """Starting one op cannot take 4% of 240 ms, so another program must have used the processor."""
    for arm, dispatch in ((GRAPH, 0.01), (GRAPH, 0.2), (XLA, 0.01)):
        state = phases(measure(begun([arm]), {arm: 0.24}), arm, dispatch=dispatch, compute=0.24 - dispatch)
        assert not found(placed(state, arm, e.Node("m", "MatMul", "CPU:0")), "launch-bound")
    # A loop whose length depends on the data may launch any number of kernels.
    phases(state, XLA, dispatch=0.08, compute=0.16)
    state.apply(e.WorkKnown(run="r", arm=XLA.id, point=0, work=Work(flop=None, uncounted=("While",))))
    assert found(state, "launch-bound")


def test_python_that_an_op_calls_is_reported_for_the_fastest_arm() -> None:
    state = measure(begun([EAGER, GRAPH]), {EAGER: 11e-3, GRAPH: 7e-3})
    phases(phases(state, EAGER, dispatch=5e-3, py_function=6e-3), GRAPH, dispatch=1e-3, py_function=6e-3)
    (one,) = found(state, "python-called")
    assert one.message.startswith(
        "CPU graph spends 86% of each call in Python that an op calls (tf.py_function"
    )
    assert one.severity == "error"


def test_python_that_an_op_calls_is_reported_for_an_arm_as_fast_as_the_fastest() -> None:
    """Eager mode runs the code of tf.numpy_function without an op, in the same time."""
    for graph_s, codes in ((9.1e-3, 1), (15e-3, 0)):
        state = measure(begun([EAGER, GRAPH]), {EAGER: 9e-3, GRAPH: graph_s})
        phases(state, EAGER, python=9e-3)
        phases(state, GRAPH, dispatch=graph_s - 8.5e-3, py_function=8.5e-3)
        assert len(found(state, "python-called")) == codes


def test_copies() -> None:
    state = measure(begun([GPU_GRAPH, GPU_COPIED]), {GPU_GRAPH: 1e-3, GPU_COPIED: 3.3e-3})
    phases(state, GPU_COPIED, copy_in=2.1e-3, copy_out=0.2e-3, compute=1e-3)
    (one,) = found(state, "copy-bound")
    assert one.severity == "error"
    assert one.message.startswith(
        "GPU graph copied spends 70% of each call copying; the copy in takes 2.10× as long as the compute; "
        "with its input on the device it is 3."
    )
    assert one.remedy.startswith("Keep the input on the device")
    out = phases(measure(begun([GPU_COPIED]), {GPU_COPIED: 1.0}), GPU_COPIED, copy_out=0.3, compute=0.7)
    assert found(out, "copy-bound")[0].remedy.startswith("Keep the result on the device")


def test_ops_of_a_gpu_arm_on_the_host_are_reported() -> None:
    state = placed(
        measure(begun([GPU_GRAPH, GRAPH]), {GPU_GRAPH: 1e-3, GRAPH: 1e-3}),
        GPU_GRAPH,
        e.Node(
            "m",
            "MatMul",
            "/job:localhost/replica:0/task:0/device:CPU:0",
            reason="no kernel for int32.",
            code="no-kernel-for-dtype",
        ),
        e.Node("a", "AddV2", "GPU:0", count=3),
    )
    placed(state, GRAPH, e.Node("m", "MatMul", "CPU:0"))
    (one,) = found(state, "host-ops")
    assert one.message == "1 of 4 ops of GPU graph ran on the CPU: MatMul (no kernel for int32)."
    assert one.severity == "warning" and one.remedy == "Give MatMul a dtype that has a GPU kernel."


def test_dtypes_are_compared_with_float32() -> None:
    half, double = Arm("GPU:0", "graph", dtype="float16"), Arm("GPU:0", "graph", dtype="float64")
    state = measure(begun([GPU_GRAPH, half, double]), {GPU_GRAPH: 3e-3, half: 1e-3, double: 30e-3})
    rows = {d.arm: d for d in found(state, "dtype")}
    assert rows[half.id].message.startswith("float16 is ") and "faster than float32" in rows[half.id].message
    assert rows[double.id].message.startswith("float64 takes ")
    assert rows[double.id].severity == "warning"
    assert len(rows) == 2
    alike = measure(begun([GPU_GRAPH, half]), {GPU_GRAPH: 1e-3, half: 1.05e-3})
    assert not found(alike, "dtype")
    without = measure(begun([double, half]), {half: 1e-3, double: 30e-3})
    (one,) = found(without, "dtype")
    assert (one.arm, one.message.split(" the time")[0]) == (double.id, "float64 takes 30.0×"), one.message


def test_a_slow_first_call_is_reported() -> None:
    state = measure(begun([XLA]), {XLA: 1e-4})
    state.apply(e.FirstCalls(run="r", arm=XLA.id, point=0, first_s=2.0, second_s=1e-4))
    (one,) = found(state, "first-call")
    assert one.message == "The first call of CPU xla took 2.00 s, as long as 20 k later calls."
    assert one.remedy.endswith(": each new combination is compiled again.")
    graph = measure(begun([GRAPH]), {GRAPH: 1e-4})
    graph.apply(e.FirstCalls(run="r", arm=GRAPH.id, point=0, first_s=2.0, second_s=1e-4))
    (one,) = found(graph, "first-call")
    assert one.remedy.endswith(": without an input_signature, each new combination is traced again.")
    soon = measure(begun([XLA]), {XLA: 1e-4})
    soon.apply(e.FirstCalls(run="r", arm=XLA.id, point=0, first_s=0.05, second_s=1e-4))
    assert not found(soon, "first-call")


@pytest.mark.parametrize("arm", [GRAPH, EAGER])
def test_a_large_unknown_part_is_reported(arm: Arm) -> None:
    state = phases(measure(begun([arm]), {arm: 1.0}), arm, 0.3, compute=0.7)
    (one,) = found(state, "not-known")
    assert one.message == f"30% of a call of CPU {arm.mode} is unaccounted for."
    assert not found(state, "dispatch-bound")
    assert not found(phases(measure(begun([arm]), {arm: 1.0}), arm, 0.1, compute=0.9), "not-known")


def test_a_size_below_the_crossover_is_reported() -> None:
    costs = {GRAPH: lambda x: 1e-4 + 1e-8 * x, GPU_GRAPH: lambda x: 3e-4 + 1e-9 * x}
    state = finish(measure(begun([GRAPH, GPU_GRAPH], sizes=SIZES), costs))
    (one,) = found(state, "too-small")
    assert one.message.startswith("At 256 samples CPU graph is faster: GPU graph pays off from 2")
    big = measure(begun([GRAPH, GPU_GRAPH], sizes=SIZES, samples=65_536), costs)
    assert not found(big, "too-small")


def test_the_gravest_diagnoses_come_first_and_failed_arms_are_left_out() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1.0, GPU_GRAPH: 1.0})
    phases(state, GRAPH, input_wait=0.16, compute=0.84)
    phases(state, GPU_GRAPH, input_wait=0.5, copy_in=0.3, compute=0.2)
    assert [d.severity for d in diagnose(state)] == ["error", "warning", "warning"]
    failed(state, GPU_GRAPH, "broke")
    assert {d.arm for d in diagnose(state)} == {GRAPH.id}


def test_an_empty_account_gives_no_share() -> None:
    state = measure(begun([GRAPH]), {GRAPH: 1.0})
    phases(state, GRAPH, compute=0.0)
    assert [each.code for each in diagnose(state)] == ["not-known"]
