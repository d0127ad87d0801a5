import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui import watched
from tests.tui.lab import TestLab, lab, text, until
from tests.tui.picture import picture
from tests.tui.test_keymap import other_keys, read
from tests.tui.test_pictures import shows  # noqa: F401
from tests.tui.tour import SIZES
from tests.tui.watched import settled
from tuilab.lab.several import FarProgram, Several
from tuilab.lab.shown_program import ShownProgram
from tuilab.lab.watch import Watching, WatchOptions
from tuilab.model.errors import InputError
from tuilab.model.program import AccountRow, Bottleneck, Caught, Page, StepTimes, Tried
from tuilab.presentation import program as says
from tuilab.tui.screens.watching import TITLES, WatchScreen


@asynccontextmanager
async def opened(app: TestLab, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot[int]]:
    async with app.run_test(size=size) as pilot:
        await settled(pilot, app)
        yield pilot
        if app.lab is not None:
            assert app.painter is not None
            app.painter.close()
            await app.lab.close()


async def press(pilot: Pilot[int], app: TestLab, *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot, app)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Watching:
    return watched.watching(
        monkeypatch.setattr, b"Epoch 1/3\r\n 12/63 \r 60/63 loss: 0.21\r\n\x1b[31mlast\x1b[0m"
    )


async def test_with_other_keys_the_page_names_those(tmp_path: Path, made) -> None:
    others = other_keys(tmp_path)
    app = lab(tmp_path, watching=made)
    async with opened(app) as pilot:
        for played in (False, True):  # before the program's first event and after all its events
            if played:
                watched.play(made)
            for key in TITLES:
                await app.screen.run_action(f"view('{key}')")
                await settled(pilot, app)
                said = read(app)
                assert f"{others['watch.stop']} stops" in said, said
        await app.screen.run_action("whole")
        await settled(pilot, app)
        assert f"{others['page.close']} closes" in read(app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_page(tmp_path: Path, made, shows, size) -> None:  # noqa: F811
    watched.play(made)
    app = lab(tmp_path, watching=made)
    async with opened(app, size) as pilot:
        assert picture(app) == shows(name="steps")
        for key in list(TITLES)[1:]:
            await press(pilot, app, "right_square_bracket")
            assert picture(app) == shows(name=key)
        await press(pilot, app, "q")
        assert picture(app) == shows(name="leaving")


@pytest.mark.parametrize("more", [0, 1, 4])
async def test_why_no_gpu_is_used_is_next_to_any_verdict(tmp_path: Path, made, more) -> None:
    watched.play(made)
    app = lab(tmp_path, watching=made)
    async with opened(app, SIZES[0]) as pilot:
        page = made.page
        first, *rest = page.findings
        first = msgspec.structs.replace(first, message=first.message + " and so on and on" * 4 * more)
        made.page = msgspec.structs.replace(page, findings=(first, *rest))
        app.screen.tell()
        await settled(pilot, app)
        assert "TensorFlow sees no GPU" in text(app).partition("What to change")[0]


@pytest.mark.parametrize("asked", ["TUILAB_ASCII", "NO_COLOR"])
async def test_the_page_works_without_colours_and_in_ascii(tmp_path: Path, made, monkeypatch, asked) -> None:
    monkeypatch.setenv("NO_COLOR", "1") if asked == "NO_COLOR" else None
    watched.play(made)
    app = lab(tmp_path, watching=made, ascii_only=asked == "TUILAB_ASCII")
    async with opened(app, SIZES[0]) as pilot:
        for _ in TITLES:
            shown = picture(app)
            assert shown.isascii() if asked == "TUILAB_ASCII" else "input-bound" in shown
            await press(pilot, app, "right_square_bracket")


async def test_every_empty_part_says_why(tmp_path: Path, made) -> None:
    app = lab(tmp_path, watching=made)
    async with opened(app, SIZES[0]) as pilot:

        async def said(*words: str) -> None:
            for key, word in zip(list(TITLES)[:5], words, strict=True):
                await press(pilot, app, str(list(TITLES).index(key) + 1))
                assert word in " ".join(text(app).split()), (key, text(app))

        await said(*["TensorFlow has not been imported yet."] * 5)
        assert "has not imported TensorFlow yet" in text(app)
        made.take(1, watched.hello(), None)
        made.draw()
        await settled(pilot, app)
        step = "No step was detected"
        await said(
            step, step, step, "No tf.function has been called yet", "No dataset has been iterated over yet"
        )
        watched.end(made, 0)
        await settled(pilot, app)
        await said(step, step, step, "No tf.function has been called.", "No dataset has been iterated over.")
        assert "ended with exit code 0" in text(app)


async def test_a_short_screen_lists_absent_findings_in_one_row(tmp_path: Path, made) -> None:
    app = lab(tmp_path, watching=made)
    async with opened(app, (60, 18)) as pilot:
        findings = app.screen.query_one("#findings")
        assert findings.outer_size.height == 3 and "TensorFlow has not been imported yet." in text(app)
        await asyncio.to_thread(watched.play, made)
        await until(pilot, lambda: "train.py:12" in text(app))
        assert findings.outer_size.height > 3
        await settled(pilot, app)
        assert app.screen.max_scroll_y == 0 and "└ python-in-map" in text(app), (
            "the whole page fits on the screen"
        )


async def test_one_wait_gives_one_gain(tmp_path: Path, made) -> None:
    watched.play(made)
    app = lab(tmp_path, watching=made)
    async with opened(app, (80, 24)) as pilot:
        rows = [line for line in text(app).splitlines() if "-in-map " in line or "input-bound  " in line]
        assert ["5.88×" in row for row in rows] == [True, False] and "└ python-in-map" in rows[1]
        await press(pilot, app, "down")
        assert "Part of input-bound: .map(decode) calls Python" in " ".join(text(app).split())


async def test_new_data_is_drawn(tmp_path: Path, made) -> None:
    app = lab(tmp_path, watching=made)
    async with opened(app) as pilot:
        await asyncio.to_thread(watched.play, made)
        await until(pilot, lambda: "input-bound: 83%" in text(app))
        assert "train.py:12" in text(app) and "fixing it saves about 5.05 s" in text(app)
        await press(pilot, app, "down")
        screen = app.screen
        assert isinstance(screen, WatchScreen)
        before = screen.findings.row
        made.take(1, watched.Facts(opened=True, determinism=True), None)
        await asyncio.to_thread(made.draw)
        await until(pilot, lambda: "determinism" in {row.code for row in screen.findings.rows})
        assert screen.findings.row == before
        made.hosted.output += b"\r\nKeyboardInterrupt\r\n"  # type: ignore[union-attr]
        await asyncio.to_thread(watched.end, made, -2)
        await until(pilot, lambda: "ended by signal 2" in text(app) and "KeyboardInterrupt" in text(app))


def offered(app: TestLab) -> set[str]:
    words = " ".join(text(app).splitlines()[-1].split())
    return {
        word for word in ("stop", "type", "capture", "whole page", "export", "leave") if f" {word}" in words
    }


async def test_keys_reach_the_program(tmp_path: Path, made) -> None:
    app = lab(tmp_path, watching=made)
    async with opened(app) as pilot:
        await press(pilot, app, "x", "i", *"yes", "enter")
        assert made.hosted.typed == b"\x03yes\n"  # type: ignore[union-attr]
        await pilot.resize_terminal(90, 30)
        await until(pilot, lambda: made.hosted.sizes[-1] == (90, 30))  # type: ignore[union-attr]
        assert {"stop", "type", "capture"} <= offered(app)
        watched.end(made, 1)
        await until(pilot, lambda: not {"stop", "type", "capture"} & offered(app))
        await press(pilot, app, "x", "i")
        assert made.hosted.typed == b"\x03yes\n"  # type: ignore[union-attr]
        assert app.screen is app.screen_stack[0] and "export" in offered(app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_stored_pages_and_remote_programs_offer_only_possible_actions(
    tmp_path: Path, made, size
) -> None:
    watched.play(made)
    far = FarProgram("gpu-07", ["python", "train.py"], WatchOptions())
    far.page, far._far = made.page, Elsewhere()  # type: ignore[assignment]
    app = lab(tmp_path, watching=Several([far]))
    async with opened(app, size):
        assert {"stop", "type"} <= offered(app) and "capture" not in offered(app)
    app = lab(tmp_path, watching=Several([ShownProgram(made.page)]))
    async with opened(app, size) as pilot:
        assert not {"stop", "type", "capture"} & offered(app)
        await press(pilot, app, "7")
        assert "No output: the program wrote none" in " ".join(text(app).split())


class Elsewhere:
    def ask(self, what: object) -> None:
        pass


class Asked:
    def __init__(self) -> None:
        self.words = list[tuple[int, str]]()

    def ask(self, process: int, *, catch: int, folder: str, captured: str) -> bool:
        self.words.append((catch, Path(folder).name))
        return True


def said(app: TestLab, words: str) -> bool:
    return any(words in told.message for told in app._notifications)


async def test_a_key_captures_the_step_or_a_function(tmp_path: Path, made, monkeypatch) -> None:
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    asked = made._listener = Asked()
    app = lab(tmp_path, watching=made)

    async with opened(app) as pilot:
        await press(pilot, app, "c")
        await until(
            pilot, lambda: said(app, "Nothing was captured: none of the program's steps is a tf.function")
        )
        watched.play(made)
        await press(pilot, app, "c")
        await until(pilot, lambda: said(app, "will be captured at its next call"))
        of = made.program.busiest
        assert of is not None and [number for number, _ in asked.words] == [of.step]
        await press(pilot, app, "4")
        app.screen.set_focus(app.screen.functions)  # type: ignore[attr-defined]
        await press(pilot, app, "home", "c")
        first = made.page.functions[0]
        assert asked.words[-1] == (first.number, first.name.rpartition(".")[2])
        assert first.number != of.step
        made.take(1, Caught(number=1, folder="x", problem="ValueError: it was given no tensor\nat all"), None)
        await until(pilot, lambda: said(app, "could not be captured: ValueError: it was"))
        watched.end(made, 0)
        await until(pilot, lambda: "capture" not in offered(app))
        await press(pilot, app, "c")
        assert len(asked.words) == 2


@pytest.fixture
def asked(tmp_path: Path, made: Watching, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Let the screen capture steps, and try only the change of the finding about the input."""
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    monkeypatch.setattr("tuilab.tui.screens.watching.can_try", lambda finding: finding.code == "input-bound")
    made._listener = asked = Asked()  # type: ignore[assignment]
    return asked


async def test_enter_has_a_change_tried_on_the_caught_step_and_stops_it(
    tmp_path: Path, made, asked, monkeypatch
) -> None:
    folders = list[str]()

    async def attempt(folder: str, *about: object) -> Tried:
        folders.append(folder)
        if folder == "endless":
            await asyncio.Event().wait()
        return Tried(step=1.7, said="the step under XLA")

    monkeypatch.setattr("tuilab.tui.screens.watching.attempt", attempt)
    app = lab(tmp_path, watching=made)

    async with opened(app) as pilot:
        watched.play(made)
        await until(pilot, lambda: "input-bound" in text(app))
        await until(pilot, lambda: "enter measures your step with the change" in text(app))
        await press(pilot, app, "enter")
        about = lambda: " ".join(app.screen.query_one("#findings").border_subtitle.split())  # noqa: E731
        waiting = "waiting for the next step …, enter stops it"
        assert about().endswith(f"input-bound: {waiting}") and text(app).count(waiting) == 2
        made.take(1, Caught(number=1, folder="endless"), None)
        await until(pilot, lambda: folders == ["endless"])
        await until(pilot, lambda: "measuring your step …, enter stops it" in about())
        await press(pilot, app, "down")
        assert "input-bound: measuring" in about() and text(app).count("enter stops it") == 1
        await press(pilot, app, "enter")
        await until(pilot, lambda: said(app, "The trial of input-bound was stopped"))
        assert made.page.findings[0].tried is None and "stops it" not in text(app)
        await press(pilot, app, "up", "enter", "enter")
        made.take(1, Caught(number=1, folder="unwanted"), None)
        await settled(pilot, app)
        assert folders == ["endless"] and isinstance(app.screen, WatchScreen), "its capture opens nothing"
        await press(pilot, app, "enter")
        made.take(1, Caught(number=1, folder="there"), None)
        await until(pilot, lambda: made.page.findings[0].tried is not None)
        assert folders == ["endless", "there"] and len(asked.words) == 3 and "stops it" not in text(app)
        program = made.page.findings[0].tried.program
        assert program is not None and 1 < program < 1.7
        await until(
            pilot,
            lambda: f"1.70× for the step, so about {program:.2f}× for the" in " ".join(text(app).split()),
        )


async def test_a_trial_ends_with_the_program_before_the_capture_and_outlives_it_after(
    tmp_path: Path, made, asked, monkeypatch
) -> None:

    async def attempt(*about: object) -> Tried:
        await asyncio.Event().wait()
        return Tried(step=1.7, said="the step under XLA")

    monkeypatch.setattr("tuilab.tui.screens.watching.attempt", attempt)
    app = lab(tmp_path, watching=made)

    async with opened(app) as pilot:
        watched.play(made)
        await until(pilot, lambda: "enter measures your step with the change" in text(app))
        await press(pilot, app, "enter")
        watched.end(made, 0)
        await until(
            pilot, lambda: said(app, "input-bound was not tried: the program ended before its next step")
        )
        assert "stops it" not in text(app)
    made.program.exit_code = made.program.ended = None
    made.draw()
    app = lab(tmp_path, watching=made)
    async with opened(app) as pilot:
        await press(pilot, app, "enter")
        made.take(1, Caught(number=1, folder="endless"), None)
        watched.end(made, 0)
        await until(pilot, lambda: "measuring your step …, enter stops it" in text(app))
        await press(pilot, app, "enter")
        assert said(app, "The trial of input-bound was stopped") and app.lab is None, "it opened no preset"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("ended", [True, False])
async def test_each_view_asks_for_a_path_and_explains_the_keys_of_the_lab(
    tmp_path: Path, made, monkeypatch, size, ended
) -> None:
    monkeypatch.chdir(tmp_path)
    watched.play(made)
    watched.end(made, 0) if ended else None
    app = lab(tmp_path, watching=made)

    async with opened(app, size) as pilot:
        for key in TITLES:
            app.clear_notifications()
            await press(pilot, app, str(list(TITLES).index(key) + 1))
            for lab_key in "wa":
                await press(pilot, app, lab_key)
            await until(pilot, lambda: said(app, "This key works in the lab; o opens a file there."))
            await press(pilot, app, "question_mark")
            assert "A watched program" in text(app)
            await press(pilot, app, "escape", "ctrl+p", *"file in")
            await until(pilot, lambda: "open a file in the lab  (o)" in text(app))
            await press(pilot, app, "escape", "o", *"/tmp/apex.py")
            assert app.screen.query_one(Input).value == "/tmp/apex.py" and app.lab is None
            await press(pilot, app, "escape")
            assert isinstance(app.screen, WatchScreen)
        if ended:
            await press(pilot, app, *"xic")
            assert said(app, "The program has ended.") and said(
                app, "Nothing was captured: the program has ended."
            )
        await press(pilot, app, "escape")
        assert said(app, "No lab is open; o opens a file in one, q leaves.")
        assert not list(tmp_path.glob("tuilab-watch-*"))


async def test_a_path_typed_over_a_watched_program_opens_in_the_lab(tmp_path: Path, made) -> None:
    watched.end(made, 0)
    file = tmp_path / "mine.toml"
    file.write_text('title = "Mine"\nworkload = "stft"\n[parameters]\nsamples = 1024\n')
    app = lab(tmp_path, watching=made)
    async with opened(app) as pilot:
        await press(pilot, app, "o", *str(file))
        await pilot.press("enter")
        await until(pilot, lambda: app.lab is not None and app.lab.state.settings is not None)
        await until(pilot, lambda: app.lab.state.settings.title.startswith("Mine"))
        with pytest.raises(InputError, match="watch another with `tuilab watch other.py`"):
            app.watch_program("other.py")


@pytest.mark.parametrize(("choice", "typed"), [("enter", b""), ("down enter", b"\x03")])
async def test_leaving_asks_whether_the_program_should_continue(tmp_path: Path, made, choice, typed) -> None:
    app = lab(tmp_path, watching=made)
    async with opened(app) as pilot:
        await press(pilot, app, "escape", "q", "escape")
        assert app.is_running and not app.leaving
        await pilot.press("q", *choice.split())
        await until(pilot, lambda: app.leaving)
    assert made.hosted.typed == typed  # type: ignore[union-attr]


async def test_leaving_an_ended_program_asks_nothing(tmp_path: Path, made) -> None:
    watched.end(made, 0)
    app = lab(tmp_path, watching=made)
    async with opened(app) as pilot:
        await pilot.press("q")
        await until(pilot, lambda: app.leaving)


@pytest.mark.parametrize("running", [True, False])
async def test_enter_opens_the_preset_of_a_finding_with_the_sizes_of_the_program(
    tmp_path: Path, made, running
) -> None:
    watched.play(made)
    if not running:
        watched.end(made, 0)
    app = lab(tmp_path, watching=made, presets=())
    async with opened(app) as pilot:
        why = "not your step" if running else "your program has ended"
        assert f"enter opens preset slow-map: {why}" in text(app), text(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.lab is not None and app.lab.state.settings is not None)
        await until(pilot, lambda: said(app, "does not run your step"))
        assert app.lab is not None
        settings = lambda: app.lab.state.settings  # noqa: E731
        await until(pilot, lambda: settings().preset.name == "slow-map" and settings().values["batch"] == 64)
        assert settings().values["side"] == 32
        await until(pilot, lambda: running or app.lab.state.shown.rounds)
        assert bool(app.lab.state.shown.rounds) is not running
        await pilot.press("W")
        await until(pilot, lambda: isinstance(app.screen, WatchScreen))
        await pilot.press("down", "enter")
        await until(pilot, lambda: settings().preset.name == "python-in-map")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_key_bar_offers_only_what_acts_on_the_finding(tmp_path: Path, made, asked, size) -> None:
    watched.play(made)
    app = lab(tmp_path, watching=made)

    def offers(*words: str) -> list[bool]:
        return [word in text(app).splitlines()[-1] for word in words]

    async with opened(app, size) as pilot:
        assert offers("enter try it", "p open preset") == [True, True]
        await press(pilot, app, "A")
        app.screen_stack[-2].refresh_bindings()  # as news of the program does
        await pilot.pause()
        assert offers("enter stop the trial") == [False], "the page above has no trial"
        await press(pilot, app, "escape", "end")
        finding = app.screen.findings.row  # type: ignore[attr-defined]
        assert finding.code == "retraced" and not finding.preset
        await until(pilot, lambda: offers("enter try it", "p open preset", "sort") == [False, False, True])
        for key in ("enter", "p"):
            app.clear_notifications()
            await press(pilot, app, key)
            assert [told.message for told in app._notifications] == ["No preset demonstrates retraced."]
        await press(pilot, app, "home", "enter", "end")
        assert app.screen._trial is not None  # type: ignore[attr-defined]
        await until(
            pilot, lambda: offers("enter stop the trial", "try it", "p open preset") == [True, False, False]
        )
        await press(pilot, app, "enter")
        assert app.screen._trial is None, "enter stops the trial from each row"  # type: ignore[attr-defined]
        await until(pilot, lambda: offers("enter") == [False])


def test_a_finding_without_trial_and_preset_says_that_nothing_can_be_tried() -> None:
    found = Bottleneck(code="retraced", message="step was traced 15 times")
    for running in (True, False):
        assert says.selects(found, tries=False, running=running) == "it has no trial and no preset"


async def test_the_whole_page_can_be_opened_and_exported(tmp_path: Path, made, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    watched.play(made)
    app = lab(tmp_path, watching=made)
    async with opened(app) as pilot:
        await press(pilot, app, "A", "pagedown")
        assert "functions traced more than once" in text(app)
        await press(pilot, app, "escape", "e", "enter")
        await until(pilot, lambda: list(tmp_path.glob("tuilab-watch-*.md")))
    assert "input-bound" in next(tmp_path.glob("tuilab-watch-*.md")).read_text()


async def test_several_programs_have_rows_and_enter_shows_one(tmp_path: Path, made) -> None:
    watched.play(made)
    page = made.page
    slow = StepTimes(n=61, median_s=0.4, ci95_s=(0.39, 0.41), kind="keras")
    rows = tuple(msgspec.structs.replace(row, pid=8, host="gpu-07", steps=slow) for row in page.processes)
    other = msgspec.structs.replace(page, host="gpu-07", findings=(), steps=slow, processes=rows)
    several = Several([ShownProgram(page), ShownProgram(other)])
    app = lab(tmp_path, watching=several)
    async with opened(app) as pilot:
        assert "input-bound: 83%" in text(app)
        await press(pilot, app, "8")
        assert "laptop" in text(app) and "gpu-07" in text(app) and "400 ms" in text(app)
        app.screen.set_focus(app.screen.processes)  # type: ignore[attr-defined]
        await press(pilot, app, "end", "enter", "6")
        assert "No bottleneck found" in text(app) and "input-bound" not in text(app)
        assert "Process 8 on gpu-07 is the slowest: 400 ms a step" in " ".join(text(app).split())
        await press(pilot, app, "q")
        await until(pilot, lambda: app.leaving)


def test_tensorflow_logs_of_the_profiler_are_not_program_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = (
        b"I0000 00:00:1795424103.382674   17165 profiler_session.cc:117] Profiler session initializing.\r\n"
    )
    made = watched.watching(monkeypatch.setattr, output=b"one\r\n" + said + b"1/9\r2/9\r\n" + said)
    assert made.output(9) == ["one", "2/9"]


def test_enter_opens_and_closes_a_line_of_the_account() -> None:
    rows = (
        AccountRow(kind="input", stack=("train.py:3", "train.py:9"), seconds=3.0, call="Model.predict"),
        AccountRow(kind="importing", stack=("train.py:1",), seconds=1.0),
        AccountRow(kind="unknown", seconds=0.5),
    )
    page = Page(command=("train.py",), account=rows)
    assert [line.text for line in says.account_lines(page, ())] == [
        "+ train.py:3",
        "  train.py:1",
        "  outside your code",
    ]
    opened = says.account_lines(page, {("train.py:3",)})
    assert [line.text for line in opened][:2] == ["− train.py:3", "    train.py:9"]
    assert opened[1].does == "Model.predict, waiting for input"
