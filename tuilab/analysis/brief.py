"""From a run to its line in a list."""

from tuilab.analysis.reading import compare, estimate_at, measured, name_of, summary_point
from tuilab.model.brief import Brief
from tuilab.model.run import RunState


def brief(state: RunState) -> Brief:
    """The fastest arm and how many times as long the next one takes; a sweep counts at its headline point."""
    point = summary_point(state)
    arms = measured(state, point)
    if not arms:
        return Brief(state.rounds)
    found = estimate_at(arms[0], point)
    assert found is not None
    if len(arms) == 1:
        return Brief(state.rounds, name_of(arms[0], point), found.median)
    ratio = compare(arms[1], arms[0], point)
    low, high = (ratio.interval or (None, None)) if ratio else (None, None)
    return Brief(
        rounds=state.rounds,
        fastest=name_of(arms[0], point),
        median_s=found.median,
        next=name_of(arms[1], point),
        ratio=ratio.ratio if ratio else None,
        low=low,
        high=high,
    )
