"""What every widget of ours knows: the Rich style of a text style under the present theme."""

from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.theme import Theme
from textual.widget import Widget

from tuilab.tui.widgets.look import (
    DARK_HUES,
    TextStyle,
    contrast,
    hue_color,
    readable,
)

# How far towards the text colour, from the ground.
_SHADES = {"text": 1.0, "muted": 0.62, "faint": 0.4}
STRONG_TINT = 30
"""Per cent of a hue from which on a ground is to be told by it."""
_ROLES = {"accent": "accent", "good": "success", "bad": "error", "warn": "warning", "primary": "primary"}


class ThemedWidget(Widget):
    """A widget that draws with text styles."""

    ALLOW_SELECT = (
        False  # a drag would repaint the whole screen at each step, for a selection that none draws
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._rich_styles: dict[TextStyle, Style] = {}

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def on_unmount(self) -> None:
        # The subscription would keep a closed page's widgets for as long as the lab is open.
        self.app.theme_changed_signal.unsubscribe(self)

    def _theme_changed(self, _: Theme) -> None:
        self._rich_styles.clear()
        self.forget()
        self.refresh()

    def forget(self) -> None:
        """Drop what was drawn; it is drawn afresh when it shows."""

    def notify_style_update(self) -> None:
        self._rich_styles.clear()
        super().notify_style_update()

    def style_of(self, style: TextStyle) -> Style:
        """The Rich style of a text style under the present theme."""
        found = self._rich_styles.get(style)
        if found is None:
            found = self._rich_styles[style] = self._resolve(style)
        return found

    def _resolve(self, style: TextStyle) -> Style:
        color = self.color_of(style.name)
        ground = self.color_of(style.on) if style.on else None
        sent = ground
        if ground and self.app.console.color_system == "256":
            sent, ground = of_256(ground, faint=int(style.on.partition("/")[2] or 100) < STRONG_TINT)
        if ground:
            # On a strong ground the widget's own ground may be read better than its text.
            best = max(self.color_of("text"), self.background_colors[1], key=lambda c: contrast(c, ground))
            color = best if style.name == "text" else readable(color, ground, best)
        return self.rich_style + Style(
            color=color.rich_color,
            bgcolor=sent.rich_color if sent else None,
            bold=style.bold or None,
            reverse=style.reverse or None,
        )

    def color_of(self, name: str) -> Color:
        """The colour of a text style's name: a shade, a role of the theme, a hue, or `#rrggbb`.

        `name/20` is 20 % of that colour laid on the ground.
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
    """A ground to be sent to a terminal of 256 colours, and as it shows there.

    A faint one becomes grey: the faintest tint that such a terminal has hides the lines on it.
    """
    if faint:
        red, green, blue = ground.rgb
        level = round(0.299 * red + 0.587 * green + 0.114 * blue)
        ground = Color(level, level, level)
    shown = ground.rich_color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
    return ground, Color(shown.red, shown.green, shown.blue)
