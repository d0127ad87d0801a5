"""Arms as horizontal bars from nought, with whiskers for the interval and the ratio to the fastest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from tuilab.model.quantity import seconds, significant
from tuilab.model.result import ArmResult, RunResult
from tuilab.report.axes import Axis, Limits, laid, place, round_down, round_up, ticks
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


@dataclass(frozen=True)
class Bar:
    """One arm. ratio: how many times the fastest's time it takes, with its interval; null for the fastest."""

    arm: ArmResult
    mark: Mark
    ratio: float | None = None
    ratio_ci: tuple[float, float] | None = None

    @property
    def note(self) -> str:
        """Why there is no bar."""
        return self.arm.reason or (self.arm.status if self.arm.status != "ok" else "not measured")

    @property
    def text(self) -> str:
        """Its median, as precisely as it is known."""
        assert self.arm.median_s is not None
        ends = self.arm.ci95_s
        return seconds(self.arm.median_s, (ends[1] - ends[0]) / 2 if ends else None)


def bars_of(result: RunResult, marks: Mapping[str, Mark]) -> list[Bar]:
    """Arms from the fastest to the slowest, then those that did not run; ratios are to the fastest."""
    arms = sorted(result.arms, key=lambda arm: (arm.median_s is None, arm.median_s or 0.0))
    if not arms:
        return []
    fastest, known = arms[0], {(each.a, each.b): (each.ratio, each.ci95) for each in result.ratios}
    # Where the fastest of all is not drawn, two may have been compared the other way round, or not at all.
    turned = {(b, a): (1 / ratio, (1 / high, 1 / low)) for (a, b), (ratio, (low, high)) in known.items()}
    out = []
    for arm in arms:
        ratio, ci = (turned | known).get((arm.id, fastest.id), (None, None))
        if ratio is None and arm is not fastest and arm.median_s and fastest.median_s:
            ratio = arm.median_s / fastest.median_s
        out.append(Bar(arm, marks.get(arm.id, UNKNOWN), ratio, ci))
    return out


class Bars(Picking[Bar]):
    """Medians side by side: bars from nought, or turned, dots on a log scale."""

    DEFAULT_CSS = "Bars { height: 1fr; width: 1fr; }"

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self._rows:
            return self.empty_lines(width, height)
        layout = arrange(self._rows, width, self._turned)
        foot = draw_foot(layout) if height >= 4 and layout.cells else []
        rows = [draw_bar(bar, layout) for bar in self._rows]
        body = self.arranged(rows, width, height - len(foot))
        while body and not body[-1]:
            body.pop()
        return [*body, *foot]


@dataclass(frozen=True)
class Layout:
    """Columns of a chart of bars, and from where to where its scale goes (seconds)."""

    label: int
    value: int
    cells: int
    ratio: int
    ends: Limits
    log: bool


def ratio_text(bar: Bar, wide: bool) -> str:
    """`1.27 × [1.24 1.30]`, `fastest`, or nothing where it did not run."""
    if bar.arm.median_s is None:
        return ""
    if bar.ratio is None:
        return "fastest"
    text = f"{significant(bar.ratio, 3)} ×"
    if wide and bar.ratio_ci:
        text += f" [{significant(bar.ratio_ci[0], 3)} {significant(bar.ratio_ci[1], 3)}]"
    return text


def arrange(bars: Sequence[Bar], width: int, log: bool) -> Layout:
    """Share out the width."""
    label = min(max(cell_len(bar.arm.label) for bar in bars) + 3, max(10, width * 2 // 5))
    texts = [bar.text for bar in bars if bar.arm.median_s is not None]
    value = max(map(cell_len, texts), default=0) + 1
    ratio = max(cell_len(ratio_text(bar, width >= 72)) for bar in bars) + 1 if width >= 44 else 0
    known = [v for bar in bars for v in (bar.arm.median_s, *(bar.arm.ci95_s or ())) if v]
    high = round_up(max(known, default=1.0))
    low = round_down(min(known, default=0.1) * 0.9) if log else 0.0
    return Layout(label, value, max(0, width - label - value - ratio - 3), ratio, (low, high), log)


def draw_bar(bar: Bar, layout: Layout) -> Line:
    """One arm's row."""
    marker = bar.mark.marker
    arm, there = bar.arm, bar.arm.median_s is not None
    head: list[Run] = [
        (f"{marker} ", bar.mark.style if there else MUTED),
        (fit(arm.label, layout.label - 2), TEXT if there else MUTED),
    ]
    if not there:
        room = layout.value + layout.cells + layout.ratio
        return (*head, (fit(" " + bar.note, room), MUTED))
    head.append((fit(bar.text, layout.value, "right") + " ", STRONG))
    style = STRONG if bar.ratio is None else MUTED
    tail = (fit(ratio_text(bar, layout.ratio > 10), layout.ratio, "right"), style)
    return (*head, *_drawn(bar, layout), *([tail] if layout.ratio else []))


def _drawn(bar: Bar, layout: Layout) -> list[Run]:
    """The bar itself, or the dot, with its whiskers, in `layout.cells` cells."""
    cells, value = layout.cells, bar.arm.median_s
    if not cells or value is None:
        return []
    exact = min(1.0, max(0.0, place(value, layout.ends, layout.log))) * cells
    if layout.log:
        text = [" "] * cells
        at = min(cells - 1, round(exact))
        text[:at] = RULE * at
        text[at] = THUMB
        styles = [FAINT] * at + [bar.mark.style] * (cells - at)
    else:
        # However small, a measured time is not nothing.
        text = list((blocks(exact) or BLOCKS[1]).ljust(cells)[:cells])
        styles = [bar.mark.style] * cells
    if bar.arm.ci95_s:
        low, high = (round(place(v, layout.ends, layout.log) * cells) for v in bar.arm.ci95_s)
        if high - low >= 2:
            left, middle, right = "├─┤"
            for cell in range(max(0, low), min(cells, high + 1)):
                here = left if cell == low else right if cell == high else middle
                # Over the bar itself the whisker is cut out of the bar.
                over = text[cell] == BLOCKS[-1]
                style = TextStyle(bar.mark.hue, reverse=True) if over else bar.mark.style
                if not (layout.log and text[cell] == THUMB):
                    text[cell], styles[cell] = here, style
    return list(zip(text, styles, strict=True))


def draw_foot(layout: Layout) -> list[Line]:
    """The scale under the bars."""
    axis = Axis("", "time", layout.log)
    marks = ticks(axis, layout.ends, max(2, layout.cells // 12))
    start = 1 + layout.label + layout.value + 1
    last, line, labels = layout.cells - 1, ["─"] * layout.cells, []
    for value, label in zip(marks.values, marks.labels, strict=True):
        column = min(last, round(place(value, layout.ends, layout.log) * layout.cells))
        line[column] = "┬"
        label = f"{label} {marks.unit}".rstrip() if value == marks.values[-1] else label
        labels.append((start + column - cell_len(label) // 2, label))
    text = laid(labels, start + layout.cells + layout.ratio, start)
    return [((" " * start, TEXT), ("".join(line), FAINT)), ((text, MUTED),)]
