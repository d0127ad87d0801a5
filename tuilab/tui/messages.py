"""What changes in the lab, as a message of Textual's."""

from typing import TYPE_CHECKING

from textual.message import Message
from textual.widget import Widget

from tuilab.lab.changes import Change

if TYPE_CHECKING:
    from tuilab.lab import Lab
    from tuilab.model.events import Event


class LabChanged(Message, bubble=False):
    """Tells a widget what changed in the lab."""

    def __init__(self, change: Change, event: "Event | None" = None) -> None:
        super().__init__()
        self.change = change
        self.event = event
        """The worker's event that did it; None where it was a person or a replay, or several in one."""


class Hearing(Widget):
    """A widget to which every change of the lab comes as a message, as long as it is there.

    The second of a class's bases: styles come from the first one alone.
    """

    lab: "Lab"

    def on_mount(self) -> None:
        def post(change: Change, event: "Event | None") -> None:
            self.post_message(LabChanged(change, event))

        self._unheard = self.lab.subscribe(post)

    def on_unmount(self) -> None:
        self._unheard()
