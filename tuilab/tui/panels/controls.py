"""The panel with a slider for each parameter, dtype, device and variant, and with the switches."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ItemGrid, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Checkbox

from tuilab.lab.settings import Settings, Switch, controls, flipped, switches
from tuilab.lab.slider import Control
from tuilab.model.errors import InputError
from tuilab.model.parameters import is_numeric
from tuilab.tui.widgets.slider import Slider

if TYPE_CHECKING:
    from tuilab.lab.state import LabState


class SwitchBox(Checkbox):
    BUTTON_LEFT = BUTTON_INNER = BUTTON_RIGHT = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "toggle_button", "turn on or off", show=False, id="switches.turn"),
    ]

    def __init__(self, switch: Switch) -> None:
        super().__init__("", compact=True, tooltip=switch.help or None)
        self.show(switch)

    def show(self, switch: Switch) -> None:
        self.switch = switch
        with self.prevent(Checkbox.Changed):
            self.value = switch.on
        name = f"{switch.label} input" if switch.group == "GPU input" else switch.label
        text = f"{'☑' if switch.on else '☐'} {name}"
        if text != self.label.plain:  # setting a label causes a new layout of all controls
            self.label = Content(text)


class Switches(ItemGrid):
    HELP = """\
## Switches

The switches choose the arms: the modes (eager, one graph, XLA) and, for a GPU, whether the input is already
on the device or is copied there in each call. The workload's own flags follow. **{switches.previous}
{switches.next}** move between switches; **{switches.turn}** or a click turns a switch on or off.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "app.focus_previous", "previous", show=False, id="switches.previous"),
        Binding("right", "app.focus_next", "next", show=False, id="switches.next"),
    ]


class Controls(VerticalScroll, can_focus=False):
    HELP = """\
## Controls

A slider for each parameter of the workload, and for dtype, device and variant. **{controls.up}
{controls.down}** go to the previous or next slider, **{slider.less} {slider.more}** move it,
**{slider.type}** lets you type a value. With live sliders ({rerun}) the lab measures again when a slider
stops moving; **{undo}** undoes a change, **{original}** sets everything to the document's values.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority, so that these keys are handled before any keys typed right after them.
        Binding("up", "step(-1)", "slider above", show=False, id="controls.up", priority=True),
        Binding("down", "step(1)", "slider below", show=False, id="controls.down", priority=True),
    ]

    class Changed(Message):
        """The user changed the settings. `final` is False during a drag."""

        def __init__(self, settings: Settings, final: bool) -> None:
            super().__init__()
            self.settings, self.final = settings, final

    def __init__(self, state: "LabState") -> None:
        super().__init__()
        self._state = state
        self._shown: object = None
        self._sliders: tuple[Control, ...] = ()
        self._switches: tuple[Switch, ...] = ()

    def compose(self) -> ComposeResult:
        words = [control for control in self._sliders if not is_numeric(control.parameter)]
        # The last of an odd number of choices gets a whole row, so that the next control starts on the left.
        half = words[: len(words) // 2 * 2]
        for control in self._sliders:
            name = control.parameter.name
            yield Slider(control, id=id_of(name), classes=None if control in half else "whole")
        yield Switches(*map(SwitchBox, self._switches), id="switches", min_column_width=20, regular=False)

    async def draw(self) -> None:
        """Show the current settings. Creates new widgets only if the set of controls has changed."""
        state, before = self._state, self._shape
        if state.settings is None:
            return
        known = state.hosts.reach(state.settings.file)
        shown = state.settings, state.machine, known, state.crossover
        if shown == self._shown:
            return
        self._shown = shown
        self._sliders = controls(*shown)
        self._switches = switches(state.settings)
        if self._shape != before:
            kept = next((widget for widget in self.query("Slider, SwitchBox") if widget.has_focus), None)
            if kept is not None:  # otherwise Textual would focus the next panel, even a hidden one
                self.screen.set_focus(None)
            await self.recompose()
            if kept is not None and self.screen.focused is None:  # no other widget got the focus meanwhile
                same = self.query(f"#{kept.id}") if kept.id else ()
                for place in (*same, *self.query("Slider, SwitchBox"))[:1]:
                    place.focus()
        for slider, control in zip(self.query(Slider), self._sliders, strict=True):
            slider.control = control
        for box, switch in zip(self.query(SwitchBox), self._switches, strict=True):
            box.show(switch)

    def entries(self) -> Iterator[tuple[str, str, Callable[[], object], str]]:
        """Yield a palette entry for each slider and switch. Choosing an entry moves the focus to the slider
        or switch.
        """
        for slider in self.query(Slider):
            parameter = slider.control.parameter
            options = " ".join(getattr(parameter, "options", ()))
            yield f"set {parameter.label}", parameter.help, slider.focus, f"slider parameter {options}"
        for box in self.query(SwitchBox):
            name = box.label.plain.partition(" ")[2]
            yield f"switch {name}", box.switch.help or "", box.focus, f"arm mode {box.switch.group}"

    @property
    def _shape(self) -> object:
        """A value that identifies the set of controls, whatever the controls' values."""
        return [c.parameter for c in self._sliders], [(s.group, s.key) for s in self._switches]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the user types a value, disable the keys that leave the slider."""
        focused = self.screen.focused
        return not (action == "step" and isinstance(focused, Slider) and focused.typed is not None)

    def action_step(self, by: int) -> None:
        places = [widget for widget in self.query("Slider, SwitchBox") if widget.focusable]
        focused = self.screen.focused
        if places:
            at = places.index(focused) + by if focused in places else 0
            self.screen.set_focus(places[min(len(places) - 1, max(0, at))])

    @on(Slider.Changed)
    async def _slid(self, event: Slider.Changed) -> None:
        event.stop()
        settings = self._state.settings
        assert settings is not None
        try:
            hosts = self._state.hosts
            changed = settings.at_stop(
                event.name, event.value, hosts.reach(settings.file), hosts.environments
            )
        except InputError as error:
            await self._refuse(str(error))
        else:
            self.post_message(self.Changed(changed, event.final))

    @on(Checkbox.Changed)
    async def _switched(self, event: Checkbox.Changed) -> None:
        event.stop()
        box, settings = event.checkbox, self._state.settings
        assert isinstance(box, SwitchBox) and settings is not None
        try:
            changed = flipped(settings, box.switch)
        except InputError as error:
            await self._refuse(str(error))
            return
        if changed == settings:
            await self._refuse(f"At least one {box.switch.group} must stay on.")
        else:
            self.post_message(self.Changed(changed, True))

    async def _refuse(self, why: str) -> None:
        self.notify(why, severity="warning", markup=False)
        self._shown = None
        await self.draw()


def id_of(parameter: str) -> str:
    """Return a slider's id, such as `p-samples`. Escapes letters of Python names that are invalid in an
    id.
    """
    return "p-" + re.sub(r"[^A-Za-z0-9_]", lambda letter: f"-{ord(letter[0]):x}-", parameter)
