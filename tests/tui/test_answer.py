import re

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from textual.events import MouseScrollDown
from textual.widgets import Static

from tests.tui.data import arm_results, run_result
from tests.tui.lab import lab, opened, press, rest, text, until
from tests.tui.scripted import CPU_MACHINE
from tuilab.lab.state import overall
from tuilab.model.claims import Verdict
from tuilab.model.events import Log
from tuilab.presentation.answer import answer
from tuilab.report.rows import doubts, folded
from tuilab.tui.screens.answer import AnswerScreen
from tuilab.tui.widgets.answer import AnswerPanel, lay_out
from tuilab.tui.widgets.look import MUTED
from tuilab.tui.widgets.numbers import Numbers, median
from tuilab.tui.widgets.wording import whole_words, wrap


def words(screen: AnswerScreen) -> str:
    return str(screen.query_one(Static).content)


async def test_the_answer_shows_the_claim_that_the_mark_in_the_list_is_about(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "r")
        state = app.screen.lab.state
        claims = [Verdict("first", "confirmed", "yes."), Verdict("second", "refuted", "no.")]
        state.result = lambda: replace(run_result(), claims=tuple(claims))
        said = answer(state)
        assert said.verdict == overall([claim.verdict for claim in claims]) == "refuted"
        assert said.called == "refuted (1 of 2 claims)"
        assert "second (claim 2 of 2)" in said.detail


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.long)])
async def test_the_whole_answer_opens_by_key_and_click_and_wheel(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        await press(pilot, app, "r")
        result = app.screen.lab.state.result()
        for open_it in (
            lambda: pilot.press("A"),
            lambda: pilot.click(AnswerPanel),
            lambda: pilot._post_mouse_events([MouseScrollDown], AnswerPanel, button=0),
        ):
            await open_it()
            await rest(pilot, app)
            assert isinstance(app.screen, AnswerScreen)
            said = words(app.screen)
            assert result.answer in said and result.confidence.of in said
            assert all(claim.text in said and claim.evidence in said for claim in result.claims)
            assert all(f"\n• {doubt}" in said for doubt in doubts(result))
            await press(pilot, app, "escape")
            assert not isinstance(app.screen, AnswerScreen)


async def test_unavailable_arms_take_one_row_in_every_view(tmp_path):
    app = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(app) as pilot:
        for keys in ("r 4", "c", "s", "1"):
            await press(pilot, app, keys)
            picture = text(app).partition("Live")[2].partition("Controls")[0]
            assert "CPU graph" in picture and "GPU graph" not in picture and picture.count("GPU arms") <= 2, (
                keys
            )
            if keys == "c":
                assert sum(arm.median_s is None for arm in app.screen.views.view.query_one(Numbers).rows) == 1
                assert text(app).count("no GPU is visible") <= 3


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_failed_arms_take_a_few_words_and_the_whole_answer_says_why(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        app.runner.failing = ("xla",)
        await press(pilot, app, "r")
        said = " ".join(text(app).split())
        assert "3 arms failed (A)." in said and "model.py" not in said.partition("Live")[0]
        assert app.lab.state.result().answer not in said
        await press(pilot, app, "A")
        assert "model.py, line 7, in step" in words(app.screen)
        table = words(app.screen).partition("Arms\n")[2].partition("\n\n")[0].split("\n")
        assert table[0].split() == ["arm", "median", "95%", "interval", "n", "first", "call"]
        measured = [row for row in table if "failed" not in row]
        assert max(map(len, measured)) <= app.screen.query_one(Static).size.width, "no row breaks"
        await press(pilot, app, "escape")
        app.runner.failing = ("eager", "graph", "xla")
        await press(pilot, app, "r h")
        await until(pilot, lambda: len(app.screen.runs) == 2)
        await rest(pilot, app)
        assert sorted(entry.line.status for entry in app.screen.runs) == ["failed", "ok"]
        assert " failed " in text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_claim_has_a_mark_when_decided_with_the_values_of_the_document(tmp_path, size):
    app = lab(tmp_path, hold=3, rerun=False)
    async with opened(app, size) as pilot:
        await press(pilot, app, "r")
        assert "claim: – decided when the run ends" in text(app) and "✓" not in text(app)
        await press(pilot, app, "8")
        assert "confirmed" not in text(app)
        app.runner.let_go()
        await rest(pilot, app)
        assert "claim: ✓ confirmed" in text(app) and "but you set" not in text(app)
        await press(pilot, app, "A")
        assert "The document claims: " in words(app.screen)
        await press(pilot, app, "escape 1 i right")
        assert "claim: – not the document's" in text(app)
        await press(pilot, app, "r")
        assert "claim: – not the document's" in text(app) and not app.lab.state.stale
        await press(pilot, app, "A")
        assert "confirmed" not in words(app.screen)
        said = " ".join(words(app.screen).split())
        assert "The document claims (but you set samples" in said and "instead of" in said
        await press(pilot, app, "escape 8")
        said = " ".join(text(app).split())
        assert "instead of" in said and "The document claims (but" in said
        await press(pilot, app, "1 escape z r")
        assert "claim: ✓ confirmed" in text(app)


async def test_a_claim_that_is_not_judged_keeps_its_two_reasons_apart(tmp_path):
    app = lab(tmp_path, machine=CPU_MACHINE, rerun=False)
    async with opened(app, (120, 40)) as pilot:
        await press(pilot, app, "r i right r")
        for keys, page in (("A", lambda: words(app.screen)), ("escape 8", lambda: text(app))):
            await press(pilot, app, keys)
            lines = [line.strip(" │▁▂▃▄▅▆▇█") for line in page().splitlines()]
            [why] = [line for line in lines if "not the document's" in line and "claim:" not in line]
            assert why == "Not judged: these settings are not the document's.", why
            [apart] = [line for line in lines if line.startswith("With the measured values:")]
            assert "No GPU is visible" in apart


def test_arms_that_did_not_run_for_one_reason_share_a_row():
    arms = arm_results(gpu=False)
    absent = [arm for arm in arms if arm.median_s is None]
    found = folded(arms)
    assert len(absent) > 2 and len(found) == len(arms) - len(absent) + 1
    waiting = [replace(arm, median_s=None) for arm in arms]
    assert len(folded(waiting, going=True)) == len(found), "arms that still get figures keep their rows"
    assert found[-1].label == f"{len(absent)} GPU arms" and found[-1].reason == absent[0].reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-01-05 10:00:00.100000: I tensorflow/core/platform/cpu_feature_guard.cc:210] It is.", "It is."),
        ("W0000 00:00:1767607200.2 1 gpu_device.cc:2344] Cannot dlopen some.", "Cannot dlopen some."),
        ("I0000 00:00:1767607200.2 1 service.cc:163]   Device [0]: Host", "Device [0]: Host"),
        ("plain [x.py:3] words", "plain [x.py:3] words"),
    ],
)
def test_a_line_of_the_log_begins_with_its_message(text, message):
    assert Log(text=text).message == message


def test_table_and_chart_agree_on_an_arm_without_a_figure():
    from tuilab.analysis.reading import NOT_YET
    from tuilab.tui.widgets.bars import Bars

    arm = replace(arm_results()[0], median_s=None, ci95_s=None, status="cancelled", reason=NOT_YET)
    bars = Bars()
    bars.show_result(replace(run_result(), arms=(arm,)), {})
    [line] = bars.paint(80, 1)
    assert median(replace(arm, status="ok", reason="")) == "no figure yet", (
        "no status in the column of medians"
    )
    assert median(arm) == NOT_YET and NOT_YET in "".join(text for text, _ in line)


def test_a_shortened_answer_ends_with_a_word_and_names_the_key_that_shows_all():
    said = (
        "Predicting: on the CPU, one graph is 6.25× faster than eager: 910 µs against 5.56 ms [4.86 5.97]; "
    )
    for width in range(40, 160):
        [line] = lay_out(said * 2, "", [("A: more", MUTED)], width, 1)
        told = "".join(text for text, _ in line)
        assert told.endswith("  A: more") and cell_len(told) == width
        kept = told.partition("…")[0].split()
        assert [word.strip(",:;") for word in kept] == [
            word.strip(",:;") for word in (said * 2).split()[: len(kept)]
        ]
    for width in range(12, 60):
        for line in wrap(
            "round by round (910 µs against 5.56 ms [4.86 5.97], ± 5% of 2.1 GB), 1.2× slower", width
        ):
            assert not re.search(r"([\d.]|±|\[[^\]]*)$", line) and not re.match(r"(µs|ms|%|×|GB)\b", line)
    assert (
        whole_words("takes 5.56 ms", 12) == "takes…" and whole_words("takes 5.56 ms", 13) == "takes 5.56 ms"
    )
    assert whole_words("one two", 7) == "one two" and whole_words("one three", 7) == "one…"


def test_a_shortened_answer_ends_with_a_whole_sentence_if_one_fits():
    headline = "One graph is 13.7× faster than eager [13.5 13.9]."
    said = f"{headline} On the CPU 0.48 ms [0.47 0.50] against 6.6 ms [6.5 6.7]: it launches 4 ops instead of 80."
    for width in (62, 78, 100):
        [line] = lay_out(said, "under", [("A: more", MUTED)], width, 1)
        told = "".join(text for text, _ in line)
        assert (
            told.startswith(headline)
            and told.endswith("  A: more")
            and "…" not in told
            and "On" not in told[9:]
        )
    lines = lay_out(said, "under", [("A: more", MUTED)], 78, 3)
    told = " ".join("".join(text for text, _ in line) for line in lines)
    assert "instead of 80." in told and "…" not in told


async def test_an_answer_that_a_tag_cuts_ends_with_a_sentence_and_offers_the_rest(tmp_path):
    app = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "r")
        shown = app.screen.query_one(AnswerPanel)
        for width in range(70, 90):
            told = " ".join("".join(part for part, _ in line).rstrip() for line in shown.paint(width, 3))
            whole = "driver is loaded)." in told
            assert whole or (told.endswith("A: more") and "is visible" not in told), (width, told)


async def test_d_shows_the_rest_of_the_document(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (120, 70)) as pilot:
        await press(pilot, app, "d")
        state = app.screen.lab.state
        here = state.settings.preset
        rest_of = [
            p
            for p in state.presets.all
            if p.name != here.name and p.source and p.source.document == here.source.document
        ]
        shown = " ".join(text(app).replace("│", " ").split())
        assert rest_of and "Other claims in this document" in shown
        assert all(p.title in shown for p in rest_of)


@pytest.mark.parametrize(
    ("hold", "then"), [(None, "export it: tuilab export last"), (3, "continue it: tuilab resume last")]
)
async def test_the_lab_says_on_exit_where_the_run_is_kept(tmp_path, hold, then):
    app = lab(tmp_path, hold=hold)
    async with opened(app) as pilot:
        await press(pilot, app, "r")
        if hold:
            await press(pilot, app, "x")
        run = app.lab.state.shown.run
        await pilot.press("q")
        await until(pilot, lambda: app.last_words)
    assert app.runner.closed and app.last_words == f"saved as run {run[:8]}; to {then}"
