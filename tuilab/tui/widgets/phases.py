"""Draws the time of a call as a stacked bar per arm. Phases differ by fill, hue and share."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

from rich.cells import cell_len

from tuilab.analysis.words import percent
from tuilab.model.account import NOT_KNOWN, PY_FUNCTION, STALL
from tuilab.model.quantity import median_of
from tuilab.model.result import ArmResult
from tuilab.report.rows import no_phases, phase_line, phases_known_from
from tuilab.tui.widgets.look import FAINT, MUTED, PHASES, STRONG, TEXT, UNKNOWN, Line, Run, TextStyle
from tuilab.tui.widgets.picked import Picking
from tuilab.tui.widgets.wording import clip, fit, whole_words

Look = tuple[TextStyle, str]
"""Style of a phase, and the character that fills its part of a bar."""
KNOWN: Mapping[str, Look] = {
    "python": (TextStyle(PHASES["python"]), "▞"),
    "dispatch": (TextStyle(PHASES["dispatch"]), "▒"),
    "copy_in": (TextStyle(PHASES["copy_in"]), "▓"),
    "input_wait": (TextStyle(PHASES["input"]), "░"),
    PY_FUNCTION: (TextStyle(PHASES["python"]), "▙"),
    "compute": (TextStyle(PHASES["compute"]), "█"),
    STALL: (TextStyle(PHASES["stall"]), "▨"),
    "copy": (TextStyle(PHASES["copy"]), "▤"),
    "copy_out": (TextStyle(PHASES["copy_out"]), "▚"),
}
"""Phases in the order in which a call runs them, with a fixed look."""
OTHERS = ((TextStyle("h0"), "▒"), (TextStyle("h1"), "▞"), (TextStyle("h3"), "▓"))


class Phases(Picking):
    """Stacked bars of phases: all on the same scale, or each on its own scale."""

    DEFAULT_CSS = "Phases { height: 1fr; width: 1fr; }"

    HELP = """\
## Phases

Where a call's time goes: each arm has one account of its time, whose parts add up to the median of a call. A
short profile after the rounds assigns each moment to the first matching part: **compute** while a kernel
runs, **copy in** or **copy out**, **input wait**, **stall** while the device waits for the host between two
of its kernels, **python** (your own code) or **dispatch** (TensorFlow's Python and runtime). The remainder is
**not known**. The column **bound by**, advice, verdicts and the Timeline view all use this account.
**{arms.scale}** switches between times on one scale and shares of each call; the last lines show the figures
of the arm under the cursor.
"""

    def paint(self, width: int, height: int) -> Sequence[Line]:
        arms = self._arms
        if not any(arm.phases_s for arm in arms):
            return self.empty_lines(width, height)
        looks = looks_of(arms)
        head = legend(looks, width)[: max(0, height - 3)]
        drawn = self._bars(looks, width - 1)
        apart = phases_known_from(self.picked)
        words = clip(phase_line(self.picked), width - 1, 2)
        # The source of the times is shown only if there is room, because the phases are more important.
        if len(words) < 2 or height > len(drawn) + len(head) + 1 + bool(apart):
            words += clip(apart, width - 1, 1)
        # Details of one arm appear only if the bars of all arms fit.
        if len(drawn) + len(head) + len(words) > height:
            words = clip(phase_line(self.picked), width - 1, 1)
        space: list[Line] = [()] if height >= len(drawn) + len(head) + len(words) + 2 else []
        room = max(1, height - len(head) - len(space) - len(words))
        body = self.arranged(drawn, width, room, len(head) + len(space))
        if part := self.part_shown(len(drawn), room):
            words = [f"{whole_words(phase_line(self.picked), width - len(part) - 3)}  {part}"]
        return [*head, *space, *body, *(((" " + line, MUTED),) for line in words)]

    def _bars(self, looks: Mapping[str, Look], width: int) -> list[Line]:
        """Return a line for each arm: marker, label, total time and stacked bar, or the reason why there is
        no bar.
        """
        arms = self._arms
        label = min(max(cell_len(arm.label) for arm in arms) + 1, max(8, width * 2 // 5))
        totals = {
            arm.id: median_of(arm.account.total_s, arm.half_width_s)
            for arm in arms
            if arm.account is not None
        }
        value = max(map(cell_len, totals.values()), default=0) + 1
        longest, cells = max(map(_length, arms)), width - 2 - label - value - 1
        out: list[Line] = []
        for arm in arms:
            mark = self._marks.get(arm.id, UNKNOWN)
            if arm.id in totals:
                whole = _length(arm) if self._turned else longest
                head = ((f"{mark.marker} ", mark.style), (fit(arm.label, label), TEXT))
                total = (fit(totals[arm.id], value, "right") + " ", STRONG)
                out.append((*head, total, *stacked(arm, looks, whole, cells)))
            else:
                why = fit(" " + no_phases(arm), max(0, cells + value + 1))
                out.append(((f"{mark.marker} {fit(arm.label, label)}{why}", MUTED),))
        return out


def looks_of(arms: Iterable[ArmResult]) -> dict[str, Look]:
    """Return the look of each phase in the arms: known phases first, unknown time last."""
    seen = dict.fromkeys(name for arm in arms for name in arm.phases_s)
    known = {name: look for name, look in KNOWN.items() if name in seen}
    others = dict(zip((name for name in seen if name not in (*KNOWN, NOT_KNOWN)), cycle(OTHERS)))
    return {**known, **others, **({NOT_KNOWN: (FAINT, "·")} if NOT_KNOWN in seen else {})}


def _length(arm: ArmResult) -> float:
    return arm.account.total_s if arm.account is not None else 0.0


def legend(looks: Mapping[str, Look], width: int) -> list[Line]:
    """Return each fill with the name of its phase, on as many lines as needed."""
    lines: list[list[Run]] = [[]]
    used = 0
    for name, (style, fill) in looks.items():
        word = name.replace("_", " ")
        if used + cell_len(word) + 5 > width and lines[-1]:
            lines.append([])
            used = 0
        lines[-1] += [(f" {fill * 2} ", style), (word + " ", TEXT)]
        used += cell_len(word) + 5
    return [tuple(line) for line in lines]


def stacked(arm: ArmResult, looks: Mapping[str, Look], whole: float, cells: int) -> list[Run]:
    """Return the stacked bar of an arm, with the shares that fit. `cells` cells stand for `whole` seconds."""
    if cells <= 0 or whole <= 0:
        return []
    out: list[Run] = []
    parts, done, at = arm.phases_s, 0.0, 0
    for name, (style, fill) in looks.items():
        part = parts.get(name, 0.0)
        done += part
        length = min(cells, round(done / whole * cells)) - at
        share = f" {percent(part / _length(arm))} "
        if length >= len(share) + 2 and name != NOT_KNOWN:
            left = (length - len(share)) // 2
            out += [(fill * left, style), (share, STRONG), (fill * (length - left - len(share)), style)]
        elif length > 0:
            out.append((fill * length, style))
        at += max(0, length)
    return out
