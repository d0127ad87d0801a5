"""The allowed directions of imports between packages."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "tuilab"


def test_the_import_contracts_hold():
    from importlinter.cli import lint_imports

    assert lint_imports(config_filename=str(PACKAGE.parent / "pyproject.toml"), no_cache=True) == 0


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=PACKAGE.parent,
    )
    return set(done.stdout.split())


STARTS = {
    "import tuilab": "version",
    "import tuilab.cli.main": """
        cli cli.environment cli.exits cli.main cli.said guest interpreter lab lab.hosts model model.account
        model.arms model.environment model.errors model.events model.machine model.models model.ops
        model.parameters model.profile model.quantity model.roofline model.sanitize model.scenario
        model.shapes model.verdicts model.workload processes version
    """,
    "import tuilab.tui.app": """
        lab lab.changes lab.files model model.search model.verdicts paths presentation
        presentation.titles presentation.view_options tui tui.actions tui.app tui.keys tui.lasting
        tui.messages tui.options tui.panels tui.panels.presets tui.screens tui.screens.lab
        tui.screens.small tui.themes version
    """,
}
"""Modules that are loaded by a program with its own workload, by `tuilab --help`, and before the first
paint.
"""


@pytest.mark.parametrize("statement", STARTS)
def test_a_start_loads_no_further_modules(statement: str) -> None:
    loaded = {name for name in loaded_after(statement) if name.startswith("tuilab.")}
    assert loaded - {f"tuilab.{name}" for name in STARTS[statement].split()} == set()


MOST_LATE = {"tuilab": 142, "tensorflow": 71, "numpy": 35, "others": 39}
"""Maximum number of imports inside functions, by imported module. Such an import is justified only if an
import at the top would load the module too early during startup, or would load TensorFlow or NumPy into the
screen's process.
"""


def test_imports_are_at_the_top_unless_a_start_would_load_them() -> None:
    late: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        inside = {n for function in functions for n in ast.walk(function)}
        for node in inside:
            if isinstance(node, ast.ImportFrom):
                target = "tuilab" if node.level else str(node.module).partition(".")[0]
            elif isinstance(node, ast.Import):
                target = node.names[0].name.partition(".")[0]
            else:
                continue
            target = "tensorflow" if target == "keras" else target
            late[target if target in MOST_LATE else "others"] += 1
    assert {target: count for target, count in late.items() if count > MOST_LATE[target]} == {}


ELSEWHERE = {"tuilab.runner.ssh", "dask", "distributed", "tornado"}


def test_the_screen_loads_no_tensorflow_or_plot_or_fleet():
    loaded = loaded_after("import tuilab.tui.app, tuilab.cli.main, tuilab.runner.multi_host")
    assert {"textual", "tuilab.runner.supervisor"} <= loaded
    assert not loaded & {"tensorflow", "keras", "plotext", "numpy", "tuilab.runner.concurrent_devices"}
    assert not loaded & (ELSEWHERE | {"tuilab.fleet"})


def test_the_first_paint_loads_neither_the_lab_nor_a_run():
    loaded = loaded_after("import tuilab.tui.app")
    assert not loaded & {"tuilab.lab.lab", "tuilab.model.run", "tuilab.model.events", "msgspec", "sqlite3"}


def test_watching_a_program_loads_no_lab():
    """Importing the lab would add to the cost of watching."""
    loaded = loaded_after("import tuilab.cli.main, tuilab.cli.watch")
    assert len([name for name in loaded if name.startswith("tuilab")]) <= 98
    assert not loaded & {
        "tuilab.lab.controller",
        "tuilab.lab.settings",
        "tuilab.catalogue.load",
        "tuilab.cli.lab",
    }


def test_commands_load_no_tensorflow_or_textual_and_dask_only_for_a_fleet():
    names = [p.stem for p in sorted((PACKAGE / "cli").glob("*.py")) if p.stem != "__init__"]
    loaded = loaded_after("import " + ", ".join(f"tuilab.cli.{name}" for name in names))
    assert {"click", "tuilab.fleet.scheduler"} <= loaded
    assert not loaded & {"tensorflow", "keras", "textual", "plotext", "tuilab.fleet.dask_grid"}
    assert not loaded & ELSEWHERE


def test_workers_load_no_textual_and_workload_modules_no_tensorflow():
    loaded = loaded_after(
        "import tuilab.worker.main, tuilab.worker.measure.run\n"
        "from tuilab import workloads; assert workloads.shipped()"
    )
    assert "tuilab.worker.measure.run" in loaded
    assert not loaded & {"textual", "plotext", "click", "tensorflow", "keras"}


def test_a_profile_is_read_without_importing_tensorflow():
    loaded = loaded_after(
        "import tuilab.profile.summary\nfrom tuilab.profile.xplane import read; assert read(b'').lines == ()"
    )
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
    named = [p for p in PACKAGE.rglob("*.py") if "plotext" in p.read_text()]
    importing = [p for p in named if "plotext" in imports_of(p)]
    assert [p.relative_to(PACKAGE).as_posix() for p in importing] == ["tui/widgets/plot.py"]


def circles() -> list[list[str]]:
    """Return groups of files that import each other in a cycle, including imports that serve only type
    checking.
    """
    import grimp

    graph = grimp.build_graph("tuilab", cache_dir=None)
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in graph.find_modules_directly_imported_by(module):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == number[module]:
            at = stack.index(module)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for module in sorted(graph.modules):
        if module not in number:
            visit(module)
    return [circle for circle in found if len(circle) > 1]


def test_no_files_import_each_other():
    """Files that import each other are usually a single class that was split over several files."""
    assert circles() == []
