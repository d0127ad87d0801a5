"""Only one file uses private names of Textual, and its docstring explains why."""

import ast
from pathlib import Path

import textual.app
import textual.driver
import textual.screen
import textual.widget

import tuilab.tui

FOLDER = Path(tuilab.tui.__file__).parent
ALLOWED = "lasting.py"
KINDS = (textual.app.App, textual.screen.Screen, textual.widget.Widget, textual.driver.Driver)
PRIVATE = {name for kind in KINDS for name in dir(kind) if name.startswith("_") and not name.startswith("__")}


def used(file: Path) -> list[str]:
    tree, found = ast.parse(file.read_text()), []
    # textual-serve is another package, but its private names may look the same.
    others = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual_serve")
        for name in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual._"):
            found.append(f"{node.lineno}: {node.module}")
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE:
            owner = ast.unparse(node.value)
            if owner != "self" and not owner.startswith("self._"):
                found.append(f"{node.lineno}: {owner}.{node.attr}")
        if isinstance(node, ast.ClassDef) and not others & {ast.unparse(base) for base in node.bases}:
            found += [
                f"{part.lineno}: {node.name}.{part.name}"
                for part in node.body
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name in PRIVATE
            ]
    return found


def test_private_names_of_textual_are_in_one_file():
    found = {f.name: used(f) for f in FOLDER.rglob("*.py") if f.name != ALLOWED}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_that_file_gives_a_reason_for_each_private_name():
    file = FOLDER / ALLOWED
    about = ast.get_docstring(ast.parse(file.read_text())) or ""
    replaced = [line.rpartition(".")[2] for line in used(file)]
    assert replaced and all(name in about for name in replaced)
