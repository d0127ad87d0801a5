"""Moves the focus between the panels of the main screen."""

from textual.widget import Widget

from tuilab.tui.parts.context import Context
from tuilab.tui.screens.jump import JumpScreen


class Navigation:
    def __init__(self, context: Context) -> None:
        self._screen, self._views, self._controls = context.screen, context.views, context.controls
        self._panel, self._presets = context.panel, context.panel.presets

    def to_presets(self) -> None:
        """Focus the presets. On a narrow screen, open or close the drawer."""
        if self._screen.has_class("-narrow") and self._screen.has_class("-drawer"):
            self.close_drawer()
            return
        self._presets.reveal()
        self._screen.set_focus(self._presets)

    def close_drawer(self) -> None:
        """Close the drawer on a narrow screen, and focus the controls instead of the hidden list."""
        narrow = self._screen.has_class("-narrow")
        if self._screen.has_class("-drawer") or (narrow and self._presets.has_focus):
            self._screen.remove_class("-drawer")
            self.to_controls()

    def to_controls(self) -> None:
        first = next((w for w in self._controls.query("*") if w.focusable), None)
        if first is not None:
            self._screen.set_focus(first)

    async def look(self, key: str, *, into: bool = False) -> None:
        """Show a view. If the presets had the focus, move the focus to the view."""
        into = into or self._panel.has_focus_within
        self.close_drawer()
        await self._views.open(key, into=into)

    async def filter(self) -> None:
        """Focus the filter of the open view. If the view has no filter, focus the filter of the presets."""
        view = self._views.view
        lines = view.query("Filter") if view is not None else ()
        if lines:
            self._screen.set_focus(lines.first())
        else:
            await self._panel.action_filter()

    def maximize(self) -> None:
        screen = self._screen
        if screen.maximized is not None:
            screen.minimize()
            return
        around = screen.focused.ancestors_with_self if screen.focused is not None else ()
        panels = (w for w in around if isinstance(w, Widget) and w.has_class("frame"))
        screen.maximized = next(panels, self._views)

    def jump(self) -> None:
        """Show a letter on each widget that can have the focus. Typing a letter moves the focus to the
        letter's widget.
        """

        async def go(place: Widget | None) -> None:
            if place is not None and place.focusable:
                place.focus()
            elif place is not None and place.id:
                await self._views.open(place.id)

        here = [widget for widget in self._screen.focus_chain if widget.region and widget.region.y >= 0]
        self._screen.app.push_screen(JumpScreen([*here, *self._views.query("Tab")]), go)
