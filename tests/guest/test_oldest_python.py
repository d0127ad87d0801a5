"""Python 3.9, the oldest supported version in a user's environment, can load every file of a worker."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tuilab.interpreter import OLDEST_PYTHON

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tuilab"


def of_a_worker() -> list[Path]:
    files = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    todo = [n for n in files if n.startswith(("tuilab.worker", "tuilab.workloads", "tuilab.guest"))]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen or name not in files:
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(files[name].read_bytes())):
            if isinstance(node, ast.Import):
                todo += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                todo += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return sorted(files[name] for name in seen)


NEWER = re.compile(
    r"from itertools import .*\bpairwise\b|from datetime import .*\bUTC\b|\bParamSpec\b|import .*\b(Self|StrEnum)\b"
    r"|except\*|add_note|bisect\w*\(.*key=|import tomllib|statistics\.(linear_regression|correlation|covariance)"
)
"""Matches names from Python 3.10 and 3.11 that tuilab does not provide for older versions."""


def evaluated_unions(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that evaluate a union of types, `X | Y`. Annotations are not evaluated, so they do not
    count.
    """
    notes = {
        id(part)
        for node in ast.walk(tree)
        for note in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if note is not None
        for part in ast.walk(note)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and id(node) not in notes:
            sides = [side for side in (node.left, node.right) if isinstance(side, ast.Name | ast.Subscript)]
            words = {
                side.id if isinstance(side, ast.Name) else getattr(side.value, "id", "") for side in sides
            }
            if words & {"int", "str", "float", "bool", "bytes", "list", "tuple", "dict"}:
                yield node.lineno


def test_the_files_of_a_worker_are_found():
    names = {str(path.relative_to(PACKAGE)) for path in of_a_worker()}
    assert {"worker/main.py", "model/events.py", "analysis/statistics.py", "guest/structs.py"} <= names
    assert not any(name.startswith(("tui/", "cli/", "lab/", "history/")) for name in names)


def test_python_3_9_can_read_them():
    wrong = []
    for path in of_a_worker():
        source = path.read_text()
        where = path.relative_to(ROOT)
        try:
            tree = ast.parse(source, feature_version=OLDEST_PYTHON)
        except SyntaxError as error:
            wrong.append(f"{where}:{error.lineno}: {error.msg}")
            continue
        lines = [(n, line) for n, line in enumerate(source.splitlines(), 1) if NEWER.search(line)]
        wrong += [f"{where}:{n}: {line.strip()}" for n, line in lines]
        wrong += [f"{where}:{n}: Union[X, Y] outside annotations" for n in evaluated_unions(tree)]
    assert not wrong, "\n".join(wrong)
