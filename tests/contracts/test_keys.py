"""Sentences name actions, as in `{run} measures`; the user interface inserts the keys."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tuilab
from tuilab.tui.keys import declared, key_name

FOLDER = Path(tuilab.__file__).parent
OF_THE_FILE = {"keymap.py"}
VALUE = "#"
NAMED = re.compile(r"\{([a-z]+(?:[.-][a-z0-9]+)*)\}")
LETTER = re.compile(r"(?<![\w.'`/{*#×=-])(?<![\d#] )(?:[b-zB-HJ-Z]|(?<=\()\d(?=\)))(?![\w.'`/}*=×-])")
WORD = re.compile(r"\b(?:enter|escape|esc|shift|page up|(?<!their )space)\b", re.IGNORECASE)
BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


def sentences(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a file with their line numbers, except docstrings. `#` replaces inserted
    values.
    """
    tree = ast.parse(file.read_text())
    quiet = {
        id(each.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for each in node.body
        if isinstance(each, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            quiet.update(map(id, node.values))
            parts = (part.value if isinstance(part, ast.Constant) else VALUE for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in quiet:
            yield node.lineno, node.value


def test_no_sentence_names_a_key():
    found = [
        f"{file.name}:{line}: {text}"
        for room in ("lab", "presentation")
        for file in sorted((FOLDER / room).glob("*.py"))
        if file.name not in OF_THE_FILE
        for line, text in sentences(file)
        if re.search(r"[a-z]+ [a-z]+", text) and (LETTER.search(text) or WORD.search(text))
    ]
    assert found == []


NO_KEY = {"n", "%"}
"""Words that look like keys but are not, as in "n rounds" and "the 95% interval"."""


def test_no_help_names_a_key():
    keys = {key_name(key) for keys in declared().values() for key in keys.split(",")} | {"escape", "arrows"}
    found = []
    for file in (FOLDER / "tui").rglob("*.py"):
        for line, text in sentences(file):
            if text.startswith("## "):
                bold = (word for marked in BOLD.findall(text) for word in marked.split())
                named = {*keys.intersection(bold), *LETTER.findall(text), *WORD.findall(text)} - NO_KEY
                found += [f"{file.name}:{line}: {named}"] * bool(named)
    assert found == []


def test_every_action_named_in_a_sentence_exists():
    ids = declared()
    found = [
        f"{file.name}:{line}: {name}"
        for room in ("lab", "presentation", "tui")
        for file in (FOLDER / room).rglob("*.py")
        for line, text in sentences(file)
        if " " in text
        for name in NAMED.findall(text)
        if name not in ids
    ]
    assert found == []
