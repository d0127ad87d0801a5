"""The switches: which modes and inputs are measured, and the workload's own flags."""

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import ItemGrid
from textual.content import Content
from textual.message import Message
from textual.widgets import Checkbox

from tuilab.lab.settings import Switch


class SwitchBox(Checkbox):
    """One switch, whose box is part of its label."""

    BUTTON_LEFT = BUTTON_INNER = BUTTON_RIGHT = ""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        super().__init__("", switch.on, compact=True, tooltip=switch.help or None)

    def on_mount(self) -> None:
        self._say()

    def watch_value(self) -> None:
        super().watch_value()
        if self.is_attached:
            self._say()

    def _say(self) -> None:
        name = f"{self.switch.label} input" if self.switch.group == "GPU input" else self.switch.label
        self.label = Content(f"{'☑' if self.value else '☐'} {name}")


class Switches(ItemGrid):
    """Switches side by side, in as many rows as they need. `Flipped` when one is turned over."""

    HELP = """\
## Switches

What is measured side by side: each mode (eager, one graph, XLA) and, for a GPU, with the input already on the
device or copied there in each call; then the workload's own flags.
**← →** go from one to the next, **space** or a click switches it.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "app.focus_previous", "previous", show=False, id="switches.previous"),
        Binding("right", "app.focus_next", "next", show=False, id="switches.next"),
    ]

    class Flipped(Message):
        """The person turned this switch over."""

        def __init__(self, switch: Switch) -> None:
            super().__init__()
            self.switch = switch

    def __init__(self) -> None:
        super().__init__(id="switches", min_column_width=20, regular=False)
        self._switches: tuple[Switch, ...] = ()

    async def show(self, switches: Sequence[Switch]) -> None:
        """The switches as they stand."""
        before, self._switches = self._switches, tuple(switches)
        if [(s.group, s.key) for s in before] != [(s.group, s.key) for s in switches]:
            await self.remove_children()
            await self.mount_all(map(SwitchBox, switches))
        for box, switch in zip(self.query(SwitchBox), switches, strict=True):
            box.switch = switch
            with box.prevent(Checkbox.Changed):
                box.value = switch.on

    @on(Checkbox.Changed)
    def _changed(self, event: Checkbox.Changed) -> None:
        event.stop()
        box = event.checkbox
        if isinstance(box, SwitchBox) and box.value != box.switch.on:
            self.post_message(self.Flipped(box.switch))
