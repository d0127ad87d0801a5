"""A user measures and watches in another environment and on another host."""

import json
import shutil
from pathlib import Path

import pytest

from tests.journeys.user import User, figures, missing
from tests.remote.server import SSHD, Sshd

pytestmark = pytest.mark.timeout(300)
PROGRAM = """
import sys, time
import tensorflow as tf

@tf.function
def step(x):
    return x @ x * 1e-3

x = tf.random.normal((64, 64))
end = time.monotonic() + 4
while time.monotonic() < end:
    x = step(x)
print("trained with", sys.prefix)
"""


@pytest.mark.long
def test_another_environment_is_measured_and_compared(user: User, elsewhere: Path) -> None:
    """No file in the other environment changes, and each figure names its environment."""
    (user.home / "venvs").mkdir()
    (user.home / "venvs" / "mine").symlink_to(elsewhere.parent)
    before = {path: path.stat().st_mtime_ns for path in elsewhere.parent.rglob("*") if path.is_file()}
    done = json.loads(
        user.run(
            "tuilab --python ~/venvs/mine run stft-small --budget quick --mode graph --device CPU --json"
        ).out
    )
    assert str(elsewhere.parent.name) in json.dumps(done["machine"]), done["machine"]
    side = "tuilab run tiny-ops --env old=~/venvs/mine --env new=. --budget quick --mode graph --device CPU"
    assert "old" in user.run(side).out
    user.write("train.py", PROGRAM)
    done = user.run("tuilab watch --python ~/venvs/mine train.py")
    assert "venvs/mine" in done.out or str(elsewhere.parent) in done.out
    assert figures(done.err)
    assert before == {path: path.stat().st_mtime_ns for path in elsewhere.parent.rglob("*") if path.is_file()}


@pytest.fixture
def far(user: User, tmp_path: Path):
    """Yield a user for whom ssh reaches a host named gpu-07 with tuilab."""
    if missing(SSHD, "ssh", "ssh-keygen"):
        pytest.skip("OpenSSH is not installed")
    folder = tmp_path / "sshd"
    folder.mkdir(mode=0o700)
    server = Sshd(folder)
    config = (folder / "config").read_text()
    (folder / "config").write_text(config.replace("Host gpu-07\n", "Host gpu-07 gpu-08\n"))
    user.environment["TUILAB_SSH"] = f"ssh -F {folder}/config"
    home = f"env HOME={user.home} TUILAB_DATA={user.home}/far"
    user.environment["TUILAB_REMOTE"] = f"{home} {user.programs}/tuilab"
    yield user
    server.close()


@pytest.mark.long
def test_another_host_is_measured_and_watched(far: User) -> None:
    line = "tuilab run stft-small --host local --host gpu-07 --budget quick --mode graph --device CPU"
    assert "gpu-07" in far.run(line).out
    far.write("train.py", PROGRAM)
    done = far.run("tuilab watch --host gpu-07 --host gpu-08 train.py")
    assert done.out.count("trained with") == 2 and "gpu-08" in done.out
    shutil.rmtree(far.home / "far", ignore_errors=True)
