"""The line below a replay: position, speed, and the player's keys."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.binding import Binding, BindingType

from tuilab.lab import Lab
from tuilab.tui.keys import spoken
from tuilab.tui.messages import Hearing, LabChanged
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, FAINT, FILLED, MUTED, TEXT, THUMB, TRACK, Line

KEYS = (
    "{replay-pause} plays and pauses, {replay-back} {replay-on} step, {replay.left} {replay.right} seek, "
    "{replay-slower} {replay-faster} speed, {stop} ends it",
    "{replay-pause} plays, {replay-back} {replay-on} step, {replay.left} {replay.right} seek, "
    "{replay-slower} {replay-faster} speed, {stop} ends",
    "{replay-pause} {replay-back} {replay-on} {replay.left} {replay.right} {replay-slower} {replay-faster} "
    "{stop}",
)
"""Hints, from the longest to the shortest. The first hint that fits is shown."""
LEAST_TRACK = 12


class ReplayStrip(LineWidget, Hearing, can_focus=True):
    DEFAULT_CSS = "ReplayStrip { height: 1; width: 1fr; margin: 0 1; }"
    HELP = """\
## A replay

This strip replays a recorded run at its original pace. **{replay-pause}** plays and pauses, **{replay-back}**
and **{replay-on}** step back and forward by one round, **{replay.left} {replay.right}** seek by a tenth,
**{replay.start}** and **{replay.end}** go to the start and the end, **{replay-slower}** and
**{replay-faster}** change the speed; a click seeks too. Moving a slider does not start a measurement;
**{run}** asks for confirmation before it measures the new settings. **{stop}** ends the replay.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "seek(-1)", "back", show=False, id="replay.left"),
        Binding("right", "seek(1)", "forward", show=False, id="replay.right"),
        Binding("home", "end(0)", "to the start", show=False, id="replay.start"),
        Binding("end", "end(1)", "to the end", show=False, id="replay.end"),
    ]

    def __init__(self, lab: Lab) -> None:
        super().__init__(id="replay")
        self.lab = lab
        self._track = (0, 0)

    @on(LabChanged)
    def _heard(self) -> None:
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        replay = self.lab.playback.replay
        if replay is None:
            return []
        state = "⏸" if replay.paused or replay.over else "▶"
        where = f" round {replay.round:,} of {replay.rounds:,}  {replay.speed:g}× "
        room = width - cell_len(where) - LEAST_TRACK - 6
        keys = next((words for words in (spoken(self, w) for w in KEYS) if cell_len(words) <= room), "")
        cells = max(LEAST_TRACK, width - cell_len(where) - cell_len(keys) - 6)
        done = round((cells - 1) * replay.round / max(1, replay.rounds))
        self._track = (3, cells)
        return [
            (
                (f"{state:<2} ", ACCENT),
                (FILLED * done, ACCENT),
                (THUMB, ACCENT if self.has_focus else TEXT),
                (TRACK * (cells - done - 1), FAINT),
                (where, TEXT),
                (" " + keys, MUTED),
            )
        ]

    def action_seek(self, by: int) -> None:
        self.lab.playback.command(lambda r: r.seek(max(0, r.round + by * max(1, r.rounds // 10))))

    def action_end(self, end: int) -> None:
        self.lab.playback.command(lambda r: r.seek(end * r.rounds))

    def on_click(self, event: events.Click) -> None:
        first, cells = self._track
        share = (event.x - first) / max(1, cells - 1)
        if 0 <= share <= 1:
            self.lab.playback.command(lambda r: r.seek(round(share * r.rounds)))
