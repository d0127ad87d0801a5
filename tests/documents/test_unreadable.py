"""An unreadable file is an error with exit code 2, and never counts as a file without findings. If only a
part of a file can be read, the report says so.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tuilab.cli.check import check
from tuilab.documents import read
from tuilab.documents.api.tables import shipped
from tuilab.model.errors import InputError

CELL = {"cell_type": "code", "source": "import tensorflow as tf\nprint(tf.ones(3))\n"}
NOTEBOOK = json.dumps({"cells": [CELL], "nbformat": 4, "metadata": {}})
SCRIPT = "import tensorflow as tf\n\ndef f(x):\n    return tf.matmul(x, x)\n"
NOT_NOTEBOOKS = [
    "null", "0", "1.5", "true", '""', '"text"', "[]", "[1]", "{}", '{"cells": null}', '{"cells": 3}',
    '{"cells": {}}', '{"cells": [1]}', '{"cells": [[]]}', '{"cells": [{"source": 1}]}',
    '{"cells": [{"cell_type": 1}]}', '{"cells": [{"source": [1]}]}', '{"worksheets": 1}',
    '{"worksheets": [1]}', '{"worksheets": [{"cells": 1}]}', '{"metadata": {}}', '{"metadata": 1, "cells": []}',
    '{"cells": [{"source": "\\ud800"}]}', '{"cells": [{"source": "\\udfff x"}]}', "{'cells': []}",
    "{cells: []}", "<html></html>", "nbformat: 4", "[" * 5_000, '{"cells":' * 3_000, "\ufeff\ufeff{", "NaN",
]  # fmt: skip
NOT_PYTHON = [
    "= = =", "def f(:", "def f(:\n", "((((\n", "x = (\n" * 20, "return = 3 =\n", "(((", '"' * 3, "import", "class", "if x\n  y", "\x01\x02", "@", "lambda", "for for",
]  # fmt: skip
BROKEN: dict[str, bytes] = (
    {f"empty{suffix}": b"" for suffix in (".py", ".ipynb", ".md", ".txt")}
    | {f"blank{suffix}": b" \n\n\t\n" for suffix in (".py", ".ipynb", ".md")}
    | {f"cut-{at}.ipynb": NOTEBOOK[:at].encode() for at in (1, 20, 60, len(NOTEBOOK) - 1)}
    | {f"not-{n}.ipynb": text.encode() for n, text in enumerate(NOT_NOTEBOOKS)}
    | {f"not-{n}.py": text.encode() for n, text in enumerate(NOT_PYTHON)}
    | {f"image{suffix}": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" for suffix in (".py", ".md", ".txt")}
    | {f"zeros{suffix}": bytes(64) for suffix in (".py", ".md", ".ipynb")}
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def call(*words: str):
    return CliRunner().invoke(check, [*words, "--no-worker"])


def test_there_are_sixty():
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("name", BROKEN)
def test_each_is_an_error_and_none_a_traceback(name):
    Path(name).write_bytes(BROKEN[name])
    error = call(name).exception
    assert isinstance(error, InputError) and str(error).count(name) == 1


def test_unreadable_files_are_reported_with_the_others_and_exit_with_two():
    Path("bad.ipynb").write_text("null")
    Path("good.py").write_text(SCRIPT.replace("matmul", "matmull"))
    done = call("good.py", "bad.ipynb")
    assert done.exit_code == 2
    (told,) = [line for line in done.stdout.splitlines() if "bad.ipynb" in line]
    assert "TL001" in done.stdout and told.startswith("bad.ipynb: expected a Jupyter notebook's JSON")
    assert told.count("bad.ipynb") == 1
    assert "1 file could not be read" in done.stderr


def test_a_folders_files_that_are_empty_or_speak_of_something_else_are_no_errors():
    Path("package").mkdir()
    Path("package/__init__.py").write_text("")
    Path("package/other.py").write_text("print('nothing of it'")
    assert call("package").exit_code == 0


def test_a_notebook_of_version_3_is_read():
    code = {
        "cell_type": "code",
        "input": ["import tensorflow as tf\n", "tf.matmull(1, 2)"],
        "language": "python",
    }
    text = json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": [code]}]})
    report = read(text.encode(), shipped(), name="old.ipynb")
    assert [f.code for e in report.examples for f in e.findings] == ["TL001"]


def test_code_newer_than_this_python_is_reported_in_the_text():
    Path("new.py").write_text(SCRIPT + "type match X = in 3\nprint(f(tf.ones((3, 3))))\n")
    done = call("new.py")
    assert done.exit_code == 0
    assert (
        "new.py:5: not checked from here" in done.stdout
        and "according to the grammar of Python 3." in done.stdout
    )
