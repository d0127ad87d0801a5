"""Under the table of runs: what is known of the one under the cursor, and what the last act did."""

from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len

from tuilab.analysis.words import percent, times
from tuilab.lab.history import Entry
from tuilab.model.quantity import median_of, size
from tuilab.tui.screens.history_table import fastest, status, tags
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, BAD, GOOD, MUTED, SEPARATOR, STRONG, TEXT, WARN, Line, TextStyle
from tuilab.tui.widgets.wording import clip, fit, wrap

Tone = Literal["quiet", "good", "warn", "bad"]
TONES: dict[Tone, TextStyle] = {"quiet": MUTED, "good": GOOD, "warn": WARN, "bad": BAD}
MOST_SAID = 3


class About(LineWidget):
    """The run under the cursor in full."""

    def __init__(self) -> None:
        super().__init__(empty="Nothing chosen.")
        self._entry: Entry | None = None

    def show(self, entry: Entry | None) -> None:
        """Another run, or the same with more known of it."""
        if entry != self._entry:
            self._entry = entry
            self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        entry = self._entry
        if entry is None or not entry.run:
            return self.empty_lines(width, height)
        lines: list[Line] = [self._head(entry, width)]
        answer = entry.line.answer or sentence(entry)
        room = max(1, height - 3) if height > 3 else 1
        lines += [((text, TEXT),) for text in clip(answer, width, room)]
        note = [line for part in entry.line.note.splitlines() for line in wrap(part, width - 6)]
        values = " ".join(f"{name}={value}" for name, value in entry.parameters.items())
        rest = height - len(lines)
        if rest > 1 or not note:
            lines.append((("with ", MUTED), (fit(values, width - 5), MUTED)))
        room = height - len(lines)
        if len(note) > room > 0:
            note[room - 1] += "…"
        for index, text in enumerate(note[: max(0, room)]):
            lines.append((("note  " if not index else "      ", MUTED), (fit(text, width - 6), TEXT)))
        return lines[:height]

    def _head(self, entry: Entry, width: int) -> Line:
        line = entry.line
        between = f" {SEPARATOR} "
        when = line.at[:19].replace("T", " ")
        parts = [
            f"{when} UTC on {line.host}",
            line.budget,
            f"{status(entry)}, {line.rounds:,} rounds",
            size(line.size),
            f"from {line.source}" if line.source else "",
            f"id {line.run[:8]}",
        ]
        marks = " ".join([line.pinned, tags(entry)]).strip()
        out: list[tuple[str, TextStyle]] = [(entry.name, STRONG), (f"  {marks}" if marks else "", ACCENT)]
        out.append((between + between.join(part for part in parts if part), MUTED))
        return cut(out, width)


def cut(line: Sequence[tuple[str, TextStyle]], width: int) -> Line:
    """The pieces of a line as far as there is room."""
    out: list[tuple[str, TextStyle]] = []
    room = width
    for text, style in line:
        length = cell_len(text)
        if length > room:
            return (*out, (fit(text, room), style))
        out.append((text, style))
        room -= length
    return tuple(out)


def sentence(entry: Entry) -> str:
    """The answer of a run that has kept none, from its line."""
    found = entry.brief
    if entry.line.status is None and not entry.line.rounds:
        return "It has no rounds yet, or was cut short before the first."
    if found is None:
        return "No answer was saved; enter replays it." if entry.line.rounds else "It has no rounds."
    if found.median_s is None:
        return "No arm could be measured."
    if found.ratio is None or found.low is None or found.high is None:
        return f"{fastest(entry)} per call."
    if not found.leads:
        apart = max(found.high - 1, 1 - found.low)
        return f"{fastest(entry)} per call; {found.next} takes as long within {percent(apart)}."
    interval = f"[{times(found.low)[:-2]} {times(found.high)[:-2]}]"
    ratio = f"{found.next} takes {times(found.ratio)} {interval} as long."
    return f"{found.fastest} is fastest: {median_of(found.median_s)}. {ratio}"


class Said(LineWidget):
    """What the last act did, or what goes on."""

    DEFAULT_CSS = "Said { height: 1; padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__(id="said")
        self.text, self._tone = "", TONES["quiet"]

    def say(self, text: str, tone: Tone = "quiet") -> None:
        """Show it, in as many lines as it needs, up to three."""
        self.text, self._tone = text, TONES[tone]
        width = max(20, self.app.size.width - 2)
        self.styles.height = min(MOST_SAID, max(1, len(wrap(text, width))))
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        return [((text, self._tone),) for text in clip(self.text, width, height)]
