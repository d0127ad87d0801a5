"""Files from folders that other users can write to are read only by a function that rejects pipes and
devices.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "tuilab"
SYSTEM = {
    "doctor/child.py", "doctor/elf.py", "doctor/hardware.py", "doctor/place.py", "processes.py", "runner/process.py",
    "runner/zygotes.py", "telemetry/cgroup.py", "telemetry/host.py", "telemetry/process.py", "worker/build.py",
    "worker/machine.py", "worker/measure/interference.py", "worker/measure/prepare.py", "worker/profile/answer.py",
    "worker/selftest/surroundings.py",
}  # fmt: skip
OWN = {
    "documents/api/tables.py": "the package's own tables",
    "history/spool.py": "what a worker of the lab's writes, in a folder of the lab's",
    "lab/lab.py": "a page that a child has just written into a temporary folder",
    "lab/watch.py": "what the observer has written into a temporary folder",
    "model/datasheets.py": "the package's own table",
    "observer/tuilab_observer/channel.py": "a window that the profiler has just written",
    "report/web_page.py": "the package's own style",
    "streams.py": "the standard streams",
    "runner/watched.py": "what a profiler has written into a temporary folder",
    "worker/api_table.py": "the sources of the installed TensorFlow",
    "worker/changed_step.py": "a copy that it has just made",
    "worker/measure/memory.py": "this process's own figures in /proc",
    "worker/profile/record.py": "what the profiler has just written",
}


def reads(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [*node.args, *(k.value for k in node.keywords)]
        modes = [v.value for v in given if isinstance(v, ast.Constant) and isinstance(v.value, str)]
        plain = isinstance(node.func, ast.Name) and name == "open"
        if (
            (name in ("read_text", "read_bytes") and isinstance(node.func, ast.Attribute))
            or (plain and not any(set(mode) & set("wax+") for mode in modes))
            or (name == "open" and any(mode in ("r", "rb", "rt") for mode in modes))
        ):
            yield node


def test_files_are_read_through_one_module():
    found = {
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if list(reads(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found - SYSTEM == set(OWN), (found - SYSTEM) ^ set(OWN)


def test_the_contract_detects_each_way():
    for code in ("p.read_text()", "p.read_bytes()", "open(p)", "open(p, 'rb')", "p.open('rb')"):
        assert list(reads(ast.parse(code))), code
    for code in ("os.open(p, os.O_RDONLY)", "lab.open(preset)", "p.open('wb')", "open_regular(p)"):
        assert not list(reads(ast.parse(code))), code


def undecoded(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield code that ignores decoding errors, or that fails if the home folder is unknown."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            names = {each.attr for each in ast.walk(node.type) if isinstance(each, ast.Attribute)}
            if names & {"MsgspecError", "DecodeError"}:
                yield node
        elif isinstance(node, ast.Try):
            caught = " ".join(ast.unparse(handler.type) for handler in node.handlers if handler.type)
            if "RecursionError" not in caught and "UNDECODED" not in caught:
                yield from (call for line in node.body for call in ast.walk(line) if _loads(call))
        elif isinstance(node, ast.Attribute) and node.attr == "expanduser":
            yield from [node] * (ast.unparse(node) != "os.path.expanduser")


def _loads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.loads", "tomllib.loads")


LOOKED_THROUGH = {
    "documents/checker/settings.py": "`toml_text` has refused what is nested too deeply",
    "lab/trial.py": "the output of our own program",
    "presentation/keymap.py": "`toml_text` has refused what is nested too deeply",
}


def test_json_nested_too_deeply_is_reported_like_invalid_json():
    found = {
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if "guest" not in path.parts and list(undecoded(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found <= set(LOOKED_THROUGH), found - set(LOOKED_THROUGH)


def test_the_contract_detects_a_forgotten_check():
    for code in (
        "try: decode(x)\nexcept msgspec.DecodeError: pass",
        "try: decode(x)\nexcept (OSError, msgspec.MsgspecError): pass",
        "try: json.loads(x)\nexcept ValueError: pass",
        "Path(x).expanduser()",
    ):
        assert list(undecoded(ast.parse(code))), code
    for code in (
        "try: json.loads(x)\nexcept UNDECODED: pass",
        "try: json.loads(x)\nexcept (ValueError, RecursionError): pass",
        "os.path.expanduser(x)",
    ):
        assert not list(undecoded(ast.parse(code))), code


def own_pythons(tree: ast.AST) -> Iterator[ast.List | ast.Tuple]:
    """Yield commands that start this Python with `-m` or `-c` but without `-P` or `-I`: a module in the
    current folder could replace a library.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call | ast.List | ast.Tuple):
            words = [ast.unparse(each) for each in (node.args if isinstance(node, ast.Call) else node.elts)]
            runs = "sys.executable" in words and {"'-m'", "'-c'"} & set(words)
            if runs and not {"'-P'", "'-I'"} & set(words):
                yield node


def test_no_module_of_the_working_folder_is_run():
    found = {
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if list(own_pythons(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert not found
    for code in ("[sys.executable, '-m', 'tuilab']", "run(sys.executable, '-c', code)"):
        assert list(own_pythons(ast.parse(code))), code
    assert not list(own_pythons(ast.parse("[sys.executable, '-P', '-m', 'tuilab']")))
