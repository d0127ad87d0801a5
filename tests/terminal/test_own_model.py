"""A model file is opened and measured in a terminal, by keys."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal.lab import environment, opened

pytestmark = [pytest.mark.terminal, pytest.mark.slow, pytest.mark.long]
MAKE = """
import keras

layers = keras.layers
net = keras.Sequential(
    [keras.Input((32,), name="x"), layers.Dense(256, "relu", name="wide"), layers.Dense(3, "softmax")], name="net"
)
net.compile("adam", "sparse_categorical_crossentropy")
net.save("model.keras")
net.export("graph", verbose=False)
"""


@pytest.mark.parametrize(
    ("name", "arm", "layer"), [("model.keras", "inference", "wide"), ("graph", "graph", "MatMul")]
)
def test_a_model_is_opened_and_measured_by_layer(tmp_path: Path, name: str, arm: str, layer: str) -> None:
    env = environment(tmp_path, TF_CPP_MIN_LOG_LEVEL="3")
    subprocess.run([sys.executable, "-c", MAKE], check=True, cwd=tmp_path, env=env, timeout=120)
    with opened(tmp_path, (80, 24), env=env) as terminal:
        terminal.see("no GPU")
        terminal.press("o")
        terminal.see("Open")
        terminal.press(f"{name}\r")
        terminal.see("batch", f"CPU {arm}" if arm == "graph" else arm, seconds=90)
        terminal.see("done,", seconds=180)
        terminal.press("4")
        terminal.see("of the call", layer)
        terminal.press("s")
        terminal.see("size 2 of", seconds=180)
