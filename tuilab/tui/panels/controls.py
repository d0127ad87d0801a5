"""The controls: a slider for each parameter, stepped ones for dtype, device and variant, and the switches."""

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from tuilab.lab.settings import (
    Settings,
    device_stop,
    device_stops,
    dtype_stop,
    dtype_stops,
    flipped,
    switches,
    variant_stop,
    variant_stops,
    with_dtype,
    with_variant,
)
from tuilab.model.errors import InputError
from tuilab.model.machine import Machine
from tuilab.model.parameters import Choice, Parameter, Value, is_numeric
from tuilab.model.quantity import size
from tuilab.model.result import Crossover
from tuilab.tui.panels.switches import Switches
from tuilab.tui.widgets.slider import Slider


class Controls(VerticalScroll, can_focus=False):
    """Sliders and switches of the present settings. `Changed` carries the new settings."""

    HELP = """\
## Controls

A slider for each parameter of the workload, and for dtype, device and variant. **↑ ↓** go from one to the
next, **← →** move it, **enter** types a value. With live sliders (l) the lab measures again when a slider
stops moving; **u** undoes a change, **z** sets everything to the document's values.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "slider above", show=False, id="controls.up"),
        Binding("down", "step(1)", "slider below", show=False, id="controls.down"),
    ]

    class Changed(Message):
        """The person changed the settings. `final` is false while a thumb is being dragged."""

        def __init__(self, settings: Settings, final: bool) -> None:
            super().__init__()
            self.settings, self.final = settings, final

    def __init__(self) -> None:
        super().__init__()
        self._settings: Settings | None = None
        self._shape: object = None
        self._machine: Machine | None = None
        self._hosts: tuple[str, ...] = ()
        self._memory: Callable[[dict[str, Value]], int] | None = None
        self._crossover: Crossover | None = None

    async def show(self, settings: Settings, machine: Machine | None, hosts: Sequence[str] = ()) -> None:
        """The settings as they are; rebuilt only where other parameters are declared. hosts: the others."""
        from tuilab.workloads import find

        self._settings, self._machine, self._hosts = settings, machine, tuple(hosts)
        devices = device_stops(settings.arms, machine, settings.hosts, hosts)
        shape = (settings.preset.name, settings.declaration, devices.options)
        if shape != self._shape:
            self._shape = shape
            self._memory = find(settings.declaration.name).memory if not settings.file else None
            await self._rebuild(settings, devices)
        await self._fill(settings)

    async def _rebuild(self, settings: Settings, devices: Choice) -> None:
        focused = self.screen.focused
        kept = focused.id if isinstance(focused, Slider) and focused in self.query(Slider) else None
        with self.app.batch_update():
            await self.remove_children()
            await self.mount_all(self._widgets(settings, devices))
        if kept and (again := self.query(f"#{kept}")):
            again.first().focus()

    def _widgets(self, settings: Settings, devices: Choice) -> list[Widget]:
        preset, declaration = settings.preset, settings.declaration
        numbers = [p for p in declaration.parameters if is_numeric(p)]
        words = [p for p in declaration.parameters if isinstance(p, Choice) and p.name != declaration.dtype]
        stepped: list[Parameter] = [*words]
        if (dtype := dtype_stops(settings)) is not None:
            stepped.append(dtype)
        if (variant := variant_stops(settings)) is not None:
            stepped.append(variant)
        stepped.append(devices)
        out: list[Widget] = [
            Slider(p, marks=preset.marks.get(p.name, ()), id=id_of(p.name), classes="whole") for p in numbers
        ]
        out += [Slider(p, id=id_of(p.name), label_width=9) for p in stepped]
        if len(stepped) % 2:
            # Alone on its row, so that what follows begins on the left again.
            out[-1].add_class("whole")
        return [*out, Switches()]

    async def _fill(self, settings: Settings) -> None:
        self._fill_sliders(settings)
        await self.query_one(Switches).show(switches(settings))

    def _fill_sliders(self, settings: Settings) -> None:
        declaration = settings.declaration
        for slider in self.query(Slider):
            name = slider.parameter.name
            slider.set_value(self._value(settings, name))
            if is_numeric(slider.parameter):
                slider.limit_by(declaration.constraints, settings.values)
                found = self._crossover if name == declaration.axis else None
                slider.set_crossover(found.at if found else None, found.ci95 if found else None)
        axis = self.query(f"#{id_of(declaration.axis)}")
        if axis and self._memory is not None:
            axis.first(Slider).set_note(f"{size(self._memory(dict(settings.values)))} needed")

    def _value(self, settings: Settings, name: str) -> Value:
        if name == "device":
            return device_stop(settings.arms, self._machine, settings.hosts)
        if name == "variant":
            return variant_stop(settings)
        if name == settings.declaration.dtype:
            return dtype_stop(settings)
        return settings.values[name]

    def show_crossover(self, crossover: Crossover | None) -> None:
        """Mark where two arms cross on the track of the sweep's axis."""
        if crossover != self._crossover:
            self._crossover = crossover
            if self._settings is not None:
                self._fill_sliders(self._settings)

    def action_step(self, by: int) -> None:
        """Go to the slider above or below."""
        places: list[Widget] = [w for w in self.query("Slider, SwitchBox") if w.focusable]
        focused = self.screen.focused
        if places:
            at = places.index(focused) + by if focused in places else 0
            self.screen.set_focus(places[min(len(places) - 1, max(0, at))])

    def on_slider_changed(self, event: Slider.Changed) -> None:
        """A slider moved: work out the new settings."""
        event.stop()
        settings = self._settings
        if settings is None:
            return
        try:
            changed = self._apply(settings, event.name, event.value)
        except InputError as error:
            event.slider.set_value(self._value(settings, event.name))
            self.notify(str(error), severity="warning", markup=False)
            return
        self.post_message(self.Changed(changed, event.final))

    def _apply(self, settings: Settings, name: str, value: Value) -> Settings:
        if name == "device":
            return settings.at_device(str(value), self._hosts)
        if name == "variant":
            return with_variant(settings, str(value))
        if name == settings.declaration.dtype:
            return with_dtype(settings, str(value))
        return settings.with_value(name, value)

    def on_switches_flipped(self, event: Switches.Flipped) -> None:
        """A switch was turned over."""
        event.stop()
        if self._settings is None:
            return
        changed = flipped(self._settings, event.switch)
        if changed == self._settings:
            self.notify(f"One {event.switch.group} has to stay on.", severity="warning", markup=False)
            self.call_later(self._fill, self._settings)
        else:
            self.post_message(self.Changed(changed, True))


def id_of(parameter: str) -> str:
    """The slider's id: `p-samples`. A name in Python may have letters that an id may not."""
    return "p-" + re.sub(r"[^A-Za-z0-9_]", lambda letter: f"-{ord(letter[0]):x}-", parameter)
