import pytest

from tuilab.profile.classify import CALL
from tuilab.profile.xplane import HOST, Recording, XEvent, XLine
from tuilab.program import window

STEPS, OPS, MS = 40, 50, 1_000_000_000


def recording() -> Recording:
    """Return a recording of steps of 1 ms, each with ops that take half of the step's time."""
    calls = [XEvent(CALL, n * MS, (n + 1) * MS) for n in range(STEPS)]
    each = MS // (2 * OPS)
    ops = [
        XEvent("dense/MatMul:MatMul", n * MS + k * each, n * MS + (k + 1) * each, "MatMul")
        for n in range(STEPS)
        for k in range(OPS)
    ]
    events = sorted(calls + ops, key=lambda event: (event.start, -event.end))
    return Recording((XLine("python", HOST, tuple(events)),))


@pytest.mark.parametrize(("most", "steps"), [(10_000, STEPS), (1_000, 19), (10, 4)])
def test_a_window_of_many_events_is_read_up_to_a_whole_step(
    monkeypatch: pytest.MonkeyPatch, most: int, steps: int
) -> None:
    """The steps of a reinforcement learner had thousands of ops, and reading them took 2 s."""
    monkeypatch.setattr(window, "read", lambda data: recording())
    monkeypatch.setattr(window, "MOST_EVENTS", most)
    seen = window.look(b"")
    assert len(seen.steps) == steps
    for parts in seen.steps:
        assert parts == pytest.approx({"compute on CPU": 0.0005, "python": 0.0005})
