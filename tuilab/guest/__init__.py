"""The lab's modules in a Python that has not got them: they come by path, and nothing is installed there."""

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

COMPILED = "TUILAB_COMPILED"
"""Environment variable of a guest: the folders of what the lab's modules need alongside NumPy and TensorFlow,
joined as in PATH; each is the package itself, such as `…/msgspec`."""

FOLDER = "TUILAB_ENVIRONMENT"
"""Environment variable of a guest: the folder of the environment whose Python it is, "" of the lab's own."""

VARIABLES = "TUILAB_VARIABLES"
"""Environment variable of a worker: the names of what was set for its environment, joined by commas."""

PACKAGES = ("msgspec", "psutil")


def command(module: str, *arguments: str) -> list[str]:
    """Return what runs a module of the lab as a program, in this process's own Python."""
    if os.environ.get(FOLDER):
        return door(module, *arguments, python=sys.executable)
    # `-P`: no module of the folder the user stands in shadows a library.
    return [sys.executable, "-P", "-m", module, *arguments]


def door(module: str, *arguments: str, python: str) -> list[str]:
    """Return the same by path, whether the lab is installed in that Python or not."""
    return [python, str(Path(__file__).resolve().parent), module, *arguments]


def environment(folder: str, python: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return what to set for a guest in that folder's Python, whose programs (such as ptxas) it then finds
    first.

    variables: what a user sets for it alongside that. Nothing is written into the folder: no bytecode either.
    """
    return {
        "PATH": os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)]),
        "VIRTUAL_ENV": folder,
        "PYTHONDONTWRITEBYTECODE": "1",
        # What is compiled there already is read.
        "PYTHONPYCACHEPREFIX": "",
        COMPILED: os.pathsep.join(filter(None, map(_home, PACKAGES))),
        **named(folder, variables),
    }


def named(folder: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return what to set so that a worker knows what is its environment's own."""
    return {FOLDER: folder, VARIABLES: ",".join(variables), **variables}


def own() -> tuple[str, tuple[str, ...]]:
    """Return this process's own: its environment's folder, and what was set for it."""
    names = filter(None, os.environ.get(VARIABLES, "").split(","))
    return os.environ.get(FOLDER, ""), tuple(f"{name}={os.environ.get(name, '')}" for name in names)


def _home(package: str) -> str:
    found = find_spec(package)
    return str(Path(found.origin).resolve().parent) if found and found.origin else ""
