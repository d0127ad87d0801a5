"""`%tuilab` in a notebook. A real Jupyter kernel runs the notebook's cells from top to bottom."""

import os

import pytest

from tests.data_folder import knowing

nbclient = pytest.importorskip("nbclient")
pytestmark = [pytest.mark.real_worker, pytest.mark.slow]

CELLS = (
    "import tensorflow as tf\nweights = tf.Variable(tf.ones((16, 4)))\n%load_ext tuilab",
    "def step(x):\n    return x @ weights\nx = tf.ones((8, 16))",
    "%tuilab --device CPU --mode graph step(x)",
    "%%tuilab --device CPU --mode graph\ny = tf.ones((4, 16))\nstep(y)",
    "try:\n    get_ipython().run_line_magic('tuilab', '--bugdet quick step(x)')\n"
    "except ValueError as error:\n    print(error)",
    "%tuilab --device CPU --mode graph --batch 1,8 step(x)",
)


def test_a_notebook_runs_from_top_to_bottom_and_keeps_its_answers(tmp_path, monkeypatch):
    import nbformat

    monkeypatch.setenv("TUILAB_DATA", knowing(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    client = nbclient.NotebookClient(
        book, timeout=240, kernel_name="python3", resources={"metadata": {"path": os.fspath(tmp_path)}}
    )
    client.execute()
    line, cell, wrong, sweep = book.cells[2:]
    for each in (line, cell, sweep):
        (shown,) = [o.data for o in each.outputs if o.output_type == "execute_result"]
        assert "<iframe" in shown["text/html"] and "&lt;svg" in shown["text/html"]
        assert "&lt;h1&gt;step&lt;/h1&gt;" in shown["text/html"]
        assert "CPU graph" in shown["text/plain"] and "median" in shown["text/plain"]
        assert not any("written to" in o.get("text", "") for o in each.outputs), "the file no longer exists"
    assert "--bugdet is not an option" in wrong.outputs[0].text
    assert not list(tmp_path.glob("captured*"))
