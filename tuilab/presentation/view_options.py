"""What the user wants to see of the run on the screen; it never affects the measurement."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuilab.model.run import RunState  # after the first paint


@dataclass
class ViewOptions:
    """Which arms and ghosts are drawn, and whether the user is new."""

    ghosts: bool = True
    """True if earlier runs are drawn under this one."""
    newcomer: bool = False
    """True if the answer explains how to begin."""
    _run: str = ""
    _hidden: frozenset[str] = field(default_factory=frozenset)

    def drawn_arms(self, state: "RunState") -> set[str]:
        """Return ids of the drawn arms of that run: all until some are hidden."""
        return set(state.arms) - (self._hidden if state.run == self._run else frozenset())

    def draw(self, state: "RunState", arms: Iterable[str]) -> None:
        """Draw only these arms of that run, until another run is on the screen."""
        self._run, self._hidden = state.run, frozenset(state.arms) - set(arms)
