import ast
import shutil
from pathlib import Path

import pytest

from tests.mutation.changes import ROOMS, changes, seeded
from tests.mutation.trial import Copy, in_body, in_order, read_reach, statement

ROOT = Path(__file__).parents[2]
LEAST = 90
"""Minimum number of a hundred changes that the tests must detect."""


def test_a_change_is_one_replacement_that_still_parses() -> None:
    for change in seeded(ROOT, seed=7, number=200):
        source = (ROOT / change.file).read_text()
        changed = change.applied(source)
        ast.parse(changed)
        assert changed != source and ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
        one, other = source.splitlines(), changed.splitlines()
        assert [i for i, (a, b) in enumerate(zip(one, other, strict=True), 1) if a != b] == [change.line]


def test_changes_come_from_all_packages_and_kinds() -> None:
    chosen = seeded(ROOT, seed=7, number=200)
    assert {change.file.split("/")[1] for change in chosen} == set(ROOMS)
    assert {change.kind for change in chosen} == {"comparison", "arithmetic", "condition", "constant", "word"}
    assert seeded(ROOT, seed=7, number=200) == chosen != seeded(ROOT, seed=8, number=200)


def test_adding_a_line_does_not_change_the_other_chosen_changes(tmp_path: Path) -> None:
    room = tmp_path / "tuilab" / "room"
    room.mkdir(parents=True)
    text = "".join(f"a{i} = b{i} + {i}\n" for i in range(300))
    drawn = []
    for begin in ("", "z = y + 1\n"):
        (room / "x.py").write_text(begin + text)
        drawn.append([(c.before, c.after) for c in seeded(tmp_path, 1, 50, ["room"])])
    assert len(set(drawn[0]) & set(drawn[1])) >= len(set(drawn[0])) - 1
    (room / "x.py").write_text(text)
    named = [f"{c.line} {c.before}" for c in seeded(tmp_path, 1, 50, ["room"])]
    (room / "x.py").write_text("\n\n" + text)
    assert [f"{c.line - 2} {c.before}" for c in seeded(tmp_path, 1, 50, ["room"])] == named


def test_text_that_users_never_read_is_not_changed() -> None:
    source = '''"""Is a docstring of two words."""
from typing import Literal
def f(x: Literal["one word"] = 1) -> "a b":
    """Another docstring here."""
    if not x:
        raise ValueError("two words")
    y = field(repr=False)
    return x < 2 and x + 3
'''
    found = {(change.before, change.after) for change in changes("f.py", source)}
    assert found == {
        ("1", "(1 + 1)"), ("not ", ""), (" and ", " or "), ("<", ">="), ("2", "(2 + 1)"), ("+", "-"),
        ("3", "(3 + 1)"),
    }  # fmt: skip


def test_lines_run_at_import_belong_to_no_single_test() -> None:
    source = "A = 1\ndef f(\n    x=2,\n):\n    return 3\nclass B:\n    c = 4\n    def d(self): return 5\n"
    assert [n for n in range(1, 9) if in_body(source, n)] == [5, 8]


def test_a_line_of_a_long_statement_belongs_to_the_whole_statement() -> None:
    source = (
        "def f(x):\n    if (x and\n        f(x)):\n        g(\n            1,\n            2,\n        )\n"
    )
    assert [[*statement(source, line)] for line in (2, 3, 5)] == [[2, 3], [2, 3], [4, 5, 6, 7]]


def test_the_widest_tests_of_the_own_package_run_first() -> None:
    reach = {"tuilab/a/x.py": {1: ["tests/a/n", "tests/b/m", "tests/a/w"], 2: ["tests/a/w", "tests/b/m"]}}
    assert in_order({"tests/a/n", "tests/b/m", "tests/a/w"}, reach, "tests/a") == [
        "tests/a/w",
        "tests/a/n",
        "tests/b/m",
    ]


def test_lines_run_in_a_task_or_thread_belong_to_their_test(tmp_path: Path) -> None:
    """A test that awaits is not on the stack, so stack frames would assign most lines of the lab to no
    test.
    """
    own = tmp_path / "test_reached.py"
    own.write_text(REACHED)
    copy = Copy.__new__(Copy)
    copy.folder = tmp_path
    shutil.copytree(ROOT / "tests" / "mutation", tmp_path / "tests" / "mutation")
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "tuilab").mkdir()
    (tmp_path / "tuilab" / "__init__.py").write_text("def one(): return 1\ndef two():\n    return 2\n")
    assert copy.pytest("-p", "no:asyncio", str(own), coverage=tmp_path / "data") == (0, "")
    lines = read_reach(tmp_path / "data", tmp_path)["tuilab/__init__.py"]
    assert lines[1] == ["test_reached.py::TestY::test_one"] and lines[3] == ["test_reached.py::test_two"]


REACHED = """
import asyncio, threading, tuilab

class TestY:
    def test_one(self):
        thread = threading.Thread(target=tuilab.one)
        thread.start(), thread.join()

def test_two():
    async def waits():
        return await asyncio.create_task(asks())
    async def asks():
        return tuilab.two()
    assert asyncio.run(waits()) == 2
"""


@pytest.mark.long
def test_ninety_of_a_hundred_changes_are_noticed(tmp_path: Path) -> None:
    """Takes about an hour of CPU time. The failure message lists the changes that no test detects."""
    copy = Copy(ROOT, tmp_path / "copy")
    reach = copy.reach()
    left = [change for change in seeded(ROOT, seed=1, number=100) if not copy.notices(change, reach)]
    assert len(left) <= 100 - LEAST, "\n".join(map(str, left))
