"""The worker's report about its GPUs, with a fake TensorFlow."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuilab.model.arms import Arm
from tuilab.model.datasheets import SHEETS
from tuilab.model.machine import Device
from tuilab.worker import machine
from tuilab.worker.confinement import HELD
from tuilab.worker.gpus import Gpus
from tuilab.worker.machine import buses, created, from_ptx
from tuilab.worker.measure import prepare
from tuilab.worker.measure.caveats import of_gpus
from tuilab.worker.roofs import array_bytes, roofed

RECORDINGS = Path(__file__).parents[1] / "recordings"
BUILT = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")
"""The compute capabilities that `tf.sysconfig.get_build_info` lists in TensorFlow 2.21."""


@pytest.mark.parametrize(
    ("capability", "ptx"),
    [
        ("8.0", False),
        ("8.6", False),
        ("8.9", False),
        ("9.0", True),
        ("12.0", True),
        ("7.5", False),
        ("", False),
    ],
)
def test_compute_90_is_not_machine_code_for_a_gpu_of_9_0(capability: str, ptx: bool) -> None:
    assert from_ptx(BUILT, capability) is ptx
    assert not from_ptx((), capability)


@pytest.mark.parametrize("confined", [False, True])
def test_the_sandbox_is_named_if_a_loaded_driver_gives_no_gpu(
    monkeypatch: pytest.MonkeyPatch, confined: bool
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(machine.Path, "exists", lambda path: str(path) == "/proc/driver/nvidia/version")
    if confined:
        monkeypatch.setenv(HELD, '["model.keras"]')
    said = machine._why_no_gpu({"is_cuda_build": True})
    assert ("sandbox" in said and "--trust" in said) is confined and "tuilab doctor" in said


def bench(gpu: Device, *arms: Arm, tf32: bool = True) -> SimpleNamespace:
    settings = SimpleNamespace(tensor_float_32_execution_enabled=lambda: tf32)
    tf = SimpleNamespace(
        sysconfig=SimpleNamespace(get_build_info=lambda: {"cuda_compute_capabilities": BUILT}),
        config=SimpleNamespace(experimental=settings),
    )
    lines: list[object] = []
    return SimpleNamespace(
        run="r",
        request=SimpleNamespace(arms=arms),
        context=SimpleNamespace(tf=tf, machine=SimpleNamespace(gpus=(gpu,))),
        reporter=SimpleNamespace(say=lines.append),
        said=lines,
    )


H100 = Device("GPU:0", "NVIDIA H100", "9.0")
FLOAT32 = Arm("GPU:0", "graph")


def test_kernels_compiled_at_first_use_raise_a_warning() -> None:
    (told,) = of_gpus(bench(H100, FLOAT32))
    assert told.code == "ptx" and "first calls" in told.message and "9.0" in told.message
    assert not of_gpus(bench(H100, Arm("CPU:0", "graph")))
    assert not of_gpus(bench(Device("GPU:0", "NVIDIA L4", "8.9"), FLOAT32))


def test_two_ways_of_multiplying_in_one_process_raise_a_warning() -> None:
    l4 = Device("GPU:0", "NVIDIA L4", "8.9")
    (told,) = of_gpus(bench(l4, FLOAT32, Arm("GPU:0", "graph", dtype="tf32")))
    assert told.code == "tf32-shared-plan" and "--dtype" in told.message
    assert not of_gpus(bench(l4, FLOAT32))


@pytest.mark.parametrize(
    ("capability", "arm", "on", "told"),
    [
        ("9.0", FLOAT32, True, "as TF32"),
        ("9.0", FLOAT32, False, "in full precision"),
        (
            "8.0",
            Arm("GPU:0", "graph", dtype=""),
            True,
            "as TF32",
        ),  # without a dtype: user code, data-parallel training
        ("7.5", FLOAT32, True, ""),
        ("9.0", Arm("GPU:0", "graph", dtype="float16"), True, ""),
        ("", FLOAT32, True, ""),
    ],
)
def test_a_float32_figure_of_a_gpu_with_tf32_says_how_it_was_multiplied(
    capability: str, arm: Arm, on: bool, told: str
) -> None:
    there = bench(Device("GPU:0", "a GPU", capability), arm, tf32=on)
    cell = SimpleNamespace(arm=arm, device="GPU:0", point=0, case=SimpleNamespace(scope=nullcontext))
    prepare._tell_tf32(there, cell)
    assert [fact.value for fact in there.said] == ([on] if told else [])
    assert not told or told in there.said[0].text


def test_an_emulated_gpu_has_no_roofs() -> None:
    gpus = (Device("GPU:0", "EMULATED"), Device("GPU:1", "NVIDIA L4"))
    listed = [SimpleNamespace(name=f"/device:{gpu.name}") for gpu in gpus]
    tf = SimpleNamespace(config=SimpleNamespace(list_logical_devices=lambda kind: listed))
    there = SimpleNamespace(tf=tf, machine=SimpleNamespace(gpus=gpus))
    assert roofed(there) == ["CPU:0", "GPU:1"]  # type: ignore[arg-type]


def test_gpus_are_asked_for_their_memory_once_and_those_opened_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time TensorFlow describes a device, it creates every visible device with its context."""
    asked: list[str] = []

    def listed(config: SimpleNamespace) -> list[SimpleNamespace]:
        asked.append(config.gpu_options.visible_device_list)
        told = SimpleNamespace(
            name="/device:GPU:0",
            device_type="GPU",
            memory_limit=10**9,
            physical_device_desc="device: 0, name: NVIDIA L4, pci bus id: 0000:3b:00.0, compute capability: 8.9",
        )
        return [told]

    class ConfigProto(SimpleNamespace):
        DESCRIPTOR = SimpleNamespace(fields_by_name=("gpu_options", "pluggable_device_options"))

    config = SimpleNamespace(GPUOptions=SimpleNamespace, ConfigProto=ConfigProto)
    inside = {
        "core.protobuf": SimpleNamespace(config_pb2=config),
        "python.client": SimpleNamespace(device_lib=SimpleNamespace(list_local_devices=listed)),
    }
    for name in ("", ".core", ".python", *(f".{name}" for name in inside)):
        monkeypatch.setitem(sys.modules, f"tensorflow{name}", inside.get(name[1:], SimpleNamespace()))
    created.cache_clear()
    try:
        two = Gpus((0,), count=2)
        assert buses(two) == buses(two) == {"GPU:0": "0000:3b:00.0"}
        assert created((0,))["GPU:0"].memory_limit == 10**9 and created(()) == {}
        assert asked == ["0"]
    finally:
        created.cache_clear()


@pytest.mark.parametrize("name", SHEETS)
def test_the_triad_takes_longer_than_the_start_of_its_call(name: str) -> None:
    gpu = SHEETS[name]
    arrays = 3 * array_bytes(int(gpu.memory.value))
    h100 = json.loads((RECORDINGS / "h100" / "roofs.json").read_bytes())["devices"]["GPU:0"]
    assert arrays / gpu.bandwidth.value > 5 * h100["launch_s"]["xla"] and arrays < 0.1 * gpu.memory.value
