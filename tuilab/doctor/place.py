"""Describes the machine to examine. Tests replace it with a fake machine."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from platform import machine as architecture

from tuilab.interpreter import look
from tuilab.model.environment import Environment


@dataclass(frozen=True)
class Place:
    """A machine, given by its files, environment and Python.

    root: replaces `/` in paths below /proc, /dev, /sys and /etc. metadata: folders with installed packages,
    None for the import path of this Python. machine: the architecture, such as `aarch64`. worker: the module
    that runs TensorFlow in a child process. environment: the environment of the Python to examine; None for
    the lab's own.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    python: str = sys.executable
    platform: str = sys.platform
    machine: str = architecture()
    metadata: tuple[str, ...] | None = None
    worker: str = "tuilab.worker.doctor_probe"
    environment: Environment | None = None

    @classmethod
    def of(cls, environment: Environment) -> "Place":
        path = tuple(map(str, look(environment.python)["path"]))
        environ = {**os.environ, **environment.variables}
        return cls(python=environment.python, environ=environ, metadata=path, environment=environment)

    def file(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def read(self, path: str, limit: int = 65_536) -> str:
        """Return the file's first `limit` bytes as text; empty if unreadable."""
        try:
            with self.file(path).open("rb") as stream:
                return stream.read(limit).decode(errors="replace")
        except OSError:
            return ""
