"""Loads CUDA libraries that TensorFlow's search path misses, before TensorFlow needs them."""

import ctypes
import importlib.util
import os
from pathlib import Path

CUSOLVER = "libcusolver.so.11"


def preload_cusolver() -> str:
    """Load the wheel's libcusolver by its full path. Call before TensorFlow is imported.

    `libtensorflow_framework` of TensorFlow 2.21 searches the folder of every CUDA wheel except
    `nvidia/cusolver/lib`, so `tensorflow[and-cuda]` alone registers no GPU. The loader matches loaded
    libraries by name, so TensorFlow finds the preloaded library.

    Returns the loaded path; "" if the wheel is not installed, if LD_LIBRARY_PATH contains the user's own
    libcusolver, or if loading fails.
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
