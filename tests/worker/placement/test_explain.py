"""`explain-op` against what is known by hand, the registry read a second way, and TensorFlow's placer."""

import json
import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from tests.conftest import Worker
from tests.worker.placement.pairs import PAIRS
from tuilab.model import events, requests
from tuilab.model.arms import Arm
from tuilab.model.explain import ExplainOp, ExplainScenario, OpExplanation, ScenarioExplanation
from tuilab.model.scenario import Scenario

pytestmark = pytest.mark.real_worker


def ask_op(worker: Worker, op: str, dtype: str = "") -> OpExplanation:
    [answer] = worker.ask("explain-op", ExplainOp(op=op, dtype=dtype))
    return msgspec.json.decode(answer.body, type=OpExplanation)


def refusal(worker: Worker, body: msgspec.Struct) -> events.Refused:
    worker.send(requests.Ask(id="wrong", kind="explain-op", body=msgspec.Raw(msgspec.json.encode(body))))
    while not isinstance(event := worker.next(), events.Refused):
        pass
    return event


def test_there_are_enough_pairs() -> None:
    assert len(PAIRS) >= 40
    assert len({(op, dtype) for op, dtype, _, _ in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize(("op", "dtype", "gpu", "code"), PAIRS)
def test_pair(worker: Worker, scenes: dict[str, Any], op: str, dtype: str, gpu: bool, code: str) -> None:
    if not worker.machine.cuda_build:
        pytest.skip("this TensorFlow has no GPU kernels")
    told = ask_op(worker, op, dtype)
    assert (told.gpu, told.code) == (gpu, code), told.reason
    assert told.op == op and told.dtype == (dtype or None)
    assert told.reason and told.evidence
    truth = scenes["registry"][f"{op} {dtype}"]
    assert (code == "refused") == (not truth["allowed"])
    if truth["allowed"]:
        assert (code in ("kernel", "host-memory")) == truth["gpu"]
    if told.gpu:
        assert any(line.device in ("GPU", "DEFAULT") for line in told.kernels)


@pytest.mark.parametrize(("op", "dtype"), [(op, dtype) for op, dtype, _, _ in PAIRS])
def test_placer_agrees_with_the_registry(scenes: dict[str, Any], op: str, dtype: str) -> None:
    truth = scenes["registry"][f"{op} {dtype}"]
    for device, said in truth["forced"].items():
        if not said:
            assert op in ("ParseExampleV2", "MapDataset", "ReadVariableOp", "AssignAddVariableOp")
            continue
        if op == "Cast" and dtype == "string":
            assert "not supported" in said  # the kernel of any type refuses this one when it is made
            continue
        expected = truth["allowed"] and truth[device.lower()]
        assert said.startswith("accepted") == expected, said


def test_missing_kernel_names_those_that_exist(worker: Worker) -> None:
    told = ask_op(worker, "MatMul", "int32")
    assert "no GPU kernel for int32" in told.reason
    for dtype in ("bfloat16", "complex128", "complex64", "float16", "float32", "float64"):
        assert dtype in told.reason


def test_host_memory_names_the_arguments(worker: Worker) -> None:
    told = ask_op(worker, "AddV2", "int32")
    assert "host memory" in told.reason
    assert "x, y and z" in told.evidence


def test_refused_dtype_names_what_is_allowed(worker: Worker) -> None:
    told = ask_op(worker, "RFFT", "float16")
    assert told.reason == "RFFT does not take float16: it takes float32 or float64"
    assert "float32, float64" in told.forced


def test_forced_placement_says_what_tensorflow_says(worker: Worker) -> None:
    told = ask_op(worker, "StringSplit")
    if not worker.machine.gpus:
        assert "explicitly assigned to /device:GPU:0" in told.forced
        assert "CPU:0" in told.forced
    else:
        assert told.forced.startswith("Cannot assign a device")


def test_without_a_dtype_every_dtype_counts(worker: Worker) -> None:
    told = ask_op(worker, "MatMul")
    assert told.dtype is None and told.gpu
    assert "float64" in told.reason.partition("none for")[0]
    assert "int32" in told.reason.partition("none for")[2]


@pytest.mark.parametrize(
    ("typed", "op"), [("matmul", "MatMul"), ("tf.linalg.matmul", "MatMul"), ("reduce_join", "ReduceJoin")]
)
def test_names_as_people_write_them(worker: Worker, typed: str, op: str) -> None:
    assert ask_op(worker, typed).op == op


@pytest.mark.parametrize(
    ("op", "dtype", "gpu", "code"),
    [
        ("ResourceScatterNdUpdate", "float32", True, "kernel"),
        ("ResourceScatterNdAdd", "int32", False, "host-memory"),
        ("ResourceStridedSliceAssign", "float32", True, "kernel"),
        ("HistogramFixedWidth", "float32", True, "kernel"),
        ("RaggedGather", "float32", False, "no-kernel"),
        ("ZerosLike", "int32", False, "host-memory"),
        ("OnesLike", "int32", False, "host-memory"),
        ("ZerosLike", "float32", True, "kernel"),
        ("IteratorGetNext", "float32", False, "resource"),
        ("QueueDequeueV2", "float32", False, "resource"),
    ],
)
def test_the_dtype_is_that_of_the_data(worker: Worker, op: str, dtype: str, gpu: bool, code: str) -> None:
    if not worker.machine.cuda_build:
        pytest.skip("this TensorFlow has no GPU kernels")
    told = ask_op(worker, op, dtype)
    assert (told.gpu, told.code) == (gpu, code), told.reason


def test_kernels_in_host_memory_are_not_named_as_the_gpus(worker: Worker) -> None:
    if not worker.machine.cuda_build:
        pytest.skip("this TensorFlow has no GPU kernels")
    told = ask_op(worker, "Qr", "complex64")
    assert not told.gpu and "there is one for" not in told.reason and "in host memory" in told.reason


def test_forced_placement_prints_no_lines_of_a_log(worker: Worker) -> None:
    assert "device='" not in ask_op(worker, "ScatterNd", "float32").forced


def test_unknown_op_is_refused_with_near_names(worker: Worker) -> None:
    refused = refusal(worker, ExplainOp(op="MatMull"))
    assert refused.where == "op"
    assert "MatMull" in refused.message and "such as MatMul" in refused.message


def test_unknown_dtype_is_refused(worker: Worker) -> None:
    refused = refusal(worker, ExplainOp(op="MatMul", dtype="float33"))
    assert refused.where == "dtype" and "float33" in refused.message


STFT = Scenario("stft", {})


def explain(worker: Worker, *arms: Arm) -> ScenarioExplanation:
    [answer] = worker.ask("explain-scenario", ExplainScenario(scenario=STFT, arms=arms))
    return msgspec.json.decode(answer.body, type=ScenarioExplanation)


def test_scenario_is_forecast_without_a_gpu(worker: Worker) -> None:
    told = explain(worker, Arm("CPU:0", "graph", "resident", "float32", "whole"), Arm("GPU:0", "graph"))
    assert told.arms[0].device == "CPU:0"
    assert "RFFT" in [row.op for row in told.forecast]
    assert all(row.gpu for row in told.forecast)
    assert told.sentence.startswith("A GPU of this build would run all")
    assert "second" not in told.sentence
    if not worker.machine.gpus:
        assert told.arms[1].device is None and told.arms[1].reason == worker.machine.no_gpu


def test_scenario_names_what_would_stay(worker: Worker) -> None:
    told = explain(worker, Arm("CPU:0", "eager", "resident", "float32", "whole"))
    stuck = [row for row in told.forecast if not row.gpu]
    assert {row.code for row in stuck} == {"host-memory"}
    assert {row.dtype for row in stuck} == {"int32"}
    total = sum(row.count for row in told.forecast)
    assert f"{total - sum(row.count for row in stuck)} of {total} ops" in told.sentence
    assert [row.gpu for row in told.forecast] == sorted(row.gpu for row in told.forecast)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "tuilab", "explain", *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        check=False,
    )


def test_command_prints_one_object() -> None:
    done = command("matmul", "--dtype", "int32", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {"op", "dtype", "gpu", "reason", "evidence", "kernels"} <= told.keys()
    assert (told["op"], told["dtype"], told["gpu"]) == ("MatMul", "int32", False)


def test_command_explains_a_preset() -> None:
    done = command("stft-small", "--set", "samples=512", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["workload"] == "stft"
    assert {row["op"] for row in told["forecast"]} >= {"RFFT"}
    assert all("gpu" in node for arm in told["arms"] for node in arm["nodes"])


def test_command_refuses_an_unknown_op() -> None:
    done = command("MatMull")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "MatMul" in done.stderr.splitlines()[-1]


def test_a_onednn_op_is_explained_as_the_op_that_it_is_a_form_of(worker: Worker) -> None:
    assert ask_op(worker, "_MklMatMul").op == "MatMul"
    assert ask_op(worker, "_MklFusedMatMul").op == "_FusedMatMul"
