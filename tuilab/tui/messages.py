"""Passes the lab's changes to widgets, as messages of Textual."""

from typing import TYPE_CHECKING

from textual.message import Message
from textual.widget import Widget

from tuilab.lab.changes import Change

if TYPE_CHECKING:
    from tuilab.lab import Lab
    from tuilab.model.events import Event


class LabChanged(Message, bubble=False):
    def __init__(self, change: Change, event: "Event | None" = None) -> None:
        super().__init__()
        self.change = change
        self.event = event
        """The worker's event that caused the change; None if there is no such event or if there are
        several.
        """


class Hearing(Widget):
    """A widget that receives every change in the lab as a message `LabChanged`.

    Must be the second base class, because Textual reads styles only from the first one.
    """

    lab: "Lab"

    def on_mount(self) -> None:
        def post(change: Change, event: "Event | None") -> None:
            self.post_message(LabChanged(change, event))

        self._unheard = self.lab.subscribe(post)

    def on_unmount(self) -> None:
        self._unheard()
