"""Opens the CUDA libraries that TensorFlow loads, in a child process and in TensorFlow's search order."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tuilab.doctor import children
from tuilab.doctor.elf import search_path
from tuilab.doctor.environment import Environment
from tuilab.doctor.packages import Packages
from tuilab.doctor.place import Place
from tuilab.model.doctor import Probe
from tuilab.model.sanitize import sanitize_line

Need = Literal["driver", "device", "extra"]


@dataclass(frozen=True)
class Wanted:
    """A library by its soname. folder: its folder in the wheel, below `nvidia/`; empty for the driver's own
    library.

    need: `device` if TensorFlow registers no GPU without the library; `extra` if only some work needs it.
    """

    soname: str
    folder: str
    wheel: str
    need: Need


CUDNN = "libcudnn.so."

WANTED = (
    Wanted("libnvidia-ml.so.1", "", "", "driver"),
    Wanted("libcudart.so.12", "cuda_runtime", "nvidia-cuda-runtime-cu12", "device"),
    Wanted("libcublas.so.12", "cublas", "nvidia-cublas-cu12", "device"),
    Wanted("libcublasLt.so.12", "cublas", "nvidia-cublas-cu12", "device"),
    Wanted("libcufft.so.11", "cufft", "nvidia-cufft-cu12", "device"),
    Wanted("libcusolver.so.11", "cusolver", "nvidia-cusolver-cu12", "device"),
    Wanted("libcusparse.so.12", "cusparse", "nvidia-cusparse-cu12", "device"),
    Wanted(CUDNN + "9", "cudnn", "nvidia-cudnn-cu12", "device"),
    Wanted("libnccl.so.2", "nccl", "nvidia-nccl-cu12", "extra"),
    Wanted("libcupti.so.12", "cuda_cupti", "nvidia-cuda-cupti-cu12", "extra"),
)
"""Libraries that TensorFlow 2.21 opens by name, according to a `dso_loader` log with stub libraries.

All versions since 2.16 open the same libraries, except for cuDNN.
"""


def wanted_by(packages: Packages) -> tuple[Wanted, ...]:
    """Return the libraries that the installed TensorFlow opens, with cuDNN 8 for 2.16 and 2.17."""
    asked = re.search(r"[=~]=\s*(\d+)|>=\s*(\d+)", packages.wanted.get("nvidia-cudnn-cu12", ""))
    major = asked[1] or asked[2] if asked else "9"
    return tuple(replace(w, soname=CUDNN + major) if w.folder == "cudnn" else w for w in WANTED)


FRAMEWORK = "libtensorflow_framework.so.2"
"""TensorFlow's library that opens the CUDA libraries. Its search path decides where they are found."""


@dataclass(frozen=True)
class Library:
    """The result of opening a library. path: path of the loaded file. elsewhere: path of a copy that
    TensorFlow does not find.
    """

    wanted: Wanted
    path: str = ""
    error: str = ""
    elsewhere: str = ""

    @property
    def absent(self) -> bool:
        """True if the library's own file is missing, rather than a file that it depends on."""
        return not self.path and self.wanted.soname in self.error.partition(":")[0]


@dataclass(frozen=True)
class Libraries:
    """Results for all tested libraries. hung: the library that did not finish loading. crashed: how the child
    process ended.
    """

    found: tuple[Library, ...] = ()
    hung: str = ""
    crashed: str = ""

    def missing(self, need: Need) -> tuple[Library, ...]:
        return tuple(library for library in self.found if library.wanted.need == need and not library.path)


def look(place: Place, packages: Packages, environment: Environment, until: float) -> Libraries:
    """Open each library in TensorFlow's search order: LD_LIBRARY_PATH, TensorFlow's own path, the system's
    path (ld.so(8)).
    """
    home = packages.tensorflow_home
    folders = search_path(home / FRAMEWORK) if home else ()
    plan = []
    every = wanted_by(packages)
    for wanted in every:
        named = [Path(folder) / wanted.soname for folder in environment.library_folders]
        own = [] if any(path.exists() for path in named) else [folder / wanted.soname for folder in folders]
        plan.append((wanted.soname, [str(path) for path in own]))
    ran = children.run_own_module(place.environ, until, "libraries", json.dumps(plan))
    return read(children.merge_lines(ran.out), ran, home, every)


def read(
    facts: dict[str, Any], ran: children.Ran, home: Path | None, every: tuple[Wanted, ...] = WANTED
) -> Libraries:
    found = []
    for wanted in every:
        said = facts.get(wanted.soname)
        if said is None:
            continue
        path, error = (
            sanitize_line(str(said.get("path", "")), 300),
            sanitize_line(str(said.get("error", "")), 300),
        )
        found.append(Library(wanted, path, error, "" if path else _elsewhere(wanted, home)))
    at = str(facts.get("at", "the first library"))
    return Libraries(
        tuple(found), at if ran.code is None else "", f"{ran.ending} in {at}" if ran.code else ""
    )


def _elsewhere(wanted: Wanted, home: Path | None) -> str:
    """Return the path of the library's copy in a wheel, in a folder that TensorFlow does not search."""
    if home is None or not wanted.folder:
        return ""
    path = home.parent / "nvidia" / wanted.folder / "lib" / wanted.soname
    return str(path) if path.exists() else ""


def toolchain(place: Place, packages: Packages) -> Probe:
    """Look for libdevice and ptxas where XLA searches for them.

    The result only predicts whether XLA works. The doctor's TensorFlow process tests XLA itself by compiling
    an op for the GPU.
    """
    roots = [place.environ.get(name, "") for name in ("TF_CUDA_TOOLKIT_PATH", "CUDA_HOME")]
    roots.append(str(place.file("/usr/local/cuda")))
    if packages.tensorflow_home:
        roots.append(str(packages.tensorflow_home.parent / "nvidia" / "cuda_nvcc"))
    for root in filter(None, roots):
        if os.path.exists(os.path.join(root, "nvvm", "libdevice", "libdevice.10.bc")):
            ptxas = os.path.exists(os.path.join(root, "bin", "ptxas"))
            detail = f"libdevice {'and ptxas ' if ptxas else ''}in {root}"
            return Probe("XLA toolchain", "ok" if ptxas else "warn", detail + ("" if ptxas else ", no ptxas"))
    return Probe("XLA toolchain", "warn", "no libdevice.10.bc found; XLA needs it for functions such as exp")


def probe(found: Libraries) -> Probe:
    name = "CUDA libraries"
    if found.hung or found.crashed:
        what = f"{found.hung} did not answer" if found.hung else f"a process that loads them {found.crashed}"
        return Probe(name, "fail", f"opening: {what}")
    device = [library for library in found.found if library.wanted.need == "device"]
    without, driver = found.missing("device"), found.missing("driver")
    beside = (*driver, *found.missing("extra"))
    counted = f"{len(device) - len(without)} of {len(device)}" if without else f"all {len(device)}"
    text = "; ".join([f"{counted} load", *_why(without, "missing"), *_why(beside, "missing too")])
    return Probe(name, "fail" if without or driver else "warn" if beside else "ok", text)


FOR: dict[Need, str] = {"driver": " (the driver's)", "device": "", "extra": " (for some work)"}


def _why(missing: Sequence[Library], lead: str) -> list[str]:
    """Return one phrase for all missing libraries, then one for each library that fails in another way."""
    absent = [
        library.wanted.soname + FOR[library.wanted.need]
        for library in missing
        if library.absent and not library.elsewhere
    ]
    out = [f"{lead}: {', '.join(absent)}"] if absent else []
    for library in missing:
        if library.absent and library.elsewhere:
            out.append(f"{library.wanted.soname} is at {library.elsewhere}, outside TensorFlow's search path")
        elif not library.absent:
            out.append(f"{library.wanted.soname}: {library.error}")
    return out
