"""The first day with a GPU (`tests.gpu_day`), rehearsed with emulated GPUs."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests import gpu_day
from tests.gpu_day import Outcome, Step
from tuilab.history import recording
from tuilab.model.events import Finished, RunStarted

PRESET = "int32-matmul"
NO_SMI = shutil.which("nvidia-smi") is None


def rehearsed(environment: dict[str, str], folder: Path, *words: str) -> tuple[str, dict[str, int]]:
    """Rehearse the first day with a GPU. Returns the day's page and the exit code of each step."""
    day = [sys.executable, "-m", "tests.gpu_day", str(folder), "--presets", PRESET, "--side", "64", *words]
    done = subprocess.run(day, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (folder / "page.txt").read_text().strip()
    ended = re.findall(r"^(\S+) .* ended with (\d+)", done.stdout, re.MULTILINE)
    return done.stdout, {name: int(code) for name, code in ended}


def replayable(folder: Path) -> None:
    (recorded,) = folder.glob(f"{PRESET}.EMULATED-tensorflow-*.jsonl")
    _, started, *_, ending = recording.read(recorded)
    assert isinstance(started, RunStarted) and started.preset == PRESET
    assert isinstance(ending, Finished) and ending.status == "ok"


@pytest.mark.real_worker
@pytest.mark.slow
def test_a_gpu_day_keeps_all_results_and_reports_differences(
    emulated_gpu: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    """Runs only the day's steps that no other test runs."""
    steps = ("truths", "recordings")
    page, ended = rehearsed(emulated_gpu(), tmp_path, "--steps", ",".join(steps))
    assert ended == dict.fromkeys(steps, 0), page
    assert "truths: no truths" not in page
    replayable(tmp_path)


@pytest.mark.real_worker
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_whole_gpu_day_runs(emulated_gpu: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    page, ended = rehearsed(emulated_gpu(), tmp_path, "--minutes", "55", "--slower", "5")
    assert list(ended) == [s.name for s in gpu_day.steps(tmp_path, [], "", 64) if not (s.needs and NO_SMI)]
    told = {"profile-stft-small-mode-xla": 3, "interrupted": 130, "selftest": ended["selftest"]}
    assert ended == {**dict.fromkeys(ended, 0), **told} and ended["selftest"] in (0, 4), page
    differed = page.partition("What differed")[2]
    assert (
        "platform EMULATED" in differed and "Traceback" not in differed and "not understood" not in differed
    )
    assert ": failed: " not in page and ": beats its bound: " not in page
    replayable(tmp_path)


def test_figures_are_printed_with_those_of_the_data_sheet() -> None:
    roofs = {"triad": 3.0e12, "peaks": {"tf32": 600e12, "float32": 60e12}, "link": {"to_device": 50e9}}
    gpus = [
        {"name": "CPU:0", "description": "a CPU"},
        {"name": "GPU:0", "description": "NVIDIA H100 80GB HBM3"},
    ]
    found = {"machine": {"devices": gpus}, "roofs": {"devices": {"GPU:0": roofs}}}
    lines = list(gpu_day.machine(Outcome(0, 1.0, json.dumps(found), "")))
    assert "tf32 products: 6e+14 is 121% beyond the data sheet's 4.95e+14" in lines
    assert any(line.startswith("triad: 3e+12 is 90% of") for line in lines) and len(lines) == 4
    gpus[1]["description"] = "EMULATED"
    assert list(gpu_day.machine(Outcome(0, 1.0, json.dumps(found), ""))) == ["no data sheet of EMULATED"]


def test_noise_does_not_change_a_belief_of_the_code() -> None:
    flags = [{"code": "precision", "message": "time ran out"}, {"code": "emulated", "message": "no GPU"}]
    same = {"status": "ok", "device": "GPU:0", "requested_device": "GPU:0", "flags": flags}
    arms = [{"id": "a", **same}, {"id": "b", **same, "status": "failed", "reason": "out of memory"}]
    lines = list(gpu_day.run(Outcome(3, 1.0, json.dumps({"arms": arms}), "x\nthe last line\n")))
    assert lines == ["it ended with 3: the last line", "a: no GPU", "b is failed: out of memory", "b: no GPU"]


HANGS = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


def test_a_step_that_fails_or_hangs_does_not_end_the_gpu_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def so_far(outcome: Outcome) -> list[str]:
        assert "- fails: it ended with 1" in (tmp_path / "page.txt").read_text()
        assert "- fails: it ended with 1" in capsys.readouterr().err
        return ["seen"]

    chosen = [
        Step("fails", [sys.executable, "-c", "raise SystemExit('no GPU')"], 30, gpu_day.ended),
        Step("looks", [sys.executable, "-c", ""], 30, so_far),
        Step("hangs", [sys.executable, "-c", HANGS], 3, gpu_day.ended),
        Step("lacks", ["no-such-program"], 1, needs="no-such-program"),
        Step("odd", [sys.executable, "-c", "print(7)"], 30, gpu_day.doctor),
        Step("well", [sys.executable, "-c", "print(1)"], 30, gpu_day.ended),
    ]
    page = gpu_day.day(tmp_path, chosen, 5.0)
    assert "- fails: it ended with 1: no GPU" in page
    assert "- looks: seen" in page, page
    assert "- hangs: it ended with 124" in page and "ran past its limit" in page
    child = int((tmp_path / "hangs.out").read_text())  # the child has its own process group
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    assert "left out: no no-such-program here" in page
    assert "- odd: what it printed is not understood" in page
    assert "- well" not in page and (tmp_path / "well.out").read_text() == "1\n"
    assert "the time is over" in gpu_day.day(tmp_path, chosen, 0.0)


@pytest.mark.parametrize(
    ("capability", "ratio", "differs"),
    [("(9, 0)", 8.0, False), ("(9, 0)", 1.0, True), ("(7, 5)", 1.0, False)],
)
def test_the_assumptions_about_tf32_are_checked_on_the_gpu(
    capability: str, ratio: float, differs: bool
) -> None:
    found = {
        "graph_identity_on": "CPU:0", "copy_on": "GPU:0", "empty_sync_s": 4e-5, "tiny_op_s": 1e-4,
        "tiny_op_after_profile_s": 1e-4, "details": {"compute_capability": capability},
        "float32_flops": 1e12, "tf32_flops": ratio * 1e12,
    }  # fmt: skip
    lines = list(gpu_day.truths(Outcome(0, 1.0, json.dumps(found), "")))
    assert [("TF32" in line) for line in lines] == ([True] if differs else [])
