import asyncio
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from textual.widgets import Input, TextArea

from tests.tui.lab import lab, opened, press, rest, text, until
from tests.tui.scripted import ScriptedRunner
from tuilab.cli import check
from tuilab.documents import Unresolved
from tuilab.lab import opening
from tuilab.lab.files import remember_opened, reopened
from tuilab.lab.naming import resolve
from tuilab.model.errors import InputError
from tuilab.model.parameters import LogInteger
from tuilab.model.requests import Declare
from tuilab.model.shapes import text_of
from tuilab.model.subject import Article, PresetFile, Program, Recording, Script
from tuilab.model.workload import Declaration
from tuilab.tui.panels.header import Header
from tuilab.tui.screens.document import DocumentScreen, about
from tuilab.tui.screens.lab import LabScreen
from tuilab.tui.screens.menu import MenuScreen
from tuilab.tui.screens.shapes import ShapesScreen
from tuilab.tui.screens.watching import WatchScreen
from tuilab.tui.widgets.slider import Slider

DOCUMENT = """\
# Is it faster?

```python
import time
import tensorflow as tf

x = tf.random.normal((1, 4096))
with tf.device("/GPU:0"):
    start = time.time()
    y = tf.signal.stft(x, frame_length=512, frame_step=256)
    print(time.time() - start)
```
"""
TIMED = """\
# How long is a product?

```python
import time
import tensorflow as tf

x = tf.random.normal((512, 512))
start = time.time()
tf.matmul(x, x).numpy()
print("speed", time.time() - start)
```
"""
MINE = Declaration(
    name="forward",
    title="forward [/x]",
    summary="A model of mine.",
    unit="call",
    parameters=(LogInteger(name="width", label="width", help="Units.", default=64, low=8, high=4096),),
)


def test_the_kind_of_a_path_is_recognised():
    assert resolve("a/b.toml") == PresetFile("a/b.toml")
    assert resolve("run.jsonl") == Recording("run.jsonl")
    assert resolve("benchmark.py") == Script("benchmark.py")
    assert resolve("watch train.py") == Program("train.py")
    assert resolve("train.py --name 'a b'") == resolve("watch train.py --name 'a b'")
    assert resolve("train.py --name 'a b'") == Program("train.py", ("--name", "a b"))
    for article in ("article.md", "notebook.ipynb"):
        assert resolve(article) == resolve(f"check {article}") == Article(article)


async def test_a_document_shows_its_findings_and_presets(tmp_path: Path):
    file = tmp_path / "article.md"
    file.write_text(DOCUMENT)
    app = lab(tmp_path)
    async with opened(app) as pilot:
        app.screen.opener.open_soon(str(file))
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))
        await rest(pilot, app)
        shown = text(app)
        assert "tf.signal.stft(x, frame_length=512" in shown and "1 example" in shown
        assert "stft samples=4096" in shown
        assert app.focused.id == "findings" and "TL" in shown
        first = app.screen.query_one(TextArea).cursor_location
        await press(pilot, app, "j")
        assert app.screen.query_one(TextArea).cursor_location != first, (
            "the cursor in the text follows the finding"
        )
        await press(pilot, app, "tab enter")
        request = app.runner.measured[-1]
        assert request.scenario.workload == "stft" and request.scenario.parameters["samples"] == 4096


TWICE = """# Ten times faster

The GPU is 10 times faster.

```python
import time
import tensorflow as tf
a = tf.random.normal((512, 512))
with tf.device("/CPU:0"):
    t0 = time.time()
    tf.matmul(a, a)
    print("cpu", time.time() - t0)
with tf.device("/GPU:0"):
    t0 = time.time()
    tf.matmul(a, a)
    print("gpu", time.time() - t0)
```
"""


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_page_counts_and_ranks_findings_as_the_command_does(tmp_path: Path, size):
    file = tmp_path / "article.md"
    file.write_text(TWICE)
    told = CliRunner().invoke(check.check, [str(file), "--no-worker", "--json"])
    found = json.loads(told.stdout)["files"][0]["findings"]
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        app.screen.opener.open_soon(str(file))
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))
        await rest(pilot, app)
        places = sum(1 + len(each["also"]) for each in found)
        assert f"{len(found)} findings in {places} places" in " ".join(text(app).split())
        kinds = {each["severity"] for each in found}
        assert kinds == {"error", "warning"}
        rows = [about(each).plain for each in app.screen._found]
        for each in found:
            kind = "" if each["severity"] == "error" else "warning: "
            assert any(f" {each['code']} {kind}" in row for row in rows)
        await press(pilot, app, "F")
        assert any("Open one of the presets to measure" in said.message for said in app._notifications)


async def test_a_name_unresolved_in_two_examples_is_listed_once(tmp_path: Path):
    file = tmp_path / "twice.ipynb"
    start = "import time\nimport tensorflow as tf\nx = tf.random.normal((64, 64))\n"
    start += "def f(x):\n    return tf.nn.softmax(x @ x)\n"
    timed = "t0 = time.time()\n{}(x)\nprint('{}', time.time() - t0)\n"
    sources = [start + timed.format("f", "eager"), "g = tf.function(f)\n" + timed.format("g", "graph")]
    code = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    cells = [{**code, "source": source} for source in sources]
    file.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    app = lab(tmp_path)
    async with opened(app) as pilot:
        app.screen.opener.open_soon(str(file))
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))
        rows = [about(each).plain for each in app.screen._found if isinstance(each, Unresolved)]
        assert rows and len(rows) == len(set(rows))
        assert sum(len(example.unresolved) for example in app.screen._report.examples) > len(rows)


async def test_a_finding_is_proved_from_its_page(tmp_path: Path):
    file = tmp_path / "article.md"
    file.write_text(TIMED)
    app = lab(tmp_path)
    async with opened(app) as pilot:
        app.screen.opener.open_soon(str(file))
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))
        screen = app.screen
        await rest(pilot, app)
        assert "p proves" in text(app)
        codes = [found.code for found in screen._found]
        await press(pilot, app, ["j"] * codes.index("TL105") + ["p"])
        await until(pilot, lambda: screen._proving is None)
        await rest(pilot, app)
        request = app.runner.measured[-1]
        assert request.scenario.workload == "matmul" and request.scenario.parameters["m"] == 512
        arms = [arm for arm in app.lab.state.result().arms if arm.status == "ok"]
        factors = [max(arm.first_call_s, arm.median_s) / min(arm.first_call_s, arm.median_s) for arm in arms]
        assert any(f"{factor:.3g}× too large" in text(app) for factor in factors), (
            "the figure is next to the finding"
        )


async def test_a_proof_can_be_stopped_and_names_what_cannot_be_measured(tmp_path: Path):
    file = tmp_path / "article.md"
    file.write_text(TIMED)
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        app.screen.opener.open_soon(str(file))
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))
        screen = app.screen
        codes = [found.code for found in screen._found]
        await press(pilot, app, ["j"] * codes.index("TL107") + ["p"])
        assert any("cannot prove TL107" in n.message for n in app._notifications)
        await press(pilot, app, ["k"] * len(codes) + ["j"] * codes.index("TL105"))
        await pilot.press("p")
        await until(pilot, lambda: app.runner.holding)
        assert "Measuring … " in text(app)
        await pilot.press("p")
        await until(pilot, lambda: screen._proving is None)
        await rest(pilot, app)
        shown = " ".join(re.sub("[│▁-█]", " ", text(app)).split())
        assert "Stopped before the first figure. Only " in shown, "the finding's sentence is shown, too"


async def test_the_lab_begins_with_a_preset_file(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text('title = "Mine"\nworkload = "stft"\n[parameters]\nsamples = 1024\n')
    for name, title, wrong in (
        (str(file), "Mine", ""),
        (f"{file.parent}/none.toml", "", "none.toml"),
        ("nope", "", "'nope'"),
    ):
        app = lab(tmp_path, preset=name)
        async with opened(app):
            assert app.lab.state.settings.preset.title == (title or app.lab.state.presets.all[0].title)
            assert not app.runner.measured, "nothing is measured before the user asks for it"
            lines = [n.message for n in app._notifications if "preset" in n.message]
            assert any(wrong in words for words in lines) if wrong else not lines


async def test_a_wrong_preset_file_is_reported_and_the_lab_continues(tmp_path: Path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["o", *"nowhere", "enter"])
        assert any("nowhere" in n.message for n in app._notifications)
        for words in (str(tmp_path / "none.md"), str(tmp_path / "none.toml"), "no/such.py:thing"):
            before = len(app._notifications)
            app.screen.opener.open_soon(words)
            await until(pilot, lambda count=before: len(app._notifications) > count)
        file = tmp_path / "mine.toml"
        file.write_text('title = "Mine"\nworkload = "stft"\n[parameters]\nsamples = 1024\n')
        app.screen.opener.open_soon(str(file))
        await until(pilot, lambda: app.runner.measured)
        await rest(pilot, app)
        assert app.runner.measured[-1].scenario.parameters["samples"] == 1024
        assert "Other presets and yours" in text(app) and "Mine" in text(app)


async def test_the_lab_begins_with_a_model(tmp_path: Path):
    (tmp_path / "model.keras").write_bytes(b"PK")
    app = lab(tmp_path, preset=str(tmp_path / "model.keras"))
    async with opened(app) as pilot:
        asked = lambda: [one.file for one in app.runner.sent if isinstance(one, Declare)]  # noqa: E731
        await until(pilot, asked)
        assert asked() == [f"{tmp_path}/model.keras"], "the worker is asked what it is"
        assert not any("There is no preset" in said.message for said in app._notifications)


@pytest.mark.parametrize(("rerun", "key"), [(True, "r"), (False, "r"), (True, "s"), (False, "s")])
async def test_a_run_requested_while_own_code_loads_starts_afterwards(
    tmp_path: Path, rerun, key, monkeypatch
):
    """While the user's code is loading, the screen still shows another preset, but the request is for the
    user's code.
    """
    (tmp_path / "model.py").write_text("def forward(x): return x")
    held, declare = [], ScriptedRunner._declare
    monkeypatch.setattr(ScriptedRunner, "_declare", lambda self, request: held.append((self, request)))
    app = lab(tmp_path, rerun=rerun)
    async with opened(app) as pilot:
        app.runner.declares["forward"] = replace(MINE, axis="width")
        app.screen.opener.open_soon(str(tmp_path / "model.py") + ":forward")
        await until(pilot, lambda: held)
        await pilot.press(key)
        await pilot.pause()
        assert not app.runner.measured
        assert any("model.py:forward is still loading" in said.message for said in app._notifications)
        declare(*held[0])
        swept = key == "s"
        await until(pilot, lambda: [one for one in app.runner.measured if (one.sweep is not None) is swept])
        assert {one.scenario.file for one in app.runner.measured} == {f"{tmp_path}/model.py:forward"}
        await rest(pilot, app)
        assert not any(word in said.message for said in app._notifications for word in ("Reading", "loading"))


async def test_a_progress_message_does_not_stay_below_the_form_for_shapes(tmp_path: Path, monkeypatch):
    (tmp_path / "model.py").write_text("def forward(x): return x")
    held, declare = [], ScriptedRunner._declare
    monkeypatch.setattr(ScriptedRunner, "_declare", lambda self, request: held.append((self, request)))
    app = lab(tmp_path)
    async with opened(app, messages=True) as pilot:
        app.runner.lacking["forward"] = ("x",)
        app.screen.opener.open_soon(str(tmp_path / "model.py") + ":forward")
        await until(pilot, lambda: held and "Reading model.py:forward…" in text(app))
        declare(*held[0])
        await until(pilot, lambda: isinstance(app.screen, ShapesScreen))
        await until(pilot, lambda: "Shapes for forward" in text(app) and "Reading" not in text(app))


async def test_progress_messages_last_until_the_file_is_read_or_refused(tmp_path: Path, monkeypatch):
    (tmp_path / "model.py").write_text("def forward(x): return x")
    held, declare = [], ScriptedRunner._declare
    monkeypatch.setattr(ScriptedRunner, "_declare", lambda self, request: held.append((self, request)))
    app = lab(tmp_path)
    shown = lambda: [s for s in app._notifications if s.severity == "information"]  # noqa: E731
    async with opened(app) as pilot:
        app.screen.opener.open_soon(str(tmp_path / "model.py") + ":forward")
        await until(pilot, lambda: held)
        app.screen.action_run()
        await until(pilot, lambda: [s.message.split()[-1] for s in shown()] == ["loaded."])
        assert shown()[0].timeout > 60, "it lasts as long as the loading"
        declare(*held[0])  # the scripted worker does not know this function
        await until(pilot, lambda: any(said.severity == "error" for said in app._notifications))
        await rest(pilot, app)
        assert not shown()


async def test_a_path_can_be_typed_before_the_lab_has_started(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text('title = "Mine"\nworkload = "stft"\n[parameters]\nsamples = 1024\n')
    app = lab(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        assert not app.screen.filled
        await pilot.press("o", *str(file), "enter")
        await until(pilot, lambda: app.lab is not None and app.lab.state.settings is not None)
        await until(pilot, lambda: app.lab.state.settings.title.startswith("Mine"))
        await rest(pilot, app)
        app.painter.close()
        await app.lab.close()


async def test_the_presets_can_be_searched_before_the_lab_has_started(tmp_path: Path):
    app = lab(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        assert not app.screen.filled
        await pilot.press("slash", *"crossover")
        await until(pilot, lambda: isinstance(app.screen, LabScreen) and app.screen.filled)
        await rest(pilot, app)
        assert isinstance(app.screen.focused, Input) and app.screen.focused.value == "crossover"
        assert not app.screen._run_requested and not app.runner.measured
        app.painter.close()
        await app.lab.close()


async def test_keys_without_effect_say_why(tmp_path: Path):
    app = lab(tmp_path)
    said = lambda: [told.message for told in app._notifications]  # noqa: E731
    async with opened(app) as pilot:
        await press(pilot, app, "W space comma")
        assert said() == ["No program has been watched yet; o opens one.", "No replay is open; R opens one."]
        await press(pilot, app, "A o w")
        assert said()[2:] == ["This key works in the lab. First close this page: esc."]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_own_code_gets_sliders_and_is_measured(tmp_path: Path, size):
    (tmp_path / "model.py").write_text("def forward(x): return x")
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        app.runner.declares["forward"] = MINE
        app.screen.opener.open_soon(str(tmp_path / "model.py") + ":forward")
        await until(pilot, lambda: app.runner.measured)
        await rest(pilot, app)
        request = app.runner.measured[-1]
        assert request.scenario.file == f"{tmp_path}/model.py:forward"
        assert request.scenario.parameters == {"width": 64}
        assert "width" in text(app) and "forward [/x]" in text(app).splitlines()[0]
        await press(pilot, app, "p" if size[0] < 110 else "")
        assert "Other presets and yours" in text(app)
        await press(pilot, app, "i right y")
        assert app.clipboard == f"tuilab run {tmp_path}/model.py:forward --set width=128 --budget quick"


async def test_a_function_without_shapes_asks_for_them_and_is_measured_with_them(tmp_path: Path):
    (tmp_path / "model.py").write_text("def forward(a, b): return a + b")
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        app.runner.declares["forward"], app.runner.lacking["forward"] = MINE, ("a", "b")
        app.screen.opener.open_soon(str(tmp_path / "model.py") + ":forward")
        await until(pilot, lambda: isinstance(app.screen, ShapesScreen))
        await rest(pilot, app)
        assert "None of the usual shapes is known to fit" in " ".join(text(app).split())
        await press(pilot, app, "enter enter")
        assert "expected a shape such as" in " ".join(text(app).split()) and not app.runner.measured
        await press(pilot, app, "escape")
        app.runner.suggested = ("float32[n=64,n=64]",) * 2
        app.screen.opener.open_soon(str(tmp_path / "model.py") + ":forward")
        await until(pilot, lambda: isinstance(app.screen, ShapesScreen))
        await rest(pilot, app)
        assert "Shapes for forward" in text(app) and text(app).count("float32[n=64,n=64]") == 2
        first, second = app.screen.query(Input)
        await press(pilot, app, "enter")
        assert app.focused is second, "enter goes to the next line, and an empty line accepts its placeholder"
        first.value, second.value = "float32[width=8,4]", "float23[8]"
        await press(pilot, app, "enter")
        assert "expected a shape such as" in " ".join(text(app).split()) and not app.runner.measured
        second.value = "float32[width,4]"
        await press(pilot, app, "enter")
        await until(pilot, lambda: app.runner.measured)
        await rest(pilot, app)
        given = app.runner.measured[-1].scenario.opening.inputs
        assert [text_of(each) for each in given] == ["a=float32[width=8,4]", "b=float32[width=8,4]"]
        await press(pilot, app, "y")
        assert "--input 'a=float32[width=8,4]' --input 'b=float32[width=8,4]'" in app.clipboard
        shapes = " --input a=float32[width=8,4] --input b=float32[width,4]"
        assert reopened()[0] == f"{tmp_path}/model.py:forward{shapes}", "reopening keeps the shapes"


async def test_the_suggested_shapes_are_taken_by_enter_alone(tmp_path: Path):
    (tmp_path / "model.py").write_text("def forward(a, b): return a @ b")
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        app.runner.declares["forward"], app.runner.lacking["forward"] = MINE, ("a", "b")
        app.runner.suggested = ("float32[n=64,n=64]",) * len(app.runner.lacking["forward"])
        app.screen.opener.open_soon(str(tmp_path / "model.py") + ":forward")
        await until(pilot, lambda: isinstance(app.screen, ShapesScreen))
        await press(pilot, app, "enter enter")
        await until(pilot, lambda: app.runner.measured)
        given = app.runner.measured[-1].scenario.opening.inputs
        assert [each.shape for each in given] == [given[0].shape] * 2, "a matrix product accepts these shapes"


async def test_the_first_line_names_a_file_while_it_is_opened(tmp_path: Path, monkeypatch):
    (tmp_path / "model.py").write_text("def forward(x): return x")
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        before, release = text(app).splitlines()[0], asyncio.Event()

        async def find(*asked: object) -> None:
            await release.wait()
            raise InputError("model.py", "", "a function")

        monkeypatch.setattr(app.lab, "find", find)
        app.screen.opener.open_soon(str(tmp_path / "model.py") + ":forward")
        await until(pilot, lambda: "opening model.py:forward" in text(app).splitlines()[0])
        app.screen.query_one(Header).tell(app.lab.state)
        await pilot.pause()
        assert "opening model.py:forward" in text(app).splitlines()[0]
        release.set()
        await until(pilot, lambda: text(app).splitlines()[0] == before)


@pytest.mark.parametrize("place", ["i", "p", "i end tab tab tab tab tab tab tab tab tab"])
async def test_after_opening_the_focus_is_on_a_new_control(tmp_path, place):
    (tmp_path / "model.py").write_text("def forward(x): return x")
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        app.runner.declares["forward"] = MINE
        await press(pilot, app, place)
        app.screen.opener.open_soon(str(tmp_path / "model.py") + ":forward")
        await until(pilot, lambda: app.runner.measured)
        await rest(pilot, app)
        assert isinstance(app.focused, Slider) and app.focused.parameter.name == "width"


async def test_open_lists_recent_files_and_completes_paths_and_keeps_mistyped_text(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "article.md"
    file.write_text(DOCUMENT)
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await app.screen.opener.open_path(str(file))
        await rest(pilot, app)
        await press(pilot, app, "escape")
        await app.screen.opener.open_path(str(tmp_path / "articel.md"))
        await press(pilot, app, "o")
        line = app.screen.query_one(Input)
        assert str(file) in text(app)
        assert line.value == str(tmp_path / "articel.md")
        line.value = str(tmp_path / "art")
        await until(pilot, lambda: line._suggestion == str(file))
        await pilot.press("right")
        assert line.value == str(file)


async def test_a_path_is_completed_as_in_a_shell_and_enter_opens_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "article.md").write_text(DOCUMENT)
    remember_opened("article.md")
    (tmp_path / "gone.md").write_text(DOCUMENT)
    remember_opened("gone.md")
    (tmp_path / "gone.md").unlink()
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, ["o", *"art", "tab"])
        line = app.screen.query_one(Input)
        assert line.value == "article.md" and app.focused is line
        assert "tab completes, enter opens" in text(app) and "gone.md" not in text(app)
        line.value = "art"
        await press(pilot, app, "enter")
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))
    monkeypatch.chdir("/")
    assert reopened() == [str(tmp_path / "article.md")], "the file is found from another folder, too"


async def test_the_home_of_an_unknown_user_may_be_typed(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (80, 24), messages=True) as pilot:
        await press(pilot, app, ["o", "~", *"noone", "enter"])
        assert app.is_running and "~noone" in text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_errors_are_short_and_vanish_with_the_next_key(tmp_path, size):
    app = lab(tmp_path, rerun=False)
    async with opened(app, size, messages=True) as pilot:
        await press(pilot, app, "i enter 1 enter")
        assert "whole number" in text(app)
        await press(pilot, app, "escape r")
        await pilot.click(app.screen.views)
        await rest(pilot, app)
        assert "whole number" not in text(app)
        await press(pilot, app, "i enter 1 enter")
        assert "whole number" in text(app)
        await pilot.click("#view-live")
        await rest(pilot, app)
        assert "whole number" not in text(app), "a rejected value disappears when the focus leaves it"
        await press(pilot, app, ["o", *"nowhere", "enter"])
        await until(pilot, lambda: app.screen.query("Toast"))
        assert "nowhere" in text(app)
        await press(pilot, app, ["o"])
        assert not app.screen_stack[0].query("Toast") and not app.screen.query("Toast")
        line = app.screen.query_one(Input)
        assert line.value == "nowhere"
        await press(pilot, app, "x")
        assert line.value == "x", "typing replaces the name that could not be opened"
        await press(pilot, app, "escape")
        app.screen.corner.say("words " * 90, "error")
        await until(pilot, lambda: app.screen.query("Toast"))
        (toast,) = app.screen.query("Toast")
        assert toast.size.height <= size[1] / 4
        assert all("log (9)" in said.message for said in app._notifications)
        assert app.lab.state.log[-1].text.count("words") == 90
        await press(pilot, app, "2")
        assert not app.screen.query("Toast")


async def test_the_theme_is_remembered(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    app = lab(tmp_path, theme=None)
    async with opened(app) as pilot:
        app.theme = "nord"
        await rest(pilot, app)
    assert lab(tmp_path, theme=None).theme == "nord"
    assert lab(tmp_path, theme="light").theme == "tuilab-light"
    assert lab(tmp_path, theme="gruvbox").theme == "gruvbox"
    with pytest.raises(
        InputError, match="--theme: got 'mauve'; expected one of ansi-dark, .*, gruvbox, light"
    ):
        lab(tmp_path, theme="mauve")
    (tmp_path / "state" / "tuilab" / "preferences.json").write_text('{"theme": "no such"}')
    assert lab(tmp_path, theme=None).theme == "tuilab-dark"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_program_is_run_and_watched_from_the_lab_and_w_goes_back_to_it(tmp_path, size, monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", "")
    script = tmp_path / "train.py"
    script.write_text("print('epoch', input('go? '))\n")
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        app.screen.opener.open_soon(str(script))
        await until(pilot, lambda: isinstance(app.screen, MenuScreen))
        await rest(pilot, app)
        assert "run and watch it" in text(app) and app.watching is None, "opening a program does not run it"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, WatchScreen))
        await pilot.press("7")
        await until(pilot, lambda: "go?" in text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.screen_stack[0])
        assert not app.leaving and app.watching.running
        assert any("still running; W goes back to it" in said.message for said in app._notifications)
        app.screen.opener.open_soon(f"watch {script}")
        await until(
            pilot,
            lambda: any(
                "another watched program is still running; W shows it" in said.message
                for said in app._notifications
            ),
        )
        await pilot.press("W")
        await until(pilot, lambda: isinstance(app.screen, WatchScreen))
        await pilot.press("7", "i", *"one", "enter")
        await until(pilot, lambda: "epoch one" in text(app) and not app.watching.running)
        await pilot.press("q")
        await until(pilot, lambda: app.screen is app.screen_stack[0])


async def test_a_program_with_arguments_is_watched_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", "")
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text("import sys\nprint('got', sys.argv[1:])\n")
    app = lab(tmp_path)
    async with opened(app) as pilot:
        app.screen.opener.open_soon("train.py --epochs '2 3'")
        await until(pilot, lambda: isinstance(app.screen, WatchScreen))
        await pilot.press("7")
        await until(pilot, lambda: "got ['--epochs', '2 3']" in text(app))
        await until(pilot, lambda: not app.watching.running)
        await pilot.press("q")
        await until(pilot, lambda: app.screen is app.screen_stack[0])
        app.screen.opener.open_soon("train.py 'a")
        await until(pilot, lambda: any("No closing quotation" in said.message for said in app._notifications))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_file_of_functions_that_is_also_a_program_offers_both(tmp_path: Path, size):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "def step(n: int = 8):\n    return n\n\n\nif __name__ == '__main__':\n    print(step())\n"
    )
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        app.screen.opener.open_soon(str(mine))
        await until(pilot, lambda: isinstance(app.screen, MenuScreen))
        await rest(pilot, app)
        assert "run and watch it" in text(app) and "step" in text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_file_of_functions_lists_them_despite_calls_that_resemble_a_preset(tmp_path: Path, size):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import tensorflow as tf\n\n\ndef product(x: tf.Tensor = None):\n    return tf.matmul(x, x)\n\n\n"
        "def build():\n    x = tf.random.normal([64, 64])\n    return lambda: tf.matmul(x, x)\n"
    )
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        app.screen.opener.open_soon(str(mine))
        await until(pilot, lambda: isinstance(app.screen, MenuScreen))
        await rest(pilot, app)
        assert "product" in text(app) and "build" in text(app) and "run and watch it" not in text(app)


async def test_functions_of_a_file_are_found_by_typing(tmp_path: Path):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "".join(f"def {name}(n: int = 8):\n    return n\n\n\n" for name in ("jump", "walk", "talk"))
    )
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        app.screen.opener.open_soon(str(mine))
        await until(pilot, lambda: isinstance(app.screen, MenuScreen))
        await press(pilot, app, "a l k")
        assert "walk" in text(app) and "talk" in text(app) and "jump" not in text(app)
        await press(pilot, app, "down enter")
        asked = [request for request in app.runner.sent if isinstance(request, Declare)]
        assert [request.file.rpartition(":")[2] for request in asked] == ["talk"]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_an_article_without_claims_is_shown_and_names_all_its_keys(tmp_path, size):
    file = tmp_path / "article.md"
    file.write_text(TIMED)
    app = lab(tmp_path)
    async with opened(app, size, messages=True) as pilot:
        app.screen.opener.open_soon(str(file))
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))
        await rest(pilot, app)
        assert "p proves, F fact-checks, esc closes" in text(app)
        app.screen.dismiss(app.screen._report.presets[0])
        await until(pilot, lambda: app.runner.measured)
        await rest(pilot, app)
        before = len(app._notifications)
        await press(pilot, app, "F y")
        said = [said.message for said in app._notifications][before:]
        assert any("To use it in a shell, first run `tuilab import`" in words for words in said)
        assert not any(note.severity == "error" for note in app._notifications)


async def test_a_program_with_findings_is_offered_to_be_watched_before_it_is_checked(tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text(
        "import time\nimport tensorflow as tf\n"
        "def step(x):\n    return x @ x\n\n"
        "x = tf.random.normal((512, 512))\nstart = time.time()\ny = step(x)\nprint(time.time() - start)\n"
    )
    report = opening.document(str(script))
    assert any(example.findings for example in report.examples)
    keys = [offer.key for offer in opening.offered(str(script), report)]
    assert keys == [f"watch {script}", f"{script}:step", f"check {script}"]
    app = lab(tmp_path)
    async with opened(app) as pilot:
        app.screen.opener.open_soon(str(script))
        await until(pilot, lambda: isinstance(app.screen, MenuScreen))
        await rest(pilot, app)
        assert "run and watch it" in text(app) and "check its benchmarks" in text(app)
        await pilot.press("escape")
        app.screen.opener.open_soon(f"check {script}")
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen))


async def test_a_second_program_is_shown_after_the_first_has_ended(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text("print(1)\n")
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        for name in ("first.py", "second.py"):
            await press(pilot, app, ["o", *f"{name} 1"])
            await pilot.press("enter")
            await until(pilot, lambda name=name: f"{name} 1" in text(app).splitlines()[0])
            await until(pilot, lambda: not app.watching.running)
