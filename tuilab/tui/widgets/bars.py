"""Draws arms as horizontal bars with whiskers for the intervals, and with ratios to the fastest arm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from tuilab.model.quantity import median_of
from tuilab.model.result import ArmResult, RunResult
from tuilab.report.axes import Limits, PlotAxis, laid, place, round_down, round_up, ticks
from tuilab.report.rows import to_fastest
from tuilab.tui.widgets.look import (
    BLOCKS,
    FAINT,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    THUMB,
    UNKNOWN,
    Line,
    Mark,
    Run,
    TextStyle,
    blocks,
)
from tuilab.tui.widgets.picked import Picking
from tuilab.tui.widgets.wording import fit

RATIOS_FROM, INTERVALS_FROM = 44, 72
"""Minimum width for showing ratios, and for showing the intervals of the ratios."""
LEAST_BAR = 12


class Bars(Picking):
    """Medians as bars from zero, or as dots on a logarithmic scale."""

    DEFAULT_CSS = "Bars { height: 1fr; width: 1fr; }"

    def show_result(self, result: RunResult | None, marks: Mapping[str, Mark]) -> None:
        """Show the arms of a result, fastest first. Arms that did not run come last, with the reason."""
        self._ratios = to_fastest(result) if result else {}
        arms = result.arms if result else ()
        # The kinds of work for which the ratios within rounds show another arm to be faster than the arm with
        # the lowest median.
        self._beaten = {arm.does for arm in arms if (r := self._ratios.get(arm.id)) and r.ratio < 1}
        self.show_arms(sorted(arms, key=lambda arm: (arm.median_s is None, arm.median_s or 0.0)), marks)

    def paint(self, width: int, height: int) -> Sequence[Line]:
        arms = self._arms
        if not arms:
            return self.empty_lines(width, height)
        medians = {
            arm.id: median_of(arm.median_s, arm.half_width_s) for arm in arms if arm.median_s is not None
        }
        ratios = {arm.id: self._ratio(arm, width) for arm in arms if arm.id in medians}
        value = max(map(cell_len, medians.values()), default=0) + 1
        kind = self._kind(width)
        ratio = max(map(cell_len, [kind, *ratios.values()])) + 1 if width >= RATIOS_FROM else 0
        room = max(10, width * 2 // 5, width - value - ratio - LEAST_BAR - 3)
        label = min(max(cell_len(arm.label) for arm in arms) + 3, room)
        scale = scale_for(arms, max(0, width - label - value - ratio - 3), log=self._turned)
        rows: list[Line] = []
        for arm in arms:
            mark = self._marks.get(arm.id, UNKNOWN)
            if arm.id not in medians:
                why = arm.reason or (arm.status if arm.status != "ok" else "not measured")
                why = fit(" " + why, value + scale.cells + ratio)
                rows.append(((f"{mark.marker} {fit(arm.label, label - 2)}{why}", MUTED),))
                continue
            rows.append((
                (f"{mark.marker} ", mark.style),
                (fit(arm.label, label - 2), TEXT),
                (fit(medians[arm.id], value, "right") + " ", STRONG),
                *scale.drawn(arm, mark),
                (fit(ratios[arm.id], ratio, "right"), MUTED if arm.id in self._ratios else STRONG),
            ))  # fmt: skip
        foot = scale.foot(label + value + 2, fit(kind, ratio, "right")) if height >= 4 and scale.cells else []
        body = self.arranged(rows, width, height - len(foot))
        while body and not body[-1]:
            body.pop()
        return [*body, *foot]

    def _ratio(self, arm: ArmResult, width: int) -> str:
        """Return `1.27× [1.24 1.30]`, or `fastest`. If the ratios within rounds show another arm to be
        faster, return `smallest median`.
        """
        found = self._ratios.get(arm.id)
        if found is None:
            return "smallest median" if arm.does in self._beaten else "fastest"
        return f"{found.words} {found.span if width >= INTERVALS_FROM else ''}".rstrip()

    def _kind(self, width: int) -> str:
        """Describe how the ratios were computed; "" if no ratio has an interval."""
        compared = [found for found in self._ratios.values() if found.interval]
        if not compared:
            return ""
        if any(not found.paired for found in compared):
            return "of means"
        return compared[0].how if width >= INTERVALS_FROM else "of rounds"


@dataclass(frozen=True)
class Scale:
    cells: int
    ends: Limits
    log: bool

    def at(self, value: float) -> float:
        """Return the distance of a time from the left end of the scale, in cells."""
        return min(1.0, max(0.0, place(value, self.ends, self.log))) * self.cells

    def drawn(self, arm: ArmResult, mark: Mark) -> list[Run]:
        """Return the bar or the dot of an arm, with whiskers if they are at least two cells apart."""
        exact, styles = self.at(arm.median_s or 0.0), [mark.style] * self.cells
        if self.log and self.cells:
            dot = min(self.cells - 1, round(exact))
            text = list((RULE * dot + THUMB).ljust(self.cells))
            styles[:dot] = [FAINT] * dot
        else:
            # the smallest time must also be visible as a bar
            text = list((blocks(exact) or BLOCKS[1]).ljust(self.cells)[: self.cells])
        low, high = (round(self.at(end)) for end in arm.ci95_s or (0.0, 0.0))
        for cell in range(low, min(self.cells, high + 1)) if high - low >= 2 else ():
            if text[cell] == THUMB:
                continue
            # a whisker over the bar is drawn as a gap
            styles[cell] = TextStyle(mark.hue, reverse=text[cell] == BLOCKS[-1])
            text[cell] = "├" if cell == low else "┤" if cell == high else "─"
        return list(zip(text, styles, strict=True))

    def foot(self, start: int, after: str) -> list[Line]:
        """Return the line of the scale and its labels. The bars start at column `start`; `after` is the text
        to their right.
        """
        marks = ticks(PlotAxis("", "time", self.log), self.ends, max(2, self.cells // 12))
        line, labels = ["─"] * self.cells, []
        for value, label in zip(marks.values, marks.labels, strict=True):
            column = min(self.cells - 1, round(self.at(value)))
            line[column] = "┬"
            label = f"{label} {marks.unit}".rstrip() if value == marks.values[-1] else label
            labels.append((start + column - cell_len(label) // 2, label))
        text = laid(labels, start + self.cells + len(after), start)
        return [((" " * start, TEXT), ("".join(line), FAINT), (after, MUTED)), ((text, MUTED),)]


def scale_for(arms: Sequence[ArmResult], cells: int, *, log: bool) -> Scale:
    known = [value for arm in arms for value in (arm.median_s, *(arm.ci95_s or ())) if value]
    low = round_down(min(known, default=0.1) * 0.9) if log else 0.0
    return Scale(cells, (low, round_up(max(known, default=1.0))), log)
