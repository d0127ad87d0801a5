"""The lab measures the advised change on a captured step. The trial reports a speedup and compares the
results, or it reports why the change was rejected.
"""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tuilab.analysis.words import percent
from tuilab.lab import trial
from tuilab.model.program import (
    AccountRow,
    Bottleneck,
    Code,
    Page,
    ProcessRow,
    StepPart,
    StepTimes,
    Tried,
)
from tuilab.model.scenario import STEPS_AT_ONCE
from tuilab.presentation.program import program_share
from tuilab.program.advice import TABLE
from tuilab.program.gains import at_most, gain_of_step, of_program, with_trial
from tuilab.report.program import gained, measured, page_text

STEP = """
import sys
import tensorflow as tf
import tuilab

w = tf.Variable(tf.ones([16, 16]))

@tf.function
def step(x):
    BODY
    w.assign_sub(1e-6 * tf.ones_like(w))
    return tf.reduce_mean(x @ w)

tuilab.capture(step, tf.ones([8, 16]), folder=sys.argv[1])
"""
SMALL_OPS = "for _ in range(150): x = tf.tanh(x * 1.01 + tf.sin(x) * 0.1)"
PARTS = tuple(
    StepPart(name=name, seconds=share, share=share)
    for name, share in (("scheduling", 0.6), ("compute on CPU", 0.3), ("python", 0.1))
)
PAGE = Page(command=("train.py",), parts=PARTS)


def found(code: Code = "xla-off", **more: object) -> Bottleneck:
    usual = Bottleneck(
        code=code, message="", share=0.5, gain_at_most=2.0, program_share=0.25, preset="tiny-ops"
    )
    return msgspec.structs.replace(usual, **more)


def page_of_one(finding: Bottleneck) -> Page:
    row = ProcessRow(pid=1, parent=0, command="train.py", steps=StepTimes(n=9, kind="tf.function"), host="")
    return msgspec.structs.replace(PAGE, findings=(finding,), processes=(row,), steps=row.steps)


def captured(folder: Path, body: str) -> str:
    code = STEP.replace("BODY", body)
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, capture_output=True)
    return str(folder)


def speedup_of(tried: Tried) -> float:
    """Return the measured speedup of the step.

    Asserts that the speedup lies in its interval, or that the trial reports too few samples for an interval.
    """
    assert tried.step is not None, tried
    if tried.step_ci95 is None:
        assert "too few for an interval" in tried.said, tried
    else:
        assert tried.step_ci95[0] <= tried.step <= tried.step_ci95[1], tried
        assert "too few" not in tried.said, tried
    return tried.step


@pytest.mark.slow
async def test_xla_is_measured_on_the_programs_own_step_and_compared(tmp_path: Path) -> None:
    tried = await trial.attempt(captured(tmp_path / "step", SMALL_OPS), found(), PAGE)
    speedup_of(tried)
    assert "agree to" in tried.said or "the same" in tried.said
    assert tried.compile_s is not None, tried


@pytest.mark.slow
async def test_random_results_are_not_called_equal_and_what_xla_refuses_is_named(tmp_path: Path) -> None:
    drawn = await trial.attempt(captured(tmp_path / "a", "x += tf.random.normal([16])"), found(), PAGE)
    assert "cannot be compared" in drawn.said and drawn.step
    body = "x = tf.where(tf.unique(tf.reshape(x, [-1]))[0][0] > 0, x, x); tf.print(x[0, 0])"
    kept = await trial.attempt(captured(tmp_path / "b", body), found(), PAGE)
    assert kept.step is None and kept.said.startswith("could not be measured"), kept


DOUBLE = """
import sys
import numpy as np
import tensorflow as tf
import tuilab

w = tf.Variable(np.random.rand(256, 256) / 256)

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - tf.constant(1.0, tf.float64)) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss

tuilab.capture(step, tf.constant(np.random.rand(512, 256)), folder=sys.argv[1])
"""


@pytest.mark.slow
async def test_float32_and_a_graph_are_measured_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "step")
    subprocess.run([sys.executable, "-c", DOUBLE, folder], check=True, capture_output=True)
    tried = await trial.attempt(folder, found("float64"), PAGE)
    speedup_of(tried)
    assert tried.said.startswith("the step in float32; the results agree to within"), tried
    steps = StepTimes(n=99, median_s=10.0, ci95_s=(9.0, 11.0), kind="eager")
    page = msgspec.structs.replace(PAGE, steps=steps)
    tried = await trial.attempt(folder, found("eager-step"), page)
    assert speedup_of(tried) > 10
    same = await trial.attempt(folder, found("mixed-precision"), page)
    assert same.step is None and "runs none of the step's ops in lower precision" in same.said, same


@pytest.mark.slow
async def test_small_batches_are_tried_with_the_advised_steps_per_call(tmp_path: Path) -> None:
    """A larger batch would not be the advised change, and would change the result."""
    folder = captured(tmp_path / "step", SMALL_OPS)
    tried = await trial.attempt(folder, found("small-batches"), PAGE)
    speedup_of(tried)
    assert tried.said.startswith(f"{STEPS_AT_ONCE} steps in each call; the results "), tried
    assert "agree to within" in tried.said or "are the same" in tried.said
    assert f"steps_per_execution={STEPS_AT_ONCE})" in TABLE["small-batches"].change


def test_each_of_several_steps_in_a_call_waits_for_its_own_input() -> None:
    parts = tuple(
        StepPart(name=name, seconds=share, share=share)
        for name, share in (("dispatch", 0.5), ("waiting for input", 0.25), ("python", 0.25))
    )
    page = msgspec.structs.replace(PAGE, parts=parts)
    # If a call of 10 steps takes as long as a call of one step, every part of a step except its wait takes a
    # tenth of its time.
    assert gain_of_step(page, 1.0, 10) == pytest.approx(1 / (0.25 + 0.75 / 10))


def test_a_changed_function_does_not_speed_up_the_ops_beside_it() -> None:
    rows = tuple(
        AccountRow(kind=kind, stack=(), seconds=spent) for kind, spent in (("graphs", 6.0), ("eager", 3.0))
    )
    page = msgspec.structs.replace(PAGE, account=rows, steps=StepTimes(kind="tf.function"))
    # The ops take a third of the 90% outside Python.
    assert gain_of_step(page, 0.5) == pytest.approx(1 / (0.1 + 0.3 + 0.6 * 0.5))
    for kind in ("eager", "keras"):
        other = msgspec.structs.replace(page, steps=StepTimes(kind=kind))
        assert gain_of_step(other, 0.5) == pytest.approx(1 / (0.1 + 0.9 * 0.5))


def test_no_maximum_is_shown_with_a_trial_that_exceeds_it() -> None:
    """The maximum covers only a part of what a float32 step can save, so a trial may exceed it."""
    for step, beyond in ((1.8, False), (2.4, True)):
        of = with_trial(found(), Tried(step=step, said="the step in float32"), 10.0)
        assert (of.gain_at_most is None) is beyond
        assert gained(of).startswith("saves about ") and "at most" not in gained(of)
        assert of.saves_s is not None and of.saves_s < 0.5 * 10.0, "steps take half of the program"


def test_a_trial_that_decides_nothing_promises_nothing() -> None:
    tried = Tried(step=1.12, step_ci95=(0.76, 1.4), said="the step under XLA")
    of = with_trial(found(), tried, 10.0)
    assert of.saves_s is None and "saves" not in gained(of)
    most = at_most(of)
    assert most is not None and most.step == pytest.approx(1.4)
    sure = with_trial(found(), msgspec.structs.replace(tried, step_ci95=(1.05, 1.4)), 10.0)
    assert gained(sure).startswith("saves about ")


def test_a_trial_on_a_busy_host_does_not_limit_the_step() -> None:
    slow = Tried(step=1.1, step_ci95=(1.05, 1.15), said="the step under XLA")
    limits = [
        at_most(msgspec.structs.replace(found(), tried=msgspec.structs.replace(slow, doubts=doubts)))
        for doubts in ((), ("busy host",))
    ]
    assert limits[0] is not None and limits[0].step == pytest.approx(1.15)
    assert limits[1] is not None and limits[1].step is not None and limits[1].step > 1.15


def test_a_busy_host_is_named_beside_the_measured_ratio() -> None:
    said = measured(Tried(step=1.7, step_ci95=(1.6, 1.8), doubts=("busy host",), said="the step under XLA"))
    assert said == "measured: 1.70× [1.60 1.80] (busy host) for the step: the step under XLA"


def test_the_interval_of_a_slower_step_has_the_unit_of_its_ratio() -> None:
    said = measured(Tried(step=0.8, step_ci95=(0.75, 0.85), said="the step in float32"))
    assert said == "measured: 0.800× [0.750 0.850] for the step: the step in float32"


def test_a_measured_saving_is_not_larger_than_the_shown_share_of_the_program() -> None:
    """A change may save more of the program's time than the profiler had assigned to its finding."""
    of = with_trial(found(), Tried(step=40.0, said="the step in float32"), 10.0)
    assert of.saves_s is not None and of.program_share is not None and of.saves_s > of.program_share * 10.0
    assert program_share(of) == percent(of.saves_s / 10.0)
    less = with_trial(found(), Tried(step=1.2, said="the step in float32"), 10.0)
    assert less.saves_s is not None and program_share(less) == percent(less.saves_s / 10.0)
    assert "the step by about" not in gained(of)


async def test_a_trial_keeps_the_doubts_of_both_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [
        {"apart": 0.0, "problem": ""},
        *(
            {"arms": [arm], "confidence": {"reasons": reasons}}
            for arm, reasons in zip(
                ({"mode": "graph", "status": "ok", "median_s": each} for each in (2.0, 1.0)),
                (["drifting"], ["busy host", "drifting"]),
                strict=True,
            )
        ),
    ]

    async def output(command: list[str]) -> bytes:
        return msgspec.json.encode(answers.pop(0))

    monkeypatch.setattr(trial, "_output", output)
    tried = await trial.attempt("step", found("float64"), PAGE)
    assert tried.doubts == ("drifting", "busy host") and tried.step


@pytest.mark.parametrize(
    ("code", "why"),
    [("", "the run printed nothing"), ("import sys; sys.exit('first\\nlast')", "last")],
)
async def test_a_trial_without_output_reports_the_last_line_of_the_error(
    code: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial.guest, "command", lambda *words: [sys.executable, "-S", "-c", code])
    assert (await trial.attempt("step", found(), PAGE)).said == f"could not be measured: {why}"


def test_a_change_that_does_not_apply_is_refused_with_a_reason() -> None:
    page = msgspec.structs.replace(PAGE, steps=StepTimes(n=99, median_s=1.0, kind="eager"))
    assert trial.refusal(found("eager-step"), page) == ""
    drawn = found("eager-step", first=("np.random would be drawn once",))
    assert trial.refusal(drawn, page) == "np.random would be drawn once"
    assert "outside the step" in trial.refusal(found("eager-step"), page_of_one(found()))
    assert trial.refusal(found("xla-off", first=("take it out",), preset=""), page) == "take it out"
    assert trial.refusal(found("small-batches", first=("move it",)), page) == ""


def test_the_program_gains_in_the_share_of_its_time_that_its_steps_take() -> None:
    assert of_program(found(), 2.0) == pytest.approx(1 / (1 - 0.25))
    most = at_most(found(gain_ci95=(1.5, 4.0)))
    assert most is not None and (most.step, most.program) == (4.0, pytest.approx(1 / (1 - 0.5 * 0.75)))
    said = measured(Tried(step=1.7, step_ci95=(1.6, 1.8), program=1.26, said="the step under XLA"))
    assert (
        said == "measured: 1.70× [1.60 1.80] for the step, so about 1.26× for the program: the step under XLA"
    )
    page = page_of_one(found(tried=Tried(said="could not be measured: no batch")))
    assert "  could not be measured: no batch" in page_text(page).splitlines()


def test_a_trial_that_began_before_the_share_was_known_gets_the_programs_gain() -> None:
    early = found(program_share=None, gain_at_most=None)
    tried = with_trial(early, Tried(step=2.0, said="the step under XLA"), 10.0).tried
    assert tried is not None and tried.program is None
    later = with_trial(found(), tried, 10.0).tried
    assert later is not None and later.program == pytest.approx(1 / (1 - 0.25))


def test_time_to_compile_is_taken_from_what_the_steps_save() -> None:
    """Steps take half of the program's 10 s. If they become twice as fast, they save 2.5 s, but compiling
    costs 1.5 s or 4 s.
    """
    for compile_s, saved in ((1.5, 1.0), (4.0, 0.0)):
        of = with_trial(found(), Tried(step=2.0, compile_s=compile_s, said="XLA"), 10.0)
        assert of.saves_s == pytest.approx(saved)
        assert of.tried is not None and of.tried.program == pytest.approx(10 / (7.5 + compile_s))
        assert f"for the step after {compile_s:.2f} s of compiling, " in measured(of.tried)


def test_only_a_change_of_the_step_itself_is_tried() -> None:
    assert trial.can_try(found()) and not trial.can_try(found("input-bound"))


BUSY = StepTimes(n=9, median_s=2.0, ci95_s=(1.9, 2.2), kind="eager")
WAITING = (*PARTS, StepPart(name="waiting for input", seconds=0.5, share=0.25))
ENDS = (0.95e-3, 1.05e-3)


def arms(*given: dict[str, object]) -> dict[str, object]:
    usual = {"mode": "graph", "status": "ok", "median_s": 1e-3, "ci95_s": ENDS, "n": 20, "first_call_s": 0.5}
    return {"scenario": {"parameters": {"batch": 8}}, "arms": [{**usual, **arm} for arm in given]}


FAST = {"mode": "xla", "median_s": 0.5e-3, "ci95_s": (0.4e-3, 0.6e-3), "first_call_s": 2.0}
FEW = {"mode": "xla", "median_s": 0.5e-3, "ci95_s": None, "n": 1, "first_call_s": None}
SAME, NEAR, APART = ({"problem": "", "apart": apart} for apart in (0.0, 2e-5, 0.3))


@pytest.mark.parametrize(
    ("code", "page", "printed", "tried"),
    [
        ("xla-off", PAGE, [SAME, arms({}, FAST)],
         Tried(step=1.818182, step_ci95=(1.496063, 2.258065), compile_s=1.5,
               said="the step under XLA; the results are the same")),
        ("launch-bound", PAGE, [NEAR, arms({}, FEW)],
         Tried(step=1.818182, said="the step under XLA; the results agree to within 2e-05; 1 sample is too few for an "
               "interval")),
        ("float64", PAGE, [APART, arms({}), arms({"median_s": 2e-3, "ci95_s": (1.9e-3, 2.1e-3)})],
         Tried(step=0.526316, step_ci95=(0.478589, 0.578512), said="the step in float32; the results differ by up to 30%: check "
               "them before you use the change")),
        ("mixed-precision", PAGE, [SAME],
         Tried(said="could not be measured: the step under TensorFlow's automatic mixed precision changes nothing: "
               "TensorFlow runs none of the step's ops in lower precision here")),
        ("eager-step", msgspec.structs.replace(PAGE, parts=WAITING, steps=BUSY), [NEAR, arms({"median_s": 0.5, "ci95_s": (0.45, 0.55)})],
         Tried(step=2.0, step_ci95=(1.809524, 2.315789), said="the step as a graph, compared with the original; the "
               "results agree to within 2e-05")),
        ("small-batches", PAGE, [NEAR, arms({}), arms({"median_s": 2e-3, "ci95_s": None, "n": 3})],
         Tried(step=16.842105, said="32 steps in each call; the results agree to within 2e-05; 3 samples are too few for an "
               "interval")),
        ("xla-off", PAGE, [{"problem": "no gradient", "apart": None}],
         Tried(said="could not be measured: the step under XLA fails: no gradient")),
        ("xla-off", PAGE, [{"problem": "", "apart": None}, arms({})],
         Tried(said="could not be measured: no xla arm was measured")),
    ],
)  # fmt: skip
async def test_a_trial_is_computed_from_what_its_processes_print(
    code: Code, page: Page, printed: list[object], tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    async def output(command: list[str]) -> bytes:
        commands.append(command)
        return msgspec.json.encode(printed[len(commands) - 1])

    monkeypatch.setattr(trial, "_output", output)
    measured = await trial.attempt("/x/step", found(code), page, "/env/python")
    assert measured.said == tried.said
    for name in ("step", "step_ci95", "compile_s"):
        assert getattr(measured, name) == pytest.approx(getattr(tried, name), rel=1e-5), name
    runs = [command for command in commands if "run" in command]
    assert all(command[command.index("--python") + 1] == "/env/python" for command in runs)
