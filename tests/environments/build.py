"""Builds environments with other TensorFlow versions in the user's cache folder. pip builds each environment
only once.

`TUILAB_ENVIRONMENTS` sets another folder. The oldest TensorFlow gets the oldest suitable Python on this
machine.
"""

import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import platformdirs

OLDEST, BETWEEN, NEWEST = "2.16", ("2.17", "2.18", "2.19", "2.20"), "2.21"
"""Supported versions of TensorFlow. The newest is the version in tuilab's own environment."""

LATEST_PYTHON = {"2.15": (3, 11), "2.16": (3, 12), "2.17": (3, 12), "2.18": (3, 12), "2.19": (3, 12)}
"""The last Python version with wheels for each TensorFlow version. Later TensorFlow versions have wheels
for 3.13.
"""


class Missing(RuntimeError):
    """Raised if the environment is unavailable; the message gives the reason."""


def cache() -> Path:
    told = os.environ.get("TUILAB_ENVIRONMENTS")
    return Path(told) if told else platformdirs.user_cache_path("tuilab") / "environments"


def pythons() -> dict[tuple[int, int], str]:
    """Return this machine's interpreters in PATH and pyenv, from Python 3.9 on, oldest first."""
    found = {}
    for minor in range(9, 14):
        version = (3, minor)
        kept = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        candidates = [shutil.which(f"python3.{minor}"), *map(str, kept)]
        if version == sys.version_info[:2]:
            candidates = [sys.executable]
        for candidate in filter(None, candidates):
            done = subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True)
            if done.returncode == 0:
                found[version] = candidate
                break
    return found


@functools.cache
def environment(tensorflow: str, *more: str) -> Path:
    """Return a virtual environment with that version of `tensorflow-cpu`. more: further requirements.

    Raises Missing.
    """
    latest = LATEST_PYTHON.get(tensorflow, (3, 13))
    fitting = [version for version in pythons() if version <= latest]
    if not fitting:
        raise Missing(f"there is no Python up to {latest[0]}.{latest[1]} for TensorFlow {tensorflow}")
    python = fitting[0] if tensorflow == OLDEST else fitting[-1]
    named = "-".join([f"tensorflow-cpu-{tensorflow}", *more, f"py{python[0]}.{python[1]}"])
    folder = cache() / named.replace("=", "")
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / f"{folder.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(pythons()[python], folder, f"tensorflow-cpu=={tensorflow}.*", *more)
            (folder / "whole").touch()
    return folder


def _make(python: str, folder: Path, *requirements: str) -> None:
    clean = {k: v for k, v in os.environ.items() if not re.match("PYTHON|TUILAB_TESTS", k)}
    with tempfile.TemporaryFile() as said:
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *requirements]
        requirement = " and ".join(requirements)
        for command in ([python, "-m", "venv", str(folder)], pip):
            try:
                done = subprocess.run(command, stdout=said, stderr=said, timeout=1_200, env=clean)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise Missing(f"{requirement} could not be installed: {error}") from None
            if done.returncode:
                said.seek(0)
                lines = said.read().decode(errors="replace").strip().splitlines()
                raise Missing(f"{requirement} could not be installed: {(lines or ['it said nothing'])[-1]}")
