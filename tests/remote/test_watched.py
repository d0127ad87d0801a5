"""Programs on other machines are watched through real ssh and sshd."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.calling import TUILAB
from tests.remote.server import Sshd
from tests.terminal.lab import opened

Watch = Callable[..., subprocess.CompletedProcess[str]]
ASKS = """
import os, sys
print("hello", input(), flush=True)
sys.exit(3)
"""
STEPS = """
import sys, time
import tensorflow as tf

step = tf.function(lambda x: x * 0.5)
x = tf.ones((4, 4))
far = "SSH_CONNECTION" in __import__("os").environ
for _ in range(300):
    x = step(x)
    time.sleep(0.03 if far else 0.01)
"""


@pytest.fixture
def watch(sshd: Sshd, tmp_path: Path) -> Watch:
    def call(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [*TUILAB, "watch", "--plain", *words]
        settings = sshd.environment(tmp_path / "data")
        return subprocess.run(
            command, input=given, capture_output=True, text=True, env=settings, cwd=tmp_path, timeout=240
        )

    return call


def test_a_program_runs_remotely_in_the_same_folder_with_local_input(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ASKS)
    done = watch("--host", "gpu-07", "train.py", given="Ada\n")
    assert done.returncode == 3, done.stderr
    assert "hello Ada" in done.stdout and "TensorFlow was not detected" in done.stderr
    done = watch("--host", "gpu-07", "--host", "local", "train.py", given="Eve\n")
    assert done.returncode == 3, done.stderr
    assert {"gpu-07: hello Eve", "local: hello Eve"} <= set(done.stdout.splitlines())


@pytest.mark.smoke
def test_a_host_that_does_not_answer_is_reported(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('here')")
    done = watch("--host", "local", "--host", "closed", "train.py")
    assert done.returncode == 1 and "local: here" in done.stdout
    assert "closed: it cannot be reached" in done.stderr
    assert watch("--host", "-oProxyCommand=x", "train.py").returncode == 2
    done = watch("--host", "gpu-07", "/nowhere/python")
    assert done.returncode == 1 and "gpu-07:" in done.stderr and "/nowhere/python" in done.stderr


@pytest.mark.long
def test_a_remote_program_gets_a_hangup_if_its_lab_is_killed(sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, signal\nprint(os.getpid(), flush=True)\nwhile True: signal.pause()\n"
    )
    process = subprocess.Popen(
        [*TUILAB, "watch", "--plain", "--host", "gpu-07", "train.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=sshd.environment(tmp_path / "data"),
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(30)


@pytest.mark.long
@pytest.mark.slow
def test_each_process_has_a_row_and_the_slowest_is_named(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(STEPS)
    out = tmp_path / "pages.json"
    done = watch("--host", "local", "--host", "gpu-07", "--json", str(out), "train.py")
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_bytes())
    rows = [row for page in found["programs"] for row in page["processes"]]
    assert len(rows) == 2 and all(row["steps"]["n"] == 300 for row in rows)
    assert "on gpu-07 is the slowest" in found["slowest"]
    opened = watch("--open", str(out))
    assert opened.returncode == 0 and opened.stdout.startswith(found["slowest"])


@pytest.mark.terminal
@pytest.mark.slow
def test_local_and_remote_programs_are_watched_on_one_screen(sshd: Sshd, tmp_path: Path) -> None:
    """Each running program has a row. The stop key stops both programs."""
    # Make the remote steps 20 times as long as the local ones: on a busy machine, steps of 0.01 s and 0.03 s
    # may take equally long.
    (tmp_path / "train.py").write_text(STEPS.replace("range(300)", "range(100_000)").replace("0.03", "0.2"))
    words = ("watch", "--host", "local", "--host", "gpu-07", "--", sys.executable, "train.py")
    env = sshd.environment(tmp_path / "data") | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    with opened(tmp_path, (120, 40), env=env, command=(*TUILAB, *words)) as terminal:
        terminal.see("• step", seconds=120)
        terminal.press("8")
        terminal.see("1 of 2 processes", "on gpu-07 is the slowest", seconds=120)
        terminal.press("x")
        terminal.see("ended", seconds=60)
        terminal.press("q")
        assert terminal.ended(60) is not None
