"""User interfaces use `Lab`: they request actions, and read its state without writing to it."""

import ast
from pathlib import Path

import tuilab
from tuilab.lab.state import LabState

FOLDER = Path(tuilab.__file__).parent
READ = {"clock", "new_id", "claims_of", "command", "find_preset", "further", "ghosts_of", "result", "usual"}
"""Methods of the state that may be called from outside, because they change nothing that is drawn."""
CHANGES = {name for name in vars(LabState) if name.islower() and not name.startswith("_")} - READ


def of_a_state(node: ast.expr) -> bool:
    """Return whether the expression is a lab's state, judging by its name: `state`, `lab_state`,
    `self.lab.state`.
    """
    return ast.unparse(node).rpartition(".")[2] in ("state", "lab_state")


def written(file: Path) -> list[str]:
    """Return the places where a file writes to a lab's state, or calls a function that changes it."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        targets = node.targets if isinstance(node, ast.Assign) else ()
        for target in [each for whole in targets for each in getattr(whole, "elts", (whole,))]:
            if isinstance(target, ast.Attribute) and of_a_state(target.value):
                found.append(f"{file.name}:{node.lineno}: {ast.unparse(target)} =")
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in CHANGES and of_a_state(called.value):
            found.append(f"{file.name}:{node.lineno}: {ast.unparse(called)}()")
    return found


INSIDE = ("store", "_recorder", "runner", "receive", "_opened")
"""Internals of a lab, with which it measures and stores runs."""


def reached(file: Path) -> list[str]:
    """Return the places where a file uses the internals of a lab or a history."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in INSIDE:
            owner = ast.unparse(node.value).rpartition(".")[2]
            if owner in ("lab", "_lab", "saved", "history", "kept"):
                found.append(f"{file.name}:{node.lineno}: {ast.unparse(node)}")
    return found


def test_interfaces_reach_measuring_and_history_only_through_the_lab():
    files = [file for room in ("cli", "presentation", "tui") for file in (FOLDER / room).rglob("*.py")]
    assert [line for file in files for line in reached(file)] == []


def test_no_interface_writes_into_the_state():
    files = [file for room in ("cli", "presentation", "tui") for file in (FOLDER / room).rglob("*.py")]
    assert [line for file in files for line in written(file)] == []
