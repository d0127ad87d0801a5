"""The demo: the user guesses whether a claim holds, and then sees the result."""

import msgspec
import pytest

from tests.tui.data import run_result
from tests.tui.lab import lab, opened, press, rest, text
from tests.tui.scripted import CPU_MACHINE, GPU_MACHINE
from tuilab import catalogue
from tuilab.model.arms import ArmPattern
from tuilab.model.claims import Claim, Faster, KernelFor, PlacedOn, Verdict
from tuilab.model.preset import Preset, Source
from tuilab.model.result import Confidence, Diagnosis
from tuilab.presentation import demo as d
from tuilab.presentation.answer import answer, opening
from tuilab.report.fact_check import html
from tuilab.tui.panels.demo_bar import DemoBar
from tuilab.tui.widgets.wording import clip

GPU_WINS = Claim(text="c", when=Faster(a=ArmPattern(device="GPU"), b=ArmPattern(device="CPU")))
GRAPH_WINS = Claim(text="a graph wins", when=Faster(a=ArmPattern(mode="graph"), b=ArmPattern(mode="eager")))


def preset(name: str, document: str, *claims: Claim) -> Preset:
    return Preset(title=name, workload="stft", name=name, source=Source(document, 1), claims=claims)


def test_the_tour_takes_decidable_claims_of_each_document_in_turn():
    presets = [preset("a", "000", GPU_WINS), preset("b", "000", GRAPH_WINS), preset("c", "001"),
               preset("d", "002", GPU_WINS)]  # fmt: skip
    assert [p.name for p in d.tour(presets, GPU_MACHINE)] == ["a", "d", "b"]
    assert [p.name for p in d.tour(presets, CPU_MACHINE)] == ["b"]
    assert [p.name for p in d.tour(presets[:1], CPU_MACHINE)] == ["a"], "better than nothing"
    assert [p.name for p in d.tour(presets, GPU_MACHINE, {"a": "undecided"})] == ["b", "d"]


def test_a_claim_that_an_op_runs_on_a_gpu_needs_one():
    placed = preset("a", "000", Claim(text="c", when=PlacedOn(op="MatMul", device="GPU")))
    assert d.decidable(placed, GPU_MACHINE) and not d.decidable(placed, CPU_MACHINE)
    kernel = preset("b", "000", Claim(text="c", when=KernelFor(op="MatMul", dtype="int32")))
    assert d.decidable(kernel, CPU_MACHINE), "the build lists its kernels on any machine"


def test_later_steps_follow_the_machine_known_by_then():
    presets = [preset("a", "000", GRAPH_WINS), preset("b", "001", GPU_WINS), preset("c", "002", GRAPH_WINS)]
    demo = d.Demo(d.tour(presets, None))
    assert [p.name for p in demo.steps] == ["a", "c"], "an unknown machine may have no GPU"
    d.update_steps(demo, presets, GPU_MACHINE, {"a": "confirmed"})
    assert [p.name for p in demo.steps] == ["a", "b", "c"]


def test_the_shipped_tour_opens_with_a_large_effect_and_asks_only_decidable_questions():
    shipped = catalogue.load().presets
    for machine in (CPU_MACHINE, GPU_MACHINE):
        steps = d.tour(shipped, machine)
        assert steps[0].name == "tiny-ops" and len(steps) == d.MOST
        assert len({p.source.document for p in steps if p.source}) >= 3
        for step in steps:
            claim = step.claims[0]
            assert not claim.hedged and not isinstance(claim.when, d.SWEPT)
            assert machine.gpus or not d.needs_gpu(claim)


def test_a_refutation_gives_no_reason_for_the_opposite():
    """A finding explains why an arm is slow, but not why a claim is refuted."""
    result = run_result()
    refuted = msgspec.structs.replace(result, claims=(Verdict("c", "refuted", result.arms[0].label),))
    confirmed = msgspec.structs.replace(result, claims=(Verdict("c", "confirmed", result.arms[0].label),))
    some = msgspec.structs.replace(preset("t", "000", GPU_WINS), wrong="It times an empty loop. And more.")
    demo = d.Demo([some])
    demo.tell(refuted)
    assert demo.reason == "The document's code: It times an empty loop."
    demo.tell(confirmed)
    assert "empty loop" not in demo.reason


def test_the_reason_is_of_an_arm_that_the_verdict_compared():
    """The name of another arm also begins with `GPU graph`, but the verdict is not about that arm."""
    result = run_result()
    [one, other] = [
        msgspec.structs.replace(result.arms[0], id=i, label=n)
        for i, n in (("a", "GPU graph"), ("b", "GPU graph copied"))
    ]
    found = tuple(Diagnosis("dtype", f"of {each.label}.", "", "note", each.id) for each in (one, other))
    claims = (Verdict("c", "confirmed", "GPU graph copied took 2 ms, CPU graph 3 ms: 1.5× faster."),)
    about = msgspec.structs.replace(result, arms=(one, other), diagnosis=found, claims=claims)
    assert d.why(preset("t", "000", GPU_WINS), claims[0], about) == "Why: of GPU graph copied."


def test_an_undecided_claim_does_not_count_against_a_guess():
    demo = d.Demo([preset("t", "000", GPU_WINS)])
    demo.choose(1)
    demo.tell(msgspec.structs.replace(run_result(), claims=(Verdict("c", "undecided", "too close"),)))
    assert (demo.right, demo.asked) == (0, 0) and "Not counted" in d.outcome(demo)
    assert d.summary(demo)[0].startswith("1 guess not counted because the evidence is inconclusive; ")


def test_an_untestable_claim_does_not_count_as_measured():
    demo = d.Demo([preset("t", "000", GPU_WINS)])
    demo.tell(msgspec.structs.replace(run_result(), claims=(Verdict("c", "untestable", "no GPU"),)))
    assert d.summary(demo)[0] == "0 claims measured on this machine."
    assert "<th>line</th>" not in html(d.page(demo, None, "")), "the demo has no document"


def test_the_shared_page_repeats_the_doubts_that_the_lab_shows():
    sure = Confidence(half_width=None, wanted=0.05, precise=False, reasons=(), badge="busy processors")
    demo = d.Demo([preset("t", "000", GPU_WINS)])
    claims = (Verdict("c", "confirmed", "2×"),)
    demo.tell(msgspec.structs.replace(run_result(), claims=claims, confidence=sure))
    assert "2× ⚠ busy processors" in html(d.page(demo, None, ""))
    demo.tell(
        msgspec.structs.replace(run_result(), claims=(Verdict("c", "untestable", "no GPU"),), confidence=sure)
    )
    assert "⚠" not in html(d.page(demo, None, ""))
    kernel = Claim(text="c", when=KernelFor(op="MatMul", dtype="int32", exists=False))
    demo = d.Demo([preset("t", "000", kernel)])
    demo.tell(msgspec.structs.replace(run_result(), claims=claims, confidence=sure))
    assert "⚠" not in html(d.page(demo, None, "")), "no time decides a claim about a kernel"


def test_the_shown_claim_has_the_word_that_its_evidence_interprets():
    worded = [p for p in catalogue.load().presets if p.claims and p.claims[0].said]
    assert worded
    for preset in worded:
        shown = d.lines(d.Demo([preset]))[0]
        assert f"“{preset.claims[0].said}”" in shown
        assert "…" not in " ".join(clip(shown, 74, 2)), "two lines on 80 columns"


def test_the_shared_page_marks_each_guess():
    for word, mark in (("confirmed", "right"), ("refuted", "wrong"), ("undecided", "not counted")):
        demo = d.Demo([preset("t", "000", GPU_WINS)])
        demo.choose(1)
        demo.tell(msgspec.structs.replace(run_result(), claims=(Verdict("c", word, "2×"),)))
        assert f"Guessed: it holds, {mark}. 2×" in html(d.page(demo, None, ""))


def test_another_claim_that_decides_the_mark_is_named():
    demo = d.Demo([preset("t", "000", GPU_WINS)])
    both = (Verdict("c", "confirmed", "2×"), Verdict("d", "refuted", "3×"))
    demo.tell(msgspec.structs.replace(run_result(), claims=both))
    assert demo.reason.startswith("Another claim of this preset is refuted, as its mark shows.")
    demo.tell(msgspec.structs.replace(run_result(), claims=both[:1]))
    assert "Another claim" not in demo.reason


async def test_the_tour_ends_with_a_summary_and_a_page_to_share(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "D 1 n 1 n n n")
        shown = text(app)
        assert "3 claims measured" in shown and "(you: right)" in shown
        assert "1 of 1 guess right, 1 guess not counted" in shown, "one process does not decide a close claim"
        await press(pilot, app, "e")
        [page] = tmp_path.glob("fact-check-*.html")
        written = page.read_text()
        assert "1 guess right, 1 guess not counted" in written and "3 claims measured" in written
        assert "Guessed: it holds, right." in written
        assert page.name in " ".join(text(app).replace("│", "").split()) or "written: " in text(app)


async def test_the_summary_of_six_claims_is_not_cut_off(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (120, 40)) as pilot:
        await press(pilot, app, "D 1 n 1 n n n")
        bar = app.screen.query_one(DemoBar)
        bar._demo.outcomes = dict(enumerate([bar._demo.outcomes[0]] * 6))
        bar.repaint()
        await rest(pilot, app)
        assert text(app).count("(you:") == 6
        await press(pilot, app, "left")
        assert bar.outer_size.height == 6, "a question needs fewer lines"


def test_the_clock_runs_unless_paused_or_measuring():
    demo = d.Demo([preset("t", "000", GPU_WINS)], left_s=2)
    assert not demo.tick() and demo.tick()
    demo.paused = True
    assert not demo.tick()
    demo.paused, demo.stage = False, "measure"
    assert not demo.tick()


def test_a_text_is_shortened_to_its_opening():
    assert opening("One frame. On so\nlittle data.") == "One frame."
    assert opening("One frame. On so\nlittle data. And more.", 30) == "One frame. On so little data."
    assert opening("No stop") == "No stop"


@pytest.mark.parametrize(("word", "right"), [(w, list(d.GUESSES).index(g) + 1) for w, g in d.GUESSED.items()])
def test_each_verdict_makes_one_guess_right_and_has_its_own_word(word, right):
    result = msgspec.structs.replace(run_result(), claims=(Verdict("c", word, "its evidence"),))
    for guess in range(1, len(d.GUESSES) + 1):
        demo = d.Demo([preset("t", "000", GPU_WINS)])
        demo.choose(guess)
        demo.tell(result)
        said = d.outcome(demo)
        assert word.capitalize() in said and "its evidence" in said
        assert ("Right" in said) == (guess == right) and demo.right == (guess == right)


async def test_the_keys_of_the_tour_guess_and_show_and_move_and_leave(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "D")
        assert "Demo 1 of 3: " in text(app) and "Is it true here? 1 it holds · 2" in text(app)
        assert "For so small an input the CPU is faster" in text(app)
        assert app.runner.measured == []
        await press(pilot, app, "1")
        assert app.lab is not None
        said = answer(app.lab.state)
        assert said.verdict == "confirmed"
        shown = text(app)
        assert "You said: it holds. Right; 1 of 1. Confirmed: " in shown and "Why: " in shown
        assert app.runner.measured[0].budget.name == "quick"
        await press(pilot, app, "left")
        assert "1 it holds" in text(app)
        await press(pilot, app, "2")
        assert "You said: it does not. Not this time; 0 of 1. Confirmed: " in text(app)
        await press(pilot, app, "escape")
        assert not app.screen.query(DemoBar) and "Controls" in text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_lab_opened_with_the_demo_takes_the_guess(tmp_path, size):
    """On a narrow screen, the sliders of the new preset used to take the focus from the demo."""
    app = lab(tmp_path, demo=True, presets=())
    async with opened(app, size) as pilot:
        await press(pilot, app, "1")
        assert "it holds." in text(app) and "Guess" not in text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_answer_is_hidden_until_the_guess(tmp_path, size):
    app = lab(tmp_path, hold=3)
    async with opened(app, size) as pilot:
        app.runner.let_go()
        await press(pilot, app, "r j D space")
        assert "1 it holds · 2 it does not · 3 it cannot be decided here" in text(app), "all the guesses"
        listed = app.screen.presets
        asked = listed.listed[listed.highlighted]
        assert asked.name == app.lab.state.settings.preset.name, (
            "the list highlights the preset that is shown"
        )
        shown = text(app)
        assert "✓" not in shown and "confirmed" not in shown and "r measures" not in shown
        assert "n measures" in shown
        await press(pilot, app, "8")
        assert "confirmed" not in text(app) and "Advice" not in text(app)
        app.runner._go.clear()
        app.screen.query_one(DemoBar).focus()
        await press(pilot, app, "space")
        assert "measures automatically in" in text(app)
        await press(pilot, app, "1")
        assert "Measuring" in text(app) and "confirmed" not in text(app) and "✓" not in text(app)
        assert "guess first" not in text(app), "the guess has been made"
        app.runner.let_go()
        await rest(pilot, app)
        assert "Right; 1 of 1. Confirmed" in text(app) and "✓ confirmed" in text(app)


async def test_without_a_gpu_the_tour_can_be_paused_and_stepped_without_a_guess(tmp_path):
    app = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "D space")
        assert "paused" in text(app)
        await press(pilot, app, "n")
        assert "Untestable here: No GPU" in text(app) and "You said" not in text(app)


async def test_a_verdict_of_any_length_fits_a_small_screen(tmp_path):
    evidence = (
        "All 6 windows, with and without end padding, use only ops that have a GPU kernel; we take “limited”"
    )
    evidence += " as at least 1. The document says “may”, which one machine cannot refute."
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "D 1")
        bar = app.screen.query_one(DemoBar)
        bar._demo.verdict = Verdict("c", "undecided", evidence)
        bar.repaint()
        await rest(pilot, app)
        output = " ".join(text(app).replace("│", " ").split())
        assert f"Undecided: {evidence}" in output and "esc leaves" in output


async def test_leaving_during_a_measurement_keeps_the_run(tmp_path):
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        await press(pilot, app, "D 1 escape")
        assert app.runner.cancelled == []
        app.runner.let_go()
        await rest(pilot, app)
        assert "done, 8 rounds" in text(app)
