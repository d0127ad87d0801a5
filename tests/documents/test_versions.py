"""Names are checked against the TensorFlow version that the user requests, or else against the version that
the document installs.
"""

import json

import pytest
from click.testing import CliRunner

from tuilab.cli.check import check
from tuilab.documents import read
from tuilab.documents.api.tables import shipped
from tuilab.documents.api.versions import check_version, installed_by, supported_versions, table_of
from tuilab.model.errors import InputError

NEW = "import tensorflow as tf\nx = tf.image.decode_webp(tf.io.read_file('a.webp'))\n"
OLD = "import tensorflow as tf\nfrom tensorflow.python.eager import profiler\ne = tf.estimator.Estimator\n"


def found(code: str, tensorflow: str = "", name: str = "x.py") -> list[str]:
    report = read(code.encode(), shipped(), name=name, tensorflow=tensorflow)
    return [f.message for e in report.examples for f in e.findings if f.code in ("TL001", "TL002")]


def test_a_name_that_came_later_is_missing_in_the_version_that_is_asked_for():
    assert found(NEW) == [] and found(NEW, supported_versions()[-1]) == []
    (message,) = found(NEW, "2.17")
    assert message == "tf.image.decode_webp does not exist in TensorFlow 2.17.1 (new in 2.20)"


def test_removed_names_are_reported_with_the_version():
    estimator = "tf.estimator does not exist in TensorFlow {} (gone since 2.16)"
    assert found(OLD, "2.17") == [estimator.format("2.17.1")]
    assert found(OLD, "2.20") == [
        "tensorflow.python.eager.profiler does not exist in TensorFlow 2.20.0 (gone since 2.20)",
        estimator.format("2.20.0"),
    ]


def test_a_name_that_never_existed_has_no_version():
    (message,) = found("import tensorflow as tf\ntf.signal.lfilter(1)\n", "2.18")
    assert "(" not in message


def test_arguments_are_those_of_the_version():
    code = "import tensorflow as tf\ntf.gather_nd([[1.0]], [[0, 0]], bad_indices_policy='IGNORE')\n"
    assert found(code) == []
    assert "bad_indices_policy" in found(code, "2.16")[0]


def test_the_version_that_the_document_installs_decides_and_its_line_is_named():
    article = f"# An article\n\n    pip install tensorflow==2.17.0\n\n```python\n{NEW}```\n"
    (message,) = found(article, name="x.md")
    assert message.endswith("2.17.1 (which line 3 installs; new in 2.20)")
    # an explicit request takes precedence
    assert found(article, "2.21", name="x.md") == []


@pytest.mark.parametrize(
    "line",
    [
        "!pip install -q tensorflow==2.17",
        "%pip install numpy 'tensorflow-cpu==2.17.*'",
        "pip3 install tensorflow[and-cuda]==2.17.1 --quiet",
        "uv add tensorflow~=2.17.0",
        "conda install -c conda-forge tensorflow=2.17",
        "# dependencies = ['tensorflow==2.17']",
        '#   "tensorflow==2.17.1",',
        "tensorflow-gpu == 2.17",
    ],
)
def test_ways_to_install_one(line: str):
    assert installed_by(["A text.", line]) == ("2.17", 2)


@pytest.mark.parametrize(
    "lines",
    [
        ["pip install tensorflow"],
        ["pip install tensorflow>=2.17"],
        ["pip install tensorflow==1.15"],
        ["pip install tensorflow==2.170"],
        ["pip install tensorflow-datasets==2.17"],
        ["pip install my-tensorflow==2.17"],
        ["assert version('tensorflow==2.17')"],
        ["pip install tensorflow==2.17", "pip install tensorflow==2.18"],
    ],
)
def test_lines_that_give_no_version(lines: list[str]):
    assert installed_by(lines) is None


def test_every_version_that_the_lab_measures_in_is_known_and_a_whole_table():
    assert supported_versions() == ("2.16", "2.17", "2.18", "2.19", "2.20", "2.21")
    for version in supported_versions():
        table = table_of(version)
        assert table.version.startswith(version) and list(table.names) == sorted(set(table.names))
        assert {"tf.matmul", "tf.keras.Model", "tf.signal.stft"} <= set(table.names)
        assert set(table.signatures) <= set(table.names)
        assert set(table.renames.values()) <= set(table.names)
    assert table_of(supported_versions()[-1]) == shipped()


@pytest.mark.parametrize("version", ["2.15", "3.0", "2", "newest", "2.17 ", "../2.17", "2.17.x"])
def test_another_version_is_refused_with_those_that_are_known(version: str):
    with pytest.raises(InputError, match=r"from 2\.16 to 2\.21"):
        check_version("--tensorflow", version)


def test_by_its_option_and_by_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.py").write_text(NEW)
    done = CliRunner().invoke(check, ["new.py", "--tensorflow", "2.17", "--json"])
    assert done.exit_code == 1 and json.loads(done.stdout)["tensorflow"] == "2.17.1"
    assert CliRunner().invoke(check, ["new.py", "--tensorflow", "2.21"]).exit_code == 0
    project = tmp_path / "pyproject.toml"
    project.write_text("[tool.tuilab.check]\ntensorflow = '2.17'\n")
    assert CliRunner().invoke(check, ["new.py"]).exit_code == 1
    project.write_text("[tool.tuilab.check]\ntensorflow = '2.1'\n")
    assert isinstance(CliRunner().invoke(check, ["new.py"]).exception, InputError)
