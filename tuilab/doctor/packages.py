"""Lists the TensorFlow and NVIDIA wheels of this Python, from package metadata only."""

import importlib.machinery
import importlib.metadata
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tuilab.doctor.place import Place
from tuilab.model.doctor import Probe
from tuilab.model.sanitize import sanitize_line

NVIDIA = re.compile(r"^nvidia-.+-cu\d+$")
CPU_ONLY = ("tensorflow-cpu", "tensorflow-cpu-aws", "tensorflow-intel", "intel-tensorflow", "tf-nightly-cpu")
FULL = ("tensorflow", "tf-nightly", "tensorflow-gpu", "tensorflow-macos")


@dataclass(frozen=True)
class Packages:
    """Versions of the installed packages, by distribution name.

    wheels: every installed nvidia-*-cu*. wanted: requirements of TensorFlow's `and-cuda` extra by name, as in
    `name<10,>=9.3`. tensorflow_home: folder of the package `tensorflow`. pip: True if this Python has pip.
    """

    tensorflow: dict[str, str] = field(default_factory=dict)
    wheels: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, str] = field(default_factory=dict)
    tensorflow_home: Path | None = None
    pip: bool = True

    @property
    def cpu_only(self) -> str:
        """The installed distribution without CUDA, such as tensorflow-cpu, if any."""
        return next((name for name in CPU_ONLY if name in self.tensorflow), "")

    @property
    def missing(self) -> tuple[str, ...]:
        """Wheels that `and-cuda` requires but that are not installed."""
        return tuple(name for name in self.wanted if name not in self.wheels)

    @property
    def version(self) -> str:
        return next(iter(self.tensorflow.values()), "")


def look(place: Place) -> Packages:
    path = sys.path if place.metadata is None else list(place.metadata)
    tensorflow, wheels = dict[str, str](), dict[str, str]()
    wanted = dict[str, str]()
    pip = False
    for found in importlib.metadata.distributions(path=path):
        name = re.sub(r"[-_.]+", "-", found.metadata["Name"] or "").lower()
        version = sanitize_line(found.version or "", 50)
        pip = pip or name == "pip"
        if NVIDIA.match(name):
            wheels.setdefault(name, version)
        elif name in FULL + CPU_ONLY and name not in tensorflow:
            tensorflow[name] = version
            wanted = wanted or _and_cuda(found.requires or [])
    return Packages(tensorflow, wheels, wanted, _home(path), pip)


def _home(path: list[str]) -> Path | None:
    """Return the folder from which `import tensorflow` would load the package. Imports nothing."""
    spec = importlib.machinery.PathFinder.find_spec("tensorflow", path)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _and_cuda(requires: list[str]) -> dict[str, str]:
    lines = [line for line in requires if re.search(r"""extra\s*==\s*["']and-cuda["']""", line)]
    asked = [sanitize_line(line.partition(";")[0].strip(), 200) for line in lines]
    return {match[0].lower(): line for line in asked if (match := re.match(r"[A-Za-z0-9._-]+", line))}


def probe(found: Packages) -> Probe:
    if not found.tensorflow:
        return Probe("packages", "fail", "TensorFlow is not installed in this Python")
    have = ", ".join(f"{name} {version}" for name, version in found.tensorflow.items())
    if found.cpu_only:
        return Probe("packages", "fail", f"{have}: {found.cpu_only} is built without CUDA")
    if not found.wheels:
        return Probe("packages", "warn", f"{have}; no nvidia-*-cu12 wheel is installed")
    if found.missing:
        return Probe("packages", "warn", f"{have}; CUDA wheels missing: {', '.join(found.missing)}")
    return Probe("packages", "ok", f"{have}; {len(found.wheels)} NVIDIA wheels")
