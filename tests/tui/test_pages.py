import asyncio
import itertools
import json

import msgspec
import pytest
from textual.command import CommandPalette

from tests.tui.lab import lab, opened, press, rest, text, until
from tests.tui.scripted import CPU_MACHINE
from tests.tui.tour import DEVICE
from tuilab.history import recording
from tuilab.model.doctor import Cause, DoctorReport, Probe
from tuilab.model.events import Profiled
from tuilab.model.profile import ProfileArm
from tuilab.tui.actions import ACTIONS
from tuilab.tui.app import LabApp, wants_ascii
from tuilab.tui.panels.controls import Controls
from tuilab.tui.panels.views import Views
from tuilab.tui.screens.help import HelpScreen, page
from tuilab.tui.screens.lab import LabScreen
from tuilab.tui.screens.menu import MenuScreen
from tuilab.tui.views.timeline import TimelineView
from tuilab.tui.widgets.slider import Slider
from tuilab.tui.widgets.timeline import Timeline

REPORT = DoctorReport(
    gpu_visible=False,
    code="driver-missing",
    cause="No NVIDIA driver is loaded.",
    mend="sudo apt install nvidia-driver-570",
    probes=(Probe("driver", "fail", "no /proc/driver/nvidia"), Probe("wheel", "ok", "built with CUDA [/x]")),
    further=(Cause("library", "libcudart is missing", "pip install tuilab[cuda]"),),
)


def test_every_action_is_there_and_has_a_sentence():
    assert len({a.id for a in ACTIONS}) == len(ACTIONS)
    keys = [key for a in ACTIONS for key in a.keys.split(",")]
    assert len(set(keys)) == len(keys), "each key has only one action"
    for action in ACTIONS:
        place, _, name = action.name.partition("(")[0].rpartition(".")
        assert hasattr(LabApp if place == "app" else LabScreen, f"action_{name}"), action.id
        assert action.help.endswith(".") and action.label


async def test_help_explains_the_focused_panel_and_the_picture(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "i")
        words = page(app.screen, app.keymap)
        assert "## A slider" in words and "## Live" in words and "| r | **run**: Measure" in words
        assert "| page up | much more |" in words
        await press(pilot, app, "question_mark")
        assert isinstance(app.screen, HelpScreen) and "A slider" in text(app)
        await press(pilot, app, "question_mark")
        assert isinstance(app.screen, LabScreen)
        await press(pilot, app, "f d")
        focused = app.screen.focused
        assert isinstance(focused, Slider) and focused in app.screen.query_one(Controls).query(Slider)
        await press(pilot, app, "f escape")
        assert isinstance(app.screen, LabScreen)
        assert app.current_theme.dark
        await press(pilot, app, "t")
        assert not app.current_theme.dark


async def test_the_palette_has_every_action_and_opens_presets(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"open stft-pipe")
        await until(pilot, lambda: "FIR filter" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LabScreen))
        await rest(pilot, app)
        assert app.runner.measured[-1].preset == "stft-pipeline"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_palette_finds_an_action_by_what_it_explains_before_presets(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        for words, first in (("gpu", "why this device"), ("file", "export"), ("compare", "compare")):
            await pilot.press("ctrl+p")
            await until(pilot, lambda: isinstance(app.screen, CommandPalette))
            await pilot.press(*words)
            await until(pilot, lambda words=words: f"🔎 {words}" in text(app))
            await rest(pilot, app)
            rows = text(app).split("🔎")[1].split("\n")[1:]
            assert next(row for row in rows if row.strip(" │")).strip(" │").startswith(first)
            await pilot.press("escape", "escape")
            await until(pilot, lambda: isinstance(app.screen, LabScreen))


async def test_the_palette_finds_what_users_call_it(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "r")
        for words, there in (
            ("save", "export"), ("resume", "run  (r)"), ("html", "export html"), ("screenshot", "export picture"),
            ("baseline", "history"), ("batch", "set batch"), ("thread", "hosts"), ("float16", "sliders"),
            ("xla", "switch xla"), ("why slow", "why this device"),
        ):  # fmt: skip
            await pilot.press("ctrl+p")
            await until(pilot, lambda: isinstance(app.screen, CommandPalette))
            await pilot.press(*(key if key != " " else "space" for key in words))
            await until(pilot, lambda words=words: f"🔎 {words}" in text(app))
            await rest(pilot, app)
            found = text(app).split("🔎")[1]
            names = {"hosts": "hosts", "sliders": "controls"}
            assert names.get(there, there) in found, (words, found)
            await pilot.press("escape", "escape")
            await until(pilot, lambda: isinstance(app.screen, LabScreen))


async def test_verdict_marks_are_there_after_a_restart(tmp_path):
    for first in (True, False):
        app = lab(tmp_path)
        async with opened(app, (160, 50)) as pilot:
            if first:
                await press(pilot, app, "r")
            await rest(pilot, app)
            assert app.lab.state.verdicts == {"stft-small": "confirmed"}
            assert "✓ " in text(app).partition("Controls")[0]
    other = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(other, (160, 50)) as pilot:
        await rest(pilot, other)
        assert other.lab.state.verdicts == {}, "verdicts from another machine do not count"


async def test_the_help_can_be_searched(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "question_mark slash g h o s t enter")
        await until(pilot, lambda: "A ghost is an earlier run" in text(app))
        assert "canary" not in text(app).replace("ghost", ""), "other blocks are hidden"
        await press(pilot, app, "slash z z z enter")
        await until(pilot, lambda: "No help text contains these words." in text(app))
        await press(pilot, app, "escape")
        assert isinstance(app.screen, LabScreen)


async def test_settings_are_copied_as_a_command(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "l i right y")
        assert app.clipboard == "tuilab run stft-small --set samples=512 --budget quick"
        assert (tmp_path / "tuilab" / "command.txt").read_text() == app.clipboard + "\n"
        assert (tmp_path / "tuilab" / "command.txt").stat().st_mode & 0o077 == 0
        await press(pilot, app, "p 3 y")
        assert app.clipboard.startswith("tuilab sweep stft-small --axis samples=256,")


async def test_a_run_is_exported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = lab(tmp_path)
    written: dict[str, str] = {}
    async with opened(app) as pilot:
        await press(pilot, app, "e")
        assert "picture" in text(app) and "markdown" not in text(app), "there is no run yet"
        await press(pilot, app, "escape enter")
        for number, name in enumerate(["markdown", "html", "csv", "json", "svg", "recording"]):
            await press(pilot, app, ["e", *["down"] * number, "enter"])
            await until(pilot, lambda: list(tmp_path.glob("tuilab-stft-small-*")))
            (file,) = tmp_path.glob("tuilab-stft-small-*")
            await until(pilot, lambda file=file: file.stat().st_size)
            await rest(pilot, app)
            if name == "recording":
                assert len([e for e in recording.read(file) if type(e).__name__ == "Round"]) == 8
            written[name] = file.read_text()
            file.unlink()
    assert json.loads(written.pop("json"))["schema"] == 1
    assert written.pop("recording")
    assert all("STFT" in content or "stft" in content or "cpu0" in content for content in written.values())


async def test_a_run_of_the_history_is_replayed(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "enter")
        before = app.screen.lab.state.result()
        app.screen.lab.state.put_away()
        await press(pilot, app, "R")
        assert "stft-small" in text(app)
        await press(pilot, app, "enter")
        await until(pilot, lambda: app.screen.lab.state.shown.status == "ok")
        await rest(pilot, app)
        assert "replay · gpu-07 · 2026-01-05" in text(app)
        assert app.screen.lab.state.result().arms == before.arms
        assert len(app.runner.measured) == 1, "a replay measures nothing"
        await press(pilot, app, "r")
        assert len(app.runner.measured) == 1, "the first press only asks for confirmation"
        await press(pilot, app, "r")
        assert "replay" not in text(app).splitlines()[0] and len(app.runner.measured) == 2
        lab_, file = app.screen.lab, tmp_path / "run.jsonl"
        recording.write(file, lab_.saved.store.events(lab_.state.shown.run))
        await app.screen.player.play(str(file))
        await until(pilot, lambda: lab_.state.shown.status == "ok" and lab_.state.replay)
        await app.screen.player.play(str(tmp_path / "none.jsonl"))
        await rest(pilot, app)
        assert "there is no such file" in text(app).replace("\n", " ") or app._notifications


def lines_of(widget):
    """Return the text of a widget on one line, without its cursor."""
    lines = (widget.render_line(y).text.replace("▸", " ") for y in range(widget.size.height))
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.long)])
async def test_a_profile_stays_with_its_run_and_is_replayed(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        await press(pilot, app, "enter 5")
        lab_ = app.screen.lab
        state = lab_.state.shown
        [profiled] = [arm for arm, known in state.arms.items() if known.profile is not None]
        shown = lines_of(app.screen.query_one(Timeline))
        kept = list(lab_.saved.store.events(state.run))
        assert [event.arm for event in kept if isinstance(event, Profiled)] == [profiled]
        assert isinstance(kept[-1], Profiled), "the event comes after the end of the run, and is still saved"
        lab_.state.put_away()
        await press(pilot, app, "R enter")
        await until(pilot, lambda: lab_.state.replay and lab_.state.shown.arms[profiled].profile)
        await press(pilot, app, "x")  # the replay's strip disappears, so the timeline regains its height
        assert lines_of(app.screen.query_one(Timeline)) == shown
        assert len([asked for asked in app.runner.sent if getattr(asked, "kind", "") == "profile"]) == 1
        app.screen.query_one(TimelineView).take_focus()
        await press(pilot, app, "v")
        assert "was not profiled when the run was recorded" in lines_of(app.screen.query_one(Timeline))


async def test_an_arm_is_profiled_again_when_asked(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "enter 5")
        view, state = app.screen.query_one(TimelineView), app.screen.lab.state.shown
        view.take_focus()
        await press(pilot, app, "V v")
        asked = [ask.body for ask in app.runner.sent if getattr(ask, "kind", "") == "profile"]
        arms = [msgspec.json.decode(body, type=ProfileArm).arm.id for body in asked]
        assert len(arms) == 3 and arms[0] == arms[1] != arms[2]
        kept = [
            event for event in app.screen.lab.saved.store.events(state.run) if isinstance(event, Profiled)
        ]
        assert [event.arm for event in kept] == arms


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.long)])
async def test_the_timeline_of_a_replay_says_why_it_is_empty_and_what_to_do(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        await press(pilot, app, "enter")
        lab_state = app.screen.lab.state
        lab_state.put_away()
        await press(pilot, app, "R enter")
        await until(pilot, lambda: lab_state.shown.status == "ok" and lab_state.replay)
        await press(pilot, app, "5")
        said = lines_of(app.screen.query_one(Timeline))
        assert "was not profiled when the run was recorded" in said
        assert "the machine that made the recording (gpu-07)" in said
        assert said.endswith("first measure its settings here with r.")
        lab_state.change(lab_state.settings.with_value("samples", 512))
        app.screen.query_one(TimelineView).draw()
        await rest(pilot, app)
        said = lines_of(app.screen.query_one(Timeline))
        assert said.endswith("the machine that made the recording (gpu-07).")
        assert not [asked for asked in app.runner.sent if getattr(asked, "kind", "") == "profile"]


async def test_why_this_device_is_explained(tmp_path, monkeypatch):
    from tuilab.doctor import examine

    monkeypatch.setattr(examine, "examine", lambda wait: REPORT)
    app = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(app) as pilot:
        await press(pilot, app, "g")
        await until(pilot, lambda: "No NVIDIA driver is loaded." in text(app))
        await until(pilot, lambda: "DecodeCompressed" in text(app))
        shown = text(app)
        assert "sudo apt install nvidia-driver-570" in shown and "built with CUDA [/x]" in shown
        assert "no GPU kernel in this build" in shown
        await press(pilot, app, "question_mark")
        assert isinstance(app.screen, HelpScreen) and "The doctor checks driver" in text(app)
        await press(pilot, app, "escape escape")
        assert isinstance(app.screen, LabScreen)
        await press(pilot, app, "i right g")
        forecast = f"Forecast for {app.lab.state.settings.title}"
        await until(pilot, lambda: forecast in text(app))
        assert "512 samples" in forecast


async def test_the_doctor_does_not_disturb_a_run(tmp_path, monkeypatch):
    from tuilab.doctor import examine

    monkeypatch.setattr(examine, "examine", lambda wait: pytest.fail("it was called"))
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        await press(pilot, app, "enter g")
        assert "does not start during a run" in text(app)


async def test_the_first_visit_message_appears_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for first in (True, False):
        app = lab(tmp_path, newcomer=None)
        async with opened(app):
            assert ("First time here?" in text(app)) is first


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_devices_are_sampled_from_the_start_except_in_a_replay(tmp_path, monkeypatch, size):
    from tuilab.lab import devices
    from tuilab.telemetry.sampler import Telemetry

    moments = itertools.count(1)
    taken = lambda self, pid: msgspec.structs.replace(DEVICE, at=float(next(moments)))  # noqa: E731
    monkeypatch.setattr(devices, "EVERY_S", 0.01)
    monkeypatch.setattr(Telemetry, "sample", taken)
    app = lab(tmp_path, hold=3)
    async with opened(app, size) as pilot:
        samples = app.screen.lab.devices.samples
        await until(pilot, lambda: len(samples) > 5)
        await pilot.press("r")
        await until(pilot, lambda: app.runner.holding)
        during = len(samples)
        await asyncio.sleep(0.1)
        assert len(samples) <= during + 1, "without reports, nothing is sampled"
        await pilot.press("x", "7")
        await until(pilot, lambda: "GPU:0 NVIDIA H200" in text(app))
        assert len(samples) > 5 and "Host 4 logical CPUs" in text(app)
        app.screen.lab.state.replay = "replay"
        app.screen.views.view.draw()
        await until(pilot, lambda: "A replay shows no devices" in text(app))
        assert "GPU:0 NVIDIA H200" not in text(app)


async def test_the_document_view_opens_at_the_verdict(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "r d")
        assert "✓ confirmed  CPU graph took" in text(app), "the preset's verdict is below the picture"


async def test_before_a_run_the_list_of_arms_is_empty_and_says_so(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "5")
        app.screen.views.view.take_focus()
        await press(pilot, app, "P")
        assert isinstance(app.screen, MenuScreen) and "r measures" in text(app)
        await press(pilot, app, "down question_mark escape escape")
        assert isinstance(app.screen, LabScreen)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_help_page_explains_the_words_of_the_lab(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        for keys in ("", "i", "5", "h"):
            await press(pilot, app, keys)
            written = page(app.screen, {})
            for word in ("arm", "round", "block", "canary", "crossover", "ghost"):
                assert f"**{word}**" in written, (keys, word)


async def test_an_idle_screen_does_not_repaint(tmp_path):
    app = lab(tmp_path)
    drawn: list[object] = []
    async with opened(app) as pilot:
        await press(pilot, app, "enter")
        app._display = lambda *given: drawn.append(given)  # type: ignore[method-assign]
        await asyncio.sleep(1.5)
    assert drawn == []


def test_ascii_is_requested_or_detected():
    assert wants_ascii({"TUILAB_ASCII": "1"}) and wants_ascii({"TERM": "linux"})
    assert not wants_ascii({"TUILAB_ASCII": "0", "TERM": "linux"})
    assert wants_ascii({"LANG": "de_DE.ISO-8859-1"}) and not wants_ascii({"LANG": "de_DE.UTF-8"})
    assert not wants_ascii({"TERM": "xterm-256color"})
    assert wants_ascii({"LANG": "de_DE"}, "iso8859-1") and not wants_ascii({"LANG": "de_DE"}, "utf-8")


async def test_enter_opens_a_group(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "enter 6")
        view = app.screen.query_one(Views).view
        view.take_focus()
        total = len(view.table.rows)
        await press(pilot, app, "down enter")
        assert 0 < len(view.table.rows) < total
        assert len({(row.kind, row.device, row.reason) for row in view.table.rows}) == 1
        await press(pilot, app, "up enter")
        assert len(view.table.rows) == total
