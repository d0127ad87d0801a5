"""Finds a user's Python and checks that it can run a worker, without importing anything from it."""

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tuilab import guest, processes
from tuilab.model.environment import Environment
from tuilab.model.errors import InputError
from tuilab.model.quantity import size
from tuilab.model.sanitize import sanitize_line

OLDEST_PYTHON, OLDEST_TENSORFLOW = (3, 9), (2, 16)
LOOK_S = 30.0
"""Maximum seconds for an interpreter to describe itself. A first start from a network disk may take several
seconds.
"""
MOST_PRINTED, PAUSE_S = 1_000_000, 0.05
"""Maximum number of bytes that the interpreter may print, and seconds between two checks."""
OWN = "."
"""The name that selects the lab's own environment."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,39}")
_VARIABLE = re.compile(r",(?=[A-Za-z_][A-Za-z0-9_]*=)")
_EXPECTED = "a Python interpreter, or the folder of a virtual or conda environment"

# Runs in Python 2 too, so that a Python that is too old can report its version.
_LOOK = """
import json, sys
known = {"python": list(sys.version_info[:3]), "folder": sys.prefix, "path": sys.path, "tensorflow": None}
try:
    from importlib.util import find_spec
    from importlib import metadata
    if find_spec("tensorflow") is not None:
        known["tensorflow"] = ""
        for name in ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu", "tensorflow-rocm"):
            try:
                known["tensorflow"] = metadata.version(name)
                break
            except metadata.PackageNotFoundError:
                pass
except ImportError:
    pass
print(json.dumps(known))
"""


def python_of(place: str) -> Path | None:
    """Return the interpreter for the path of a program or of an environment folder; None if neither exists.

    Does not follow links, because the Python of a virtual environment finds its packages by its own path.
    """
    path = Path(os.path.abspath(os.path.expanduser(place)))
    if path.is_file():
        return path if os.access(path, os.X_OK) else None
    inside = ("bin/python", "bin/python3", "python.exe", "Scripts/python.exe", "python")
    for candidate in (path / word for word in inside):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    return None


def environment(place: str, where: str = "--python", tensorflow: bool = True) -> Environment | None:
    """Return the environment at a path; None for the lab's own environment.

    where: the option or field to name in messages. tensorflow: True to require a TensorFlow version that the
    lab supports. Raises InputError.
    """
    if place == OWN or (found := python_of(place)) == Path(sys.executable):
        return None
    if found is None:
        raise InputError(where, sanitize_line(place, 300), _EXPECTED)
    known = look(str(found), where)
    python = ".".join(map(str, known["python"]))
    if tuple(known["python"][:2]) < OLDEST_PYTHON:
        raise InputError(where, str(found), f"Python {_words(OLDEST_PYTHON)} or later; it is {python}")
    version = known["tensorflow"]
    if version is None and tensorflow:
        expected = f"an environment with TensorFlow: `{found} -m pip install tensorflow` installs it"
        raise InputError(where, str(found), expected)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version or "")[:2])
    if len(numbers) == 2 and numbers < OLDEST_TENSORFLOW:
        expected = f"TensorFlow {_words(OLDEST_TENSORFLOW)} or later; it has {version}"
        raise InputError(where, str(found), expected)
    return Environment(python=str(found), folder=sanitize_line(str(known["folder"]), 1_000))


def look(python: str, where: str = "--python") -> dict[str, Any]:
    """Return an interpreter's description of itself: `python` (three numbers), `folder`, `path`, `tensorflow`
    (version).

    `tensorflow` is "" for an unknown version, and None if TensorFlow is not installed. Raises InputError if
    the program cannot be run or is not Python.
    """
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "VIRTUAL_ENV")}
    clean["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        code, printed, complained = _capture_output([python, "-c", _LOOK], clean)
        known: dict[str, Any] = json.loads(printed.splitlines()[-1])
        return known
    except TimeoutError:
        expected = f"a Python interpreter that answers within {LOOK_S:.0f} s"
    except OverflowError:
        expected = f"a Python interpreter that prints less than {size(MOST_PRINTED)}"
    except OSError as error:
        expected = f"a Python interpreter that can be started: {error.strerror}"
    except (ValueError, IndexError, RecursionError):
        said = complained.decode(errors="replace").strip().splitlines()
        last = f"; it ended with code {code}" + (f": {said[-1]}" if said else "")
        expected = sanitize_line(_EXPECTED + last, 400)
    raise InputError(where, python, expected)


def _capture_output(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    """Run a program and kill its remaining children. Return its exit code, standard output and standard
    error.

    Raises TimeoutError, OverflowError for too much output, and OSError if the program cannot be started.
    """
    mark, deadline = uuid.uuid4().hex, time.monotonic() + LOOK_S
    program = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment, processes.MARK: mark},
        cwd="/",
        start_new_session=True,
    )
    assert program.stdout is not None and program.stderr is not None
    said = {program.stdout: bytearray(), program.stderr: bytearray()}
    known: list[processes.Process] = []
    with program, selectors.DefaultSelector() as selector:
        for stream in said:
            selector.register(stream, selectors.EVENT_READ)
        try:
            ended = False
            # A child may keep the pipes open, so after the program's end, read only data that is already
            # there.
            while selector.get_map():
                ready = selector.select(0.0 if ended else PAUSE_S)
                if ended and not ready:
                    break
                for key, _ in ready:
                    stream = program.stdout if key.fileobj is program.stdout else program.stderr
                    if not (more := os.read(key.fd, 65_536)):
                        selector.unregister(stream)
                    said[stream] += more
                    if len(said[stream]) > MOST_PRINTED:
                        raise OverflowError
                ended = program.poll() is not None
                if time.monotonic() > deadline:
                    raise TimeoutError
            while program.poll() is None:  # the program has closed its output but is still running
                if time.monotonic() > deadline:
                    raise TimeoutError
                time.sleep(PAUSE_S)
        finally:
            if program.returncode is None:
                known = processes.descendants(program.pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(program.pid, signal.SIGKILL)
            processes.end_all(program.pid, mark, known)
    return program.returncode, bytes(said[program.stdout]), bytes(said[program.stderr])


def environments(words: Sequence[str]) -> tuple[Environment, ...]:
    """Parse environments given as `NAME=PATH[,VARIABLE=VALUE…]`; the path `.` means the lab's own.

    Raises InputError.
    """
    every = tuple(map(_named, words))
    names = [one.name for one in every]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError("--env", twice, "a different name for each environment")
    return every


def _named(word: str) -> Environment:
    name, equals, rest = word.partition("=")
    if not equals or not rest or not _NAME.fullmatch(name) or name == "local":
        expected = "NAME=PATH, such as old=~/venvs/tf216; NAME=PATH,VARIABLE=VALUE also sets a variable"
        raise InputError("--env", sanitize_line(word, 300), expected)
    place, *settings = _VARIABLE.split(rest)
    return environment_at(name, place, settings, "--env")


def environment_at(name: str, place: str, settings: Sequence[str], where: str) -> Environment:
    """Return the environment at a path, which may be the lab's own. settings: `NAME=VALUE`. Raises
    InputError.
    """
    variables = dict(setting.split("=", 1) for setting in settings)
    found = environment(place, where)
    own = found or Environment(python=sys.executable, folder=sys.prefix)
    return Environment(name=name, python=own.python, folder=own.folder, variables=variables)


def describe_same(every: Sequence[Environment]) -> str:
    seen: dict[object, str] = {}
    for one in every:
        key = (one.folder, one.settings)
        if key in seen:
            return (
                f"{seen[key]} and {one.name} are the same environment: "
                "any difference between them is due to chance"
            )
        seen[key] = one.name
    return ""


def worker_command(environment: Environment | None, module: str) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment variables that run one of the lab's modules in this
    environment.
    """
    if environment is None:
        return guest.command(module), {}
    set_here = guest.environment(environment.folder, environment.python, environment.variables)
    return guest.door(module, python=environment.python), set_here


def _words(numbers: tuple[int, int]) -> str:
    return ".".join(map(str, numbers))
