"""Defines the styles, hues, markers and characters of all plots.

Drawing functions return lines of (text, style); the theme turns a style into colors when the line is shown.
Series differ by marker and label, not only by hue.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.color import Color

if TYPE_CHECKING:
    from tuilab.model.arms import Arm


@dataclass(frozen=True, slots=True)
class TextStyle:
    """Style of a text. `name` and `on` are a role, a hue or `#rrggbb`; `on` is the background, "" for the
    widget's own.
    """

    name: str = "text"
    bold: bool = False
    reverse: bool = False
    on: str = ""


Run = tuple[str, TextStyle]
Line = tuple[Run, ...]

TEXT, MUTED, FAINT, ACCENT = TextStyle(), TextStyle("muted"), TextStyle("faint"), TextStyle("accent")
GOOD, BAD, WARN = TextStyle("good"), TextStyle("bad"), TextStyle("warn")
STRONG = TextStyle(bold=True)

# Based on Okabe and Ito (2008), lighter for dark backgrounds and darker for light ones. Hues of CPUs are blue
# and hues of GPUs orange: people with any kind of color blindness can tell them apart. Lightness shows the
# mode. All hues are among a terminal's 256 colors, so they differ on every terminal.
DARK_HUES = {
    "cpu0": "#AFDFFF", "cpu1": "#5FAFFF", "cpu2": "#5F87FF",
    "cpu3": "#87FFFF", "cpu4": "#00AFAF", "cpu5": "#AFAFFF",
    "gpu0": "#FFD787", "gpu1": "#FFAF00", "gpu2": "#FF5F5F",
    "gpu3": "#FFAFAF", "gpu4": "#FF8700", "gpu5": "#D7AF00",
    "h0": "#56B4E9", "h1": "#E69F00", "h2": "#35C596", "h3": "#E59AC8",
    "h4": "#F0E442", "h5": "#F07840", "h6": "#A3A8FF", "h7": "#C0C0C0",
}  # fmt: skip
LIGHT_HUES = {
    "cpu0": "#0087D7", "cpu1": "#005FAF", "cpu2": "#00005F",
    "cpu3": "#008787", "cpu4": "#005F5F", "cpu5": "#5F5FD7",
    "gpu0": "#AF8700", "gpu1": "#D75F00", "gpu2": "#870000",
    "gpu3": "#D70000", "gpu4": "#875F00", "gpu5": "#AF5F5F",
    "h0": "#005F99", "h1": "#A34700", "h2": "#00694F", "h3": "#9B3B7E",
    "h4": "#6B6000", "h5": "#A62F1D", "h6": "#5148B8", "h7": "#4A4A4A",
}  # fmt: skip
PHASES = {
    "compute": "h2",
    "copy": "h1",
    "copy_in": "h4",
    "copy_out": "h3",
    "input": "h5",
    "scheduling": "h4",
    "dispatch": "h7",
    "sync": "h3",
    "stall": "h0",
    "python": "h6",
}
"""Hue of each phase, in every view. Phases that share a view have different hues."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The hue and the marker of a series, the same in every view of a run."""

    hue: str
    marker: str

    @property
    def style(self) -> TextStyle:
        return TextStyle(self.hue)


UNKNOWN = Mark("muted", "•")
"""Mark of an arm without a known mark."""
SHADES = 6
"""Number of hues for each family of devices."""
MARKERS = ("•", "×", "+", "○", "◆", "▲", "□", "▽", "■", "◇", "△", "*",
           "=", "<", ">", "~", "/", "\\")  # fmt: skip


# Characters for drawing. tui/filters.py must have an ASCII replacement for each of them.
HOLLOW = "◌"
"""Marker of an unfinished point."""
FOCUS, THUMB, FILLED, TRACK, CROSSOVER = "▸", "●", "━", "─", "┊"
VERTICAL, RULE, SEPARATOR = "│", "┄", "·"
BLOCKS, LEVELS = " ▏▎▍▌▋▊▉█", " ▁▂▃▄▅▆▇█"


def blocks(cells: float) -> str:
    """Return a bar with the length `cells`, accurate to 1/8 of a cell."""
    full, part = divmod(round(cells * 8), 8)
    return BLOCKS[8] * full + BLOCKS[part].strip()


def gauge(share: float, cells: int, style: TextStyle) -> list[Run]:
    """Return a bar of `cells` cells, filled by the share `share` (0 to 1)."""
    filled = blocks(min(1.0, max(0.0, share)) * cells)
    return [(filled, style), (RULE * (cells - len(filled)), FAINT)]


def hue_color(hue: str, dark: bool) -> str:
    return (DARK_HUES if dark else LIGHT_HUES)[hue]


def contrast(a: Color, b: Color) -> float:
    """Return the contrast ratio of two colors, from 1 to 21 (WCAG 2.2)."""

    def luminance(color: Color) -> float:
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def readable(color: Color, ground: Color, text: Color, least: float = 3.0) -> Color:
    """Blend a color towards the text color until its contrast with the background is at least `least`."""
    for step in range(11):
        moved = color.blend(text, step / 10, alpha=1.0)
        if contrast(moved, ground) >= least:
            return moved
    return text


def marks_for(arms: "Sequence[Arm]") -> dict[str, Mark]:
    """Return a mark for each arm, by arm id.

    The family of the hue shows the kind of device. The lightness of the hue shows the mode if the arms differ
    only in mode and input location; otherwise it follows the order of the arms. The shape of the marker shows
    the mode: round for eager, square or crossed for graph, pointed for XLA. Marks are distinct for up to
    eighteen arms: a model on a CPU and a GPU has that many.
    """
    from tuilab.model.arms import family  # imported here, because the first paint draws no arms

    kinds = list(
        dict.fromkeys((family(a.device), a.device, a.mode, a.dtype, a.variant, a.host) for a in arms)
    )
    by_mode = len(kinds) == len({(kind, mode) for kind, _, mode, *_ in kinds})
    order = {kind: sum(k[0] == kind[0] for k in kinds[:i]) for i, kind in enumerate(kinds)}
    free = dict.fromkeys(MARKERS)
    out = {}
    for index, arm in enumerate(arms):
        kind = (family(arm.device), arm.device, arm.mode, arm.dtype, arm.variant, arm.host)
        shade = MODES[arm.mode] if by_mode else order[kind] % SHADES
        own = [m for m in SHAPES[arm.mode] if m in free] or list(free) or [MARKERS[index % len(MARKERS)]]
        free.pop(own[0], None)
        out[arm.id] = Mark(("gpu" if kind[0] == "GPU" else "cpu") + str(shade), own[0])
    return out


MODES = {"eager": 0, "graph": 1, "xla": 2}
SHAPES = {"eager": "•○◆◇", "graph": "×□■*", "xla": "+▲△▽"}
