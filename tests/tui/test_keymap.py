"""The user's keymap file applies in the lab and on its pages."""

import re
from pathlib import Path

import pytest
from textual.screen import Screen

from tests.contracts.test_keys import LETTER, NAMED, NO_KEY
from tests.tui.kept import some
from tests.tui.lab import TestLab, lab, opened, press, rest, text, until
from tuilab.tui.actions import VIEWS
from tuilab.tui.keys import declared
from tuilab.tui.screens.document import DocumentScreen
from tuilab.tui.screens.help import page
from tuilab.tui.screens.runs_compared import RunsCompared


def test_every_action_and_widget_is_known():
    assert {"run", "slider.less", "timeline.arm", "table.filter", "demo.next"} <= declared().keys()


async def test_the_lab_and_its_pages_use_the_keymap(tmp_path):
    (tmp_path / "keymap.toml").write_text('[keys]\nrun = "m"\nstpo = "z"\n"history.close" = "z"\n')
    app = lab(tmp_path)
    async with opened(app, (200, 40)) as pilot:
        lines = [line.text for line in app.screen.lab.state.log]
        assert any("stpo: unknown action" in text for text in lines)
        assert not any("history.close" in text for text in lines)
        await press(pilot, app, "r")
        assert app.runner.measured == [] and "m run" in text(app)
        await press(pilot, app, "h q")
        assert "No run has been saved yet" in text(app)
        await press(pilot, app, "z")
        assert "No run has been saved yet" not in text(app)
        await press(pilot, app, "m")
        assert len(app.runner.measured) == 1


def other_keys(folder: Path) -> dict[str, str]:
    """Write a keymap file with a different key for each action. Returns the keys by action id."""
    others = {name: f"k{number}" for number, name in enumerate(declared(), 1)}
    lines = "".join(f'"{name}" = "{key}"\n' for name, key in others.items())
    (folder / "keymap.toml").write_text(f"[keys]\n{lines}")
    return others


def read(app: TestLab) -> str:
    """Assert that the screen and its help name only keys of the keymap. Returns the screen's text."""
    help = page(app.screen, app.keymap)
    prose = help.partition("## Keys")[0]
    for said in (text(app), help):
        assert not NAMED.findall(said), said
    letters = {bold for bold in re.findall(r"\*\*(.+?)\*\*", prose) if LETTER.fullmatch(bold)}
    assert letters <= NO_KEY, letters
    return text(app)


PAGES = {
    "page('answer')": (),
    "arms": (),
    "page('machines')": (),
    "page('why')": (),
    "keys": (),
    "fact_check": (),
    "history": ("compare", "tag", "note", "prune", "export", "import"),
    "export": (),
    "hosts": (),
    "open": (),
}
"""Actions that open a page. The value lists the actions of that page that open further pages."""


@pytest.mark.slow
async def test_with_other_keys_every_view_and_page_names_those(tmp_path):
    others = other_keys(tmp_path)
    app = lab(tmp_path)

    async def do(action: str) -> str:
        await app.screen.run_action(action)
        await rest(pilot, app)
        return read(app)

    async def leave(before: Screen[object]) -> None:
        while app.screen is not before:
            app.screen.dismiss(None)
            await rest(pilot, app)

    async with opened(app, (120, 40)) as pilot:
        assert f"{others['run']} measures" in text(app)
        for _ in range(2):  # before and after a run
            for view in VIEWS:
                assert "Views" not in await do(f"view('{view}')")
            said = await do("run")
        assert f"{others['budget']}, then {others['run']} measures longer" in said
        for opens, over in PAGES.items():
            before = app.screen
            said = await do(opens)
            there = app.screen
            assert there is not before and re.search(r"\bk\d+\b", said), said
            for more in over:
                await do(more)
                await leave(there)
            await leave(before)
        assert f"{others['demo.next']} measures now, {others['demo.leave']} leaves" in await do("demo")


ARTICLE = """\
# Is one product slow?

```python
start = time.time()
y = tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)))
print(time.time() - start)
```
"""


async def test_with_other_keys_documents_and_comparisons_name_those(tmp_path):
    others = other_keys(tmp_path)
    (tmp_path / "article.md").write_text(ARTICLE)
    app = lab(tmp_path, store=lambda: some(tmp_path / "history"))
    async with opened(app, (160, 50)) as pilot:
        app.screen.opener.open_soon(str(tmp_path / "article.md"))
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))
        await rest(pilot, app)
        assert f"{others['document.prove']} proves" in read(app)
        app.screen.dismiss(None)
        await rest(pilot, app)
        await app.screen.run_action("history")
        await rest(pilot, app)
        await press(pilot, app, "end up")
        await app.screen.run_action("compare")
        await until(pilot, lambda: isinstance(app.screen, RunsCompared))
        await rest(pilot, app)
        assert f"{others['table.order']} sorts, {others['page.close']} closes" in read(app)
