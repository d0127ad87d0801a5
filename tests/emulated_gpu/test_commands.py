import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.data_folder import knowing
from tests.worker.zoo import KINDS
from tuilab.model.selftest import NAMES

pytestmark = [pytest.mark.real_worker, pytest.mark.slow, pytest.mark.timeout(400)]
Environment = Callable[..., dict[str, str]]


@pytest.fixture
def tuilab(emulated_gpu: Environment, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that runs a command with emulated GPUs and returns the command's JSON output."""

    def run(*words: str, gpus: int = 1, code: int | None = 0, **settings: Any) -> Any:
        made = {**os.environ, **emulated_gpu(gpus, **settings), "TUILAB_DATA": knowing(tmp_path)}
        command = [sys.executable, "-P", "-m", "tuilab", *words, "--json"]
        done = subprocess.run(command, env=made, capture_output=True, text=True, timeout=390)
        assert code is None or done.returncode == code, done.stderr
        return json.loads(done.stdout)

    return run


GRAPH = ("--mode", "graph", "--budget", "quick", "--input", "resident")


def test_two_gpus_together(tuilab: Callable[..., Any]) -> None:
    """Measures each GPU alone and then both together. Each GPU has a worker that does not open the other
    GPU.
    """
    words = ("--device", "GPU", "--dtype", "float32", "--set", "m=128", "--set", "k=128", "--set", "n=128")
    found = tuilab("run", "matmul-dtypes", "--together", *GRAPH, *words, gpus=2, kernel_us=3_000)
    named = {arm["id"]: arm["device"] for arm in found["arms"]}
    assert set(named.values()) == {"GPU:0", "GPU:1"} and len(named) == 4
    assert {name.partition(".")[0] for name in named} == {"gpu0", "gpu1"}
    assert found["machine"]["gpus"] == ["EMULATED", "EMULATED"]
    assert "is emulated by test software" in json.dumps(found)


@pytest.mark.parametrize(
    "words", [("explain", "stft-small"), ("explain", "MatMul"), ("profile", "stft-small")]
)
def test_every_explanation_says_that_the_gpu_is_emulated(
    emulated_gpu: Environment, tmp_path: Path, words: tuple[str, ...]
) -> None:
    made = {**os.environ, **emulated_gpu(1), "TUILAB_DATA": knowing(tmp_path)}
    command = [sys.executable, "-P", "-m", "tuilab", *words]
    done = subprocess.run(command, env=made, capture_output=True, text=True, timeout=390)
    assert "EMULATED: the GPU is software for tests" in done.stdout


OF_THE_MACHINE = {"idle", "still-idle", "spin-slope", "a-a", "slowdown", "drift"}
"""Checks of the self-test that can fail on a busy machine."""


@pytest.mark.long
def test_the_selftest_passes(tuilab: Callable[..., Any]) -> None:
    found = tuilab("selftest", code=None)
    failed = {check["name"]: check["message"] for check in found["checks"] if not check["passed"]}
    left_out = len(NAMES) - len(found["checks"])
    assert left_out == 2, (
        "the check of the link, which the emulation lacks, and that of forks, which have no GPU"
    )
    assert failed.keys() <= OF_THE_MACHINE, failed
    assert found["passed"] or not found["idle"], failed


def test_a_model_with_reference_variables_is_measured_on_the_cpu(
    tuilab: Callable[..., Any], tf: Any, tmp_path: Path
) -> None:
    model = KINDS["of TensorFlow 1"].save(tf, tmp_path)
    found = tuilab("run", str(model), "--device", "CPU", "--device", "GPU", *GRAPH)
    ran = {arm["requested_device"]: (arm["status"], arm["reason"]) for arm in found["arms"]}
    assert ran["CPU:0"][0] == "ok"
    assert ran["GPU:0"][0] == "unavailable" and "on the CPU only" in ran["GPU:0"][1]
