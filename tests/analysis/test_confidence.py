import pytest

from tests.analysis.made_runs import begun, finish, measure
from tests.made import EAGER, GPU_GRAPH, GRAPH
from tuilab.analysis.confidence import SHORT, _badge, confidence
from tuilab.model import events as e


def test_a_precise_quiet_run_has_no_badge() -> None:
    state = finish(measure(begun([GRAPH, EAGER]), {GRAPH: 4e-4, EAGER: 4e-3}))
    found = confidence(state)
    assert found.precise and found.half_width is not None and found.half_width <= found.wanted
    assert (found.reasons, found.badge) == ((), "")


def test_the_widest_interval_is_compared_with_the_wanted_precision() -> None:
    state = finish(measure(begun([GRAPH, EAGER]), {GRAPH: 4e-4, EAGER: 4e-3}, spread=0.8))
    state.apply(e.Caveat(run="r", code="cpu-contention", message="the processor was shared: …"))
    found = confidence(state)
    assert not found.precise and found.half_width > found.wanted
    assert found.badge.startswith("busy host, ± ") and found.badge.endswith("% (wanted ± 5%)")


def test_arms_without_an_interval_are_counted_because_others_may_have_one() -> None:
    state = measure(begun([GRAPH, EAGER]), {GRAPH: 4e-4}, spread=0.8)
    found = confidence(finish(measure(state, {EAGER: 4e-3}, rounds=2)))
    assert found.badge == "too few samples (1 arm)"


@pytest.mark.parametrize(("reached", "said"), [(0.0502, "just over ± 5%"), (0.06, "± 6% (wanted ± 5%)")])
def test_a_missed_precision_never_equals_the_wanted_one(reached: float, said: str) -> None:
    assert _badge(reached, 0.05, False, (), 0) == said


@pytest.mark.parametrize("code", sorted(SHORT.keys() - {"processes-differ", "other-device"}))
def test_every_grave_caveat_has_a_badge_of_two_words(code: str) -> None:
    state = finish(measure(begun([GRAPH]), {GRAPH: 4e-4}))
    state.apply(e.Caveat(run="r", code=code, message="…", arm="" if "host" in SHORT[code] else GRAPH.id))
    assert SHORT[code] in confidence(state).badge


def test_caveats_that_medians_withstand_and_running_runs_raise_no_badge() -> None:
    state = measure(begun([GRAPH]), {GRAPH: 4e-4}, spread=0.8)
    state.apply(e.Caveat(run="r", code="outliers", message="2 of 20", arm=GRAPH.id))
    assert confidence(state).badge == "" and confidence(state).reasons == ()


def test_a_run_without_figures_has_no_badge() -> None:
    found = confidence(finish(begun([GPU_GRAPH])))
    assert (found.half_width, found.badge) == (None, "")
