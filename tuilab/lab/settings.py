"""The settings of a measurement: a preset with the user's changes."""

import contextlib
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from tuilab.analysis.words import listed
from tuilab.catalogue.plan import parse_axis, parse_settings, usual_sweep
from tuilab.catalogue.validate import check_arms, check_sweep
from tuilab.lab.hosts import hosts_at, stop_of_hosts, stops_of_hosts
from tuilab.lab.slider import Control, reach
from tuilab.model.arms import EVERY, HERE, INPUTS, Arm, ArmSelection, Input, Mode, family
from tuilab.model.errors import InputError
from tuilab.model.expand import expand, expand_on
from tuilab.model.machine import Machine
from tuilab.model.parameters import (
    Choice,
    Integer,
    LogInteger,
    Value,
    Values,
    check_values,
    is_numeric,
    nearest,
    shown,
)
from tuilab.model.preset import Preset
from tuilab.model.quantity import size
from tuilab.model.requests import Measure
from tuilab.model.result import Crossover
from tuilab.model.scenario import AS_IT_IS, BUDGET, BudgetName, Opening, Scenario, Sweep
from tuilab.model.subject import Code, subject_of
from tuilab.model.workload import Declaration
from tuilab.workloads import find

ALL = "all"
BOTH = "both"


class Own(NamedTuple):
    declaration: Declaration
    file: str
    opening: Opening = AS_IT_IS
    """Inputs of the model, and what loading its file may do."""

    @property
    def preset(self) -> Preset:
        """The preset that measures this code with default values."""
        declared = self.declaration
        return Preset(
            title=declared.title or self.file, workload=declared.name, name=declared.name,
            summary=declared.summary,
        )  # fmt: skip


@dataclass(frozen=True)
class Settings:
    preset: Preset
    declaration: Declaration
    values: Values
    arms: ArmSelection
    """The selected arms, independent of the devices that a machine has."""
    file: str = ""
    """Path of the user's code or model, such as `/path/to/file.py:name`; "" for a built-in workload."""
    hosts: tuple[str, ...] = ("",)
    """Names of the hosts that measure; "" is this machine."""
    opening: Opening = AS_IT_IS
    """Inputs of the model, and what loading its file may do."""

    @classmethod
    def of(cls, preset: Preset, own: Own | None = None) -> "Settings":
        declaration, file, opening = own or Own(find(preset.workload).declaration, "")
        values = check_values(declaration.parameters, declaration.constraints, preset.parameters)
        return cls(preset, declaration, values, preset.arms, file, opening=opening)

    def where(self, other: "Settings | None", own: Collection[str] = ()) -> "Settings":
        """Return these settings with the hosts of `other`. Settings that measure a user's file keep their own
        hosts if `other` has a host on another machine.

        own: the hosts that are Python environments on this machine.
        """
        if other is None or self._is_sent(other.hosts, own):
            return self
        return replace(self, hosts=other.hosts)

    def _is_sent(self, hosts: Collection[str], own: Collection[str]) -> bool:
        """Return True if another machine would have to measure the user's file."""
        return bool(self.file) and not {*own, HERE}.issuperset(hosts)

    @property
    def scenario(self) -> Scenario:
        return Scenario(self.declaration.name, dict(self.values), self.file, self.opening)

    @property
    def as_declared(self) -> "Settings":
        """The preset's original settings for the same file, opened in the same way."""
        return Settings.of(self.preset, Own(self.declaration, self.file, self.opening))

    @property
    def original(self) -> bool:
        return self == self.as_declared

    @property
    def title(self) -> str:
        """The preset's title with the current sizes, followed by `*` if the settings differ from the
        preset's.
        """
        if self.original:
            return self.preset.title
        title, before = self.preset.title, self.as_declared.values
        for parameter in filter(is_numeric, self.declaration.parameters):
            old, new = (int(values[parameter.name]) for values in (before, self.values))
            text = f"{old:,} {parameter.label}"
            if old != new and text in title:
                title = title.replace(text, f"{new:,} {parameter.label}")
            elif old != new:
                title += f", {parameter.label} {new:,}"
        return f"{title} *"

    @property
    def moved(self) -> str:
        """Differences from the preset, such as `samples 4,096 instead of 256 and other arms`; "" if there are
        none.
        """
        return listed([*self._other_values(), *["other arms"] * (self.arms != self.preset.arms)])

    def _other_values(self, swept: Collection[str] = ()) -> list[str]:
        before = self.as_declared.values
        return [
            f"{parameter.label} {shown(self.values[parameter.name])} instead of "
            f"{shown(before[parameter.name])}"
            for parameter in self.declaration.parameters
            if self.values[parameter.name] != before[parameter.name] and parameter.name not in swept
        ]

    def apart(self, sweep: Sweep | None = None) -> str:
        """Return how the sizes and dtypes differ from those of the preset's claims, as `RunStarted.apart`."""
        if not self.preset.claims:
            return ""
        swept, declared = (
            {name for axis in each.axes for name in axis.names} if each is not None else set()
            for each in (sweep, self.preset.sweep)
        )
        dtypes, usual = self.arms.dtypes, (self.as_declared.values.get(self.declaration.dtype),)
        other = self._other_values(swept)
        other += [listed(dtypes)] * (dtypes not in (self.preset.arms.dtypes, usual))
        over = f"in a sweep over {listed(sorted(swept))}" if swept and swept != declared else ""
        return " ".join(filter(None, (over, f"with {listed(other)}" * bool(other))))

    def with_values(self, given: Mapping[str, Value]) -> "Settings":
        """Return the settings with these parameter values. Raises InputError."""
        parameters, constraints = self.declaration.parameters, self.declaration.constraints
        return replace(self, values=check_values(parameters, constraints, {**self.values, **given}))

    def near(self, sizes: Mapping[str, Value]) -> "Settings":
        """Return the settings with these sizes, each moved to the closest allowed value."""
        found = self
        for parameter in self.declaration.parameters:
            size = sizes.get(parameter.name)
            if isinstance(size, int) and isinstance(parameter, (Integer, LogInteger)):
                with contextlib.suppress(InputError):
                    found = found.with_value(parameter.name, nearest(parameter, size))
        return found

    def with_value(self, name: str, value: Value) -> "Settings":
        """Return the settings with one parameter changed. Raises InputError if a limit or constraint forbids
        the value.
        """
        values = self.with_values({name: value}).values
        arms = self.arms
        if name == self.declaration.dtype:
            arms = msgspec.structs.replace(arms, dtypes=())
        return replace(self, values=values, arms=arms)

    def with_arms(self, **changes: tuple[str, ...]) -> "Settings":
        """Return the settings with other arms. Raises InputError if no arms remain."""
        found = replace(self, arms=msgspec.structs.replace(self.arms, **changes))
        if changes and not found.arms_on(None):
            name, chosen = next(iter(changes.items()))
            expected = "a choice that leaves at least one arm to measure"
            raise InputError(name.removesuffix("s"), "+".join(chosen), expected)
        return found

    def arms_on(self, machine: Machine | None) -> tuple[Arm, ...]:
        """Return the arms to measure on a machine. An unknown machine is assumed to have only a CPU."""
        return expand(self.arms, self.declaration, self.values, _devices_of(machine))

    def devices(self, machine: Machine | None, others: Mapping[str, Machine]) -> dict[str, list[str]]:
        """Return the devices of each host, by host name. An unknown host is assumed to have only a CPU.

        machine: this machine. others: machines of the other hosts, by host name.
        """
        return {host: _devices_of(others.get(host) if host else machine) for host in self.hosts}

    def request(
        self,
        devices: Mapping[str, Sequence[str]],
        budget: BudgetName,
        sweep: Sweep | None = None,
        *,
        cold: bool = False,
        id: str = "",
    ) -> Measure:
        """Return the request that measures these settings. devices: the devices of each host, by host name.
        id: id of the run; "" for a new id.
        """
        return Measure(
            id=id or uuid.uuid4().hex,
            scenario=self.scenario,
            arms=expand_on(self.arms, self.declaration, self.values, devices),
            budget=BUDGET[budget],
            preset=self.preset.name,
            apart=self.apart(sweep),
            sweep=sweep,
            cold=cold,
        )

    def at_stop(
        self, name: str, stop: Value, known: Sequence[str] = (), own: Collection[str] = ()
    ) -> "Settings":
        """Return the settings with the slider `name` at `stop`. known, own: as in `at_device`.

        Raises the errors of `with_value`, and InputError if another machine would have to measure the user's
        file.
        """
        if name == "device":
            return self.at_device(str(stop), known, own)
        if name == "variant":
            return self.with_arms(variants=() if stop == ALL else tuple(str(stop).split("+")))
        if name == self.declaration.dtype and stop == ALL:
            return self.with_arms(dtypes=self.preset.arms.dtypes)
        return self.with_value(name, stop)

    def at_device(self, stop: str, known: Sequence[str], own: Collection[str] = ()) -> "Settings":
        """Return the settings with the device slider at `stop`. Raises InputError if another machine would
        have to measure the user's file.

        known: the other hosts. own: the other hosts that are Python environments on this machine.
        """
        if stop in stops_of_hosts(known):
            hosts = hosts_at(stop, known)
            if self._is_sent(hosts, own):
                raise InputError("device", stop, "this machine: your own files are not sent to others")
            return replace(self.with_arms(devices=("CPU", "GPU")), hosts=hosts)
        return replace(self.with_arms(devices=devices_at(stop)), hosts=("",))


def _devices_of(machine: Machine | None) -> list[str]:
    return [d.name for d in machine.devices] if machine and machine.devices else ["CPU:0"]


def representative(settings: Settings, machine: Machine | None) -> tuple[Arm, ...]:
    """Return one arm per device and variant, in graph mode and with its input on the device if possible. An
    arm on the CPU always comes first.
    """
    every = settings.arms_on(machine)
    picked: dict[tuple[str, str], Arm] = {}
    for arm in sorted(every, key=lambda a: (a.mode != "graph", a.mode != "eager", a.input != "resident")):
        picked.setdefault((arm.device, arm.variant), arm)
    arms = sorted(picked.values(), key=lambda arm: (arm.device != "CPU:0", arm.device))
    if arms[0].device != "CPU:0":
        # without a GPU, the ops are shown on the CPU
        arms.insert(0, msgspec.structs.replace(arms[0], device="CPU:0", input="resident"))
    return tuple(arms)


def controls(
    settings: Settings, machine: Machine | None, known: Sequence[str] = (), crossover: Crossover | None = None
) -> tuple[Control, ...]:
    """Return a slider for each numeric parameter and choice, for the device, and for dtype and variant if the
    workload lets the user choose them.

    known: the other hosts. crossover: the crossover along the workload's axis.
    """
    declaration, values = settings.declaration, settings.values
    out = []
    for number in declaration.parameters:
        if not isinstance(number, Integer | LogInteger):
            continue
        limits = reach(number, declaration.constraints, values)
        control = Control(number, values[number.name], limits, settings.preset.marks.get(number.name, ()))
        if number.name == declaration.axis:
            memory = None if settings.file else find(declaration.name).memory
            control = replace(
                control,
                note=f"{size(memory(dict(values)))} needed" if memory else "",
                crossover=crossover.at if crossover else None,
                band=crossover.ci95 if crossover else None,
            )
        out.append(control)
    words = [p for p in declaration.parameters if isinstance(p, Choice) and p.name != declaration.dtype]
    out += [Control(word, values[word.name]) for word in words]
    chosen = dtype_choice(settings), variant_choice(settings), device_choice(settings, machine, known)
    return (*out, *(control for control in chosen if control))


def _choice(name: str, help: str, options: Sequence[str], present: str) -> Control:
    """Return a slider for a choice. If `present` is not among the options, it becomes an extra stop."""
    there = tuple(dict.fromkeys([*options, present]))
    return Control(Choice(name=name, help=help, default=present, options=there), present)


def device_choice(settings: Settings, machine: Machine | None, known: Sequence[str] = ()) -> Control:
    """Return the device slider. Its stops: CPU, each GPU, the CPU with the first GPU, all devices, and the
    stops of other hosts.

    known: the other hosts.
    """
    gpus = [d.name for d in machine.gpus] if machine else []
    options = ["CPU", *(gpus or ["GPU"]), BOTH, *([ALL] if len(gpus) > 1 else []), *stops_of_hosts(known)]
    devices, present = settings.arms.devices, stop_of_hosts(settings.hosts)
    if not present:
        together = (stop for stop in (BOTH, ALL) if set(devices) == set(devices_at(stop)))
        present = next(together, gpus[0] if gpus and devices == ("GPU",) else "+".join(devices))
    return _choice("device", "The requested device.", options, present)


def devices_at(stop: str) -> tuple[str, ...]:
    together = {BOTH: ("CPU", "GPU"), ALL: ("CPU", "GPU" + EVERY)}
    return together.get(stop) or tuple(stop.split("+"))


def dtype_choice(settings: Settings) -> Control | None:
    """Return the dtype slider, with the stop `all` if the preset compares several dtypes; None if the
    workload has no dtype parameter.
    """
    declaration, compared = settings.declaration, settings.preset.arms.dtypes
    parameter = declaration.parameter(declaration.dtype) if declaration.dtype else None
    if not isinstance(parameter, Choice):
        return None
    if len(compared) > 1:
        parameter = msgspec.structs.replace(parameter, options=(*parameter.options, ALL))
    dtypes = settings.arms.dtypes or (str(settings.values[parameter.name]),)
    return Control(parameter, dtypes[0] if len(dtypes) == 1 else ALL)


def variant_choice(settings: Settings) -> Control | None:
    """Return the variant slider, with a stop for each variant and one for all variants; None if there is only
    one variant.
    """
    names, chosen = [v.name for v in settings.declaration.variants], settings.arms.variants
    if len(names) < 2:
        return None
    present = ALL if not chosen or set(chosen) == set(names) else "+".join(chosen)
    return _choice("variant", "The variant of the workload to measure.", [*names, ALL], present)


@dataclass(frozen=True)
class Switch:
    group: str
    """The group in which at least one switch stays on; "" for a flag of the workload."""
    key: str
    label: str
    on: bool
    help: str = ""


def switches(settings: Settings) -> tuple[Switch, ...]:
    """Return the switches for modes and input locations, and for the workload's own flags."""
    declaration, arms = settings.declaration, settings.arms
    out = [Switch("mode", m, m, m in arms.modes, MODE_HELP[m]) for m in declaration.modes]
    places = [i for i in INPUTS if i in declaration.inputs]
    if len(places) > 1 and any(family(device) == "GPU" for device in arms.devices):
        out += [Switch("GPU input", i, i, i in arms.inputs, INPUT_HELP[i]) for i in places]
    for parameter in declaration.parameters:
        value = settings.values[parameter.name]
        if isinstance(value, bool):
            out.append(Switch("", parameter.name, parameter.label, value, parameter.help))
    return tuple(out)


MODE_HELP: dict[Mode, str] = {
    "eager": "Python dispatches each op separately.",
    "graph": "The whole call is one tf.function graph.",
    "xla": "One graph, compiled by XLA.",
}
INPUT_HELP: dict[Input, str] = {
    "resident": "The input is already on the device; copies are not timed.",
    "copied": "Each call copies its input to the device and its result back.",
}


def flipped(settings: Settings, switch: Switch) -> Settings:
    """Return the settings with the switch toggled. The last active switch of a group cannot be turned off."""
    if not switch.group:
        return settings.with_value(switch.key, not switch.on)
    name, order = (
        ("modes", settings.declaration.modes)
        if switch.group == "mode"
        else ("inputs", settings.declaration.inputs)
    )
    chosen = set(getattr(settings.arms, name)) ^ {switch.key}
    kept = tuple(word for word in order if word in chosen)
    return settings.with_arms(**{name: kept}) if kept else settings


def default_sweep(settings: Settings) -> Sweep | None:
    """Return the preset's sweep, or nine sizes along the workload's axis; None if there is no axis."""
    try:
        return usual_sweep(settings.preset, settings.declaration)
    except InputError:
        return None


def choose(
    preset: Preset, own: Own | None = None, given: Sequence[str] = (), **words: Sequence[str]
) -> Settings:
    """Return the settings for a preset with typed changes: `choose(preset, given=["samples=64k"],
    devices=["CPU"])`.

    own: the user's code or model. words: devices, modes, inputs, dtypes and variants to measure. A change to
    a parameter of the preset's sweep removes the sweep. Raises InputError.
    """
    arms = {key: tuple(value) for key, value in words.items() if value}
    settings = Settings.of(preset, own)
    with _as_typed():
        check_arms(msgspec.structs.replace(settings.arms, **arms), settings.declaration)
    changes = parse_settings(settings.declaration, given, isinstance(subject_of(settings.file), Code))
    settings = settings.with_arms(**arms).with_values(changes)
    if preset.sweep and any(axis.parameter in changes for axis in preset.sweep.axes):
        settings = replace(settings, preset=msgspec.structs.replace(preset, sweep=None))
    return settings


def chosen_sweep(settings: Settings, axes: Sequence[str] = (), refine: bool = True) -> Sweep:
    """Return the sweep along these axes (`samples=256:1M:x4`), or the default sweep.

    refine: also measure sizes close to the crossover. Raises InputError.
    """
    if not axes:
        usual = usual_sweep(settings.preset, settings.declaration)
        return Sweep(axes=usual.axes, refine=usual.refine and refine)
    sweep = Sweep(axes=tuple(parse_axis(settings.declaration, axis) for axis in axes), refine=refine)
    with _as_typed():
        check_sweep(sweep, settings.declaration)
    return sweep


@contextlib.contextmanager
def _as_typed() -> Iterator[None]:
    """In errors, name an option as the user types it (`device`) and not as a preset file names it
    (`arms.devices`).
    """
    try:
        yield
    except InputError as error:
        place, _, name = error.where.partition(".")
        if place == "sweep":
            parameter = name.removeprefix("axes").replace(".", " ")
            raise InputError(f"axis{parameter}", error.value, error.expected) from None
        raise InputError(name.removesuffix("s"), error.value, error.expected) from None
