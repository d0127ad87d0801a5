"""Finds presets by name, and reads presets from files."""

from tuilab import catalogue
from tuilab.catalogue.load import Problem, read_file
from tuilab.lab.naming import refuse, resolve
from tuilab.model.claims import Claim
from tuilab.model.errors import InputError
from tuilab.model.files import expanded
from tuilab.model.preset import Preset
from tuilab.model.subject import NamedPreset, PresetFile, Subject


def find_preset(words: str) -> Preset:
    """Return the preset with that name, or the one in the file at that path. Raises InputError."""
    return preset_of(words, resolve(words))


def preset_of(words: str, subject: Subject) -> Preset:
    """Return the preset of a subject. Raises InputError for other kinds of subjects.

    words: as typed.
    """
    match subject:
        case NamedPreset(name):
            return catalogue.load().find(name)
        case PresetFile(path):
            return _read(path)
    raise refuse(words, subject)


def _read(path: str) -> Preset:
    """Read a preset file. Raises InputError that describes its problem."""
    read = read_file(expanded(path))
    if isinstance(read, Problem):
        raise InputError("preset file", read.key, read.message, str(read))
    return read


def claims_of(name: str) -> tuple[Claim, ...]:
    """Return the claims of a preset, given its name; none if the preset no longer exists."""
    try:
        return catalogue.load().find(name).claims
    except InputError:
        return ()
