"""Where a call's time goes: a stacked bar an arm, its phases told apart by fill, hue and share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from tuilab.model.quantity import median_of, seconds
from tuilab.model.result import ArmResult
from tuilab.report.rows import REST, told
from tuilab.tui.widgets.look import MUTED, STRONG, TEXT, Line, Mark, Run, TextStyle
from tuilab.tui.widgets.picked import Picking
from tuilab.tui.widgets.wording import clip, fit

# Phases of the worker's have hues and fills of their own, the same in every run.
_LOOKS = {
    "dispatch": ("h7", "▒"),
    "copy_in": ("h4", "▓"),
    "compute": ("h2", "█"),
    "copy_out": ("h3", "▚"),
    "input_wait": ("h5", "░"),
    "other": ("muted", "░"),
}
_OTHERS = (("h6", "▞"), ("h0", "▒"), ("h1", "▓"))
APART = 0.02
"""From this share on, a total and Live's median are seen to differ."""


@dataclass(frozen=True)
class PhaseRow:
    """One arm, whose bar is its phases in their order."""

    arm: ArmResult
    mark: Mark

    @property
    def note(self) -> str:
        """What is to be said of the phases, or why there are none."""
        return self.arm.reason or self.arm.phases_note or ("" if self.arm.status == "ok" else self.arm.status)

    @property
    def rest(self) -> float:
        """What the phases leave of the total; below nought where they overlap."""
        return (self.arm.total_s or 0.0) - sum(self.arm.phases_s.values())

    @property
    def length(self) -> float:
        """What the bar stands for: the total, or the phases where they are more."""
        return max(self.arm.total_s or 0.0, sum(self.arm.phases_s.values()))


class Phases(Picking[PhaseRow]):
    """Stacked bars of phases, to one scale or turned (`%`), each to its own whole."""

    DEFAULT_CSS = "Phases { height: 1fr; width: 1fr; }"

    HELP = """\
## Phases

Where a call's time goes. Each phase was measured: **dispatch** is the time the host takes to hand the work
over, **copy in** and **copy out** the transfers, **compute** the device's own work, **input wait** the wait
for data. Whatever is left of the end-to-end time is the **remainder**: what the runtime and Python
do between kernels. Live times calls in blocks, Phases one by one, and the timeline while it records, so each
reads a little slower than the one before. **%** switches between times on one scale and shares of each call;
the last lines give the figures of the arm under the cursor.
"""

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not any(row.arm.phases_s for row in self._rows):
            return self.empty_lines(width, height)
        names = phase_names(self._rows)
        head = legend(names, width)[: max(0, height - 3)]
        drawn = [draw_row(row, names, self._rows, width - 1, relative=self._turned) for row in self._rows]
        apart = beside_live([self.picked, *self._rows])
        lines = 2 if height > len(drawn) + len(head) + 1 + bool(apart) else 1
        words = clip(in_words(self.picked), width - 1, lines)
        words += clip(apart, width - 1, 1)
        foot: list[Line] = [((" " + line, MUTED),) for line in words]
        space: list[Line] = [()] if height >= len(drawn) + len(head) + len(foot) + 2 else []
        body = self.arranged(drawn, width, max(1, height - len(head) - len(space) - len(foot)))
        return [*head, *space, *body, *foot]


def phase_names(rows: Sequence[PhaseRow]) -> list[str]:
    """Every phase that some row has, the known ones in the order in which a call goes through them."""
    seen = dict.fromkeys(name for row in rows for name in row.arm.phases_s)
    return [name for name in _LOOKS if name in seen] + [name for name in seen if name not in _LOOKS]


def look_of(name: str, names: Sequence[str]) -> tuple[TextStyle, str]:
    """The style and the fill of a phase."""
    if name == REST:
        hue, fill = "faint", "·"
    elif name in _LOOKS:
        hue, fill = _LOOKS[name]
    else:
        unknown = [other for other in names if other not in _LOOKS]
        hue, fill = _OTHERS[unknown.index(name) % len(_OTHERS)]
    return TextStyle(hue), fill


def legend(names: Sequence[str], width: int) -> list[Line]:
    """The fills with their names, in as many lines as it takes."""
    lines: list[list[Run]] = [[]]
    used = 0
    for name in [*names, REST]:
        style, fill = look_of(name, names)
        word = name.replace("_", " ")
        if used + cell_len(word) + 5 > width and lines[-1]:
            lines.append([])
            used = 0
        lines[-1] += [(" " + fill * 2 + " ", style), (word + " ", TEXT)]
        used += cell_len(word) + 5
    return [tuple(line) for line in lines]


def draw_row(
    row: PhaseRow,
    names: Sequence[str],
    rows: Sequence[PhaseRow],
    width: int,
    *,
    relative: bool,
) -> Line:
    """One arm: marker, label, total and its stacked bar."""
    label = min(max(cell_len(other.arm.label) for other in rows) + 1, max(8, width * 2 // 5))
    totals = [seconds(other.arm.total_s) for other in rows if other.arm.total_s is not None]
    value = max(map(cell_len, totals), default=0) + 1
    there = bool(row.arm.phases_s)
    head: list[Run] = [
        (row.mark.marker + " ", row.mark.style if there else MUTED),
        (fit(row.arm.label, label), TEXT if there else MUTED),
    ]
    cells = width - 2 - label - value - 1
    if not there or row.arm.total_s is None:
        note = row.note or "no phases measured"
        return (*head, (fit(" " + note, max(0, cells + value + 1)), MUTED))
    head.append((fit(seconds(row.arm.total_s), value, "right") + " ", STRONG))
    whole = row.length if relative else max(other.length for other in rows)
    return (*head, *stacked(row, names, whole, cells))


def stacked(row: PhaseRow, names: Sequence[str], whole: float, cells: int) -> list[Run]:
    """The segments in at most `cells` cells, which stand for `whole` seconds; shares where they fit."""
    if cells <= 0 or whole <= 0:
        return []
    parts = [(name, row.arm.phases_s[name]) for name in names if row.arm.phases_s.get(name, 0.0) > 0]
    if row.rest > 0:
        parts.append((REST, row.rest))
    out: list[Run] = []
    done, at = 0.0, 0
    for name, part in parts:
        done += part
        end = min(cells, round(done / whole * cells))
        style, fill = look_of(name, names)
        share = f" {100 * part / row.length:.0f} % "
        length = end - at
        if length >= len(share) + 2 and name != REST:
            left = (length - len(share)) // 2
            out += [(fill * left, style), (share, STRONG), (fill * (length - left - len(share)), style)]
        elif length > 0:
            out.append((fill * length, style))
        at = max(at, end)
    return out


def beside_live(rows: Iterable[PhaseRow]) -> str:
    """Why a total is not the median that Live shows, for the first that is not; "" where all agree."""
    for arm in (row.arm for row in rows if row.arm.phases_s):
        if arm.total_s and arm.median_s and abs(arm.total_s / arm.median_s - 1) > APART:
            return f"Calls timed one by one; in Live's blocks {arm.label} takes {median_of(arm.median_s)}."
    return ""


def in_words(row: PhaseRow) -> str:
    """`CPU graph: 483 µs = dispatch 110 µs ± 4 µs (23 %) + compute 360 µs (75 %) + remainder 13 µs`."""
    arm = row.arm
    if arm.total_s is None or not arm.phases_s:
        return f"{arm.label}: {row.note or 'no phases measured'}"
    note = f"; {row.note}" if row.note else ""
    return f"{arm.label}: {told(arm.total_s, arm.phases_s, arm.phases_ci95_s)}{note}"
