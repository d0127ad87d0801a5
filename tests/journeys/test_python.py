"""tuilab in Python: the script in the README, and a notebook."""

import re

import pytest

from tests.journeys.user import CHECKOUT, User, figures

pytestmark = pytest.mark.timeout(300)
NOTEBOOK = """
import nbclient, nbformat

cells = (
    "import tensorflow as tf\\nweights = tf.Variable(tf.ones((16, 4)))\\n%load_ext tuilab",
    "def step(x):\\n    return x @ weights\\nx = tf.ones((8, 16))",
    "%tuilab --device CPU --mode graph --budget quick step(x)",
)
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
nbclient.NotebookClient(book, timeout=240, kernel_name="python3").execute()
for output in book.cells[-1].outputs:
    print(output.get("data", {}).get("text/plain", ""))
    print(output.get("data", {}).get("text/html", "")[:200])
"""


def test_the_script_of_the_readme_measures(newcomer: User) -> None:
    (script,) = re.findall(
        r"```python\n(from tuilab.lab.*?)```", (CHECKOUT / "README.md").read_text(), re.DOTALL
    )
    newcomer.write("script.py", script)
    done = newcomer.run("python script.py")
    assert "CPU" in done.out and figures(done.out)
    (run,) = newcomer.history()
    assert run["answer"] in done.out


@pytest.mark.long
def test_a_notebook_measures_its_own_step(user: User) -> None:
    pytest.importorskip("nbclient")
    user.write("notebook.py", NOTEBOOK)
    kernel = (
        '{"argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "own", '
    )
    user.write(".local/share/jupyter/kernels/python3/kernel.json", kernel + '"language": "python"}')
    done = user.run("python notebook.py")
    assert "CPU graph" in done.out and "<iframe" in done.out
