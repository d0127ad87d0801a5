"""Distinguishes user code from library code, and finds the user line that led to a frame."""

from __future__ import annotations

import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

MOST_FILES = 20_000
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PACKAGE = __name__.rpartition(".")[0] + "."
"""Prefix of the observer's module names, which identifies a hook even if tracebacks show a library's file."""
_STANDARD = {os.path.dirname(os.__file__), os.path.dirname(os.path.realpath(os.__file__))}
_STANDARD |= {place.replace("/lib/python", "/lib64/python") for place in _STANDARD}
_INSTALLED = re.compile(
    "|".join([*("^" + re.escape(p + os.sep) for p in _STANDARD), "/(?:site|dist)-packages/"])
)


def _filled_by_pip() -> list[str]:
    found = []
    for entry in sys.path:
        folder = os.path.abspath(entry)
        if folder == os.getcwd() or _INSTALLED.search(folder + os.sep):
            continue
        try:
            if any(name.endswith(".dist-info") for name in os.listdir(folder)):
                found.append(folder + os.sep)
        except OSError:
            pass
    return found


class Places:
    """Distinguishes user code from library code. folders: folders of libraries in unusual places."""

    def __init__(self) -> None:
        self.folders: list[str] = [_HERE, *_filled_by_pip()]
        self._known: dict[str, bool] = {}

    def add_library(self, folder: str) -> None:
        self.folders.append(folder)
        self._known.clear()

    def is_own(self, file: str) -> bool:
        """Return True if a source file belongs to the user, not to Python or an installed package."""
        known = self._known.get(file)
        if known is None:
            if len(self._known) > MOST_FILES:
                return False
            full = os.path.abspath(file)
            strange = file.startswith("<") or "__autograph_generated_file" in file
            inside = _INSTALLED.search(full) is not None or full.startswith(tuple(self.folders))
            known = self._known[file] = not strange and not inside
        return known

    def site(self, frame: FrameType | None) -> tuple[str, int, str, str] | None:
        """Return the user line that led to a frame, as (file, line, function, library in between); None if
        there is none.
        """
        between = ""
        while frame is not None:
            code = frame.f_code
            if self.is_own(code.co_filename):
                return code.co_filename, frame.f_lineno, code.co_name, between
            name = frame.f_globals.get("__name__") or ""
            if name.startswith("keras.src.callbacks") and not name.endswith("callback_list"):
                between = "callback " + type(frame.f_locals.get("self")).__name__
            elif not name.startswith(("tensorflow", "numpy", _PACKAGE)):
                between = between or name
            frame = frame.f_back
        return None


places = Places()
is_own, site = places.is_own, places.site
