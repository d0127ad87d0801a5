"""The emulated GPU also works in the oldest supported TensorFlow, which has the same C interface."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.calling import run
from tests.emulated_gpu.build import Missing, compiled
from tests.environments import build

pytestmark = [pytest.mark.real_worker, pytest.mark.timeout(600)]


def versions() -> list[object]:
    return [build.OLDEST, *(pytest.param(one, marks=pytest.mark.long) for one in build.BETWEEN)]


@pytest.mark.parametrize("version", versions())
def test_arms_run_on_the_emulated_gpu_of_each_tensorflow(
    version: str, tensorflow_of: Callable[[str], Path], tmp_path: Path
):
    folder = tensorflow_of(version)
    (tensorflow,) = folder.glob("lib/python3*/site-packages/tensorflow")
    try:
        library = compiled(tensorflow)
    except Missing as error:
        pytest.skip(str(error))
    place = f"old={folder},TF_PLUGGABLE_DEVICE_LIBRARY_PATH={library},EMULATED_GPUS=1"
    words = ("--mode", "graph", "--input", "resident", "--input", "copied", "--budget", "quick", "--json")
    done = run(tmp_path, "run", "stft-small", "--env", place, *words)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    there = [arm for arm in result["arms"] if arm["requested_device"] == "GPU:0"]
    assert {arm["input"] for arm in there} == {"resident", "copied"}
    assert all(arm["status"] == "ok" and arm["device"] == "GPU:0" and arm["n"] >= 5 for arm in there)
    assert "RFFT" in {row["op"] for row in result["placement"] if row["device"] == "GPU:0"}
    assert "EMULATED" in json.dumps(result["machine"])
