"""From the words on the command line to what is to be measured. Shared by every command that measures."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec

from tuilab import catalogue
from tuilab.catalogue.load import Problem, read_file
from tuilab.catalogue.plan import parse_settings, scenario
from tuilab.catalogue.validate import check_arms
from tuilab.model.arms import INPUTS, MODES, ArmSelection
from tuilab.model.errors import InputError
from tuilab.model.expand import expand_on
from tuilab.model.parameters import check_values
from tuilab.model.preset import Preset
from tuilab.model.requests import Measure
from tuilab.model.scenario import BUDGET, BUDGETS, BudgetName, Scenario, Sweep
from tuilab.model.workload import Declaration
from tuilab.workloads import find


@dataclass(frozen=True)
class Choice:
    """A preset with the changes a person asked for, checked."""

    preset: Preset
    scenario: Scenario
    declaration: Declaration

    def measure(
        self,
        devices: Sequence[str] | Mapping[str, Sequence[str]],
        budget: BudgetName,
        sweep: Sweep | None = None,
        cold: bool = False,
    ) -> Measure:
        """The request that measures it on a machine with these devices, or on each host with its devices."""
        by_host = devices if isinstance(devices, Mapping) else {"": devices}
        arms = expand_on(self.preset.arms, self.declaration, self.scenario.parameters, by_host)
        return Measure(
            id=uuid.uuid4().hex,
            scenario=self.scenario,
            arms=arms,
            budget=BUDGET[budget],
            preset=self.preset.name,
            sweep=sweep,
            cold=cold,
        )


def choose(name: str, settings: Sequence[str] = (), **words: Sequence[str]) -> Choice:
    """A preset by name or by path, with its settings changed.

    words: devices, modes, inputs, dtypes and variants to measure alone. A sweep of the preset's own is left
    out where a setting gives its parameter one value. Raises InputError.
    """
    preset = _preset(name)
    declaration = find(preset.workload).declaration
    preset = msgspec.structs.replace(preset, arms=_arms(preset, declaration, words))
    changes = parse_settings(declaration, settings)
    if preset.sweep and any(axis.parameter in changes for axis in preset.sweep.axes):
        preset = msgspec.structs.replace(preset, sweep=None)
    return Choice(preset, scenario(preset, changes), declaration)


def is_own(name: str) -> bool:
    """Whether the words name a person's own code, `path/to/file.py:name`, rather than a preset."""
    return ".py:" in name


def choose_own(declaration: Declaration, file: str, settings: Sequence[str] = (), **words: Any) -> Choice:
    """A person's own code as it declares itself, with settings changed. Raises InputError."""
    preset = Preset(title=declaration.title, workload=declaration.name, name=declaration.name)
    preset = msgspec.structs.replace(preset, arms=_arms(preset, declaration, words))
    values = check_values(
        declaration.parameters, declaration.constraints, parse_settings(declaration, settings)
    )
    return Choice(preset, Scenario(declaration.name, values, file), declaration)


def _arms(preset: Preset, declaration: Declaration, words: Mapping[str, Sequence[str]]) -> ArmSelection:
    """The preset's arms narrowed by the words of a command. Raises InputError."""
    chosen: dict[str, Any] = {key: tuple(value) for key, value in words.items() if value}
    arms = msgspec.structs.replace(preset.arms, **chosen)
    check_arms(msgspec.structs.replace(preset, arms=arms), declaration)
    return arms


def _preset(name: str) -> Preset:
    path = Path(name)
    if path.suffix == ".toml":
        read = read_file(path)
        if isinstance(read, Problem):
            raise InputError(f"preset file {read.file}", read.key, read.message)
        return read
    return catalogue.load().find(name)


def arm_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose what is measured, for a command's decorator."""
    many: dict[str, Any] = {"multiple": True}
    options = [
        click.option("--set", "settings", metavar="NAME=VALUE", help="Change a parameter.", **many),
        click.option(
            "--device", "devices", metavar="CPU|GPU|GPU:1|GPU:*", help="Measure there only.", **many
        ),
        click.option("--mode", "modes", type=click.Choice(MODES), help="Measure this mode alone.", **many),
        click.option("--input", "inputs", type=click.Choice(INPUTS), help="Where the input lives.", **many),
        click.option("--dtype", "dtypes", help="Arms of this dtype.", **many),
        click.option("--variant", "variants", help="Arms of this variant.", **many),
        click.option("--budget", type=click.Choice(BUDGETS), default="standard", show_default=True),
        click.option("--cold", is_flag=True, help="Rotate inputs beyond the cache."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    ]
    for option in reversed(options):
        command = option(command)
    return command
