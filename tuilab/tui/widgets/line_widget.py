"""The base class of widgets that draw themselves line by line, in styles of the current theme."""

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from tuilab.model.sanitize import sanitize_line
from tuilab.tui.filters import BAND
from tuilab.tui.keys import spoken
from tuilab.tui.widgets.look import DARK_HUES, MUTED, Line, TextStyle, contrast, hue_color, readable
from tuilab.tui.widgets.wording import wrap

# Opacity of the text color over the background, by shade.
_SHADES = {"text": 1.0, "muted": 0.62, "faint": 0.4}
STRONG_TINT = 30
"""Minimum percentage of a hue in a background at which the hue is clearly visible."""
_ROLES = {"accent": "accent", "good": "success", "bad": "error", "warn": "warning"}


class LineWidget(Widget):
    """A widget whose content is `paint(width, height)`: lines of pieces (text, style).

    Call `repaint` after a change of the data. Several calls before the next refresh paint only once, and only
    changed lines are sent. A hidden widget is painted when it becomes visible.
    """

    # Selecting text by dragging would repaint the whole screen at each step, and the selection would be
    # invisible in these widgets.
    ALLOW_SELECT = False
    empty: var[str] = var("", init=False)
    """Sentence shown while the widget has no content, such as the reason why it is empty."""

    def __init__(self, *, empty: str = "", id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.set_reactive(LineWidget.empty, empty)
        self._lines: Sequence[Line] | None = None
        self._painted_size = (0, 0)
        self._due = False
        self._rich_styles: dict[TextStyle, Style] = {}

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """Return at most `height` lines of at most `width` cells each."""
        raise NotImplementedError

    def repaint(self) -> None:
        if not self._due and self.is_attached:
            self._due = True
            self.call_later(self._repaint)

    def _repaint(self) -> None:
        self._due = False
        old, (width, height) = self._lines, self.size
        if old is None or (width, height) != self._painted_size or not self.is_on_screen:
            self._lines = None
            self.refresh()
            return
        new = self._lines = self._safely(width, height)
        pairs = enumerate(zip_longest(old, new, fillvalue=()))
        if rows := [Region(0, y, width, 1) for y, (before, now) in pairs if before != now]:
            self.refresh(*rows)

    watch_empty = on_focus = on_blur = repaint

    def on_show(self) -> None:
        if self._lines is None:
            self.refresh()

    def _safely(self, width: int, height: int) -> Sequence[Line]:
        """Paint the lines without control characters, because a text may come from any source."""
        return [
            line
            if all(text.isprintable() for text, _ in line)
            else tuple((sanitize_line(t), s) for t, s in line)
            for line in (self.paint(width, height)[:height] if width > 0 else ())
        ]

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self._lines is None or self._painted_size != (width, height):
            self._painted_size = (width, height)
            self._lines = self._safely(width, height)
        line: Line = self._lines[y] if y < len(self._lines) else ()
        segments = [Segment(text, self.style_of(style)) for text, style in line]
        return Strip(segments).simplify().adjust_cell_length(width, self.rich_style)

    def empty_lines(self, width: int, height: int, sentence: str = "") -> Sequence[Line]:
        """Return a sentence (by default `empty`) as wrapped and centered lines."""
        text = wrap(spoken(self, sentence or self.empty), max(1, min(width - 2, 72)))[:height]
        top = max(0, (height - len(text)) // 2)
        body = [((" " * max(0, (width - cell_len(line)) // 2) + line, MUTED),) for line in text]
        return [*([()] * top), *body]

    # Styles

    def notify_style_update(self) -> None:
        self._rich_styles.clear()
        super().notify_style_update()

    def style_of(self, style: TextStyle) -> Style:
        found = self._rich_styles.get(style)
        if found is None:
            found = self._rich_styles[style] = self._resolve(style)
        return found

    def _resolve(self, style: TextStyle) -> Style:
        color = self.color_of(style.name)
        ground = self.color_of(style.on) if style.on else None
        sent = ground
        faint = bool(ground) and int(style.on.partition("/")[2] or 100) < STRONG_TINT
        if ground and self.app.console.color_system == "256":
            sent, ground = of_256(ground, faint=faint)
        if ground:
            # On a strong background, the widget's background color may be more readable than the text color.
            best = max(self.color_of("text"), self.background_colors[1], key=lambda c: contrast(c, ground))
            color = best if style.name == "text" else readable(color, ground, best)
        return self.rich_style + Style(
            color=color.rich_color,
            bgcolor=sent.rich_color if sent else None,
            bold=style.bold or None,
            reverse=style.reverse or None,
            # A faint background is the band of an interval, unless its color marks the selected row.
            meta={BAND: True} if faint and not style.on.startswith(("accent", "muted")) else None,
        )

    def color_of(self, name: str) -> Color:
        """Return the color with this name: a shade, a role in the theme, a hue, or `#rrggbb`.

        `name/20` means 20% of the color over the background.
        """
        ground, text = self.background_colors[1], self.colors[3]
        name, _, share = name.partition("/")
        if share:
            return ground.blend(self.color_of(name), int(share) / 100, alpha=1.0)
        if name in _SHADES:
            return ground.blend(text, _SHADES[name] * text.a, alpha=1.0)
        if name in _ROLES:
            return readable(Color.parse(self.app.theme_variables.get(_ROLES[name], "#808080")), ground, text)
        if name in DARK_HUES:
            return Color.parse(hue_color(name, ground.brightness < 0.5))
        return Color.parse(name)


def of_256(ground: Color, *, faint: bool) -> tuple[Color, Color]:
    """Return a background for a terminal with 256 colors, and the color that the terminal shows for it.

    A faint color becomes gray, because the faintest tint of such a terminal would hide the lines drawn on it.
    """
    if faint:
        red, green, blue = ground.rgb
        level = round(0.299 * red + 0.587 * green + 0.114 * blue)
        ground = Color(level, level, level)
    shown = ground.rich_color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
    return ground, Color(shown.red, shown.green, shown.blue)
