"""What the user asked to measure or show; `tuilab.lab.naming.resolve` creates it from the typed text."""

import msgspec

MODEL_FILES = (".keras", ".h5", ".hdf5")
"""File name suffixes of models saved by Keras."""


class _Named(msgspec.Struct, frozen=True):
    @property
    def place(self) -> str:
        """The path of the user's function or model, as workers read it; "" for every other subject."""
        return ""


class NamedPreset(_Named, frozen=True, tag="preset"):
    """The name of a preset, not yet looked up in the catalogue."""

    name: str


class PresetFile(_Named, frozen=True, tag="preset-file"):
    path: str


class Code(_Named, frozen=True, tag="code"):
    """A function, method or model that a Python file defines."""

    path: str
    name: str

    @property
    def place(self) -> str:
        """The path and name, as workers read them: `/home/ada/mine.py:step`."""
        return f"{self.path}:{self.name}"


class Model(_Named, frozen=True, tag="model"):
    """A file saved by Keras, or the folder of a SavedModel; the signature "" selects the default one."""

    path: str
    signature: str = ""

    @property
    def place(self) -> str:
        """The path and signature, as workers read them: `/home/ada/saved:serve`."""
        return f"{self.path}:{self.signature}" if self.signature else self.path


class Script(_Named, frozen=True, tag="script"):
    """A Python file named without a function: a program to watch, or a file with functions to measure."""

    path: str


class Recording(_Named, frozen=True, tag="recording"):
    """A file with a run's events, one JSON object per line."""

    path: str


class Program(_Named, frozen=True, tag="program"):
    path: str
    arguments: tuple[str, ...] = ()


class Article(_Named, frozen=True, tag="article"):
    path: str


Subject = NamedPreset | PresetFile | Code | Model | Script | Recording | Program | Article


def subject_of(place: str) -> Code | Model:
    """Return the subject for a resolved path (`/home/ada/mine.py:step`, `/home/ada/saved:serve`), without
    I/O.
    """
    path, colon, name = place.rpartition(":")
    if path.endswith(".py"):
        return Code(path, name)
    if place.endswith(".py"):
        return Code(place, "")
    if not colon or place.lower().endswith(MODEL_FILES):
        return Model(place)
    return Model(path, name)
