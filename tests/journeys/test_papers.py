"""Each command line in the README and in the guide is part of a journey."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.user import CHECKOUT

HERE = Path(__file__).parent
PAPERS = ("README.md", "docs/guide.md")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TYPES = ("run", "begin", "begins_and_stops", "opens")
"""Methods of `User` that run a command line."""
STANDS_FOR = {"DOC": "article.md"}
"""What a user types for a placeholder in capitals."""


def lines_of_papers() -> Iterator[tuple[str, str]]:
    """Yield the page's name and the text of each command line in a shell block or in back quotes."""
    for paper in PAPERS:
        text = (CHECKOUT / paper).read_text(encoding="utf-8")
        lines = [line for kind, body in FENCE.findall(text) if kind == "sh" for line in body.splitlines()]
        lines += re.findall(r"`(tuilab [^`]+)`", FENCE.sub("", text))
        for line in lines:
            if line.startswith("tuilab "):
                yield paper, line.partition("  #")[0].strip()


def typed() -> list[list[str]]:
    """Return the words of each command line in the journeys. Inserted values are `…`."""
    found = []
    for path in sorted(HERE.glob("test_*.py")):
        for story in ast.parse(path.read_text(encoding="utf-8")).body:
            for node in ast.walk(story):
                called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
                if called and node.func.attr in TYPES:
                    line = text_of(node.args[0], story)
                    found += [words(line)] if "tuilab " in line + " " else []
    return found


def text_of(given: ast.expr, story: ast.stmt) -> str:
    """Return the text of a string literal, with `…` for inserted values. For a name, return the text that
    `story` last assigned to the name before this use.
    """
    if isinstance(given, ast.Name):
        above = [
            node
            for node in ast.walk(story)
            if isinstance(node, ast.Assign) and node.lineno < given.lineno
            if isinstance(node.targets[0], ast.Name) and node.targets[0].id == given.id
        ]
        return text_of(max(above, key=lambda node: node.lineno).value, story) if above else ""
    parts = given.values if isinstance(given, ast.JoinedStr) else [given]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)


def words(line: str) -> list[str]:
    """Return the words of a command line from `tuilab` on, without redirections."""
    split = shlex.split(line[line.index("tuilab") :], comments=False)
    return [word for word in split if not re.fullmatch(r"[<>]+|\d?[<>]&-", word)]


def covers(typed_words: list[str], wanted: list[str]) -> bool:
    """Return True if a typed line contains all wanted words in the same order."""
    rest = iter(typed_words)
    return all(any(word == each for word in rest) for each in wanted)


@pytest.mark.parametrize(("paper", "line"), sorted(set(lines_of_papers())))
def test_a_journey_types_it(paper: str, line: str) -> None:
    """The typed line may have more options, such as a smaller budget."""
    wanted = [STANDS_FOR.get(word, word) for word in words(line)]
    assert any(covers(each, wanted) for each in typed()), f"{paper}: no journey types `{line}`"


def test_a_line_with_another_word_is_not_covered() -> None:
    assert covers(words("tuilab run stft-small --budget quick --json"), words("tuilab run stft-small --json"))
    assert not covers(words("tuilab run stft-small --json"), words("tuilab run stft-small --budget quick"))
    assert not covers(words("tuilab run tiny-ops"), words("tuilab run stft-small"))
