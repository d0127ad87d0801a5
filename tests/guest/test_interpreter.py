"""tuilab finds a user's Python by its path, or rejects an unsuitable Python with a sentence that gives the
reason.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.calling import here
from tuilab.interpreter import describe_same, environment, environments, look, python_of, worker_command
from tuilab.model.errors import InputError


def program(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return path


def python(path: Path, version: str = "3, 10, 4", tensorflow: str = '"2.18.1"') -> Path:
    known = (
        f'{{"python": [{version}], "folder": "{path.parent.parent}", "path": [], "tensorflow": {tensorflow}}}'
    )
    return program(path, f"echo '{known}'")


def test_a_folder_names_its_python(tmp_path: Path):
    inside = program(tmp_path / "venv" / "bin" / "python", "true")
    assert python_of(str(tmp_path / "venv")) == inside == python_of(str(inside))
    assert python_of(str(tmp_path)) is None
    inside.chmod(0o644)
    assert python_of(str(inside)) is None


def test_a_link_to_python_is_not_resolved(tmp_path: Path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    assert python_of(str(tmp_path)) == tmp_path / "bin" / "python"


def test_the_python_of_the_lab_is_not_another_environment():
    assert environment(sys.executable) is None
    assert environment(".") is None


def test_an_environment_is_identified_by_what_its_python_reports(tmp_path: Path):
    found = environment(str(python(tmp_path / "bin" / "python")))
    assert found is not None
    assert (found.name, found.folder) == ("", str(tmp_path))
    assert found.python == str(tmp_path / "bin" / "python")


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("exit 3", "it ended with code 3"),
        ("echo oh dear >&2; exit 1", "it ended with code 1: oh dear"),
        ("echo no JSON", "a Python interpreter, or the folder of a virtual or conda environment"),
        ("""echo '{"python": [3, 8, 1], "tensorflow": "2.9.0"}'""", "Python 3.9 or later; it is 3.8.1"),
        (
            """echo '{"python": [3, 9, 1], "tensorflow": "2.15.1"}'""",
            "TensorFlow 2.16 or later; it has 2.15.1",
        ),
        ("""echo '{"python": [3, 9, 1], "tensorflow": null}'""", "-m pip install tensorflow` installs it"),
    ],
)
def test_unusable_environments_are_refused_with_a_message(tmp_path: Path, says: str, expected: str):
    place = str(program(tmp_path / "bin" / "python", says))
    with pytest.raises(InputError) as refused:
        environment(place)
    assert "--python" in str(refused.value) and place in str(refused.value) and expected in str(refused.value)


def test_the_doctor_examines_an_environment_without_tensorflow(tmp_path: Path):
    assert (
        environment(str(python(tmp_path / "bin" / "python", tensorflow="null")), tensorflow=False) is not None
    )


def test_a_path_that_is_not_there_is_named_with_its_control():
    done = here("--python", "/no/such/place", "explain", "MatMul")
    assert done.returncode == 2
    assert "--python: got '/no/such/place'; expected a Python" in done.stderr


def test_environments_are_named_with_their_variables(tmp_path: Path):
    place = python(tmp_path / "bin" / "python")
    old, new = environments([f"old={place},XLA_FLAGS=--a=1,b,TF_ENABLE_ONEDNN_OPTS=0", "new=."])
    assert (old.name, old.folder) == ("old", str(tmp_path))
    assert old.settings == ("XLA_FLAGS=--a=1,b", "TF_ENABLE_ONEDNN_OPTS=0")
    assert (new.name, new.python, new.folder, new.settings) == ("new", sys.executable, sys.prefix, ())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["old"], "NAME=PATH"),
        (["old="], "NAME=PATH"),
        (["-o=."], "NAME=PATH"),
        (["local=."], "NAME=PATH"),
        (["a=.", "a=."], "a different name for each environment"),
        (["a=/no/such/place"], "a Python interpreter, or the folder"),
    ],
)
def test_invalid_names_and_paths_are_refused(words: list[str], expected: str):
    with pytest.raises(InputError, match="--env") as refused:
        environments(words)
    assert expected in str(refused.value)


def test_two_names_for_one_environment_are_reported():
    same = "a and b are the same environment: any difference between them is due to chance"
    assert describe_same(environments(["a=.", "b=."])) == same
    assert describe_same(environments(["a=.", "b=.,TF_ENABLE_ONEDNN_OPTS=0"])) == ""


def test_a_worker_is_started_by_path_and_writes_no_bytecode(tmp_path: Path):
    found = environment(str(python(tmp_path / "bin" / "python")))
    command, env = worker_command(found, "tuilab.worker")
    assert command[0] == str(tmp_path / "bin" / "python") and command[2] == "tuilab.worker"
    assert Path(command[1], "__main__.py").exists()
    assert env["PYTHONDONTWRITEBYTECODE"] == "1"
    assert env["PATH"].split(os.pathsep)[0] == str(tmp_path / "bin")


def test_this_python_reports_what_it_is():
    known = look(sys.executable)
    assert known["python"] == list(sys.version_info[:3])
    assert known["tensorflow"].startswith("2.")
