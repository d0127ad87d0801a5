"""The commands beside emulated GPUs, as a person types them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.real_worker, pytest.mark.slow, pytest.mark.timeout(400)]
Environment = Callable[..., dict[str, str]]


@pytest.fixture
def tuilab(emulated_gpu: Environment, tmp_path: Path) -> Callable[..., Any]:
    """Runs a command beside so many GPUs: its JSON."""

    def run(*words: str, gpus: int = 1, code: int | None = 0, **settings: Any) -> Any:
        made = {**os.environ, **emulated_gpu(gpus, **settings), "TUILAB_DATA": str(tmp_path)}
        command = [sys.executable, "-P", "-m", "tuilab", *words, "--json"]
        done = subprocess.run(command, env=made, capture_output=True, text=True, timeout=390)
        assert code is None or done.returncode == code, done.stderr
        return json.loads(done.stdout)

    return run


GRAPH = ("--mode", "graph", "--budget", "quick", "--input", "resident")


def test_run_tells_each_arms_device_and_that_it_is_emulated(tuilab: Callable[..., Any]) -> None:
    found = tuilab("run", "stft-small", *GRAPH)
    assert found["machine"]["gpus"] == ["EMULATED"] or "EMULATED" in json.dumps(found["machine"]["gpus"])
    assert {arm["id"].partition(".")[0]: arm["device"] for arm in found["arms"]} == {
        "cpu0": "CPU:0",
        "gpu0": "GPU:0",
    }
    assert "is emulated by software" in json.dumps(found)
    assert all(row["reason"] for row in found["placement"] if row["device"] == "GPU:0")


def test_two_gpus_together(tuilab: Callable[..., Any]) -> None:
    """Each of them alone, then both at once, each in a worker that opens it alone."""
    words = ("--device", "GPU", "--dtype", "float32", "--set", "m=128", "--set", "k=128", "--set", "n=128")
    found = tuilab("run", "matmul-dtypes", "--together", *GRAPH, *words, gpus=2)
    named = {arm["id"]: arm["device"] for arm in found["arms"]}
    assert set(named.values()) == {"GPU:0", "GPU:1"} and len(named) == 4
    assert {name.partition(".")[0] for name in named} == {"gpu0", "gpu1"}


def test_another_gpu_by_its_number(tuilab: Callable[..., Any]) -> None:
    found = tuilab("run", "pinned-add", "--device", "GPU:1", "--budget", "quick", gpus=2)
    assert {arm["device"] for arm in found["arms"]} == {"GPU:1"}
    assert {row["device"] for row in found["placement"]} <= {"GPU:1", "CPU:0", ""}


def test_a_busy_gpu_is_no_hindrance_for_the_cpu(tuilab: Callable[..., Any]) -> None:
    found = tuilab("run", "stft-small", "--device", "CPU", *GRAPH, fail="init")
    assert [arm["status"] for arm in found["arms"]] == ["ok"]


def test_explain_names_what_would_stay_on_the_host(tuilab: Callable[..., Any]) -> None:
    assert tuilab("explain", "MatMul", "--dtype", "int32")["gpu"] is False
    assert tuilab("explain", "MatMul", "--dtype", "float32")["gpu"] is True


def test_profile_of_a_copied_arm_is_of_the_gpu(tuilab: Callable[..., Any]) -> None:
    words = ("--device", "GPU", "--mode", "eager", "--input", "copied", "--seconds", "0.1")
    found = tuilab("profile", "stft-small", *words)
    assert found["device"] == "GPU:0" and not found["notes"]


def test_the_selftest_passes(tuilab: Callable[..., Any]) -> None:
    """Beside a GPU as without one; on a machine that is busy with other things it says that it cannot."""
    checks = {check["name"]: check for check in tuilab("selftest", code=None)["checks"]}
    if not (checks["idle"]["passed"] and checks["still-idle"]["passed"]):
        pytest.skip(f"the machine is busy: {checks['idle']['message']}; {checks['still-idle']['message']}")
    assert all(check["passed"] for check in checks.values()), checks
