"""The view that compares the medians of the arms."""

from typing import ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuilab.presentation.race import racers
from tuilab.presentation.status import why_empty
from tuilab.tui.views.base import View, fitting, folded_result, marks
from tuilab.tui.widgets.bars import Bars
from tuilab.tui.widgets.numbers import Numbers
from tuilab.tui.widgets.race import Race


class Compare(View):
    HELP = """\
## Compare

A bar for each arm, fastest first, from zero to its median time per call; `├─┤` at its end is the 95% interval
if it is wider than a character. On the right is the ratio of its time to that of the fastest arm with the
same work, with the 95% interval. The answer uses the same ratio. It is computed round by round, because other
load slows both arms of a round, so it may differ from the quotient of the medians. **{arms.up} {arms.down}**
choose an arm, **{arms.scale}** switches to a logarithmic scale.

**{compare.race}** starts a race: each arm runs the same number of calls at its measured pace. Recordings from
other machines that are pinned as ghosts also race, labeled with machine and date.
"""

    DEFAULT_CSS = "Compare Numbers { height: 0; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "race", "race", id="compare.race"),
        Binding("escape", "end_race", "end the race", show=False, id="compare.end-race"),
    ]

    def compose(self) -> ComposeResult:
        self._raced = ("", 0)
        yield Race()
        yield Bars()
        yield Numbers()

    def draw(self) -> None:
        lab_state = self.lab.state
        bars, numbers = self.query_one(Bars), self.query_one(Numbers)
        result = folded_result(lab_state, self.viewing, going=lab_state.shown.running)
        looks, arms = marks(lab_state.shown), result.arms if result else ()
        bars.empty = why_empty(lab_state)
        run, rounds = self._raced
        if lab_state.shown.run != run or lab_state.shown.rounds < rounds:
            # The lanes of a race are invalid for another run, or after the replay has been rewound.
            self.query_one(Race).end()
        # Reserve a row for each arm and one for the scale. The numbers get the remaining rows.
        bars.show_result(result, looks)
        fitting(numbers, len(arms), self.size.height - len(arms) - 3)
        numbers.update_arms(arms, looks)

    def action_race(self) -> None:
        state = self.lab.state
        self._raced = state.shown.run, state.shown.rounds
        self.query_one(Race).start(racers(state, self.viewing), marks(state.shown))

    def action_end_race(self) -> None:
        race = self.query_one(Race)
        if not race.display:
            raise SkipAction()
        race.end()
