"""The first day on a GPU, rehearsed on the emulation."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import gpu_day
from tests.gpu_day import Outcome, Step
from tuilab.model.events import RunStarted, decode


@pytest.mark.real_worker
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_day_keeps_everything_and_says_what_differed(
    emulated_gpu: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    steps = "start,truths,profile-stft-small-mode-graph,recordings"
    words = [str(tmp_path), "--steps", steps, "--presets", "many-copies", "--side", "64"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.gpu_day", *words],
        env={**os.environ, **emulated_gpu()},
        capture_output=True,
        text=True,
        timeout=590,
    )
    assert done.returncode == 0, done.stderr
    page = done.stdout
    assert page.strip() == (tmp_path / "page.txt").read_text().strip()
    for step in steps.split(","):
        assert any(line.startswith(step) and line.endswith("ended with 0") for line in page.splitlines()), (
            page
        )
        assert (tmp_path / f"{step}.out").exists() and (tmp_path / f"{step}.log").exists()
    assert "gpu0.xla.resident.float32.whole is failed" in page and "platform EMULATED" in page
    assert "profile-stft-small-mode-graph: " not in page and "truths: no truths" not in page
    (recorded,) = tmp_path.glob("many-copies.EMULATED-tensorflow-*.jsonl")
    first = decode(recorded.read_bytes().splitlines()[0])
    assert isinstance(first, RunStarted) and first.preset == "many-copies"


def test_a_step_that_fails_or_hangs_does_not_end_the_day(tmp_path: Path) -> None:
    chosen = [
        Step("fails", [sys.executable, "-c", "raise SystemExit('no GPU')"], 30, gpu_day.ended),
        Step("hangs", [sys.executable, "-c", "import time; time.sleep(60)"], 1, gpu_day.ended),
        Step("lacks", ["no-such-program"], 1, needs="no-such-program"),
        Step("odd", [sys.executable, "-c", "print(7)"], 30, gpu_day.doctor),
        Step("well", [sys.executable, "-c", "print(1)"], 30, gpu_day.ended),
    ]
    page = gpu_day.day(tmp_path, chosen, 5.0)
    assert "- fails: it ended with 1: no GPU" in page
    assert "- hangs: it ended with 124" in page and "ran past its limit" in page
    assert "left out: no no-such-program here" in page
    assert "- odd: what it printed is not understood" in page
    assert "- well" not in page and (tmp_path / "well.out").read_text() == "1\n"
    assert "the time is over" in gpu_day.day(tmp_path, chosen, 0.0)


@pytest.mark.parametrize(
    ("capability", "ratio", "differs"),
    [("(9, 0)", 8.0, False), ("(9, 0)", 1.0, True), ("(7, 5)", 1.0, False)],
)
def test_what_the_code_believes_of_tf32_is_held_against_the_gpu(
    capability: str, ratio: float, differs: bool
) -> None:
    import json

    found = {
        "graph_identity_on": "CPU:0", "copy_on": "GPU:0", "empty_sync_s": 4e-5, "tiny_op_s": 1e-4,
        "tiny_op_after_profile_s": 1e-4, "details": {"compute_capability": capability},
        "float32_flops": 1e12, "tf32_flops": ratio * 1e12,
    }  # fmt: skip
    said = list(gpu_day.truths(Outcome(0, 1.0, json.dumps(found), "")))
    assert [("TF32" in line) for line in said] == ([True] if differs else [])
