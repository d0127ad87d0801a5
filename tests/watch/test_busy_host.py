"""Findings on a host where other programs use the processors for part of the time."""

import pytest

from tests.tui.watched import FILE
from tuilab.model.program import Function, Graph, Hello, Steps, Window
from tuilab.program.case import Beside, Case
from tuilab.program.findings import findings
from tuilab.program.fold import Process
from tuilab.program.window import Seen

KERAS = "/env/keras/src/backend/tensorflow/trainer.py"
LASTED_S = 6.0


def process(starved: float, parts: dict[str, float], *, keras: bool = False, ops: int = 5) -> Process:
    """Return a program whose steps take 1 ms each and consist of these parts.

    starved: share of the time in which the program waited for a processor.
    """
    out = Process()
    out.apply(Hello(pid=7, parent=1, script=FILE, began=0.0, now=1.0))
    file = KERAS if keras else FILE
    out.apply(Function(number=0, name="step", file=file, line=4, own=not keras, caller=(FILE, 9)))
    nodes = tuple((f"tanh_{n}", "Tanh", "float32", FILE, 5) for n in range(ops))
    out.apply(Graph(number=0, name="step", nodes=nodes))
    calls = tuple((0, 1.0 + n / 1e3, 1.00099 + n / 1e3, False) for n in range(int(LASTED_S * 1e3)))
    out.apply(Steps(now=1.0 + LASTED_S, delayed=starved * LASTED_S, calls=calls))
    step = {name: share * 1e-3 for name, share in parts.items()}
    out.windows.append((Window(start=2.0, end=2.1, steps=100, step=0), Seen(steps=[step] * 100)))
    return out


def codes(of: Process) -> list[str]:
    return [each.code for each in findings(Case(of, {}, Beside()))]


def test_starved_time_leaves_the_step_too() -> None:
    """Launching takes 88.2% of the time, and 34% is starved time. So at least 54.2 of the remaining 66
    percentage points are launching.
    """
    of = process(0.34, {})
    assert of.undisturbed(0.882) == pytest.approx(0.542 / 0.66)
    assert of.undisturbed(1.0) == 1.0 and of.undisturbed(0.2) == 0.0
    assert process(0.0, {}).undisturbed(0.4) == 0.4 and process(1.0, {}).undisturbed(1.0) == 0.0


@pytest.mark.parametrize(("share", "told"), [(0.882, True), (0.78, False)])
def test_small_batches_are_named_on_a_busy_host(share: float, told: bool) -> None:
    parts = {"python": 0.4, "dispatch": share - 0.4, "compute on CPU": 1 - share}
    assert ("small-batches" in codes(process(0.34, parts, keras=True))) is told
    assert "small-batches" in codes(process(0.0, parts, keras=True))


@pytest.mark.parametrize(("share", "told"), [(0.8, True), (0.62, False)])
def test_small_ops_are_named_on_a_busy_host(share: float, told: bool) -> None:
    """In the first case, scheduling takes 80% of the step. An earlier version subtracted the 34% of starved
    time, and the remaining 46% were less than the required half.
    """
    parts = {"scheduling": share, "compute on CPU": 1 - share}
    assert ("xla-off" in codes(process(0.34, parts, ops=300))) is told
    assert "xla-off" in codes(process(0.0, parts, ops=300))


@pytest.mark.parametrize(("share", "told"), [(0.5, True), (0.3, False)])
def test_waiting_for_input_is_named_on_a_busy_host(share: float, told: bool) -> None:
    parts = {"waiting for input": share, "compute on CPU": 1 - share}
    assert ("input-bound" in codes(process(0.34, parts))) is told
    assert "input-bound" in codes(process(0.0, parts))
