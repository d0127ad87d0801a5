"""The last line: the keys that work on the current screen."""

from collections.abc import Iterator, Sequence

from textual import events
from textual.binding import ActiveBinding
from textual.screen import Screen

from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import MUTED, TEXT, Line, Run, TextStyle
from tuilab.tui.widgets.wording import width_of

KEY, EDGE = TextStyle("accent", bold=True), TextStyle("text/20")


class KeyBar(LineWidget):
    """Shows each key with its action. A click on a key runs its action. The key of the command palette is on
    the right.

    Textual's own footer creates new widgets for all keys whenever the focus moves. Their styling takes 80% of
    the time for styling the whole screen, and they cause another layout and repaint.
    """

    DEFAULT_CSS = """
    KeyBar { height: 1; dock: bottom; color: $footer-foreground; background: $footer-background; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[ActiveBinding, ...] = ()
        self._palette: ActiveBinding | None = None

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    def _changed(self, screen: Screen[object]) -> None:
        if not screen.is_active:
            return  # Textual would ask the page above which keys are possible
        known, shown = screen.active_bindings, dict[str, ActiveBinding]()
        for found in known.values():
            if found.binding.show:
                shown.setdefault(found.binding.action, found)
        self._keys = tuple(shown.values())
        self._palette = known.get(self.app.COMMAND_PALETTE_BINDING)
        self.repaint()

    def _draw_key(self, found: ActiveBinding) -> Line:
        key, does = self.app.get_key_display(found.binding), f" {found.binding.description}"
        return ((key, KEY), (does, TEXT)) if found.enabled else ((key + does, MUTED),)

    def _right(self) -> Line:
        return (("▏", EDGE), *self._draw_key(self._palette)) if self._palette is not None else ()

    def _fitting(self, width: int) -> Iterator[tuple[ActiveBinding, Line]]:
        """Yield the keys that fit to the left of the palette's key, each with its drawn text."""
        room = width - width_of(self._right())
        for found in self._keys:
            drawn = self._draw_key(found)
            room -= width_of(drawn)
            if room < 0:
                return
            yield found, drawn
            room -= 1

    def paint(self, width: int, height: int) -> Sequence[Line]:
        line, right = list[Run](), self._right()
        for _, drawn in self._fitting(width):
            line += [(" ", TEXT)] * bool(line) + [*drawn]
        return [(*line, (" " * (width - width_of([*line, *right])), TEXT), *right)]

    def on_mouse_down(self, event: events.MouseDown) -> None:
        found, end = self._palette, self.size.width - width_of(self._right())
        if event.x < end:
            found, end = None, 0
            for key, drawn in self._fitting(self.size.width):
                end += width_of(drawn) + 1
                if event.x < end - 1:
                    found = key
                    break
        if found is not None and found.enabled:
            self.app.simulate_key(found.binding.key)
