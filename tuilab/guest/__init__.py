"""Runs tuilab's modules in a Python in which tuilab is not installed, and installs nothing there."""

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

COMPILED = "TUILAB_COMPILED"
"""Environment variable of a guest (a worker in a Python without tuilab): folders of the packages that
tuilab needs besides NumPy and TensorFlow, separated as in PATH. Each is the package's own folder, such as
`…/msgspec`.
"""

FOLDER = "TUILAB_ENVIRONMENT"
"""Environment variable of a worker: the folder of its Python environment; "" for tuilab's own environment."""

VARIABLES = "TUILAB_VARIABLES"
"""Environment variable of a worker: comma-separated names of the variables that the user set for it."""

PACKAGES = ("msgspec", "psutil")


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a tuilab module as a program in this process's Python."""
    if os.environ.get(FOLDER):
        return door(module, *arguments, python=sys.executable)
    # `-P`: modules in the current folder must not hide libraries.
    return [sys.executable, "-P", "-m", module, *arguments]


def door(module: str, *arguments: str, python: str) -> list[str]:
    """Return the command that runs a tuilab module with a Python in which tuilab need not be installed."""
    return [python, str(Path(__file__).resolve().parent), module, *arguments]


def environment(folder: str, python: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables for a worker that runs in the Python environment `folder`, without
    tuilab installed there. PATH starts with the programs of this environment, such as ptxas. The worker
    writes nothing to the folder, not even bytecode.

    variables: environment variables that the user sets for the worker.
    """
    return {
        "PATH": os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)]),
        "VIRTUAL_ENV": folder,
        "PYTHONDONTWRITEBYTECODE": "1",
        # An empty prefix makes Python use existing bytecode.
        "PYTHONPYCACHEPREFIX": "",
        COMPILED: os.pathsep.join(filter(None, map(_home, PACKAGES))),
        **environment_variables(folder, variables),
    }


def environment_variables(folder: str, variables: Mapping[str, str]) -> dict[str, str]:
    return {FOLDER: folder, VARIABLES: ",".join(variables), **variables}


def read_own_environment() -> tuple[str, tuple[str, ...]]:
    """Return the folder of this process's environment, and the user's variables for it as `NAME=VALUE`."""
    names = filter(None, os.environ.get(VARIABLES, "").split(","))
    return os.environ.get(FOLDER, ""), tuple(f"{name}={os.environ.get(name, '')}" for name in names)


def _home(package: str) -> str:
    found = find_spec(package)
    return str(Path(found.origin).resolve().parent) if found and found.origin else ""
