"""Each page and view of the lab shows hostile text as plain text.

The token at the start of a payload shows whether the payload is visible.
"""

import itertools
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.hostile import scene
from tests.hostile.payloads import CLIPBOARD, HIDDEN, KINDS, SURROGATES, Supply, tokens_in
from tests.hostile.runner import HostileRunner
from tests.hostile.strips import shown
from tests.tui.lab import TestLab, lab, opened, press, rest, until
from tuilab.doctor import examine


class Seen:
    """The tokens of payloads that have been visible, and their number by page."""

    def __init__(self, app: TestLab) -> None:
        self.app = app
        self.tokens: set[str] = set()
        self.by_page: dict[str, int] = {}

    def look(self, page: str, least: int = 1, *, quoted: bool = True) -> str:
        r"""Record the visible payloads, and assert that there are at least `least` of them and no faults.
        Returns the screen's text.

        quoted: values may appear as Python literals, `\x1b]0;…`, or as code in a document.
        """
        text, faults = shown(self.app)
        assert not faults, (page, faults[:5])
        assert quoted or (HIDDEN not in text and CLIPBOARD not in text), (page, text)
        found = tokens_in(text)
        assert len(found) >= least, (page, text)
        self.by_page[page] = self.by_page.get(page, 0) + len(found - self.tokens)
        self.tokens |= found
        return text


def hostile_lab(folder: Path, supply: Supply, presets: int = 30, **options: object) -> TestLab:
    (folder / "presets").mkdir()
    scene.presets(folder / "presets", presets, supply)

    def runner(on_event: object) -> HostileRunner:
        app.runner = HostileRunner(on_event, supply)  # type: ignore[arg-type]
        return app.runner

    app = lab(folder, presets=(folder / "presets",), runner=runner, rerun=False, **options)
    return app


VIEWS = {"live": "1", "compare": "c", "sweep": "3", "phases": "4", "timeline": "5", "placement": "6", "verdict": "d",
         "log": "9"}  # fmt: skip
AT_ONCE = 12
"""Maximum number of messages on the screen at the same time."""


@pytest.mark.parametrize("ascii_only", [False, pytest.param(True, marks=pytest.mark.long)])
async def test_every_view(tmp_path, monkeypatch, ascii_only):
    supply = Supply()
    monkeypatch.setattr(examine, "examine", lambda wait: scene.diagnosis(supply))
    app = hostile_lab(tmp_path, supply, ascii_only=ascii_only)
    async with opened(app, (200, 60)) as pilot:
        seen = Seen(app)
        seen.look("first", 5)
        await press(pilot, app, ["r"])
        for name, key in VIEWS.items():
            await press(pilot, app, [key])
            seen.look(name, quoted=False)
            if name in ("placement", "log"):
                for _ in range(3):
                    await press(pilot, app, ["pagedown", "down"])
                    seen.look(name, quoted=False)
        await press(pilot, app, ["s"])
        seen.look("swept")
        await press(pilot, app, ["r", "a"])
        seen.look("arms")
        await press(pilot, app, ["escape", "R"])
        seen.look("replays")
        await press(pilot, app, ["enter"])
        await until(pilot, lambda: app.screen.lab.state.shown.status == "ok")
        await rest(pilot, app)
        seen.look("replay")
        await press(pilot, app, ["m"])
        seen.look("machines")
        await press(pilot, app, ["escape", "g"])
        seen.look("why")
        await press(pilot, app, ["escape", "question_mark"])
        seen.look("help", 0)
        await press(pilot, app, ["escape", "e"])
        seen.look("export", 0)
        await press(pilot, app, ["escape", "ctrl+p"])
        seen.look("palette", 0)
        await press(pilot, app, ["escape", "y"])
        seen.look("copied")
        await press(pilot, app, ["D", "space", "1"])
        seen.look("demo")
        await press(pilot, app, ["escape"])
    assert len(seen.tokens) > 300


@pytest.mark.long
async def test_each_step_of_the_demo(tmp_path):
    supply = Supply()
    app = hostile_lab(tmp_path, supply, presets=50)
    async with opened(app, (120, 40)) as pilot:
        seen = Seen(app)
        await press(pilot, app, ["D", "space"])
        for _ in range(24):
            seen.look("demo", 2)
            await press(pilot, app, ["n", "n"])
    assert seen.by_page["demo"] > 40


@pytest.mark.long
async def test_each_preset_under_the_cursor(tmp_path):
    supply = Supply()
    app = hostile_lab(tmp_path, supply, presets=24)
    async with opened(app, (120, 40)) as pilot:
        seen = Seen(app)
        await press(pilot, app, ["d", "p", "home"])
        for _ in range(24):
            seen.look("presets", 5)
            await press(pilot, app, ["enter", "down"])
        for _ in range(24):
            seen.look("problems")
            await press(pilot, app, ["down"])
    assert len(seen.tokens) > 150


async def test_hostile_documents_are_shown_as_text(tmp_path):
    """Each kind of payload is in the title, the prose, the code and the findings."""
    supply = Supply()
    app = hostile_lab(tmp_path, supply, presets=1)
    async with opened(app, (120, 120)) as pilot:
        seen = Seen(app)
        for number in range(6):
            file = scene.document(tmp_path / f"{number:03d}_article.md", supply, pages=4)
            await app.screen.opener.open_path(str(file))
            await rest(pilot, app)
            for key in ("end", "escape"):
                seen.look("document", 3)
                await press(pilot, app, [key])
    assert len(seen.tokens) > len(KINDS)


async def say(pilot: Pilot[int], seen: Seen, page: str, token: str) -> None:
    def said() -> bool:
        text, faults = shown(seen.app)
        return token in text and not faults

    await until(pilot, said)
    seen.look(page)


async def test_hostile_own_code_is_shown_as_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("own", *(f"own{number}" for number in range(len(KINDS) // 5))):
        # The star import hides the names that the file defines, so the lab must run the file.
        (tmp_path / f"{name}.py").write_text("from somewhere import *\n")
    supply = Supply()
    app = hostile_lab(tmp_path, supply, presets=1)
    async with opened(app, (140, 50)) as pilot:
        seen = Seen(app)
        await press(pilot, app, ["d"])
        for number in range(len(KINDS) // 5):
            await app.screen.opener.open_path(f"own{number}.py:function")
            await rest(pilot, app)
            seen.look("own", 4)
        await app.screen.opener.open_path("own.py:refused")
        await rest(pilot, app)
        seen.look("refused")
    assert len(seen.tokens) > len(KINDS)


async def test_hostile_hosts_and_messages_are_shown_as_text(tmp_path):
    supply = Supply()
    app = hostile_lab(tmp_path, supply, presets=1)
    async with opened(app, (140, 100), messages=True) as pilot:
        seen = Seen(app)
        for number in range(3):
            await app.screen.pages.add_host(f"host{number}")
            await rest(pilot, app)
            seen.look("host said", 2)
        await press(pilot, app, ["H"])
        seen.look("hosts")
        await press(pilot, app, ["escape"])
        for payload, _ in zip(supply, KINDS, strict=False):
            app.screen.corner.say(payload.text)
            if int(payload.token[1:]) % AT_ONCE == 0:
                await say(pilot, seen, "messages", payload.token)


async def test_hostile_paths_are_shown_as_text(tmp_path):
    """Opens paths of a document, a preset and a recording that do not exist and have hostile names."""
    supply = Supply({**KINDS, **SURROGATES})
    app = hostile_lab(tmp_path, supply, presets=0)
    async with opened(app, (140, 100), messages=True) as pilot:
        seen = Seen(app)
        suffixes = itertools.cycle((".md", ".toml", ".jsonl"))
        for payload, _ in zip(supply, range(len(KINDS) + len(SURROGATES)), strict=False):
            await app.screen.opener.open_path(payload.text + next(suffixes))
            if int(payload.token[1:]) % AT_ONCE == 0:
                await say(pilot, seen, "paths", payload.token)
