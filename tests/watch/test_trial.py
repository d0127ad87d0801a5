"""A finding's change, measured on a captured step: faster, compared, and refused with the reason."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tuilab.lab import trial
from tuilab.model.program import Bottleneck, Code, Page, ProcessRow, StepPart, StepTimes, Tried
from tuilab.program.gains import at_most, of_program
from tuilab.report.program import measured, page_text

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


@pytest.mark.slow
async def test_xla_is_measured_on_the_programs_own_step_and_compared(tmp_path: Path) -> None:
    tried = await trial.attempt(captured(tmp_path / "step", SMALL_OPS), found(), PAGE)
    assert tried.step is not None and tried.step_ci95 is not None, tried
    assert tried.step_ci95[0] <= tried.step <= tried.step_ci95[1]
    assert tried.program == pytest.approx(of_program(found(), tried.step))
    assert "agree to" in tried.said or "the same" in tried.said


@pytest.mark.slow
async def test_random_results_are_not_called_equal_and_what_xla_refuses_is_named(tmp_path: Path) -> None:
    drawn = await trial.attempt(captured(tmp_path / "a", "x += tf.random.normal([16])"), found(), PAGE)
    assert "cannot be compared" in drawn.said and drawn.step
    body = "x = tf.where(tf.unique(tf.reshape(x, [-1]))[0][0] > 0, x, x); tf.print(x[0, 0])"
    kept = await trial.attempt(captured(tmp_path / "b", body), found(), PAGE)
    assert kept.step is None and kept.said.startswith("could not be measured"), kept


def test_the_program_gains_in_the_share_of_its_time_that_its_steps_take() -> None:
    assert of_program(found(), 2.0) == pytest.approx(1 / (1 - 0.25))
    most = at_most(found(gain_ci95=(1.5, 4.0)))
    assert most is not None and (most.step, most.program) == (4.0, pytest.approx(1 / (1 - 0.5 * 0.75)))
    said = measured(Tried(step=1.7, step_ci95=(1.6, 1.8), program=1.26, said="the step under XLA"))
    assert said == "measured: 1.70× [1.60 1.80] for the step, 1.26× for the program: the step under XLA"
    page = page_of_one(found(tried=Tried(said="could not be measured: no batch")))
    assert "  could not be measured: no batch" in page_text(page).splitlines()


def test_advice_with_an_unmet_condition_is_not_tried() -> None:
    assert trial.can_try(found()) and not trial.can_try(found(preset=""))
    assert not trial.can_try(found("input-bound"))
