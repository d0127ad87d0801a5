"""A fact check on the screen: verdicts arrive one after another; the user can stop, continue and export
it.
"""

import asyncio

import pytest

from tests.tui.lab import lab, opened, press, rest, text, until
from tests.tui.test_walk import heed
from tuilab.tui.screens.document import DocumentScreen
from tuilab.tui.screens.fact_check import FactCheckScreen
from tuilab.tui.screens.lab import LabScreen

ARTICLE = """\
# Is the GPU faster?

On the GPU the product is faster than on the CPU.

```python
import time
import tensorflow as tf

for device in ("/CPU:0", "/GPU:0"):
    with tf.device(device):
        x = tf.random.normal((1024, 1024))
        start = time.perf_counter()
        y = tf.matmul(x, x)
        print(device, time.perf_counter() - start)
```
"""


async def test_every_claim_of_the_document_of_the_preset_gets_a_verdict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "F")
        screen = app.screen
        assert isinstance(screen, FactCheckScreen)
        await until(pilot, lambda: screen.check.left == 0)
        await rest(pilot, app)
        shown = text(app)
        assert screen.query_one(".frame").region.x > 0, "the page is centered"
        for statement in screen.check.statements:
            assert statement.text[:40] in shown and statement.verdict in shown
        assert "Measured on gpu-07" in shown
        await press(pilot, app, "e")
        (page,) = tmp_path.glob("fact-check-*.html")
        assert screen.check.statements[0].text in page.read_text()
        await press(pilot, app, "escape")
        assert not isinstance(app.screen, FactCheckScreen)
        runs = {statement.run for statement in screen.check.statements}
        assert runs <= {line.run for line in app.lab.saved.store.runs()}


async def test_a_fact_check_stops_and_continues(tmp_path):
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        await pilot.press("F")
        screen = app.screen
        await until(pilot, lambda: app.runner.holding)
        await pilot.press("space")
        await until(pilot, lambda: not screen.check.going)
        assert screen.check.left == len(screen.check.statements)
        assert "stopped; space continues" in text(app)
        app.runner.hold = None
        await pilot.press("space")
        await until(pilot, lambda: screen.check.left == 0)
        await press(pilot, app, "escape")
        app.lab.state.settings = None
        await press(pilot, app, "F")
        assert not isinstance(app.screen, FactCheckScreen), "there is no document to check"


@pytest.mark.parametrize("keys", ["F", "D 1"])
@pytest.mark.parametrize("hold", [None, 3])
async def test_leaving_a_fact_check_returns_to_the_previous_preset(tmp_path, keys, hold):
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        state = app.lab.state
        await press(pilot, app, "j enter")
        was, run = state.settings, state.shown.run
        app.runner.hold = hold
        await pilot.press(*keys.split())
        await until(pilot, lambda: state.settings != was and state.shown.run not in ("", run))
        await press(pilot, app, "escape")
        assert isinstance(app.screen, LabScreen) and not app.screen.query("DemoBar")
        app.runner.let_go()
        await rest(pilot, app)
        assert state.settings == was and state.shown.run == run and not state.running
        assert "STFT of 4,096 samples" in text(app).splitlines()[0] and "done, 8 rounds" in text(app)
        assert app.screen.presets.listed[app.screen.presets.highlighted].name == was.preset.name


async def test_a_measurement_ending_as_the_page_closes_is_not_an_error(tmp_path, monkeypatch):
    wrong = list[BaseException | str]()
    heed(wrong, monkeypatch.setattr)
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        await pilot.press("F")
        await until(pilot, lambda: app.runner.holding)
        cancel, page = app.runner.cancel, app.screen

        async def later(run):
            while page.query("#statements"):
                await asyncio.sleep(0)
            await cancel(run)

        app.runner.cancel = later
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LabScreen))
        await rest(pilot, app)
    assert not wrong


async def test_an_opened_articles_claims_are_measured_from_its_page(tmp_path):
    article = tmp_path / "article.md"
    article.write_text(ARTICLE)
    app = lab(tmp_path)
    async with opened(app) as pilot:
        app.screen.opener.open_soon(str(article))
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FactCheckScreen) and app.screen.check.left == 0)
        (first, *_) = app.screen.check.statements
        assert first.line == 3 and first.verdict, "the line of the sentence, as `tuilab check` prints"
