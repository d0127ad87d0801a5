"""What a command says while it works and when it is done: short, by people's names for arms, as wide as the terminal."""

import pytest

from tests.made import EAGER, GRAPH, folded, started
from tests.report.test_reports import run
from tuilab.analysis.summary import summarise
from tuilab.cli.narrate import Narrator
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.run import RunState
from tuilab.report.text import dressed, lines, table

GPUS = tuple(
    Arm("GPU:0", mode, input=where) for mode in ("eager", "graph", "xla") for where in ("resident", "copied")
)
NO_GPU = "no GPU is visible to TensorFlow: no NVIDIA driver is loaded on this host"
STARTED = started("r", EAGER, GRAPH, *GPUS)


def test_states_are_said_once_and_a_reason_that_six_arms_share_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = Narrator()
    said(STARTED)
    for arm in (EAGER, GRAPH):
        said(e.Progress(run="r", stage="building", arm=arm.id))
        said(e.Progress(run="r", stage="warming up", arm=arm.id))
    for arm in GPUS:
        said(e.ArmStatus(run="r", arm=arm.id, status="unavailable", reason=NO_GPU))
    assert capsys.readouterr().err.splitlines() == [
        "building",
        "warming up",
        f"GPU eager resident: unavailable: {NO_GPU}",
    ]


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    said = Narrator(quiet=True)
    for event in (e.Warming(stage="importing TensorFlow", elapsed_s=1.0), STARTED):
        said(event)
    said(e.ArmStatus(run="r", arm=GPUS[0].id, status="failed", reason="why"))
    assert capsys.readouterr().err == ""


def without_a_gpu() -> RunState:
    events: list[e.Event] = [
        e.ArmStatus(run="r", arm=arm.id, status="unavailable", reason=NO_GPU) for arm in GPUS
    ]
    for index in range(30):
        blocks = tuple(e.Block(arm.id, 0, 10, 0.01 * (1 + index % 5)) for arm in (EAGER, GRAPH))
        events.append(e.Round(run="r", index=index, blocks=blocks, elapsed_s=index / 10))
    for code, message in (("cpu-contention", "the processor was shared"), ("canary", "it moved")):
        events.append(e.Caveat(run="r", code=code, message=message))
    return folded(STARTED, *events, e.Finished(run="r", status="ok"))


def test_arms_that_one_reason_keeps_from_running_are_one_row() -> None:
    text = table(summarise(without_a_gpu()))
    assert f"6 GPU arms: unavailable: {NO_GPU}" in text
    assert text.count(NO_GPU) == 1


def test_caveats_are_summed_up_and_told_on_request() -> None:
    result = summarise(without_a_gpu())
    brief, whole = table(result, details=False), table(result, details=True)
    assert "⚠ busy host, unsteady host, ± " in brief and "--details shows all" in brief
    assert "the processor was shared" not in brief
    assert "! the processor was shared" in whole and "! it moved" in whole and "--details" not in whole


@pytest.mark.parametrize("width", [40, 80, 120])
def test_prose_is_wrapped_at_the_terminals_width_and_figures_stay_aligned(width: int) -> None:
    found = list(lines(summarise(run()), details=True))
    shown = dressed(found, width, lambda role, line: line)
    rows = {line for role, line in found if role in ("row", "head")}
    assert rows <= set(shown.splitlines())
    assert all(len(line) <= width for line in shown.splitlines() if line not in rows)
    assert " ".join(shown.split()) == " ".join(" ".join(line for _, line in found).split())
