"""The faults of a faulty program, and nothing else, are reported with their lines. Good programs have no
findings.
"""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.watch.running import BUSY, PROGRAMS, expected, others_s, watched
from tuilab.doctor import hardware
from tuilab.lab import watch
from tuilab.lab.watch import Watched, WatchOptions
from tuilab.model.program import Page
from tuilab.program.case import Beside
from tuilab.report.program import page_text

CI = {
    "fit_run_eagerly",
    "function_in_loop",
    "fit_numpy_function_in_map",
    "loop_float64",
    "loop_python_number",
    "steps_become_slower",
    "good_fit_dataset",
    "good_loop",
}
"""Programs that always run: one for each kind of fault, and good programs. The other programs run with
--long.
"""
GPU_CI = {"host_op", "idle", "good_step"}
MOST_OTHERS = 0.15
"""Share of the processors above which other processes count as a disturbance."""
EMULATED = sorted((PROGRAMS / "gpu").glob("*.py"))
Environment = Callable[..., dict[str, str]]
H200 = hardware.PciGpu(slot="0000:1b:00.0", vendor=hardware.NVIDIA, device="0x2335")


def programs(files: list[Path], ci: set[str]) -> list[object]:
    return [
        pytest.param(file, id=file.stem, marks=() if file.stem in ci else pytest.mark.long) for file in files
    ]


def judge(file: Path, run: Callable[[], tuple[Page, str]]) -> None:
    """Assert that exactly the expected findings are reported, with their lines.

    Other programs on the processors change the shares of a step, so a disturbed run is repeated.
    """
    for _ in range(3):
        before = others_s()
        page, printed = run()
        assert page.exit_code == 0, printed
        assert not any("observer" in note for note in page.notes), page.notes
        if as_expected(file, page):
            return
        others = (others_s() - before) / (page.lasted_s * (os.cpu_count() or 1))
        assert others > MOST_OTHERS or any(BUSY in note for note in page.notes), page_text(page)
    pytest.skip("others had the processors in three runs")


def as_expected(file: Path, page: Page) -> bool:
    wanted, may, lines = expected(file)
    return wanted <= {finding.code for finding in page.findings} <= wanted | may and all(
        finding.file == str(file) and finding.line in lines[finding.code]
        for finding in page.findings
        if finding.code in lines
    )


@pytest.mark.slow
@pytest.mark.parametrize("file", programs(sorted(PROGRAMS.glob("*.py")), CI))
def test_exactly_the_faults_of_a_program_are_reported(file: Path) -> None:
    judge(file, lambda: watched(file))


@pytest.mark.slow
@pytest.mark.parametrize("file", programs(EMULATED, GPU_CI))
def test_exactly_the_faults_of_a_program_on_an_emulated_gpu_are_reported(
    file: Path, emulated_gpu: Environment
) -> None:
    judge(file, lambda: on_gpu(file, emulated_gpu))


def on_gpu(
    file: Path, emulated_gpu: Environment, beside: Callable[[Watched], None] = lambda program: None
) -> tuple[Page, str]:
    """Run a program with one emulated GPU, or with as many as it requests; return its page and output."""
    text = file.read_text()
    gpus, kernel_us = 2 if "# gpus: 2" in text else 1, 1 if "# short kernels" in text else 100
    made = tuple(sorted(emulated_gpu(gpus, memory=512 * 2**20, kernel_us=kernel_us).items()))
    return watched(file, made, WatchOptions(every=1.0, window=0.3), beside)


@pytest.mark.slow
def test_layers_have_the_names_of_the_program(tmp_path: Path) -> None:
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
    # if other programs use the processors, the matrix products may take less than half of a step
    for _ in range(3):
        page, printed = on_gpu(PROGRAMS / "gpu" / "good_products.py", emulated_gpu, beside)
        assert page.exit_code == 0, printed
        found |= {f.code for f in page.findings}
        if found >= expected:
            break
    assert found == expected, page_text(page)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["import os", "import os\nimport tensorflow as tf\ntf.constant"])
def test_a_variable_that_names_a_gpu_that_does_not_exist_is_reported_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """The program sets the variable before it imports TensorFlow, or later, but before TensorFlow opens its
    devices.
    """
    look = hardware.look
    monkeypatch.setattr(hardware, "look", lambda where: dataclasses.replace(look(where), gpus=(H200,)))
    file = tmp_path / "train.py"
    file.write_text(f"{first}\n{SET}\n{LATER}")
    page, printed = watched(file, beside=Watched.beside)
    assert page.exit_code == 0, printed
    (finding,) = [each for each in page.findings if each.code == "gpu-hidden"]
    assert (finding.file, finding.line) == (str(file), file.read_text().splitlines().index(SET) + 1)
    assert "to '7': this machine has 1 GPU, numbered from 0" in finding.message


SET = "os.environ['CUDA_VISIBLE_DEVICES'] = '7'"
LATER = """
import tensorflow as tf

@tf.function
def step(x):
    return x * 0.5

x = tf.ones((4, 4))
for _ in range(2000):
    x = step(x)
"""


@pytest.mark.long
@pytest.mark.slow
def test_a_gpu_that_tensorflow_does_not_see_is_reported_with_its_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The doctor finds the cause with the program's own interpreter. On a machine without a GPU, nothing is
    reported.
    """
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


@pytest.mark.slow
@pytest.mark.long
def test_a_saving_in_a_step_is_limited_by_the_input_that_other_threads_prepare_meanwhile() -> None:
    page, printed = watched(PROGRAMS / "loop_hidden_input.py")
    (found,) = (finding for finding in page.findings if finding.code == "eager-step")
    assert found.if_input_keeps_up and "the input pipeline works for" in found.message, printed
