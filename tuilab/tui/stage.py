"""Since when a run is at what it is at, so that a wait can say how long it is. Pure; no Textual."""

from dataclasses import dataclass

from tuilab.model.run import RunState

LONG_S = 2.0
"""Seconds after which a wait is told."""


@dataclass(frozen=True)
class Stage:
    """what: the same as long as the run is at the same thing. since: by the session's clock."""

    what: tuple[object, ...] = ()
    since: float = 0.0

    def then(self, state: RunState, now: float) -> "Stage":
        """The stage after an event: this one, where the run is still at the same thing."""
        what = _what(state)
        return self if what == self.what else Stage(what, now)


def _what(state: RunState) -> tuple[object, ...]:
    progress = state.progress
    if progress is None:
        return state.run, state.status, state.rounds
    # What counts seconds moves with each block; what counts pieces is one stage from the first to the last.
    moved = progress.done if progress.unit == "s" else None
    return state.run, progress.stage, progress.arm, moved
