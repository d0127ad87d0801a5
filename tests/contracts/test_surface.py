"""User interfaces use only `Lab`: they request actions and read the lab's state, but never write to the
state.
"""

import ast
from pathlib import Path

import tuilab
from tuilab.lab.ghosts import Ghosts
from tuilab.lab.presets import Presets
from tuilab.lab.state import LabState

FOLDER = Path(tuilab.__file__).parent
READ = {
    *("clock", "new_id", "claims_of", "command", "further", "result"),
    *("find", "settings", "usual", "under"),
}
"""Methods of the state and its parts that user interfaces may call, because these methods change nothing."""
PARTS = {"presets": Presets, "ghosts": Ghosts}
CHANGES = {
    name
    for part in (LabState, *PARTS.values())
    for name in vars(part)
    if name.islower() and not name.startswith("_")
} - READ
STATES = ("state", "lab_state")


def of_a_state(node: ast.expr) -> bool:
    """Return True if the expression is a lab's state or a part of the state, judging by its name:
    `state`, `lab_state`, `self.lab.state.presets`.
    """
    *owner, name = ast.unparse(node).split(".")
    return (owner[-1:] or [""])[0] in STATES if name in PARTS else name in STATES


def written(file: Path) -> list[str]:
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
"""Names of the internal parts of a lab, which measure and store runs."""


def reached(file: Path) -> list[str]:
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
