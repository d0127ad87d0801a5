"""The films in tests/pictures match the current lab. `python -m tests.terminal.film` renews them."""

import json
import re

import pyte
import pytest

from tests.terminal.film import FILMS, SIZE, film
from tests.terminal.terminal import Terminal
from tests.tui.recorded import PICTURES

pytestmark = pytest.mark.terminal


def played(name: str) -> list[str]:
    head, *lines = (PICTURES / f"{name}.cast").read_text(encoding="utf-8").splitlines()
    assert (
        json.loads(head)["version"] == 2 and (json.loads(head)["width"], json.loads(head)["height"]) == SIZE
    )
    screen = pyte.Screen(*SIZE)
    stream, shown, last = pyte.Stream(screen), [], 0.0
    for at, kind, data in map(json.loads, lines):
        assert at >= last and kind in "mo"
        last = at
        if kind == "o" and data:
            stream.feed(data)
            shown.append("\n".join(line.rstrip() for line in screen.display))
    return shown


def words(shown: str) -> list[str]:
    """Return the lines without scroll bars and distributions, which are drawn in eighths of a cell."""
    return [re.sub("[▁-█]", " ", line).rstrip() for line in shown.split("\n")]


@pytest.mark.parametrize("name", FILMS)
def test_the_film_matches_the_lab(name):
    kept = [words(shown) for shown in played(name)]

    def shows(terminal: Terminal, step: int) -> None:
        terminal.until(lambda: words(terminal.text) == kept[step], what=f"the picture of step {step}")

    assert len(film(name, shows)) == len(kept)
