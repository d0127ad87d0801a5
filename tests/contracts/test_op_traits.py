"""Only `tuilab/model/ops.py` lists facts about op types."""

import ast
from collections.abc import Iterator
from pathlib import Path

import tuilab
from tuilab.model import ops

FOLDER = Path(tuilab.__file__).parent
DTYPES = ("HOST_DTYPES", "ALWAYS_ON_HOST")
TRAITS = {name: of for name, of in vars(ops).items() if isinstance(of, frozenset) and name not in DTYPES}
ALIKE = 0.5
"""Minimum Jaccard similarity at which two sets of ops are considered the same fact."""


def repeated(source: str) -> list[tuple[str, int]]:
    """Return the facts of a module that `ops.py` also lists, with their line numbers."""
    return [
        (name, line)
        for line, listed in collections(ast.parse(source))
        for name, trait in TRAITS.items()
        if len(listed & trait) >= max(2, ALIKE * len(listed | trait))
    ]


def collections(tree: ast.AST) -> Iterator[tuple[int, set[str]]]:
    """Yield the line and the words of each literal collection, and of each string that lists words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.Set | ast.List):
            yield (
                node.lineno,
                {e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)},
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, set(node.value.split())


def test_no_other_module_lists_the_ops_of_a_trait() -> None:
    files = [file for file in FOLDER.rglob("*.py") if file != Path(ops.__file__)]
    found = {str(file.relative_to(FOLDER)): again for file in files if (again := repeated(file.read_text()))}
    assert found == {} and len(files) > 300


def test_a_list_that_is_nearly_a_trait_is_detected() -> None:
    assert repeated('X = ("_Arg", "_DeviceArg")') == [("ARGUMENTS", 1)]
    assert repeated('X = names("Enter Exit LoopCond Merge NextIteration Switch")') == [("CONTROL_FLOW", 1)]
    assert repeated('X = {"Select", "SelectV2"}') == []
