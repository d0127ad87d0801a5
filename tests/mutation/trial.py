"""Changes a line in a copy of the program, and checks whether the tests that reach the line detect the
change.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from coverage import CoverageData

from tests.mutation.changes import Change

TESTS = (
    "analysis",
    "report",
    "history",
    "lab",
    "model",
    "catalogue",
    "contradictions",
    "runner",
    "tui",
    "contracts",
    "cli",
    "watch",
    "worker/measure",
)
LIMIT_S = 600
"""Time limit of one trial in seconds. A change that makes the tests hang counts as detected."""
_PYTEST = (
    "-m",
    "pytest",
    "-n",
    "0",
    "-q",
    "-p",
    "no:randomly",
    "-p",
    "no:cacheprovider",
    "--no-header",
    "--tb=no",
)
NOT_FOUND, NONE_COLLECTED = 4, 5
"""pytest's exit codes if a named test does not exist, and if there are no tests to run."""
Reach = dict[str, dict[int, list[str]]]
"""The quick tests that run each line, by file."""


class Copy:
    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        for name in ("tuilab", "tests", "presets", "docs"):
            shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for file in root.iterdir():
            if file.is_file():
                shutil.copy(file, folder)

    def pytest(self, *arguments: str, coverage: Path | None = None) -> int:
        """Run pytest with these arguments on the quick tests only; return its exit code."""
        begin: Sequence[str] = ()
        if coverage is not None:
            settings = self.folder / "reach.ini"
            settings.write_text(f"[run]\nsource = tuilab\ndata_file = {coverage}\n")
            begin = ("-m", "coverage", "run", f"--rcfile={settings}")
            arguments = ("-p", "tests.mutation.contexts", *arguments)
        command = [sys.executable, *begin, *_PYTEST, "-m", "not slow", *arguments]
        # Python matches a .pyc file to its source by size and by mtime in seconds, so a cached .pyc file
        # could hide the change.
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.folder)}
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return 1
        return done.returncode

    def reach(self) -> Reach:
        """Return which tests run each line. Takes minutes. Raises RuntimeError if a test fails without a
        change.
        """
        found: Reach = {}
        for name in TESTS:
            data = self.folder / f"{name.replace('/', '-')}.data"
            if self.pytest(f"tests/{name}", coverage=data) not in (0, NONE_COLLECTED):
                raise RuntimeError(f"a test of tests/{name} fails without any change")
            for file, lines in read_reach(data, self.folder).items():
                known = found.setdefault(file, {})
                for line, tests in lines.items():
                    known[line] = sorted({*known.get(line, ()), *tests})
        return found

    def notices(self, change: Change, reach: Reach) -> bool:
        """Make the change, return True if a test fails, and undo the change.

        Raises RuntimeError if a test to run does not exist.
        """
        room = change.file.split("/")[1]
        tests = reach.get(change.file, {}).get(change.line, [])
        own = [test for test in tests if test.startswith(f"tests/{room}/")]
        order = [*own, *(test for test in tests if test not in own)]
        file = self.folder / change.file
        before = file.read_text()
        if not order or not in_body(before, change.line):
            # Code that runs at import belongs to no test, so run the package's own tests.
            order = [f"tests/{room}"]
        file.write_text(change.applied(before))
        try:
            status = self.pytest("-x", *order)
        finally:
            file.write_text(before)
        # If a change breaks an import, pytest reports the tests as missing.
        if status == NOT_FOUND and self.pytest("--collect-only", *order) == NOT_FOUND:
            raise RuntimeError(f"{change}: pytest does not find {order}")
        return status not in (0, NONE_COLLECTED)


def in_body(source: str, line: int) -> bool:
    """Return True if the line runs when a function is called, not when its module is imported."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or line)
        for node in ast.walk(ast.parse(source))
    )


def read_reach(data: Path, folder: Path) -> Reach:
    recorded = CoverageData(str(data))
    recorded.read()
    found: Reach = {}
    for measured in recorded.measured_files():
        lines = found.setdefault(Path(measured).relative_to(folder).as_posix(), {})
        for line, contexts in recorded.contexts_by_lineno(measured).items():
            lines[line] = sorted({context.partition("[")[0] for context in contexts} - {""})
    return found


def save(reach: Reach, file: Path) -> None:
    """Save the data, which is expensive to compute and stays valid while the program is unchanged."""
    file.write_text(json.dumps(reach))


def load(file: Path) -> Reach:
    return {
        name: {int(n): t for n, t in lines.items()} for name, lines in json.loads(file.read_text()).items()
    }
