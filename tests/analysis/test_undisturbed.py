import random

import pytest

from tests.made import EAGER, GRAPH, folded, started
from tuilab.analysis.answer import answer
from tuilab.analysis.summary import summarise
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.run import RunState
from tuilab.report.rows import doubts

IDLE_S, SLOWER, SONG_S = 370e-6, 1.4, 50e-6
WINDOW = 5


def run(
    windows: list[tuple[bool, float, float]], *arms: Arm, processes: int = 1, told: bool = True
) -> RunState:
    """Return a finished run.

    windows: for each window, whether the measured code was slowed, the processor share of other programs, and
    the canary's time. told: whether the run's events include these windows.
    """
    draw = random.Random(1)
    arms = arms or (GRAPH,)
    made: list[e.Event] = []
    for process in range(processes):
        made.append(started("r1", *arms, worker=process))
        for slow, _, _ in windows:
            for _ in range(WINDOW):
                pace = IDLE_S * (SLOWER if slow else 1.0)
                seconds = [pace * draw.gauss(1, 0.005) for _ in arms]
                blocks = tuple(e.Block(arm.id, 0, 1, s) for arm, s in zip(arms, seconds, strict=True))
                made.append(e.Round(run="r1", index=0, blocks=blocks, elapsed_s=0.1, canary_s=SONG_S))
        seen = tuple(
            e.HostWindow(WINDOW * n, WINDOW, others, song) for n, (_, others, song) in enumerate(windows)
        )
        made += [e.HostWatched(run="r1", windows=seen)] if told else []
    return folded(*made, e.Finished(run="r1", status="ok"))


ALONE, BESIDE, NEIGHBOUR = (False, 0.02, SONG_S), (True, 1.0, SONG_S), (True, 0.03, 1.5 * SONG_S)


@pytest.mark.parametrize("busy", [BESIDE, NEIGHBOUR], ids=["others' programs", "a slower processor"])
@pytest.mark.parametrize("processes", [1, 7])
def test_the_answer_names_the_undisturbed_and_the_actual_pace(busy, processes) -> None:
    state = run([ALONE, busy, busy, busy, ALONE], processes=processes) if processes > 1 else None
    state = state or run([busy, busy, busy, ALONE, busy] * 6)
    (arm,) = summarise(state).arms
    assert arm.undisturbed is not None and arm.ci95_s is not None and arm.median_s is not None
    assert arm.undisturbed.ci95_s[0] <= IDLE_S <= arm.undisturbed.ci95_s[1]
    assert arm.undisturbed.median_s == pytest.approx(IDLE_S, rel=0.01)
    assert arm.median_s == pytest.approx(IDLE_S * SLOWER, rel=0.01)
    assert "37" in arm.undisturbed.sentence and "undisturbed; 51" in arm.undisturbed.sentence
    assert arm.undisturbed.sentence in answer(state)
    assert f"{arm.label}: {arm.undisturbed.sentence}" in doubts(summarise(state))


@pytest.mark.parametrize(
    "windows",
    [[ALONE] * 30, [BESIDE] * 30, [BESIDE] * 27 + [ALONE] * 3, [(False, 1.0, SONG_S), ALONE] * 15],
    ids=["a quiet host", "never quiet", "too few rounds", "others that take nothing"],
)
def test_without_a_second_figure_only_one_is_reported(windows) -> None:
    state = run(windows)
    assert [arm.undisturbed for arm in summarise(state).arms] == [None]
    assert "undisturbed" not in answer(state)


def test_an_unwatched_host_reports_no_undisturbed_pace() -> None:
    state = run([ALONE, BESIDE] * 15, told=False)
    assert summarise(state).arms[0].undisturbed is None


def test_rounds_of_several_hosts_have_no_undisturbed_figure() -> None:
    state = run([ALONE, BESIDE] * 15, EAGER, Arm("CPU:0", "eager", host="there"))
    assert state.windows == [] and [arm.undisturbed for arm in summarise(state).arms] == [None, None]
