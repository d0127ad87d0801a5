"""Faulty programs: each fault is reported with its line and nothing else; good programs get no findings."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.watch.running import BUSY, PROGRAMS, expected, watched
from tuilab.doctor import hardware
from tuilab.lab import watch
from tuilab.lab.watch import Watched, WatchOptions
from tuilab.model.program import Page
from tuilab.program.findings import Beside
from tuilab.report.program import page_text

CI = {
    "fit_run_eagerly",
    "function_in_loop",
    "fit_numpy_function_in_map",
    "loop_float64",
    "loop_python_number",
    "good_fit_dataset",
    "good_loop",
}
"""One for each kind of fault, and good ones; the others run with --long."""
GPU_CI = {"host_op", "idle", "good_step"}
EMULATED = sorted((PROGRAMS / "gpu").glob("*.py"))
Environment = Callable[..., dict[str, str]]
H200 = hardware.PciGpu(slot="0000:1b:00.0", vendor=hardware.NVIDIA, device="0x2335")


def programs(files: list[Path], ci: set[str]) -> list[object]:
    """Return each as a test parameter."""
    return [
        pytest.param(file, id=file.stem, marks=() if file.stem in ci else pytest.mark.long) for file in files
    ]


def judge(file: Path, page: Page, printed: str) -> None:
    """Assert that exactly the expected findings are reported, with their lines."""
    assert page.exit_code == 0, printed
    wanted, may, lines = expected(file)
    found = {finding.code for finding in page.findings}
    assert found <= wanted | may, page_text(page)
    if not wanted <= found and any(BUSY in note for note in page.notes):
        pytest.skip(f"others had the processors, and {', '.join(wanted - found)} was not reported")
    assert wanted <= found, page_text(page)
    for finding in page.findings:
        if finding.code in lines:
            assert finding.file == str(file) and finding.line in lines[finding.code], page_text(page)
    assert not any("observer" in note for note in page.notes), page.notes


@pytest.mark.slow
@pytest.mark.parametrize("file", programs(sorted(PROGRAMS.glob("*.py")), CI))
def test_exactly_the_faults_of_a_program_are_reported(file: Path) -> None:
    judge(file, *watched(file))


@pytest.mark.slow
@pytest.mark.parametrize("file", programs(EMULATED, GPU_CI))
def test_exactly_the_faults_of_a_program_on_an_emulated_gpu_are_reported(
    file: Path, emulated_gpu: Environment
) -> None:
    judge(file, *on_gpu(file, emulated_gpu))


def on_gpu(
    file: Path, emulated_gpu: Environment, beside: Callable[[Watched], None] = lambda program: None
) -> tuple[Page, str]:
    """Run a program with emulated GPUs: one, or as many as it requests."""
    text = file.read_text()
    gpus, kernel_us = 2 if "# gpus: 2" in text else 1, 1 if "# short kernels" in text else 100
    made = tuple(sorted(emulated_gpu(gpus, memory=512 * 2**20, kernel_us=kernel_us).items()))
    return watched(file, made, WatchOptions(every=1.0, window=0.3), beside)


@pytest.mark.slow
def test_layers_have_the_names_of_the_program(tmp_path: Path) -> None:
    """By `fit`, whose graph numbers every scope again, and by a function that reaches the model."""
    for number, training in enumerate(("model.fit(x, y, epochs=4, verbose=0)", STEP)):
        file = tmp_path / f"{number}.py"
        file.write_text(LAYERED + training)
        page, printed = watched(file)
        assert page.exit_code == 0, printed
        seen = {op.layer for op in page.ops if op.op in ("Conv2D", "MatMul")}
        assert {"conv2d", "conv2d_1"} <= seen <= {"conv2d", "conv2d_1", "dense", "dense_1"}, page.ops


LAYERED = """
import keras
import numpy as np
import tensorflow as tf

layers = keras.layers
model = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(8, 3), layers.Conv2D(16, 3), layers.Flatten()])
model = keras.Sequential([model, layers.Dense(64), layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.zeros((6400, 28, 28, 1), "float32"), np.zeros((6400, 1), "float32")
"""
STEP = """
@tf.function
def step(batch):
    return model(batch)

for number in range(300):
    step(tf.constant(x[:32]))
"""


@pytest.mark.slow
def test_other_processes_are_seen_with_a_program(emulated_gpu: Environment) -> None:
    """Other users of its GPU, nearly exhausted memory, and unused tensor cores."""

    def beside(program: Watched) -> None:
        (process,) = program.processes.values()
        facts = process.facts
        assert facts is not None
        physical = tuple(
            (name, kind, product, [9, 0] if kind == "GPU" else None)
            for name, kind, product, _ in facts.physical
        )
        process.facts = msgspec.structs.replace(
            facts, physical=physical, memory={"/physical_device:GPU:0": (30, 31)}
        )
        program.place = Beside(gpus=1, others=("python 4242",), memory={"GPU:0": 512 * 2**20})

    expected, found = {"gpu-shared", "memory", "mixed-precision"}, set[str]()
    for _ in range(3):  # if others use the processors, the products are less than half of a step
        page, printed = on_gpu(PROGRAMS / "gpu" / "good_products.py", emulated_gpu, beside)
        assert page.exit_code == 0, printed
        found |= {f.code for f in page.findings}
        if found >= expected:
            break
    assert found == expected, page_text(page)


@pytest.mark.long
@pytest.mark.slow
def test_a_gpu_that_tensorflow_does_not_see_is_reported_with_its_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Found with the program's own interpreter; not reported on a machine without a GPU."""
    from tuilab.doctor import examine

    asked = []
    real = examine.examine
    monkeypatch.setattr(examine, "examine", lambda where: asked.append(where) or real(where))
    file = PROGRAMS / "fit_run_eagerly.py"
    assert "no-gpu" not in {f.code for f in watched(file, beside=Watched.beside)[0].findings}
    assert not asked
    look = hardware.look
    monkeypatch.setattr(hardware, "look", lambda where: dataclasses.replace(look(where), gpus=(H200,)))
    page, _ = watched(file, beside=Watched.beside)
    (finding,) = [f for f in page.findings if f.code == "no-gpu"]
    (where,) = asked
    found = real(where)
    assert finding.message == found.cause and finding.file == str(file)
    assert watch.place_of([], (), {}).no_gpu == ""
