"""Tampered pages of watched programs. The command and the screen show either a page or an error message."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.attack.test_attack import ESCAPE, EXTREMES, RECORDINGS, TEXTS, long, part, table  # noqa: F401
from tests.tui.lab import lab, text
from tests.tui.test_watching import opened, press
from tuilab.lab.several import open_pages as kept
from tuilab.model.errors import InputError
from tuilab.tui.screens.watching import TITLES

PAGE = json.loads(RECORDINGS.joinpath("watched.json").read_bytes())["page"]


def leaves(tree: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield at
    for key, inner in (
        tree.items() if isinstance(tree, dict) else enumerate(tree if isinstance(tree, list) else ())
    ):
        yield from leaves(inner, (*at, key))


def tampered(rng: random.Random, tree: Any) -> str:
    """Return the JSON text of a tree in which some random parts are replaced, removed or moved."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 2, 4])):
        *way, key = rng.choice([at for at in leaves(tree) if at])
        inner = tree
        for step in way:
            inner = inner[step]
        match rng.randrange(5):
            case 0:
                del inner[key]
            case 1:
                inner[key] = json.loads(rng.choice([*EXTREMES, "NaN", "-1e999"]))
            case 2:
                inner[key] = json.loads(f'"{rng.choice(TEXTS)}"')
            case 3:
                inner[key] = copy.deepcopy(tree[rng.choice(list(tree))]) if tree else None
            case 4 if isinstance(inner[key], int | float):
                inner[key] *= rng.choice([-1, 0, 1e9, 1e-9])
            case 4 if isinstance(inner[key], list):
                inner[key] *= rng.choice([0, 2, 300])
        if not tree:
            break
    return json.dumps(tree)


@pytest.mark.timeout(3_600)
def test_a_mutated_page_of_a_watched_program_is_shown_or_refused_with_a_message(tmp_path, monkeypatch, long):  # noqa: F811
    from tests.cli.test_bad_arguments import TRACE, call

    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    trials = part(range(1_000 if long else 40))
    tracebacks = escapes = faults = shown = 0
    for trial in trials:
        rng = random.Random(f"32 page {trial}")
        text = bytearray(tampered(rng, PAGE if trial % 3 else {"programs": [PAGE, PAGE]}).encode())
        if rng.random() < 0.1:
            text[rng.randrange(len(text))] = rng.randrange(256)
        file, out = tmp_path / "page.json", tmp_path / "out.json"
        file.write_bytes(text)
        code, said = call(["watch", "--json", str(out), "--open", str(file)])
        wrong = code not in (0, 2) or len(said) > 50 * len(text) + 10_000
        found = bool(TRACE.search(said)), bool(ESCAPE.search(said)), wrong
        if any(found):
            file.rename(tmp_path / f"page-{trial}.json")
            print(trial, code, said[-800:])
        shown += code == 0
        tracebacks, escapes, faults = tracebacks + found[0], escapes + found[1], faults + found[2]
    figures = {"shown": shown, "faults": faults, "tracebacks": tracebacks, "escapes": escapes}
    table("mutated pages", trials=len(trials), **figures)
    assert shown and not faults


@pytest.mark.timeout(3_600)
async def test_the_screen_draws_every_page_that_can_be_opened(tmp_path, long):  # noqa: F811
    drawn, file = 0, tmp_path / "page.json"
    for trial in part(range(600 if long else 6)):
        rng = random.Random(f"32 screen {trial}")
        file.write_text(tampered(rng, PAGE))
        try:
            program = kept([str(file)])
        except InputError:
            continue
        drawn += 1
        app = lab(tmp_path / f"{trial}", watching=program)
        try:
            async with opened(app, rng.choice([(120, 40), (80, 24), (60, 18)])) as pilot:
                for key in [*["right_square_bracket"] * len(TITLES), "A", "escape"]:
                    await press(pilot, app, key)
                    assert not ESCAPE.search(text(app))
        except BaseException:
            print(trial, file.read_text())
            raise
    print(f"{drawn} pages drawn")
