"""Only `tuilab.model.files` writes files. Code that writes files itself could leave half a file on a full
disk.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "tuilab"
DOOR = "model/files.py"
OTHER = {
    "captured.py": "next to a graph that it has just saved, in programs where the lab is not installed",
    "doctor/child.py": "opens a device, to see whether it can be opened",
    "history/check.py": "copies a damaged history, and repairs the copy's first page in place",
    "history/recorder.py": "a run that its history does not take: its events are appended as they come",
    "runner/forked.py": "opens /dev/null for a child",
    "serve.py": "writes to a page",
    "streams.py": "opens /dev/null for a standard stream that is closed",
    "worker/measure/memory.py": "resets the kernel's peak of this process, in /proc",
    "workloads/parts/images.py": "a file of images that is measured, and goes with the measurement",
}
"""Modules that write files themselves, each with the reason."""


def writes(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield calls that write a file: `.write_text`, `.write_bytes`, `open` for writing, a copy, mkstemp."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        method = isinstance(node.func, ast.Attribute)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [*node.args, *(k.value for k in node.keywords)]
        if (
            method
            and name
            in (
                "write_text",
                "write_bytes",
                "mkstemp",
                "NamedTemporaryFile",
                "copyfile",
                "copy2",
            )
        ) or (name in ("open", "fdopen") and any(_writing(value) for value in given)):
            yield node


def _writing(value: ast.expr) -> bool:
    """Return True if an argument of `open` is a mode or flag that changes the file."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        mode = set(value.value)
        return mode <= set("rwaxbt+") and bool(mode & set("wax+")) and len(value.value) <= 3
    names = {node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)}
    return bool(names & {"O_TRUNC", "O_RDWR", "O_EXCL"})


def test_files_are_written_in_one_way():
    found = {
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if list(writes(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == {DOOR, *OTHER}


def test_the_contract_detects_each_way():
    for code in (
        "p.write_text('')",
        "p.write_bytes(b'')",
        "open(p, 'w')",
        "open(p, mode='ab')",
        "p.open('x')",
        "os.open(p, os.O_WRONLY | os.O_TRUNC)",
        "shutil.copyfile(a, b)",
    ):
        assert list(writes(ast.parse(code))), code
    for code in ("open(p)", "p.open('rb')", "write_text(p, [])", "os.open(p, os.O_RDONLY)"):
        assert not list(writes(ast.parse(code))), code
