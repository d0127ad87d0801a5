"""What every view is: a container that draws the session when it is asked to."""

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.widget import Widget

if TYPE_CHECKING:
    from tuilab.lab import Lab
    from tuilab.lab.changes import Change
    from tuilab.lab.state import LabState


class View(Vertical):
    """One way to look at the run on the screen."""

    DEFAULT_CSS = "View { height: 1fr; }"
    session: "LabState | None" = None
    lab: "Lab | None" = None

    def wants(self, change: "Change") -> bool:
        """Whether it has to be drawn again after such a change."""
        return True

    def draw(self, session: "LabState") -> None:
        """Show the session as it is. Called whenever something changed and the view is open."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again from what was drawn last, for another size."""
        if self.session is not None:
            self.draw(self.session)

    def place(self) -> Widget | None:
        """What takes the keys when the view does: the first thing in it that can."""
        return next((w for w in self.query("*") if w.focusable), None)

    def take_focus(self) -> None:
        """Give the keys to the view."""
        place = self.place()
        if place is not None:
            place.focus()
