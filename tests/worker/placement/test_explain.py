"""`explain` is compared with results found by hand, an independent reading of the registry, and TensorFlow's
placer.
"""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tests.conftest import Worker
from tuilab.cli import explain as command
from tuilab.model import events, requests
from tuilab.model.arms import Arm
from tuilab.model.errors import InputError
from tuilab.model.events import Node
from tuilab.model.explain import (
    ArmPlacement,
    ExplainOp,
    ExplainScenario,
    ForecastRow,
    OpExplanation,
    ScenarioExplanation,
)
from tuilab.model.scenario import Scenario
from tuilab.worker.placement.explain import seen_sentence, sentence
from tuilab.worker.placement.forced import forced
from tuilab.worker.placement.registry import look_up

pytestmark = pytest.mark.real_worker

KNOWN = {
    "kernel": {
        "MatMul": "float16 bfloat16 float32 float64 complex64 complex128", "BatchMatMulV2": "float32",
        "AddV2": "float32 int64", "Range": "float32", "Reshape": "float32", "Const": "float32", "Fill": "float32",
        "ConcatV2": "float32", "GatherV2": "float32", "Cast": "int32", "RFFT": "float32 float64", "FFT": "complex64",
        "Conv2D": "float32 float16 int32", "Softmax": "float32", "Relu": "float32", "Sin": "float64",
        "Cos": "float16", "ReadVariableOp": "float32", "AssignAddVariableOp": "float32", "NoOp": "-",
        "ResourceScatterNdUpdate": "float32", "ResourceStridedSliceAssign": "float32",
        "HistogramFixedWidth": "float32", "ZerosLike": "float32",
    },
    # The Qr kernel is registered for the GPU, but with every argument in host memory.
    "host-memory": {
        "AddV2": "int32", "Mul": "int32", "Sub": "int32", "FloorDiv": "int32", "Range": "int32", "Reshape": "int32",
        "Const": "int32", "Identity": "string", "Pack": "int32", "Qr": "float32", "ResourceScatterNdAdd": "int32",
        "ZerosLike": "int32", "OnesLike": "int32",
    },
    "no-kernel-for-dtype": {
        "MatMul": "int32 int64", "BatchMatMulV2": "int32", "Const": "string", "Cast": "string",
    },
    "refused": {"MatMul": "int8 string", "RFFT": "float16", "Conv2D": "complex64", "Sin": "int32"},
    "no-kernel": {
        "UniqueV2": "int32 string", "StringSplit": "-", "StringSplitV2": "-", "StringToHashBucketFast": "-",
        "DecodeCompressed": "-", "DecodeJpeg": "-", "DecodeRaw": "float32", "ParseExampleV2": "-",
        "RandomShuffle": "float32", "RaggedGather": "float32",
    },
    "input-pipeline": {"MapDataset": "-"},
    "resource": {"IteratorGetNext": "float32", "QueueDequeueV2": "float32"},
}  # fmt: skip
"""Ops and dtypes of TensorFlow 2.21 in a CUDA build, by the code of the reason for their placement."""
PAIRS = [
    (op, "" if dtype == "-" else dtype, code)
    for code, ops in KNOWN.items()
    for op, listed in ops.items()
    for dtype in listed.split()
]
UNSAID = {
    "AssignAddVariableOp", "IteratorGetNext", "MapDataset", "ParseExampleV2", "QueueDequeueV2", "ReadVariableOp",
    "ResourceScatterNdAdd", "ResourceScatterNdUpdate", "ResourceStridedSliceAssign",
}  # fmt: skip
"""Ops for which no call can be constructed."""


def ask_op(worker: Worker, op: str, dtype: str = "") -> OpExplanation:
    [answer] = worker.ask("explain-op", ExplainOp(op=op, dtype=dtype))
    return msgspec.json.decode(answer.body, type=OpExplanation)


def registered(tf: Any, op: str, dtype: str) -> tuple[bool, dict[str, bool]]:
    """Return whether the op accepts the dtype, and which devices have a kernel for it, from TensorFlow's own
    listing.
    """
    from tensorflow.python.framework import kernels, op_def_registry

    main = look_up(op).main
    attribute = next((a for a in op_def_registry.get(op).attr if a.name == main), None)
    listed = attribute.allowed_values.list.type if attribute is not None else ()
    wanted = tf.dtypes.as_dtype(dtype).as_datatype_enum if dtype else None

    def serves(kernel: Any, device: str) -> bool:
        limits = {c.name: c.allowed_values.list.type for c in kernel.constraint}
        fits = wanted is None or main not in limits or wanted in limits[main]
        return fits and not kernel.label and kernel.device_type in (device, "DEFAULT")

    found = kernels.get_registered_kernels_for_op(op).kernel
    there = {device: any(serves(kernel, device) for kernel in found) for device in ("CPU", "GPU")}
    return not listed or wanted is None or wanted in listed, there


@pytest.mark.parametrize(("op", "dtype", "code"), PAIRS)
def test_pair_of_op_and_types_is_explained(worker: Worker, tf: Any, op: str, dtype: str, code: str) -> None:
    if not worker.machine.cuda_build:
        pytest.skip("this TensorFlow has no GPU kernels")
    told = ask_op(worker, op, dtype)
    assert (told.gpu, told.code) == (code == "kernel", code), told.reason
    assert told.op == op and told.dtype == (dtype or None)
    assert told.reason and told.evidence
    allowed, there = registered(tf, op, dtype)
    assert (code == "refused") == (not allowed)
    if allowed:
        assert (code in ("kernel", "host-memory", "resource")) == there["GPU"]
    if told.gpu:
        assert any(line.device in ("GPU", "DEFAULT") for line in told.kernels)
    for device in ("CPU", *(("GPU",) if worker.machine.gpus else ())):
        said = forced(tf, look_up(op), {look_up(op).main: dtype} if dtype else {}, f"/{device}:0")
        if not said:  # no call of the op can be constructed
            assert op in UNSAID
        elif (op, dtype) == ("Cast", "string"):
            assert "not supported" in said  # the generic kernel rejects strings when it is created
        else:
            assert said.startswith("accepted") == (allowed and there[device]), said


def test_a_reason_names_the_kernel_and_the_memory_of_each_input(worker: Worker) -> None:
    missing = ask_op(worker, "MatMul", "int32").reason
    assert "no GPU kernel for int32" in missing
    assert all(t in missing for t in ("bfloat16", "complex128", "complex64", "float16", "float32", "float64"))
    host = ask_op(worker, "AddV2", "int32")
    assert "host memory" in host.reason and "x, y and z" in host.evidence
    refused = ask_op(worker, "RFFT", "float16")
    assert refused.reason == "RFFT does not take float16: it takes float32 or float64"
    assert "float32, float64" in refused.forced
    hosts = ask_op(worker, "Qr", "complex64")
    assert not hosts.gpu and "there is one for" not in hosts.reason and "in host memory" in hosts.reason
    every = ask_op(worker, "MatMul")
    assert every.dtype is None and every.gpu
    there, _, none = every.reason.partition("none for")
    assert "float64" in there and "int32" in none


def test_forced_placement_gives_the_tensorflow_message_without_log_lines(worker: Worker) -> None:
    told = ask_op(worker, "StringSplit").forced
    if worker.machine.gpus:
        assert told.startswith("Cannot assign a device")
    else:
        assert "explicitly assigned to /device:GPU:0" in told and "CPU:0" in told
    assert "device='" not in ask_op(worker, "ScatterNd", "float32").forced


@pytest.mark.parametrize(
    ("typed", "op"),
    [
        ("matmul", "MatMul"),
        ("tf.linalg.matmul", "MatMul"),
        ("reduce_join", "ReduceJoin"),
        ("_MklMatMul", "MatMul"),  # oneDNN kernels map to the ops that they implement
        ("_MklFusedMatMul", "_FusedMatMul"),
    ],
)
def test_op_names_are_read_as_users_and_logs_write_them(worker: Worker, typed: str, op: str) -> None:
    assert ask_op(worker, typed).op == op


@pytest.mark.parametrize(
    ("question", "where", "says"),
    [
        (ExplainOp(op="MatMull"), "op", ("MatMull", "such as MatMul")),
        (ExplainOp(op="MatMul", dtype="float33"), "dtype", ("float33",)),
    ],
)
def test_ops_unknown_to_tensorflow_are_refused(
    worker: Worker, question: ExplainOp, where: str, says: tuple[str, ...]
) -> None:
    body = msgspec.Raw(msgspec.json.encode(question))
    worker.send(requests.Ask(id="wrong", kind="explain-op", body=body))
    while not isinstance(event := worker.next(), events.Refused):
        pass
    assert event.where == where and all(word in event.message for word in says)


def test_a_forecast_without_a_gpu_names_ops_that_would_stay(worker: Worker) -> None:
    def explain(*arms: Arm) -> ScenarioExplanation:
        [answer] = worker.ask("explain-scenario", ExplainScenario(scenario=Scenario("stft", {}), arms=arms))
        return msgspec.json.decode(answer.body, type=ScenarioExplanation)

    graph = explain(Arm("CPU:0", "graph", "resident", "float32", "whole"), Arm("GPU:0", "graph"))
    assert graph.arms[0].device == "CPU:0"
    assert "RFFT" in [row.op for row in graph.forecast] and all(row.gpu for row in graph.forecast)
    assert (
        graph.sentence.startswith("With this build, a GPU would run all") and "second" not in graph.sentence
    )
    if not worker.machine.gpus:
        assert graph.arms[1].device is None and graph.arms[1].reason.endswith(worker.machine.no_gpu)

    eager = explain(Arm("CPU:0", "eager", "resident", "float32", "whole"))
    stuck = [row for row in eager.forecast if not row.gpu]
    assert {(row.code, row.dtype) for row in stuck} == {("host-memory", "int32")}
    total = sum(row.count for row in eager.forecast)
    assert f"{total - sum(row.count for row in stuck)} of {total} ops" in eager.sentence
    assert [row.gpu for row in eager.forecast] == sorted(row.gpu for row in eager.forecast)


def test_an_op_that_calls_python_is_not_simply_run_by_a_gpu(worker: Worker) -> None:
    assert ", which calls Python code on the CPU" in ask_op(worker, "EagerPyFunc").reason
    python, mul = (
        ForecastRow(op=op, dtype="", gpu=True, code="kernel", reason="GPU kernel", evidence="")
        for op in ("EagerPyFunc", "Mul")
    )
    on_cpu = " But the Python code that EagerPyFunc calls runs on the CPU."
    assert sentence([python, mul]) == f"With this build, a GPU would run all 2 ops.{on_cpu}"
    assert sentence([mul]) == "With this build, a GPU would run the one op."


def test_with_a_gpu_run_the_answer_lists_what_ran_there_and_why_not_the_rest() -> None:
    host = "its int32 kernel works in host memory"
    asked: dict[str, Any] = {"dtype": "int32", "requested": "GPU:0"}
    there = Node("m", "MatMul", "GPU:0", count=3, gpu=True, dtype="float32", requested="GPU:0")
    nodes = (
        there,
        *(Node(op, op, "GPU:0", memory="CPU:0", gpu=False, reason=host, **asked) for op in ("Max", "Range")),
        Node("s", "Sum", "CPU:0", gpu=False, reason="no GPU kernel for int32", **asked),
        # For an op in an input pipeline, it does not matter whether a GPU could run it.
        Node("p", "Decode", "CPU:0"),
    )
    cpu = ArmPlacement(arm="c", label="CPU graph", requested="CPU:0", device="CPU:0", nodes=nodes)
    gpu = ArmPlacement(arm="g", label="GPU graph", requested="GPU:0", device="GPU:0", nodes=nodes)
    whole = msgspec.structs.replace(gpu, nodes=(there,))
    absent = msgspec.structs.replace(gpu, device=None, nodes=())
    why = f"Max int32 and Range int32 ({host}), Sum int32 (no GPU kernel for int32)"
    assert seen_sentence([cpu, gpu]) == f"GPU graph: 3 of 6 ops ran on GPU:0; 3 ops ran on the CPU: {why}."
    assert seen_sentence([cpu, whole]) == "GPU graph: all 3 ops ran on GPU:0."
    assert seen_sentence([cpu, absent]) == ""


def test_command_prints_one_object_and_refuses_an_unknown_op(
    with_shared: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "with_lab", with_shared)
    told = json.loads(CliRunner().invoke(command.explain, ["matmul", "--dtype", "int32", "--json"]).stdout)
    assert {"op", "dtype", "gpu", "reason", "evidence", "kernels"} <= told.keys()
    assert (told["op"], told["dtype"], told["gpu"]) == ("MatMul", "int32", False)
    refused = CliRunner().invoke(command.explain, ["MatMull"])
    assert isinstance(refused.exception, InputError) and "MatMul" in str(refused.exception)
    assert refused.stdout == ""


def test_command_explains_a_preset(
    with_shared: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "with_lab", with_shared)
    done = CliRunner().invoke(command.explain, ["stft-small", "--set", "samples=512", "--json"])
    told = json.loads(done.stdout)
    assert told["workload"] == "stft" and {row["op"] for row in told["forecast"]} >= {"RFFT"}
    assert all("gpu" in node for arm in told["arms"] for node in arm["nodes"])
