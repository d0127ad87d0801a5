"""A running program that has started TensorFlow's profiler server is profiled without a restart."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.calling import environment, run

PROGRAM = """
import sys
import tensorflow as tf

tf.profiler.experimental.server.start(int(sys.argv[1]))
step = tf.function(lambda x: tf.nn.relu(x @ x) * 1e-3)
x = tf.random.normal((256, 256))
print("ready", flush=True)
while True:
    x = step(x)
"""


@pytest.mark.slow
def test_a_running_programs_steps_and_ops_are_shown(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = tmp_path / "train.py"
    file.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, str(file), str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(tmp_path),
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        out = tmp_path / "page.json"
        done = run(tmp_path, "watch", "--plain", "--json", str(out), "--attach", f"127.0.0.1:{port}")
        assert done.returncode == 0, done.stderr
    finally:
        process.kill()
        process.wait()
    page = json.loads(out.read_bytes())
    assert any(part["name"] == "compute on CPU" and part["share"] > 0 for part in page["parts"])
    assert "MatMul" in {op["op"] for op in page["ops"]}


def test_a_program_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    done = run(tmp_path, "watch", "--attach", "nowhere")
    assert done.returncode == 2 and "nowhere" in done.stderr
