"""The user's choice of the parts of a run to draw. It never affects the measurement."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuilab.model.run import RunState  # imported only after the first paint


@dataclass
class ViewOptions:
    """The arms to draw, whether to draw ghosts (earlier runs), and whether the user is new."""

    ghosts: bool = True
    """Whether earlier runs are drawn under the current one."""
    newcomer: bool = False
    """Whether the answer explains how to begin."""
    _run: str = ""
    _hidden: frozenset[str] = field(default_factory=frozenset)

    def drawn_arms(self, state: "RunState") -> set[str]:
        """Return the ids of the drawn arms in a run: all arms until some are hidden."""
        return set(state.arms) - (self._hidden if state.run == self._run else frozenset())

    def draw(self, state: "RunState", arms: Iterable[str]) -> None:
        """Draw only these arms of a run, until another run is on the screen."""
        self._run, self._hidden = state.run, frozenset(state.arms) - set(arms)
