"""What a user named, as a typed value; `tuilab.lab.naming.resolve` decides it once, on input."""

import msgspec

MODEL_FILES = (".keras", ".h5", ".hdf5")
"""Endings of files that Keras saves."""


class _Named(msgspec.Struct, frozen=True):
    @property
    def place(self) -> str:
        """The user's own function or model, as workers read it; "" for every other subject."""
        return ""


class NamedPreset(_Named, frozen=True, tag="preset"):
    """A preset of the catalogue, or an unknown word, which the catalogue rejects."""

    name: str


class PresetFile(_Named, frozen=True, tag="preset-file"):
    """A TOML file with a preset."""

    path: str


class Code(_Named, frozen=True, tag="code"):
    """A function, method or model that a Python file defines."""

    path: str
    name: str

    @property
    def place(self) -> str:
        """Path and name as workers read them: `/home/ada/mine.py:step`."""
        return f"{self.path}:{self.name}"


class Model(_Named, frozen=True, tag="model"):
    """A file that Keras saved, or the folder of a SavedModel; signature "" for its usual one."""

    path: str
    signature: str = ""

    @property
    def place(self) -> str:
        """Path and signature as workers read them: `/home/ada/saved:serve`."""
        return f"{self.path}:{self.signature}" if self.signature else self.path


class Script(_Named, frozen=True, tag="script"):
    """A Python file without a name in it: a program to watch, or functions to measure."""

    path: str


class Recording(_Named, frozen=True, tag="recording"):
    """The events of a run, one JSON object a line."""

    path: str


class Program(_Named, frozen=True, tag="program"):
    """A program to run and watch."""

    path: str


class Article(_Named, frozen=True, tag="article"):
    """A document whose benchmarks are checked."""

    path: str


Subject = NamedPreset | PresetFile | Code | Model | Script | Recording | Program | Article


def subject_of(place: str) -> Code | Model:
    """Return what a resolved place names (`/home/ada/mine.py:step`, `/home/ada/saved:serve`), without I/O."""
    path, colon, name = place.rpartition(":")
    if path.endswith(".py"):
        return Code(path, name)
    if place.endswith(".py"):
        return Code(place, "")
    if not colon or place.lower().endswith(MODEL_FILES):
        return Model(place)
    return Model(path, name)
