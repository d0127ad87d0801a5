"""CUDA libraries that TensorFlow's own search path misses, opened before TensorFlow asks for them."""

import ctypes
import importlib.util
import os
from pathlib import Path

CUSOLVER = "libcusolver.so.11"


def preload_cusolver() -> str:
    """Open the wheel's libcusolver by its full path; call it before TensorFlow is imported.

    `libtensorflow_framework` of TensorFlow 2.21 searches the folder of every CUDA wheel but
    `nvidia/cusolver/lib`, so `tensorflow[and-cuda]` alone registers no GPU. The loader matches a library that
    is open already by its name, so TensorFlow then finds this one. Returns the path that was opened; empty
    where there is no such wheel, where LD_LIBRARY_PATH names a copy of the user's own, or where it does not
    open.
    """
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if any(folder and os.path.exists(os.path.join(folder, CUSOLVER)) for folder in folders):
        return ""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.origin is None:
        return ""
    library = Path(spec.origin).parent.parent / "nvidia" / "cusolver" / "lib" / CUSOLVER
    if not library.exists():
        return ""
    try:
        ctypes.CDLL(str(library))
    except OSError:
        return ""
    return str(library)
