"""Builds the emulated GPU: compiles the library with the system's `cc`, and installs its TensorFlow with pip.

The emulation needs `tensorflow-cpu` in the installed version: in the CUDA build, an op with a resource
argument would run CUDA's own kernel, which crashes. `PYTHONPATH` puts that wheel before the installed one, in
worker processes only. The wheel and the library are in the user's cache folder, or in `TUILAB_EMULATED_GPU`.
"""

import fcntl
import functools
import hashlib
import importlib.metadata
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

DEVICE = Path(__file__).parent / "device"
LIBRARIES = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")


class Missing(RuntimeError):
    """The emulation is unavailable. The message gives the reason."""


def cache() -> Path:
    told = os.environ.get("TUILAB_EMULATED_GPU")
    return Path(told) if told else platformdirs.user_cache_path("tuilab") / "emulated-gpu"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@functools.cache
def wheel() -> Path:
    """Return a folder with `tensorflow-cpu` in the version of the installed TensorFlow. Raises Missing."""
    try:
        version = importlib.metadata.version("tensorflow")
    except importlib.metadata.PackageNotFoundError:
        raise Missing("TensorFlow is not installed") from None
    folder = cache() / f"tensorflow-cpu-{version}-{sys.implementation.cache_tag}"
    with _alone(cache()):
        if not folder.exists():
            _install(f"tensorflow-cpu=={version}", folder)
        _report_capability(folder / "tensorflow/python/eager/context.py")
    return folder


READS_DETAILS = "    details = pywrap_tfe.TF_GetDeviceDetails(index)\n"
CAPABILITY = (
    "    details.update({'compute_capability': c} if (c := os.getenv('EMULATED_GPU_CAPABILITY')) else {})\n"
)


def _report_capability(file: Path) -> None:
    """Make the wheel's `get_device_details` return the configured compute capability.

    A plug-in can report only the device's name to TensorFlow.
    """
    text = file.read_text()
    if CAPABILITY in text:
        return
    if READS_DETAILS not in text:
        raise Missing(f"{file} does not read a device's details where they are expected")
    changed = file.with_suffix(".changed")
    changed.write_text(text.replace(READS_DETAILS, READS_DETAILS + CAPABILITY))
    changed.replace(file)


def _install(requirement: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache()) as scratch:
        for pip in ([sys.executable, "-m", "pip"], ["uv", "pip"]):
            place = Path(scratch) / pip[-2].rpartition("/")[2]
            command = [*pip, "install", "--quiet", "--no-deps", "--target", str(place), requirement]
            if pip[0] == "uv":
                command += ["--python", sys.executable]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=900)
            except (OSError, subprocess.TimeoutExpired) as error:
                text = str(error)
                continue
            if done.returncode == 0:
                place.rename(folder)
                return
            text = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    raise Missing(f"{requirement} could not be installed: {text}")


def library() -> Path:
    return compiled(wheel() / "tensorflow")


@functools.cache
def compiled(tensorflow: Path) -> Path:
    """Compile the plug-in for the TensorFlow package in this folder (2.16 or later). Raises Missing."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise Missing("there is no C compiler (cc)")
    sources = sorted(DEVICE.iterdir())
    parts = [*(path.read_bytes() for path in sources), bytes(tensorflow)]
    version = hashlib.sha256(b"".join(parts)).hexdigest()[:16]
    built = cache() / f"libemulated-{version}.so"
    with _alone(cache()):
        if not built.exists():
            with tempfile.TemporaryDirectory(dir=cache()) as scratch:
                (Path(scratch) / "kernels.inc").write_text(
                    "".join(rows((DEVICE / "kernels.txt").read_text()))
                )
                out = Path(scratch) / "lib.so"
                command = [
                    compiler,
                    "-std=gnu11",
                    "-O2",
                    "-shared",
                    "-fPIC",
                    "-fvisibility=hidden",
                    "-Wall",
                    "-Werror",
                ]
                command += [f"-I{scratch}", f"-I{tensorflow / 'include'}", f"-L{tensorflow}", "-o", str(out)]
                command += [str(path) for path in sources if path.suffix == ".c"]
                # TensorFlow's kernels.h defines a constant in each file that includes it
                command += [f"-l:{name}" for name in LIBRARIES] + ["-lpthread", "-Wl,-z,muldefs"]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise Missing(f"cc failed:\n{done.stderr[-2000:]}")
                out.rename(built)
    return built


def rows(table: str) -> Iterator[str]:
    for line in table.splitlines():
        op, types, host = line.split(" | ")
        attributes = [a.partition("=") for a in types.split(" ") if a != "-"]
        for combination in itertools.product(*(allowed.split(",") for _, _, allowed in attributes)):
            chosen = " ".join(f"{a[0]}={t}" for a, t in zip(attributes, combination, strict=True))
            yield f'{{"{op}", "{chosen}", "{host.replace("-", "")}"}},\n'


def environment(
    gpus: int = 1,
    *,
    memory: int = 0,
    capability: str = "",
    kernel_us: float | None = None,
    copy_us: float | None = None,
    copy_gbps: float | None = None,
    pace_ns: float | None = None,
    asynchronous: bool = True,
    fail: str = "",
) -> dict[str, str]:
    """Return the environment variables for a process with `gpus` emulated GPUs. Raises Missing.

    memory: bytes of each GPU. capability: compute capability, such as `8.0`. kernel_us, copy_us: minimum
    duration of kernels and copies. copy_gbps: bandwidth of copies. pace_ns: nanoseconds per element of the op
    with a known speed (device/paced.c). asynchronous: False to check training results, because TensorFlow's
    own kernels for variables write immediately instead of in stream order. fail: `init`, `init:N`, `alloc`,
    or the name of an op.
    """
    out = {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(wheel()), os.environ.get("PYTHONPATH")))),
        "TF_PLUGGABLE_DEVICE_LIBRARY_PATH": str(library()),
        "EMULATED_GPUS": str(gpus),
        "EMULATED_GPU_ASYNC": str(int(asynchronous)),
    }
    more = {
        "EMULATED_GPU_MEMORY": memory or None,
        "EMULATED_GPU_CAPABILITY": capability or None,
        "EMULATED_GPU_KERNEL_US": kernel_us,
        "EMULATED_GPU_COPY_US": copy_us,
        "EMULATED_GPU_COPY_GBPS": copy_gbps,
        "EMULATED_PACE_NS": pace_ns,
        "EMULATED_GPU_FAIL": fail or None,
    }
    return out | {name: str(value) for name, value in more.items() if value is not None}
