"""Changes a line in a copy of the program, and finds out whether the tests that run the line detect the
change.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Sequence
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
    "watch",
    "worker",
    "documents",
    "profile",
    "guest",
    "telemetry",
    "doctor",
    "hostile",
    "papers",
    "workloads",
)
"""Tests of the first tier that run the program in their own process, where coverage records the lines."""
PROGRAMS = (
    "tests/attack",
    "tests/browser",
    "tests/cli",
    "tests/doctor/test_causes.py",
    "tests/emulated_gpu",
    "tests/environments",
    "tests/faults",
    "tests/fleet",
    "tests/journeys",
    "tests/remote",
    "tests/terminal",
    "tests/watch",
)
"""Tests of the first tier that start the program in other processes. They take minutes, so they run only for
a line that no other test runs.
"""
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
    "-rfE",
)
NOT_FOUND, FINE = 4, (0, 5)
"""pytest's exit codes: a named test does not exist; all tests passed, or there were none."""
Reach = dict[str, dict[int, list[str]]]
"""The quick tests that run a line, by file and line."""


class Copy:
    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        for name in ("tuilab", "tests", "presets", "docs"):
            shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for file in root.iterdir():
            if file.is_file():
                shutil.copy(file, folder)

    def pytest(self, *arguments: str, coverage: Path | None = None) -> tuple[int, str]:
        """Run pytest with these arguments on the first tier. Returns the exit code and the first failed
        test.
        """
        begin: Sequence[str] = ()
        if coverage is not None:
            settings = self.folder / "reach.ini"
            settings.write_text(f"[run]\nsource = tuilab\ndata_file = {coverage}\n")
            begin = ("-m", "coverage", "run", f"--rcfile={settings}")
            arguments = ("-p", "tests.mutation.contexts", *arguments)
        command = [sys.executable, *begin, *_PYTEST, *arguments]
        # Python compares a .pyc file with its source by size and by mtime in seconds, so a cached .pyc file
        # could hide the change.
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        return done.returncode, failed[1] if failed else ""

    def reach(self) -> Reach:
        """Find out which tests run each line. Takes minutes. Raises RuntimeError if a test fails without a
        change.
        """
        found: Reach = {}
        for name in TESTS:
            data = self.folder / f"{name.replace('/', '-')}.data"
            if self.pytest("-m", "not slow", f"tests/{name}", coverage=data)[0] not in FINE:
                raise RuntimeError(f"a test of tests/{name} fails without any change")
            for file, lines in read_reach(data, self.folder).items():
                known = found.setdefault(file, {})
                for line, tests in lines.items():
                    known[line] = sorted({*known.get(line, ()), *tests})
        return found

    def notices(self, change: Change, reach: Reach) -> str:
        """Make a change, and return the first test that fails ("" if none fails). Undoes the change.

        Raises RuntimeError if a test to run does not exist.
        """
        file = self.folder / change.file
        before = file.read_text()
        lines, room = reach.get(change.file, {}), f"tests/{change.file.split('/')[1]}"
        if in_body(before, change.line):
            part = [change.line] if change.line in lines else statement(before, change.line)
            found = {test for line in part for test in lines.get(line, ())}
            wholes = [in_order(found, reach, room)] if found else [list(PROGRAMS)]
        else:
            # Code that runs at import belongs to no test: run the package's own tests, and then other tests
            # that use the file.
            users = {test for tests in lines.values() for test in tests}
            wholes = [[room], in_order({t for t in users if not t.startswith(f"{room}/")}, reach, room)]
        file.write_text(change.applied(before))
        try:
            for tests in filter(None, wholes):
                marked = ("--tier=quick", "-m", "slow") if tests[0] in PROGRAMS else ("-m", "not slow")
                status, failed = self.pytest("-x", *marked, *tests)
                if status not in FINE:
                    break
            else:
                return ""
        finally:
            file.write_text(before)
        # if a change breaks an import, pytest does not find the tests
        if status == NOT_FOUND and self.pytest("--collect-only", *tests)[0] == NOT_FOUND:
            raise RuntimeError(f"{change}: pytest does not find {tests}")
        return failed or f"pytest ends with {status}"


def in_order(tests: Collection[str], reach: Reach, room: str) -> list[str]:
    """Return the tests in the order in which to run them: the package's own tests before other tests, and
    tests that run many lines before tests that run few.
    """
    wanted = frozenset(tests)
    breadth = Counter(
        test for lines in reach.values() for there in lines.values() for test in there if test in wanted
    )
    return sorted(wanted, key=lambda test: (not test.startswith(f"{room}/"), -breadth[test], test))


def in_body(source: str, line: int) -> bool:
    """Return True if the line runs when a function is called, and not at import."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or line)
        for node in ast.walk(ast.parse(source))
    )


def statement(source: str, line: int) -> range:
    """Return the lines of the innermost statement on `line`. Coverage records only some lines of a long
    statement.
    """
    inner = (line, line)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            inner = node.lineno, max(line, node.end_lineno or line)
            if (body := getattr(node, "body", None)) and body[0].lineno > line:
                inner = node.lineno, body[0].lineno - 1
    return range(inner[0], inner[1] + 1)


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
    """Save which tests run each line. Computing this is slow, and it stays valid while the program is
    unchanged.
    """
    file.write_text(json.dumps(reach))


def load(file: Path) -> Reach:
    return {
        name: {int(n): t for n, t in lines.items()} for name, lines in json.loads(file.read_text()).items()
    }
