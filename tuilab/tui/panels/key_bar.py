"""The last line: the keys of what is open."""

from textual.screen import Screen
from textual.widgets import Footer


class KeyBar(Footer):
    """Textual's footer, which forgets the keys that it has taken away.

    Each change of the keys makes them anew; the footer keeps a watcher on each that it ever made until the
    value they watch changes, which it never does: 30 widgets for every page opened, as long as the lab runs.
    """

    def __init__(self) -> None:
        super().__init__(compact=True)

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Make the keys anew, and tell the value they watch once more, which drops those that are gone."""
        super().bindings_changed(screen)
        self.mutate_reactive(Footer.compact)
