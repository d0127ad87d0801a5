"""What every view is: a container that draws the lab's state when it is asked to."""

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.widget import Widget

if TYPE_CHECKING:
    from tuilab.lab import Lab
    from tuilab.lab.changes import Change


class View(Vertical):
    """One way to look at the run on the screen."""

    DEFAULT_CSS = "View { height: 1fr; }"

    def __init__(self, lab: "Lab", id: str | None = None) -> None:
        super().__init__(id=id)
        self.lab = lab

    def wants(self, change: "Change") -> bool:
        """Whether it has to be drawn again after such a change."""
        return True

    def draw(self) -> None:
        """Show the state as it is. Called whenever something changed and the view is open."""
        raise NotImplementedError

    def place(self) -> Widget | None:
        """What takes the keys when the view does: the first thing in it that can."""
        return next((w for w in self.query("*") if w.focusable), None)

    def take_focus(self) -> None:
        """Give the keys to the view."""
        place = self.place()
        if place is not None:
            place.focus()
