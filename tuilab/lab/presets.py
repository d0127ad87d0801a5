"""Finds presets by name, and reads presets from files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuilab import catalogue, workloads
from tuilab.catalogue.load import Catalogue, Problem, read_file
from tuilab.lab.naming import refuse, resolve
from tuilab.lab.settings import Own, Settings
from tuilab.model.claims import Claim
from tuilab.model.errors import InputError
from tuilab.model.files import expanded
from tuilab.model.parameters import Value
from tuilab.model.preset import Preset
from tuilab.model.subject import NamedPreset, PresetFile, Subject


@dataclass
class Presets:
    all: tuple[Preset, ...] = ()
    """Presets in display order: those of the documents, then the user's own."""
    listed: frozenset[str] = frozenset()
    """Names of the presets that the command line also finds. Excludes presets opened only in this lab."""
    problems: tuple[Problem, ...] = ()
    own: dict[str, Own] = field(default_factory=dict)

    def load(self, found: Catalogue) -> None:
        self.all, self.problems = found.presets, found.problems
        self.listed = frozenset(preset.name for preset in self.all)

    def find(self, name: str) -> Preset | None:
        return next((preset for preset in self.all if preset.name == name), None)

    def add(self, preset: Preset, own: Own | None = None) -> None:
        """Add a preset, replacing any preset with the same name. own: the user's code that the preset
        measures.
        """
        if own is not None:
            self.own[preset.name] = own
        others = [p for p in self.all if p.name != preset.name]
        self.all = tuple(sorted((*others, preset), key=lambda p: p.source is None))

    def settings(self, preset: Preset) -> Settings:
        return Settings.of(preset, self.own.get(preset.name))

    def usual(self, name: str, workload: str) -> Mapping[str, Value] | None:
        """Return the default parameter values of the named preset, else of the workload; None if both are
        unknown.
        """
        preset = self.find(name)
        try:
            if preset is not None and preset.workload == workload:
                return self.settings(preset).values
            return {p.name: p.default for p in workloads.find(workload).declaration.parameters}
        except (InputError, KeyError):
            return None


def find_preset(words: str) -> Preset:
    """Return the preset with this name, or the preset in the file at this path. Raises InputError."""
    return preset_of(words, resolve(words))


def preset_of(words: str, subject: Subject) -> Preset:
    """Return the preset that the user's words name. Raises InputError if the words do not name a preset."""
    match subject:
        case NamedPreset(name):
            return catalogue.load().find(name)
        case PresetFile(path):
            return _read(path)
    raise refuse(words, subject)


def _read(path: str) -> Preset:
    read = read_file(expanded(path))
    if isinstance(read, Problem):
        raise InputError("preset file", read.key, read.message, str(read))
    return read


def claims_of(name: str) -> tuple[Claim, ...]:
    """Return the claims of the preset with this name; () if the preset does not exist."""
    try:
        return catalogue.load().find(name).claims
    except InputError:
        return ()
