"""What changes in the lab, as a message of Textual's."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message
from textual.widget import Widget

from tuilab.lab.changes import Change

if TYPE_CHECKING:
    from tuilab.lab import Lab
    from tuilab.model.events import Event


class LabChanged(Message, bubble=False):
    """Something changed in the lab."""

    def __init__(self, change: Change, event: "Event | None" = None) -> None:
        super().__init__()
        self.change = change
        self.event = event
        """The worker's event that did it; null where it was a person or a replay, or several in one."""


def hear(widget: Widget, lab: "Lab") -> Callable[[], None]:
    """Have every change of the lab come to the widget as a message; returns what ends that."""

    def post(change: Change, event: "Event | None") -> None:
        widget.post_message(LabChanged(change, event))

    return lab.subscribe(post)
