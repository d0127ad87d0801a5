"""Reasons, forecasts and rows, tested as pure functions without TensorFlow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.model.events import Node
from tuilab.worker.placement.kernels import Argument, Kernel, OpKernels
from tuilab.worker.placement.names import short
from tuilab.worker.placement.reasons import Placed, Surroundings, causes, forecast, sentence
from tuilab.worker.placement.rows import Row
from tuilab.worker.placement.summary import merged, summarise
from tuilab.worker.placement.verdict import kernel_lines, verdict
from tuilab.worker.placement.xla import operations

X, Y = Argument("x", attribute="T"), Argument("y", attribute="T")
FLOATS = ("float32", "float64")


def binary(*kernels: Kernel, allowed: tuple[str, ...] = (*FLOATS, "int32", "string")) -> OpKernels:
    return OpKernels("Add", (X, Y), (Argument("z", attribute="T"),), {"T": allowed}, kernels)


def kernel(device: str, *dtypes: str, host: tuple[str, ...] = (), priority: int = 0) -> Kernel:
    return Kernel(device, {"T": frozenset(dtypes)} if dtypes else {}, frozenset(host), priority)


ADD = binary(
    kernel("GPU", *FLOATS), kernel("DEFAULT", "int32", host=("x", "y", "z")), kernel("CPU", *FLOATS, "int32")
)
GPUS = Surroundings(("GPU:0",))
NONE = Surroundings((), "no driver is loaded")


@pytest.mark.parametrize(
    ("kernels", "dtype", "gpu", "code"),
    [
        (ADD, "float32", True, "kernel"),
        (ADD, "int32", False, "host-memory"),
        (ADD, "string", False, "no-kernel-for-dtype"),
        (ADD, "bool", False, "refused"),
        (binary(kernel("CPU")), "float32", False, "no-kernel"),
        (binary(kernel("DEFAULT")), "float32", True, "kernel"),
        (binary(kernel("DEFAULT")), "string", False, "host-memory"),  # strings stay on the host
        (OpKernels("MapDataset", kernels=(kernel("CPU"),)), "", False, "input-pipeline"),
        (OpKernels("NoOp", kernels=(kernel("DEFAULT"),)), "", True, "kernel"),
        (OpKernels("Unheard"), "", False, "no-kernel"),
    ],
)
def test_a_forecast_gives_device_and_reason(kernels: OpKernels, dtype: str, gpu: bool, code: str) -> None:
    would = forecast(kernels, {"T": dtype} if dtype else {})
    assert (would.gpu, would.reason.code) == (gpu, code)
    assert would.reason.text and would.reason.evidence
    if not kernels.kernels:
        assert would.reason.text == "no kernel is registered for it"


def test_the_kernel_of_the_gpu_outranks_the_default() -> None:
    own, default = kernel("GPU", "int32"), kernel("DEFAULT", "int32", host=("x", "y", "z"))
    assert forecast(binary(default, own), {"T": "int32"}).kernel is own


def test_the_kernel_of_highest_priority_wins() -> None:
    low, high = kernel("GPU", host=("x", "y", "z")), kernel("GPU", priority=1)
    assert forecast(binary(low, high), {"T": "float32"}).gpu


def test_a_build_without_gpu_kernels_says_so() -> None:
    would = forecast(binary(kernel("CPU")), {"T": "float32"}, gpu_kernels=False)
    assert "without GPU kernels" in would.reason.text


def test_resource_handles_are_not_data() -> None:
    read = OpKernels(
        "ReadVariableOp",
        (Argument("resource", dtype="resource"),),
        (Argument("value", attribute="dtype"),),
        {"dtype": ()},
        (Kernel("GPU", host=frozenset(("resource",))),),
    )
    assert forecast(read, {"dtype": "float32"}).gpu


@pytest.mark.parametrize(
    ("placed", "around", "codes"),
    [
        (Placed("Add", {"T": "float32"}, observed="GPU:0"), GPUS, ["kernel"]),
        (Placed("Add", {"T": "int32"}, observed="GPU:0", memory="CPU:0"), GPUS, ["host-memory"]),
        (Placed("Add", {"T": "float32"}, "CPU:0", "CPU:0"), GPUS, ["scope"]),
        (Placed("Add", {"T": "float32"}, "CPU:0", "CPU:0"), NONE, ["no-gpu", "scope"]),
        (Placed("Add", {"T": "string"}, "GPU:0", "CPU:0"), GPUS, ["no-kernel-for-dtype"]),
        (Placed("Add", {"T": "string"}, "GPU:0", "CPU:0"), NONE, ["no-gpu", "no-kernel-for-dtype"]),
        (Placed("Add", {"T": "float32"}, "GPU:0", "CPU:0", resource_on="CPU:0"), GPUS, ["resource"]),
        (Placed("Add", {"T": "float32"}, "", "CPU:0", colocated_with="v"), GPUS, ["colocation"]),
        (Placed("Add", {"T": "float32"}, "", "CPU:0", pipeline=True), GPUS, ["input-pipeline"]),
        (Placed("Add", {"T": "float32"}, "", "CPU:0"), GPUS, ["unknown"]),
        (
            Placed("Add", {"T": "string"}, "CPU:0", "CPU:0", "", "CPU:0", "v", True),
            NONE,
            ["no-gpu", "input-pipeline", "scope", "no-kernel-for-dtype", "resource", "colocation"],
        ),
    ],
)
def test_causes_follow_the_order_in_which_tensorflow_decides(
    placed: Placed, around: Surroundings, codes: list[str]
) -> None:
    found = causes(placed, ADD, around)
    assert [reason.code for reason in found] == codes
    assert all(reason.evidence for reason in found)


def test_reason_without_a_gpu_says_what_one_would_not_run() -> None:
    placed = Placed("Add", {"T": "string"}, "CPU:0", "CPU:0")
    told = sentence(causes(placed, ADD, NONE), forecast(ADD, placed.types))
    assert told.startswith("no GPU is visible; even a GPU would not run it: no GPU kernel for string")
    assert "float32 and float64" in told


def test_verdict_over_all_dtypes() -> None:
    would = verdict(ADD)
    assert would.gpu
    assert would.reason.text == (
        "GPU kernel for float32 and float64; its kernel works in host memory for int32; none for string"
    )


def test_verdict_on_an_op_of_fixed_types() -> None:
    split = OpKernels("StringSplit", (Argument("input", dtype="string"),), (), {}, (kernel("CPU"),))
    assert verdict(split, "string").reason.code == "no-kernel"
    assert verdict(split, "float32").reason.code == "refused"
    assert "input string" in verdict(split, "float32").reason.text


def test_main_type_is_that_of_the_data() -> None:
    assert OpKernels("MatMul", (X, Y), (Argument("z", attribute="T"),)).main == "T"
    arguments = (Argument("indices", attribute="TI"), Argument("on", attribute="T"))
    assert OpKernels("OneHot", arguments, (Argument("out", attribute="T"),)).main == "T"
    rfft = OpKernels("RFFT", (Argument("in", attribute="Treal"),), (Argument("out", attribute="Tcomplex"),))
    assert rfft.main == "Treal"
    normal = (Argument("shape", attribute="T"),)
    drawn = OpKernels(
        "RandomNormal", normal, (Argument("out", attribute="dtype"),), {"T": (), "dtype": FLOATS}
    )
    assert drawn.main == "dtype"
    assert OpKernels("NoOp").main == ""


def test_kernel_lines_join_similar_entries() -> None:
    lines = kernel_lines(ADD)
    assert [(line.device, line.dtypes, line.host_memory) for line in lines] == [
        ("GPU", ("float32", "float64"), ()),
        ("DEFAULT", ("int32",), ("x", "y", "z")),
        ("CPU", ("float32", "float64", "int32"), ()),
    ]


@pytest.mark.parametrize(
    ("long", "expected"),
    [
        ("/job:localhost/replica:0/task:0/device:GPU:0", "GPU:0"),
        ("/device:CPU:1", "CPU:1"),
        ("/gpu:0", "GPU:0"),
        ("CPU:0", "CPU:0"),
        ("", ""),
    ],
)
def test_device_names_are_shortened(long: str, expected: str) -> None:
    assert short(long) == expected


def node(device: str, requested: str = "") -> Row:
    return Row(Node("n", "MatMul", device, requested=requested, reason="because"), True, True)


def test_computing_device_is_the_requested_one_if_any_work_ran_there() -> None:
    assert summarise([node("CPU:0"), node("CPU:0"), node("GPU:0")], "GPU:0").device == "GPU:0"
    assert summarise([node("CPU:0"), node("CPU:0"), node("GPU:1")], "GPU:0").device == "CPU:0"
    assert summarise([], "GPU:0").device is None


def test_work_in_host_memory_counts_as_host_work() -> None:
    row = Row(Node("a", "AddV2", "GPU:0", memory="CPU:0", reason="host memory"), True, True)
    seen = summarise([row], "GPU:0")
    assert seen.device == "CPU:0"
    assert "host memory" in seen.reason


def test_passing_data_on_counts_only_if_nothing_computes() -> None:
    identity = Row(Node("i", "Identity", "GPU:0"), True, False)
    assert summarise([identity, node("CPU:0")], "GPU:0").device == "CPU:0"
    assert summarise([identity], "GPU:0").device == "GPU:0"


def test_reason_names_the_op_that_ran_elsewhere() -> None:
    assert summarise([node("CPU:0", "GPU:0")], "GPU:0").reason == "MatMul: because"


NODES = st.builds(
    Node,
    name=st.sampled_from(("a", "b")),
    op=st.sampled_from(("MatMul", "Add")),
    device=st.sampled_from(("CPU:0", "GPU:0")),
    bytes=st.integers(0, 10**9),
    count=st.integers(1, 1_000),
)


@given(st.lists(NODES, max_size=30))
def test_merging_loses_nothing(nodes: list[Node]) -> None:
    out = merged(nodes)
    assert sum(n.count for n in out) == sum(n.count for n in nodes)
    assert sum(n.bytes for n in out) == sum(n.bytes for n in nodes)
    assert len({(n.name, n.op, n.device) for n in out}) == len(out)
    assert merged(out) == out


HLO = """HloModule a

%fused (p: f32[4]) -> f32[4] {
  ROOT %x = f32[4]{0} add(%p, %p), metadata={op_type="AddV2" op_name="inner"}
}

ENTRY %a (arg: f32[1,4]) -> (f32[4], c64[3]) {
  %arg = f32[1,4]{1,0} parameter(0)
  %c = f32[] constant(0)
  %fusion.1 = f32[4]{0} fusion(%arg), kind=kLoop, calls=%fused, metadata={op_type="Mul" op_name="stft/mul"}
  %fft.7 = c64[3]{0} fft(%fusion.1), fft_type=RFFT, fft_length={4}
  %s.2 = f32[4]{0} exponential(%fusion.1), metadata={op_type="Exp" op_name="Exp"}
  %pair = (f32[4]{0}, f32[4]{0}) custom-call(%fusion.1), custom_call_target="__cublas$gemm"
  ROOT %t = (f32[4], c64[3]) tuple(%fusion.1, %fft.7)
}
"""


def test_operations_of_an_xla_program() -> None:
    told = [(op.name, op.op, op.dtype, op.came_from) for op in operations(HLO)]
    assert told == [
        ("fusion.1", "fusion", "float32", "Mul (stft/mul)"),
        ("fft.7", "fft", "complex64", ""),
        ("s.2", "exponential", "float32", "Exp"),
        ("pair", "custom-call __cublas$gemm", "float32", ""),
    ]
    assert list(operations("nothing")) == []
