"""Which parts of a run the user has chosen to draw. This never affects the measurement."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuilab.model.run import RunState  # imported only after the first paint


@dataclass
class ViewOptions:
    ghosts: bool = True
    """Whether earlier runs are drawn behind the current one."""
    newcomer: bool = False
    """Whether the answer explains how to begin."""
    _run: str = ""
    _hidden: frozenset[str] = field(default_factory=frozenset)

    def drawn_arms(self, state: "RunState") -> set[str]:
        """Return the ids of a run's drawn arms: all arms until the user hides some."""
        return set(state.arms) - (self._hidden if state.run == self._run else frozenset())

    def draw(self, state: "RunState", arms: Iterable[str]) -> None:
        """Draw only these arms of a run, until another run is on the screen."""
        self._run, self._hidden = state.run, frozenset(state.arms) - set(arms)
