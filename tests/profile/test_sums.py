import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made import account
from tests.profile.synthetic import MICRO, call, eager, event, node, stream, sync, thread
from tuilab.analysis.profiled import by_type
from tuilab.model.profile import OpTime
from tuilab.profile.classify import MARK, Key
from tuilab.profile.summary import devices, ops, rest, shortened, timeline
from tuilab.profile.sums import Sums, sums
from tuilab.profile.threads import activity
from tuilab.profile.xplane import XEvent, XLine


def share(*lines: XLine) -> Sums:
    return sums(activity(lines))


def micros(out: Sums) -> dict[str, float]:
    return {phase: spent / MICRO for phase, spent in out.phases.items()}


def op_micros(out: Sums) -> dict[str, float]:
    return {key.op: spent / MICRO for key, spent in out.ops.items()}


def test_an_eager_call_consists_of_kernels_and_dispatch_and_python() -> None:
    out = share(thread("python", call(0, 100), *eager("MatMul", 10, 50), *eager("Add", 60, 80)))
    assert micros(out) == {"compute": 30, "dispatch": 30, "python": 40}
    assert op_micros(out) == {"MatMul": 20, "Add": 10}
    assert out.counts == {Key("MatMul", "MatMul", "CPU"): 1, Key("Add", "Add", "CPU"): 1}


def test_python_that_an_op_calls_is_no_computing() -> None:
    out = share(
        thread("python", call(0, 100), node("py", "EagerPyFunc", 10, 70)),
        thread("tf_Compute", node("m", "MatMul", 50, 60)),
    )
    assert micros(out) == {"python": 40, "py_function": 50, "compute": 10}
    assert op_micros(out) == {"EagerPyFunc": 55, "MatMul": 5}


def test_a_function_waiting_for_its_threads_counts_as_scheduling() -> None:
    main = thread(
        "python",
        call(0, 100),
        event("TFE_Py_ExecuteCancelable", 0, 90),
        event("EagerLocalExecute: __inference_f_1", 0, 90),
        event("KernelAndDeviceFunc::Run", 10, 90),
    )
    worker = thread("tf_Compute", node("a/mul", "Mul", 30, 50), node("b", "_MklMatMul", 50, 60))
    out = share(main, worker)
    assert micros(out) == {"dispatch": 10, "scheduling": 50, "compute": 30, "python": 10}
    assert op_micros(out) == {"Mul": 20, "MatMul": 10}


def test_simultaneous_ops_share_the_time() -> None:
    out = share(
        thread("python", call(0, 40), event("FunctionRun", 0, 40)),
        thread("tf_Compute/1", node("a", "A", 0, 40)),
        thread("tf_Compute/2", node("b", "B", 20, 40)),
    )
    assert op_micros(out) == {"A": 30, "B": 10}
    assert {key.op: spent / MICRO for key, spent in out.busy.items()} == {"A": 40, "B": 20}
    assert micros(out) == {"compute": 40}
    assert out.devices["CPU"] / MICRO == 40


def test_an_inner_op_takes_the_time_of_the_outer() -> None:
    out = share(thread("python", call(0, 10), node("outer", "Outer", 0, 10), node("inner", "Inner", 2, 6)))
    assert op_micros(out) == {"Outer": 6, "Inner": 4}


def test_copies_count_only_while_nothing_computes() -> None:
    out = share(
        thread("python", call(0, 30), event("FunctionRun", 0, 30)),
        thread("tf_Compute/1", node("a/_1", "_Send", 0, 20)),
        thread("tf_Compute/2", node("m", "MatMul", 10, 30)),
    )
    assert micros(out) == {"copy": 10, "compute": 20}


def test_time_outside_of_calls_is_not_counted() -> None:
    out = share(
        thread("python", node("a", "A", 0, 5), call(5, 15), node("b", "B", 6, 10), node("c", "C", 20, 30))
    )
    assert op_micros(out) == {"B": 4}
    assert micros(out) == {"compute": 4, "python": 6}


def test_sync_includes_what_runs_within_it() -> None:
    out = share(thread("python", call(0, 20), sync(10, 20), node("s", "SyncDevice", 12, 18)))
    assert micros(out) == {"python": 10, "sync": 10}
    assert out.counts == {}


def test_waiting_for_the_pipeline_is_input_and_its_ops_overlap() -> None:
    main = thread(
        "python",
        call(0, 100),
        event("EagerLocalExecute: IteratorGetNext", 0, 80),
        event("KernelAndDeviceFunc::Run", 0, 80),
        event("Iterator::Root", 5, 75),
    )
    pipeline = thread(
        "tf_Compute",
        event("InstantiatedCapturedFunction::RunAsync", 0, 2, id=7),
        event("ExecutorState::Process", 10, 70, id=7),
        node("decode", "DecodeJpeg", 20, 60),
    )
    out = share(main, pipeline)
    assert micros(out) == {"input": 80, "python": 20}
    assert {key.op: spent / MICRO for key, spent in out.beside.items()} == {"DecodeJpeg": 40}
    rows = {row.op: row for row in ops(out)}
    assert rows["IteratorGetNext"].seconds == pytest.approx(80e-6)
    assert (rows["DecodeJpeg"].phase, rows["DecodeJpeg"].seconds) == ("input", 0.0)
    assert rows["DecodeJpeg"].busy_s == pytest.approx(40e-6)


def test_work_handed_between_threads_keeps_its_owner() -> None:
    out = share(
        thread("python", call(0, 100), event("FunctionRun", 0, 100, id=1)),
        thread(
            "tf_Compute/1",
            event("InstantiatedCapturedFunction::RunAsync", 1, 9, id=7),
            event("ThreadpoolListener::Record", 5, 5, _p=3),
        ),
        thread(
            "tf_Compute/2",
            event("ThreadpoolListener::StartRegion", 10, 10, _c=3),
            node("pipeline", "Exp", 12, 20),
            event("ThreadpoolListener::StopRegion", 21, 21),
            node("own", "Sin", 30, 40),
        ),
    )
    assert op_micros(out) == {"Sin": 10}
    assert {key.op for key in out.beside} == {"Exp"}


def test_an_xla_operation_lasts_until_its_end_mark() -> None:
    out = share(
        thread("python", call(0, 100), event("CpuExecutable::ExecuteAsyncOnStream", 0, 100)),
        thread(
            "tf_XLA",
            event("fusion.3", 10, 20, hlo_op="fusion.3", _p=1),
            event("end: fusion.3", 90, 91, _c=1),
        ),
    )
    assert op_micros(out) == {"hlo fusion": 80}
    assert micros(out)["compute"] == 80


def test_gpu_kernels_belong_to_the_op_that_launched_them() -> None:
    main = thread(
        "python",
        call(0, 100),
        *eager("MatMul", 0, 40),
        event("cuLaunchKernel", 15, 20, correlation_id=5),
        sync(40, 100),
    )
    out = share(main, stream(event("sgemm_128x64", 30, 90, correlation_id=5)))
    assert op_micros(out) == {"MatMul": 60}
    assert out.devices == {"GPU:0": 60 * MICRO} and out.on_device == {"compute": 60 * MICRO}
    # The host's part is the launch. After 30 µs the GPU computes, whatever the host does.
    assert micros(out) == {"dispatch": 10, "scheduling": 20, "compute": 60, "sync": 10}
    [row] = ops(out)
    assert (row.device, row.count, row.phase) == ("GPU:0", 1, "compute")


def test_a_kernel_that_begins_between_two_calls_is_counted() -> None:
    """The device lags behind the host, so its work may run after its call has ended and before the next call
    begins.
    """
    main = thread(
        "python", call(10, 20), *eager("Mul", 11, 15), call(30, 40), *eager("Mul", 31, 35), sync(36, 40)
    )
    before, after = event("mul", 2, 4, tf_op="x:Mul"), event("mul", 45, 46, tf_op="x:Mul")
    out = share(
        main, stream(before, event("mul", 24, 26, tf_op="x:Mul"), event("mul", 36, 38, tf_op="x:Mul"), after)
    )
    assert {key.device: count for key, count in out.counts.items()} == {"CPU": 2, "GPU:0": 2}


def test_gpu_events_without_a_launch_name_their_op() -> None:
    out = share(
        thread("python", call(0, 100)),
        stream(
            event("sgemm", 10, 20, tf_op="dense/MatMul:MatMul"),
            event("MemcpyH2D", 30, 50),
            event("fusion", 60, 70, hlo_op="fusion.1"),
        ),
    )
    assert op_micros(out) == {"MatMul": 10, "MemcpyH2D": 20, "hlo fusion": 10}
    assert {row.phase for row in ops(out) if row.op == "MemcpyH2D"} == {"copy"}
    # The device's clock gives the device's part, and the host's clock the rest of the call.
    assert out.on_device == {"compute": 20 * MICRO, "copy_in": 20 * MICRO}


def test_a_shortened_table_still_counts_every_op() -> None:
    """A graph of 1,000 ops was once reported as running 500."""
    rows = [
        OpTime(op=("Tanh", "Mul")[i % 2], name=f"node_{i}", device="GPU:0", phase="compute", count=1.0,
               seconds=1e-6, busy_s=2e-6)
        for i in range(1_001)
    ]  # fmt: skip
    short = shortened(rows)
    assert short[:500] == rows[:500] and [(row.op, row.name, row.count) for row in short[500:]] == [
        ("Tanh", "251 more", 251.0), ("Mul", "250 more", 250.0),
    ]  # fmt: skip
    assert {row.op: row.count for row in by_type(short)} == {"Tanh": 501.0, "Mul": 500.0}
    assert sum(row.seconds for row in short) == pytest.approx(1_001e-6)
    assert shortened(rows[:500]) == rows[:500] and shortened(rows[:501]) == rows[:501]


def test_means_are_per_call() -> None:
    out = share(thread("python", call(0, 10), node("a", "A", 0, 4), call(10, 20), node("a", "A", 10, 12)))
    [row] = ops(out)
    assert (row.seconds, row.count) == (pytest.approx(3e-6), 1.0)
    assert [sum(each.values()) / MICRO for each in out.calls] == [10, 10]


def test_the_rest_is_reported_with_the_share_of_the_profiler() -> None:
    told = rest(account(50e-6, compute=20e-6, dispatch=20e-6, python=10e-6), 100e-6)
    assert "dispatch 20.0 µs (40%)" in told and "python 10.0 µs (20%)" in told
    assert "2.0× as long" in told
    assert rest(account(1e-3, compute=1e-3), 1e-3) == ""


def test_a_shortened_timeline_says_so() -> None:
    lines = [thread("python", call(0, 10), *(node(f"n{i}", "A", i, i + 0.5) for i in range(10)))]
    found = activity(lines)
    lanes, spans, left = timeline(lines, found, sums(found), 4)
    assert [lane.name for lane in lanes] == ["python"]
    assert len(spans) == 4 and left == 7
    assert spans[0].start_s == 0.0 and spans[0].duration_s == pytest.approx(10e-6)


def test_a_profile_without_calls_is_empty() -> None:
    out = share(thread("python", node("a", "A", 0, 10)))
    assert not out.phases and ops(out) == [] and devices(out) == ()


def test_marked_spans_have_the_marked_phase() -> None:
    out = share(
        thread("python", call(0, 100), event(MARK + "input_wait", 10, 40), *eager("Add", 20, 30)),
        thread("pool", node("m", "MatMul", 35, 60)),
    )
    assert micros(out) == {"python": 50, "input_wait": 25, "compute": 25}


def test_copies_are_distinguished_by_direction() -> None:
    names = ("MemcpyH2D", "MemcpyD2H", "MemcpyD2D", "CopyHostToDevice")
    copies = [event(name, 10 * i, 10 * i + 5) for i, name in enumerate(names)]
    out = share(thread("python", call(0, 100)), stream(*copies))
    assert micros(out) == {"copy_in": 10, "copy_out": 5, "copy": 5, "python": 80}


def test_calls_of_an_iterator_in_the_calling_thread_are_waiting_for_input() -> None:
    out = share(
        thread("python", call(0, 100), node("it", "IteratorGetNext", 10, 90), event("TFE_Py_Execute", 20, 80))
    )
    assert micros(out) == {"python": 20, "input": 80}


def test_waiting_for_an_xla_program_is_computing_on_a_cpu() -> None:
    main = thread("python", call(0, 100), event("BlockUntilReady", 10, 90))
    assert micros(share(main)) == {"python": 20, "compute": 80}
    assert micros(share(main, stream(event("fusion", 20, 60, hlo_op="fusion.1")))) == {
        "python": 20, "compute": 40, "sync": 40,
    }  # fmt: skip


def test_a_graph_that_waits_for_an_element_waits_for_input() -> None:
    main = thread("python", call(0, 100), event("KernelAndDeviceFunc::Run", 0, 100))
    waits = thread("tf_data_iterator_get_next", event("IteratorGetNextOp::DoCompute", 20, 80))
    out = share(main, waits, thread("tf_Compute", node("m", "MatMul", 10, 40)))
    assert micros(out) == {"python": 30, "compute": 30, "input": 40}


def test_overlapping_events_of_one_thread_are_shortened() -> None:
    out = share(thread("python", call(0, 20), node("a", "A", 2, 10), node("b", "B", 8, 15)))
    assert sum(micros(out).values()) == 20
    assert op_micros(out) == {"A": 6, "B": 2}


NAMES = st.sampled_from(
    [
        ("mul:Mul", "Mul"),
        ("x/_1:_Send", "_Send"),
        ("TFE_Py_Execute", ""),
        ("FunctionRun", ""),
        ("Iterator::Root", ""),
        ("EagerLocalExecute: Add", ""),
        ("KernelAndDeviceFunc::Run", ""),
        ("something else", ""),
        ("tuilab sync", ""),
    ]
)
EVENTS = st.builds(
    lambda name, start, length: event(name[0], start, start + length, name[1]),
    NAMES,
    st.integers(0, 1_000),
    st.integers(0, 300),
)


@given(
    st.lists(EVENTS, max_size=25), st.lists(EVENTS, max_size=25), st.lists(st.integers(1, 300), max_size=4)
)
def test_phases_always_add_up_to_the_calls(
    main: list[XEvent], other: list[XEvent], lengths: list[int]
) -> None:
    calls, at = [], 0
    for length in lengths:
        calls.append(call(at, at + length))
        at += length + 10
    out = share(thread("python", *calls, *main), thread("tf_Compute", *other))
    total = sum(lengths) * MICRO if lengths else 0
    assert sum(out.phases.values()) == pytest.approx(total)
    working = sum(out.phases.get(phase, 0.0) for phase in ("compute", "copy"))
    assert sum(out.ops.values()) >= working * (1 - 1e-9)
    assert sum(out.ops.values()) <= total * (1 + 1e-9)
    assert all(spent >= 0 for spent in out.ops.values())
    assert all(spent <= out.busy[key] * (1 + 1e-9) for key, spent in out.ops.items())
