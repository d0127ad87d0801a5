"""The whole lab works in a user's environment with the oldest supported TensorFlow, and writes no file
there.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.calling import Done, run
from tests.data_folder import knowing
from tests.environments import build, names
from tests.environments.presets import measured
from tuilab.documents.api.tables import shipped
from tuilab.documents.api.versions import table_of
from tuilab.interpreter import environment

pytestmark = [pytest.mark.real_worker, pytest.mark.timeout(900)]

WATCHED = """
import tensorflow as tf

x = tf.ones((64, 64))

@tf.function
def product(x):
    return tf.linalg.matmul(x, x)

for _ in range(300):
    product(x)
"""

OWN = """
import sys, tensorflow as tf

def step(n: int = 64):
    "Fails where the lab's libraries are in sight."
    assert not {"msgspec", "textual"} & set(sys.modules), sys.path
    try:
        import msgspec
    except ImportError:
        x = tf.ones((n, n))
        return lambda: tf.linalg.matmul(x, x)
    raise AssertionError("msgspec is not installed here")
"""


def contents(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = hashlib.blake2b(path.read_bytes()).hexdigest()
    return found


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        return build.environment(build.OLDEST)
    except build.Missing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def said(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Done]]:
    """Run each command in the environment `folder` and return the outputs. Afterwards, check that the
    environment's folder is unchanged.
    """
    before = contents(folder)
    data = tmp_path_factory.mktemp("environment")
    (data / "own.py").write_text(OWN)
    (data / "watched.py").write_text(WATCHED)
    quick = ("--budget", "quick", "--json")
    commands = {
        "run": ("run", "stft-small", *quick),
        "own": ("run", f"{data}/own.py:step", "--mode", "graph", *quick),
        "op": ("explain", "MatMul", "--dtype", "int32", "--json"),
        "preset": ("explain", "stft-small", "--json"),
        "profile": ("profile", "stft-small", "--json"),
        "doctor": ("doctor", "--json"),
        "watch": ("watch", "--plain", "--json", str(data / "page.json"), str(data / "watched.py")),
    }
    beside = ("--env", f"old={folder}", "--env", "new=.", "--device", "CPU", "--mode", "graph")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        patch.setenv("TUILAB_TESTS_FORKED", "")
        done = {name: run(data, "--python", str(folder), *words) for name, words in commands.items()}
        done["watch"] = done["watch"]._replace(stdout=(data / "page.json").read_text())
        yield done | {"beside": run(data, "run", "stft-small", *quick, *beside)}
    assert contents(folder) == before, "the run wrote a file into the environment"


def answer(said: dict[str, Done], name: str) -> Any:
    done = said[name]
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_preset_is_measured_and_says_where(said: dict[str, Done], folder: Path):
    result = answer(said, "run")
    assert result["machine"]["environment"] == str(folder)
    assert result["machine"]["tensorflow"].startswith(build.OLDEST)
    measured = [arm for arm in result["arms"] if arm["requested_device"] == "CPU:0"]
    assert {arm["mode"] for arm in measured} == {"eager", "graph", "xla"}
    assert all(arm["status"] == "ok" and arm["device"] == "CPU:0" and arm["n"] >= 5 for arm in measured)
    assert str(folder) in said["run"].stderr


def test_the_device_of_each_op_is_seen(said: dict[str, Done]):
    placed = answer(said, "run")["placement"]
    assert {row["device"] for row in placed} <= {"CPU:0", ""}
    assert "RFFT" in {row["op"] for row in placed if row["device"] == "CPU:0"}


def test_own_code_finds_only_the_packages_of_its_environment(said: dict[str, Done]):
    (arm,) = (arm for arm in answer(said, "own")["arms"] if arm["requested_device"] == "CPU:0")
    assert arm["status"] == "ok"


def test_the_names_known_to_the_checker_exist_in_that_version(folder: Path):
    made = names.difference(shipped(), names.asked(folder))
    known = names.difference(shipped(), table_of(build.OLDEST))
    assert made.more == known.more and made.less == known.less
    assert made.signatures == known.signatures and len(made.signatures) > 20


def test_an_op_is_explained_from_its_registry(said: dict[str, Done]):
    found = answer(said, "op")
    assert found["gpu"] is False and "float32" in {k for row in found["kernels"] for k in row["dtypes"]}


def test_a_preset_is_explained(said: dict[str, Done]):
    arms = answer(said, "preset")["arms"]
    assert any(node["op"] == "RFFT" for arm in arms for node in arm["nodes"])


def test_a_call_is_profiled_op_by_op(said: dict[str, Done]):
    assert "RFFT" in json.dumps(answer(said, "profile"))


def test_the_doctor_examines_the_tensorflow_of_the_environment(said: dict[str, Done], folder: Path):
    report = answer(said, "doctor")
    probes = {probe["name"]: probe["detail"] for probe in report["probes"]}
    assert build.OLDEST in probes["TensorFlow import"] and build.OLDEST in probes["packages"]
    assert str(folder) in report["mend"]


def test_a_program_is_watched_in_its_environment(said: dict[str, Done], folder: Path):
    page = answer(said, "watch")
    assert page["tensorflow"].startswith(build.OLDEST) and page["command"][0].startswith(str(folder))
    assert "product" in json.dumps(page["functions"])


def test_two_environments_alternate_and_each_arm_names_its_environment(said: dict[str, Done], folder: Path):
    result = answer(said, "beside")
    assert result["machines"]["old"]["environment"] == str(folder)
    assert result["machines"]["new"]["environment"] == sys.prefix
    (pair,) = result["environments"]
    assert (pair["a"], pair["b"]) == ("old", "new")
    assert len(pair["arms"]) == 1
    measured = {arm["host"]: arm["n"] for arm in result["arms"] if arm["status"] == "ok"}
    assert set(measured) == {"old", "new"} and result["rounds"] < sum(measured.values())
    assert "over 3 processes" in result["confidence"]["of"]


@pytest.mark.long
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("version", [build.OLDEST, *build.BETWEEN])
async def test_every_preset_runs_in_every_version(
    version: str, tensorflow_of: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TUILAB_DATA", knowing(tmp_path))
    found = await measured(environment(str(tensorflow_of(version))))
    assert found and not {name: seen for name, seen in found.items() if seen.status != "ok" or seen.wrong}
