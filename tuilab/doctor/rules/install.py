"""Causes in the Python installation: TensorFlow itself, its build, and the CUDA libraries from wheels."""

import os

from tuilab.doctor import mends
from tuilab.doctor.findings import Findings
from tuilab.doctor.libraries import Library
from tuilab.model.doctor import Diagnosis


def not_installed(f: Findings) -> Diagnosis | None:
    """No TensorFlow in this Python."""
    imported = f.tensorflow.imported
    absent = imported is not None and imported.error.startswith(
        "ModuleNotFoundError: No module named 'tensorflow'"
    )
    if not absent and (f.packages.tensorflow or "packages" in f.silent or (imported and not imported.error)):
        return None
    return Diagnosis(
        "tensorflow-missing",
        f"TensorFlow is not installed in this Python ({f.python})",
        mends.install_cuda(f),
    )


def does_not_import(f: Findings) -> Diagnosis | None:
    """TensorFlow raises or crashes at its import."""
    imported, crashed = f.tensorflow.imported, f.tensorflow.crashed
    if imported is not None and imported.error:
        return Diagnosis(
            "tensorflow-broken", f"TensorFlow does not import: {imported.error}", mends.reinstall(f)
        )
    if imported is None and "SIGILL" in crashed:
        cause = "this processor lacks instructions (AVX) that TensorFlow's wheels use"
        return Diagnosis("processor-too-old", cause, mends.other_machine("a machine with a newer processor"))
    if imported is None and crashed:
        return Diagnosis("tensorflow-broken", f"TensorFlow's import {crashed}", mends.reinstall(f))
    return None


def no_cuda_build(f: Findings) -> Diagnosis | None:
    """The installed build has no CUDA: tensorflow-cpu, or a system for which no CUDA build exists."""
    if not _without_cuda(f):
        return None
    if f.hardware.system == "win32":
        return Diagnosis(
            "no-cuda-build",
            "TensorFlow for Windows has had no GPU support since 2.11; it has it inside WSL",
            "wsl --install",
        )
    if f.hardware.system == "darwin":
        return Diagnosis(
            "no-cuda-build", "TensorFlow for macOS is built without CUDA: there is no NVIDIA driver"
        )
    name = f.packages.cpu_only or "the installed TensorFlow"
    mend = mends.install_cuda(f)
    if f.packages.cpu_only:
        # The wheels share one folder: removing tensorflow-cpu afterwards would empty tensorflow's.
        names = " ".join(f.packages.tensorflow)
        mend = f"{mends.pip(f, f'uninstall -y {names}')} && {mend}"
    return Diagnosis("no-cuda-build", f"{name} is built without CUDA (is_cuda_build is False)", mend)


def _without_cuda(f: Findings) -> bool:
    """TensorFlow's own word where it gave one, else the name of the only distribution there is."""
    if f.tensorflow.built is not None:
        return not f.tensorflow.built.cuda
    return bool(f.packages.cpu_only) and len(f.packages.tensorflow) == 1


def not_where_tensorflow_looks(f: Findings) -> Diagnosis | None:
    """The wheels are there, but a library lies in a folder that TensorFlow's search path does not name.

    So it is with TensorFlow 2.21 and libcusolver: what opens it does not list nvidia/cusolver/lib.
    """
    missing = tuple(library for library in f.libraries.missing("device") if _mislaid(library))
    if not missing:
        return None
    names = ", ".join(library.wanted.soname for library in missing)
    folders = tuple(dict.fromkeys(os.path.dirname(library.elsewhere) for library in missing))
    return Diagnosis(
        "libraries-not-found",
        f"{names} is installed, but TensorFlow {f.packages.version} does not search its folder",
        mends.library_path(*folders),
    )


def cuda_wheels_missing(f: Findings) -> Diagnosis | None:
    """No CUDA runtime: TensorFlow then says, misleadingly, that it finds no CUDA drivers."""
    missing = _missing(f)
    absent = "libcudart.so.12" in missing or "no-cudart" in f.tensorflow.log
    if not absent or "nvidia-cuda-runtime-cu12" in f.packages.wheels:
        return None
    others = len(missing) - 1
    more = f" and {others} more CUDA libraries" if others > 0 else ""
    said = (
        "; “Could not find cuda drivers” means this, not the driver"
        if "no-cudart" in f.tensorflow.log
        else ""
    )
    return Diagnosis(
        "cuda-wheels-missing",
        f"the CUDA runtime wheel is missing: libcudart.so.12{more} cannot be opened{said}",
        mends.install_cuda(f),
    )


def cuda_libraries_missing(f: Findings) -> Diagnosis | None:
    """Some CUDA library other than the runtime does not load, so TensorFlow registers no GPU."""
    missing = _missing(f)
    if not missing and ("skipped" not in f.tensorflow.log or f.libraries.missing("device")):
        return None
    listed = "; ".join(_telling(name, why) for name, why in missing.items()) or "see TensorFlow's own lines"
    # A wheel that is there but does not load is damaged: only a fresh copy helps.
    damaged = [
        library
        for library in f.libraries.missing("device")
        if library.wanted.soname in missing and library.wanted.wheel in f.packages.wheels
    ]
    mend = mends.reinstall(f) if damaged else mends.install_cuda(f)
    return Diagnosis("cuda-libraries-missing", f"TensorFlow skips every GPU: cannot open {listed}", mend)


def tensorflow_silent(f: Findings) -> Diagnosis | None:
    """TensorFlow's child did not end in time, or died after its import."""
    if f.tensorflow.hung:
        return Diagnosis(
            "tensorflow-silent",
            f"TensorFlow did not answer in time while {f.tensorflow.hung}",
            "TF_CPP_MIN_LOG_LEVEL=0 " + _list_devices(f),
        )
    if f.tensorflow.crashed:
        return Diagnosis(
            "tensorflow-crashed", f"TensorFlow's process {f.tensorflow.crashed}", mends.reinstall(f)
        )
    return None


def _list_devices(f: Findings) -> str:
    return f"{f.python} -c 'import tensorflow as tf; print(tf.config.list_physical_devices())'"


def _missing(f: Findings) -> dict[str, str]:
    """Libraries without which there is no GPU, with the loader's reason: our own try, and TensorFlow's.

    Where TensorFlow went as far as opening them, its own lines are the truth.
    """
    device = {
        library.wanted.soname: library for library in f.libraries.found if library.wanted.need == "device"
    }
    told = {name: why for name, why in f.tensorflow.log.unloaded().items() if name in device or not device}
    if not told or "skipped" not in f.tensorflow.log:
        told = {name: library.error for name, library in device.items() if not library.path}
    return {name: why for name, why in told.items() if name not in device or not _mislaid(device[name])}


def _telling(name: str, why: str) -> str:
    """The name alone where the file is just not there; else with the loader's reason."""
    return name if why.startswith(f"{name}: cannot open") else f"{name} ({why})"


def _mislaid(library: Library) -> bool:
    """Installed as a wheel, but not where TensorFlow looks."""
    return bool(library.elsewhere) and library.absent
