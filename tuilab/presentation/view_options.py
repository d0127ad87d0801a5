"""What a person wants to see of the run on the screen; nothing of it changes what is measured."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuilab.model.run import RunState  # after the first paint


@dataclass
class ViewOptions:
    """Which arms and ghosts are drawn, and whether somebody is here for the first time."""

    ghosts: bool = True
    """Earlier runs are drawn under this one."""
    newcomer: bool = False
    """The answer says how to begin."""
    _run: str = ""
    _hidden: frozenset[str] = field(default_factory=frozenset)

    def drawn(self, state: "RunState") -> set[str]:
        """Return ids of the arms of that run that are drawn: all of them until some were hidden."""
        return set(state.arms) - (self._hidden if state.run == self._run else frozenset())

    def draw(self, state: "RunState", arms: Iterable[str]) -> None:
        """Draw these arms of that run alone, until another run is on the screen."""
        self._run, self._hidden = state.run, frozenset(state.arms) - set(arms)
