"""The direction of imports: the one point in which the plan of rooms is law."""

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "tuilab"


def test_the_contracts_hold():
    """The contracts of pyproject.toml, over every import statement there is."""
    from importlinter.cli import lint_imports

    assert lint_imports(config_filename=str(PACKAGE.parent / "pyproject.toml"), no_cache=True) == 0


def loaded_after(statement: str) -> set[str]:
    """The top-level modules of a fresh process that ran the statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=PACKAGE.parent,
    )
    return set(done.stdout.split())


def test_the_screens_process_loads_neither_tensorflow_nor_plotext():
    loaded = loaded_after("import tuilab.tui.app, tuilab.cli.main")
    assert "textual" in loaded
    assert not loaded & {"tensorflow", "keras", "plotext", "numpy"}


def test_the_commands_load_no_tensorflow_and_no_textual():
    names = [p.stem for p in sorted((PACKAGE / "cli").glob("*.py")) if p.stem != "__init__"]
    loaded = loaded_after("import " + ", ".join(f"tuilab.cli.{name}" for name in names))
    assert "click" in loaded
    assert not loaded & {"tensorflow", "keras", "textual", "plotext"}


def test_the_workers_process_loads_no_textual():
    loaded = loaded_after("import tuilab.worker.main, tuilab.worker.measure.run, tensorflow")
    assert "tensorflow" in loaded
    assert not loaded & {"textual", "plotext", "click"}


def test_workloads_load_without_tensorflow():
    loaded = loaded_after("from tuilab import workloads; assert workloads.shipped()")
    assert not loaded & {"tensorflow", "keras", "textual"}


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_one_module_imports_plotext():
    importing = [p for p in PACKAGE.rglob("*.py") if "plotext" in imports_of(p)]
    assert [p.relative_to(PACKAGE).as_posix() for p in importing] == ["tui/widgets/plot.py"]
