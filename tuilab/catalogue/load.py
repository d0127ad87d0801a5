"""Finds and reads preset files. An invalid file becomes a `Problem`; the other files still load."""

import difflib
import re
from pathlib import Path

import msgspec

from tuilab.catalogue.validate import validate
from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.files import read_regular
from tuilab.model.preset import Preset
from tuilab.model.sanitize import sanitize_line
from tuilab.model.toml_text import toml_text
from tuilab.paths import preset_folders

LARGEST_FILE = 256_000
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_AT = re.compile(r"^(?P<message>.*?)(?: - at `\$\.?(?P<key>.*)`)?$", re.DOTALL)


class Problem(msgspec.Struct, frozen=True):
    """A preset file that could not be read: its path, the wrong key, and the error."""

    file: str
    key: str
    message: str

    @property
    def name(self) -> str:
        return Path(self.file).stem

    def __str__(self) -> str:
        return f"{self.file}: {self.key + ': ' if self.key else ''}{self.message}"


class Catalogue(msgspec.Struct, frozen=True):
    """All readable presets, sorted by document and example, and the problems with the other files."""

    presets: tuple[Preset, ...] = ()
    problems: tuple[Problem, ...] = ()

    def find(self, name: str) -> Preset:
        """Return the preset with that name. Raises InputError if there is no such preset, or if the preset's
        file is invalid.
        """
        for preset in self.presets:
            if preset.name == name:
                return preset
        for problem in self.problems:
            if problem.name == name:
                raise InputError("preset file", problem.key, problem.message, str(problem))
        names = [p.name for p in self.presets]
        file, colon, function = name.partition(":")
        own = [f"{file}.py{colon}{function}"] if Path(f"{file}.py").is_file() else []
        near = own or difflib.get_close_matches(name.lower(), names, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        expected = f"the name of a preset ({meant}`tuilab presets` lists all), or an existing file"
        raise InputError("preset", sanitize_line(name, 100), expected)


def load(*places: Path) -> Catalogue:
    """Read every `*.toml` file in the given folders, by default in `preset_folders()`.

    If two files have the same name, the file in the later folder replaces the other.
    """
    presets: dict[str, Preset] = {}
    problems: list[Problem] = []
    for folder in places or preset_folders():
        try:
            files = sorted(folder.glob("*.toml"))
        except OSError as error:
            problems.append(Problem(str(folder), "", f"could not be listed: {error.strerror}"))
            continue
        for file in files:
            read = read_file(file)
            if isinstance(read, Problem):
                problems.append(read)
            else:
                presets[read.name] = read
    return Catalogue(tuple(sorted(presets.values(), key=_order)), tuple(problems))


def _order(preset: Preset) -> tuple[str, int, str]:
    source = preset.source
    # A preset for a claim in prose has example number 0. Sort it after the document's numbered examples.
    return (source.document, source.example or 99, preset.name) if source else ("~", 0, preset.name)


def read_file(file: Path) -> Preset | Problem:
    shown = sanitize_line(str(file), 300)
    if not _NAME.fullmatch(file.stem):
        return Problem(shown, "", "expected a file name of lower-case letters, digits, - and _")
    try:
        data = read_regular(file, LARGEST_FILE)
    except InputError as error:
        return Problem(shown, "", f"could not be read: {error.value}; expected {error.expected}")
    return read_bytes(data, shown, file.stem)


def read_bytes(data: bytes, file: str, name: str) -> Preset | Problem:
    try:
        preset = msgspec.toml.decode(toml_text(data, ""), type=Preset)
        preset = msgspec.structs.replace(preset, name=name)
        return validate(preset)
    except msgspec.ValidationError as error:
        match = _AT.match(str(error))
        assert match is not None
        return Problem(file, sanitize_line(match["key"] or "", 200), sanitize_line(match["message"], 500))
    except InputError as error:
        return Problem(
            file,
            sanitize_line(error.where, 200),
            sanitize_line(f"got {error.value!r}; expected {error.expected}", 500),
        )
    except (*UNDECODED, ValueError) as error:
        return Problem(file, "", sanitize_line(f"not valid TOML: {error}", 500))
