"""Builds the `tuilab` command line that repeats the measurement on the screen. Pure functions."""

import shlex
from collections.abc import Mapping
from types import MappingProxyType

from tuilab.lab.settings import Settings
from tuilab.model.arms import LOCAL, ArmSelection
from tuilab.model.parameters import Value
from tuilab.model.scenario import Sweep
from tuilab.model.shapes import text_of


def command_line(
    settings: Settings,
    budget: str = "standard",
    sweep: Sweep | None = None,
    environments: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the command for the current settings, such as `tuilab run stft-small --set samples=65536 --mode
    graph`, or `tuilab sweep …` for a sweep. Only differences from the preset appear.

    environments: definitions of the hosts that are Python environments, as the user typed them, by host name.
    """
    preset = settings.preset
    words = ["tuilab", "sweep" if sweep else "run", settings.file or preset.name]
    for axis in sweep.axes if sweep else ():
        words += ["--axis", f"{','.join(axis.names)}={','.join(map(str, axis.values))}"]
    opening, original = settings.opening, settings.as_declared
    words += ["--trust"] * opening.trust
    for option, path in (("--code", opening.code), ("--data", opening.data)):
        words += [option, path] if path else []
    for argument in opening.inputs:
        words += ["--input", text_of(argument)]
    for parameter, value in settings.values.items():
        if value != original.values[parameter]:
            words += ["--set", f"{parameter}={typed(value)}"]
    words += _arms(settings.arms, original.arms)
    if settings.hosts != original.hosts:
        turns = any(host in environments for host in settings.hosts)
        for host in settings.hosts:
            if host in environments:
                words += ["--env", environments[host]]
            else:
                words += ["--env", "lab=."] if turns and not host else ["--host", host or LOCAL]
    if budget != "standard":
        words += ["--budget", budget]
    return shlex.join(words)


def typed(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _arms(arms: ArmSelection, original: ArmSelection) -> list[str]:
    out: list[str] = []
    for field in ("devices", "modes", "inputs", "dtypes", "variants"):
        chosen: tuple[str, ...] = getattr(arms, field)
        if chosen != getattr(original, field):
            for word in chosen:
                out += [f"--{field[:-1]}", word]
    return out
